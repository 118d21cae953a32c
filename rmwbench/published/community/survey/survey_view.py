"""The survey document as sections for page and terminal."""

from collections.abc import Iterator
from typing import Any

from rmwbench.published.community.survey.answer_charts import answers as picture
from rmwbench.report.view import Head, Picture, Section, Table, Text, View, panel

READING = (
    "Answers are compared by order alone; there are no means. Those without an opinion are left "
    "out.",
    "Cliff's delta: how much likelier an answer of the first group is above one of the second than "
    "below.",
    "p is corrected for the number of questions (Holm), so a 5 % chance of any false alarm in all.",
    "People chose to answer, and chose their middleware: groups differ in more than that.",
)


def view(doc: dict[str, Any], *, draw: bool = False) -> View:
    """The view; `draw` makes the pictures too."""
    groups = doc["groups"]
    columns: list[Head] = [
        "",
        "question",
        "group",
        ("n", True),
        "median [95 %]",
        ("above the middle", True),
    ]
    rows = []
    for question in doc["questions"]:
        for place, name in enumerate(groups):
            start = ["", ""] if place else [question["label"], question["text"]]
            rows.append([*start, name, *_cells(question["groups"][name])])
    drawn = []
    if draw and (spec := picture(doc)):
        reading = "Shares of those with an opinion; to the right of the zero line those who agree."
        drawn.append(Picture("answers", "Answers", reading, spec))
    sections = [panel("Answers", [], Table(columns, rows), drawn)]
    if doc["comparison"]:
        sections.append(_comparison(doc))
    if doc.get("published"):
        sections.append(_published(doc["published"]))
    sections.append(panel("How to read it", READING, listed=True))
    return View(
        title="Survey",
        about=[*map(Text, _lead(doc))],
        sections=sections,
        card=[f"{doc['people']} people · {len(doc['questions'])} questions"],
    )


def _lead(doc: dict[str, Any]) -> Iterator[str]:
    groups = f"; groups by {doc['group_by']!r}" if doc["group_by"] else ""
    yield f"{doc['people']} people, {len(doc['questions'])} questions on a scale{groups}"
    for name, levels in doc["scales"].items():
        yield f"Scale {name}, lowest first: {', '.join(levels)}"
    rest = doc["not_shown"]
    yield f"{rest['columns']} other columns are not shown ({rest['reason']})."


def _cells(found: dict[str, Any]) -> list[str]:
    if "no_data" in found:
        return [str(found["count"]), f"no data: {found['no_data']}", "–"]
    median, share = found["median"], found["upper_half"]
    ends = (
        median["low"] if median["low"] == median["high"] else f"{median['low']} – {median['high']}"
    )
    shown = f"{100 * share['value']:.0f} % [{100 * share['low']:.0f}–{100 * share['high']:.0f}]"
    return [str(found["count"]), f"{median['value']} [{ends}]", shown]


def _comparison(doc: dict[str, Any]) -> Section:
    found = doc["comparison"]
    texts = {q["label"]: q["text"] for q in doc["questions"]}
    rows = []
    for row in found["of"]:
        start = [row["label"], texts[row["label"]], *map(str, row["counts"])]
        if "no_data" in row:
            rows.append([*start, f"no data: {row['no_data']}", "–", "–", "–"])
            continue
        delta = row["delta"]
        shown = f"{delta['value']:+.2f} [{delta['low']:+.2f} to {delta['high']:+.2f}]"
        rows.append([*start, shown, f"{row['p']:.2g}", f"{row['p_holm']:.2g}", row["verdict"]])
    decided = sum(row.get("verdict") in ("higher", "lower") for row in found["of"])
    alone = sum(row.get("p", 1.0) < found["alpha"] for row in found["of"])
    methods = sorted({row["method"] for row in found["of"] if "method" in row})
    text = [
        f"{decided} of {found['questions_tested']} questions differ after correction ({alone} "
        f"before it). Test: Mann-Whitney, two-sided, {' or '.join(methods)}."
    ]
    columns = (
        *("", "question", *((f"n {name}", True) for name in found["groups"])),
        *("Cliff's delta [95 %]", ("p", True), ("p corrected", True), found["groups"][0]),
    )
    return panel(f"{found['groups'][0]} against {found['groups'][1]}", text, Table(columns, rows))


def _published(points: list[dict[str, Any]]) -> Section:
    means = [p for p in points if p["figure"] == "survey_mean"]
    flips = [
        p["x"]
        for p in points
        if p["figure"] == "survey_difference" and p["note"] == "the sign flips"
    ]
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
