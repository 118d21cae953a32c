"""Which metrics the tables show, in which order, under which short title: one list for terminal,
HTML and Markdown.

Each column names the metrics that may fill it, best first: a workload with 30 messages has a p90
where one with 1 100 has a p99, and the header says which one it is. A metric outside this list is
still in the report, behind its arm.
"""

from dataclasses import dataclass, replace

from rmwbench.analysis.metrics.glossary import GLOSSARY, Metric
from rmwbench.analysis.verdicts.ordered_by import is_cost
from rmwbench.results.shown import AnyArm, Part, TopicAnswer, WorkloadAnswer
from rmwbench.words import numbers as fmt


@dataclass(frozen=True)
class Column:
    """A column: `metrics` are tried in order; `group` (latency, beside, cost or asked) is where a
    narrow rendering puts it."""

    key: str
    title: str
    metrics: tuple[str, ...]
    group: str


MEDIAN = Column("median", "response p50", ("response_latency_p50",), "latency")
TAIL = Column("tail", "tail", ("response_latency_p99", "response_latency_p90"), "latency")
LOSS = Column("loss", "lost", ("loss",), "cost")
NEVER_SENT = Column("never_sent", "never sent", ("never_sent_share",), "cost")
LATE = Column("late", "late", ("late_share",), "cost")
PUBLISH = Column("publish", "publish", ("publish_call_p50",), "cost")
CPU = Column("cpu", "CPU/msg", ("cpu_per_message",), "cost")
MEMORY = Column("memory", "PSS", ("pss",), "cost")

SERVICE = Column("service", "service p50", ("service_latency_p50",), "beside")
CONSUMED = Column("consumed", "consumed p50", ("consumed_latency_p50",), "beside")
WRITING = Column("writing", "writing p50", ("writing_p50",), "beside")

COLUMNS = (MEDIAN, TAIL, LOSS, PUBLISH, CPU, MEMORY)
QUEUEING = (replace(MEDIAN, title="queueing p50"), replace(TAIL, title="queueing tail"))
"""What the latencies of a workload that is judged by what gets through are: how long messages wait
in queues that are always full."""
BESIDE = (SERVICE, CONSUMED)
"""Shown where some arm's is apart from its response latency by more than a tenth: then the time
before the publish call (writing the payload, or a late schedule) or after the message was taken
(reading it) is part of the answer."""
APART = 1.1
OWN_SHARE = 0.1
"""Writing the payload is shown where it is more than so much of some arm's response latency, or of
its processor time per message: it is the instrument's, and as much in every arm."""
TOPIC = (
    MEDIAN,
    TAIL,
    replace(SERVICE, group="latency"),
    replace(CONSUMED, group="latency"),
    LOSS,
    PUBLISH,
)
"""Of a topic that is judged by itself: what processes cost is the workload's."""
IDLE = (
    Column("rss", "RSS", ("rss",), "latency"),
    Column("cores", "CPU", ("cpu_cores",), "latency"),
    Column("memory", "PSS", ("pss",), "cost"),
    Column("virtual", "virtual", ("virtual_memory",), "cost"),
    Column("wake_ups", "wake-ups", ("wake_ups",), "cost"),
    Column("threads", "threads", ("threads",), "cost"),
)
"""Of workloads that are judged by a cost and in which nothing is sent."""
BRING_UP = (
    Column("all", "all active", ("bring_up_time",), "latency"),
    Column("half", "half active", ("half_up_time",), "latency"),
    Column("never", "never", ("never_active",), "cost"),
    Column("cpu", "CPU/node", ("cpu_per_node",), "cost"),
    Column("memory", "PSS/node", ("pss_per_node",), "cost"),
)
"""Of workloads that bring up lifecycle nodes and are judged by that."""
ASKED_FOR = (
    Column("allocations_publisher", "allocs pub", ("allocations_per_message_publisher",), "asked"),
    Column(
        "allocations_subscription", "allocs sub", ("allocations_per_message_subscription",), "asked"
    ),
    Column("growth_publisher", "growth pub", ("pss_growth_per_message_publisher",), "asked"),
    Column("growth_subscription", "growth sub", ("pss_growth_per_message_subscription",), "asked"),
)
"""Of campaigns that ask for them alone."""


