"""Disturbances by the machine that do not void a trial: the flags that were raised while the trials
of an arm ran, one per code (docs/doctor.md), and which verdicts may use trials of a busy
machine."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rmwbench.analysis.verdicts.verdict import JudgedArm
from rmwbench.codes import FLAG, Code

USUAL = {"background": "idle", "host_idle": "as_found"}
OF_THE_MIDDLEWARE = (
    Code.NOT_HEARD,
    Code.PROBES_OUTSTANDING,
    Code.DELIVERED_NOTHING,
    Code.HELD,
    Code.FRAMES_UNLOGGED,
)
"""Flags of bad behaviour of a middleware, which is in its numbers and not the machine's fault."""
SHARE = 0.5
"""An arm is marked where at least this share of its trials has the flag; blocks make up for a flag
of a few trials."""


@dataclass(frozen=True)
class Disturbance:
    """A flag that at least half of an arm's trials have. `code` is one of rmwbench/codes.py; in a
    bundle older than the codes it is the first word of the flag's text."""

    code: str
    trials: int
    of: int
    last: str

    @property
    def text(self) -> str:
        whose = "" if self.code in OF_THE_MIDDLEWARE else "machine: "
        return f"{whose}{self.code} in {self.trials} of {self.of} trials; the last: {self.last}"


def disturbances(
    trials: Sequence[int], events: Mapping[int, Iterable[Mapping[str, Any]]]
) -> list[Disturbance]:
    """The disturbances of an arm in alphabetical order of their codes; empty where there were
    none."""
    flagged: dict[str, dict[int, str]] = {}
    for trial in trials:
        for row in events.get(trial, ()):
            if row["event"] == FLAG and row["text"]:
                prefix, _, text = row["text"].partition(": ")
                # A rule may flag a trial for several links: the last text is kept.
                flagged.setdefault(row.get("code") or prefix, {})[trial] = text
    return [
        Disturbance(code, len(texts), len(trials), list(texts.values())[-1])
        for code, texts in sorted(flagged.items())
        if len(texts) >= SHARE * len(trials)
    ]


def without_machine_bound(arms: Sequence[JudgedArm]) -> list[JudgedArm]:
    """The arms of one comparison without the trials that a busy machine spoilt: no verdict about a
    network uses machine-bound trials. An arm that was machine-bound in at least half of its blocks
    gets no verdict. A block in which any other arm was machine-bound is left out for all arms, so
    that no arm selects its blocks. Floors are no contenders and exclude no block."""
    barred = [_why_barred(arm) for arm in arms]
    excluded_blocks = frozenset(
        block
        for arm, why in zip(arms, barred, strict=True)
        if not arm.floor and why is None
        for block, bound in arm.busy.items()
        if bound
    )
    return [_without(arm, excluded_blocks, why) for arm, why in zip(arms, barred, strict=True)]


def _why_barred(arm: JudgedArm) -> str | None:
    bound = sum(arm.busy.values())
    if arm.floor or not bound or bound < SHARE * len(arm.busy):
        return None
    return (
        f"machine-bound in {bound} of {len(arm.busy)} trials: a busy machine's results do not "
        "judge a network"
    )


def _without(arm: JudgedArm, excluded_blocks: frozenset[int], barred: str | None) -> JudgedArm:
    judged = arm.in_blocks(lambda block: barred is None and block not in excluded_blocks)
    return replace(judged, barred=barred or arm.barred, excluded_blocks=excluded_blocks)


def conditions(definition: Mapping[str, Any]) -> str | None:
    """The other load of the machine, from a cell's definition; None where the bundle has none."""
    levels = definition.get("conditions")
    if not levels:
        return None
    unusual = [f"{name} {level}" for name, level in levels.items() if level != USUAL.get(name)]
    return ", ".join(unusual) or "nothing else running"
