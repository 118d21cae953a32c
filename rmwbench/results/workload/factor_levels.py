"""Compares the levels of a factor for each arm: every level with the one before it and with the
first, in the primary metric, in delivery, and in costs, paired within blocks.

The primary metric and delivery of all arms are judged together, delivery first; costs are judged
together in a second step. Where the levels are graphs of several sizes, a line per arm and cost
says how discovery grows with the number of nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.analysis.metrics.aggregate import aggregate, judged_loss
from rmwbench.analysis.metrics.comparisons import json_column
from rmwbench.analysis.metrics.glossary import GLOSSARY, Use, names_for
from rmwbench.analysis.metrics.judged_topics import POOLED
from rmwbench.analysis.stats import growth
from rmwbench.analysis.verdicts import statements
from rmwbench.analysis.verdicts.gains import has_ratio
from rmwbench.analysis.verdicts.ladders import Ladder, Rung, ladders, steps
from rmwbench.analysis.verdicts.ranking_words import words
from rmwbench.analysis.verdicts.statements import Statement, StatementAnswer
from rmwbench.analysis.verdicts.verdict import BlockRatio, Rules
from rmwbench.results.model import Estimate
from rmwbench.results.show_model import CostGrowth, Levels, LevelStep
from rmwbench.results.workload.workload_arm import ArmReport, statement

COSTS = names_for(Use.EFFECT)


@dataclass(frozen=True)
class _Question:
    """A statement about two levels of a ladder."""

    level: Any
    against: Any
    statement: Statement


@dataclass(frozen=True)
class _Part:
    """A ladder in one topic, or in the whole workload (None). `arms` and `comparisons` have one
    entry per level."""

    ladder: Ladder
    topic: str | None
    arms: tuple[ArmReport, ...]
    comparisons: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole workload that has unlike topics at some level."""
        return self.topic is None and any(arm.topics for arm in self.arms)

    @property
    def primary(self) -> str:
        return self.arms[0].primary

    def estimates(self, metric: str) -> tuple[Estimate, ...]:
        entry = GLOSSARY[metric]
        return tuple(aggregate(entry, arm.trials_in(self.topic)) for arm in self.arms)

    def judged_metrics(self) -> list[str]:
        """Return the primary metric, and the loss that is judged before it; neither over unlike
        topics together."""
        if self.is_whole and self.primary in POOLED:
            return []
        return [self.primary, judged_loss(self.primary)]

    def cost_metrics(self) -> list[str]:
        """Return the costs of processes for a whole workload, those of calls for a topic."""
        unlike = self.topic is not None or self.is_whole
        return [
            name
            for name in COSTS
            if name != self.primary
            and not (unlike and (name in POOLED) != (self.topic is not None))
        ]


def levels_of_arms(arms: Mapping[str, Sequence[ArmReport]], rules: Rules) -> tuple[Levels, ...]:
    """Return `levels` of the show document. `arms`: comparison -> its arms; `rules.alpha` is that
    of the report, or of its last look."""
    parts = list(enumerate(_parts(arms)))
    judged_steps = _judged([_questions(n, part, part.judged_metrics()) for n, part in parts], rules)
    cost_steps = _judged([_cost_questions(n, part) for n, part in parts], rules)
    return tuple(
        _levels(part, [*judged, *costs])
        for (_, part), judged, costs in zip(parts, judged_steps, cost_steps, strict=True)
    )


def _parts(arms: Mapping[str, Sequence[ArmReport]]) -> Iterator[_Part]:
    reports, comparison_of = {}, {}
    for comparison, compared in arms.items():
        for arm in compared:
            comparison_of[arm.cell["cell"]] = comparison
            if not arm.floor and not arm.not_supported:
                reports[arm.cell["cell"]] = arm
    all_ladders = ladders(
        Rung(
            *(number, arm.cell["workload"], arm.name),
            json_column(arm.cell["factors"]),
            arm.definition,
        )
        for number, arm in reports.items()
    )
    for ladder in (whole.only(lambda cell: bool(reports[cell].trials)) for whole in all_ladders):
        steps_of_arm = tuple(reports[cell] for cell in ladder.cells)
        if len(steps_of_arm) < 2 or len({arm.primary for arm in steps_of_arm}) > 1:
            continue
        comparisons = tuple(comparison_of[cell] for cell in ladder.cells)
        yield _Part(ladder, None, steps_of_arm, comparisons)
        for name in dict.fromkeys(topic.name for arm in steps_of_arm for topic in arm.topics):
            # a level may lack a topic that another level has
            if all(arm.trials_in(name) for arm in steps_of_arm):
                yield _Part(ladder, name, steps_of_arm, comparisons)


