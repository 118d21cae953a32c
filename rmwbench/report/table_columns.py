"""Which metrics the tables show, in which order: one list for terminal, HTML and Markdown. The
metric gives its column the title (`Metric.column`).

Each column names the metrics that may fill it, best first: a workload with 30 messages has a p90
where a workload with 1 100 has a p99, and the header says which. A metric outside this list is in
the report with its arm."""

from dataclasses import dataclass, replace

from rmwbench.analysis.metrics.aggregate import FATES, UNDELIVERED, fates_of
from rmwbench.analysis.metrics.comparisons import PRIMARY
from rmwbench.analysis.metrics.glossary import GLOSSARY, METRICS, Metric, MetricScope
from rmwbench.analysis.verdicts.ranking_words import is_resource
from rmwbench.results.show_model import AnyArm, Part, TopicAnswer, WorkloadAnswer
from rmwbench.words import numbers as fmt


@dataclass(frozen=True)
class Column:
    """`metrics` are tried in order; `leads`: it stands before the verdict in a terminal."""

    title: str
    metrics: tuple[str, ...]
    leads: bool = False


def _column(metric: str, *, leads: bool = False) -> Column:
    return Column(GLOSSARY[metric].column, (metric,), leads)


MEDIAN = _column(PRIMARY, leads=True)
TAIL = Column("tail", tuple(m.name for m in reversed(METRICS) if m.column == "tail"), leads=True)
LOSS, LATE, NEVER_SENT = map(_column, FATES)
PUBLISH, CPU = _column("publish_call_p50"), _column("cpu_per_message")
MEMORY, WRITING = _column("pss"), _column("writing_p50")

QUEUEING = (replace(MEDIAN, title="queueing p50"), replace(TAIL, title="queueing tail"))
"""The meaning of latencies in a workload that is judged by a rate: how long messages wait in queues
that are always full."""
BESIDE = (_column("service_latency_p50"), _column("consumed_latency_p50"))
"""Columns that are shown where the value of some arm differs from its response latency by more than
a tenth: then the time before the publish call (writing the payload, or a late schedule) or after
the message was taken (reading it) is part of the answer."""
APART = 1.1
OWN_SHARE = 0.1
"""Writing the payload is shown where it is more than this share of some arm's response latency, or
of its processor time per message: that time is the instrument's, and equal in every arm."""
IDLE = tuple(
    _column(m.name)
    for m in METRICS
    if m.column and m.scope is MetricScope.PROCESSES and not m.per_message
)
"""The columns of workloads that are judged by a cost and in which nothing is sent."""
BRING_UP = tuple(_column(m.name) for m in METRICS if m.column and m.scope is MetricScope.NODES)
"""The columns of workloads that bring up lifecycle nodes and are judged by that."""
ASKED_FOR = tuple(_column(m.name) for m in METRICS if m.column and m.on_request)
"""The columns of metrics that only campaigns have that ask for them."""


def of(part: Part) -> tuple[Column, ...]:
    """The columns of a workload: its primary metric, the usual columns, and the metrics that it
    asks for."""
    entry = GLOSSARY.get(part.primary_metric)
    if is_bring_up(part):
        return _primary_first(entry, BRING_UP)
    if is_idle(part):
        return _primary_first(entry, IDLE)
    if isinstance(part, TopicAnswer):
        return (MEDIAN, TAIL, *BESIDE, *_writing(part), *_fates(part), PUBLISH)
    if is_by_topic(part):
        return (CPU, MEMORY)
    asked_for = [
        c for c in ASKED_FOR if any(arm.value(c.metrics[0]) is not None for arm in part.arms)
    ]
    beside = [c for c in BESIDE if any(_is_apart(arm, c.metrics[0]) for arm in part.arms)]
    beside += _writing(part)
    latencies = QUEUEING if entry is not None and entry.whole_window else (MEDIAN, TAIL, *beside)
    columns = (*latencies, *_fates(part), PUBLISH, CPU, MEMORY, *asked_for)
    ordered = _primary_first(entry, columns)
    return (ordered[0], *(column for column in ordered[1:] if not _is_of_parts(column, part)))


