"""What a factor does to each arm: every level against the one before it and against the first, in
the primary metric, in what is delivered, and in what it costs, paired within blocks.

The primary metric and delivery of all arms are judged together, delivery first; what it costs is
judged with the other effects of a report.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.analysis.metrics.aggregate import aggregate, judged_loss
from rmwbench.analysis.metrics.comparisons import json_column
from rmwbench.analysis.metrics.glossary import GLOSSARY, Use, names_for
from rmwbench.analysis.metrics.judged_topics import POOLED
from rmwbench.analysis.verdicts import statements
from rmwbench.analysis.verdicts.gains import has_ratio
from rmwbench.analysis.verdicts.ladders import Ladder, Rung, ladders, steps
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.analysis.verdicts.statements import Statement, StatementAnswer
from rmwbench.analysis.verdicts.verdict import BlockRatio, Rules
from rmwbench.results.model import Estimate
from rmwbench.results.shown import Levels, LevelStep
from rmwbench.results.workload.workload_arm import ArmReport, statement

COSTS = names_for(Use.EFFECT)


@dataclass(frozen=True)
class _Asked:
    """A statement about two levels of a ladder."""

    level: Any
    against: Any
    statement: Statement


@dataclass(frozen=True)
class _Part:
    """A ladder in one topic, or in the whole workload (None); `arms` and `comparisons` by level."""

    ladder: Ladder
    topic: str | None
    arms: tuple[ArmReport, ...]
    comparisons: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether it is of a workload with unlike topics at some level, as one."""
        return self.topic is None and any(arm.topics for arm in self.arms)

    @property
    def primary(self) -> str:
        return self.arms[0].primary

    def estimates(self, metric: str) -> tuple[Estimate, ...]:
        entry = GLOSSARY[metric]
        return tuple(aggregate(entry, arm.trials_in(self.topic)) for arm in self.arms)

    def answered(self) -> list[str]:
        """The primary metric, and what is judged before it; neither of unlike topics together."""
        if self.is_whole and self.primary in POOLED:
            return []
        return [self.primary, judged_loss(self.primary)]

    def costs(self) -> list[str]:
        """The costs of processes where it is the whole, those of calls in a topic."""
        unlike = self.topic is not None or self.is_whole
        return [
            name
            for name in COSTS
            if name != self.primary
            and not (unlike and (name in POOLED) != (self.topic is not None))
        ]


def judged(arms: Mapping[str, Sequence[ArmReport]], rules: Rules) -> tuple[Levels, ...]:
    """`levels` of the show document. `arms`: comparison -> its arms; `rules.alpha` is that of the
    report, or of its last look."""
    parts = list(_parts(arms))
    answers = _judged([_asked(n, part, part.answered()) for n, part in enumerate(parts)], rules)
    costs = _judged([_with_ratio(_asked(n, p, p.costs())) for n, p in enumerate(parts)], rules)
    return tuple(
        _levels(part, [*answer, *cost])
        for part, answer, cost in zip(parts, answers, costs, strict=True)
    )


def _parts(arms: Mapping[str, Sequence[ArmReport]]) -> Iterator[_Part]:
    reports, comparison_of = {}, {}
    for comparison, compared in arms.items():
        for arm in compared:
            comparison_of[arm.cell["cell"]] = comparison
            if not arm.floor and not arm.not_supported:
                reports[arm.cell["cell"]] = arm
    asked = ladders(
        Rung(
            *(number, arm.cell["workload"], arm.name),
            json_column(arm.cell["factors"]),
            arm.definition,
        )
        for number, arm in reports.items()
    )
    for ladder in (one.only(lambda cell: bool(reports[cell].trials)) for one in asked):
        here = tuple(reports[cell] for cell in ladder.cells)
        if len(here) < 2 or len({arm.primary for arm in here}) > 1:
            continue
        comparisons = tuple(comparison_of[cell] for cell in ladder.cells)
        yield _Part(ladder, None, here, comparisons)
        names = dict.fromkeys(topic.name for arm in here for topic in arm.topics)
        for name in names:
            # A level with topics of its own lacks those that it has not.
            if all(arm.trials_in(name) for arm in here):
                yield _Part(ladder, name, here, comparisons)


def _judged(asked: Iterable[Iterable[_Asked]], rules: Rules) -> list[list[LevelStep]]:
    """The steps of each part. All at once: they share one probability of error."""
    listed = [list(of_part) for of_part in asked]
    answers = iter(statements.judge([one.statement for part in listed for one in part], rules))
    return [[_step(one, next(answers), rules) for one in part] for part in listed]


def _step(asked: _Asked, answer: StatementAnswer, rules: Rules) -> LevelStep:
    metric = asked.statement.metric
    return LevelStep(
        metric=metric.name,
        level=asked.level,
        against=asked.against,
        answer=answer,
        not_worse=is_not_worse(asked.statement, answer, rules),
    )


def is_not_worse(asked: Statement, answer: StatementAnswer, rules: Rules) -> bool:
    """By the interval at which it was judged. Nothing is shown where identical arms may differ by
    more than the margin, or where hosts' clocks are not known as well."""
    ratio = answer.effect
    if answer.verdict in ("worse", "no data") or not isinstance(ratio, BlockRatio):
        return False
    if rules.aa_floor > rules.margin or ratio.blocks < rules.min_blocks:
        return False
    if any(np.any(side) for side in asked.bounds_of_values()):
        return False
    behind = ratio.inverse() if words(asked.metric.name).higher else ratio
    return behind.high <= 1 + rules.margin


def _asked(number: int, part: _Part, metrics: Sequence[str]) -> Iterator[_Asked]:
    levels, topic = part.ladder.levels, part.topic
    for metric in metrics:
        for at, against in steps(len(part.arms)):
            left, right, group = part.arms[at], part.arms[against], (number, at, against)
            question = statement(left, right, metric, topic, group)
            yield _Asked(levels[at], levels[against], question)


def _with_ratio(asked: Iterable[_Asked]) -> Iterator[_Asked]:
    """A cost that a side has not, or that is 0 somewhere, has nothing to divide."""
    return (one for one in asked if has_ratio(one.statement.left, one.statement.right))


def _levels(part: _Part, judged: Sequence[LevelStep]) -> Levels:
    ladder = part.ladder
    metrics = dict.fromkeys([*part.answered(), *(step.metric for step in judged)])
    return Levels(
        factor=ladder.factor,
        workload=ladder.workload,
        arm=ladder.arm,
        topic=part.topic,
        levels=ladder.levels,
        comparisons=part.comparisons,
        others=ladder.others,
        changed=ladder.changed,
        primary_metric=part.primary,
        reliable=any(arm.is_reliable_in(part.topic) for arm in part.arms),
        values={name: part.estimates(name) for name in metrics},
        fates=tuple(arm.fates_in(part.topic) for arm in part.arms) if part.answered() else (),
        steps=tuple(judged),
    )
