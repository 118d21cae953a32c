"""The curve of an arm as rows of a table: one for terminal, page and Markdown.

A latency of a level whose queue grows reads `unstable`, never a number.
"""

from collections import Counter
from dataclasses import dataclass

from rmwbench.analysis.metrics.aggregate import FATES, LOSSES
from rmwbench.results.capacity import words
from rmwbench.results.capacity.model import Found, Level, Search
from rmwbench.results.model import Metric
from rmwbench.words import numbers as fmt

FEWEST_TRIALS = 3


CAUSE = "how it broke"
LEFT = ("limit", CAUSE)
"""Columns of words; all others are numbers."""


@dataclass(frozen=True)
class Row:
    """`verdict`: holds | mixed | fails | says nothing; `cells` by heading."""

    verdict: str
    cells: dict[str, str]


def rows(arm: Found, search: Search, *, brief: bool = False) -> list[Row]:
    """A row per level from the lowest to the highest; all have the same headings. `brief`: without
    intervals and without how it broke."""
    latencies = list(dict.fromkeys(search.curve))
    others = [condition.metric for condition in search.limit.conditions]
    known = arm.levels[0].metrics if arm.levels else {}
    names = [
        *latencies,
        *(m for m in others if m not in (*latencies, *LOSSES) and m in known),
    ]
    fates = [
        name
        for name in FATES
        if name == FATES.lost
        or any((found := one.metrics.get(name)) and found.value for one in arm.levels)
    ]
    return [_row(level, names, fates, search, brief) for level in arm.levels]


_FATE_TITLES = dict(zip(FATES, ("lost", "late", "never sent"), strict=True))


def _row(level: Level, metrics: list[str], fates: list[str], search: Search, brief: bool) -> Row:
    total = level.held + level.failed
    verdict = "mixed"
    if not total:
        verdict = "says nothing"
    elif not level.failed:
        verdict = "holds"
    elif not level.held:
        verdict = "fails"
    cells = {search.title: words.level(level.level, search.unit)}
    for name in metrics:
        shown = "unstable" if level.unstable else latency(level.metrics.get(name))
        cells[_title(name)] = shown.split(" [")[0] if brief else shown
    cells |= {_FATE_TITLES[name]: fmt.metric(level.metrics.get(name)).text for name in fates}
    cells["achieved"] = fmt.metric(level.metrics["achieved_rate"]).text
    cells["idle"] = "–" if level.idle is None else fmt.quantity(level.idle, "fraction")
    cells |= {"held": f"{level.held}/{total}", "limit": verdict} | (
        {} if brief else {CAUSE: cause(level)}
    )
    return Row(verdict, cells)


def latency(metric: Metric | None) -> str:
    """With its interval from three trials on; the t interval of two is a hundred times too wide to
    read."""
    shown = fmt.metric(metric)
    if shown.state == "never":
        return "never"
    if metric is None or shown.state != "measured" or (metric.trials or 0) < FEWEST_TRIALS:
        return shown.text
    return shown.full


def cause(level: Level) -> str:
    """How the level's failing trials broke: the middle one of the most frequent kind."""
    if not level.causes:
        return ""
    kinds = Counter(map(_stem, level.causes))
    stem = kinds.most_common(1)[0][0]
    alike = [text for text in level.causes if _stem(text) == stem]
    return alike[len(alike) // 2]


def _stem(text: str) -> str:
    return "".join(c for c in text if not c.isdigit() and c not in ".%")[:24]


def _title(metric: str) -> str:
    stem, _, percentile = metric.rpartition("_")
    return (
        f"{percentile} {stem.removesuffix('_latency').replace('_', ' ')}"
        if percentile.startswith("p")
        else metric
    )
