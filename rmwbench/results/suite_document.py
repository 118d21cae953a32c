"""A bundle -> what `rmwbench show` answers (docs/formats/show.md), from which terminal, HTML and
Markdown are rendered. Same bundle, same answer.
"""

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
from rmwbench.analysis.verdicts.failed_arms import counted, undelivered_shares
from rmwbench.analysis.verdicts.interim import aa_noise
from rmwbench.analysis.verdicts.likeness import Likeness
from rmwbench.analysis.verdicts.limit_outcomes import INTERVAL_ERROR
from rmwbench.analysis.verdicts.over_topics import decisive, over_topics
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.analysis.verdicts.ratio import spread
from rmwbench.analysis.verdicts.statements import Statement
from rmwbench.analysis.verdicts.unlike import flags, outdated
from rmwbench.analysis.verdicts.variances import Prior
from rmwbench.analysis.verdicts.verdict import Family, JudgedArm, Rules, Verdict
from rmwbench.beside import from_features
from rmwbench.bundle import Bundle
from rmwbench.errors import UserError
from rmwbench.results.answer.conclusions import conclusions
from rmwbench.results.answer.more import more
from rmwbench.results.judged import JudgedCampaign, judged
from rmwbench.results.machine.calibration_document import machine
from rmwbench.results.machine.machine_model import OwnCosts
from rmwbench.results.model import GlossaryEntry
from rmwbench.results.remedies.advice import advice
from rmwbench.results.selection import Selection, is_capacity, is_imported
from rmwbench.results.shown import (
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
from rmwbench.results.workload.cost_growth import growths
from rmwbench.results.workload.interop import matrix
from rmwbench.results.workload.workload_arm import ArmReport, floors
from rmwbench.words import numbers as fmt
from rmwbench.words.level_names import level_name

if TYPE_CHECKING:  # what reads suites takes long to import
    from rmwbench.suite.limits import LimitsFile


def summarise(
    bundle: Bundle,
    limits: "LimitsFile | None" = None,
    selection: Selection | None = None,
    known: MutableMapping[int, MeasuredTrial] | None = None,
    limits_error: float = INTERVAL_ERROR,
) -> SuiteAnswer:
    """Reads every record once; memory is one trial's columns. UserError for a broken bundle, and
    for an imported one, which has no records. `limits` take the place of the suite's own;
    `selection`: cells of the bundle that are judged among themselves. `known` as in `judged`, for
    whoever looks at a campaign again while it runs. `limits_error`: of each interval that a limit
    is judged by, smaller at such a look.
    """
    campaign = judged(bundle, selection, known)
    small, arms = campaign.small, campaign.arms
    level = replace(campaign.rules, alpha=campaign.at.alpha)
    here = machine(bundle)
    called = {w.name: _limit_names(arms[w.name]) for w in campaign.workloads}
    workloads = _workloads(campaign, level, here.calibration.own_cost)
    levels = factor_levels.judged(arms, level)
    shown = SuiteAnswer(
        campaign=campaign.campaign,
        machine=here,
        block_correlation=_correlation(campaign),
        workloads=workloads,
        outcomes=outcomes.judged(
            _limits(campaign, limits, limits_error), _limited(workloads, limits, called), called
        ),
        **_features("of_campaign", bundle, campaign),
        conclusions=(),
        more=more(workloads, campaign.rules.minutes_per_block),
        levels=levels,
        growth=growths(arms),
        advice=advice(bundle, campaign, level, levels),
        glossary={name: GlossaryEntry(**entry.document()) for name, entry in GLOSSARY.items()},
    )
    hosts = {e["host"] for rows in small.endpoints.values() for e in rows}
    calibrated = aa_noise(bundle.campaign.machine.aa_floor) is not None
    return replace(
        shown,
        conclusions=conclusions(
            shown, calibrated=calibrated, margin=campaign.rules.margin, one_host=len(hosts) == 1
        ),
    )


def measured(directory: Path, who: str, *, imported: str | None = None) -> SuiteAnswer:
    """What a campaign shows, for those who set it beside what others published: claims, figures, a
    questionnaire. Raises UserError where the bundle is not a campaign of a suite: imported, or a
    search for a capacity. `who` wants it, in the plural; `imported`: what to do with an imported
    one."""
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
    """Each with its effects and its tuning, which are judged over the whole report."""
    arms = campaign.arms
    unjudged = [e for w in arms for e in (*effects.effects(w, arms[w]), *_beside(w, arms))]
    judged_effects = effects.judged(unjudged, rules)
    tuned = _tuning(arms, campaign.topics, rules)
    return tuple(
        replace(
            _workload(w, campaign, rules, own_cost),
            effects=tuple(judged_effects.get(w.name, ())),
            tuning=tuple(tuned.get(w.name, ())),
        )
        for w in campaign.workloads
    )


def _correlation(campaign: JudgedCampaign) -> BlockCorrelation | None:
    """Over the whole report; what a workload tells by itself is used there."""
    alike = campaign.evidence.pooled
    inflates = any(one.inflates for one in campaign.evidence.likenesses.values())
    if alike.correlation is None or alike.error is None:
        return None
    return BlockCorrelation(value=alike.correlation, error=alike.error, inflates=inflates)


def _limits(
    campaign: JudgedCampaign, limits: "LimitsFile | None", error: float
) -> outcomes.AcceptedLimits | None:
    """Those of the user, else those of the suite."""
    declared = campaign.plan.outcomes if limits is None else limits
    if declared is None:
        return None
    minimum = campaign.plan.blocks.minimum or 0
    return outcomes.declared(declared.document(), max(campaign.rules.min_blocks, minimum), error)


def _limit_names(arms: Sequence[ArmReport]) -> outcomes.Names:
    """By the first arm with trials that has the topic."""
    names: dict[str | None, tuple[str, ...]] = {}
    for arm in arms:
        if arm.trials:
            names = {**arm.limit_names, **names}
    return names


def _limited(
    workloads: Sequence[WorkloadAnswer],
    limits: "LimitsFile | None",
    called: Mapping[str, outcomes.Names],
) -> Sequence[WorkloadAnswer]:
    """The workloads that the limits are of. Raises UserError where there is none."""
    if limits is None:
        return workloads
    from rmwbench.suite.file.limits_file import check_topics, no_such_case

    limited = [w for w in workloads if limits.of.has(w.name, w.levels)]
    if not limited:
        raise no_such_case(limits, [w.workload for w in workloads])
    check_topics(limits, {n for w in called.values() for names in w.values() for n in names})
    return limited


def _workload(
    w: Comparison, campaign: JudgedCampaign, rules: Rules, own_cost: OwnCosts | None
) -> WorkloadAnswer:
    """Without what is judged over the whole report: effects and tuning."""
    verdicts, at = campaign.verdicts[w.name], campaign.at
    arms = sorted(campaign.arms[w.name], key=lambda a: list(Family).index(a.family))
    facts = [a.facts for a in arms]
    unlike, old = flags(facts), outdated(facts)
    floor = floors(arms)
    by_topic = {t: by_arm for t, by_arm in verdicts.items() if t is not None}
    lost = {t: undelivered_shares([a.judged[t] for a in arms]) for t in by_topic}
    of_family = {a.name: a.family for a in arms}
    what = noun(topic_answers.topics(arms))
    deciding = decisive(_expected(by_topic, arms), lost, w.primary_metric)
    overall = over_topics(deciding, lost, words(w.primary_metric), of_family, what)
    shown = tuple(
        a.shown(
            overall[a.name].verdict if by_topic else verdicts[None][a.name],
            overall[a.name].topic if by_topic else None,
            unlike[a.name],
            a.name in old,
            floor.get(a.family),
        )
        for a in arms
    )
    of_topics = topic_answers.shown(arms, w.primary_metric, verdicts)
    payload_bytes = max((a.payload_bytes or 0 for a in arms), default=None)
    return WorkloadAnswer(
        workload=w.name,
        name=w.workload,
        levels=w.levels,
        title=_title(w),
        description=w.description,
        primary_metric=w.primary_metric,
        arms=shown,
        topics=of_topics,
        topic_names=tuple(dict.fromkeys(name for a in arms for name in a.topic_names)),
        matrix=matrix(shown),
        judged=at,
        resolution=_least_resolved(_resolutions(w.name, arms, list(verdicts), campaign, rules)),
        tuning=(),
        effects=(),
        # unlike topics together have no curve, but of their chains
        charts=_charts(
            w.primary_metric, arms, curves=not of_topics or is_of_chain(w.primary_metric)
        ),
        own_cost=own_share(own_cost, payload_bytes, shown, of_topics),
        machine_bound_blocks=tuple(campaign.left_out_blocks(w.name)),
        **_features("of_workload", arms),
    )


def _expected(
    by_topic: Mapping[str, Mapping[str, Verdict]], arms: Sequence[ArmReport]
) -> Mapping[str, Mapping[str, Verdict]]:
    """Without what has no data of readers that come late, beside others: they may be there for too
    few messages, which leaves no arm open."""
    late = {
        one.name
        for one in topic_answers.topics(arms)
        if one.readers and one.readers.asked.joins != "start"
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
    """With its levels, which tell several of one workload apart: `state, 2 readers`."""
    levels_of = (level_name(factor, level) for factor, level in w.levels.items())
    return ", ".join([w.title if w.title != w.name else w.workload, *levels_of])


def _features(name: str, *arguments: Any) -> dict[str, Any]:
    """The fields of the answer that are a feature's beside the trials (rmwbench/beside)."""
    return {
        key: part
        for parts in from_features("answer", name, *arguments)
        for key, part in parts.items()
    }


def _charts(primary: str, arms: Sequence[ArmReport], *, curves: bool) -> Charts:
    drawn = {a.name: a.trials for a in arms} if curves else {}
    delivered = (groups.delivered(a.name, a.trials) for a in arms)
    return Charts(
        **vars(chart_points.curves(drawn, primary)),
        delivered=tuple(filter(None, delivered)),
        **_features("charts", arms),
    )


def _beside(name: str, arms: Mapping[str, list[ArmReport]]) -> list[effects.UnjudgedEffect]:
    """Effects of a workload that names another `against`, at the same levels of the factors."""
    asked = next((a.definition.get("workload") for a in arms[name]), None)
    if not isinstance(asked, dict) or not (other := asked.get("against")):
        return []
    there = f"{other}{name.removeprefix(str(asked.get('name')))}"
    return effects.beside(name, arms[name], arms[there], str(other)) if there in arms else []


def _resolutions(
    workload: str,
    arms: Sequence[ArmReport],
    judged_topics: Sequence[str | None],
    campaign: JudgedCampaign,
    rules: Rules,
) -> dict[tuple[str | None, Family | None], Resolution]:
    """(topic or None for the whole, family or None where there is one) -> what was resolved."""
    out = {}
    for topic in judged_topics:
        groups = best.groups({judged_name(workload, topic): [a.judged[topic] for a in arms]})
        contend = {g: of for g, of in groups.items() if not all(a.floor for a in of)}
        for group, members in contend.items():
            out[topic, group[1] if len(contend) > 1 else None] = _resolution(
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
    """What this design would have found, from the spread that was seen: the ratio that has 95 %
    power at the first and worst step of Holm's procedure, at the level of the last look that the
    workload came to: what is decided leaves a campaign before its end. Blocks that resemble each
    other are worth fewer, as in the intervals.
    """
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
        none = "Fewer than two contenders have data: there is nothing to tell apart."
        return replace(resolution, text=none)
    if blocks < rules.min_blocks:
        return replace(resolution, text="Too few blocks to say what could have been told apart.")
    if sd is None:
        none = (
            "No two contenders have a ratio in two blocks, as where values are 0 or infinite: what "
            "could have been told apart is not known."
        )
        return replace(resolution, text=none)
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
    """How many blocks two of them have together at most."""
    blocks = sorted(
        (sum(b < most for b in a.primary.keys() | a.failed) for a in contenders), reverse=True
    )
    return blocks[1] if len(blocks) > 1 else most


def _at_look(at: JudgedAt, rules: Rules, blocks: int) -> tuple[JudgedAt, Rules]:
    """As it was judged after so many blocks, a planned look before the last."""
    alpha = sequential.alpha_at(at.looks, blocks, alpha=Rules().alpha)
    look = at.looks.index(blocks) + 1
    return replace(at, blocks=blocks, alpha=alpha, look=look), replace(rules, alpha=alpha)


def _least_resolved(
    resolutions: Mapping[tuple[str | None, Family | None], Resolution],
) -> Resolution:
    """Where the least could be told apart: what holds there holds everywhere."""

    def ratio(of: tuple[str | None, Family | None]) -> float:
        value = resolutions[of].resolvable_ratio
        return math.inf if value is None else value

    several = [of for of in resolutions if resolutions[of].comparisons] or list(resolutions)
    least = max(several, key=ratio)
    topic, family = least
    if len(resolutions) == 1 and topic is None:
        return resolutions[least]
    where = " ".join(x for x in (topic, f"by {family}" if family else "") if x)
    text = (
        f"What resolves least is {where}. {resolutions[least].text}"
        if where
        else resolutions[least].text
    )
    return replace(resolutions[least], topic=topic, text=text)


def _level(at: JudgedAt) -> str:
    """At which look of a sequential campaign, and with how much of the error: ` Judged at look 2 of
    4, …`."""
    if not at.looks:
        return ""
    last = at.blocks not in at.looks
    look = "where time ended it" if last else f"at look {at.look} of {len(at.looks)}"
    return (
        f" Judged {look}, after {at.blocks} blocks, with "
        f"{at.alpha * 100:.2g} % of error for the whole report; what an earlier look "
        "decided stays decided."
    )


def _tuning(
    arms: Mapping[str, list[ArmReport]],
    topics_in: Mapping[str, Sequence[str | None]],
    rules: Rules,
) -> dict[str, list[Tuning]]:
    """Workload -> each middleware tuned ÷ untouched, topic by topic where these are judged apart: a
    family of its own over the whole report."""
    pairs = [
        (w, topic, *pair)
        for w, here in arms.items()
        for topic in topics_in[w]
        for pair in _tuned_pairs(here)
    ]
    planned = [_tuned(tuned, untouched, topic) for _, topic, tuned, untouched in pairs]
    out: dict[str, list[Tuning]] = {}
    for (workload, topic, tuned, untouched), gain in zip(
        pairs, gains.judge(planned, rules), strict=True
    ):
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
    """With the blocks that either lost, which are infinite."""
    a, b = (counted([side.judged[topic]])[0] for side in (tuned, untouched))
    return gains.planned(GLOSSARY[tuned.primary], a.values(), b.values(), (a.bounds, b.bounds))


def _tuned_pairs(arms: list[ArmReport]) -> Iterator[tuple[ArmReport, ArmReport]]:
    for tuned in arms:
        for untouched in arms:
            same = _settings(tuned) == _settings(untouched) and all(
                tuned.cell[k] == untouched.cell[k] for k in ("middleware", "layer", "factors")
            )
            if (
                same
                and tuned.cell["profile"] == "tuned"
                and untouched.cell["profile"].rstrip("*") == "untouched"
            ):
                yield tuned, untouched


def _settings(report: ArmReport) -> dict[str, Any]:
    """What an arm runs with besides its profile: arms that differ in it, as in their transport, do
    not show what tuning is worth. The option `path` asks for a path and sets nothing."""
    settings = {k: v for k, v in report.arm.items() if k not in ("name", "profile", "against")}
    options = {k: v for k, v in settings.get("options", {}).items() if k != "path"}
    return settings | {"options": options}
