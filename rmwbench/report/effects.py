"""What one thing does: arms that name another `against`, as ratios to it, metric by metric, each with an interval.

A feature on and off, or the next rung of a ladder, differ in one thing, and both are in every block: so the ratio is of
pairs. These intervals are each 95 % for themselves and no verdicts; the table's verdicts hold for the whole report.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.analysis import compare
from rmwbench.analysis.aggregate import aggregate
from rmwbench.analysis.comparisons import loads
from rmwbench.analysis.glossary import GLOSSARY
from rmwbench.report import format as fmt
from rmwbench.report.arm import ArmReport

METRICS = (
    "publish_call_p50",
    "match_time",
    "ready_time",
    "cpu_per_message",
    "wire_bytes_per_payload_byte",
    "packets_per_message",
    "pss",
)
"""Beside the primary metric."""
MIN_BLOCKS = 5


def effects(arms: Sequence[ArmReport], margin: float) -> list[dict[str, Any]]:
    """`effects` of a workload in the show document, in the order of its arms."""
    by_name = {arm.name: arm for arm in arms}
    out = []
    for arm in arms:
        base = by_name.get(str(arm.arm.get("against")))
        if base is None:
            continue
        metrics = dict.fromkeys((arm.primary, *METRICS))
        ratios = {name: _ratio(arm, base, name) for name in metrics}
        found = {name: ratio.document() for name, ratio in ratios.items() if ratio is not None}
        out.append({"arm": arm.name, "against": base.name, "ratios": found, "text": _words(found, margin)})
    return out


BESIDE = (
    "response_latency_p50",
    "response_latency_p90",
    "response_latency_p99",
    "longest_stall",
    "publish_call_p50",
)
"""Of a workload that is put beside another: what its messages suffer."""


def beside(arms: Sequence[ArmReport], others: Sequence[ArmReport], title: str, margin: float) -> list[dict[str, Any]]:
    """The same for a workload that names another `against`, called `title`: each arm with itself there."""
    by_name = {arm.name: arm for arm in others}
    out = []
    for arm in (a for a in arms if a.name in by_name):
        base = by_name[arm.name]
        ratios = {name: _ratio(arm, base, name) for name in dict.fromkeys((arm.primary, *BESIDE))}
        found = {name: ratio.document() for name, ratio in ratios.items() if ratio is not None}
        lost = [_undelivered(side) for side in (arm, base)]
        text = "; ".join(x for x in (_words(found, margin), f"undelivered {lost[0]}, there {lost[1]}") if x)
        out.append({"arm": arm.name, "against": f"{base.name} in {title}", "ratios": found, "text": text})
    return out


RELIABLE, BEST_EFFORT = "reliable", "best_effort"


def reliability_costs(name: str, arms: Mapping[str, Sequence[ArmReport]], margin: float) -> list[dict[str, Any]]:
    """What reliability costs: each arm of a comparison at the level `reliable` ÷ itself at `best_effort`, all other
    levels alike, paired within blocks. Empty for any other comparison. `arms`: comparison → its arms."""
    mine = [(arm, loads(arm.cell["factors"])) for arm in arms[name]]
    if not any(factors.get("reliability") == RELIABLE for _, factors in mine):
        return []
    key = lambda arm, factors: (arm.cell["workload"], arm.cell["arm"], sorted(map(repr, factors.items())))  # noqa: E731
    there = {
        repr(key(arm, factors)): arm
        for found in arms.values()
        for arm in found
        if (factors := loads(arm.cell["factors"])).get("reliability") == BEST_EFFORT
    }
    out = []
    for arm, factors in mine:
        base = there.get(repr(key(arm, factors | {"reliability": BEST_EFFORT})))
        if base is not None:
            ratios = {metric: _ratio(arm, base, metric) for metric in dict.fromkeys((arm.primary, *BESIDE))}
            found = {metric: ratio.document() for metric, ratio in ratios.items() if ratio is not None}
            text = _words(found, margin)
            out.append({"arm": arm.name, "against": f"{base.name} best effort", "ratios": found, "text": text})
    return out


def _undelivered(arm: ArmReport) -> str:
    return fmt.metric(aggregate(GLOSSARY["undelivered"], arm.trials).document()).text


def _ratio(arm: ArmReport, base: ArmReport, metric: str) -> Any:
    """None where either has no such metric, or one that is 0: then there is nothing to divide."""
    a, b = ({t.block: v for t, v in side.values[metric]} for side in (arm, base))
    if not a or not b or min(*a.values(), *b.values()) <= 0:
        return None
    return compare.ratio(a, b, min_blocks=MIN_BLOCKS)


def _words(ratios: dict[str, Any], margin: float) -> str:
    """Which metrics it raises, lowers, or leaves within the margin; the others are open."""
    raised, lowered, same = [], [], []
    for name, ratio in ratios.items():
        low, high = ratio.get("low"), ratio.get("high")
        if not isinstance(low, float | int) or not isinstance(high, float | int):
            continue
        if low > 1:
            raised.append(name)
        elif high < 1:
            lowered.append(name)
        elif low >= 1 / (1 + margin) and high <= 1 + margin:
            same.append(name)
    groups = (("raises", raised), ("lowers", lowered), ("keeps", same))
    return "; ".join(f"{word} {', '.join(names)}" for word, names in groups if names)


def columns(workload: dict[str, Any]) -> list[str]:
    """The metrics that any effect of the workload has, in the order of a table's columns."""
    there = {name for effect in workload.get("effects") or () for name in effect["ratios"]}
    return [name for name in dict.fromkeys((workload["primary_metric"], *BESIDE, *METRICS)) if name in there]


def rows(workload: dict[str, Any]) -> list[list[str]]:
    """The table as text: `arm ÷ against`, then a ratio with its interval or `–` for each of `columns`."""
    found = []
    for effect in workload["effects"]:
        ratios = [fmt.ratio(effect["ratios"].get(name)) for name in columns(workload)]
        words = [ratio.full if ratio.state == "measured" else "–" for ratio in ratios]
        found.append([f"{effect['arm']} ÷ {effect['against']}", *words])
    return found
