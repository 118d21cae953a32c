"""Computes the answer of `rmwbench show` from a bundle (docs/formats/show.md); the terminal, HTML
and Markdown are rendered from it. The same bundle has the same answer."""

import math
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, is_of_chain
from rmwbench.analysis.metrics.comparisons import Comparison
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.judged_topics import judged_name, noun
from rmwbench.analysis.stats.resolution import Threshold, resolvable_ratio
from rmwbench.analysis.stats.resolution import comparisons as tests_at_once
from rmwbench.analysis.verdicts import best, gains, sequential
from rmwbench.analysis.verdicts.best import decisive, over_topics
from rmwbench.analysis.verdicts.interim import aa_noise
from rmwbench.analysis.verdicts.limit_outcomes import INTERVAL_ERROR
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.analysis.verdicts.ratio import spread
from rmwbench.analysis.verdicts.statements import Statement
from rmwbench.analysis.verdicts.unlike_arms import flags, outdated
from rmwbench.analysis.verdicts.variances import Likeness, Prior
from rmwbench.analysis.verdicts.verdict import (
    Family,
    JudgedArm,
    Rules,
    Verdict,
    undelivered_shares,
    with_failed_blocks,
)
from rmwbench.beside import from_features
from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.results.advice import advice
from rmwbench.results.answer.conclusions import conclusions
from rmwbench.results.answer.progress import open_comparisons
from rmwbench.results.judged_campaign import JudgedCampaign, judge_campaign
from rmwbench.results.machine.calibration_document import machine
from rmwbench.results.machine.machine_model import OwnCosts
from rmwbench.results.model import GlossaryEntry
from rmwbench.results.selection import Selection, is_capacity, is_imported
from rmwbench.results.show_model import (
    BlockCorrelation,
    Charts,
    JudgedAt,
    Resolution,
    SuiteAnswer,
    Tuning,
    WorkloadAnswer,
)
from rmwbench.results.workload import (
    chart_points,
    effects,
    factor_levels,
    groups,
    outcomes,
    topic_answers,
)
from rmwbench.results.workload.arm_own_cost import own_share
from rmwbench.results.workload.interop import matrix
from rmwbench.results.workload.workload_arm import ArmReport, floors
from rmwbench.words import numbers as fmt
from rmwbench.words.level_names import level_name

if TYPE_CHECKING:  # the modules that read suites take long to import
    from rmwbench.suite.limits import LimitsFile


def summarise(
    bundle: Bundle,
    limits: "LimitsFile | None" = None,
    selection: Selection | None = None,
    measured_trials: MutableMapping[int, MeasuredTrial] | None = None,
    limits_error: float = INTERVAL_ERROR,
) -> SuiteAnswer:
    """Return the answer of a campaign. Every record is read once, and memory holds one trial's
    columns. `limits` replace those of the suite; `selection`: cells of the bundle that are judged
    among themselves. `measured_trials` is that of `judge_campaign`, for a campaign that is looked
    at again while it runs. `limits_error`: the error of each interval that a limit is judged by,
    smaller at such a look. Raises UserError for a broken bundle, and for an imported one, which has
    no records."""
    campaign = judge_campaign(bundle, selection, measured_trials)
    arms = campaign.arms
    level = replace(campaign.rules, alpha=campaign.at.alpha)
    described = machine(bundle)
    limit_names = {w.name: _limit_names(arms[w.name]) for w in campaign.workloads}
    workloads = _workloads(campaign, level, described.calibration.own_cost)
    levels = factor_levels.levels_of_arms(arms, level)
    answer = SuiteAnswer(
        campaign=campaign.campaign,
        machine=described,
        block_correlation=_correlation(campaign),
        workloads=workloads,
        outcomes=outcomes.outcome_matrix(
            _limits(campaign, limits, limits_error),
            _limited(workloads, limits, limit_names),
            limit_names,
        ),
        **_features("of_campaign", bundle, campaign),
        conclusions=(),
        more=open_comparisons(workloads, campaign.rules.minutes_per_block),
        levels=levels,
        growth=factor_levels.growths(arms),
        advice=advice(bundle, campaign, level, levels),
        glossary={name: GlossaryEntry(**entry.document()) for name, entry in GLOSSARY.items()},
    )
    calibrated = aa_noise(bundle.campaign.machine.aa_floor) is not None
    return replace(
        answer,
        conclusions=conclusions(
            answer,
            calibrated=calibrated,
            margin=campaign.rules.margin,
            one_host=_is_on_one_host(arms),
        ),
    )


