"""The survey's result as sections for page and terminal. Its chart has answers as bars around a
zero line: disagreement to the left, agreement to the right, the middle level on both sides."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from rmwbench.published.community.survey_analysis import (
    AnsweredQuestion,
    GroupAnswers,
    GroupComparison,
    SurveyResult,
)
from rmwbench.report.chart import frame
from rmwbench.report.chart.frame import TEXT
from rmwbench.report.chart.style import PARTS, Spec
from rmwbench.report.view import Head, Picture, Section, Table, Text, View, panel
from rmwbench.words import numbers as fmt

_SHADES = ("publisher", "schedule", "reader", "machine", "udp", "way", "process")
"""From the lowest level to the highest; further colours of a page look like one of these."""
_ROW = 22


def answers(survey: SurveyResult, scale: str) -> Spec | None:
    """Return a chart of the questions on one scale, with a panel per question and a bar per group.
    None if the scale has more levels than there are shades to tell them apart."""
    levels = list(survey.scales[scale])
    if len(levels) > len(_SHADES):
        return None
    rows = [row for q in survey.questions if q.scale == scale for row in _rows(q, levels)]
    step = (len(_SHADES) - 1) / (len(levels) - 1)
    colours = [PARTS[_SHADES[int(place * step + 0.5)]][0] for place in range(len(levels))]
    order = list(dict.fromkeys(row["row"] for row in rows))
    chart = (
        alt.Chart(frame.ROWS)
        .mark_bar(height=14)
        .encode(
            x=alt.X(
                "low:Q",
                axis=frame.axis(
                    title=None, labelExpr="format(abs(datum.value), '.0%')", tickCount=7
                ),
            ),
            x2=alt.X2("high:Q"),
            y=alt.Y(
                "row:N",
                sort=order,
                axis=alt.Axis(title=None, labelLimit=260, labelColor=TEXT, ticks=False),
            ),
            color=alt.Color(
                "level:N",
                scale=alt.Scale(domain=levels, range=colours),
                legend=alt.Legend(orient="top", title=None, labelColor=TEXT, columns=3),
            ),
            tooltip=[
                alt.Tooltip("question:N"),
                alt.Tooltip("level:N"),
                alt.Tooltip("count:Q"),
                alt.Tooltip("share:Q", format=".0%"),
            ],
        )
    )
    return frame.finish(chart, height=_ROW * max(1, len(order)), rows=rows)


def _rows(question: AnsweredQuestion, levels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each group and level: which part of the group's bar it is."""
    for group, answers in question.groups.items():
        if not answers.count:
            continue
        shares = [n / answers.count for n in answers.counts]
        half = len(levels) // 2
        at = -(sum(shares[:half]) + (shares[half] / 2 if len(levels) % 2 else 0))
        for place, share in enumerate(shares):
            yield {
                "row": f"{question.label} {group}",
                "question": question.text,
                "level": levels[place],
                "low": at,
                "high": at + share,
                "share": share,
                "count": answers.counts[place],
            }
            at += share


READING = (
    "Answers are compared by order alone; there are no means. Those without an opinion are left "
    "out.",
    "Cliff's delta: the probability that an answer of the first group is above one of the second, "
    "minus the probability that it is below.",
    "p is corrected for the number of questions (Holm): any false alarm among all of them has a "
    "chance of 5 % at most.",
    "People chose to answer, and chose their middleware: groups differ in more than that.",
)


def view(survey: SurveyResult, *, draw: bool = False) -> View:
    """Return the view; `draw` also makes the charts."""
    columns: list[Head] = [
        "",
        "question",
        "group",
        ("n", True),
        "median [95 %]",
        ("above the middle", True),
    ]
    rows = []
    for question in survey.questions:
        for place, name in enumerate(survey.groups):
            start = ["", ""] if place else [question.label, question.text]
            rows.append([*start, name, *_cells(question.groups[name])])
    scales = survey.scales
    reading = "Shares of the people with an opinion; those who agree are right of the zero line."
    drawn, text = [], []
    for scale in scales if draw else ():
        if spec := answers(survey, scale):
            of = scale if len(scales) > 1 else ""
            drawn.append(Picture("answers", "Answers", reading, spec, of=of))
        else:
            text.append(f"There is no picture of scale {scale}: it has too many levels for one.")
    sections = [panel("Answers", text, Table(columns, rows), drawn)]
    if survey.comparison:
        sections.append(_comparison(survey.comparison, survey.questions))
    if survey.published:
        sections.append(_published_section(survey.published))
    sections.append(panel("How to read it", READING, listed=True))
    return View(
        title="Survey",
        about=[*map(Text, _lead_sentences(survey))],
        sections=sections,
        card=[f"{_people(survey)} · {fmt.counted(len(survey.questions), 'question')}"],
    )


