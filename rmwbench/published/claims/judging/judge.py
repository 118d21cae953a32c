"""Judges whether a claim holds here: its tests against campaigns. Pure.

A claim speaks of one layer, of versions of its time, and of a machine. If a campaign has others,
the answer is a proxy: it says what holds here, and never refutes the original. Campaigns of one
machine are pooled by their blocks (values.py). Each machine has its own answer, also an undecided
one, and no answer is selected for what it says: the one with the most of the claim's cells and
blocks stands first. Versions whose answers differ have an answer each, and the newest stands first
(campaign_answers.py). decision_rules.py decides cells.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rmwbench.analysis.metrics.judged_topics import judged_name
from rmwbench.published.campaign import CampaignArm, MeasuredCampaign
from rmwbench.published.claims.amounts import title_of, unit_of, value_unit
from rmwbench.published.claims.claims_file import Claim, Claims, ClaimTest, Conditions
from rmwbench.published.claims.derived_suite import LEAST_BLOCKS
from rmwbench.published.claims.judging.campaign_answers import (
    CellAnswer,
    CellKey,
    MeasuredAnswer,
    by_version,
    class_text,
    condition_counts,
    differences,
    is_of_class,
    shortfalls,
    trial_length,
    versions_of,
    with_differing_versions,
)
from rmwbench.published.claims.judging.decision_rules import (
    DECIDED,
    Answer,
    Code,
    ErrorFamily,
    ErrorShare,
    answer_of_cells,
    answer_of_interval,
    answer_of_tests,
    answer_of_value,
    needed_run,
)
from rmwbench.published.claims.judging.sides import ArmOfWorkload, layers_of, sides_of
from rmwbench.published.claims.judging.values import (
    Block,
    ClaimValue,
    Sides,
    left_values,
    per_trial,
    right_values,
    value_of_cell,
    whatever_load,
)
from rmwbench.words import numbers as fmt


def answers(
    claims: Claims,
    claim: Claim,
    campaigns: Sequence[MeasuredCampaign],
    *,
    earlier: int | None = None,
) -> list[MeasuredAnswer]:
    """Return the answers of these campaigns: one for each machine, layer and touch, and for each
    version if versions differ. The order is: answers that were not shipped first, then the claim's
    own layer, then the original's treatment of the payload, then the newest version that has enough
    blocks, then the answer that lacks the fewest of the cells that the claim speaks of, then the
    one with the most blocks, then the newest, whatever it says. Empty if the campaigns have none of
    the claim's cells. `earlier` as in `ErrorShare`."""
    measured_answers: list[MeasuredAnswer] = []
    suites_campaigns = [
        campaign for campaign in campaigns if any(campaign.ran(test.suite) for test in claim.tests)
    ]
    for of_machine in _by_machine(suites_campaigns):
        for of_touch in _by_touch(of_machine):
            for layer in sorted(layers_of(of_touch)):
                measured_answers += _answers_of_machine(claims, claim, of_touch, layer, earlier)
    own_layer = claims.layer_of(claim)
    measured_answers.sort(key=lambda measured: measured.date or "", reverse=True)
    return sorted(
        with_differing_versions(measured_answers),
        key=lambda measured: (
            measured.answer == "no data",
            measured.shipped,
            measured.layer != own_layer,
            measured.touched,
            measured.superseded,
            measured.missing,
            -measured.blocks,
        ),
    )


def compared_cells(
    claims: Claims, claim: Claim, campaign: MeasuredCampaign
) -> Iterator[tuple[str, str | None, str, tuple[str, ...]]]:
    """Yield (workload, topic, arm, metrics) of every cell that the claim compares in this campaign,
    at any layer."""
    for test in claim.tests:
        if campaign.ran(test.suite):
            for layer in layers_of([campaign]):
                for sides in sides_of(test, claims.sides, campaign, layer):
                    for side, topic in zip(sides, 2 * test.topics, strict=True):
                        if side is not None:
                            yield side.workload, topic, side.arm.arm, test.metrics


def _by_machine(campaigns: Sequence[MeasuredCampaign]) -> list[list[MeasuredCampaign]]:
    """Return the campaigns of each machine, the oldest first. A campaign that does not say its
    machine stands alone."""
    by_machine: dict[object, list[MeasuredCampaign]] = {}
    for number, campaign in enumerate(campaigns):
        machine = (campaign.host, campaign.shipped) if campaign.host else number
        by_machine.setdefault(machine, []).append(campaign)
    return [
        sorted(of_machine, key=lambda campaign: str(campaign.created_utc))
        for of_machine in by_machine.values()
    ]