def _is_on_one_host(arms: Mapping[str, Sequence[ArmReport]]) -> bool:
    """Whether all processes of each arm ran on one host; False if nothing ran."""
    hosts = [{e["host"] for e in arm.endpoints} for of in arms.values() for arm in of if arm.trials]
    return bool(hosts) and all(len(hosts_of_arm) == 1 for hosts_of_arm in hosts)


def suite_answer(directory: Path, who: str, *, imported: str | None = None) -> SuiteAnswer:
    """Return the answer of a campaign that is compared with published results: claims, figures, a
    questionnaire. `who` needs it, in the plural; `imported`: how to use an imported bundle. Raises
    UserError if the bundle is not a campaign of a suite: imported, or a search for a capacity."""
    bundle = Bundle(directory)
    if is_imported(bundle) or is_capacity(bundle):
        raise UserError(
            f"{who} need a campaign of a suite",
            where=str(directory),
            fix="give what `rmwbench run` made"
            + (f"; {imported}" if imported and is_imported(bundle) else ""),
        )
    return summarise(bundle)


def _workloads(
    campaign: JudgedCampaign, rules: Rules, own_cost: OwnCosts | None
) -> tuple[WorkloadAnswer, ...]:
    arms = campaign.arms
    unjudged = [e for w in arms for e in (*effects.effects(w, arms[w]), *_beside(w, arms))]
    judged_effects = effects.effects_by_workload(unjudged, rules)
    tuning = _tuning(arms, campaign.topics, rules)
    return tuple(
        replace(
            _workload(w, campaign, rules, own_cost),
            effects=tuple(judged_effects.get(w.name, ())),
            tuning=tuple(tuning.get(w.name, ())),
        )
        for w in campaign.workloads
    )


def _correlation(campaign: JudgedCampaign) -> BlockCorrelation | None:
    """Return the correlation over the whole report; intervals use that of each workload."""
    pooled = campaign.evidence.pooled
    if pooled.correlation is None or pooled.error is None:
        return None
    inflates = any(likeness.inflates for likeness in campaign.evidence.likenesses.values())
    return BlockCorrelation(value=pooled.correlation, error=pooled.error, inflates=inflates)


def _limits(
    campaign: JudgedCampaign, limits: "LimitsFile | None", error: float
) -> outcomes.AcceptedLimits | None:
    declared = campaign.plan.outcomes if limits is None else limits
    if declared is None:
        return None
    minimum = campaign.plan.blocks.minimum or 0
    return outcomes.declared(declared.document(), max(campaign.rules.min_blocks, minimum), error)


def _limit_names(arms: Sequence[ArmReport]) -> outcomes.Names:
    """Return the names by which topics may be limited, from the first arm with trials that has the
    topic."""
    names: dict[str | None, tuple[str, ...]] = {}
    for arm in arms:
        if arm.trials:
            names = {**arm.limit_names, **names}
    return names


def _limited(
    workloads: Sequence[WorkloadAnswer],
    limits: "LimitsFile | None",
    limit_names: Mapping[str, outcomes.Names],
) -> Sequence[WorkloadAnswer]:
    """Return the workloads that the limits are for. Raises UserError if there are none."""
    if limits is None:
        return workloads
    from rmwbench.suite.file.limits_file import check_topics, no_such_case

    limited = [w for w in workloads if limits.of.has(w.name, w.levels)]
    if not limited:
        raise no_such_case(limits, [w.workload for w in workloads])
    check_topics(limits, {n for w in limit_names.values() for names in w.values() for n in names})
    return limited


