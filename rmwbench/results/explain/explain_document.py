"""What `rmwbench explain` says, one entry per arm of a workload: from the same trials and verdicts
as every report."""

from collections.abc import Sequence
from dataclasses import replace

from rmwbench.analysis.verdicts.unlike import flags
from rmwbench.bundle import Bundle
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.errors import UserError
from rmwbench.results.explain.explain_model import ArmInTopic, Explanation
from rmwbench.results.explain.medians import medians, typical_messages
from rmwbench.results.judged import JudgedCampaign, judged
from rmwbench.results.remedies.advice import advice, of_arm
from rmwbench.results.workload import chain_answer, factor_levels
from rmwbench.results.workload.tails import tails
from rmwbench.results.workload.topic_answers import topics, verdict_in
from rmwbench.results.workload.workload_arm import ArmReport


def explanations(bundle: Bundle, trial: int | None = None) -> tuple[Explanation, ...]:
    """Of every arm of every workload. With `trial` only of its arm, and the tails of that trial.
    Raises UserError for a trial that is not there or was not done."""
    found = judged(bundle)
    line = None if trial is None else _line(bundle, trial)
    arms = [
        (w.name, arm)
        for w in found.workloads
        for arm in found.arms[w.name]
        if line is None or arm.cell["cell"] == line.cell
    ]
    if line is not None and not arms:
        raise UserError(
            f"trial {trial} cannot be explained",
            where="--trial",
            actual="its cell tells which ROS variables are obeyed: no latency of it is judged",
            fix="`rmwbench show` has it",
        )
    explain = _Explainer(bundle, found, [arm for _, arm in arms])
    explained = tuple(explain.arm(name, arm) for name, arm in arms)
    if line is None:
        return explained
    (one,) = explained
    return (replace(one, tails=tails(bundle, line, found.small)),)


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


class _Explainer:
    """Of a judged campaign; what all of its arms need is made once."""

    def __init__(self, bundle: Bundle, found: JudgedCampaign, arms: Sequence[ArmReport]):
        self._found = found
        self._typical = typical_messages(bundle, found, arms)
        level = replace(found.rules, alpha=found.at.alpha)
        levels = factor_levels.judged(found.arms, level)
        self._advice = advice(bundle, found, level, levels)

    def arm(self, workload: str, arm: ArmReport) -> Explanation:
        verdicts = self._found.verdicts[workload]
        return replace(
            _explanation(workload, arm, self._found),
            medians=medians(arm, self._typical, verdicts),
            advice=of_arm(self._advice, workload, arm.name),
        )


def _explanation(workload: str, arm: ArmReport, found: JudgedCampaign) -> Explanation:
    """Without medians and advice."""
    unlike = flags([one.facts for one in found.arms[workload]])[arm.name]
    return Explanation(
        workload=workload,
        arm=arm.name,
        cell=arm.cell["cell"],
        family=arm.family,
        trials=arm.counts,
        medians=(),
        advice=(),
        path=arm.path,
        notes=tuple(arm.notes),
        flags=arm.flags(unlike),
        losses=arm.losses,
        tails=arm.tails,
        chain=chain_answer.chain(arm.trials),
        layers=chain_answer.layers(arm.trials),
        topics=_topics(workload, arm, found),
    )


def _topics(workload: str, arm: ArmReport, found: JudgedCampaign) -> tuple[ArmInTopic, ...]:
    """Each with its latencies, what was lost, and its verdict."""
    return tuple(
        ArmInTopic(
            topic=topic.name,
            readers=topic.readers.nodes if topic.readers else None,
            qos=arm.qos_of(topic.name),
            metrics=arm.metrics(topic.name),
            verdict=verdict_in(topic.name, arm, found.verdicts[workload]),
        )
        for topic in topics(found.arms[workload])
    )
