"""The effect of one thing: arms that name another arm `against`, as ratios to it, metric by metric,
each with an interval.

A feature on and off, or the next step of a ladder, differ in one thing, and both are in every
block, so the ratio is made of pairs. If a workload has unlike topics, latencies are compared topic
by topic, since a latency over all of them belongs to none. All effects of a report are judged
together (analysis/verdicts/statements.py): the words "raises" and "lowers" are false anywhere in a
report with a probability of at most 5 %."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rmwbench.analysis.metrics.aggregate import aggregate
from rmwbench.analysis.metrics.glossary import GLOSSARY, Use, names_for
from rmwbench.analysis.metrics.judged_topics import POOLED
from rmwbench.analysis.verdicts import gains
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.analysis.verdicts.statements import Statement
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.results import show_model
from rmwbench.results.workload.workload_arm import ArmReport
from rmwbench.words import numbers as fmt

METRICS = names_for(Use.EFFECT)
"""The metrics of an effect beside the primary metric."""


@dataclass
class UnjudgedEffect:
    """An arm ÷ another, metric by metric, before it is judged. `after`: the end of its sentence;
    `topic`: None for the whole workload."""

    workload: str
    arm: str
    against: str
    planned: dict[str, Statement]
    after: str = ""
    topic: str | None = None


def effects_by_workload(
    effects: Sequence[UnjudgedEffect], rules: Rules
) -> dict[str, list[show_model.Effect]]:
    """Judge all effects of a report at once, and return those of each workload in their order."""
    answers = iter(gains.judge([p for effect in effects for p in effect.planned.values()], rules))
    out: dict[str, list[show_model.Effect]] = {}
    for effect in effects:
        ratios = {metric: next(answers) for metric in effect.planned}
        out.setdefault(effect.workload, []).append(
            show_model.Effect(
                arm=effect.arm,
                against=effect.against,
                topic=effect.topic,
                ratios=ratios,
                text="; ".join(x for x in (_words(ratios), effect.after) if x),
            )
        )
    return out


def effects(workload: str, arms: Sequence[ArmReport]) -> list[UnjudgedEffect]:
    by_name = {arm.name: arm for arm in arms}
    return [
        effect
        for arm in arms
        if (base := by_name.get(str(arm.arm.get("against"))))
        for effect in _divided(workload, arm, base, base.name, METRICS)
    ]


def _divided(
    workload: str,
    arm: ArmReport,
    base: ArmReport,
    against: str,
    metrics: Iterable[str],
    *,
    undelivered: bool = False,
) -> list[UnjudgedEffect]:
    """Return `arm` ÷ `base`, named `against`, in its primary metric and in `metrics`: for the whole
    workload, then for each topic that both have. `after`: a function from the topic to the end of
    the sentence."""
    return [
        UnjudgedEffect(
            workload=workload,
            arm=arm.name,
            against=against,
            planned=planned,
            after=_undelivered(arm, base, topic) if undelivered else "",
            topic=topic,
        )
        for topic in (None, *arm.shared(base))
        if (planned := _planned(arm, base, (arm.primary, *metrics), topic)) or topic is None
    ]


BESIDE = names_for(Use.BESIDE)
"""The metrics of a workload that is compared with another one."""


def beside(
    workload: str, arms: Sequence[ArmReport], others: Sequence[ArmReport], title: str
) -> list[UnjudgedEffect]:
    """Return the effects of a workload that names another one `against`, whose title is `title`:
    each arm divided by the same arm there."""
    by_name = {arm.name: arm for arm in others}
    return [
        effect
        for arm in arms
        if (base := by_name.get(arm.name))
        for effect in _divided(
            workload, arm, base, f"{base.name} in {title}", BESIDE, undelivered=True
        )
    ]


def _undelivered(arm: ArmReport, base: ArmReport, topic: str | None) -> str:
    own, others = (
        fmt.metric(aggregate(GLOSSARY["undelivered"], side.trials_in(topic))).text
        for side in (arm, base)
    )
    return f"undelivered {own}, there {others}"


def _planned(
    arm: ArmReport, base: ArmReport, metrics: Iterable[str], topic: str | None
) -> dict[str, Statement]:
    """Return the statements about metrics that both arms have and that are nowhere 0. There is no
    latency over unlike topics together, and no cost of a single topic."""
    unlike = bool(arm.topics or base.topics)
    out = {}
    for metric in dict.fromkeys(metrics):
        if (metric in POOLED and unlike) != (topic is not None):
            continue
        a, b = (side.in_blocks(metric, topic) for side in (arm, base))
        if gains.has_ratio(a, b):
            bounds = arm.clock_bounds(metric, topic), base.clock_bounds(metric, topic)
            out[metric] = gains.planned(GLOSSARY[metric], a, b, bounds)
    return out


def _words(gains_of: Mapping[str, gains.Gain]) -> str:
    """Return which metrics the effect raises, lowers, or leaves within the margin; the others are
    open."""
    metrics: dict[str, list[str]] = {"raises": [], "lowers": [], "keeps": []}
    for metric, gain in gains_of.items():
        if gain.answer == "equivalent":
            metrics["keeps"].append(metric)
        elif gain.answer != "undecided":
            raises = (gain.answer == "better") is words(metric).higher
            metrics["raises" if raises else "lowers"].append(metric)
    return "; ".join(f"{verb} {', '.join(names)}" for verb, names in metrics.items() if names)


def columns(workload: show_model.WorkloadAnswer) -> list[str]:
    """Return the metrics that any effect of the workload has, in the order of a table's columns."""
    names = {name for effect in workload.effects for name in effect.ratios}
    ordered = dict.fromkeys((workload.primary_metric, *BESIDE, *METRICS))
    return [name for name in ordered if name in names]
