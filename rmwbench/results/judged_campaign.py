"""Measures every arm of a bundle and judges all of them, in one loop over the done trials: `show`
and `explain` answer from the result."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, trial_value
from rmwbench.analysis.metrics.comparisons import PRIMARY, Comparison, comparisons, json_column
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.judged_topics import Topic, judged_name, judged_topics, same_readers
from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.verdicts import best, sequential
from rmwbench.analysis.verdicts.interim import rules as rules_of
from rmwbench.analysis.verdicts.interim import topics_of
from rmwbench.analysis.verdicts.pairs import GroupPriors
from rmwbench.analysis.verdicts.verdict import JudgedArm, Rules, Verdict
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.campaign_json import PlanDocument, PlannedTrial
from rmwbench.bundle.evidence import SmallTables
from rmwbench.bundle.journal import SETTLING
from rmwbench.results.model import CampaignIdentity, TrialCounts, with_fields_of
from rmwbench.results.selection import Selection, refuse_imported
from rmwbench.results.show_model import CampaignFacts, CampaignTrials, JudgedAt, LastLook, Settling
from rmwbench.results.workload.tails import of_worst
from rmwbench.results.workload.workload_arm import ArmReport, CellEvidence, judge_by
from rmwbench.suite.arm import left_out_lines

TopicName = str | None
"""The name of a topic that is judged by itself; None stands for the whole workload."""


@dataclass(frozen=True, kw_only=True)
class JudgedCampaign:
    """A campaign's arms with their verdicts. `arms`: workload -> its arms; `topics`: workload ->
    the topics that are judged by themselves there; `verdicts`: workload -> topic -> arm -> verdict.
    `at`: after how many blocks the campaign was judged, and with how much of the error; `rules` are
    those of the whole report."""

    campaign: CampaignFacts
    plan: PlanDocument
    small: SmallTables
    measured: Mapping[int, list[MeasuredTrial]]
    workloads: list[Comparison]
    arms: Mapping[str, list[ArmReport]]
    topics: Mapping[str, list[TopicName]]
    verdicts: Mapping[str, Mapping[TopicName, Mapping[str, Verdict]]]
    rules: Rules
    at: JudgedAt

    @cached_property
    def compared(self) -> dict[str, list[JudgedArm]]:
        """Workload and topic (`judged_name`) -> the values of each arm that comparisons use."""
        return {
            judged_name(w, t): [arm.judged[t] for arm in self.arms[w]]
            for w, topics in self.topics.items()
            for t in topics
        }

    @cached_property
    def evidence(self) -> GroupPriors:
        """The scatter of each group of arms, and how much neighbouring blocks resemble each
        other."""
        return best.evidence(self.compared)

    @cached_property
    def contenders(self) -> int:
        """The number of contenders with data in the whole report."""
        compared = self.compared.values()
        return sum(not arm.floor and bool(arm.primary) for arms in compared for arm in arms)

    def left_out_blocks(self, workload: str) -> list[int]:
        arms = self.arms[workload]
        return sorted({block for arm in arms for block in arm.judged[None].excluded_blocks})


def judge_campaign(
    bundle: Bundle,
    selection: Selection | None = None,
    measured_trials: MutableMapping[int, MeasuredTrial] | None = None,
) -> JudgedCampaign:
    """Measure and judge a campaign. Every record is read once, and memory holds one trial's
    columns. `selection`: cells of the bundle that are judged among themselves, as if it had no
    others. `measured_trials`: trial number -> the trials that were measured before; the other
    trials are measured and added to it. Raises UserError for a broken bundle, and for an imported
    one, which has no records."""
    refuse_imported(bundle)
    small = SmallTables(bundle)
    plan, lines, cells = _selected(bundle, selection)
    apart = readers_apart(bundle, small)
    measured = _measured(
        bundle, small, lines, cells, {} if measured_trials is None else measured_trials, apart
    )
    ran = _cells_run(lines)
    complete = _complete_blocks(bundle, ran, cells)
    campaign = _campaign(bundle, plan, lines, small, selection, (len(ran), len(complete)))
    minutes_per_block = _minutes_per_block(plan, lines, small, complete)
    rules = rules_of(bundle.campaign.machine.aa_floor, minutes_per_block)
    workloads = comparisons(plan.comparisons, cells)
    arms = _arms(bundle, small, workloads, measured, lines)
    topics = {
        w.name: topics_of((a.interim for a in arms[w.name]), w.primary_metric) for w in workloads
    }
    arms_by_comparison = {
        judged_name(w, t): [a.ran_in(t) for a in arms[w]]
        for w, names in topics.items()
        for t in names
    }
    by_comparison, at, blocks = _verdicts(
        arms_by_comparison, rules, plan, campaign, bundle.ended_at
    )
    verdicts = {
        w: {t: by_comparison[judged_name(w, t)] for t in names} for w, names in topics.items()
    }
    for reports in arms.values():
        judge_by(reports, blocks)
    return JudgedCampaign(
        campaign=_with_decided(campaign, plan, workloads, verdicts),
        plan=plan,
        small=small,
        measured=measured,
        workloads=workloads,
        arms=arms,
        topics=topics,
        verdicts=verdicts,
        rules=rules,
        at=at,
    )


def readers_apart(bundle: Bundle, small: SmallTables) -> list[Topic]:
    """Return the readers that some cell of the campaign judges by themselves. In the other cells,
    such as those without the thin link or the slow neighbour, the same readers are measured apart,
    too, so that they can be compared."""
    definitions = {row["cell"]: json_column(row["definition"]) for row in bundle.rows("cells")}
    first = {x.cell: x.trial for x in reversed(bundle.trials()) if x.status == "done"}
    topics = (
        topic
        for cell, trial in first.items()
        for topic in judged_topics(small.endpoints[trial], definitions[cell])
    )
    return list({topic.name: topic for topic in topics if topic.readers is not None}.values())


def _measured(
    bundle: Bundle,
    small: SmallTables,
    lines: Sequence[TrialLine],
    cells: Sequence[Mapping[str, Any]],
    measured_trials: MutableMapping[int, MeasuredTrial],
    apart: Sequence[Topic],
) -> dict[int, list[MeasuredTrial]]:
    """Return the done trials of each cell, measured. `measured_trials` is that of `judge_campaign`;
    a trial that was measured before one of its readers had to be measured apart is measured
    again."""
    measured: dict[int, list[MeasuredTrial]] = {c["cell"]: [] for c in cells}
    definitions = {c["cell"]: json_column(c["definition"]) for c in cells} if apart else {}

    def is_known(line: TrialLine) -> bool:
        trial = measured_trials.get(line.trial)
        return trial is not None and not any(
            same_readers(topic, small.endpoints[line.trial], definitions[line.cell])
            for topic in apart
            if topic.name not in trial.topics.keys() | trial.readers.keys()
        )

    done = [x for x in lines if x.status == "done" and x.cell in measured]
    for evidence in bundle.evidence([x for x in done if not is_known(x)], small):
        measured_trials[evidence.trial] = measure_trial(evidence, apart)
    for line in done:
        measured[line.cell].append(measured_trials[line.trial])
    return measured


def _arms(
    bundle: Bundle,
    small: SmallTables,
    workloads: Sequence[Comparison],
    measured: Mapping[int, list[MeasuredTrial]],
    lines: Sequence[TrialLine],
) -> dict[str, list[ArmReport]]:
    lines_of: dict[int, list[TrialLine]] = {cell: [] for cell in measured}
    for line in lines:
        if line.cell in lines_of:
            lines_of[line.cell].append(line)
    settling = _settling(bundle, measured.keys(), small)
    tails = of_worst(bundle, measured, lines, small)

    def report(w: Comparison, cell: Mapping[str, Any]) -> ArmReport:
        number = cell["cell"]
        evidence = CellEvidence(
            cell=dict(cell),
            trials=measured[number],
            lines=lines_of[number],
            tails=tails.get(number, ()),
            settling=settling.get(number),
        )
        return ArmReport(w.labels[number], evidence, small, bundle, w.primary_metric)

    return {w.name: [report(w, cell) for cell in w.cells] for w in workloads}


def _settling(bundle: Bundle, cells: Collection[int], small: SmallTables) -> dict[int, Settling]:
    """Return for each cell the result of its longest window beyond that of the suite; cells without
    such a window are left out."""
    out: dict[int, Settling] = {}
    lines = (x for x in bundle.trials(SETTLING) if x.cell in cells)
    for evidence in bundle.evidence(lines, small):
        trial = measure_trial(evidence)
        median = trial_value(GLOSSARY[PRIMARY], trial)
        window_s = (trial.window_ns or 0) / 1e9
        if evidence.cell not in out or out[evidence.cell].window_s < window_s:
            out[evidence.cell] = Settling(
                window_s=window_s,
                rises=trial.rises,
                response_p50_ns=median if not trial.topics else None,
            )
    return out


def _selected(
    bundle: Bundle, selection: Selection | None
) -> tuple[PlanDocument, list[TrialLine], list[dict[str, Any]]]:
    plan, lines = bundle.campaign.plan, bundle.trials()
    if selection is None:
        return plan, lines, bundle.rows("cells")
    cells = [dict(cell) for cell in selection.with_floors()]
    numbers = {cell["cell"] for cell in cells}
    trials = tuple(trial for trial in plan.trials if trial.cell in numbers)
    return (
        plan.model_copy(update={"trials": trials}),
        [line for line in lines if line.cell in numbers],
        cells,
    )


def _with_decided(
    campaign: CampaignFacts,
    plan: PlanDocument,
    workloads: Sequence[Comparison],
    verdicts: Mapping[str, Mapping[TopicName, Mapping[str, Verdict]]],
) -> CampaignFacts:
    """Return the facts with a last look that counts the verdicts of this answer: blocks that ran
    again after the look, and a selection, change its counts."""
    if campaign.looks is None:
        return campaign
    decisive = plan.blocks.decide
    verdict_names = [
        verdict.verdict
        for w in workloads
        if not decisive or w.workload in decisive
        for by_arm in verdicts[w.name].values()
        for verdict in by_arm.values()
        if verdict.ranks
    ]
    decided = sum(verdict != "undecided" for verdict in verdict_names)
    return replace(campaign, looks=replace(campaign.looks, decided=decided, of=len(verdict_names)))


def _verdicts(
    arms: dict[str, list[JudgedArm]],
    rules: Rules,
    plan: PlanDocument,
    campaign: CampaignFacts,
    endings: tuple[int, ...],
) -> tuple[dict[str, dict[str, Verdict]], JudgedAt, int]:
    """Return the verdicts, the look at which they were given, and the number of blocks that they
    use (`sequential.arms_after`). The verdicts of a sequential campaign are those of its last look.
    A fixed campaign that time ended before its plan has one look there; when it is resumed, it is
    judged again at its end. An interrupted sequential campaign has no look at its end: it is judged
    as if time had ended it there, and the report says that it is not finished."""
    looks = plan.blocks.looks or ((plan.blocks.count or 0,) if endings else ())
    if not looks:
        blocks = campaign.blocks_complete
        planned_end = plan.blocks.count or blocks
        used = {w: sequential.arms_after(members, planned_end) for w, members in arms.items()}
        at = JudgedAt(blocks=blocks, alpha=rules.alpha, look=None, looks=())
        return best.judge(used, rules), at, planned_end
    last = campaign.looks if campaign.finished else None
    blocks, ended = (
        (sequential.blocks_of(arms), True) if last is None else (last.blocks, last.ended)
    )
    blocks = min(blocks, looks[-1])
    verdicts = sequential.judge(arms, rules, looks, blocks=blocks, ended=ended, endings=endings)
    level = sequential.alpha_at(looks, blocks, alpha=rules.alpha, ended=ended, endings=endings)
    passed = sum(n < blocks for n in looks) + 1
    at = JudgedAt(blocks=blocks, alpha=level, look=passed, looks=tuple(looks))
    return verdicts, at, blocks


def _cells_run(lines: Iterable[TrialLine]) -> dict[int, set[int]]:
    """Return block -> the cells that ran in it. A trial that runs again does not make its block
    more complete."""
    ran: dict[int, set[int]] = {}
    for line in lines:
        if line.status != SETTLING and (line.status != "void" or line.cause != "machine"):
            ran.setdefault(line.block, set()).add(line.cell)
    return ran


def _complete_blocks(
    bundle: Bundle, ran: Mapping[int, set[int]], cells: Iterable[Mapping[str, Any]]
) -> set[int]:
    """Return the blocks in which every cell ran that is supported and had not left the campaign."""
    numbers = {c["cell"] for c in cells} - bundle.unsupported.keys()
    dropped = bundle.dropped
    left_at = {cell: dropped.get(cell, math.inf) for cell in numbers}
    return {
        block
        for block, of_block in ran.items()
        if of_block >= {cell for cell, first in left_at.items() if first > block}
    }


def _campaign(
    bundle: Bundle,
    plan: PlanDocument,
    lines: list[TrialLine],
    small: SmallTables,
    selection: Selection | None,
    blocks: tuple[int, int],
) -> CampaignFacts:
    """Return the facts about the campaign. `blocks`: how many began, and how many are complete."""
    begun, complete = blocks
    looks, dropped = bundle.last_look, bundle.dropped
    planned: Sequence[PlannedTrial | TrialLine] = plan.trials or lines
    planned = [t for t in planned if t.block < dropped.get(t.cell, math.inf)]
    blocks_run = looks.blocks if looks and looks.stop == "decided" else math.inf
    blocks_planned = begun if plan.blocks.count is None else plan.blocks.count
    if dropped:
        blocks_planned = max((t.block + 1 for t in planned), default=0)
    return CampaignFacts(
        **vars(CampaignIdentity.of(bundle)),
        blocks_planned=blocks_planned,
        blocks_complete=complete,
        looks=None if looks is None else with_fields_of(LastLook, looks),
        trials=_trials(lines, sum(t.block < blocks_run for t in planned)),
        not_run=plan.not_run.text,
        selected=selection.words if selection and selection.wanted else None,
        left_out=tuple(left_out_lines({absent.arm: absent.reason for absent in plan.left_out})),
        added=tuple((bundle.campaign.request or {}).get("added", ())),
        wall_s=round(_lasted_s(lines, small), 1),
    )


def _trials(lines: Sequence[TrialLine], planned: int) -> CampaignTrials:
    return CampaignTrials(
        planned=planned,
        **vars(TrialCounts.of(line.status for line in lines)),
        repeated=sum(line.repeats is not None for line in lines),
        voided_by=dict(Counter(code for x in lines if x.status == "void" for code in x.codes)),
    )


def _lasted_s(lines: Iterable[TrialLine], small: SmallTables) -> float:
    lasted_ns = (small.trials.get(line.trial, {}).get("duration_ns") for line in lines)
    return sum(ns or 0 for ns in lasted_ns) / 1e9


def _minutes_per_block(
    plan: PlanDocument, lines: Iterable[TrialLine], small: SmallTables, complete: Collection[int]
) -> float | None:
    """Return the minutes that a block takes: measured if a block is complete, else as planned; None
    if neither is known."""
    of_blocks = (line for line in lines if line.status != SETTLING and line.block in complete)
    if lasted_s := _lasted_s(of_blocks, small):
        return lasted_s / 60 / len(complete)
    return plan.block_s / 60 if plan.block_s else None
