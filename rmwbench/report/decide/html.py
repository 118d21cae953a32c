"""A decision as one HTML file without any script: the answer, why, the front as a picture, flip
points, worth."""

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.report.chart.drawing import svg_of
from rmwbench.report.decide import charts
from rmwbench.report.decide.terminal import standing
from rmwbench.report.page import asset, environment
from rmwbench.results.decide import words
from rmwbench.results.decide.model import Decided, Front, Machine
from rmwbench.whole_file import write_whole


def write_html(found: Decided, path: Path | str) -> None:
    write_whole(path, render_html(found))


def render_html(found: Decided) -> str:
    return (
        environment()
        .get_template("decide.html.j2")
        .render(
            doc=found,
            drawn=_drawn,
            words=words,
            standing=standing,
            title=lambda metric: GLOSSARY[metric].title,
            style=Markup(asset("page.css") + asset("compare.css") + asset("decide.css")),
        )
    )


@dataclass(frozen=True)
class Drawn:
    """A picture on a light and on a dark page."""

    light: Markup
    dark: Markup


def _drawn(front: Front, machine: Machine) -> Drawn | None:
    """None where nothing can be placed."""
    spec = charts.front(front, machine)
    if spec is None:
        return None
    return Drawn(Markup(svg_of(spec)), Markup(svg_of(charts.to_dark(spec))))
