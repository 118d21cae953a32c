"""A bundle -> the show document (docs/formats/show.md), from which terminal, HTML and Markdown are
rendered. Same bundle, same document.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rmwbench.analysis.metrics.comparisons import Comparison
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.stats.metric import finite
from rmwbench.analysis.stats.resolution import comparisons as tests_at_once
from rmwbench.analysis.stats.resolution import resolvable_ratio
from rmwbench.analysis.verdicts import best, gains, sequential
from rmwbench.analysis.verdicts.failing import counted
from rmwbench.analysis.verdicts.interim import aa_noise, is_untimed
from rmwbench.analysis.verdicts.likeness import Likeness
from rmwbench.analysis.verdicts.ordered_by import words
from rmwbench.analysis.verdicts.over_topics import over_topics
from rmwbench.analysis.verdicts.unlike import flags
from rmwbench.analysis.verdicts.variances import Prior
from rmwbench.bundle import Bundle
from rmwbench.results import (
    bring_up,
    chart_points,
    groups,
    model,
    outcomes,
    recordings,
    ros_variables,
    topics,
)
from rmwbench.results.answer.conclusions import conclusions
from rmwbench.results.answer.more import more
from rmwbench.results.arm import ArmReport
from rmwbench.results.effects import Effect, beside, documents, effects, reliability_costs
from rmwbench.results.growth import growths
from rmwbench.results.interop import matrix
from rmwbench.results.judged import Judged, judged
from rmwbench.results.machine import machine
from rmwbench.results.own_cost import own_share
from rmwbench.suite.file.limits_file import check_topics, no_such_case
from rmwbench.suite.limits import LimitsFile
from rmwbench.words import numbers as fmt


def summarise(bundle: Bundle, limits: LimitsFile | None = None) -> dict[str, Any]:
    """The show document. Reads every record once; memory is one trial's columns. UserError for a
    broken bundle, and for an imported one, which has no records. `limits` take the place of the
    suite's own.
    """
    found = judged(bundle)
    small, measured, workloads, arms = found.small, found.measured, found.workloads, found.arms
    level = replace(found.rules, alpha=found.at["alpha"])
    document: dict[str, Any] = {
        "schema": "rmwbench/show",
        "version": 1,
        "campaign": found.campaign,
        "machine": model.document(machine(bundle)),
        "block_correlation": found.alike.document(),
        "workloads": [_workload(w, found, level) for w in workloads],
    }
    effects_of = documents([effect for w in arms for effect in _effects(w, arms)], level)
    tuning_of = _tuning(arms, found.topics, level)
    for one in document["workloads"]:
        name = one["workload"]
        one["effects"] = effects_of.get(name, [])
        one["tuning"] = tuning_of.get(name, [])
        payload_bytes = max((a.payload_bytes or 0 for a in arms[name]), default=None)
        one["own_cost"] = own_share(
            document["machine"]["calibration"].get("own_cost") or {}, payload_bytes, one
        )
        one["machine_bound_blocks"] = found.machine_bound[name]
    thresholds = found.plan.get("outcomes") if limits is None else limits.document()
    document["outcomes"] = outcomes.document(thresholds, _limited(document["workloads"], limits))
    document["bring_up"] = bring_up.document(arms, {w.name: w.title for w in workloads})
    document["ros_variables"] = ros_variables.document(bundle, measured, small)
    document["recordings"] = recordings.document(bundle, measured, small)
    hosts = {(e["host"]) for rows in small.endpoints.values() for e in rows}
    calibrated = aa_noise(bundle.campaign.get("machine")) is not None
    document["conclusions"] = conclusions(
        document, calibrated=calibrated, margin=found.rules.margin, one_host=len(hosts) == 1
    )
    document["more"] = more(document, found.rules.minutes_per_block)
    document["growth"] = growths(arms)
    document["glossary"] = {name: entry.document() for name, entry in GLOSSARY.items()}
    return document


def _limited(workloads: list[dict[str, Any]], limits: LimitsFile | None) -> list[dict[str, Any]]:
    """The workloads that the limits are of. Raises UserError where there is none."""
    if limits is None:
        return workloads
    found = [w for w in workloads if limits.of.has(w["workload"].partition(" [")[0], _levels(w))]
    if not found:
        raise no_such_case(limits, [w["workload"] for w in workloads])
    topics = {t for w in workloads for t in w["topic_names"]}
    check_topics(limits, topics | {one["topic"] for w in workloads for one in w["topics"]})
    return found


def _levels(workload: dict[str, Any]) -> dict[str, Any]:
    return dict(workload["arms"][0]["factors"]) if workload["arms"] else {}


def _workload(w: Comparison, found: Judged, rules: best.Rules) -> dict[str, Any]:
    arms, verdicts, at = found.arms[w.name], found.verdicts[w.name], found.at
    unlike = flags([a.facts for a in arms])
    floor = next((a for a in arms if a.floor), None)
    drawn = chart_points.source(w.primary_metric)
    made = {
        "ecdf": [chart_points.ecdf(a.name, a.trials, drawn) for a in arms],
        "spectrum": [chart_points.spectrum(a.name, a.trials, drawn) for a in arms],
        "series": [
            chart_points.series(
                a.name, a.trials, {t.trial: v for t, v in a.values[a.primary]}, drawn
            )
            for a in arms
        ],
        "delivered": [groups.delivered(a.name, a.trials) for a in arms],
        "up": [bring_up.chart(a.name, a.trials) for a in arms],
    }
    by_topic = {t: by_arm for t, by_arm in verdicts.items() if t is not None}
    lost = {t: {a.name: _lost(a.compared_in(t)) for a in arms} for t in by_topic}
    overall = over_topics(by_topic, lost, words(w.primary_metric))
    whole = {name: one.verdict for name, one in overall.items()} if by_topic else verdicts[None]
    documents = [a.document(whole[a.name], unlike[a.name], floor) for a in arms]
    for arm, document in zip(arms, documents, strict=True):
        if by_topic and not is_untimed(arm.cell):
            document["verdict"] = topics.judged(overall[arm.name])
    of_topics = topics.documents(arms, w.primary_metric, verdicts)
    if of_topics:  # unlike topics together have no curve
        made["ecdf"], made["spectrum"], made["series"] = [], [], []
    resolved = [
        _resolution(
            [a.compared_in(t) for a in arms],
            at,
            rules,
            found.contenders,
            found.shared[w.name][t],
            found.alike,
        )
        for t in verdicts
    ]
    return {
        "workload": w.name,
        "title": w.title,
        "description": w.description,
        "primary_metric": w.primary_metric,
        "arms": documents,
        "topics": of_topics,
        "topic_names": list(dict.fromkeys(name for a in arms for name in a.topic_names)),
        "matrix": matrix(documents),
        "judged": at,
        "resolution": resolved[0]
        if len(resolved) == 1
        else _least_resolved(list(by_topic), resolved),
        "tuning": [],
        "effects": [],
        "charts": {kind: [c for c in all_ if c is not None] for kind, all_ in made.items()},
    }


def _lost(arm: best.Arm) -> float:
    """The fraction of all its messages that did not arrive."""
    wanted = sum(of for _, of in arm.undelivered.values())
    return sum(missing for missing, _ in arm.undelivered.values()) / wanted if wanted else 0.0


def _effects(name: str, arms: Mapping[str, list[ArmReport]]) -> list[Effect]:
    """All of a workload's, before they are judged."""
    return effects(name, arms[name]) + _beside(name, arms) + reliability_costs(name, arms)


