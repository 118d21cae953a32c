"""Computes the answer of `rmwbench capacity` from a campaign that searched for capacities
(docs/formats/capacity.md); the terminal, HTML and Markdown are rendered from it. The searches are
replayed from the trials, by the code that steered them."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rmwbench.analysis.capacity.arm_capacity import (
    KNEE_FACTOR,
    ArmSearch,
    Capacity,
    LoadPoint,
    Unit,
    knee,
)
from rmwbench.analysis.capacity.limit import CapacityLimit, LimitCondition, LimitFinding, judge
from rmwbench.analysis.metrics.aggregate import LOSSES, MeasuredTrial, aggregate, trial_value
from rmwbench.analysis.metrics.context import Context
from rmwbench.analysis.metrics.glossary import GLOSSARY, Metric
from rmwbench.analysis.metrics.stability import Stability, stability
from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.stats.estimate import Estimate, Measured, NoData
from rmwbench.analysis.stats.intervals import median_range
from rmwbench.analysis.verdicts.verdict import lost_by_its_arm
from rmwbench.bundle import Bundle
from rmwbench.bundle.journal import SearchEnded
from rmwbench.results.capacity import capacity_model as model
from rmwbench.results.capacity import capacity_words
from rmwbench.results.machine.calibration_document import machine
from rmwbench.results.model import CampaignIdentity, GlossaryEntry, TrialCounts
from rmwbench.words import numbers as fmt

MACHINE_BOUND_IDLE = 0.10
"""A cell that leaves less of the machine's processor time is machine-bound (rule 10)."""
MEDIAN = "response_latency_p50"
TAIL = "response_latency_p99"


@dataclass
class MeasuredProbe:
    """A trial and its finding; `trial` and `stability` are None if it failed, `finding` if it
    decides nothing."""

    number: int
    round: int
    level: float
    status: str
    reason: str | None
    finding: LimitFinding | None
    trial: MeasuredTrial | None = None
    stability: Stability | None = None
    idle: float | None = None


@dataclass
class ArmProbes:
    """An arm's probes in order, its search as it was replayed, and its cells by level."""

    about: dict[str, Any]
    search: ArmSearch | None
    cells: dict[float, dict[str, Any]]
    probes: list[MeasuredProbe] = field(default_factory=list)
    ended: str | None = None


def summarise(bundle: Bundle) -> model.Searched:
    """Return the answer of a search. Raises UserError for a broken bundle."""
    plan = bundle.campaign.capacity or {}
    limit = CapacityLimit(
        tuple(
            LimitCondition(c["metric"], c["below"], c.get("inclusive", False))
            for c in plan["limit"]["conditions"]
        )
    )
    arms = _arms(bundle, plan)
    _probes(bundle, limit, arms)
    search = _search(plan, limit)
    capacities = tuple(_arm(arm, search, limit) for arm in arms.values())
    used = (*search.curve, *LOSSES, "achieved_rate", *(c.metric for c in limit.conditions))
    return model.Searched(
        campaign=_campaign(bundle),
        machine=machine(bundle),
        search=search,
        arms=capacities,
        conclusions=capacity_words.conclusions(search, capacities),
        glossary={name: GlossaryEntry(**GLOSSARY[name].document()) for name in dict.fromkeys(used)},
    )


def _search(plan: Mapping[str, Any], limit: CapacityLimit) -> model.RaisedFactor:
    conditions = tuple(model.SearchCondition(**c) for c in plan["limit"]["conditions"])
    return model.RaisedFactor(
        along=plan["along"],
        factor=plan["factor"],
        unit=plan["unit"],
        title=plan["title"],
        whole=plan["whole"],
        limit=model.SearchLimit(text=plan["limit"]["text"], conditions=conditions),
        own_level=plan["own_level"],
        workload=plan["workload"],
        workload_title=plan["workload_title"],
        workload_description=plan["workload_description"],
        least=plan["levels"][0],
        most=plan["levels"][-1],
        resolution=plan["request"]["resolution"],
        budget_s=plan["request"]["budget_s"],
        messages=limit.messages,
        curve=(MEDIAN, _tail(limit)),
    )


def _arms(bundle: Bundle, plan: Mapping[str, Any]) -> dict[str, ArmProbes]:
    ended = {line.arm: line.ended for line in bundle.journal.lines if isinstance(line, SearchEnded)}
    cells = bundle.rows("cells")
    arms = {}
    for about in plan["arms"]:
        own = [c for c in cells if c["arm"] == about["arm"]]
        levels = plan["levels"][: about["levels"]]
        search = ArmSearch(levels, about["start"], whole=plan["whole"]) if levels else None
        by_level = {float(json.loads(c["factors"])[plan["factor"]]): c for c in own}
        arms[about["arm"]] = ArmProbes(about, search, by_level, ended=ended.get(about["arm"]))
    return arms


