"""The outcome matrix: for each condition (a combination of levels) what becomes of each arm, and of
all of them.

Made where the suite says what is acceptable (`outcomes:`, docs/suites.md); judged in
`analysis/verdicts/outcomes.py`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rmwbench.analysis.metrics.aggregate import WITHOUT_UNDER_WAY
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.topics import OF_TOPICS
from rmwbench.analysis.verdicts import outcomes
from rmwbench.results.losses import losses_of, slow
from rmwbench.words import numbers as fmt

MARKS = {
    "acceptable": "✓",
    "degraded": "!",
    "none": "✗",
    "undecided": "?",
    "no data": "·",
    "not supported": "–",
}
_TOLD = 3
"""Of more outcomes than these that a condition may have, naming them tells nothing."""
_CONDITION_MARKS = {"all acceptable": "✓", "only": "!"} | MARKS


def document(
    thresholds: Mapping[str, Any] | None, workloads: Sequence[dict[str, Any]]
) -> dict[str, Any] | None:
    """`outcomes` of the show document, from the plan's `outcomes` and the workloads' documents;
    None where the suite declares none."""
    if not thresholds:
        return None
    conditions = [
        _condition(thresholds, workload)
        for workload in workloads
        if _has_limits(thresholds, workload)
    ]
    return {
        **thresholds,
        "text": _text(thresholds),
        "conditions": conditions,
        "summary": _summary(conditions),
    }


def _has_limits(thresholds: Mapping[str, Any], workload: Mapping[str, Any]) -> bool:
    """Whether any limit is of this workload or one of its topics."""
    names = {
        *(workload.get("topic_names") or ()),
        *(topic["topic"] for topic in workload.get("topics") or ()),
    }
    return bool(thresholds["acceptable"]) or bool(names & set(thresholds.get("topics") or {}))


def _condition(thresholds: Mapping[str, Any], workload: dict[str, Any]) -> dict[str, Any]:
    arms = [arm for arm in workload["arms"] if arm["role"] != "floor"]
    of = {arm["arm"]: _of_arm(thresholds, workload, arm) for arm in arms}
    judged = {name: one.judged for name, one in of.items()}
    found = outcomes.of_condition(judged)
    return {
        "workload": workload["workload"],
        "levels": dict(arms[0]["factors"]) if arms else {},
        "outcome": found.outcome,
        "only": found.only,
        "may": list(found.may),
        "arms": [
            {
                "arm": arm["arm"],
                "outcome": one.outcome,
                "metric": one.metric,
                "topic": of[arm["arm"]].topic,
                "reason": one.reason or of[arm["arm"]].reason,
            }
            for arm, one in ((arm, judged[arm["arm"]]) for arm in arms)
        ],
    }


@dataclass(frozen=True)
class _Judged:
    """`topic`: the one that decides the arm or leaves it open; None where no single one does."""

    judged: outcomes.Judged
    topic: str | None
    reason: str


def _of_arm(
    thresholds: Mapping[str, Any], workload: Mapping[str, Any], arm: Mapping[str, Any]
) -> _Judged:
    """By each of its topics where the workload has unlike ones, and by what no topic has alone."""
    parts = dict(_parts(thresholds, workload, arm))
    found = {name: outcomes.of_arm(limits, own) for name, (limits, own) in parts.items()}
    if list(found) == [None]:
        limits, own = parts[None]
        return _Judged(found[None], None, found[None].reason or _reason(limits, found[None], own))
    judged, topic = outcomes.of_topics(found)
    said = {
        name: one.reason or _reason(parts[name][0], one, parts[name][1])
        for name, one in found.items()
    }
    if judged.outcome in (outcomes.ACCEPTABLE, outcomes.NO_DATA, outcomes.NOT_SUPPORTED):
        text = "; ".join(f"{name}: {text}" if name else text for name, text in said.items())
        return _Judged(judged, None, text)
    text = f"{topic}: {said[topic]}" if topic else said[topic]
    return _Judged(replace(judged, reason=""), topic, text)


def _parts(
    thresholds: Mapping[str, Any], workload: Mapping[str, Any], arm: Mapping[str, Any]
) -> Iterator[tuple[str | None, tuple[dict[str, Any], dict[str, Any]]]]:
    """(topic, or None for the whole workload; (its limits, the arm there)): only what has a
    limit."""
    own, least = thresholds.get("topics") or {}, thresholds["none"]
    topics = workload.get("topics") or ()
    if not topics:
        limits = _overlaid(thresholds["acceptable"], own, workload.get("topic_names") or ())
        yield None, ({"acceptable": limits, "none": least}, dict(arm))
        return
    place = next(n for n, other in enumerate(workload["arms"]) if other["arm"] == arm["arm"])
    for topic in topics:
        general = [limit for limit in thresholds["acceptable"] if limit["metric"] in OF_TOPICS]
        limits = _overlaid(general, own, (topic["topic"], *topic["members"]))
        if limits:
            there = topic["arms"][place]
            of_topic = {**arm, "metrics": there["metrics"], "losses": _losses(there)}
            yield topic["topic"], ({"acceptable": limits, "none": least}, of_topic)
    whole = [limit for limit in thresholds["acceptable"] if limit["metric"] not in OF_TOPICS]
    if whole:
        yield None, ({"acceptable": whole, "none": least}, dict(arm))


def _overlaid(
    general: Sequence[Mapping[str, Any]], own: Mapping[str, Any], names: Sequence[str]
) -> list[Mapping[str, Any]]:
    """The general limits, those of the same metric replaced by the topic's own."""
    mine = {limit["metric"]: limit for name in names for limit in own.get(name, ())}
    return [*(limit for limit in general if limit["metric"] not in mine), *mine.values()]


