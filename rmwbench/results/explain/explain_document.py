"""Computes the answer of `rmwbench explain`, one entry per arm of a workload, from the same trials
and verdicts as every report."""

from collections.abc import Sequence
from dataclasses import replace

from rmwbench.analysis.verdicts.unlike_arms import flags
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.errors import UserError
from rmwbench.results.advice import advice, of_arm
from rmwbench.results.explain.explain_model import Advice, ArmInTopic, Explanation
from rmwbench.results.explain.medians import Typical, medians, typical_messages
from rmwbench.results.judged_campaign import JudgedCampaign, judge_campaign
from rmwbench.results.workload import chain_answer, factor_levels
from rmwbench.results.workload.tails import tails
from rmwbench.results.workload.topic_answers import topics, verdict_in
from rmwbench.results.workload.workload_arm import ArmReport


def explanations(bundle: Bundle, trial: int | None = None) -> tuple[Explanation, ...]:
    """Return an explanation of every arm of every workload; with `trial` only of its arm, with the
    tails of that trial. Raises UserError for a trial that does not exist or is not done."""
    campaign = judge_campaign(bundle)
    line = None if trial is None else _line(bundle, trial)
    arms = [
        (w.name, arm)
        for w in campaign.workloads
        for arm in campaign.arms[w.name]
        if line is None or arm.cell["cell"] == line.cell
    ]
    if line is not None and not arms:
        raise UserError(
            f"trial {trial} cannot be explained",
            where="--trial",
            actual="its cell tests which ROS variables are obeyed, and has no judged latency",
            fix="`rmwbench show` has it",
        )
    typical = typical_messages(bundle, campaign, [arm for _, arm in arms])
    rules = replace(campaign.rules, alpha=campaign.at.alpha)
    of_campaign = advice(
        bundle, campaign, rules, factor_levels.levels_of_arms(campaign.arms, rules)
    )
    explained = tuple(
        _explanation(workload, arm, campaign, typical, of_campaign) for workload, arm in arms
    )
    if line is None:
        return explained
    (explanation,) = explained
    return (replace(explanation, tails=tails(bundle, line, campaign.small)),)


def _line(bundle: Bundle, trial: int) -> TrialLine:
    line = next((x for x in bundle.trials() if x.trial == trial), None)
    if line is None or line.status != "done":
        why = (
            "the campaign has no such trial"
            if line is None
            else f"it is {line.status}: {line.reason}"
        )
        raise UserError(f"trial {trial} cannot be explained", where="--trial", actual=why)
    return line


def _explanation(
    workload: str,
    arm: ArmReport,
    campaign: JudgedCampaign,
    typical: Typical,
    of_campaign: Sequence[Advice],
) -> Explanation:
    unlike = flags([other.facts for other in campaign.arms[workload]])[arm.name]
    return Explanation(
        workload=workload,
        arm=arm.name,
        cell=arm.cell["cell"],
        family=arm.family,
        trials=arm.counts,
        medians=medians(arm, typical, campaign.verdicts[workload]),
        advice=of_arm(of_campaign, workload, arm.name),
        path=arm.path,
        notes=tuple(arm.notes),
        flags=arm.flags(unlike),
        losses=arm.losses,
        tails=arm.tails,
        chain=chain_answer.chain(arm.trials),
        layers=chain_answer.layers(arm.trials),
        topics=_topics(workload, arm, campaign),
    )


def _topics(workload: str, arm: ArmReport, campaign: JudgedCampaign) -> tuple[ArmInTopic, ...]:
    return tuple(
        ArmInTopic(
            topic=topic.name,
            readers=topic.readers.nodes if topic.readers else None,
            qos=arm.qos_of(topic.name),
            metrics=arm.metrics(topic.name),
            verdict=verdict_in(topic.name, arm, campaign.verdicts[workload]),
        )
        for topic in topics(campaign.arms[workload])
    )
