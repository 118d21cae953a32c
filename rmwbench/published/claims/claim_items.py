"""What a page shows of claims: the ledger's entries with links to the evidence, and the answer as a
small picture.

This module computes the numbers of an SVG, and the template draws it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.claims.amounts import bar_text, side_title, side_unit, value_unit
from rmwbench.published.claims.claims_file import Claims, ClaimTest, load
from rmwbench.published.claims.claims_ledger import (
    DATA_VERDICTS,
    STATES,
    JudgedClaim,
    SourceLedger,
    ledger,
)
from rmwbench.published.claims.judging.campaign_answers import CellAnswer, MeasuredAnswer
from rmwbench.published.claims.judging.decision_rules import bar_of
from rmwbench.published.claims.sentences import experiment, levels
from rmwbench.published.sources import sources_about
from rmwbench.suite.file.suite_files import CLAIMS_FILE
from rmwbench.suite.predicate import RANGES
from rmwbench.words import numbers as fmt

READING = (
    "The picture shows left ÷ right (or the value) with the interval that decides (of 98 % for the "
    "first campaign of a machine, and of more for later ones) on a logarithmic axis, with the bar in "
    "its middle; a difference, and what is compared with 0, has a linear axis. The claimed side is "
    "shaded. A proxy tells what holds here for another version or another layer than the claim's, "
    "and refutes nothing."
)
Link = Callable[[str, str, str, str], str | None]
"""(campaign, workload, arm, metric) -> the link to its evidence."""


def of_campaign(campaign: MeasuredCampaign) -> list[dict[str, Any]]:
    """Return what the shipped claims say about a campaign's suite. Only claims files are read."""
    sources = ledger(_claims_about(str(campaign.suite)), [campaign]).sources
    link = links_within(campaign)
    return [item(source, x, link) for source in sources for x in source.claims if x.measured]


@lru_cache(maxsize=8)
def _claims_about(suite: str) -> list[Claims]:
    return [load(name) for name in sources_about(suite, CLAIMS_FILE)]


def links_within(campaign: MeasuredCampaign) -> Link:
    """Return links within the report of this campaign (rmwbench/report/show numbers workloads and
    arms)."""
    places = {
        (workload.workload, arm.arm): (f"{number}-{place}", arm.metrics)
        for number, workload in enumerate(campaign.workloads)
        for place, arm in enumerate(workload.arms)
    }

    def link(campaign: str, workload: str, arm: str, metric: str) -> str | None:
        key, metrics = places.get((workload, arm), (None, {}))
        return f"#m-{key}-{metric}" if metric in metrics else None

    return link


def state_counts(states: Iterable[str]) -> dict[str, int]:
    """Return state -> number of claims in it, without zeros."""
    names = list(states)
    return {name: n for name in STATES if (n := names.count(name))}


