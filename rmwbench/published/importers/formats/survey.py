"""OSRF's user survey of 2020, or another with its columns: 19 agreement questions and a profile.

Only aggregates are kept: free text is never read into the bundle, and an answer that only one
person gave is folded into `other`, as the original's pies did. The published figures scored the
answers with a scrambled scale.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rmwbench.errors import UserError
from rmwbench.published.importers.data_source import Source, SourceFile, malformed
from rmwbench.published.importers.published import Published, SeriesPoints
from rmwbench.published.importers.sheet import Once, Range, parse_rows

DOCUMENTED = {"Strongly Agree": 5, "Agree": 4, "Neutral": 3, "Disagree": 2, "Strongly Disagree": 1}
APPLIED = {"Agree": 5, "Strongly Agree": 4, "Neutral": 3, "Strongly Disagree": 2, "Disagree": 1}
"""The scale that the published figures used; every label of their bar chart equals its means."""
NO_OPINION = "NO OPINION / NOT APPLICABLE"
QUESTION = re.compile(r".*\[(?P<text>[^\]]+)\]\s*")
SKILL = Range(1, 10)
ANSWERS = {
    "networking_skill": SKILL,
    "years": Range(0, 80),
    "familiarity": SKILL,
    "debugging_skill": SKILL,
}
"""The values that numerical answers can have."""
GROUPS = {"All": None, "Cyclone": "ADLink CycloneDDS", "Fast": "eProsima FastDDS (Foxy default)"}
PROFILE = {
    "version": "what version of ROS 2 are you using",
    "application": "best describes your robotic application",
    "domain": "application domain",
    "networking_skill": "networking and debugging skills",
    "years": "How many years have you been using ROS",
    "familiarity": "familiarity with ROS Middleware",
    "debugging_skill": "Linux debugging and development skills",
    "changed_default": "changed your default",
    "middleware": "middleware layer are you primarily using",
}
SKILLS: dict[str, tuple[int, ...] | None] = {
    "networking_skill": None,
    "years": None,
    "familiarity": (1, 2, 3, 4, 5, 6),
    "debugging_skill": (1, 2, 3, 4, 5, 6, 7, 8),
}
"""The bins of the published histograms; None: as many as the largest answer less one, from the
smallest to the largest."""
LABELS = {score: answer for answer, score in DOCUMENTED.items()}
TEXT_RESPONSES = {"All": 96.0, "Cyclone": 31.0, "Fast": 60.0}
"""The number of responses that the report's text gives."""


def recognises(item: SourceFile) -> bool:
    try:
        header = next((cells for _, cells in parse_rows(item)), [])
    except UserError:
        return False
    return (
        sum(QUESTION.fullmatch(name) is not None for name in header) >= 5
        and _find(header, PROFILE["middleware"]) is not None
    )


def read(source: Source, out: Published) -> None:
    """Read figures only: a respondent is not a trial."""
    out.add_known("survey")
    for item in source:
        _survey(item, out)


def _survey(item: SourceFile, out: Published) -> None:
    lines = parse_rows(item)
    try:
        _, header = next(lines)
    except StopIteration:
        raise item.wrong("an empty file", "a line of questions") from None
    matches = ((i, QUESTION.fullmatch(name)) for i, name in enumerate(header))
    questions = [(i, match["text"].strip()) for i, match in matches if match]
    middleware = _find(header, PROFILE["middleware"])
    if not questions or middleware is None:
        raise malformed(
            f"{item.where}:1",
            "not the survey's columns",
            "questions in [brackets] and the primary middleware",
            ", ".join(header)[:120],
        )
    answers: list[list[str]] = []
    once = Once("the same response")
    for line, cells in lines:
        if cells:
            where = f"{item.where}:{line}"
            _check(cells, header, questions, where)
            once(tuple(cells), where)
            answers.append(cells)
    if not answers:
        raise item.wrong("no responses", "a row per respondent")
    groups = {
        name: [a for a in answers if key is None or a[middleware] == key]
        for name, key in GROUPS.items()
    }
    original = len(questions) == 19 and len(answers) == 94
    _profile(header, groups, out, original)
    _skills(header, answers, out)
    for n, (i, text) in enumerate(questions, start=1):
        _question(f"Q{n}", text, i, groups, out)


def _check(
    cells: list[str], header: list[str], questions: Sequence[tuple[int, str]], where: str
) -> None:
    if len(cells) != len(header):
        raise malformed(where, "a row of another length", f"{len(header)} cells", len(cells))
    valid = (*DOCUMENTED, NO_OPINION, "")
    for i, text in questions:
        if cells[i] not in valid:
            expected = ", ".join(valid[:-1])
            raise malformed(where, f"an unknown answer to [{text}]", expected, cells[i][:40])
    for name, allowed in ANSWERS.items():
        column = _find(header, PROFILE[name])
        value = None if column is None else _number(cells[column])
        if column is not None and value is not None and not allowed.holds(np.float64(value)):
            expected = f"a value from {allowed.least:g} to {allowed.most:g}"
            raise malformed(where, f"an impossible answer on {name}", expected, cells[column])


