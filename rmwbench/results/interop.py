"""Who talks to whom: a workload whose arms are pairs of middlewares, as one table of talkers by
listeners.

A pair is judged by what arrived, not by its rank among the others: `delivers` where every message
came sound, once and in order; `degraded` with what was wrong, or where some trials failed; `no
match`, `no delivery` or `failed` where no trial came through; `not supported` where one side cannot
do what is asked.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from rmwbench.words import numbers as fmt

Words = dict[str, str]

_WRONG = (
    ("undelivered", "lost {}"),
    ("under_way", "{} still under way"),
    ("corrupt", "{} corrupt"),
    ("duplicates", "{} doubled"),
    ("reordered", "{} out of order"),
    ("foreign", "{} foreign"),
)
OUTCOMES: dict[str, str] = {
    "delivers": "every message arrived sound, once and in order",
    "degraded": "messages arrived, but not all of them sound, once and in order",
    "no delivery": "the two found each other, and no message came through",
    "no match": "the two never found each other",
    "failed": "no trial was completed, for another reason",
    "not supported": "one of the two cannot do what the workload asks",
    "not run": "no trial was run",
}
MARKS = {
    "delivers": "✓",
    "degraded": "!",
    "no delivery": "✗",
    "no match": "✗",
    "failed": "✗",
    "not supported": "–",
    "not run": "·",
}


def pair_of(arm: dict[str, Any]) -> list[str] | None:
    """[talker, listener] of an arm's definition, each a middleware with its profile; None for an
    arm that is not a pair."""
    others = list((arm.get("processes") or {}).values())
    return [_label(arm), _label({**arm, **others[0]})] if len(others) == 1 else None


def _label(side: dict[str, Any]) -> str:
    profile = (side.get("profile") or {}).get("name", "untouched")
    return str(side["middleware"]) if profile == "untouched" else f"{side['middleware']} {profile}"


def matrix(arms: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """`matrix` of the show document's workload, from its arms' documents; None where fewer than two
    are pairs."""
    paired = [arm for arm in arms if arm.get("pair")]
    if len(paired) < 2:
        return None
    return {
        "talkers": list(dict.fromkeys(arm["pair"][0] for arm in paired)),
        "listeners": list(dict.fromkeys(arm["pair"][1] for arm in paired)),
        "cells": [
            {
                "talker": arm["pair"][0],
                "listener": arm["pair"][1],
                "arm": arm["arm"],
                **_outcome(arm),
            }
            for arm in paired
        ],
    }


def _outcome(arm: dict[str, Any]) -> dict[str, Any]:
    """`outcome`, `reason`, and `flags` for what was wrong with what arrived."""
    if arm["not_supported"]:
        return {"outcome": "not supported", "reason": arm["not_supported"], "flags": []}
    if arm["trials"]["done"]:
        failed, done = arm["trials"].get("failed", 0), arm["trials"]["done"]
        flags = [f"failed in {failed} of {fmt.counted(done + failed, 'trial')}"] if failed else []
        flags += _flags(arm["metrics"])
        return {
            "outcome": "degraded" if flags else "delivers",
            "reason": "; ".join(flags),
            "flags": flags,
        }
    failures = arm["trials"]["failures"]
    if not failures:
        return {"outcome": "not run", "reason": "", "flags": []}
    causes = [failure.get("cause") for failure in failures]
    outcome = causes[0] if causes[0] in ("no match", "no delivery") else "failed"
    return {
        "outcome": outcome,
        "reason": str(failures[0]["reason"] or "").partition("\n")[0],
        "flags": [],
    }


def _flags(metrics: dict[str, Any]) -> Iterator[str]:
    for name, words in _WRONG:
        value = metrics.get(name, {}).get("value")
        if value:
            amount = (
                f"{value * 100:.3g} %"
                if metrics[name].get("unit") == "fraction"
                else f"{value:.3g} per trial"
            )
            yield words.format(amount)


HEATS = 5
_HEAT_OF_RATIO = (1.25, 2.0, 4.0, 10.0)
"""Times the best pair's median at which a cell takes the next shade."""


def shown(workload: dict[str, Any]) -> list[tuple[str, list[Words | None]]]:
    """Rows of the matrix as every renderer has them: (talker, a cell for each listener or None
    where there is no such pair). A cell: `outcome`, `mark`, `words` (the median, or the outcome),
    `reason`, `arm`, and `heat` 0 (the best pair's median) to 4 (ten times it), empty where there is
    no median."""
    found, arms = workload["matrix"], {arm["arm"]: arm for arm in workload["arms"]}
    at = {(cell["talker"], cell["listener"]): cell for cell in found["cells"]}
    primary = {
        name: arm["metrics"].get(workload["primary_metric"], {}).get("value")
        for name, arm in arms.items()
    }
    medians = {
        place: primary[cell["arm"]]
        for place, cell in at.items()
        if cell["outcome"] in ("delivers", "degraded")
        and isinstance(primary[cell["arm"]], float | int)
    }
    best = min(medians.values(), default=0.0)
    rows: list[tuple[str, list[Words | None]]] = []
    for talker in found["talkers"]:
        row: list[Words | None] = []
        for listener in found["listeners"]:
            cell, median = at.get((talker, listener)), medians.get((talker, listener))
            if cell is None:
                row.append(None)
                continue
            value = fmt.metric(arms[cell["arm"]]["metrics"].get(workload["primary_metric"]))
            row.append(
                {
                    "outcome": cell["outcome"],
                    "mark": MARKS[cell["outcome"]],
                    "words": cell["outcome"] if median is None else value.text,
                    "reason": cell["reason"] or OUTCOMES[cell["outcome"]],
                    "arm": cell["arm"],
                    "heat": "" if median is None or not best else str(_heat(median / best)),
                }
            )
        rows.append((talker, row))
    return rows


def _heat(ratio: float) -> int:
    return sum(ratio >= edge for edge in _HEAT_OF_RATIO)
