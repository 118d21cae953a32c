"""What a metric is: all that the program knows of one stands in its declaration, and every list of
metrics is a selection over these attributes. Nothing is decided by how a name is spelt.

Declarations import nothing that computes, so that a suite can be read without numpy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, StrEnum, auto
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from rmwbench.analysis.stats.quantile import needed

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
    `CHAIN`: what relays pass on, from its source to the last reader; `JOINERS`: what was sent for
    nodes that joined within the window."""

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
    """Where topics are unlike. `WHOLE`: the metric is of the workload alone; `ALSO`: each topic has
    a value too; `APART`: each has a value, and over all of them together there is none."""

    WHOLE = auto()
    ALSO = auto()
    APART = auto()


class Clocks(Enum):
    """The two stamps that a time lies between. `ONE_WAY`: a writer's and a reader's; `LEG`: a
    client's and its service's; `EVENTS`: of any two hosts, or of the orchestrator; `ENDS`: at both
    ends of a chain; `HOP`: of two neighbours of a chain."""

    ONE_WAY = auto()
    LEG = auto()
    EVENTS = auto()
    ENDS = auto()
    HOP = auto()


class Fate(StrEnum):
    """What became of a message that did not arrive. `FAILED`: of a whole trial, by the arm's own
    fault."""

    LOST = "lost"
    LATE = "late"
    NEVER_SENT = "never_sent"
    FAILED = "failed"


class Use(Flag):
    """Where the program takes the metric up by itself. `LIMIT`: a limits file may name it;
    `PRIMARY`: a workload may be judged by it; `COMPARED`: `compare` judges it beside the primary
    metric; `EFFECT`: an arm is divided by another in it, and in `BESIDE` too where a workload is
    put beside another; `GROWTH`: how it grows with the number of nodes is told; `OWN_COST`:
    `calibrate` measures it with no middleware; `MEDIAN`: it says what typical messages took."""

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
    """Metrics that belong together. Those with a `heading` are the columns of a table of its own,
    which `text` explains; it is shown where any arm has a value."""

    title: str
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """`kind` says how trials are put together: `quantile` (`q` of the sample `source`), `positive`
    (geometric mean), `amount` (mean, may be 0), `fraction` (counts over counts)."""

    name: str = field(kw_only=False)
    title: str = field(kw_only=False)
    unit: str = field(kw_only=False)
    kind: Kind = field(kw_only=False)
    text: str = field(kw_only=False)
    better: Better
    of: MetricScope
    group: Group
    heading: str = ""
    """The title of its column in the table of its group."""
    column: str = ""
    """The title of its column in the table of a workload, which percentiles may share."""
    asked: bool = False
    """Only trials that ask for it have it."""
    use: Use = Use.NONE
    topics: TopicScope = TopicScope.WHOLE
    absent: str = "not recorded"
    """Why there is no value where no trial says why."""
    source: str = ""
    q: float = 0.0
    counted: str = "messages"
    """What the values of the sample are of."""
    measure: "Callable[[Messages, float], float | None] | None" = None
    """From a trial's messages and the length of its window in s, where it follows from them."""
    counts: "Callable[[Ledger], tuple[int, int]] | None" = None
    """(events, of) of a fraction that the ledger tells."""
    complement: str = ""
    """The fraction that it is one minus."""
    counter: str = ""
    """The counter of processes that is read once, after the window."""
    instead: str = ""
    """Without a better direction: the metric by which a side is better."""
    words: tuple[str, ...] = ()
    """How `capacity --limit` names it; of quantiles behind the percentile."""
    fate: Fate | None = None
    judged_first: bool = False
    """Verdicts on a metric of the same kind of messages (`of`) judge it first."""
    without_under_way: bool = False
    """A fraction that messages under way are not in: whether they would have arrived is not
    known."""
    failed: float | None = None
    """What a trial that its arm failed counts as; None where that is not known."""
    clocks: Clocks | None = None
    per_message: bool = False
    """It is divided by the messages that arrived."""
    whole_window: bool = False
    """It is not known without the window, nor of a part of it."""
    arrivals: bool = False
    """It counts arrivals: nothing in any trial is a bound, and not a zero."""
    whatever_load: bool = False
    """What else the machine does leaves it as it is."""

    @property
    def is_latency(self) -> bool:
        """Whether messages that never arrived are infinite in it."""
        return self.kind == "quantile" and self.unit == "ns"

    @property
    def is_percentile_of_messages(self) -> bool:
        return self.kind == "quantile" and self.of in (MetricScope.MESSAGES, MetricScope.CHAIN)

    def document(self) -> dict[str, str]:
        return {"title": self.title, "unit": self.unit, "text": self.text}


def fraction(
    name: str, title: str, text: str, *, metric: Callable[..., Metric], **attributes: Any
) -> Metric:
    """A share of what is counted, over all trials together."""
    attributes.setdefault("absent", NOTHING_COUNTED)
    return metric(name, title, "fraction", "fraction", text, **attributes)


def percentiles(
    stem: str,
    title: str,
    text: str,
    qs: tuple[float, ...],
    *,
    metric: Callable[..., Metric],
    absent: str = "no message to measure",
    **attributes: Any,
) -> tuple[Metric, ...]:
    """Percentiles of the sample `stem`, in ns. An attribute is of all of them; a mapping has it of
    some, by quantile."""
    counted = attributes.get("counted", "messages")
    return tuple(
        metric(
            f"{stem}_p{f'{q * 100:g}'.replace('.', '')}",
            f"{title}, {'median' if q == 0.5 else f'p{q * 100:g}'}",
            "ns",
            "quantile",
            f"{text} {_beyond(q, counted)} Printed from {needed(q)} {counted} on; below that a "
            "bound.",
            source=stem,
            q=q,
            absent=absent,
            failed=inf,
            **{
                name: held[q] if isinstance(held, Mapping) else held
                for name, held in attributes.items()
                if not isinstance(held, Mapping) or q in held
            },
        )
        for q in qs
    )


def _beyond(q: float, counted: str) -> str:
    share = "Half" if q == 0.5 else f"{(1 - q) * 100:.3g} %"
    return f"{share} of the {counted} take longer."
