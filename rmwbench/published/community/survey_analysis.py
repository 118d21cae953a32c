"""What a survey's answers say, by their order: counts, medians with intervals, and two groups
compared.

Each question has a Mann-Whitney test with Holm's correction over all questions, and Cliff's delta
with its interval. There are no means: they would make numbers of "agree". Respondents chose to
answer, so the intervals cover chance alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rmwbench.analysis.stats.intervals import clopper_pearson
from rmwbench.errors import UserError, did_you_mean
from rmwbench.published.community import ordinal
from rmwbench.published.community.survey_file import Survey, SurveyQuestion
from rmwbench.words.fields import absent, exact

FEWEST = 5
"""The fewest people in a group that is shown: fewer could be recognised."""
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class MedianLevel:
    value: str
    low: str
    high: str


@dataclass(frozen=True, kw_only=True)
class SurveyEstimate:
    value: float = exact()
    low: float = exact()
    high: float = exact()


@dataclass(frozen=True, kw_only=True)
class GroupAnswers:
    """What a group answered to a question. `counts`: per level, lowest first; `upper_half`: the
    share above the middle."""

    counts: Sequence[int]
    count: int
    no_opinion: int
    no_data: str | None = absent()
    median: MedianLevel | None = absent()
    upper_half: SurveyEstimate | None = absent()


@dataclass(frozen=True, kw_only=True)
class AnsweredQuestion:
    label: str
    text: str
    scale: str
    groups: Mapping[str, GroupAnswers]


@dataclass(frozen=True, kw_only=True)
class ComparedQuestion:
    """Two groups in a question. `counts`: how many of each answered; `delta`: Cliff's delta."""

    label: str
    counts: Sequence[int]
    no_data: str | None = absent()
    p: float | None = absent(exact=True)
    p_holm: float | None = absent(exact=True)
    method: str | None = absent()
    delta: SurveyEstimate | None = absent()
    verdict: str | None = absent()


@dataclass(frozen=True, kw_only=True)
class GroupComparison:
    groups: Sequence[str]
    alpha: float
    questions_tested: int
    of: Sequence[ComparedQuestion]


@dataclass(frozen=True, kw_only=True)
class ColumnsNotShown:
    columns: int
    reason: str = "times, profiles and free text are not read further"


@dataclass(frozen=True, kw_only=True)
class SurveyResult:
    """The survey document (docs/community.md). `published`: points of the figures of 2020, if it is
    that survey."""

    schema: Literal["rmwbench/community-survey"] = "rmwbench/community-survey"
    version: Literal[1] = 1
    source: str
    people: int
    group_by: str | None
    groups: Mapping[str, int]
    scales: Mapping[str, Sequence[str]]
    not_shown: ColumnsNotShown
    questions: Sequence[AnsweredQuestion]
    comparison: GroupComparison | None
    published: Sequence[dict[str, Any]] | None = absent(exact=True)


def analyse(
    survey: Survey,
    compare: tuple[str, str] | None = None,
    published: list[dict[str, Any]] | None = None,
) -> SurveyResult:
    """Analyse a survey. `compare` names the two groups, by default the two largest; `published` are
    the figures of an importer."""
    groups = _groups(survey)
    pair = _pair(survey, groups, compare)
    scales = dict.fromkeys(question.scale for question in survey.questions)
    return SurveyResult(
        source=survey.where,
        people=survey.people,
        group_by=survey.group_by,
        groups={name: len(members) for name, members in groups.items()},
        scales={scale.name: list(scale.levels) for scale in scales},
        not_shown=ColumnsNotShown(columns=survey.other_columns),
        questions=[
            AnsweredQuestion(
                label=question.label,
                text=question.text,
                scale=question.scale.name,
                groups={name: _answers(question, people) for name, people in groups.items()},
            )
            for question in survey.questions
        ],
        comparison=_comparison(survey, groups, pair) if pair else None,
        published=published,
    )


