"""The answer of one workload in one sentence, read off the verdicts and nothing else.

The sentence never claims more than the verdicts do: `best` exists only where every other contender is decided to be
worse, so every other outcome is worded as a group (equivalent) or as open (undecided), and an undecided arm is named
even when its median is the smallest.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

from rmwbench.analysis.glossary import GLOSSARY
from rmwbench.report import format as fmt
from rmwbench.report.ordered_by import Words, words


@dataclass(frozen=True)
class Headline:
    """`answer` is the sentence, `detail` the numbers behind it, `behind` how far the decided others are from it;
    `tone` is one of `decided`, `shared`, `open`, `none`."""

    answer: str
    detail: str
    tone: str
    behind: str = ""


def headline(workload: dict[str, Any]) -> Headline:
    contenders = [arm for arm in workload.get("arms", []) if arm.get("role") != "floor"]
    by_verdict: dict[str, list[dict[str, Any]]] = {}
    for arm in contenders:
        by_verdict.setdefault(arm.get("verdict", {}).get("verdict", "no data"), []).append(arm)
    metric = workload.get("primary_metric", "response_latency_p50")

    if contenders and all(is_untimed(arm) for arm in contenders):
        return Headline("Not timed: allocations were counted here.", "Times beside them are no results.", "none")

    order = words(metric)
    behind = _behind(by_verdict.get("worse", []), order)

    if by_verdict.get("best"):
        best = by_verdict["best"][0]
        faster = [
            arm["arm"] for arm in by_verdict.get("worse", []) if _primary(arm, workload) < _primary(best, workload)
        ]
        answer = f"{best['arm']} is the {order.best}."
        if faster:  # loss is judged first
            lose = "loses" if len(faster) == 1 else "lose"
            answer = f"{best['arm']} is the best: {_names(faster)} may be faster, but {lose} more."
        elif is_endless(best, workload):
            answer = f"{best['arm']} loses least, and its {_title(metric)} is infinite too."
        elif len(contenders) == 1:
            answer = f"{best['arm']} was measured alone."
        return Headline(answer, _numbers(best, metric), "decided", behind)

    lead = leader(workload)
    if lead is None:
        return Headline("No arm delivered enough to compare.", "See the failures below.", "none")
    equal = [arm for arm in by_verdict.get("equivalent", []) if arm is not lead]
    undecided = [arm for arm in by_verdict.get("undecided", []) if arm is not lead]
    if undecided:
        names = _names([arm["arm"] for arm in undecided])
        answer = f"Not decided: {lead['arm']} leads, but {names} could be as {order.less}."
        wait = [w for arm in undecided if (w := fmt.finite(arm["verdict"].get("minutes_to_decide"))) is not None]
        more = f"A campaign of about {fmt.minutes(max(wait))} would decide it." if wait else ""
        return Headline(answer, _join(_numbers(lead, metric), more), "open", behind)
    if equal:
        answer = f"{_names([arm['arm'] for arm in [lead, *equal]])} are equally {order.alike}, within the margin."
        return Headline(answer, _numbers(lead, metric), "shared", behind)
    return Headline(
        f"Not decided: {lead['arm']} leads, but nothing is decided against it.", _numbers(lead, metric), "open"
    )


def is_endless(arm: dict[str, Any], workload: dict[str, Any]) -> bool:
    """Whether its primary metric is infinite: best by its losses, and fast it is not."""
    return arm.get("metrics", {}).get(workload.get("primary_metric", ""), {}).get("value") == "inf"


def is_untimed(arm: dict[str, Any]) -> bool:
    """Whether its trials counted allocations, which costs time."""
    return any(str(flag).startswith("untimed:") for flag in arm.get("flags", []))


def leader(workload: dict[str, Any]) -> dict[str, Any] | None:
    """The contender that the others are judged against: the named best, else the one most verdicts point to, else the
    one with the smallest primary metric."""
    contenders = [arm for arm in workload.get("arms", []) if arm.get("role") != "floor"]
    for arm in contenders:
        if arm.get("verdict", {}).get("verdict") == "best":
            return arm
    named = [
        arm["verdict"].get("against")
        for arm in contenders
        if arm.get("verdict", {}).get("verdict") in ("worse", "equivalent", "undecided")
    ]
    for arm in sorted(contenders, key=lambda arm: -named.count(arm["arm"])):
        if arm["arm"] in named:
            return arm
    measured = [arm for arm in contenders if _primary(arm, workload) < inf]
    return min(measured, key=lambda arm: _primary(arm, workload), default=None)


def _primary(arm: dict[str, Any], workload: dict[str, Any]) -> float:
    value = fmt.finite(arm.get("metrics", {}).get(workload.get("primary_metric", ""), {}).get("value"))
    return inf if value is None else value


def _numbers(arm: dict[str, Any], metric: str) -> str:
    shown = fmt.metric(arm.get("metrics", {}).get(metric))
    if shown.state != "measured":
        return ""
    floor = fmt.ratio(arm.get("times_floor"))
    text = f"{shown.full} {_title(metric)}"
    return f"{text}, {floor.text} the floor." if floor.state == "measured" else f"{text}."


def _title(metric: str) -> str:
    plain = metric == "response_latency_p50" or metric not in GLOSSARY
    return "median response" if plain else GLOSSARY[metric].title


def _behind(worse: list[dict[str, Any]], order: Words) -> str:
    """How far the decided ones are behind, nearest to farthest."""
    ratios = sorted(
        (value, arm["arm"])
        for arm in worse
        if (value := fmt.finite((arm["verdict"].get("ratio") or {}).get("value"))) is not None
    )
    ratios = [ratio for ratio in ratios if ratio[0] > 1]
    if not ratios:
        return ""
    near = f"{ratios[0][1]} {order.so_much.format(fmt.significant(ratios[0][0]) + '×')}"
    if len(ratios) == 1:
        return f"{near}."
    return f"{near}, {ratios[-1][1]} {fmt.significant(ratios[-1][0])}×."


def _join(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _names(names: list[str]) -> str:
    if len(names) > 4:
        names = [*names[:3], f"{len(names) - 3} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
