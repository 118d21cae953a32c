"""The declaration of a metric: all that the program knows of the metric. Every list of metrics is a
selection over these attributes; nothing is decided by the spelling of a name.

Declarations import no computation, so that a suite can be read without numpy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, StrEnum, auto
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from rmwbench.analysis.stats.estimate import needed

if TYPE_CHECKING:
    from rmwbench.analysis.metrics.latency import Messages
    from rmwbench.analysis.records.ledger import Ledger

Kind = Literal["quantile", "positive", "amount", "fraction"]


class Better(StrEnum):
    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


class MetricScope(StrEnum):
    """What a metric measures. `MESSAGES`: every message, from its writer to each of its readers;
    `CHAIN`: relayed messages, from their source to the last reader; `JOINERS`: messages for nodes
    that joined within the window."""

    MESSAGES = "messages"
    CHAIN = "chain"
    LAYERS = "layers"
    START = "start"
    PROCESSES = "processes"
    MACHINE = "machine"
    HOSTS = "hosts"
    INTERFACES = "interfaces that lead nowhere"
    LINKS = "links"
    CROSS_TRAFFIC = "cross traffic"
    JOINERS = "joiners"
    OUTAGES = "outages"
    NODES = "lifecycle nodes"
    TRIALS = "trials"


class TopicScope(Enum):
    """Which values a metric has in a workload of unlike topics. `WHOLE`: one for the workload;
    `ALSO`: one for the workload and one for each topic; `APART`: one for each topic and none for
    the workload."""

    WHOLE = auto()
    ALSO = auto()
    APART = auto()


class Clocks(Enum):
    """The two stamps between which a time lies. `ONE_WAY`: of a writer and a reader; `LEG`: of a
    client and its service; `EVENTS`: of any two hosts, or of the orchestrator; `ENDS`: of both ends
    of a chain; `HOP`: of two neighbours in a chain."""

    ONE_WAY = auto()
    LEG = auto()
    EVENTS = auto()
    ENDS = auto()
    HOP = auto()


class Fate(StrEnum):
    """What became of a message that did not arrive. `FAILED`: its whole trial failed by the fault
    of the arm."""

    LOST = "lost"
    LATE = "late"
    NEVER_SENT = "never_sent"
    FAILED = "failed"


class Use(Flag):
    """Where the program uses a metric without being asked. `LIMIT`: a limits file may name it;
    `PRIMARY`: a workload may be judged by it; `COMPARED`: `compare` judges it beside the primary
    metric; `EFFECT`: an effect divides an arm's value by that of another, and so does `BESIDE`
    where a workload is compared with another; `GROWTH`: reports say how it grows with the number of
    nodes; `OWN_COST`: `calibrate` measures it with no middleware; `MEDIAN`: it explains the time of
    typical messages."""

    NONE = 0
    LIMIT = auto()
    PRIMARY = auto()
    COMPARED = auto()
    EFFECT = auto()
    BESIDE = auto()
    GROWTH = auto()
    OWN_COST = auto()
    MEDIAN = auto()


LIMIT, PRIMARY, COMPARED, EFFECT, BESIDE, GROWTH, OWN_COST, MEDIAN = Use
NOTHING_COUNTED = "nothing to count in any trial"
LOWER, HIGHER, NEITHER = Better.LOWER, Better.HIGHER, Better.NEITHER


@dataclass(frozen=True)
class Group:
    """Metrics that belong together. Those with a `heading` are the columns of a table, which `text`
    explains; the table is shown where any arm has a value."""

    title: str
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """`kind` says how the values of trials are combined: `quantile` (`q` of the sample `source`),
    `positive` (geometric mean), `amount` (mean, may be 0), `fraction` (counts over counts)."""

    name: str = field(kw_only=False)
    title: str = field(kw_only=False)
    text: str = field(kw_only=False)
    unit: str
    kind: Kind
    better: Better
    scope: MetricScope
    group: Group
    heading: str = ""
    """The title of its column in the table of its group."""
    column: str = ""
    """The title of its column in the table of a workload, which percentiles may share."""
    on_request: bool = False
    """Whether only trials that ask for the metric have it."""
    use: Use = Use.NONE
    topics: TopicScope = TopicScope.WHOLE
    no_data: str = "not recorded"
    """The reason that is given where a metric has no value and no trial says why."""
    source: str = ""
    q: float = 0.0
    items: str = "messages"
    """The noun for the values of the sample, or for that of which the metric is a fraction."""
    measure: "Callable[[Messages, float], float | None] | None" = None
    """Computes the value from a trial's messages and the length of its window in s; None where
    these do not give the value."""
    counts: "Callable[[Ledger], tuple[int, int]] | None" = None
    """Gives (events, of) of a fraction that the ledger has."""
    complement: str = ""
    """The fraction whose complement to 1 this metric is."""
    counter: str = ""
    """The counter of processes that is read once, after the window, and gives the value."""
    ranked_by: str = ""
    """The metric that says which side is better, for a metric without a better direction."""
    words: tuple[str, ...] = ()
    """The names in `capacity --limit`; for a quantile they follow the percentile."""
    fate: Fate | None = None
    judged_first: bool = False
    """Whether the metric is judged before other metrics with the same scope."""
    without_under_way: bool = False
    """Whether the fraction leaves messages under way out: nobody knows whether they would have
    arrived."""
    failed_value: float | None = None
    """The value of a trial that failed by the fault of the arm; None where it is not known."""
    clocks: Clocks | None = None
    per_message: bool = False
    """Whether the value is divided by the number of messages that arrived."""
    whole_window: bool = False
    """Whether the value needs the whole window, and part of a window gives none."""
    counts_arrivals: bool = False
    """Whether the metric counts arrivals: 0 in every trial gives a bound, and not a zero."""
    load_independent: bool = False
    """Whether other load of the machine leaves the value as it is."""

    @property
    def is_percentile_of_messages(self) -> bool:
        return self.kind == "quantile" and self.scope in (MetricScope.MESSAGES, MetricScope.CHAIN)

    def document(self) -> dict[str, str]:
        return {"title": self.title, "unit": self.unit, "text": self.text}


def fraction(
    name: str, title: str, text: str, *, metric: Callable[..., Metric], **attributes: Any
) -> Metric:
    """A metric of kind `fraction`, over all trials together."""
    attributes.setdefault("no_data", NOTHING_COUNTED)
    return metric(name, title, text, unit="fraction", kind="fraction", **attributes)


def percentiles(
    stem: str,
    title: str,
    text: str,
    qs: tuple[float, ...],
    *,
    metric: Callable[..., Metric],
    no_data: str = "no message to measure",
    **attributes: Any,
) -> tuple[Metric, ...]:
    """The percentiles of the sample `stem`, in ns. An attribute that is a mapping from quantile to
    value applies to the percentiles in it, any other attribute to all percentiles."""
    items = attributes.get("items", "messages")
    return tuple(
        metric(
            f"{stem}_p{f'{q * 100:g}'.replace('.', '')}",
            f"{title}, {'median' if q == 0.5 else f'p{q * 100:g}'}",
            f"{text} {'Half' if q == 0.5 else f'{(1 - q) * 100:.3g} %'} of the {items} take longer. "
            f"Printed from {needed(q)} {items} on; below that a bound.",
            unit="ns",
            kind="quantile",
            source=stem,
            q=q,
            no_data=no_data,
            failed_value=inf,
            **{
                name: value[q] if isinstance(value, Mapping) else value
                for name, value in attributes.items()
                if not isinstance(value, Mapping) or q in value
            },
        )
        for q in qs
    )
