"""What a factor does to each arm: every level against the one before it and against the first, in
the primary metric, in what is delivered, and in what it costs, paired within blocks.

The primary metric and delivery of all arms are judged together, delivery first; what it costs is
judged with the other effects of a report.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.analysis.metrics.aggregate import aggregate, judged_loss
from rmwbench.analysis.metrics.comparisons import loads
from rmwbench.analysis.metrics.glossary import GLOSSARY, Use, names_for
from rmwbench.analysis.metrics.topic_metrics import POOLED
from rmwbench.analysis.verdicts import statements
from rmwbench.analysis.verdicts.ladders import Ladder, Rung, ladders
from rmwbench.analysis.verdicts.ladders import steps as compared
from rmwbench.analysis.verdicts.statements import Statement
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.results.model import Estimate
from rmwbench.results.shown import Levels, LevelStep
from rmwbench.results.workload.workload_arm import ArmReport

COSTS = names_for(Use.EFFECT)


@dataclass(frozen=True)
class _Asked:
    """A statement about two levels of a ladder: places in it."""

    at: int
    against: int
    statement: Statement


@dataclass(frozen=True)
class _Part:
    """A ladder in one topic, or in the whole workload (None); `arms` and `comparisons` by level."""

    ladder: Ladder
    topic: str | None
    arms: tuple[ArmReport, ...]
    comparisons: tuple[str, ...]

    def topic_at(self, at: int) -> str | None:
        """Where a level has no unlike topics, all that it has is what they are at the others."""
        arm = self.arms[at]
        return self.topic if any(one.name == self.topic for one in arm.topics) else None

    @property
    def is_whole(self) -> bool:
        """Whether it is of a workload with unlike topics at some level, as one."""
        return self.topic is None and any(arm.topics for arm in self.arms)

    @property
    def primary(self) -> str:
        return self.arms[0].primary

    def estimates(self, metric: str) -> tuple[Estimate, ...]:
        entry = GLOSSARY[metric]
        return tuple(
            aggregate(entry, arm.trials_in(self.topic_at(at))) for at, arm in enumerate(self.arms)
        )

    def answered(self) -> list[str]:
        """The primary metric, and what is judged before it; neither of unlike topics together."""
        if self.is_whole and self.primary in POOLED:
            return []
        return [self.primary, judged_loss(self.primary)]

    def costs(self) -> list[str]:
        """Of processes where it is the whole; of calls in a topic."""
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
    answers = _judged(parts, {n: part.answered() for n, part in enumerate(parts)}, rules)
    costs = _judged(parts, {n: part.costs() for n, part in enumerate(parts)}, rules)
    return tuple(_levels(part, [*answers[n], *costs[n]]) for n, part in enumerate(parts))


def _parts(arms: Mapping[str, Sequence[ArmReport]]) -> Iterator[_Part]:
    reports, comparison_of = {}, {}
    for comparison, found in arms.items():
        for arm in found:
            comparison_of[arm.cell["cell"]] = comparison
            if not arm.floor and not arm.not_supported:
                reports[arm.cell["cell"]] = arm
    asked = ladders(
        Rung(
            *(number, arm.cell["workload"], arm.name),
            loads(arm.cell["factors"]),
            arm.definition,
        )
        for number, arm in reports.items()
    )
    for ladder in (one.only(lambda cell: bool(reports[cell].trials)) for one in asked):
        here = tuple(reports[cell] for cell in ladder.cells)
        if len(here) < 2 or len({arm.primary for arm in here}) > 1:
            continue
        compared = tuple(comparison_of[cell] for cell in ladder.cells)
        yield _Part(ladder, None, here, compared)
        names = dict.fromkeys(topic.name for arm in here for topic in arm.topics)
        for name in names:
            # A level with topics of its own lacks those that it has not.
            if all(not arm.topics or name in {t.name for t in arm.topics} for arm in here):
                yield _Part(ladder, name, here, compared)


def _judged(
    parts: Sequence[_Part], metrics: Mapping[int, Sequence[str]], rules: Rules
) -> dict[int, list[LevelStep]]:
    """Number of a part -> its steps. All at once: they share one probability of error."""
    asked = [
        (n, one) for n, part in enumerate(parts) for one in _asked(n, part, metrics.get(n, ()))
    ]
    found = statements.judge([one.statement for _, one in asked], rules)
    out: dict[int, list[LevelStep]] = {n: [] for n in range(len(parts))}
    for (n, one), answer in zip(asked, found, strict=True):
        levels = parts[n].ladder.levels
        out[n].append(
            LevelStep(
                metric=one.statement.metric.name,
                level=levels[one.at],
                against=levels[one.against],
                answer=answer,
            )
        )
    return out


def _asked(number: int, part: _Part, metrics: Sequence[str]) -> Iterator[_Asked]:
    for metric in metrics:
        for at, against in compared(len(part.arms)):
            left, right = part.arms[at], part.arms[against]
            topics = part.topic_at(at), part.topic_at(against)
            values = left.in_blocks(metric, topics[0]), right.in_blocks(metric, topics[1])
            if metric in part.costs() and not _has_ratio(*values):
                continue
            reliable = any(
                arm.found.reliable.get(topic, False)
                for arm, topic in zip((left, right), topics, strict=True)
            )
            yield _Asked(
                at,
                against,
                Statement(
                    left=values[0],
                    right=values[1],
                    metric=GLOSSARY[metric],
                    paired=True,
                    group=(number, at, against),
                    reliable=reliable,
                    bounds=(
                        left.clock_bounds(metric, topics[0]),
                        right.clock_bounds(metric, topics[1]),
                    ),
                    topic=part.topic,
                    primary=part.primary,
                ),
            )


def _has_ratio(left: Mapping[int, Any], right: Mapping[int, Any]) -> bool:
    return bool(left and right) and min(*left.values(), *right.values()) > 0


def _levels(part: _Part, steps: Sequence[LevelStep]) -> Levels:
    ladder = part.ladder
    metrics = dict.fromkeys([*part.answered(), *(step.metric for step in steps)])
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
        reliable=any(
            arm.found.reliable.get(part.topic_at(at), False) for at, arm in enumerate(part.arms)
        ),
        values={name: part.estimates(name) for name in metrics},
        steps=tuple(steps),
    )
