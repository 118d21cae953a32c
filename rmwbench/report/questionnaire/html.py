"""The questionnaire as one HTML file without any script, readable on a phone and on paper."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rmwbench.report.questionnaire.document import STATES


def write_html(document: dict[str, Any], path: Path | str) -> None:
    """Writes the page to `path`, one file of some 100 kB."""
    partial = Path(f"{path}.partial")
    partial.write_text(render(document), encoding="utf-8")
    partial.replace(path)


def render(document: dict[str, Any]) -> str:
    """The page as text; whatever others wrote is escaped."""
    environment = Environment(
        loader=PackageLoader("rmwbench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (files("rmwbench.report") / "templates" / "questionnaire.css").read_text(encoding="utf-8")
    template = environment.get_template("questionnaire.html.j2")
    return template.render(doc=document, states=STATES, style=Markup(style))
