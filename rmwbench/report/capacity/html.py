"""A capacity search as one HTML file, in the frame of the report's page
(rmwbench/report/html.py)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmwbench.report.capacity.charts import figures
from rmwbench.report.capacity.rows import LEFT, Row, rows
from rmwbench.report.chart import style as look
from rmwbench.report.chart.captioned import Figure
from rmwbench.report.page import render_page
from rmwbench.results.capacity import words
from rmwbench.results.capacity.model import Arm, Search, Searched
from rmwbench.results.machine.calibration import calibration_line
from rmwbench.whole_file import write_whole


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure, and the place of its specification."""

    figure: Figure
    place: int


@dataclass(frozen=True, kw_only=True)
class ShownArm:
    """An arm with its texts."""

    of: Arm
    look: look.Look
    value: str
    interval: str
    knee: str
    why: str
    rows: list[Row]


def write_html(found: Searched, path: Path | str) -> None:
    write_whole(path, render_html(found))


def render_html(found: Searched) -> str:
    search = found.search
    specs: list[dict[str, Any]] = []
    drawings = []
    for figure in figures(found, phone=True):
        if figure.spec is not None:
            drawings.append(Drawing(figure=figure, place=len(specs)))
            bare = [
                None if s is None else {k: v for k, v in s.items() if k != "datasets"}
                for s in (figure.spec, figure.narrow)
            ]
            specs.append({"datasets": figure.spec["datasets"], "wide": bare[0], "narrow": bare[1]})
    styles = look.looks(found.arms)
    return render_page(
        "capacity.html.j2",
        specs,
        doc=found,
        campaign=found.campaign,
        machine=found.machine,
        search=search,
        calibrated=calibration_line(found.machine),
        question=words.question(search),
        glossary=found.glossary,
        arms=[_arm(arm, search, styles[arm.arm]) for arm in found.arms],
        drawings=drawings,
        card=" · ".join(card(found)),
        left=LEFT,
        level=lambda value: words.level(value, search.unit),
        levels=f"{words.level(search.least, search.unit, search.title)} to "
        f"{words.level(search.most, search.unit, search.title)}, at most "
        f"{100 * search.resolution:g} % apart",
    )


def card(found: Searched) -> list[str]:
    """The experiment card that travels with every picture."""
    campaign = found.campaign
    return [
        f"{found.search.workload} of suite {campaign.suite} · {found.search.limit.text} · "
        f"{str(campaign.created_utc)[:10]} · rmwbench {campaign.tool_version or ''} · "
        f"{campaign.name}",
        found.machine.summary,
    ]


def _arm(arm: Arm, search: Search, style: look.Look) -> ShownArm:
    return ShownArm(
        of=arm,
        look=style,
        value=words.capacity(arm.capacity, search.title).split(" [")[0],
        interval=words.interval(arm.capacity),
        knee=words.knee(arm, search.unit),
        why=words.beyond(arm),
        rows=rows(arm, search),
    )
