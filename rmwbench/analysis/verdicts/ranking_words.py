"""The words that rank arms by a workload's primary metric. A verdict is a ratio of that metric;
only the median response, by which nearly all workloads are judged, is called fast without its
name."""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf

from rmwbench.analysis.metrics.glossary import GLOSSARY, Better, Metric, MetricScope


@dataclass(frozen=True, kw_only=True)
class RankingWords:
    """`best`: X …, as in *X is the fastest*; `so_much`: X *takes 2× as long*; `alike`: X and Y …;
    `good`: Y may be as …; `behind`: X is … Z; `worse`: X is …; `by`: do not choose by ….
    `higher`: whether a larger value is better."""

    best: str
    so_much: str
    alike: str
    good: str
    behind: str
    worse: str
    by: str
    higher: bool = False
    infinite: str = ""
    """Why a value is infinite, or, where a larger value is better, why its reciprocal is; empty where
    lost messages are the reason."""

    def amount(self, arms: int, ratio: str) -> str:
        """`takes 2× as long` for one arm, `take 2× as long` for several."""
        text = self.so_much.format(ratio)
        verb, _, rest = text.partition(" ")
        return text if arms == 1 else f"{_plural(verb)} {rest}"

    def behind_of(self, other: str) -> str:
        """`slower than Z`."""
        return self.behind.format(other)

    def why_infinite(self, name: str) -> str:
        """Why the metric is infinite; `name`: a name of it."""
        return self.infinite or f"messages that did not arrive reach {name}"

    def as_lower_is_better(self, value: float) -> float:
        """A value of the metric, or a ratio of values, so that a smaller number is better."""
        if not self.higher:
            return value
        return 1 / value if value else inf


TIME = RankingWords(
    best="is the fastest",
    so_much="takes {} as long",
    alike="are equally fast",
    good="fast",
    behind="slower than {}",
    worse="slower",
    by="latency",
)
_SO_MUCH = {
    "ns": "takes {} as long",
    "bytes": "needs {} as much",
    "cores": "uses {} as much",
    "s": "uses {} as much",
    "hz": "reaches {} as much",
    "bytes/s": "reaches {} as much",
}
_BEST = {"ns": "has the shortest {}", "bytes": "needs the least {}", "cores": "uses the least {}"}


@lru_cache
def words(metric: str) -> RankingWords:
    """The ranking words of a metric. A metric that this version does not know has its name in them,
    and its lower value counts as the better one."""
    if metric == "response_latency_p50":
        return TIME
    entry = GLOSSARY.get(metric)
    if entry is None:
        return _by_name(metric, "is the best by {}", "has {} as much", higher=False)
    higher = entry.better is Better.HIGHER
    unit = "cores" if entry.unit == "ns" and entry.scope is MetricScope.PROCESSES else entry.unit
    best = "has the highest {}" if higher else _BEST.get(unit, "has the lowest {}")
    ranking = _by_name(phrase(entry), best, _SO_MUCH.get(unit, "has {} as much"), higher=higher)
    return replace(ranking, infinite=_why_infinite(entry))


def _why_infinite(metric: Metric) -> str:
    if metric.better is Better.HIGHER:
        return "it is 0 in some blocks"
    if metric.scope is MetricScope.NODES and metric.failed_value == inf:
        return "a node is never active"
    if metric.scope is MetricScope.START:
        return "it did not happen before the trial ended"
    if metric.source == "publish_call" or metric.name == "publish_call_max":
        return "a publish call never returned"
    return ""


def _by_name(title: str, best: str, so_much: str, *, higher: bool) -> RankingWords:
    return RankingWords(
        best=best.format(title),
        so_much=so_much,
        alike=f"have the same {title}",
        good="good",
        behind=f"behind {{}} in {title}",
        worse="behind",
        by=title,
        higher=higher,
    )


def phrase(metric: Metric) -> str:
    """The name of a metric within a sentence: `median publish call`, `p99 response latency`."""
    head, comma, quantile = metric.title.rpartition(", ")
    return f"{quantile} {head}" if comma else metric.title


def is_resource(metric: str) -> bool:
    """Whether the metric needs no message: an idle process has it too."""
    entry = GLOSSARY.get(metric)
    if entry is None:
        return False
    if entry.scope is MetricScope.PROCESSES:
        return not entry.per_message
    return entry.scope is MetricScope.NODES and entry.failed_value == inf


def _plural(verb: str) -> str:
    return {"is": "are", "has": "have", "reaches": "reach"}.get(verb, verb.removesuffix("s"))