def of(part: Part) -> tuple[Column, ...]:
    """The columns of a workload: its primary metric, these, and what was asked for."""
    if is_bring_up(part):
        return BRING_UP
    if is_idle(part):
        return IDLE
    if isinstance(part, TopicAnswer):
        place = TOPIC.index(LOSS)
        return (*TOPIC[:place], *_writing(part), LOSS, *_fates(part), *TOPIC[place + 1 :])
    if is_by_topic(part):
        return (CPU, MEMORY)
    there = [c for c in ASKED_FOR if any(arm.value(c.metrics[0]) is not None for arm in part.arms)]
    beside = [c for c in BESIDE if any(_is_apart(arm, c.metrics[0]) for arm in part.arms)]
    beside += _writing(part)
    entry = GLOSSARY.get(part.primary_metric)
    latencies = QUEUEING if entry is not None and entry.whole_window else (MEDIAN, TAIL, *beside)
    found = (*latencies, LOSS, *_fates(part), PUBLISH, CPU, MEMORY, *there)
    ordered = found if entry is None else _primary_first(entry, found)
    return (ordered[0], *(one for one in ordered[1:] if not _is_of_parts(one, part)))


def _is_of_parts(column: Column, part: Part) -> bool:
    """Whether its topics or readers have it, and the workload has not."""
    if not isinstance(part, WorkloadAnswer) or not part.topics:
        return False
    return all(arm.value(name) is None for arm in part.arms for name in column.metrics)


def _primary_first(entry: Metric, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The column of the primary metric is the first."""
    there = next((one for one in columns if entry.name in one.metrics), None)
    others = tuple(one for one in columns if one is not there)
    if there is None or len(there.metrics) > 1:
        return (Column("primary", entry.title, (entry.name,), "latency"), *others)
    return (replace(there, group="latency"), *others)


def _fates(part: Part) -> list[Column]:
    """What else became of messages, where it did with some arm."""
    return [
        column
        for column in (NEVER_SENT, LATE)
        if any(fmt.finite(arm.value(column.metrics[0])) for arm in part.arms)
    ]


def _writing(part: Part) -> list[Column]:
    """Our own part of what an arm's numbers say, where it is large."""
    return [WRITING] if any(_is_written_long(arm) for arm in part.arms) else []


def _is_written_long(arm: AnyArm) -> bool:
    own = fmt.finite(arm.value(WRITING.metrics[0]))
    wholes = (fmt.finite(arm.value(column.metrics[0])) for column in (MEDIAN, CPU))
    return any(own and whole and own > OWN_SHARE * whole for whole in wholes)


def family_begins(part: Part, place: int) -> str:
    """`by copy`, `by loan` in front of the first arm of a family, where a part has two: arms are
    compared within one. Empty elsewhere."""
    families = [arm.family for arm in part.arms]
    first = place == families.index(families[place])
    return f"by {families[place]}" if first and len(set(families)) > 1 else ""


def _is_apart(arm: AnyArm, name: str) -> bool:
    """Whether an arm's latency differs from its response latency by more than APART, either way."""
    own, other = (fmt.finite(arm.value(which)) for which in (MEDIAN.metrics[0], name))
    if not own or not other:
        return False
    return not 1 / APART <= own / other <= APART


def is_by_topic(part: Part) -> bool:
    """Whether its topics are judged one by one, so that no latency or loss is the workload's
    own."""
    return isinstance(part, WorkloadAnswer) and any(topic.judged for topic in part.topics)


def is_idle(part: Part) -> bool:
    """Whether nothing is sent, so that no column of a message has anything to show."""
    wanted = ("response_latency_p50", "undelivered", "cpu_per_message")
    if isinstance(part, WorkloadAnswer) and part.topics:
        return False
    return is_cost(part.primary_metric) and all(
        (found := arm.metrics.get(name)) is None or found.no_data is not None
        for arm in part.arms
        for name in wanted
    )


def is_bring_up(part: Part) -> bool:
    """Whether lifecycle nodes are brought up in it, and it is judged by how long that takes."""
    return part.primary_metric == BRING_UP[0].metrics[0]


def chosen(part: Part, column: Column) -> str | None:
    """The metric that fills the column in this workload or topic: the first with a value in any
    arm, else with a bound, else the first listed at all."""
    listed = [
        (name, metric)
        for name in column.metrics
        for arm in part.arms
        if (metric := arm.metrics.get(name)) is not None
    ]
    valued = [name for name, metric in listed if metric.value is not None]
    bounded = [name for name, metric in listed if metric.at_least is not None]
    return next(iter([*valued, *bounded, *(name for name, _ in listed)]), None)


def title(column: Column, metric: str | None) -> str:
    """The header; the tail column is named after its percentile."""
    if column.key != TAIL.key or not metric:
        return column.title
    quantile = metric.rsplit("_", 1)[-1]
    return quantile if column is TAIL else column.title.replace("tail", quantile)
