"""Explains why a table that counts whole trials has none, or fewer than decide anything."""

from collections import Counter
from collections.abc import Sequence

from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.results.explain.explain_model import UndoneTrial
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS
from rmwbench.words import numbers as fmt


def why_none(undone: Sequence[TrialLine | UndoneTrial], total: str = "") -> str:
    """Return `2 failed and 1 void; the first: REASON` for the finished trials that are not done;
    empty if there are none. `total` is a text such as ` of 9 trials`."""
    if not undone:
        return ""
    first = str(undone[0].reason or "no reason recorded").partition("\n")[0]
    counts = Counter(line.status for line in undone)
    kinds = " and ".join(f"{counts[kind]} {kind}" for kind in ("failed", "void") if counts[kind])
    return f"{kinds}{total}; the first: {first}"


def undecided(outcome: str, trials: int) -> str | None:
    """Return a sentence which says that so few trials, which all have the same `outcome`, decide
    nothing; None if they are enough."""
    if trials >= DECIDABLE_BLOCKS:
        return None
    return (
        f"{outcome} in {fmt.counted(trials, 'trial')}, and fewer than {DECIDABLE_BLOCKS} decide "
        "nothing"
    )