def _people(survey: SurveyResult) -> str:
    return fmt.counted(survey.people, "person", "people")


def _lead_sentences(survey: SurveyResult) -> Iterator[str]:
    groups = f"; groups by {survey.group_by!r}" if survey.group_by else ""
    yield f"{_people(survey)}, {fmt.counted(len(survey.questions), 'question')} on a scale{groups}"
    for name, levels in survey.scales.items():
        yield f"Scale {name}, lowest first: {', '.join(levels)}"
    rest = survey.not_shown
    columns = fmt.counted(rest.columns, "other column")
    yield f"{columns} {'is' if rest.columns == 1 else 'are'} not shown ({rest.reason})."


def _cells(answers: GroupAnswers) -> list[str]:
    median, share = answers.median, answers.upper_half
    if median is None or share is None:
        return [str(answers.count), f"no data: {answers.no_data}", "–"]
    ends = median.low if median.low == median.high else f"{median.low} – {median.high}"
    percent = f"{100 * share.value:.0f} % [{100 * share.low:.0f}–{100 * share.high:.0f}]"
    return [str(answers.count), f"{median.value} [{ends}]", percent]


def _comparison(comparison: GroupComparison, questions: Sequence[AnsweredQuestion]) -> Section:
    texts = {question.label: question.text for question in questions}
    first, second = comparison.groups
    rows = []
    for row in comparison.of:
        start = [row.label, texts[row.label], *map(str, row.counts)]
        delta = row.delta
        if delta is None:
            rows.append([*start, f"no data: {row.no_data}", "–", "–", "–"])
            continue
        interval = f"{delta.value:+.2f} [{delta.low:+.2f} to {delta.high:+.2f}]"
        rows.append([*start, interval, f"{row.p:.2g}", f"{row.p_holm:.2g}", str(row.verdict)])
    decided = sum(row.verdict in ("higher", "lower") for row in comparison.of)
    alone = sum(row.p is not None and row.p < comparison.alpha for row in comparison.of)
    methods = sorted({row.method for row in comparison.of if row.method})
    tested = fmt.counted(comparison.questions_tested, "question")
    text = f"Different after correction: {decided} of {tested} ({alone} before it)."
    if methods:
        text += f" Test: Mann-Whitney, two-sided, {' or '.join(methods)}."
    columns = (
        *("", "question", (f"n {first}", True), (f"n {second}", True)),
        *("Cliff's delta [95 %]", ("p", True), ("p corrected", True), first),
    )
    return panel(f"{first} against {second}", [text], Table(columns, rows))


def _published_section(points: Sequence[Mapping[str, Any]]) -> Section:
    means = [p for p in points if p["figure"] == "survey_mean"]
    differences = [p for p in points if p["figure"] == "survey_difference"]
    flips = [p["x"] for p in differences if p["as_published"] * p["as_corrected"] < 0]
    rows = [
        [p["x"], p["series"], str(p["count"]), _mean(p["as_published"]), _mean(p["as_corrected"])]
        for p in means
        if p["series"] != "All"
    ]
    columns = ("", "group", ("n", True), ("mean as published", True), ("as documented", True))
    text = [
        "This is the survey of 2020. Its figure has means, scored Agree 5, Strongly Agree 4, "
        "Neutral 3, Strongly Disagree 2, Disagree 1, and not the scale that its text documents.",
        "Scored as documented, the difference changes its sign on "
        f"{', '.join(flips) or 'no question'}.",
    ]
    return panel("The published figure", text, Table(columns, rows))


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
