"""The questionnaire as one HTML file without any script, readable on a phone and on paper."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from rmwbench.evaluations.questionnaire.document import STATES
from rmwbench.report.page import asset, environment
from rmwbench.whole_file import write_whole


def write_html(document: dict[str, Any], path: Path | str) -> None:
    """Writes the page to `path`, one file of some 100 kB."""
    write_whole(path, render(document))


def render(document: dict[str, Any]) -> str:
    """The page as text; whatever others wrote is escaped."""
    made = environment()
    style = asset("questionnaire.css")
    template = made.get_template("questionnaire.html.j2")
    return template.render(doc=document, states=STATES, style=Markup(style))
