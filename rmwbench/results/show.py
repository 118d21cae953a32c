"""A bundle -> the show document (docs/formats/show.md), from which terminal, HTML and Markdown are
rendered. Same bundle, same document.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rmwbench.analysis.metrics.aggregate import Trial
from rmwbench.analysis.metrics.comparisons import Comparison, comparisons
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.topics import unit
from rmwbench.analysis.metrics.trial import measure_trial
from rmwbench.analysis.stats.metric import finite
from rmwbench.analysis.stats.resolution import comparisons as tests_at_once
from rmwbench.analysis.stats.resolution import resolvable_ratio
from rmwbench.analysis.verdicts import best, gains, sequential
from rmwbench.analysis.verdicts.failing import counted
from rmwbench.analysis.verdicts.interim import aa_noise, bar_bound, is_untimed, topics_of
from rmwbench.analysis.verdicts.interim import rules as rules_of
from rmwbench.analysis.verdicts.likeness import Likeness
from rmwbench.analysis.verdicts.ordered_by import words
from rmwbench.analysis.verdicts.over_topics import over_topics
from rmwbench.analysis.verdicts.unlike import flags
from rmwbench.analysis.verdicts.variances import Prior
from rmwbench.bundle import Bundle
from rmwbench.bundle.read import TrialLine
from rmwbench.results import (
    bring_up,
    chart_points,
    groups,
    outcomes,
    recordings,
    ros_variables,
    topics,
)
from rmwbench.results.answer.conclusions import conclusions
from rmwbench.results.answer.more import more
from rmwbench.results.arm import ArmReport
from rmwbench.results.calibration import calibration
from rmwbench.results.effects import Effect, beside, documents, effects, reliability_costs
from rmwbench.results.growth import growths
from rmwbench.results.imported import refuse_imported
from rmwbench.results.interop import matrix
from rmwbench.results.measure import Small
from rmwbench.results.own_cost import own_share
from rmwbench.results.tails import of_worst
from rmwbench.suite.file.limits_file import check_topics, no_such_case
from rmwbench.suite.left_out import told_left_out
from rmwbench.suite.limits import LimitsFile
from rmwbench.words import numbers as fmt


def summarise(bundle: Bundle, limits: LimitsFile | None = None) -> dict[str, Any]:
    """The show document. Reads every record once; memory is one trial's columns. UserError for a
    broken bundle, and for an imported one, which has no records. `limits` take the place of the
    suite's own.
    """
    refuse_imported(bundle)
    small = Small(bundle)
    plan = bundle.campaign.get("plan") or {}
    lines = bundle.trials()
    cells = bundle.rows("cells")
    measured: dict[int, list[Trial]] = {c["cell"]: [] for c in cells}
    for evidence in bundle.evidence(
        (x for x in lines if x.status == "done" and x.cell in measured), small
    ):
        measured[evidence.cell].append(measure_trial(evidence))
    campaign = _campaign(bundle, plan, lines, cells, small)
    aa_floor = aa_noise(bundle.campaign.get("machine"))
    rules = rules_of(bundle.campaign.get("machine"), _minutes_per_block(plan, lines, campaign))

    lines_of: dict[int, list[TrialLine]] = {c["cell"]: [] for c in cells}
    for line in lines:
        if line.cell in lines_of:
            lines_of[line.cell].append(line)
    tails = of_worst(bundle, measured, lines, small)
    workloads = comparisons(plan, cells)
    arms = {
        w.name: [
            ArmReport(
                w.labels[c["cell"]],
                c,
                measured[c["cell"]],
                lines_of[c["cell"]],
                small,
                bundle,
                w.primary_metric,
                tails.get(c["cell"], ()),
            )
            for c in w.cells
        ]
        for w in workloads
    }
    bound = {w: bar_bound((a.cell, a.found) for a in found) for w, found in arms.items()}
    topics_in = {
        w.name: topics_of((a.found for a in arms[w.name]), w.primary_metric) for w in workloads
    }
    compared = {
        unit(w, t): [a.compared_in(t) for a in arms[w]]
        for w, found in topics_in.items()
        for t in found
    }
    verdicts, judged = _judge(compared, rules, plan, campaign, bundle.ended_at)
    shared, alike = best.evidence(compared)
    contenders = sum(not a.floor and bool(a.primary) for found in compared.values() for a in found)
    document = {
        "schema": "rmwbench/show",
        "version": 1,
        "campaign": campaign,
        "machine": machine_document(bundle),
        "block_correlation": alike.document(),
        "workloads": [
            _workload(
                w,
                arms[w.name],
                {t: verdicts[unit(w.name, t)] for t in topics_in[w.name]},
                judged,
                replace(rules, alpha=judged["alpha"]),
                contenders,
                {t: shared[unit(w.name, t)] for t in topics_in[w.name]},
                alike,
            )
            for w in workloads
        ],
    }
    level = replace(rules, alpha=judged["alpha"])
    effects_of = documents([effect for w in arms for effect in _effects(w, arms)], level)
    tuning_of = _tuning(arms, topics_in, level)
    for found in document["workloads"]:
        found["effects"] = effects_of.get(found["workload"], [])
        found["tuning"] = tuning_of.get(found["workload"], [])
        payload_bytes = max((a.payload_bytes or 0 for a in arms[found["workload"]]), default=None)
        found["own_cost"] = own_share(
            document["machine"]["calibration"].get("own_cost") or {}, payload_bytes, found
        )
        found["machine_bound_blocks"] = sorted(bound[found["workload"]])
    thresholds = plan.get("outcomes") if limits is None else limits.document()
    document["outcomes"] = outcomes.document(thresholds, _limited(document["workloads"], limits))
    document["bring_up"] = bring_up.document(arms, {w.name: w.title for w in workloads})
    document["ros_variables"] = ros_variables.document(bundle, measured, small)
    document["recordings"] = recordings.document(bundle, measured, small)
    hosts = {(e["host"]) for rows in small.endpoints.values() for e in rows}
    document["conclusions"] = conclusions(
        document, calibrated=aa_floor is not None, margin=rules.margin, one_host=len(hosts) == 1
    )
    document["more"] = more(document, rules.minutes_per_block)
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


def _judge(
    arms: dict[str, list[best.Arm]],
    rules: best.Rules,
    plan: dict[str, Any],
    campaign: dict[str, Any],
    endings: tuple[int, ...] = (),
) -> tuple[dict[str, dict[str, best.Verdict]], dict[str, Any]]:
    """The verdicts, and at which level they were given. A sequential campaign's are those of its
    last look; a fixed one has a look where time ended it before its plan, and is judged there and,
    resumed, at its end. One that was interrupted has no look at its end: it is judged as if time
    had ended it there, and the report says that it is not finished.
    """
    planned = plan.get("blocks") or {}
    looks = planned.get("looks") or ((planned["count"],) if endings else ())
    if not looks:
        blocks = campaign["blocks_complete"]
        planned_end = planned.get("count") or blocks
        seen = {
            w: [sequential.first(arm, planned_end) for arm in found] for w, found in arms.items()
        }
        return best.judge(seen, rules), {
            "blocks": blocks,
            "alpha": rules.alpha,
            "look": None,
            "looks": [],
        }
    last = (campaign["looks"] or {}) if campaign["finished"] else {}
    there = max(
        (
            b + 1
            for found in arms.values()
            for a in found
            for b in (*a.primary, *a.undelivered, *a.failed)
        ),
        default=0,
    )
    blocks, ended = min(last.get("blocks", there), looks[-1]), last.get("ended", True)
    verdicts = sequential.judge(arms, rules, looks, blocks=blocks, ended=ended, endings=endings)
    level = sequential.alpha_at(looks, blocks, alpha=rules.alpha, ended=ended, endings=endings)
    passed = sum(n < blocks for n in looks) + 1
    return verdicts, {
        "blocks": blocks,
        "alpha": finite(level),
        "look": passed,
        "looks": list(looks),
    }


def _workload(
    w: Comparison,
    arms: list[ArmReport],
    verdicts: dict[str | None, dict[str, best.Verdict]],
    judged: dict[str, Any],
    rules: best.Rules,
    contenders: int,
    shared: dict[str | None, Prior],
    alike: Likeness,
) -> dict[str, Any]:
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
    by_topic = {t: found for t, found in verdicts.items() if t is not None}
    lost = {t: {a.name: _lost(a.compared_in(t)) for a in arms} for t in by_topic}
    overall = over_topics(by_topic, lost, words(w.primary_metric))
    whole = {name: one.verdict for name, one in overall.items()} if by_topic else verdicts[None]
    documents = [a.document(whole[a.name], unlike[a.name], floor) for a in arms]
    for arm, document in zip(arms, documents, strict=True):
        if by_topic and not is_untimed(arm.cell):
            document["verdict"] = topics.judged(overall[arm.name])
    found = topics.documents(arms, w.primary_metric, by_topic)
    if found:  # unlike topics together have no curve
        made["ecdf"], made["spectrum"], made["series"] = [], [], []
    resolved = [
        _resolution([a.compared_in(t) for a in arms], judged, rules, contenders, shared[t], alike)
        for t in verdicts
    ]
    return {
        "workload": w.name,
        "title": w.title,
        "description": w.description,
        "primary_metric": w.primary_metric,
        "arms": documents,
        "topics": found,
        "topic_names": list(dict.fromkeys(name for a in arms for name in a.topic_names)),
        "matrix": matrix(documents),
        "judged": judged,
        "resolution": resolved[0]
        if len(resolved) == 1
        else _least_resolved(list(by_topic), resolved),
        "tuning": [],
        "effects": [],
        "charts": {kind: [c for c in found if c is not None] for kind, found in made.items()},
    }


def _lost(arm: best.Arm) -> float:
    """The fraction of all its messages that did not arrive."""
    wanted = sum(of for _, of in arm.undelivered.values())
    return sum(missing for missing, _ in arm.undelivered.values()) / wanted if wanted else 0.0


def _effects(name: str, arms: dict[str, list[ArmReport]]) -> list[Effect]:
    """All of a workload's, before they are judged."""
    return effects(name, arms[name]) + _beside(name, arms) + reliability_costs(name, arms)