def _by_touch(campaigns: Sequence[MeasuredCampaign]) -> Iterator[list[MeasuredCampaign]]:
    """Yield the campaigns for each treatment of the payload, with the arms that have it: a payload
    that nobody reads is another experiment."""
    workloads = [workload for campaign in campaigns for workload in campaign.workloads]
    touches = dict.fromkeys(arm.touch for workload in workloads for arm in workload.arms)
    if len(touches) < 2:
        yield list(campaigns)
        return
    for touch in touches:
        yield [_with_touch(campaign, touch) for campaign in campaigns]


def _with_touch(campaign: MeasuredCampaign, touch: str | None) -> MeasuredCampaign:
    workloads = (
        replace(workload, arms=tuple(arm for arm in workload.arms if arm.touch == touch))
        for workload in campaign.workloads
    )
    return replace(campaign, workloads=tuple(workload for workload in workloads if workload.arms))


@dataclass(frozen=True)
class PooledCell:
    """A cell over the campaigns that measured it."""

    left: ArmOfWorkload
    right: ArmOfWorkload | None
    sides: list[Sides]

    @property
    def arms(self) -> list[CampaignArm]:
        return [side.arm for side in (self.left, self.right) if side is not None]


def _answers_of_machine(
    claims: Claims,
    claim: Claim,
    campaigns: Sequence[MeasuredCampaign],
    layer: str,
    earlier: int | None,
) -> list[MeasuredAnswer]:
    """Return one answer of all versions, or one of each version if those with enough blocks
    differ."""
    if not (pooled := _pooled_cells(claims, claim, campaigns, layer)):
        return []
    numbers = range(len(campaigns))
    groups = by_version(
        {key: versions_of(cell.arms) for key, cell in pooled.items()},
        [[k for k, c in pooled.items() if n in {x.campaign for x in c.sides}] for n in numbers],
    )
    cells_of_groups = [
        _judged_cells(claims, claim, campaigns, {key: pooled[key] for key in keys}, earlier)
        for keys in groups
    ]

    def measured(
        cells: Mapping[CellKey, CellAnswer], answer: Answer | None = None
    ) -> MeasuredAnswer:
        keys = [key for key in pooled if key in cells]
        ordered = [cells[key] for key in keys]
        answer = answer or _answer_of(claim, ordered)
        pooled_cells = [pooled[key] for key in keys]
        return _measured_answer(claims, claim, campaigns, layer, pooled_cells, ordered, answer)

    measured_answers = list(map(measured, cells_of_groups))
    with_data = [x for x in measured_answers if x.answer != "no data"] or measured_answers
    different = {x.answer for x in with_data if x.speaks} or {x.answer for x in with_data}
    if len(measured_answers) < 2 or len(different) > 1:
        return measured_answers
    return [
        measured({k: v for cells in cells_of_groups for k, v in cells.items()}, different.pop())
    ]