def _losses(there: Mapping[str, Any]) -> dict[str, int] | None:
    """`losses` of an arm in a topic, as far as a limit asks."""
    undelivered = there["metrics"].get("undelivered") or {}
    value, under_way = fmt.finite(undelivered.get("value")), there.get("under_way") or 0
    if not value and not under_way:
        return None
    missing = round((value or 0.0) * undelivered["count"])
    return {"wanted": undelivered["count"], "missing": missing, "under_way": under_way}


def _reason(thresholds: Mapping[str, Any], judged: outcomes.Judged, arm: Mapping[str, Any]) -> str:
    """Of the metric that decided or leaves it open: its value, and the limit. Where all are within,
    each of them."""
    if judged.metric is None:
        return "; ".join(_measured(limit["metric"], arm) for limit in thresholds["acceptable"])
    said = _measured(judged.metric, arm)
    least = thresholds["none"]
    if judged.outcome == "none" or "none" in judged.may:
        bound = amount(least["at_least"], least["metric"])
        shown = "at least" if judged.outcome == "none" else "too few messages to show"
        return f"nothing arrived; {said}: {shown} {bound}"
    limit = next(limit for limit in thresholds["acceptable"] if limit["metric"] == judged.metric)
    return f"{said}; acceptable is at most {amount(limit['at_most'], judged.metric)}"


def _measured(metric: str, arm: Mapping[str, Any]) -> str:
    shown = fmt.metric(arm["metrics"].get(metric))
    value = f"no data ({shown.basis})" if shown.state == "absent" else shown.full
    waiting = slow(losses_of(arm)) if metric in WITHOUT_UNDER_WAY else None
    return f"{GLOSSARY[metric].title} {value}" + (f", and {waiting}" if waiting else "")


def amount(value: float, metric: str) -> str:
    """A limit as its file says it: `1 %`, `30 ms`, `1.5 cores`, `400 MiB`."""
    unit = GLOSSARY[metric].unit
    if unit == "bytes":
        return f"{value / (1 << 20):.4g} MiB"
    if unit == "cores":
        return f"{value:.4g} cores"
    return f"{value * 100:.4g} %" if unit == "fraction" else f"{value / 1e6:.4g} ms"


def _text(thresholds: Mapping[str, Any]) -> str:
    said = [_limits(thresholds["acceptable"])] if thresholds["acceptable"] else []
    said += [
        f"in {name} {_limits(limits)}" for name, limits in (thresholds.get("topics") or {}).items()
    ]
    limits = "; ".join(said)
    most = amount(1 - thresholds["none"]["at_least"], thresholds["none"]["metric"])
    return (
        f"Acceptable: {limits}, with the whole interval. None: nothing arrived, and the interval "
        f"leaves at most {most} that does. Degraded: messages arrive, and a limit is missed. "
        "Undecided: an interval reaches to both sides of its limit."
    )


