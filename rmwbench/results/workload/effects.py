"""What one thing does: arms that name another `against`, as ratios to it, metric by metric, each
with an interval.

A feature on and off, or the next rung of a ladder, differ in one thing, and both are in every
block: so the ratio is of pairs. All of a report are judged together (analysis/verdicts/gains.py):
the words beside a table, "raises" and "lowers", are false anywhere in a report with a probability
of at most 5 %.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.analysis.metrics.aggregate import aggregate
from rmwbench.analysis.metrics.comparisons import loads
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.topics import POOLED
from rmwbench.analysis.verdicts import gains
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.results import shown
from rmwbench.results.model import Metric
from rmwbench.results.shown import Judged, Workload
from rmwbench.results.workload.arm import ArmReport
from rmwbench.words import numbers as fmt

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


@dataclass
class Effect:
    """An arm ÷ another, metric by metric, before it is judged. `after`: what its sentence ends
    with."""

    workload: str
    arm: str
    against: str
    planned: dict[str, gains.Planned]
    after: str = ""


def judged(effects: Sequence[Effect], rules: Rules) -> dict[str, list[shown.Effect]]:
    """Workload -> its effects, in their order; all of a report are judged at once."""
    found = iter(gains.judge([p for effect in effects for p in effect.planned.values()], rules))
    out: dict[str, list[shown.Effect]] = {}
    for effect in effects:
        known = {metric: next(found) for metric in effect.planned}
        out.setdefault(effect.workload, []).append(
            shown.Effect(
                arm=effect.arm,
                against=effect.against,
                ratios={metric: Judged.of(gain.document()) for metric, gain in known.items()},
                text="; ".join(x for x in (_words(known), effect.after) if x),
            )
        )
    return out


def effects(workload: str, arms: Sequence[ArmReport]) -> list[Effect]:
    """Of a workload's arms, each against the one that it names, in their order."""
    by_name = {arm.name: arm for arm in arms}
    out = []
    for arm in arms:
        base = by_name.get(str(arm.arm.get("against")))
        if base is not None:
            out.append(
                Effect(workload, arm.name, base.name, _planned(arm, base, (arm.primary, *METRICS)))
            )
    return out


BESIDE = (
    "response_latency_p50",
    "response_latency_p90",
    "response_latency_p99",
    "longest_stall",
    "publish_call_p50",
)
"""Of a workload that is put beside another: what its messages suffer."""


def beside(
    workload: str, arms: Sequence[ArmReport], others: Sequence[ArmReport], title: str
) -> list[Effect]:
    """The same for a workload that names another `against`, called `title`: each arm with itself
    there."""
    by_name = {arm.name: arm for arm in others}
    out = []
    for arm in (a for a in arms if a.name in by_name):
        base = by_name[arm.name]
        lost = [_undelivered(side) for side in (arm, base)]
        planned = _planned(arm, base, (arm.primary, *BESIDE))
        after = f"undelivered {lost[0]}, there {lost[1]}"
        out.append(Effect(workload, arm.name, f"{base.name} in {title}", planned, after))
    return out


RELIABLE, BEST_EFFORT = "reliable", "best_effort"


def reliability_costs(name: str, arms: Mapping[str, Sequence[ArmReport]]) -> list[Effect]:
    """What reliability costs: each arm of a comparison at the level `reliable` ÷ itself at
    `best_effort`, all other levels alike, paired within blocks. Empty for any other comparison.
    `arms`: comparison → its arms."""
    mine = [(arm, loads(arm.cell["factors"])) for arm in arms[name]]
    if not any(factors.get("reliability") == RELIABLE for _, factors in mine):
        return []
    there = {
        _identity(arm, factors): arm
        for found in arms.values()
        for arm in found
        if (factors := loads(arm.cell["factors"])).get("reliability") == BEST_EFFORT
    }
    out = []
    for arm, factors in mine:
        base = there.get(_identity(arm, factors | {"reliability": BEST_EFFORT}))
        if base is not None:
            planned = _planned(arm, base, (arm.primary, *BESIDE))
            out.append(Effect(name, arm.name, f"{base.name} best effort", planned))
    return out


def _identity(arm: ArmReport, factors: Mapping[str, Any]) -> str:
    """The same for two arms that differ in nothing but what is measured of them."""
    return repr((arm.cell["workload"], arm.cell["arm"], sorted(map(repr, factors.items()))))


def _undelivered(arm: ArmReport) -> str:
    return fmt.metric(Metric.of(aggregate(GLOSSARY["undelivered"], arm.trials).document())).text


def _planned(arm: ArmReport, base: ArmReport, metrics: Iterable[str]) -> dict[str, gains.Planned]:
    """Without metrics that either has not, or that are 0 somewhere: then there is nothing to
    divide. Over unlike topics together there is no latency."""
    out = {}
    for metric in dict.fromkeys(metrics):
        if metric in POOLED and (arm.topics or base.topics):
            continue
        a, b = (side.in_blocks(metric) for side in (arm, base))
        if a and b and min(*a.values(), *b.values()) > 0:
            bounds = arm.clock_bounds(metric), base.clock_bounds(metric)
            out[metric] = gains.Planned(metric, a, b, bounds)
    return out


def _words(judged: Mapping[str, gains.Gain]) -> str:
    """Which metrics it raises, lowers, or leaves within the margin; the others are open."""
    groups = (
        (gains.Answer.LARGER, "raises"),
        (gains.Answer.SMALLER, "lowers"),
        (gains.Answer.SAME, "keeps"),
    )
    names = [
        (word, [n for n, gain in judged.items() if gain.answer == answer])
        for answer, word in groups
    ]
    return "; ".join(f"{word} {', '.join(found)}" for word, found in names if found)


def columns(workload: Workload) -> list[str]:
    """The metrics that any effect of the workload has, in the order of a table's columns."""
    there = {name for effect in workload.effects for name in effect.ratios}
    return [
        name
        for name in dict.fromkeys((workload.primary_metric, *BESIDE, *METRICS))
        if name in there
    ]


def rows(workload: Workload) -> list[list[str]]:
    """The table as text: `arm ÷ against`, then a ratio with its interval or `–` for each of
    `columns`."""
    found = []
    for effect in workload.effects:
        ratios = [fmt.ratio(effect.ratios.get(name)) for name in columns(workload)]
        words = [ratio.full if ratio.state == "measured" else "–" for ratio in ratios]
        found.append([f"{effect.arm} ÷ {effect.against}", *words])
    return found
