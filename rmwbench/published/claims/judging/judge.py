"""Whether a claim holds here: its tests against campaigns. Pure.

A claim speaks of one layer, of versions of its time, and of a machine. Where a campaign has others
the answer is a proxy: it says what holds here, and never refutes the original. Campaigns of one
machine are pooled by their blocks (values.py); each machine has its own answer, undecided ones too,
and none is selected for what it says: the one with the most of its cells and blocks stands first.
Versions whose answers differ have an answer each, and the newest stands first (versions.py).
By which rules a cell is decided: decision_rules.py.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rmwbench.analysis.metrics.judged_topics import judged_name
from rmwbench.published.campaign import CampaignArm, MeasuredCampaign
from rmwbench.published.claims.amounts import (
    POINTS,
    RATIO,
    UNITLESS,
    title_of,
    unit_of,
)
from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest, Conditions
from rmwbench.published.claims.derived_suite import LEAST_BLOCKS
from rmwbench.published.claims.judging.decision_rules import (
    DECIDED,
    Answer,
    Code,
    ErrorFamily,
    ErrorShare,
    answer_of_cells,
    answer_of_tests,
    decided,
    leaning,
    run_needed,
)
from rmwbench.published.claims.judging.proxies import (
    class_text,
    conditions_of,
    lacking,
    length_of,
    of_class,
    reasons,
)
from rmwbench.published.claims.judging.sides import ArmOfWorkload, layers_of, sides_of
from rmwbench.published.claims.judging.today import CellAnswer, Today
from rmwbench.published.claims.judging.values import (
    ClaimValue,
    Sides,
    left_values,
    per_trial,
    right_values,
    value_of_cell,
    whatever_load,
)
from rmwbench.published.claims.judging.versions import (
    CellKey,
    by_version,
    versions_of,
    with_differing_versions,
)
from rmwbench.words import numbers as fmt


def answers(
    claims: Claims,
    claim: Claim,
    campaigns: Sequence[MeasuredCampaign],
    *,
    earlier: int | None = None,
) -> list[Today]:
    """What these campaigns say, one answer per machine, layer and touch, and per version where
    those differ: those that were not shipped first, then the claim's own layer, then the payload
    treated as there, then the newest version that has enough blocks, then the answer that lacks
    the fewest of the cells that the claim speaks of, then the one with the most blocks, then the
    newest, whatever it says. Empty where they have none of the claim's cells. `earlier` as in
    `ErrorShare`."""
    todays: list[Today] = []
    of_suites = [
        campaign for campaign in campaigns if any(campaign.ran(test.suite) for test in claim.tests)
    ]
    for of_machine in _by_machine(of_suites):
        for alike in _by_touch(of_machine):
            for layer in sorted(layers_of(alike)):
                todays += _of_machine(claims, claim, alike, layer, earlier)
    own = claims.layer_of(claim)
    todays.sort(key=lambda today: today.date or "", reverse=True)
    return sorted(
        with_differing_versions(todays),
        key=lambda today: (
            today.answer == "no data",
            today.shipped,
            today.layer != own,
            today.touched,
            today.superseded,
            today.missing,
            -today.blocks,
        ),
    )


def compared_cells(
    claims: Claims, claim: Claim, campaign: MeasuredCampaign
) -> Iterator[tuple[str, str | None, str, tuple[str, ...]]]:
    """(workload, topic, arm, metrics) of every cell that the claim compares in this campaign, at
    any layer."""
    for test in claim.tests:
        if campaign.ran(test.suite):
            for layer in layers_of([campaign]):
                for sides in sides_of(test, claims.sides, campaign, layer):
                    for side, topic in zip(sides, 2 * test.topics, strict=True):
                        if side is not None:
                            yield side.workload, topic, side.arm.arm, test.metrics


def _by_machine(campaigns: Sequence[MeasuredCampaign]) -> list[list[MeasuredCampaign]]:
    """The campaigns of each machine, the oldest first. What does not say its machine stands
    alone."""
    by_machine: dict[object, list[MeasuredCampaign]] = {}
    for number, campaign in enumerate(campaigns):
        machine = (campaign.host, campaign.shipped) if campaign.host else number
        by_machine.setdefault(machine, []).append(campaign)
    return [
        sorted(alike, key=lambda campaign: str(campaign.created_utc))
        for alike in by_machine.values()
    ]


def _by_touch(campaigns: Sequence[MeasuredCampaign]) -> Iterator[list[MeasuredCampaign]]:
    """The campaigns with those arms whose payload was treated alike, for each way: a payload that
    nobody reads is another experiment."""
    workloads = [workload for campaign in campaigns for workload in campaign.workloads]
    ways = dict.fromkeys(arm.touch for workload in workloads for arm in workload.arms)
    for touch in ways if len(ways) > 1 else ():
        yield [_only(campaign, touch) for campaign in campaigns]
    if len(ways) < 2:
        yield list(campaigns)


def _only(campaign: MeasuredCampaign, touch: str | None) -> MeasuredCampaign:
    workloads = (
        replace(item, arms=tuple(arm for arm in item.arms if arm.touch == touch))
        for item in campaign.workloads
    )
    return replace(campaign, workloads=tuple(item for item in workloads if item.arms))


@dataclass(frozen=True)
class PooledCell:
    """A cell over the campaigns that have measured it."""

    left: ArmOfWorkload
    right: ArmOfWorkload | None
    sides: list[Sides]

    @property
    def arms(self) -> list[CampaignArm]:
        return [side.arm for side in (self.left, self.right) if side is not None]


def _of_machine(
    claims: Claims,
    claim: Claim,
    campaigns: Sequence[MeasuredCampaign],
    layer: str,
    earlier: int | None,
) -> list[Today]:
    """One answer of all versions, or one of each where those that speak differ."""
    if not (pooled := _pooled(claims, claim, campaigns, layer)):
        return []
    numbers = range(len(campaigns))
    groups = by_version(
        {key: versions_of(cell.arms) for key, cell in pooled.items()},
        [[k for k, c in pooled.items() if n in {x.campaign for x in c.sides}] for n in numbers],
    )
    cells_by_group = [
        _judged_cells(claims, claim, campaigns, {key: pooled[key] for key in keys}, earlier)
        for keys in groups
    ]

    def today(cells: Mapping[CellKey, CellAnswer], answer: Answer | None = None) -> Today:
        keys = [key for key in pooled if key in cells]
        ordered = [cells[key] for key in keys]
        said = answer or _answer_of(claim, ordered)
        return _today(claims, claim, campaigns, layer, [pooled[key] for key in keys], ordered, said)

    todays = list(map(today, cells_by_group))
    with_data = [one for one in todays if one.answer != "no data"] or todays
    speaking = {one.answer for one in with_data if one.speaks} or {x.answer for x in with_data}
    if len(todays) < 2 or len(speaking) > 1:
        return todays
    return [today({k: v for of in cells_by_group for k, v in of.items()}, speaking.pop())]


def _pooled(
    claims: Claims, claim: Claim, campaigns: Sequence[MeasuredCampaign], layer: str
) -> dict[CellKey, PooledCell]:
    pooled: dict[CellKey, PooledCell] = {}
    for part, test in enumerate(claim.tests):
        for number, campaign in enumerate(campaigns):
            if not campaign.ran(test.suite):
                continue
            for left, right, left_base, right_base in sides_of(test, claims.sides, campaign, layer):
                others = (side and side.arm for side in (right, left_base, right_base))
                cell = pooled.setdefault((part, _key(left, right)), PooledCell(left, right, []))
                cell.sides.append(Sides(number, left.arm, *others))
    return pooled


def _judged_cells(
    claims: Claims,
    claim: Claim,
    campaigns: Sequence[MeasuredCampaign],
    pooled: Mapping[CellKey, PooledCell],
    earlier: int | None,
) -> dict[CellKey, CellAnswer]:
    """The answers of one version's cells."""
    counts = Counter(part for part, _ in pooled)
    long = {item.workload: item.steady_s for campaign in campaigns for item in campaign.workloads}
    return {
        (part, key): _cell(
            claims.conditions,
            claim.tests[part],
            part,
            cell,
            campaigns,
            Judging(
                earlier,
                ErrorFamily(counts[part], len(claim.tests)),
                long.get(cell.left.workload),
            ),
        )
        for (part, key), cell in pooled.items()
    }


