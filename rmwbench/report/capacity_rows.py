"""The curve of an arm as rows of a table: one for terminal, page and Markdown.

A latency of a level whose queue grows reads `unstable`, never a number.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from rmwbench.report import capacity_words as words
from rmwbench.report import format as fmt

FEWEST_TRIALS = 3


@dataclass(frozen=True)
class Row:
    """`verdict`: holds | mixed | fails | says nothing; `cells` in the order of the headings."""

    verdict: str
    cells: list[str]


def rows(arm: dict[str, Any], doc: dict[str, Any]) -> tuple[list[str], list[Row]]:
    """(headings, rows) from the lowest level to the highest."""
    search = doc["search"]
    latencies = list(dict.fromkeys(search["curve"]))
    others = [
        c["metric"]
        for c in search["limit"]["conditions"]
        if c["metric"] not in (*latencies, "loss") and c["metric"] in arm["levels"][0]["metrics"]
    ]
    headings = [search["title"]]
    headings += [_title(name) for name in (*latencies, *others)]
    headings += ["lost", "achieved", "idle", "held", "limit", "how it broke"]
    return headings, [_row(level, [*latencies, *others], search) for level in arm["levels"]]


def _row(level: dict[str, Any], metrics: list[str], search: dict[str, Any]) -> Row:
    total = level["held"] + level["failed"]
    verdict = (
        "says nothing" if not total else "holds" if not level["failed"] else "fails" if not level["held"] else "mixed"
    )
    cells = [words.level(level["level"], search["unit"])]
    for name in metrics:
        cells.append("unstable" if level["unstable"] else latency(level["metrics"].get(name)))
    cells.append(fmt.metric(level["metrics"]["loss"]).text)
    cells.append(fmt.metric(level["metrics"]["achieved_rate"]).text)
    cells.append("–" if level["idle"] is None else fmt.quantity(float(level["idle"]), "fraction"))
    cells += [f"{level['held']}/{total}", verdict, cause(level)]
    return Row(verdict, cells)


def latency(metric: dict[str, Any] | None) -> str:
    """With its interval from three trials on; the t interval of two is a hundred times too wide to read."""
    shown = fmt.metric(metric)
    if shown.state == "never":
        return "never"
    if shown.state != "measured" or (metric or {}).get("trials", 0) < FEWEST_TRIALS:
        return shown.text
    return shown.full


def cause(level: dict[str, Any]) -> str:
    """How the level's failing trials broke: the middle one of the most frequent kind."""
    if not level["causes"]:
        return ""
    kinds = Counter(_stem(c) for c in level["causes"])
    stem = kinds.most_common(1)[0][0]
    alike = [c for c in level["causes"] if _stem(c) == stem]
    return alike[len(alike) // 2]


def _stem(text: str) -> str:
    return "".join(c for c in text if not c.isdigit() and c not in ".%")[:24]


def _title(metric: str) -> str:
    stem, _, percentile = metric.rpartition("_")
    return f"{percentile} {stem.removesuffix('_latency').replace('_', ' ')}" if percentile.startswith("p") else metric