def _question(
    x: str, text: str, i: int, groups: dict[str, list[list[str]]], out: Published
) -> None:
    means: dict[str, tuple[float | None, float | None]] = {}
    scores: dict[str, list[int]] = {}
    for name, rows in groups.items():
        on_scale = [row[i] for row in rows if row[i] in DOCUMENTED]
        scores[name] = [DOCUMENTED[a] for a in on_scale]
        applied = [APPLIED[a] for a in on_scale]
        means[name] = (_mean(applied), _mean(scores[name]))
        point = SeriesPoints(out, "survey", name, x, len(on_scale))
        point("mean", "1 to 5", *means[name], text if on_scale else "no data: nobody answered")
        deviations = (_deviation(applied), _deviation(scores[name]))
        note = text if deviations[1] is not None else "no data: fewer than two answers"
        point("deviation", "1 to 5", *deviations, note)
        _distribution(replace(point, series=f"{x} {name}"), on_scale, [row[i] for row in rows])
    (fast_shown, fast), (cyclone_shown, cyclone) = means["Fast"], means["Cyclone"]
    if fast is None or cyclone is None or fast_shown is None or cyclone_shown is None:
        return
    differences = (cyclone_shown - fast_shown, cyclone - fast)
    flip = "the sign flips" if differences[0] * differences[1] < 0 else None
    SeriesPoints(out, "survey", "Cyclone − Fast", x)("difference", "1 to 5", *differences, flip)
    p = mann_whitney(scores["Cyclone"], scores["Fast"])
    method = "Mann-Whitney, two-sided, ties corrected; not corrected for the number of questions"
    people = len(scores["Cyclone"]) + len(scores["Fast"])
    point = SeriesPoints(out, "survey", "Cyclone against Fast", x, people)
    point("p_value", "", None, p, "no data: all answers are the same" if p is None else method)


def _distribution(point: SeriesPoints, on_scale: Sequence[str], answers: Sequence[str]) -> None:
    """Add how the answers are distributed. `on_scale`: those of the answers that are on the scale."""
    for score, label in LABELS.items() if on_scale else ():
        applied, documented = (
            100 * sum(scale[a] == score for a in on_scale) / len(on_scale)
            for scale in (APPLIED, DOCUMENTED)
        )
        replace(point, x=label)("sentiment", "%", applied, documented)
    for answer, votes in Counter(filter(None, answers)).items():
        replace(point, x=answer, count=len(answers))("answers", "responses", None, float(votes))


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return the two-sided p of the Mann-Whitney test by the normal approximation with ties and
    continuity, None if all values are equal."""
    from scipy.stats import mannwhitneyu

    if len({*a, *b}) < 2:
        return None
    return float(mannwhitneyu(a, b, alternative="two-sided", method="asymptotic").pvalue)


def _profile(
    header: list[str], groups: dict[str, list[list[str]]], out: Published, original: bool
) -> None:
    note = "published: the report's text" if original else None
    for name, rows in groups.items():
        published = TEXT_RESPONSES[name] if original else None
        SeriesPoints(out, "survey", name)(
            "responses", "responses", published, float(len(rows)), note
        )
    for name, words in PROFILE.items():
        column = _find(header, words)
        if column is None:
            continue
        for group, rows in groups.items():
            votes = Counter(row[column].strip() for row in rows if row[column].strip())
            folded = Counter({answer: n for answer, n in votes.items() if n > 1})
            if alone := sum(n for n in votes.values() if n == 1):
                folded["other"] += alone
            for answer, n in folded.items():
                point = SeriesPoints(out, "survey", group, answer, len(rows))
                point(name, "responses", float(n), float(n))


def _skills(header: list[str], answers: list[list[str]], out: Published) -> None:
    """Add the four histograms of skill, over all respondents: the original's bins at their left
    edges, and whole numbers.

    The original drew densities under an axis in percent: if a bin is not one wide, its bar is not
    the share of respondents.
    """
    for name, edges in SKILLS.items():
        column = _find(header, PROFILE[name])
        numbers = [] if column is None else [_number(row[column]) for row in answers]
        values = np.array([v for v in numbers if v is not None])
        if len(values) < 2 or values.min() == values.max():
            continue
        bins = max(1, int(values.max()) - 1) if edges is None else edges
        density, bounds = np.histogram(values, bins=bins, density=True)
        published = {
            f"{begin:.3g}": 100 * float(d) for begin, d in zip(bounds[:-1], density, strict=True)
        }
        whole = Counter(f"{int(v)}" for v in values)
        for x in sorted({*published, *whole}, key=float):
            corrected = 0.0 if float(x) == int(float(x)) else None
            if x in whole:
                corrected = 100 * whole[x] / len(values)
            begins_here = "no data: a bin of the published histogram begins here"
            point = SeriesPoints(out, "survey_skill", "All", x, len(values))
            point(
                name, "%", published.get(x), corrected, begins_here if corrected is None else None
            )


def _number(text: str) -> float | None:
    """Return None for text that is not a number; the word nan is not one either."""
    try:
        value = float(text)
    except ValueError:
        return None
    return None if np.isnan(value) else value


def _find(header: Sequence[str], words: str) -> int | None:
    return next((i for i, name in enumerate(header) if words in name), None)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _deviation(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None