def _workload(
    w: Comparison, campaign: JudgedCampaign, rules: Rules, own_cost: OwnCosts | None
) -> WorkloadAnswer:
    verdicts, at = campaign.verdicts[w.name], campaign.at
    arms = sorted(campaign.arms[w.name], key=lambda a: list(Family).index(a.family))
    facts = [a.facts for a in arms]
    unlike, old = flags(facts), outdated(facts)
    floor = floors(arms)
    by_topic = {t: by_arm for t, by_arm in verdicts.items() if t is not None}
    undelivered = {t: undelivered_shares([a.judged[t] for a in arms]) for t in by_topic}
    families = {a.name: a.family for a in arms}
    topic_noun = noun(topic_answers.topics(arms))
    deciding = decisive(_expected(by_topic, arms), undelivered, w.primary_metric)
    overall = over_topics(deciding, undelivered, words(w.primary_metric), families, topic_noun)
    arm_answers = tuple(
        a.answer(
            overall[a.name].verdict if by_topic else verdicts[None][a.name],
            overall[a.name].topic if by_topic else None,
            unlike[a.name],
            a.name in old,
            floor.get(a.family),
        )
        for a in arms
    )
    of_topics = topic_answers.topic_answers(arms, w.primary_metric, verdicts)
    payload_bytes = max((a.payload_bytes or 0 for a in arms), default=None)
    return WorkloadAnswer(
        workload=w.name,
        name=w.workload,
        levels=w.levels,
        title=_title(w),
        description=w.description,
        primary_metric=w.primary_metric,
        arms=arm_answers,
        topics=of_topics,
        topic_names=tuple(dict.fromkeys(name for a in arms for name in a.topic_names)),
        matrix=matrix(arm_answers),
        judged=at,
        resolution=_least_resolved(_resolutions(w.name, arms, list(verdicts), campaign, rules)),
        tuning=(),
        effects=(),
        # unlike topics together have no curve, except for their chains
        charts=_charts(
            w.primary_metric, arms, curves=not of_topics or is_of_chain(w.primary_metric)
        ),
        own_cost=own_share(own_cost, payload_bytes, arm_answers, of_topics),
        machine_bound_blocks=tuple(campaign.left_out_blocks(w.name)),
        **_features("of_workload", arms),
    )


def _expected(
    by_topic: Mapping[str, Mapping[str, Verdict]], arms: Sequence[ArmReport]
) -> Mapping[str, Mapping[str, Verdict]]:
    """Return the verdicts without those that have no data for readers that come late: a late reader
    may be there for too few messages, which leaves no arm open. They stay if all readers come
    late."""
    late = {
        topic.name
        for topic in topic_answers.topics(arms)
        if topic.readers and topic.readers.asked.joins != "start"
    }
    if not by_topic.keys() - late:
        return by_topic
    return {
        topic: {
            arm: v for arm, v in verdicts.items() if topic not in late or v.verdict != "no data"
        }
        for topic, verdicts in by_topic.items()
    }


def _title(w: Comparison) -> str:
    """Return the title with the levels, which tell several comparisons of one workload apart:
    `state, 2 readers`."""
    levels_of = (level_name(factor, level) for factor, level in w.levels.items())
    return ", ".join([w.title if w.title != w.name else w.workload, *levels_of])


def _features(name: str, *arguments: Any) -> dict[str, Any]:
    """Return the fields of the answer that belong to features beside the trials
    (rmwbench/beside)."""
    return {
        key: part
        for parts in from_features("answer", name, *arguments)
        for key, part in parts.items()
    }


def _charts(primary: str, arms: Sequence[ArmReport], *, curves: bool) -> Charts:
    trials = {a.name: a.trials for a in arms} if curves else {}
    delivered = (groups.delivered(a.name, a.trials) for a in arms)
    return Charts(
        **vars(chart_points.curves(trials, primary)),
        delivered=tuple(filter(None, delivered)),
        **_features("charts", arms),
    )


