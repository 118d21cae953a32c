"""In which words arms are put in order: most workloads by a time, an empty node by its memory or
processor time. A verdict is a ratio of the primary metric either way; only what is called fast
there is called small here."""

from dataclasses import dataclass, replace
from math import inf

from rmwbench.analysis.metrics.glossary import GLOSSARY, MetricScope


@dataclass(frozen=True)
class Words:
    """`best`: X is the …; `so_much`: X takes 2× …; `alike`: X and Y are equally …; `less`: Y could
    be as …; `more`: the decided others; `by`: do not choose by …; `than`: X is not … any other
    arm."""

    best: str
    so_much: str
    alike: str
    less: str
    more: str
    by: str
    than: str
    infinite: str = ""
    """Why the metric may be infinite; empty where that is for the messages that are lost."""

    def amount(self, arms: int, ratio: str) -> str:
        """`takes 2× as long` of one arm, `take 2× as long` of several."""
        text = self.so_much.format(ratio)
        verb, _, rest = text.partition(" ")
        return text if arms == 1 else f"{verb.removesuffix('s')} {rest}"

    def why_infinite(self, what: str) -> str:
        """Why `what`, a name of the metric, is infinite."""
        return self.infinite or f"messages that did not arrive reach {what}"


TIME = Words("fastest", "takes {} as long", "fast", "fast", "Slower", "latency", "slower than")
MEMORY = Words("smallest", "needs {} as much", "small", "small", "Larger", "it", "larger than")
PROCESSOR = Words("cheapest", "uses {} as much", "cheap", "cheap", "More", "it", "more costly than")
BRING_UP = replace(TIME, infinite="a node is never active")
_UNITS = {"bytes": MEMORY, "cores": PROCESSOR}


def words(metric: str) -> Words:
    found = GLOSSARY.get(metric)
    if found is None:
        return TIME
    if found.of is MetricScope.NODES and found.failed == inf:
        return BRING_UP
    return _UNITS.get(found.unit, TIME)


def is_cost(metric: str) -> bool:
    """Whether the metric rests on no message."""
    return words(metric) is not TIME
