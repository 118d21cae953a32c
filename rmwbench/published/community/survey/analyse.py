"""What a survey's answers say, by their order: counts, medians with intervals, and two groups
compared.

Per question a Mann-Whitney test with Holm's correction over all questions, and Cliff's delta with
its interval. Means are not among them: they would make numbers of "agree". Who answered chose to,
so intervals are for chance alone.
"""

from collections import Counter
from typing import Any

import numpy as np

from rmwbench.analysis.stats import ordinal
from rmwbench.analysis.stats.intervals import clopper_pearson
from rmwbench.errors import UserError, did_you_mean
from rmwbench.published.community.survey.answers_file import Survey, SurveyQuestion, sizes

FEWEST = 5
"""People in a group that is shown: fewer could be recognised."""
ALPHA = 0.05


def document(
    survey: Survey,
    compare: tuple[str, str] | None = None,
    published: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The survey document (docs/community.md). `compare` names the two groups, else the two largest
    are taken; `published` are the figures of an importer."""
    groups = _groups(survey)
    pair = _pair(survey, groups, compare)
    questions = [_question(q, groups) for q in survey.questions]
    out: dict[str, Any] = {
        "schema": "rmwbench/community-survey",
        "version": 1,
        "source": survey.where,
        "people": survey.people,
        "group_by": survey.group_by,
        "groups": {name: len(members) for name, members in groups.items()},
        "scales": {
            s.name: list(s.levels) for s in dict.fromkeys(q.scale for q in survey.questions)
        },
        "not_shown": {
            "columns": survey.other_columns,
            "reason": "times, profiles and free text are not read further",
        },
        "questions": questions,
        "comparison": None,
    }
    if pair:
        out["comparison"] = _comparison(survey, groups, pair)
    if published is not None:
        out["published"] = published
    return out


def _groups(survey: Survey) -> dict[str, list[int]]:
    """Name → people. Who is in a group of fewer than FEWEST is in `everyone` alone."""
    everyone = {"everyone": list(range(survey.people))}
    if survey.group_by is None:
        return everyone
    counts = sizes(survey)
    shown = [name for name, n in counts.most_common() if n >= FEWEST and name]
    return everyone | {
        name: [i for i, g in enumerate(survey.groups) if g == name] for name in shown
    }


def _pair(
    survey: Survey, groups: dict[str, list[int]], compare: tuple[str, str] | None
) -> tuple[str, str] | None:
    named = [name for name in groups if name != "everyone"]
    if compare is None:
        return (named[0], named[1]) if len(named) >= 2 else None
    if survey.group_by is None:
        raise UserError(
            "nothing says who is in which group",
            where="--compare",
            fix="name the column with --group",
        )
    chosen = []
    for wanted in compare:
        matches = [n for n in named if n == wanted] or [
            n for n in named if wanted.lower() in n.lower()
        ]
        if len(matches) != 1:
            raise UserError(
                "no such group" if not matches else "several groups have that in their names",
                where=f"--compare {wanted}",
                expected=f"one of {', '.join(named)} (groups of {FEWEST} and more)",
                fix=did_you_mean(wanted, named),
            )
        chosen.append(matches[0])
    if chosen[0] == chosen[1]:
        raise UserError("a group compared with itself", where="--compare", actual=chosen[0])
    return chosen[0], chosen[1]


def counts(question: SurveyQuestion, people: list[int]) -> np.ndarray:
    """Answers per level of these people, shape (levels,), lowest first."""
    people_by_level = Counter(question.answers[i] for i in people)
    return np.array([people_by_level[level] for level in range(len(question.scale.levels))])


def _question(question: SurveyQuestion, groups: dict[str, list[int]]) -> dict[str, Any]:
    return {
        "label": question.label,
        "text": question.text,
        "scale": question.scale.name,
        "groups": {name: _answers(question, people) for name, people in groups.items()},
    }


def _answers(question: SurveyQuestion, people: list[int]) -> dict[str, Any]:
    counted = counts(question, people)
    n = int(counted.sum())
    out: dict[str, Any] = {"counts": counted.tolist(), "count": n, "no_opinion": len(people) - n}
    if not n:
        return out | {"no_data": "nobody answered"}
    levels = question.scale.levels
    median, low, high = ordinal.median(counted.tolist())
    upper = int(counted[len(levels) // 2 + len(levels) % 2 :].sum())
    share_low, share_high = clopper_pearson(upper, n)
    return out | {
        "median": {"value": levels[median], "low": levels[low], "high": levels[high]},
        "upper_half": {"value": upper / n, "low": share_low, "high": share_high},
    }


def _comparison(
    survey: Survey, groups: dict[str, list[int]], pair: tuple[str, str]
) -> dict[str, Any]:
    tests = []
    for question in survey.questions:
        a, b = (counts(question, groups[name]) for name in pair)
        tests.append((a, b, ordinal.mann_whitney(a, b)))
    adjusted = ordinal.holm([None if test is None else test[0] for _, _, test in tests])
    rows = []
    for question, (a, b, test), corrected in zip(survey.questions, tests, adjusted, strict=True):
        row: dict[str, Any] = {"label": question.label, "counts": [int(a.sum()), int(b.sum())]}
        if test is None or corrected is None or min(a.sum(), b.sum()) < 2:
            row["no_data"] = (
                "all answers are the same" if a.sum() and b.sum() else "a group did not answer"
            )
        else:
            delta, low, high = ordinal.cliffs_delta(a, b)
            row |= {"p": test[0], "p_holm": corrected, "method": test[1]}
            row["delta"] = {"value": delta, "low": low, "high": high}
            row["verdict"] = (
                "undecided" if corrected >= ALPHA else "higher" if delta > 0 else "lower"
            )
        rows.append(row)
    return {
        "groups": list(pair),
        "alpha": ALPHA,
        "questions_tested": sum(t is not None for *_, t in tests),
        "of": rows,
    }