def _pooled_cells(
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
    counts = Counter(part for part, _ in pooled)
    steady_s = {x.workload: x.steady_s for campaign in campaigns for x in campaign.workloads}
    answers_by_key = {}
    for (part, key), cell in pooled.items():
        family = ErrorFamily(counts[part], len(claim.tests))
        context = CellContext(earlier, family, steady_s.get(cell.left.workload))
        test = claim.tests[part]
        answers_by_key[part, key] = _cell(claims.conditions, test, part, cell, campaigns, context)
    return answers_by_key


@dataclass(frozen=True)
class CellContext:
    """What a cell's answer depends on besides its values. `earlier` as in `ErrorShare`; `family`:
    the answers that share the error; `steady_s`: the length of one of its trials, if it is
    known."""

    earlier: int | None
    family: ErrorFamily
    steady_s: float | None


def _key(left: ArmOfWorkload, right: ArmOfWorkload | None) -> tuple[Any, ...]:
    """Return what two campaigns must have in common to have measured the same cell."""
    return tuple(
        (
            side.workload,
            side.arm.arm,
            side.arm.version,
            tuple(sorted((k, str(v)) for k, v in side.arm.factors.items())),
        )
        for side in filter(None, (left, right))
    )


def _measured_answer(
    claims: Claims,
    claim: Claim,
    campaigns: Sequence[MeasuredCampaign],
    layer: str,
    pooled: Sequence[PooledCell],
    cells: Sequence[CellAnswer],
    answer: Answer,
) -> MeasuredAnswer:
    used = {
        f"{arm.arm} {arm.version or ''}".rstrip(): (arm, campaigns[cell.sides[-1].campaign])
        for cell in pooled
        for arm in cell.arms
    }
    versions = versions_of(arm for arm, _ in used.values())
    numbers = sorted({sides.campaign for cell in pooled for sides in cell.sides})
    used_campaigns = [campaigns[number] for number in numbers]
    length = trial_length(claims, claim, used_campaigns, cells)
    counts = condition_counts(claim, cells)
    proxy = differences(claims, claim, layer, used) | shortfalls(length, counts)
    verdict = {"holds": "supported", "does not hold": "refuted"}.get(answer, answer)
    if proxy and answer in DECIDED:
        verdict = "proxy"
    last = used_campaigns[-1]
    return MeasuredAnswer(
        campaigns=tuple(campaign.name for campaign in used_campaigns),
        layer=layer,
        answer=answer,
        verdict=verdict,
        arms=tuple(used),
        cells=tuple(cells),
        proxy=tuple(proxy.values()),
        proxy_codes=tuple(proxy),
        length=length,
        conditions=counts,
        machine=last.host,
        date=max((campaign.date for campaign in used_campaigns if campaign.date), default=None),
        blocks=min((cell.blocks for cell in cells if cell.answer != "no data"), default=0),
        missing=sum(_missing_cells(test, part, cells) for part, test in enumerate(claim.tests)),
        shipped=last.shipped,
        versions=versions,
    )


def _missing_cells(test: ClaimTest, part: int, cells: Sequence[CellAnswer]) -> int:
    """Return how many of the cells that a test speaks of have no data, for one pair of versions."""
    versions = Counter(c.versions for c in cells if c.part == part and c.answer != "no data")
    return max(0, (test.cells.of if test.cells else 1) - max(versions.values(), default=0))


def _answer_of(claim: Claim, cells: Sequence[CellAnswer]) -> Answer:
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
    context: CellContext,
) -> CellAnswer:
    left_in, _, left = pooled.left
    right_in, _, right = pooled.right or (None, None, None)
    left_topic, right_topic = test.topics
    label, other = judged_name(left_in, left_topic), judged_name(right_in or left_in, right_topic)
    label = label if right_in is None or label == other else f"{label} against {other}"
    cell = CellAnswer(
        label,
        "no data",
        left.arm,
        right.arm if right else None,
        part=part,
        metric=test.metric,
        unit=value_unit(test),
        left_in=left_in,
        right_in=right_in,
        versions=tuple(arm.version or "unknown" for arm in pooled.arms),
        left_topic=left_topic,
        right_topic=right_topic if right else None,
    )
    usable: list[Sides] = []
    refusals: list[tuple[Code, str]] = []
    for sides in pooled.sides:
        if refusal := _refusal(conditions, test, sides, campaigns[sides.campaign]):
            refusals.append(refusal)
        else:
            usable.append(sides)
    other_machine = [refusal for refusal in refusals if refusal[0] == "other_machine"]
    if other_machine or not usable:
        code, reason = (other_machine or refusals)[0]
        return replace(cell, code=code, reason=reason)
    return _judged_cell(test, cell, usable, context)