@dataclass(frozen=True)
class Judging:
    """`earlier` as in `ErrorShare`; `family`: what the cell stands among; `steady_s`: of one of
    its trials, where that is known."""

    earlier: int | None
    family: ErrorFamily
    steady_s: float | None


def _key(left: ArmOfWorkload, right: ArmOfWorkload | None) -> tuple[Any, ...]:
    """What must be the same for two campaigns to have measured the same cell."""
    return tuple(
        (
            side.workload,
            side.arm.arm,
            side.arm.version,
            tuple(sorted((k, str(v)) for k, v in side.arm.factors.items())),
        )
        for side in filter(None, (left, right))
    )


def _today(
    claims: Claims,
    claim: Claim,
    campaigns: Sequence[MeasuredCampaign],
    layer: str,
    pooled: Sequence[PooledCell],
    cells: Sequence[CellAnswer],
    answer: Answer,
) -> Today:
    used = {
        f"{arm.arm} {arm.version}": (arm, campaigns[cell.sides[-1].campaign])
        for cell in pooled
        for arm in cell.arms
    }
    versions = versions_of(arm for arm, _ in used.values())
    numbers = sorted({sides.campaign for cell in pooled for sides in cell.sides})
    theirs = [campaigns[number] for number in numbers]
    length = length_of(claims, claim, theirs, cells)
    counted = conditions_of(claim, cells)
    proxy = reasons(claims, claim, layer, used) | lacking(length, counted)
    verdict = {"holds": "supported", "does not hold": "refuted"}.get(answer, answer)
    if proxy and answer in DECIDED:
        verdict = "proxy"
    last = theirs[-1]
    return Today(
        tuple(campaign.name for campaign in theirs),
        layer,
        answer,
        verdict,
        tuple(used),
        tuple(cells),
        tuple(proxy.values()),
        tuple(proxy),
        length,
        counted,
        last.host,
        max((campaign.date for campaign in theirs if campaign.date), default=None),
        min((cell.blocks for cell in cells if cell.answer != "no data"), default=0),
        sum(_missing(test, part, cells) for part, test in enumerate(claim.tests)),
        last.shipped,
        versions,
    )


