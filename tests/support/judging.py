"""Verdicts of a report that has one workload, for tests of the rules that give them."""

from collections.abc import Sequence

from rmwbench.analysis.verdicts import best
from rmwbench.analysis.verdicts.verdict import JudgedArm, Rules, Verdict


def judged(arms: Sequence[JudgedArm], rules: Rules = Rules()) -> dict[str, Verdict]:
    """Arm → its verdict over all blocks."""
    return best.judge({"w": arms}, rules)["w"]