def _beside(name: str, arms: dict[str, list[ArmReport]]) -> list[Effect]:
    """Effects of a workload that names another `against`, at the same levels of the factors."""
    asked = next((a.definition.get("workload") for a in arms[name]), None)
    other = asked.get("against") if isinstance(asked, dict) else None
    there = f"{other}{name.removeprefix(str(asked.get('name')))}" if other else None
    return beside(name, arms[name], arms[there], str(other)) if there in arms else []


def _resolution(
    arms: list[best.Arm],
    judged: dict[str, Any],
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
    blocks = _blocks_of(contenders, judged["blocks"])
    if blocks < judged["blocks"] and blocks in judged["looks"]:
        judged, rules = _at_look(judged, rules, blocks)
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
        f"their logarithm), {found}{_level(judged)}"
    )
    return out | {"log_ratio_sd": finite(sd), "resolvable_ratio": finite(ratio), "text": text}


def _blocks_of(contenders: list[best.Arm], most: int) -> int:
    """How many blocks two of them have together at most."""
    there = sorted(
        (sum(b < most for b in a.primary.keys() | a.failed) for a in contenders), reverse=True
    )
    return there[1] if len(there) > 1 else most


def _at_look(
    judged: dict[str, Any], rules: best.Rules, blocks: int
) -> tuple[dict[str, Any], best.Rules]:
    """As it was judged after so many blocks, a planned look before the last."""
    alpha = sequential.alpha_at(judged["looks"], blocks, alpha=best.Rules().alpha)
    look = judged["looks"].index(blocks) + 1
    return judged | {"blocks": blocks, "alpha": alpha, "look": look}, replace(rules, alpha=alpha)


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