def _missing(test: ClaimTest, part: int, cells: Sequence[CellAnswer]) -> int:
    """How many of the cells that a test speaks of have no data, for one pair of versions."""
    versions = Counter(c.versions for c in cells if c.part == part and c.answer != "no data")
    return max(0, (test.cells.of if test.cells else 1) - max(versions.values(), default=0))


def _answer_of(claim: Claim, cells: Sequence[CellAnswer]) -> Answer:
    """Of one version's cells."""
    return answer_of_tests(
        [
            answer_of_cells([cell.answer for cell in cells if cell.part == part], test)
            for part, test in enumerate(claim.tests)
        ]
    )


def _cell(
    conditions: Conditions,
    test: ClaimTest,
    part: int,
    pooled: PooledCell,
    campaigns: Sequence[MeasuredCampaign],
    how: Judging,
) -> CellAnswer:
    left_in, _, left = pooled.left
    right_in, _, right = pooled.right or (None, None, None)
    of_left, of_right = test.topics
    label, other = judged_name(left_in, of_left), judged_name(right_in or left_in, of_right)
    label = label if right_in is None or label == other else f"{label} against {other}"
    cell = CellAnswer(
        label,
        "no data",
        left.arm,
        right.arm if right else None,
        part=part,
        metric=test.metric,
        unit=_unit(test),
        left_in=left_in,
        right_in=right_in,
        versions=tuple(str(arm.version) for arm in pooled.arms),
        left_topic=of_left,
        right_topic=of_right if right else None,
    )
    sides = pooled.sides
    refusals = [_refused(conditions, test, one, campaigns[one.campaign]) for one in sides]
    reasons = list(filter(None, refusals))
    usable = [one for one, refusal in zip(sides, refusals, strict=True) if refusal is None]
    other_machine = [reason for reason in reasons if reason[0] == "other_machine"]
    if other_machine or not usable:
        code, why = (other_machine or reasons)[0]
        return replace(cell, code=code, reason=why)
    return _judged(test, cell, usable, how)


def _refused(
    conditions: Conditions, test: ClaimTest, sides: Sides, campaign: MeasuredCampaign
) -> tuple[Code, str] | None:
    """Why a campaign says nothing of a cell."""
    if test.of_machine and not of_class(conditions, campaign):
        return (
            "other_machine",
            f"an absolute number of {class_text(conditions)}, which this machine is not",
        )
    for arm in sides.arms:
        if test.of_touch and conditions.touch not in (None, arm.touch):
            return (
                "other_touch",
                f"it is about a payload with `touch: {conditions.touch}`, and this one had "
                f"`touch: {arm.touch}`",
            )
        if arm.not_supported:
            return "not_supported", f"{arm.arm}: {arm.not_supported}"
        if why := _bound(test, arm):
            return "machine_bound", why
    for arm, name in _taken(test, sides):
        if why := _absent(arm, name, campaign):
            return "absent", f"{arm.arm}: {why}"
    if test.by == "difference" and unit_of(test.metric) != "fraction":
        return (
            "no_fraction",
            f"{test.metric} is not a fraction, and only fractions have a difference",
        )
    return None


def _taken(test: ClaimTest, sides: Sides) -> Iterator[tuple[CampaignArm, str]]:
    """Each arm with each metric that the test takes of it. One arm may be both sides."""
    right = test.right_metric or test.metric
    both = (
        (sides.left, test.metric),
        (sides.left_base, test.metric),
        (sides.right, right),
        (sides.right_base, right),
    )
    for arm, metric in both:
        if arm is not None:
            yield arm, metric
            if test.times_metric:
                yield arm, test.times_metric


