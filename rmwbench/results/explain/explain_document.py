"""Computes the answer of `rmwbench explain`, one entry per arm of a workload, from the same trials
and verdicts as every report.

The medians are the phases of each arm's typical messages, over its done trials with an interval,
and the work behind them: pieces, wake-ups, repeated sending."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from rmwbench.analysis.causes.median import Phase, TypicalMessage, typical_message
from rmwbench.analysis.causes.tail import PairMessages, pairs
from rmwbench.analysis.metrics.aggregate import aggregate
from rmwbench.analysis.metrics.comparisons import PRIMARY
from rmwbench.analysis.metrics.context import Context
from rmwbench.analysis.metrics.glossary import GLOSSARY, Use, names_for
from rmwbench.analysis.verdicts.unlike_arms import flags
from rmwbench.analysis.verdicts.verdict import Verdict
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.evidence import TrialEvidence, evidence
from rmwbench.errors import UserError
from rmwbench.results.advice import advice, of_arm
from rmwbench.results.explain.explain_model import (
    Advice,
    ArmInTopic,
    Explanation,
    MedianAnswer,
    PhaseAnswer,
)
from rmwbench.results.judged_campaign import JudgedCampaign, judge_campaign
from rmwbench.results.workload import chain_answer, factor_levels
from rmwbench.results.workload.chain_answer import part_over_trials
from rmwbench.results.workload.tails import tails
from rmwbench.results.workload.topic_answers import topics, verdict_in
from rmwbench.results.workload.workload_arm import ArmReport

NO_MOMENT = "the wake-up and the message have one stamp, so that the way contains it"
NOT_STAMPED = "half of the messages or more did not arrive, or none near the median has all stamps"
Typical = Mapping[int, Mapping[str | None, TypicalMessage]]
"""Trial -> topic, or None if the topics are alike -> its typical message."""


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


def typical_messages(
    bundle: Bundle, campaign: JudgedCampaign, arms: Sequence[ArmReport]
) -> Typical:
    """Return the typical messages of the done trials of these arms; their records are read once."""
    topics = {
        t.trial: {topic.name: topic.endpoints for topic in arm.topics}
        for arm in arms
        for t in arm.trials
    }
    lines = [line for line in bundle.trials("done") if line.trial in topics]
    return {
        trial.trial: dict(_of_trial(trial, topics[trial.trial]))
        for trial in evidence(bundle, lines, campaign.small)
    }


def _of_trial(
    trial: TrialEvidence, topics: Mapping[str, frozenset[int]]
) -> Iterator[tuple[str | None, TypicalMessage]]:
    context = Context.of(trial)
    records, window = context.evidence.records, context.window
    groups: dict[str | None, list[PairMessages]] = {}
    for writer, reader, _, pair in pairs(records, context.judged, window, context.lives):
        own = [name for name, endpoints in topics.items() if {writer, reader} <= endpoints]
        for topic in own if topics else [None]:
            groups.setdefault(topic, []).append(pair)
    for topic, messages in groups.items():
        if (typical := typical_message(messages)) is not None:
            yield topic, typical


def medians(
    arm: ArmReport, typical: Typical, verdicts: Mapping[str | None, Mapping[str, Verdict]]
) -> tuple[MedianAnswer, ...]:
    """Return the typical message of each topic, or of all; none if the arm has no endpoints, as
    where nodes alone are measured."""
    if not arm.trials or not arm.endpoints:
        return ()
    topics: list[str | None] = [topic.name for topic in arm.topics]
    return tuple(_median(arm, topic, typical, verdicts) for topic in topics or [None])


def _median(
    arm: ArmReport,
    topic: str | None,
    typical: Typical,
    verdicts: Mapping[str | None, Mapping[str, Verdict]],
) -> MedianAnswer:
    response = aggregate(GLOSSARY[PRIMARY], arm.trials_in(topic))
    messages = [m for t in arm.trials if (m := typical.get(t.trial, {}).get(topic)) is not None]
    if response.value == inf:
        messages = []
    count = sum(m.messages for m in messages)
    whole = sum(m.response_ns for m in messages)
    phases = []
    for phase in Phase:
        spent = [m.phases_ns.get(phase) for m in messages]
        is_in_way = phase is Phase.TAKE and not any(spent)  # an executor of rclcpp has one stamp
        reason = NO_MOMENT if is_in_way and messages else NOT_STAMPED
        share = sum(x or 0.0 for x in spent) / whole if whole else None
        if phase is Phase.READ or is_in_way:
            share = None
        # only this phase is between two hosts, whose clocks are known to a bound
        bound_ns = arm.clock_bound(PRIMARY, topic) if phase is Phase.WAY else 0.0
        time = part_over_trials([] if is_in_way else spent, count, bound_ns, absent=reason)
        phases.append(PhaseAnswer(phase=phase, time=time, share=share))
    verdict = verdicts.get(topic, {}).get(arm.name)
    behind = verdict is not None and verdict.verdict != "best"
    return MedianAnswer(
        topic=topic,
        response=response,
        phases=tuple(phases),
        beside={name: aggregate(GLOSSARY[name], arm.trials) for name in names_for(Use.MEDIAN)},
        taken=arm.take,
        verdict=verdict.verdict if verdict else None,
        against=verdict.against if verdict and behind else None,
        ratio=verdict.ratio if verdict and behind and arm.primary == PRIMARY else None,
    )
