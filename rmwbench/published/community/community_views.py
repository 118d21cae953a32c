"""The view of a document that a verb of `rmwbench published community` printed with `--json`,
whichever verb it was. Some documents are shipped, because they are about public things and were
read on a day that they name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_input
from rmwbench.published.community import admission
from rmwbench.published.community import survey_view as survey
from rmwbench.published.community.github import engagement_view as github
from rmwbench.published.community.github.engagement import Engagement
from rmwbench.published.community.rep2004 import side_by_side as rep2004
from rmwbench.published.community.survey_analysis import SurveyResult
from rmwbench.report.view import Text, View

VIEWS: Mapping[str, tuple[type, Callable[[Any], View]]] = {
    "rmwbench/community-github": (Engagement, partial(github.view, months=False)),
    "rmwbench/community-rep2004": (
        rep2004.ComparedDeclarations,
        partial(rep2004.view, evidence=False),
    ),
    "rmwbench/community-survey": (SurveyResult, survey.view),
    "rmwbench/community-admission": (admission.Admission, admission.view),
}
"""What the document is read as, and its view, by its schema."""
SHIPPED = Path(__file__).parent / "shipped"


def shipped(name: str) -> Path | None:
    """Return the shipped document of `rmwbench published community NAME`; None if there is none."""
    path = SHIPPED / f"{name}.json"
    return path if path.is_file() else None


def replaceable(view: View, command: str, kept_as: Path) -> View:
    """Return the view of a shipped document with a note that says so, and which command's output in
    which file replaces it."""
    note = (
        f"Shipped with rmwbench, as of the dates named. What `{command}` prints stands here "
        f"instead as {kept_as}."
    )
    return replace(view, about=[*view.about, Text(note)])


def view_of(path: Path) -> View:
    """Return the view of a document. Raise UserError if the file is not such a document."""
    try:
        document = parse_json(read_input(path))
        kind, view = VIEWS[document["schema"]]
        return view(TypeAdapter(kind).validate_python(document))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(
            "this is not a document of `rmwbench published community … --json`",
            where=str(path),
            expected="a schema of " + ", ".join(VIEWS),
            actual=str(error) or type(error).__name__,
            fix="make it anew with the verb, or take it out of the directory",
        ) from None