def _is_of_parts(column: Column, part: Part) -> bool:
    """Whether the topics or readers of the workload have the metric, and the workload has not."""
    if not isinstance(part, WorkloadAnswer) or not part.topics:
        return False
    return all(arm.value(name) is None for arm in part.arms for name in column.metrics)


def _primary_first(entry: Metric | None, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns with that of the primary metric first."""
    if entry is None:
        return columns
    primary = next((column for column in columns if entry.name in column.metrics), None)
    others = tuple(column for column in columns if column is not primary)
    if primary is None or len(primary.metrics) > 1:
        return (Column(entry.title, (entry.name,), leads=True), *others)
    return (replace(primary, leads=True), *others)


def fates(part: Part) -> tuple[Column, Column, Column]:
    """The columns lost, late and never sent, for the messages by which verdicts judge loss: in a
    chain the messages of its source, and not of all hops together."""
    metrics = fates_of(part.primary_metric)
    return (
        replace(LOSS, metrics=(metrics.lost,)),
        replace(LATE, metrics=(metrics.late,)),
        replace(NEVER_SENT, metrics=(metrics.never_sent,)),
    )


def _fates(part: Part) -> list[Column]:
    """The columns of lost messages, and of other fates that messages of some arm had."""
    lost, late, never_sent = fates(part)

    def some_arm_has(column: Column) -> bool:
        return any(fmt.finite(arm.value(column.metrics[0])) for arm in part.arms)

    return [lost, *filter(some_arm_has, (never_sent, late))]


def _writing(part: Part) -> list[Column]:
    """The columns of our own part of an arm's numbers, where it is large."""
    return [WRITING] if any(_is_written_long(arm) for arm in part.arms) else []


def _is_written_long(arm: AnyArm) -> bool:
    writing_ns = fmt.finite(arm.value(WRITING.metrics[0]))
    wholes = (fmt.finite(arm.value(column.metrics[0])) for column in (MEDIAN, CPU))
    return any(writing_ns and whole and writing_ns > OWN_SHARE * whole for whole in wholes)


def family_begins(part: Part, place: int) -> str:
    """`by copy`, `by loan` before the first arm of a family, where a part has two families, within
    which arms are compared. Empty elsewhere."""
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
    """Whether the topics of the workload are judged one by one, so that the workload as a whole has
    no latency or loss."""
    return isinstance(part, WorkloadAnswer) and any(topic.judged for topic in part.topics)


def is_idle(part: Part) -> bool:
    """Whether the workload sends nothing, so that columns of messages have nothing to show."""
    of_messages = (PRIMARY, UNDELIVERED, *CPU.metrics)
    if isinstance(part, WorkloadAnswer) and part.topics:
        return False
    return is_resource(part.primary_metric) and all(
        (entry := arm.metrics.get(name)) is None or entry.no_data is not None
        for arm in part.arms
        for name in of_messages
    )


def is_bring_up(part: Part) -> bool:
    """Whether the workload brings up lifecycle nodes and is judged by how long that takes."""
    entry = GLOSSARY.get(part.primary_metric)
    return entry is not None and entry.scope is MetricScope.NODES


def chosen(part: Part, column: Column) -> str | None:
    """The metric that fills the column in this workload or topic: the first with a value in any
    arm, else with a bound, else the first that any arm has."""
    entries = [
        (name, metric)
        for name in column.metrics
        for arm in part.arms
        if (metric := arm.metrics.get(name)) is not None
    ]
    with_value = [name for name, metric in entries if metric.value is not None]
    with_bound = [name for name, metric in entries if metric.at_least is not None]
    return next(iter([*with_value, *with_bound, *(name for name, _ in entries)]), None)


def title(column: Column, metric: str | None) -> str:
    """The header; the tail column is named after its percentile."""
    if column.metrics != TAIL.metrics or not metric:
        return column.title
    quantile = f"p{100 * GLOSSARY[metric].q:g}"
    return quantile if column is TAIL else column.title.replace("tail", quantile)