def choices(items: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return what a page's filter offers: the states, verdicts and sources that some of its claims
    have."""
    data = {name for item in items for name in item["data"]}
    return {
        "state": [
            *state_counts(entry["state"] for entry in items),
            *(["proxy"] if any(item["proxy"] for item in items) else []),
        ],
        "data": [name for name in DATA_VERDICTS if name in data],
        "source": list(dict.fromkeys(item["source"] for item in items)),
    }


def item(source: SourceLedger, judged: JudgedClaim, link: Link) -> dict[str, Any]:
    """Return a claim as the templates show it."""
    claim = judged.claim
    return {
        "of": claim,
        "source": source.title,
        "state": judged.state,
        "proxy": judged.is_proxy,
        "data": [judgement.verdict for _, judgement in claim.judgements],
        "run": source.run,
        "experiment": None if claim.kind == "opinion" else experiment(claim),
        "measured": [_measured_answer(claim.tests, measured, link) for measured in judged.measured],
    }


def _measured_answer(
    tests: Sequence[ClaimTest], measured: MeasuredAnswer, link: Link
) -> dict[str, Any]:
    evidence = []
    for cell in measured.cells:
        test = tests[cell.part]
        for side, metric in zip(cell.sides, (test.metric, test.metric_of_right), strict=False):
            # Only the trials of whole workloads are in a report; those of a topic stand here.
            href = None if side.topic else link(measured.campaign, side.workload, side.arm, metric)
            evidence.append({"arm": side.arm, "workload": side.place, "href": href})
    by_place = {(row["workload"], row["arm"]): row for row in evidence}
    is_linked = any(row["href"] for row in evidence)
    return {
        "of": measured,
        "seen": measured.seen(),
        "text": measured.text(),
        "pictures": [
            drawing
            for part, test in enumerate(tests)
            if (drawing := picture(test, [cell for cell in measured.cells if cell.part == part]))
        ],
        "evidence": list(by_place.values()),
        "trials": []
        if is_linked
        else list(filter(None, (_trials(tests[cell.part], cell) for cell in measured.cells))),
    }


def _trials(test: ClaimTest, cell: CellAnswer) -> dict[str, Any] | None:
    """Return the values of a cell's trials: a row for each block, a column for each side. None if
    there are none."""
    metrics = (test.metric, test.metric_of_right)[: len(cell.sides)]
    values = [
        {
            block: "never arrived"
            if math.isinf(value) and not test.base_at
            else fmt.quantity(value, side_unit(test, metric))
            for block, value in side.trials
        }
        for side, metric in zip(cell.sides, metrics, strict=True)
    ]
    blocks = sorted(set().union(*values))
    if not blocks:
        return None
    titles = [side_title(test, metric) for metric in dict.fromkeys(metrics)]
    differ = len({side.place for side in cell.sides}) > 1
    heads = [f"{side.arm}, {side.place}" if differ else side.arm for side in cell.sides]
    if len(titles) > 1:
        heads = [f"{head}: {title}" for head, title in zip(heads, titles, strict=True)]
    return {
        "title": cell.workload,
        "metric": " and ".join(titles) + (f" ÷ its own{levels(test.base_at)}" * bool(test.base_at)),
        "heads": heads,
        "rows": [(block + 1, [x.get(block, "–") for x in values]) for block in blocks],
    }


WIDTH, ROW, TOP, FOOT = 220, 14, 4, 15
MOST_ROWS = 8
"""The most cells that are drawn; the text has the others."""
NARROWEST, WIDEST = math.log(1.5), math.log(1000.0)
"""Half of the axis, as the logarithm of a ratio to the bar."""
Place = Callable[[float], float]
"""A value -> x."""
EDGE = 6
"""A value beyond the axis ends in an arrow within this margin."""


def picture(test: ClaimTest, cells: Sequence[CellAnswer]) -> dict[str, Any] | None:
    """Return the drawing of the `cells` of one test; None if no cell has an interval."""
    shown = [cell for cell in cells if cell.low is not None and cell.high is not None][:MOST_ROWS]
    bar = bar_of(test)
    if not shown:
        return None
    if test.by != "difference" and bar > 0:
        place = _logarithmic(bar, shown, test)
    elif test.by == "ratio" and not bar:
        place = _linear_axis(shown)
    else:
        place = _both_sides(_bars(test, bar), shown)
    bottom = TOP + ROW * len(shown)
    return {
        "width": WIDTH,
        "height": bottom + FOOT,
        "bottom": bottom,
        "shade": _shade(test, bar, place),
        "bars": [(place(value), bar_text(value, value_unit(test))) for value in _bars(test, bar)],
        "rows": [_row(cell, place, TOP + ROW * n + ROW / 2) for n, cell in enumerate(shown)],
    }


def _logarithmic(bar: float, cells: Sequence[CellAnswer], test: ClaimTest) -> Place:
    spread = [abs(math.log(x / bar)) for cell in cells for x in _ends(cell) if 0 < x < math.inf]
    factor = abs(math.log(test.factor)) * 1.6 if test.relation in RANGES else 0.0
    half = min(WIDEST, max(NARROWEST, factor, *(1.15 * x for x in spread), 0.0))

    def place(x: float) -> float:
        if x <= 0 or math.isinf(x):
            return 0.0 if x <= 0 else WIDTH
        return WIDTH / 2 + (WIDTH / 2 - EDGE) * max(-1.1, min(1.1, math.log(x / bar) / half))

    return place


def _linear_axis(cells: Sequence[CellAnswer]) -> Place:
    """Return an axis that begins at 0, since there are no ratios to a bar of 0."""
    largest = max((x for cell in cells for x in _ends(cell) if math.isfinite(x)), default=0.0)
    return lambda x: (
        WIDTH if x == math.inf else EDGE + (WIDTH - 2 * EDGE) * (x / largest if largest else 0.0)
    )


def _both_sides(bars: Sequence[float], cells: Sequence[CellAnswer]) -> Place:
    """Return an axis with 0 in the middle that reaches equally far to both sides."""
    ends = (x for cell in cells for x in _ends(cell) if math.isfinite(x))
    half = max(map(abs, (*bars, *ends))) or 1.0
    return lambda x: WIDTH / 2 + (WIDTH / 2 - EDGE) * x / half


def _ends(cell: CellAnswer) -> tuple[float, float, float]:
    """Return low, value and high; NaN for an absent number."""
    low, value, high = (math.nan if x is None else x for x in (cell.low, cell.value, cell.high))
    return low, value, high


def _bars(test: ClaimTest, bar: float) -> list[float]:
    return sorted((bar / test.factor, bar * test.factor)) if test.relation in RANGES else [bar]


def _shade(test: ClaimTest, bar: float, place: Place) -> tuple[float, float]:
    """Return x and width of the claimed side."""
    if test.relation in RANGES:  # for `differs`, too, the middle is shaded: what the claim denies
        low, high = (place(value) for value in _bars(test, bar))
        return low, high - low
    return (0.0, place(bar)) if test.relation == "less" else (place(bar), WIDTH - place(bar))


def _row(cell: CellAnswer, place: Place, y: float) -> dict[str, Any]:
    low, value, high = _ends(cell)
    return {
        "y": y,
        "low": _within_edge(place(low)),
        "high": _within_edge(place(high)),
        "value": None if math.isnan(value) else _within_edge(place(value)),
        "open_left": place(low) < EDGE / 2,
        "open_right": place(high) > WIDTH - EDGE / 2,
        "answer": cell.answer,
        "title": cell.workload,
    }


def _within_edge(x: float) -> float:
    return max(EDGE / 2, min(WIDTH - EDGE / 2, x))