def _probes(bundle: Bundle, limit: CapacityLimit, arms: dict[str, ArmProbes]) -> None:
    """Add every trial to its arm's search, in the order in which the trials were made."""
    whose = {c["cell"]: (arm, level) for arm in arms.values() for level, c in arm.cells.items()}
    idle: dict[int, float] = {
        row["trial"]: row["value"]
        for row in bundle.rows("probes")
        if (row["probe"], row["at"]) == ("idle", "window")
    }
    lines = [line for line in bundle.trials() if line.cell in whose]
    done = bundle.evidence(line for line in lines if line.status == "done")
    for line in lines:
        arm, level = whose[line.cell]
        probe = MeasuredProbe(
            line.trial, line.block, level, line.status, line.reason, None, idle=idle.get(line.trial)
        )
        if lost_by_its_arm(line):
            probe.finding = LimitFinding(
                "failed", ((line.reason or "the trial failed").splitlines()[0],)
            )
        elif line.status == "done":
            evidence = next(done)
            probe.trial = measure_trial(evidence)
            context = Context.of(evidence)
            probe.stability = stability(context.evidence.records, context.endpoints, context.window)
            probe.finding = judge(limit, probe.trial, probe.stability)
        arm.probes.append(probe)
        if probe.finding is not None and arm.search is not None:
            arm.search.record(level, probe.finding.holds)


def _arm(arm: ArmProbes, search: model.RaisedFactor, limit: CapacityLimit) -> model.CapacityArm:
    cell = next(iter(arm.cells.values()), {})
    judged = [p.finding.kind for p in arm.probes if p.finding is not None]
    # An arm of which no trial could run at any level is broken, not slow.
    broken = bool(judged) and set(judged) == {"failed"}
    capacity = Capacity("no data", None, None, None, len(judged))
    if arm.search and not broken:
        capacity = arm.search.capacity()
    levels = tuple(
        _at_level(arm, level, limit)
        for level in sorted(arm.cells)
        if any(p.level == level for p in arm.probes)
    )
    answer = model.CapacityArm(
        arm=arm.about["arm"],
        middleware=cell.get("middleware") or arm.about["middleware"],
        layer=cell.get("layer"),
        version=cell.get("version"),
        profile=cell.get("profile") or arm.about["profile"],
        release_date=cell.get("release_date"),
        role=arm.about["role"],
        flags=_flags(cell),
        ended=arm.ended,
        bound=arm.about["bound"],
        trials=TrialCounts.of(p.status for p in arm.probes),
        wide=bool(arm.search and arm.search.trials and not arm.search.resolved),
        capacity=replace(capacity, unit=search.unit),
        breaks=_breaks(arm, capacity),
        machine_bound=_machine_bound(arm, capacity),
        knee=_knee(levels, search.unit),
        levels=levels,
        probes=tuple(map(_probe, arm.probes)),
        answer="",
    )
    return replace(answer, answer=capacity_words.answer(answer, search))


def _probe(probe: MeasuredProbe) -> model.Probe:
    kind: model.ProbeKind = "void"
    causes: tuple[str, ...] = ((probe.reason or "too few messages").splitlines()[0],)
    if probe.finding is not None:
        kind, causes = probe.finding.kind, probe.finding.causes
    return model.Probe(
        trial=probe.number, round=probe.round, level=probe.level, kind=kind, causes=causes
    )


def _at_level(arm: ArmProbes, level: float, limit: CapacityLimit) -> model.SearchLevel:
    probes = [p for p in arm.probes if p.level == level]
    judged = [(p, p.finding) for p in probes if p.finding is not None]
    findings = [finding for _, finding in judged]
    trials = [p.trial for p, _ in judged if p.trial is not None]
    kinds: Counter[str] = Counter(finding.kind for finding in findings)
    # The latency of a growing queue is not a property of the level, and leaving its trials out
    # would flatter it.
    unstable = [finding.kind == "unstable" for p, finding in judged if p.trial is not None]
    latencies = {MEDIAN, _tail(limit)} | {
        c.metric for c in limit.conditions if GLOSSARY[c.metric].kind == "quantile"
    }
    metrics = {name: steady(GLOSSARY[name], trials, unstable) for name in sorted(latencies)}
    for name in (*LOSSES, "achieved_rate", "offered_rate"):
        metrics[name] = aggregate(GLOSSARY[name], trials)
    growth = [p.stability.growth_hz for p, _ in judged if p.stability and p.stability.unstable]
    idle = [p.idle for p, _ in judged if p.idle is not None]
    return model.SearchLevel(
        level=level,
        cell=arm.cells[level]["cell"],
        held=kinds["holds"],
        failed=len(judged) - kinds["holds"],
        void=len(probes) - len(judged),
        kinds=dict(kinds),
        causes=tuple(cause for f in findings if not f.holds for cause in f.causes),
        unstable=bool(trials) and 2 * sum(unstable) >= len(trials),
        queue_growth_hz=float(np.median(growth)) if growth else None,
        idle=float(np.median(idle)) if idle else None,
        metrics=metrics,
    )