def _groups(survey: Survey) -> dict[str, list[int]]:
    """Return the people of each group. Members of a group of fewer than FEWEST are in `everyone`
    alone."""
    everyone = {"everyone": list(range(survey.people))}
    if survey.group_by is None:
        return everyone
    sizes = Counter(survey.groups).most_common()
    names = [name for name, size in sizes if size >= FEWEST and name]
    return everyone | {
        name: [i for i, group in enumerate(survey.groups) if group == name] for name in names
    }


def _pair(
    survey: Survey, groups: dict[str, list[int]], compare: tuple[str, str] | None
) -> tuple[str, str] | None:
    names = [name for name in groups if name != "everyone"]
    if compare is None:
        return (names[0], names[1]) if len(names) >= 2 else None
    if survey.group_by is None:
        raise UserError(
            "nothing says who is in which group",
            where="--compare",
            fix="name the column with --group",
        )
    pair = []
    for text in compare:
        matches = [name for name in names if name == text]
        matches = matches or [name for name in names if text.lower() in name.lower()]
        if len(matches) != 1:
            raise UserError(
                "no such group" if not matches else "several groups have that in their names",
                where=f"--compare {text}",
                expected=f"one of {', '.join(names)} (groups of {FEWEST} and more)",
                fix=did_you_mean(text, names),
            )
        pair.append(matches[0])
    if pair[0] == pair[1]:
        raise UserError("a group compared with itself", where="--compare", actual=pair[0])
    return pair[0], pair[1]


def counts(question: SurveyQuestion, people: list[int]) -> np.ndarray:
    """Return the answers of these people per level, shape (levels,), lowest first."""
    people_by_level = Counter(question.answers[i] for i in people)
    return np.array([people_by_level[level] for level in range(len(question.scale.levels))])


def _answers(question: SurveyQuestion, people: list[int]) -> GroupAnswers:
    by_level = counts(question, people)
    n = int(by_level.sum())
    answers = GroupAnswers(counts=by_level.tolist(), count=n, no_opinion=len(people) - n)
    if not n:
        return replace(answers, no_data="nobody answered")
    levels = question.scale.levels
    median, low, high = ordinal.median(by_level.tolist())
    upper = int(by_level[len(levels) // 2 + len(levels) % 2 :].sum())
    share_low, share_high = clopper_pearson(upper, n)
    return replace(
        answers,
        median=MedianLevel(value=levels[median], low=levels[low], high=levels[high]),
        upper_half=SurveyEstimate(value=upper / n, low=share_low, high=share_high),
    )


def _comparison(
    survey: Survey, groups: dict[str, list[int]], pair: tuple[str, str]
) -> GroupComparison:
    tests = []
    for question in survey.questions:
        a, b = (counts(question, groups[name]) for name in pair)
        tests.append((a, b, ordinal.mann_whitney(a, b)))
    adjusted = ordinal.holm([None if test is None else test[0] for _, _, test in tests])
    rows = []
    for question, (a, b, test), corrected in zip(survey.questions, tests, adjusted, strict=True):
        row = ComparedQuestion(label=question.label, counts=[int(a.sum()), int(b.sum())])
        least = int(min(a.sum(), b.sum()))
        if test is None or corrected is None or least < 2:
            few = {0: "a group did not answer", 1: "a group has one answer"}
            reason = few.get(least, "all answers are the same")
            rows.append(replace(row, no_data=reason))
            continue
        delta, low, high = ordinal.cliffs_delta(a, b)
        verdict = "undecided" if corrected >= ALPHA else "higher" if delta > 0 else "lower"
        rows.append(
            replace(
                row,
                p=test[0],
                p_holm=corrected,
                method=test[1],
                delta=SurveyEstimate(value=delta, low=low, high=high),
                verdict=verdict,
            )
        )
    return GroupComparison(
        groups=pair,
        alpha=ALPHA,
        questions_tested=sum(test is not None for *_, test in tests),
        of=rows,
    )
