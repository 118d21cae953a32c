"""In which words arms are put in order: most workloads by a time, an empty node by its memory or processor time. A
verdict is a ratio of the primary metric either way; only what is called fast there is called small here."""

from dataclasses import dataclass

from rmwbench.analysis.metrics.glossary import GLOSSARY


@dataclass(frozen=True)
class Words:
    """`best`: X is the …; `so_much`: X takes 2× …; `alike`: X and Y are equally …; `less`: Y could be as …; `more`: the
    decided others; `by`: do not choose by …; `than`: X is not … any other arm."""

    best: str
    so_much: str
    alike: str
    less: str
    more: str
    by: str
    than: str

    def amount(self, arms: int, ratio: str) -> str:
        """`takes 2× as long` of one arm, `take 2× as long` of several."""
        text = self.so_much.format(ratio)
        verb, _, rest = text.partition(" ")
        return text if arms == 1 else f"{verb.removesuffix('s')} {rest}"

    def told(self, reason: str) -> str:
        """A verdict's reason, which speaks of times."""
        return reason.replace("slower than", self.than).replace("as fast", f"as {self.less}")


TIME = Words("fastest", "takes {} as long", "fast", "fast", "Slower", "latency", "slower than")
MEMORY = Words("smallest", "needs {} as much", "small", "small", "Larger", "it", "larger than")
PROCESSOR = Words("cheapest", "uses {} as much", "cheap", "cheap", "More", "it", "more costly than")
_UNITS = {"bytes": MEMORY, "cores": PROCESSOR}


def words(metric: str) -> Words:
    entry = GLOSSARY.get(metric)
    return TIME if entry is None else _UNITS.get(entry.unit, TIME)


def is_cost(metric: str) -> bool:
    """Whether the metric rests on no message."""
    return words(metric) is not TIME
