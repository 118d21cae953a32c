"""A blank form: the questions of a middleware survey in our own words, as the header of a CSV and
as Markdown.

The same verb reads a table filled under this header, without any option but the grouping column.
"""

import csv
import io
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.published.community.survey.answers_file import AGREEMENT
from rmwbench.whole_file import make_directory, write_whole

PROFILE = (
    ("ROS 2 distribution", "the one you use most"),
    ("Kind of robot or application", "in a few words that do not name you or your employer"),
    (
        "Middleware",
        "the one you use most, for example rmw_zenoh_cpp; the statements below are about it",
    ),
    ("Chosen by", "the distribution's default, or a choice of your own"),
    ("Networks", "same machine, cable, WiFi, cellular, several"),
    ("Nodes", "about how many run at once"),
)
STATEMENTS = (
    "It worked for my application without any configuration",
    "I know which middleware my system uses and what that means",
    "I could change to another middleware with little effort",
    "I have considered changing, or would",
    "Those who publish ROS 2 tell me enough to choose a middleware",
    "When I ask its developers, I get help",
    "Its documentation answers my questions",
    "It has the tools that I need to find out what goes wrong",
    "It has the features that my application needs",
    "It is fast enough for my application",
    "Its cost in processor and memory is acceptable",
    "It copes with the networks that my robots really have",
    "Problems with it made me change, or want to",
    "It works together with other middlewares as far as I need that",
    "It is robust enough for a product",
    "Its security is good enough for my application",
    "It should be the default",
    "I would recommend it to a colleague who starts today",
    "ROS 2 is better off with exchangeable middlewares",
)
NO_OPINION = "No opinion / not applicable"
FREE = ("What would have to change for you to be content? (not shown in any evaluation)",)


def header() -> list[str]:
    return [
        "Timestamp",
        *(name for name, _ in PROFILE),
        *(f"How far do you agree? [{text}]" for text in STATEMENTS),
        *FREE,
    ]


def write(directory: Path) -> tuple[Path, Path]:
    """Write `survey.csv` (its header) and `survey.md`. Raise UserError rather than overwrite
    answers."""
    make_directory(directory)
    table, page = directory / "survey.csv", directory / "survey.md"
    for path in (table, page):
        if path.exists():
            raise UserError(
                "there is a form already, perhaps with answers",
                where=str(path),
                fix="another directory",
            )
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(header())
    write_whole(table, text.getvalue())
    write_whole(page, markdown())
    return table, page


def markdown() -> str:
    """Return the form to print or to copy into a form service."""
    lines = [
        "# A survey on robot middleware",
        "",
        "Answers are evaluated as counts, medians and tests of order; groups of fewer than five "
        "people are not shown,",
        "and free text never is.",
        "",
        "## About your system",
        "",
        *(f"- **{name}** ({hint}):" for name, hint in PROFILE),
        "",
        "## How far do you agree?",
        "",
        f"| | {' | '.join(AGREEMENT.levels)} | {NO_OPINION} |",
        "|---" * (len(AGREEMENT.levels) + 2) + "|",
        *(
            f"| {n}. {text} |" + " ☐ |" * (len(AGREEMENT.levels) + 1)
            for n, text in enumerate(STATEMENTS, start=1)
        ),
        "",
        "## In your words",
        "",
        *(f"- {text}:" for text in FREE),
        "",
    ]
    return "\n".join(lines)