def _beside(name: str, arms: Mapping[str, list[ArmReport]]) -> list[effects.UnjudgedEffect]:
    """Return the effects of a workload that names another one `against`, at the same levels of the
    factors."""
    workload = next((a.definition.get("workload") for a in arms[name]), None)
    if not isinstance(workload, dict) or not (against := workload.get("against")):
        return []
    other = f"{against}{name.removeprefix(str(workload.get('name')))}"
    return effects.beside(name, arms[name], arms[other], str(against)) if other in arms else []


def _resolutions(
    workload: str,
    arms: Sequence[ArmReport],
    judged_topics: Sequence[str | None],
    campaign: JudgedCampaign,
    rules: Rules,
) -> dict[tuple[str | None, Family | None], Resolution]:
    """Return (topic or None for the whole workload, family or None if there is one) -> the
    resolution."""
    out = {}
    for topic in judged_topics:
        members_of = best.groups({judged_name(workload, topic): [a.judged[topic] for a in arms]})
        contending = {
            g: members for g, members in members_of.items() if not all(a.floor for a in members)
        }
        for group, members in contending.items():
            out[topic, group[1] if len(contending) > 1 else None] = _resolution(
                members,
                campaign.at,
                rules,
                campaign.contenders,
                campaign.evidence.priors[group],
                campaign.evidence.likenesses[group],
            )
    return out


def _resolution(
    arms: list[JudgedArm],
    at: JudgedAt,
    rules: Rules,
    in_report: int,
    shared: Prior,
    alike: Likeness,
) -> Resolution:
    """Return the differences that this design can tell, from the scatter that was seen: the ratio
    that has 95 % power at the first and worst step of Holm's procedure, at the level of the last
    look that the workload came to, since decided cells leave a campaign before its end. Blocks that
    resemble each other count for less, as in the intervals."""
    contenders = [a for a in arms if not a.floor and a.primary]
    blocks = _blocks_of(contenders, at.blocks)
    if blocks < at.blocks and blocks in at.looks:
        at, rules = _at_look(at, rules, blocks)
    sd = spread(arms)
    lossy = any(k for a in contenders for k, _ in a.undelivered.values())
    comparisons = tests_at_once(len(contenders), in_report, lossy=lossy)
    resolution = Resolution(
        blocks=blocks, comparisons=comparisons, log_ratio_sd=None, resolvable_ratio=None, text=""
    )
    if len(contenders) < 2:
        text = "Fewer than two contenders have data: there is nothing to tell apart."
        return replace(resolution, comparisons=0, text=text)
    if blocks < rules.min_blocks:
        return replace(resolution, text="Too few blocks to say what could have been told apart.")
    if sd is None:
        text = (
            "No two contenders have a ratio in two blocks, as where values are 0 or infinite: what "
            "could have been told apart is not known."
        )
        return replace(resolution, text=text)
    freedom = max((blocks - 1 + shared.freedom) * alike.freedom_factor(), 1.0)
    ratio = resolvable_ratio(
        blocks,
        comparisons,
        sd * math.sqrt(alike.variance_factor(blocks)),
        Threshold(alpha=rules.alpha, margin=rules.least(), shared_freedom=freedom - (blocks - 1)),
    )
    text = f"With {blocks} blocks and {_resolvable(ratio, sd, comparisons)}{_level(at)}"
    return replace(resolution, log_ratio_sd=sd, resolvable_ratio=ratio, text=text)


def _resolvable(ratio: float, sd: float, comparisons: int) -> str:
    sure = (
        f"a difference of {fmt.significant(ratio)}× is found with 95 % certainty "
        f"({comparisons} comparisons); smaller ones may stay undecided, or count as equivalent."
        if math.isfinite(ratio)
        else f"no difference is sure to be found ({comparisons} comparisons)."
    )
    return f"block ratios that scatter by {sd:.2g} (standard deviation of their logarithm), {sure}"


def _blocks_of(contenders: list[JudgedArm], most: int) -> int:
    """Return in how many blocks two of the contenders ran at most."""
    blocks = sorted(
        (sum(b < most for b in a.primary.keys() | a.failed) for a in contenders), reverse=True
    )
    return blocks[1] if len(blocks) > 1 else most


