"""The table of a survey. The values of a column show whether it is a question on a scale, or the
user says so.

Only these columns and the one that groups people are kept; whatever else people wrote is not read
further. A scale is part of the result and is printed with it. (The evaluation of 2020 documented
one scale and applied another.)

A blank form has the questions of a middleware survey in our own words, as the header of a CSV and as
Markdown. A table filled under this header is read without any option but the grouping column.
"""

import csv
import io
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError, did_you_mean
from rmwbench.published.importers.data_source import Source, SourceFile, malformed
from rmwbench.published.importers.formats import survey as importer
from rmwbench.published.importers.sheet import parse_rows
from rmwbench.whole_file import make_directory, write_whole


@dataclass(frozen=True)
class Scale:
    """Levels from the lowest to the highest, as they are shown."""

    name: str
    levels: tuple[str, ...]

    def level(self, answer: str) -> int | None:
        """Return the answer's place from 0, None if it is not on this scale; case and spaces do not
        matter."""
        return {_key(text): place for place, text in enumerate(self.levels)}.get(_key(answer))


def _scale(name: str, levels: str) -> Scale:
    return Scale(name, tuple(levels.split(", ")))


AGREEMENT = _scale("agreement", "Strongly Disagree, Disagree, Neutral, Agree, Strongly Agree")
KNOWN = (
    AGREEMENT,
    _scale(
        "agreement of 7",
        "Strongly Disagree, Disagree, Somewhat Disagree, Neutral, Somewhat Agree, Agree, "
        "Strongly Agree",
    ),
    _scale(
        "agreement or neither",
        "Strongly Disagree, Disagree, Neither Agree nor Disagree, Agree, Strongly Agree",
    ),
    _scale("satisfaction", "Very Dissatisfied, Dissatisfied, Neutral, Satisfied, Very Satisfied"),
    _scale("frequency", "Never, Rarely, Sometimes, Often, Always"),
    _scale("quality", "Very Poor, Poor, Fair, Good, Excellent"),
)
NO_OPINIONS = frozenset(
    (
        *("", "no opinion / not applicable", "no opinion", "not applicable", "n/a", "na", "-"),
        *("don't know", "do not know", "no answer", "prefer not to say"),
    )
)


def is_no_opinion(answer: str) -> bool:
    """Whether an answer says that there is no opinion; such answers are counted and left out of
    every statistic."""
    return _key(answer) in NO_OPINIONS


def scale_of(answers: Iterable[str], scales: tuple[Scale, ...] = KNOWN) -> Scale | None:
    """Return the scale that these answers are on: the first that has most of them; None if none has
    half of the opinions. Words that occur in several scales (Neutral) do not decide."""
    opinions = [a for a in answers if not is_no_opinion(a)]
    if not opinions:
        return None
    fits = [
        (sum(s.level(a) is not None for a in opinions), -place, s) for place, s in enumerate(scales)
    ]
    most, _, best = max(fits, key=lambda fit: fit[:2])
    return best if 2 * most > len(opinions) else None


def parse_scale(text: str) -> Scale:
    """Return a scale as an option describes it: its levels from the lowest to the highest,
    separated by commas."""
    levels = tuple(part.strip() for part in text.split(","))
    if len(levels) < 2 or len({_key(level) for level in levels}) < len(levels) or not all(levels):
        raise UserError(
            "not a scale",
            where="--scale",
            expected="distinct levels, lowest first: Never,Rarely,Often",
            actual=text,
        )
    clash = next((level for level in levels if is_no_opinion(level)), None)
    if clash is not None:
        raise UserError("a level that means no opinion", where="--scale", actual=clash)
    return Scale("as told", levels)


