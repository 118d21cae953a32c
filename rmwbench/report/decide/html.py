"""A decision as one HTML file without any script: the answer, why, the front as a picture, flip
points, worth."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.report.decide import charts
from rmwbench.report.decide.terminal import standing
from rmwbench.report.drawing import svg_of
from rmwbench.report.page import asset, environment
from rmwbench.results.decide import words
from rmwbench.whole_file import write_whole
from rmwbench.words import numbers as fmt


def write_html(doc: dict[str, Any], path: Path | str) -> None:
    """Writes the page of a decide document (docs/formats/decide.md)."""
    write_whole(path, render_html(doc))


def render_html(doc: dict[str, Any]) -> str:
    machines = [
        {
            "of": machine,
            "fronts": [
                {"of": front, "drawn": _drawn(front, machine)} for front in machine["front"]
            ],
        }
        for machine in doc["machines"]
    ]
    return (
        environment()
        .get_template("decide.html.j2")
        .render(
            doc=doc,
            machines=machines,
            words=words,
            standing=standing,
            shown=lambda value: fmt.metric(value or {"no_data": ""}).full,
            title=lambda metric: GLOSSARY[metric].title,
            style=Markup(asset("page.css") + asset("compare.css") + asset("decide.css")),
        )
    )


def _drawn(front: dict[str, Any], machine: dict[str, Any]) -> dict[str, Markup] | None:
    """The picture on a light and on a dark page; None where nothing can be placed."""
    spec = charts.front(front, machine)
    if spec is None:
        return None
    return {"light": Markup(svg_of(spec)), "dark": Markup(svg_of(charts.to_dark(spec)))}