def _level(judged: dict[str, Any]) -> str:
    """At which look of a sequential campaign, and with how much of the error: ` Judged at look 2 of
    4, …`."""
    if not judged["looks"]:
        return ""
    last = judged["blocks"] not in judged["looks"]
    look = "where time ended it" if last else f"at look {judged['look']} of {len(judged['looks'])}"
    return (
        f" Judged {look}, after {judged['blocks']} blocks, with "
        f"{judged['alpha'] * 100:.2g} % of error for the whole report; what an earlier look "
        "decided stays decided."
    )


def _tuning(
    arms: dict[str, list[ArmReport]],
    topics_in: dict[str, list[str | None]],
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


def _campaign(
    bundle: Bundle,
    plan: dict[str, Any],
    lines: list[TrialLine],
    cells: list[dict[str, Any]],
    small: Small,
) -> dict[str, Any]:
    c = bundle.campaign
    suite = c.get("suite") or {}
    counts = Counter(line.status for line in lines)
    # a trial that is run again does not make its block more complete
    blocks: dict[int, set[int]] = {}
    for line in lines:
        if line.status != "void" or line.cause != "machine":
            blocks.setdefault(line.block, set()).add(line.cell)
    looks = next((x for x in reversed(bundle.journal.lines) if x.get("type") == "look"), None)
    planned = plan.get("trials") or lines
    if looks and looks["stop"] == "decided":
        planned = [t for t in planned if t["block"] < looks["blocks"]]
    dropped = bundle.dropped
    if dropped:
        planned = [
            t for t in plan.get("trials") or () if t["block"] < dropped.get(t["cell"], math.inf)
        ]
    return {
        "name": c.get("campaign"),
        "directory": str(bundle.directory),
        "suite": suite.get("name"),
        "title": (plan.get("suite") or {}).get("title") or suite.get("name"),
        "created_utc": c.get("created_utc"),
        "finished": bundle.journal.finished,
        "seed": c.get("seed"),
        "tool_version": c.get("tool_version"),
        "blocks_planned": max((t["block"] + 1 for t in planned), default=0)
        if dropped
        else (plan.get("blocks") or {}).get("count", len(blocks)),
        "blocks_complete": sum(
            found
            >= {c["cell"] for c in cells if dropped.get(c["cell"], math.inf) > block}
            - bundle.unsupported.keys()
            for block, found in blocks.items()
        ),
        "looks": looks
        and {k: looks[k] for k in ("blocks", "looks", "alpha", "ended", "decided", "of", "stop")},
        "trials": {
            "planned": len(planned),
            **{s: counts[s] for s in ("done", "failed", "void")},
            "repeated": sum(line.repeats is not None for line in lines),
            "voided_by": dict(
                Counter(code for x in lines if x.status == "void" for code in x.codes)
            ),
        },
        "not_run": (plan.get("not_run") or {}).get("text"),
        "left_out": told_left_out(
            {one["arm"]: one["reason"] for one in plan.get("left_out") or ()}
        ),
        "wall_s": round(sum(t["duration_ns"] or 0 for t in small.trials.values()) / 1e9, 1),
    }


def _minutes_per_block(
    plan: dict[str, Any], lines: list[TrialLine], campaign: dict[str, Any]
) -> float | None:
    """Measured where a block is complete, otherwise as planned."""
    if campaign["wall_s"] and campaign["blocks_complete"]:
        return campaign["wall_s"] / 60 / len({line.block for line in lines})
    seconds = plan.get("block_s")
    return seconds / 60 if seconds else None


def machine_document(bundle: Bundle) -> dict[str, Any]:
    """`machine` of the show document."""
    m = bundle.campaign.get("machine") or {}
    machines = len((bundle.campaign.get("cluster") or {}).get("machines") or ()) or 1
    calibrated = calibration(m, bundle.campaign.get("created_utc"), machines)
    return {
        "summary": m.get("summary") or "machine not described",
        "facts": m.get("facts") or [],
        "warnings": [*(m.get("warnings") or []), *calibrated.pop("warnings")],
        "calibration": calibrated,
    }
