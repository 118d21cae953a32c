"""A decision as one HTML file without any script: the answer, why, and flip points."""

from pathlib import Path

from markupsafe import Markup

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.report.page import asset, environment
from rmwbench.results.decide import words
from rmwbench.results.decide.model import Decided
from rmwbench.whole_file import write_whole


def write_html(found: Decided, path: Path | str) -> None:
    write_whole(path, render_html(found))


def render_html(found: Decided) -> str:
    return (
        environment()
        .get_template("decide.html.j2")
        .render(
            doc=found,
            words=words,
            title=lambda metric: GLOSSARY[metric].title,
            style=Markup(asset("page.css") + asset("compare.css") + asset("decide.css")),
        )
    )
