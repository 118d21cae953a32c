"""Says how much of a campaign was done, why trials are not done, and what more blocks would decide,
for the terminal, the page and the Markdown."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.codes import Code
from rmwbench.results.answer import facts
from rmwbench.results.explain.explain_model import UndoneTrial
from rmwbench.results.show_model import (
    CampaignFacts,
    OpenComparison,
    SuiteAnswer,
    TopicAnswer,
    WorkloadAnswer,
    WorkloadArm,
)
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS
from rmwbench.words import numbers as fmt


def counts(campaign: CampaignFacts) -> list[str]:
    """Return `184 of 240 trials done`, then how many failed and how many are void, if any."""
    count = campaign.trials.failed
    failed = f"{count} failed" if count else ""
    return [f"{trials(campaign)} done", *filter(None, (failed, void(campaign)))]


def selection(campaign: CampaignFacts) -> str | None:
    """Return a sentence with the selection of the answer; None if it has the whole campaign."""
    if campaign.selected is None:
        return None
    return f"Only {campaign.selected}: judged as if nothing else had been run."


def trials(campaign: CampaignFacts) -> str:
    """Return `184 of 240 trials`, or `264 of at most 334 trials` if decided cells leave a campaign
    early."""
    of = "at most " if _is_sequential(campaign) else ""
    count = campaign.trials
    return f"{count.done} of {of}{fmt.counted(count.planned, 'trial')}"


def whole_failures(doc: SuiteAnswer) -> list[str]:
    """Return `mine failed in every trial: worker talker: exit status 3` for each arm that failed
    and has no done trial; with the counts if other trials are void."""
    arms: dict[str, list[WorkloadArm]] = {}
    for workload in doc.workloads:
        for arm in workload.arms:
            arms.setdefault(arm.arm, []).append(arm)
    out = []
    for name, reports in arms.items():
        undone = [t for arm in reports for t in arm.trials.failures]
        failed = [t for t in undone if t.status == "failed"]
        if not failed or any(arm.trials.done for arm in reports):
            continue
        if len(failed) < len(undone):
            out.append(f"no trial of {name} is done: {why_none(undone)}")
        else:
            reason = (failed[0].reason or "no reason recorded").partition("\n")[0]
            out.append(f"{name} failed in every trial: {reason}")
    return out


def void(campaign: CampaignFacts) -> str:
    """Return `3 void (steal 1, with its block 2), 2 of them repeated`, by the names of the rules;
    empty if no trial is void."""
    trials = campaign.trials
    count, repeated = trials.void, trials.repeated
    if not count:
        return ""
    rules = _by_rule(trials.voided_by)
    if sum(trials.voided_by.values()) > count:
        rules += "; some by several"
    which = "" if repeated == count else f"{repeated} of them "
    again = f", {which}repeated" if repeated else ""
    return f"{count} void{f' ({rules})' if rules else ''}{again}"


def voids_per_arm(workload: WorkloadAnswer) -> list[str]:
    """Return a sentence about the arms whose trials the machine spoilt, and one about the arms
    whose trials are void by their own fault; empty if no trial is void."""
    void_of = {a.arm: [x for x in undone_trials(a) if x.status == "void"] for a in workload.arms}
    spoilt = {arm: [x for x in trials if x.cause == "machine"] for arm, trials in void_of.items()}
    by_arm_fault = {
        arm: [x for x in trials if x.cause != "machine"] for arm, trials in void_of.items()
    }
    out = []
    if any(spoilt.values()):
        text = "; ".join(f"{arm} {_counted(trials)}" for arm, trials in spoilt.items())
        out.append(
            f"Trials that the machine spoilt, by arm: {text}. Each voids its block for every arm "
            "of the workload, so that no arm keeps its quiet moments only."
        )
    faults = [f"{arm} {_counted(trials)}" for arm, trials in by_arm_fault.items() if trials]
    if faults:
        its = "Its" if len(faults) == 1 else "Their"
        out.append(
            f"Trials that are void for what the arm did: {'; '.join(faults)}. {its} numbers are "
            f"those of {its.lower()} other trials."
        )
    return out


def undone_trials(arm: WorkloadArm) -> list[UndoneTrial]:
    """Return the trials of an arm that failed or are void, without those that are void only because
    a trial of another arm spoilt their block."""
    return [t for t in arm.trials.failures if t.codes != (Code.BLOCK,)]


def _counted(trials: Sequence[UndoneTrial]) -> str:
    """Return `3 (steal 2, canary 1)`, or `0`."""
    rules = _by_rule(Counter(code for trial in trials for code in trial.codes))
    return f"{len(trials)} ({rules})" if rules else str(len(trials))


def _by_rule(voided_by: Mapping[str, int]) -> str:
    return ", ".join(
        f"{'with its block' if code == Code.BLOCK else code} {n}" for code, n in voided_by.items()
    )


def _is_sequential(campaign: CampaignFacts) -> bool:
    return campaign.looks is not None and len(campaign.looks.looks) > 1


def blocks(campaign: CampaignFacts) -> str:
    """Return `6 of 6 blocks`, or `5 of at most 20 blocks, 14 of 14 verdicts decided`."""
    complete, planned = campaign.blocks_complete, campaign.blocks_planned
    look = campaign.looks
    of = fmt.counted(look.of, "verdict") if look and look.of else ""
    decided = f", {look.decided} of {of} decided" if look and of else ""
    if _is_sequential(campaign):
        return f"{complete} of at most {planned} blocks{decided}"
    return f"{complete} of {fmt.counted(planned, 'block')}{decided}"


def why_none(undone: Sequence[TrialLine | UndoneTrial], total: str = "") -> str:
    """Return `2 failed and 1 void; the first: REASON` for the finished trials that are not done;
    empty if there are none. `total` is a text such as ` of 9 trials`."""
    if not undone:
        return ""
    first = str(undone[0].reason or "no reason recorded").partition("\n")[0]
    counts = Counter(line.status for line in undone)
    kinds = " and ".join(f"{counts[kind]} {kind}" for kind in ("failed", "void") if counts[kind])
    return f"{kinds}{total}; the first: {first}"


def few_trials(outcome: str, trials: int) -> str | None:
    """Return a sentence which says that so few trials, which all have the same `outcome`, decide
    nothing; None if they are enough."""
    if trials >= DECIDABLE_BLOCKS:
        return None
    return (
        f"{outcome} in {fmt.counted(trials, 'trial')}, and fewer than {DECIDABLE_BLOCKS} decide "
        "nothing"
    )


def open_comparisons(
    workloads: Sequence[WorkloadAnswer], minutes_per_block: float | None
) -> tuple[OpenComparison, ...]:
    """Return an entry per arm that is open in a workload, or in a topic that is judged by itself;
    the one that needs the least time first (docs/formats/show.md)."""
    out = []
    for workload in workloads:
        judged = [topic for topic in workload.topics if topic.judged]
        for part in judged or (workload,):
            for arm in facts.contenders(part):
                if facts.verdict_of(arm) == "undecided":
                    minutes = fmt.finite(arm.verdict.minutes_to_decide)
                    out.append(
                        OpenComparison(
                            workload=workload.workload,
                            topic=part.topic if isinstance(part, TopicAnswer) else None,
                            arm=arm.arm,
                            against=arm.verdict.against,
                            blocks=None
                            if minutes is None or not minutes_per_block
                            else round(minutes / minutes_per_block),
                            minutes=minutes,
                        )
                    )
    return tuple(sorted(out, key=lambda c: math.inf if c.minutes is None else c.minutes))


def open_lines(suite: SuiteAnswer) -> list[str]:
    """Return a line for each length of campaign that decides something, then one for comparisons
    that no length is known to decide."""
    groups: dict[str, list[OpenComparison]] = {}
    for c in suite.more:
        groups.setdefault(_length(c), []).append(c)
    out, decided = [], 0
    for length, members in groups.items():
        listed = facts.names(_arms_in(members))
        if members[0].minutes is None:
            out.append(f"{length}: {listed}")
        else:
            decided += len(members)
            are = "is" if len(suite.more) == 1 else "are"
            out.append(f"{length}: {listed} ({decided} of {len(suite.more)} that {are} open)")
    return out


def _length(c: OpenComparison) -> str:
    if c.minutes is None:
        return "no known number of blocks"
    blocks = f"{fmt.counted(c.blocks, 'block')}, " if c.blocks else ""
    return f"{blocks}about {fmt.minutes(c.minutes)}"


def _arms_in(members: list[OpenComparison]) -> list[str]:
    """Return `zenoh (whole: imu and front)`, `zenoh (camera)`."""
    topics: dict[tuple[str, str], list[str]] = {}
    for c in members:
        topics.setdefault((c.arm, c.workload), []).extend([c.topic] if c.topic else [])
    return [
        f"{arm} ({where}{': ' + facts.names(of) if of else ''})"
        for (arm, where), of in topics.items()
    ]