def _at_look(at: JudgedAt, rules: Rules, blocks: int) -> tuple[JudgedAt, Rules]:
    """Return the look and the rules of a workload that was last judged after so many blocks, at a
    planned look before the last."""
    alpha = sequential.alpha_at(at.looks, blocks, alpha=Rules().alpha)
    look = at.looks.index(blocks) + 1
    return replace(at, blocks=blocks, alpha=alpha, look=look), replace(rules, alpha=alpha)


def _least_resolved(
    resolutions: Mapping[tuple[str | None, Family | None], Resolution],
) -> Resolution:
    """Return the resolution of the part that can tell least apart; the other parts resolve as much
    or more."""

    def ratio(key: tuple[str | None, Family | None]) -> float:
        value = resolutions[key].resolvable_ratio
        return math.inf if value is None else value

    compared = [key for key in resolutions if resolutions[key].comparisons] or list(resolutions)
    worst = max(compared, key=ratio)
    least, (topic, family) = resolutions[worst], worst
    where = " ".join(filter(None, (topic, f"by {family}" if family else "")))
    text = f"What resolves least is {where}. {least.text}" if where else least.text
    return replace(least, topic=topic, text=text)


def _level(at: JudgedAt) -> str:
    """Return ` Judged at look 2 of 4, …`: the look of a sequential campaign, and its part of the
    error."""
    if not at.looks:
        return ""
    is_planned = at.blocks in at.looks
    look = f"at look {at.look} of {len(at.looks)}" if is_planned else "where time ended it"
    return (
        f" Judged {look}, after {at.blocks} blocks, with "
        f"{fmt.percent(at.alpha)} of error for the whole report; what an earlier look "
        "decided stays decided."
    )


def _tuning(
    arms: Mapping[str, list[ArmReport]],
    topics_in: Mapping[str, Sequence[str | None]],
    rules: Rules,
) -> dict[str, list[Tuning]]:
    """Return for each workload every middleware tuned ÷ untouched, topic by topic if these are
    judged apart. All of them are one family of tests over the whole report."""
    pairs = [
        (w, topic, *pair)
        for w, reports in arms.items()
        for topic in topics_in[w]
        for pair in _tuned_pairs(reports)
    ]
    planned = [_tuned(tuned, untouched, topic) for _, topic, tuned, untouched in pairs]
    ratios = gains.judge(planned, rules)
    out: dict[str, list[Tuning]] = {}
    for (workload, topic, tuned, untouched), gain in zip(pairs, ratios, strict=True):
        out.setdefault(workload, []).append(
            Tuning(
                middleware=tuned.cell["middleware"],
                tuned=tuned.name,
                untouched=untouched.name,
                topic=topic,
                ratio=gain,
            )
        )
    return out


def _tuned(tuned: ArmReport, untouched: ArmReport, topic: str | None) -> Statement:
    """Return the statement with the blocks that either arm lost, which are infinite."""
    a, b = (with_failed_blocks([side.judged[topic]])[0] for side in (tuned, untouched))
    return gains.planned(GLOSSARY[tuned.primary], a.values(), b.values(), (a.bounds, b.bounds))


def _tuned_pairs(arms: list[ArmReport]) -> Iterator[tuple[ArmReport, ArmReport]]:
    for tuned in (arm for arm in arms if arm.cell["profile"] == "tuned"):
        for untouched in arms:
            is_comparable = _settings(tuned) == _settings(untouched) and all(
                tuned.cell[k] == untouched.cell[k] for k in ("middleware", "layer", "factors")
            )
            if is_comparable and untouched.cell["profile"].rstrip("*") == "untouched":
                yield tuned, untouched


def _settings(report: ArmReport) -> dict[str, Any]:
    """Return the settings of an arm besides its profile: arms that differ in them, as in their
    transport, do not show the gain of tuning. The option `path` asks for a path and sets
    nothing."""
    settings = {k: v for k, v in report.arm.items() if k not in ("name", "profile", "against")}
    options = {k: v for k, v in settings.get("options", {}).items() if k != "path"}
    return settings | {"options": options}