def steady(entry: Metric, trials: Sequence[MeasuredTrial], unstable: Sequence[bool]) -> Estimate:
    """Return a latency of a level over its trials, in which a trial with a growing queue counts as
    infinitely slow: no data if these are half or more, else the median with the range."""
    if not any(unstable):
        return aggregate(entry, trials)
    if 2 * sum(unstable) >= len(trials):
        of = fmt.counted(len(trials), "trial")
        return NoData(entry.unit, no_data=f"unstable in {sum(unstable)} of {of}: the queue grows")
    values = [
        np.inf if bad else trial_value(entry, t) for t, bad in zip(trials, unstable, strict=True)
    ]
    present = np.array([v for v in values if v is not None], float)
    (value, low, high), coverage = median_range(present)
    if not np.isfinite(value):
        return NoData(
            entry.unit,
            no_data="in half of the trials the queue grows or messages that did not arrive reach this quantile",
        )
    count = sum(t.messages.samples[entry.source].count for t in trials)
    how = (
        f"median and range of {len(present)} trials ({coverage * 100:.3g} %), {sum(unstable)} of "
        "them unstable"
    )
    return Measured(entry.unit, value, low, high, count, len(present), how)


def _tail(limit: CapacityLimit) -> str:
    """Return the percentile that the curve shows beside the median: that of the limit if it has one
    above the median."""
    quantiles = (c.metric for c in limit.conditions if GLOSSARY[c.metric].kind == "quantile")
    tails = (m for m in quantiles if GLOSSARY[m].source == "response_latency")
    return next((m for m in tails if GLOSSARY[m].q > 0.5), TAIL)


def _knee(levels: Sequence[model.SearchLevel], unit: Unit) -> model.KneeAnswer:
    points = [
        LoadPoint(level.level, level.metrics[MEDIAN].value, level.unstable) for level in levels
    ]
    answer = knee(points)
    if answer is not None:
        return model.KneeAnswer(
            value=answer.load,
            unit=unit,
            base=answer.base_load,
            base_ns=answer.base_ns,
            by=answer.by,
        )
    medians_ns = [ns for level in levels if (ns := level.metrics[MEDIAN].value) is not None]
    if len(medians_ns) < 2:
        return model.KneeAnswer(no_data="too few levels with a latency")
    if not np.isfinite(medians_ns).any():
        return model.KneeAnswer(no_data="the median message does not arrive at any level")
    return model.KneeAnswer(no_data=f"the median stays below {KNEE_FACTOR:g} × its least")


def _near(arm: ArmProbes, capacity: Capacity) -> list[MeasuredProbe]:
    """Return the failing probes that show how the limit breaks: those inside the interval and up to
    twice the capacity, or all. A failure far below shows the state of the machine."""
    failing = [p for p in arm.probes if p.finding is not None and not p.finding.holds]
    if capacity.value is None:
        return failing
    return [p for p in failing if (capacity.low or 0) <= p.level <= 2.1 * capacity.value] or failing


def _breaks(arm: ArmProbes, capacity: Capacity) -> model.LimitBreak | None:
    """Return how the limit breaks just above the capacity: the most frequent kind, with the cause
    of its middle probe by level."""
    failing = [(p, p.finding) for p in _near(arm, capacity) if p.finding is not None]
    if not failing:
        return None
    kinds = Counter(finding.kind for _, finding in failing)
    kind = kinds.most_common(1)[0][0]
    of_kind = [(probe, finding) for probe, finding in failing if finding.kind == kind]
    of_kind.sort(key=lambda pair: (pair[0].level, pair[0].number))
    probe, finding = of_kind[len(of_kind) // 2]
    return model.LimitBreak(
        kind=kind,
        cause="; ".join(finding.causes),
        level=probe.level,
        of=len(failing),
        kinds={kind: count for kind, count in kinds.items()},
    )


def _machine_bound(arm: ArmProbes, capacity: Capacity) -> model.MachineBound | None:
    """Return the idle share if the machine had no time left where the limit broke; else None."""
    idle = [p.idle for p in _near(arm, capacity) if p.idle is not None]
    if not idle or float(np.median(idle)) >= MACHINE_BOUND_IDLE:
        return None
    return model.MachineBound(idle=float(np.median(idle)), of=len(idle))


def _flags(cell: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(map(str, json.loads(cell["definition"]).get("flags") or ())) if cell else ()


def _campaign(bundle: Bundle) -> model.SearchCampaign:
    lines = bundle.trials()
    wall_s = sum((row["duration_ns"] or 0) / 1e9 for row in bundle.rows("trials"))
    return model.SearchCampaign(
        **vars(CampaignIdentity.of(bundle)),
        rounds=1 + max((line.block for line in lines), default=-1),
        trials=TrialCounts.of(line.status for line in lines),
        wall_s=round(wall_s, 1),
    )