def _beside(name: str, arms: Mapping[str, list[ArmReport]]) -> list[Effect]:
    """Effects of a workload that names another `against`, at the same levels of the factors."""
    asked = next((a.definition.get("workload") for a in arms[name]), None)
    if not isinstance(asked, dict) or not (other := asked.get("against")):
        return []
    there = f"{other}{name.removeprefix(str(asked.get('name')))}"
    return beside(name, arms[name], arms[there], str(other)) if there in arms else []


def _resolution(
    arms: list[best.Arm],
    at: Mapping[str, Any],
    rules: best.Rules,
    in_report: int,
    shared: Prior,
    alike: Likeness,
) -> dict[str, Any]:
    """What this design would have found, from the spread that was seen: the ratio that has 95 %
    power at the first and worst step of Holm's procedure, at the level of the last look that the
    workload came to: what is decided leaves a campaign before its end. Blocks that resemble each
    other are worth fewer, as in the intervals.
    """
    contenders = [a for a in arms if not a.floor and a.primary]
    blocks = _blocks_of(contenders, at["blocks"])
    if blocks < at["blocks"] and blocks in at["looks"]:
        at, rules = _at_look(at, rules, blocks)
    sd = best.spread(arms)
    lossy = any(k for a in contenders for k, _ in a.undelivered.values())
    comparisons = tests_at_once(len(contenders), in_report, lossy=lossy)
    out = {
        "blocks": blocks,
        "comparisons": comparisons,
        "log_ratio_sd": None,
        "resolvable_ratio": None,
    }
    if len(contenders) < 2:
        return out | {
            "text": "Fewer than two contenders have data: there is nothing to tell apart."
        }
    if sd is None or blocks < rules.min_blocks:
        return out | {"text": "Too few blocks to say what could have been told apart."}
    freedom = max((blocks - 1 + shared.freedom) * alike.freedom_factor(), 1.0)
    ratio = resolvable_ratio(
        blocks,
        comparisons,
        sd * math.sqrt(alike.variance_factor(blocks)),
        alpha=rules.alpha,
        margin=rules.least(),
        shared_freedom=freedom - (blocks - 1),
    )
    found = (
        f"a difference of {fmt.significant(ratio)}× is found with 95 % certainty "
        f"({comparisons} comparisons); smaller ones may stay undecided, or count as equivalent."
        if math.isfinite(ratio)
        else f"no difference is sure to be found ({comparisons} comparisons)."
    )
    text = (
        f"With {blocks} blocks and block ratios that scatter by {sd:.2g} (standard deviation of "
        f"their logarithm), {found}{_level(at)}"
    )
    return out | {"log_ratio_sd": finite(sd), "resolvable_ratio": finite(ratio), "text": text}