def _limits(limits: Sequence[Mapping[str, Any]]) -> str:
    return " and ".join(
        f"{GLOSSARY[limit['metric']].title} of at most {amount(limit['at_most'], limit['metric'])}"
        for limit in limits
    )


def _summary(conditions: Sequence[Mapping[str, Any]]) -> str:
    """`Of 30 conditions: 5 all acceptable, 10 degraded, 4 only cyclonedds, 11 none.`"""
    counts = Counter(f"only {one['only']}" if one["only"] else one["outcome"] for one in conditions)
    order = ("all acceptable", "degraded", *(name for name in counts if name.startswith("only ")))
    found = [
        f"{counts[name]} {name}"
        for name in (*order, "none", "undecided", "no data")
        if counts[name]
    ]
    return f"Of {fmt.counted(len(conditions), 'condition')}: {', '.join(found)}."


def shown(doc: Mapping[str, Any]) -> dict[str, Any] | None:
    """The matrix as every renderer has it; None without one. `everywhere`: what is the same in all
    conditions; `heads`: the factors that differ; `arms`; `rows`: `labels` (one per head), `cells`
    (one per arm, None where the condition does not have it: `outcome`, `mark`, `value` of the
    metric that decided or why none did, `reason`, `place` in the document's workloads and arms),
    and the condition's `outcome`, `mark`, `words` and `more`."""
    found = doc.get("outcomes")
    if not found:
        return None
    conditions = found["conditions"]
    names = dict.fromkeys(name for one in conditions for name in one["levels"])
    levels = {name: [_level(one["levels"].get(name)) for one in conditions] for name in names}
    workloads = [one["workload"].partition(" [")[0] for one in conditions]
    axes = {"workload": workloads} if len(set(workloads)) > 1 or not levels else {}
    axes |= {name: found for name, found in levels.items() if len(set(found)) > 1}
    arms = list(dict.fromkeys(arm["arm"] for one in conditions for arm in one["arms"]))
    places = {workload["workload"]: place for place, workload in enumerate(doc["workloads"])}
    return {
        "everywhere": ", ".join(
            f"{name}={found[0]}" for name, found in levels.items() if name not in axes
        ),
        "heads": list(axes),
        "arms": arms,
        "rows": [
            _row(doc, one, [axis[place] for axis in axes.values()], arms, places[one["workload"]])
            for place, one in enumerate(conditions)
        ],
    }


def _row(
    doc: Mapping[str, Any],
    condition: Mapping[str, Any],
    labels: list[str],
    arms: Sequence[str],
    at: int,
) -> dict[str, Any]:
    judged = {arm["arm"]: arm for arm in condition["arms"]}
    metrics = {
        arm["arm"]: (place, arm["metrics"])
        for place, arm in enumerate(doc["workloads"][at]["arms"])
    }
    cells: list[dict[str, Any] | None] = []
    for name in arms:
        if name not in judged:
            cells.append(None)
            continue
        one, (place, known) = judged[name], metrics[name]
        if one.get("topic"):
            (topic,) = [t for t in doc["workloads"][at]["topics"] if t["topic"] == one["topic"]]
            known = topic["arms"][place]["metrics"]
        shown = (
            fmt.metric(known.get(one["metric"]))
            if one["metric"] and one["outcome"] != "none"
            else None
        )
        # What an undecided one may be is in its interval; of the others the value is enough.
        value = "" if shown is None else shown.full if one["outcome"] == "undecided" else shown.text
        if one["outcome"] in ("undecided", "no data") and shown is None:
            value = one["reason"].partition(":")[0]
        if one.get("topic") and value:
            value = f"{one['topic']} {value}"
        cells.append({**one, "mark": MARKS[one["outcome"]], "value": value, "place": (at, place)})
    only, outcome = condition["only"], condition["outcome"]
    good = [arm["arm"] for arm in condition["arms"] if arm["outcome"] == "acceptable"]
    return {
        "labels": labels,
        "cells": cells,
        "outcome": outcome,
        "mark": _CONDITION_MARKS[outcome],
        "words": f"only {only}" if only else outcome,
        "more": f"acceptable with {', '.join(good)}"
        if outcome == "degraded" and good
        else " or ".join(condition["may"])
        if len(condition["may"]) <= _TOLD
        else "",
    }


def _level(value: Any) -> str:
    return "–" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