def _refusal(
    conditions: Conditions, test: ClaimTest, sides: Sides, campaign: MeasuredCampaign
) -> tuple[Code, str] | None:
    """Return why a campaign says nothing about a cell."""
    if test.of_machine and not is_of_class(conditions, campaign):
        machine_class = class_text(conditions)
        return (
            "other_machine",
            f"its level is for {machine_class}, and this machine is of another class",
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
        if reason := _why_machine_bound(test, arm):
            return "machine_bound", reason
    for arm, name in _compared_metrics(test, sides):
        if reason := _why_absent(arm, name, campaign):
            return "absent", f"{arm.arm}: {reason}"
    if test.by == "difference" and unit_of(test.metric) != "fraction":
        reason = f"{test.metric} is not a fraction, and only fractions have a difference"
        return "no_fraction", reason
    return None


def _compared_metrics(test: ClaimTest, sides: Sides) -> Iterator[tuple[CampaignArm, str]]:
    """Yield each arm with each metric that the test takes from it. One arm may be both sides."""
    arms = (
        (sides.left, test.metric),
        (sides.left_base, test.metric),
        (sides.right, test.metric_of_right),
        (sides.right_base, test.metric_of_right),
    )
    for arm, metric in arms:
        if arm is not None:
            yield arm, metric
            if test.times_metric:
                yield arm, test.times_metric


def _why_machine_bound(test: ClaimTest, arm: CampaignArm) -> str | None:
    """Return why the arm's values cannot be used if the processors were busy throughout: then they
    say nothing about a middleware or a network on the claim's machine (rule 10 of the method). The
    memory that is held is not affected. Verdicts are about this machine, so they refuse only what
    judges a network."""
    if whatever_load(test) or not arm.machine_bound:
        return None
    return f"{arm.arm}: machine-bound in {fmt.counted(arm.machine_bound, 'trial')}"


def _why_absent(arm: CampaignArm, metric: str, campaign: MeasuredCampaign) -> str | None:
    estimate = arm.metrics.get(metric)
    if estimate is None:
        topic = f" of topic {arm.topic}" if arm.topic else ""
        has = "the shipped summary keeps" if campaign.shipped else "the campaign has"
        return f"{has} no {title_of(metric)}{topic}"
    if not arm.per_trial.get(metric) and per_trial(arm, metric):
        return None  # no trial has a value by itself, since none of its messages ever came
    return estimate.no_data


def _judged_cell(
    test: ClaimTest, cell: CellAnswer, sides: Sequence[Sides], context: CellContext
) -> CellAnswer:
    """Return the cell with its answer. The interval is the cell's own; its answer must also hold
    with its part of the error among the other cells."""
    claim_value = value_of_cell(test, sides, ErrorShare(context.earlier))
    arms = [sides[-1].left, *([sides[-1].right] if sides[-1].right else [])]
    metrics = [arm.metrics.get(test.metric) for arm in arms]
    if claim_value.value in (None, 0.0):
        cell = replace(cell, takes=needed_run(test, metrics, context.steady_s))
    left, right = left_values(test, sides), right_values(test, sides)
    numbers = {block: number for number, block in enumerate(sorted({*left, *right}))}
    cell = replace(
        cell,
        blocks=claim_value.blocks,
        left_trials=_number_values(left, numbers),
        right_trials=_number_values(right, numbers),
    )
    if claim_value.refused is not None:
        reason = _reason(claim_value.refused, claim_value.blocks, 1)
        return replace(cell, answer="undecided", code=claim_value.refused, reason=reason)
    if claim_value.value is None and (claim_value.low, claim_value.high) == (0.0, math.inf):
        reason = (
            "no ratio: both are 0 or infinite in most blocks, or no trial has a value by itself"
        )
        return replace(cell, answer="undecided", code="no_ratio", reason=reason)
    cell = replace(
        cell,
        value=claim_value.value,
        low=claim_value.low,
        high=claim_value.high,
        value_says=answer_of_value(test, claim_value.value),
    )
    if claim_value.blocks < LEAST_BLOCKS:
        blocks = fmt.counted(claim_value.blocks, "common block")
        return replace(
            cell,
            answer="undecided",
            code="few_blocks",
            reason=f"{blocks}, {LEAST_BLOCKS} are needed",
            leans=cell.value_says,
        )
    answer, code = _answer(test, claim_value)
    divisor = context.family.divisor(answer, test)
    if divisor > 1 and answer in DECIDED:
        strict = value_of_cell(test, sides, ErrorShare(context.earlier, divisor))
        if _answer(test, strict)[0] != answer:
            answer, code = "undecided", "one_of_many"
    reason = _reason(code, claim_value.blocks, divisor)
    takes = None if answer in DECIDED else cell.takes
    return replace(cell, answer=answer, code=code, reason=reason, takes=takes)


def _answer(test: ClaimTest, claim_value: ClaimValue) -> tuple[Answer, Code | None]:
    if test.existence and claim_value.seen:
        return ("holds" if test.relation == "greater" else "does not hold"), None
    if test.existence and test.relation == "greater":  # more trials may still show it
        return "undecided", None
    if claim_value.infinite and not claim_value.enough:
        return "undecided", "few_for_infinite"
    return answer_of_interval(test, claim_value.value, claim_value.low, claim_value.high)


def _reason(code: Code | None, blocks: int, divisor: int) -> str | None:
    """Return why a cell with values is not decided."""
    match code:
        case "lost":
            return "one side lost messages in some block: what they would have taken is not known"
        case "machine_bound":
            return "a busy machine spoilt some blocks, and the value is over all of them"
        case "within_margin":
            return "the difference is below the margin"
        case "few_for_infinite":
            return (
                f"in some of {blocks} blocks it is infinite or 0, and the range of so few blocks "
                "covers the median too seldom"
            )
        case "one_of_many":
            return f"beyond its bar, but with so many cells (error ÷ {divisor}) this may be chance"
    return None


def _number_values(
    values: Mapping[Block, float], numbers: Mapping[Block, int]
) -> tuple[tuple[int, float], ...]:
    """Return (number of the block, value) for the blocks with a value."""
    return tuple(
        (numbers[block], value) for block, value in sorted(values.items()) if not math.isnan(value)
    )