def _key(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").split())


PUBLISHED = ("survey_mean", "survey_difference")
"""Figures of the evaluation of 2020."""
BRACKETS = re.compile(r".*\[(?P<text>[^\]]+)\]\s*", re.DOTALL)


@dataclass(frozen=True)
class SurveyQuestion:
    """`answers` are levels of the scale from 0, None for no opinion, one per person."""

    label: str
    text: str
    scale: Scale
    answers: tuple[int | None, ...]


@dataclass(frozen=True)
class Survey:
    where: str
    questions: list[SurveyQuestion]
    people: int
    group_by: str | None
    groups: tuple[str, ...]
    """The group of each person; empty without a grouping column."""
    other_columns: int
    """The number of columns that are neither: times, profiles, free text. They are not kept."""


def survey_file(path: Path) -> SourceFile:
    """Return the only file at a path. Raise UserError if it is a directory with several."""
    items = list(Source(path))
    if len(items) != 1:
        raise UserError(
            "one survey is one file",
            where=str(path),
            expected="a CSV file",
            actual=f"{len(items)} files",
        )
    return items[0]


def read(
    item: SourceFile,
    *,
    scale: Scale | None = None,
    columns: Sequence[str] = (),
    group_by: str | None = None,
) -> Survey:
    """Return the survey in a CSV file with a line of column names. `columns` (parts of their names)
    are the questions if given; otherwise every column whose answers are mostly on one scale. Raise
    UserError with file and line for anything else."""
    header, body = _table(item)
    scales = KNOWN if scale is None else (scale,)
    group = None if group_by is None else _column(item, header, group_by)
    named = [_column(item, header, name) for name in columns]
    questions: list[SurveyQuestion] = []
    for place in named or range(len(header)):
        values = [cells[place] for _, cells in body]
        own_scale = None if place == group else scale_of(values, scales)
        if own_scale is not None:
            answers = [(line, cells[place]) for line, cells in body]
            levels = _levels(item, header[place], own_scale, answers)
            label = f"Q{len(questions) + 1}"
            questions.append(SurveyQuestion(label, _name(header[place]), own_scale, levels))
        elif named and place != group and any(not is_no_opinion(v) for v in values):
            what = f"column {_name(header[place])!r} is on no scale that is known"
            raise malformed(f"{item.where}:1", what, _levels_text(scales), "other answers")
    if not questions:
        what = "no column has answers on a scale that is known"
        columns_here = f"{len(header)} columns; tell the scale with --scale LOWEST,…,HIGHEST"
        raise malformed(f"{item.where}:1", what, _levels_text(KNOWN), columns_here)
    return Survey(
        where=item.where,
        questions=questions,
        people=len(body),
        group_by=None if group is None else _name(header[group]),
        groups=() if group is None else tuple(cells[group].strip() for _, cells in body),
        other_columns=len(header) - len(questions) - (group is not None),
    )


def _levels_text(scales: Sequence[Scale]) -> str:
    return "; ".join(", ".join(s.levels) for s in scales)


def _table(item: SourceFile) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return (column names, each person's line and cells)."""
    lines = [
        (line, cells) for line, cells in parse_rows(item) if any(cell.strip() for cell in cells)
    ]
    if not lines:
        raise item.wrong("an empty file", "a line of column names and a row per person")
    (_, header), body = lines[0], lines[1:]
    for line, cells in body:
        if len(cells) != len(header):
            where, expected = f"{item.where}:{line}", f"{len(header)} cells"
            raise malformed(where, "a row of another length", expected, len(cells))
    if not body:
        raise item.wrong("no responses", "a row per person")
    return header, body


def _levels(
    item: SourceFile, name: str, scale: Scale, values: list[tuple[int, str]]
) -> tuple[int | None, ...]:
    """Return the level of each answer. An answer that is not on the column's scale is a mistake in
    the file; leaving it out would be one in the result."""
    out: list[int | None] = []
    for line, value in values:
        level = None if is_no_opinion(value) else scale.level(value)
        if level is None and not is_no_opinion(value):
            raise malformed(
                f"{item.where}:{line}",
                f"an unknown answer to {_name(name)!r}",
                ", ".join(scale.levels) + ", or no opinion",
                value[:40],
            )
        out.append(level)
    return tuple(out)


def _column(item: SourceFile, header: list[str], text: str) -> int:
    """Return the only column whose name is, or contains, what was asked for."""
    matches = [i for i, name in enumerate(header) if name.strip() == text]
    matches = matches or [i for i, name in enumerate(header) if text.lower() in name.lower()]
    if len(matches) == 1:
        return matches[0]
    raise UserError(
        "no such column" if not matches else f"{len(matches)} columns have that in their names",
        where=f"{item.where}:1",
        expected="the name of one column, or a part that no other has",
        actual=text,
        fix=did_you_mean(text, [_name(name) for name in header]),
    )


def _name(header: str) -> str:
    """Return what is asked: forms put the statement of a grid into [brackets] after the grid's
    title."""
    match = BRACKETS.fullmatch(header)
    return " ".join((match["text"] if match else header).split())


def published_figures(item: SourceFile, path: Path) -> list[dict[str, Any]] | None:
    """Return the points of the figures of the evaluation of 2020, as published and as corrected,
    from its importer; None if the file is another survey."""
    if not importer.recognises(item):
        return None
    from rmwbench.bundle import Bundle
    from rmwbench.published.importers import import_published

    with tempfile.TemporaryDirectory(prefix="rmwbench-survey-") as place:
        done = import_published(path, Path(place) / "bundle", "survey")
        rows = Bundle(done.directory).rows("figures")
    names = ("figure", "series", "x", "as_published", "as_corrected", "count", "note")
    return [{name: row[name] for name in names} for row in rows if row["figure"] in PUBLISHED]


PROFILE_COLUMNS = (
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
FREE_TEXTS = ("What would have to change for you to be content? (not shown in any evaluation)",)


def form_header() -> list[str]:
    return [
        "Timestamp",
        *(name for name, _ in PROFILE_COLUMNS),
        *(f"How far do you agree? [{text}]" for text in STATEMENTS),
        *FREE_TEXTS,
    ]


def write_form(directory: Path) -> tuple[Path, Path]:
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
    csv.writer(text, lineterminator="\n").writerow(form_header())
    write_whole(table, text.getvalue())
    write_whole(page, form_markdown())
    return table, page


def form_markdown() -> str:
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
        *(f"- **{name}** ({hint}):" for name, hint in PROFILE_COLUMNS),
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
        *(f"- {text}:" for text in FREE_TEXTS),
        "",
    ]
    return "\n".join(lines)
