"""A capacity search as one HTML file, in the frame of the report's page
(rmwbench/report/html.py)."""

from pathlib import Path
from typing import Any

from rmwbench.report import style as look
from rmwbench.report.capacity.charts import figures
from rmwbench.report.capacity.rows import LEFT, rows
from rmwbench.report.html import render_page
from rmwbench.results.calibration import calibration_line
from rmwbench.results.capacity import words
from rmwbench.whole_file import write_whole


def write_html(doc: dict[str, Any], path: Path | str) -> None:
    """Write the page of a capacity document (docs/formats/capacity.md) to `path`."""
    write_whole(path, render_html(doc))


def render_html(doc: dict[str, Any]) -> str:
    search = doc["search"]
    specs: list[dict[str, Any]] = []
    drawings = []
    for figure in figures(doc, phone=True):
        if figure.spec is not None:
            drawings.append({"figure": figure, "place": len(specs)})
            bare = [
                None if s is None else {k: v for k, v in s.items() if k != "datasets"}
                for s in _variants(figure)
            ]
            specs.append({"datasets": figure.spec["datasets"], "wide": bare[0], "narrow": bare[1]})
    styles = look.looks(doc["arms"])
    return render_page(
        "capacity.html.j2",
        specs,
        doc=doc,
        campaign=doc["campaign"],
        machine=doc["machine"],
        search=search,
        calibrated=calibration_line(doc["machine"]),
        question=words.question(search),
        glossary=doc["glossary"],
        arms=[_arm(arm, doc, styles[arm["arm"]]) for arm in doc["arms"]],
        drawings=drawings,
        card=" · ".join(card(doc)),
        left=LEFT,
        level=lambda value: words.level(value, search["unit"]),
        levels=f"{words.level(search['least'], search['unit'], search['title'])} to "
        f"{words.level(search['most'], search['unit'], search['title'])}, at most "
        f"{100 * search['resolution']:g} % apart",
    )


def card(doc: dict[str, Any]) -> list[str]:
    """The experiment card that travels with every picture."""
    campaign = doc["campaign"]
    return [
        f"{doc['search']['workload']} of suite {campaign['suite']} · "
        f"{doc['search']['limit']['text']} · {str(campaign['created_utc'])[:10]} · rmwbench "
        f"{campaign.get('tool_version', '')} · {campaign['name']}",
        str(doc["machine"]["summary"]),
    ]


def _variants(figure: Any) -> tuple[Any, Any]:
    return figure.spec, figure.narrow


def _arm(arm: dict[str, Any], doc: dict[str, Any], style: look.Look) -> dict[str, Any]:
    search, knee = doc["search"], arm["knee"]
    value = words.capacity(arm["capacity"], search["title"]).split(" [")[0]
    return {
        "of": arm,
        "look": style,
        "value": value,
        "interval": words.interval(arm["capacity"]),
        "knee": words.level(knee["value"], search["unit"]) if "value" in knee else "–",
        "why": words.beyond(arm),
        "rows": rows(arm, doc),
    }