def _judged(questions: Sequence[Sequence[_Question]], rules: Rules) -> list[list[LevelStep]]:
    """Return the steps of each part, judged all at once: they share one probability of error."""
    statement_list = [question.statement for of_part in questions for question in of_part]
    answers = iter(statements.judge(statement_list, rules))
    return [[_step(question, next(answers), rules) for question in part] for part in questions]


def _step(question: _Question, answer: StatementAnswer, rules: Rules) -> LevelStep:
    return LevelStep(
        metric=question.statement.metric.name,
        level=question.level,
        against=question.against,
        answer=answer,
        not_worse=is_not_worse(question.statement, answer, rules),
    )


def is_not_worse(question: Statement, answer: StatementAnswer, rules: Rules) -> bool:
    """Whether the interval of a judged statement shows that the left side is not worse by more than
    the margin. It never does if identical arms may differ by more than the margin, or if the clocks
    of the hosts are not known exactly."""
    ratio = answer.effect
    if answer.verdict in ("worse", "no data") or not isinstance(ratio, BlockRatio):
        return False
    if rules.aa_floor > rules.margin or ratio.blocks < rules.min_blocks:
        return False
    if any(np.any(side) for side in question.bounds_of_values()):
        return False
    behind = ratio.inverse() if words(question.metric.name).higher else ratio
    return behind.high <= 1 + rules.margin


def _questions(number: int, part: _Part, metrics: Sequence[str]) -> list[_Question]:
    levels, arms = part.ladder.levels, part.arms
    return [
        _Question(
            levels[at],
            levels[against],
            statement(arms[at], arms[against], metric, part.topic, (number, at, against)),
        )
        for metric in metrics
        for at, against in steps(len(arms))
    ]


def _cost_questions(number: int, part: _Part) -> list[_Question]:
    """Return the questions about costs that both levels have and that are nowhere 0."""
    questions = _questions(number, part, part.cost_metrics())
    return [q for q in questions if has_ratio(q.statement.left, q.statement.right)]


def _levels(part: _Part, judged: Sequence[LevelStep]) -> Levels:
    ladder = part.ladder
    metrics = dict.fromkeys([*part.judged_metrics(), *(step.metric for step in judged)])
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
        fates=tuple(arm.fates_in(part.topic) for arm in part.arms) if part.judged_metrics() else (),
        steps=tuple(judged),
    )


def graph_of(definition: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return how many nodes a cell brings up, or has at its start, and in how many processes; None
    if some join late, since the graph is never complete at one time then."""
    managed = definition.get("bring_up")
    if managed is None and any(
        endpoint.get("joins_s") is not None for endpoint in definition.get("endpoints") or ()
    ):
        return None
    processes = [process.get("nodes") or () for process in definition.get("processes") or ()]
    if managed is not None:  # without the manager itself
        processes = [set(nodes) & set(managed["nodes"]) for nodes in processes]
    counts = [len(nodes) for nodes in processes if nodes]
    return (sum(counts), len(counts)) if counts else None


def growths(arms: Mapping[str, Sequence[ArmReport]]) -> tuple[CostGrowth, ...]:
    """Return `growth` of the show document. `arms`: comparison -> its arms."""
    graphs = {name: graph_of(of[0].definition) for name, of in arms.items() if of}
    sizes = growth.sizes_of(list(arms), graphs)
    out = []
    for name in dict.fromkeys(arm.name for workload in sizes for arm in arms[workload]):
        of_arm = {
            n: arm for workload, n in sizes.items() for arm in arms[workload] if arm.name == name
        }
        for metric in names_for(Use.GROWTH):
            fit = growth.growth(
                {n: {t.block: v for t, v in arm.values[metric]} for n, arm in of_arm.items()}
            )
            if fit is None:
                continue
            out.append(
                CostGrowth(
                    arm=name,
                    metric=metric,
                    exponent=round(fit.exponent, 3),
                    low=round(fit.low, 3),
                    high=round(fit.high, 3),
                    blocks=fit.blocks,
                    nodes=tuple(fit.sizes),
                    text=growth.words(fit),
                )
            )
    return tuple(out)