def _bound(test: ClaimTest, arm: CampaignArm) -> str | None:
    """Where the processors were busy throughout, nothing says what a middleware or a network does on
    the machine that the claim is about (rule 10 of the method); what it holds in memory is the
    same. A verdict is about this machine, and refuses only what judges a network."""
    if whatever_load(test) or not arm.machine_bound:
        return None
    return f"{arm.arm}: machine-bound in {fmt.counted(arm.machine_bound, 'trial')}"


def _absent(arm: CampaignArm, metric: str, campaign: MeasuredCampaign) -> str | None:
    estimate = arm.metrics.get(metric)
    if estimate is None:
        of = f" of topic {arm.topic}" if arm.topic else ""
        has = "the shipped summary keeps" if campaign.shipped else "the campaign has"
        return f"{has} no {title_of(metric)}{of}"
    if not arm.per_trial.get(metric) and per_trial(arm, metric):
        return None  # it has no value by itself, and nothing of it ever came
    return estimate.no_data


def _judged(test: ClaimTest, cell: CellAnswer, sides: Sequence[Sides], how: Judging) -> CellAnswer:
    """The interval is the cell's own; its answer must stand with its part of the error among the
    others, too."""
    claim_value = value_of_cell(test, sides, ErrorShare(how.earlier))
    of_sides = [sides[-1].left, *([sides[-1].right] if sides[-1].right else [])]
    metrics = [arm.metrics.get(test.metric) for arm in of_sides]
    if claim_value.value in (None, 0.0):
        cell = replace(cell, takes=run_needed(test, metrics, how.steady_s))
    cell = replace(
        cell,
        blocks=claim_value.blocks,
        left_trials=_numbered(left_values(test, sides)),
        right_trials=_numbered(right_values(test, sides)),
    )
    if claim_value.refused is not None:
        why = _why(claim_value.refused, claim_value.blocks, 1)
        return replace(cell, answer="undecided", code=claim_value.refused, reason=why)
    if claim_value.value is None and (claim_value.low, claim_value.high) == (0.0, math.inf):
        why = "no ratio: both are 0 or infinite in most blocks, or no trial has a value by itself"
        return replace(cell, answer="undecided", code="no_ratio", reason=why)
    cell = replace(
        cell,
        value=claim_value.value,
        low=claim_value.low,
        high=claim_value.high,
        value_says=leaning(test, claim_value.value),
    )
    if claim_value.blocks < LEAST_BLOCKS:
        why = f"{claim_value.blocks} common block{'s' * (claim_value.blocks != 1)}, {LEAST_BLOCKS} are needed"
        return replace(
            cell,
            answer="undecided",
            code="few_blocks",
            reason=why,
            leans=cell.value_says,
        )
    answer, code = _answer(test, claim_value)
    among = how.family.among(answer, test)
    if among > 1 and answer in DECIDED:
        strict = value_of_cell(test, sides, ErrorShare(how.earlier, among))
        if _answer(test, strict)[0] != answer:
            answer, code = "undecided", "one_of_many"
    reason = _why(code, claim_value.blocks, among)
    cell_takes = None if answer in DECIDED else cell.takes
    return replace(cell, answer=answer, code=code, reason=reason, takes=cell_takes)


def _answer(test: ClaimTest, claim_value: ClaimValue) -> tuple[Answer, Code | None]:
    if test.existence and claim_value.seen:
        return ("holds" if test.relation == "greater" else "does not hold"), None
    if test.existence and test.relation == "greater":  # what was not seen may yet come
        return "undecided", None
    if claim_value.infinite and not claim_value.enough:
        return "undecided", "few_for_infinite"
    return decided(test, claim_value.value, claim_value.low, claim_value.high)


def _why(code: Code | None, blocks: int, among: int) -> str | None:
    """Why a cell that has values says no more than it does."""
    match code:
        case "lost":
            return "one side lost messages in some block: what they would have taken is not known"
        case "machine_bound":
            return (
                "a busy machine spoilt some blocks, which what all trials give together has in it"
            )
        case "within_margin":
            return "the difference is below the margin"
        case "few_for_infinite":
            return (
                f"infinite or 0 in some of {blocks} blocks, whose range covers the median too "
                "seldom"
            )
        case "one_of_many":
            return f"beyond its bar, but among so many cells (error ÷ {among}) that may be chance"
    return None


def _numbered(values: Mapping[tuple[int, int], float]) -> tuple[tuple[int, float], ...]:
    """With the blocks of all campaigns counted on; those that have a value."""
    numbered = ((number, values[block]) for number, block in enumerate(sorted(values)))
    return tuple((number, value) for number, value in numbered if not math.isnan(value))


def _unit(test: ClaimTest) -> str:
    if test.by == "difference":
        return POINTS
    if test.by == "exponent" or (test.right is None and test.times_metric):
        return UNITLESS
    return RATIO if test.level is None else unit_of(test.metric)