def _blocks_of(contenders: list[best.Arm], most: int) -> int:
    """How many blocks two of them have together at most."""
    there = sorted(
        (sum(b < most for b in a.primary.keys() | a.failed) for a in contenders), reverse=True
    )
    return there[1] if len(there) > 1 else most


def _at_look(
    at: Mapping[str, Any], rules: best.Rules, blocks: int
) -> tuple[Mapping[str, Any], best.Rules]:
    """As it was judged after so many blocks, a planned look before the last."""
    alpha = sequential.alpha_at(at["looks"], blocks, alpha=best.Rules().alpha)
    look = at["looks"].index(blocks) + 1
    return {**at, "blocks": blocks, "alpha": alpha, "look": look}, replace(rules, alpha=alpha)


def _least_resolved(names: list[str], found: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the topic in which the least could be told apart: what holds there holds in all."""

    def ratio(place: int) -> float:
        value = found[place]["resolvable_ratio"]
        return math.inf if value in (None, "inf") else float(value)

    place = max(range(len(found)), key=ratio)
    text = found[place]["text"]
    return found[place] | {
        "topic": names[place],
        "text": f"The topic that resolves least is {names[place]}. {text}",
    }


def _level(at: Mapping[str, Any]) -> str:
    """At which look of a sequential campaign, and with how much of the error: ` Judged at look 2 of
    4, …`."""
    if not at["looks"]:
        return ""
    last = at["blocks"] not in at["looks"]
    look = "where time ended it" if last else f"at look {at['look']} of {len(at['looks'])}"
    return (
        f" Judged {look}, after {at['blocks']} blocks, with "
        f"{at['alpha'] * 100:.2g} % of error for the whole report; what an earlier look "
        "decided stays decided."
    )


def _tuning(
    arms: Mapping[str, list[ArmReport]],
    topics_in: Mapping[str, Sequence[str | None]],
    rules: best.Rules,
) -> dict[str, list[dict[str, Any]]]:
    """Workload -> each middleware tuned ÷ untouched, topic by topic where these are judged apart: a
    family of its own over the whole report."""
    found = [
        (w, topic, *pair)
        for w, here in arms.items()
        for topic in topics_in[w]
        for pair in _tuned_pairs(here)
    ]
    planned = [_tuned(tuned, untouched, topic) for _, topic, tuned, untouched in found]
    out: dict[str, list[dict[str, Any]]] = {}
    for (workload, topic, tuned, untouched), gain in zip(
        found, gains.judge(planned, rules), strict=True
    ):
        out.setdefault(workload, []).append(
            {
                "middleware": tuned.cell["middleware"],
                "tuned": tuned.name,
                "untouched": untouched.name,
                **({} if topic is None else {"topic": topic}),
                "ratio": gain.document(),
            }
        )
    return out


def _tuned(tuned: ArmReport, untouched: ArmReport, topic: str | None) -> gains.Planned:
    """With the blocks that either lost, which are infinite."""
    a, b = (counted([side.compared_in(topic)])[0].primary for side in (tuned, untouched))
    return gains.Planned(tuned.primary, a, b)


def _tuned_pairs(arms: list[ArmReport]) -> Iterator[tuple[ArmReport, ArmReport]]:
    for tuned in arms:
        for untouched in arms:
            same = all(
                tuned.cell[k] == untouched.cell[k] for k in ("middleware", "layer", "factors")
            )
            if (
                same
                and tuned.cell["profile"] == "tuned"
                and untouched.cell["profile"].rstrip("*") == "untouched"
            ):
                yield tuned, untouched
