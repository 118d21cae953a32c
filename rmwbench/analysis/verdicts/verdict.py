"""The input and the output of a comparison: arms, rules, ratios and verdicts.

A trial that failed by the worker's fault is a block that its arm lost: none of its messages
arrived. A trial that the machine or the orchestrator spoilt says nothing about an arm and is in no
block."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import reduce
from operator import add
from statistics import median_low
from typing import Any, Literal, Protocol

from rmwbench.analysis.metrics.fates import FateCounts, Fates
from rmwbench.analysis.metrics.glossary import Better, Metric
from rmwbench.analysis.verdicts.ranking_words import TIME, RankingWords
from rmwbench.codes import FailedBy
from rmwbench.words.fields import absent


class Family(StrEnum):
    """How publishers give a payload to the middleware: they hand it over to be copied, or write it
    into memory that the middleware lends. These are two kinds of work, so each has its own best arm
    and its own floor."""

    COPY = "copy"
    LOAN = "loan"


@dataclass(frozen=True)
class JudgedArm:
    """One arm in one workload. `primary`: block -> the trial's primary metric (0, +inf allowed),
    turned so that a smaller value is better: the reciprocal where a larger value is better.

    `undelivered`: block -> (messages that did not arrive sound and in time, messages wanted). Only
    done trials are listed; `failed` are the blocks whose trial failed by the worker's fault, so
    that the arm lost them. `bounds`: block -> how far `primary` may be from the truth for the
    clocks of two hosts, in its unit; an absent block has 0. `barred`: why an arm that has trials
    gets no verdict; it has no values then. `order`: the words for a smaller value. `since`: block
    -> the number of blocks of the campaign from which on it counts, where a look had passed before
    it ran. `busy`: block of each done trial -> whether it was machine-bound, where that matters;
    `excluded_blocks`: the blocks that no arm of the comparison has because an arm was machine-bound
    (disturbances.py). `family`: the arm is compared within it. `fates`: block of each done trial ->
    the fates of its messages, where they were counted."""

    name: str
    primary: Mapping[int, float]
    undelivered: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    floor: bool = False
    reliable: bool = True
    bounds: Mapping[int, float] = field(default_factory=dict)
    failed: frozenset[int] = frozenset()
    barred: str | None = None
    order: RankingWords = TIME
    since: Mapping[int, int] = field(default_factory=dict)
    busy: Mapping[int, bool] = field(default_factory=dict)
    excluded_blocks: frozenset[int] = frozenset()
    family: Family = Family.COPY
    fates: Mapping[int, FateCounts] = field(default_factory=dict)

    def values(self) -> Mapping[int, float]:
        """Block -> the primary metric itself."""
        return {
            block: self.order.as_lower_is_better(value) for block, value in self.primary.items()
        }

    @property
    def undelivered_share(self) -> float:
        """The fraction of its messages that it did not deliver; 0 without messages."""
        wanted = sum(of for _, of in self.undelivered.values())
        return sum(events for events, _ in self.undelivered.values()) / wanted if wanted else 0.0

    def in_blocks(self, keeps: Callable[[int], bool]) -> "JudgedArm":
        """The arm with its results in these blocks alone, lost blocks included."""
        return replace(
            self,
            primary={b: v for b, v in self.primary.items() if keeps(b)},
            undelivered={b: v for b, v in self.undelivered.items() if keeps(b)},
            failed=frozenset(filter(keeps, self.failed)),
        )

    def fates_together(self) -> Fates | None:
        """The sum of the fates over its blocks, with the blocks that it lost; None where fates were
        not counted."""
        done = [counts for block, counts in self.fates.items() if block in self.undelivered]
        failed = len(self.failed - self.fates.keys())
        if not done:
            return None
        return reduce(add, done).fates(failed=failed, trials=len(done) + failed)


ALL_LOST = 1.0
"""The loss of a failed trial: no message of the trial reached a reader, or the end of a chain. How
many messages it sent is not known, so it is in no share of late messages or of messages never
sent."""


class FailedLine(Protocol):
    @property
    def status(self) -> str: ...

    @property
    def failed_by(self) -> str | None: ...


def lost_by_its_arm(line: FailedLine) -> bool:
    """Whether a finished trial is a block that its arm lost. A journal that does not say whose
    fault a failure was is from an older version: nearly all its failures were the workers'."""
    return line.status == "failed" and (line.failed_by or FailedBy.WORKER) == FailedBy.WORKER


def with_failed_blocks(arms: Sequence[JudgedArm]) -> list[JudgedArm]:
    """The arms of one workload with their failed blocks: +inf in `primary`, and in `undelivered` as
    many messages, none of them delivered, as a trial of this arm, or else of this workload, usually
    has. `undelivered` stays empty for metrics without messages."""
    of_workload = [wanted for arm in arms for _, wanted in arm.undelivered.values()]
    judged_arms = []
    for arm in arms:
        lost = sorted(arm.failed - arm.primary.keys())
        wanted = [wanted for _, wanted in arm.undelivered.values()] or of_workload
        messages = dict.fromkeys(lost, (median_low(wanted),) * 2) if wanted else {}
        primary = dict(arm.primary) | dict.fromkeys(lost, math.inf)
        undelivered = dict(arm.undelivered) | messages
        judged_arms.append(replace(arm, primary=primary, undelivered=undelivered) if lost else arm)
    return judged_arms


def with_lost_blocks(
    entry: Metric, values: Mapping[int, Any], lost: Iterable[int], *, primary: bool
) -> dict[int, Any]:
    """Block -> value, or (events, of) of a fraction, with the blocks that an arm lost. Such a block
    has the metric's value for a failed trial. The `primary` metric without such a value is infinite
    there, or 0 where a larger value is better. A lost block has as many messages as usual, and none
    is delivered. What it costs is not known: other metrics have no value for it."""
    lost = sorted(set(lost) - values.keys())
    if not values or not lost:
        return dict(values)
    if entry.failed_value == ALL_LOST:
        usual = median_low(of for _, of in values.values())
        return dict(values) | dict.fromkeys(lost, (usual, usual))
    worst = entry.failed_value
    if worst is None and primary:
        worst = 0.0 if entry.better is Better.HIGHER else math.inf
    return dict(values) | ({} if worst is None else dict.fromkeys(lost, worst))


def undelivered_shares(arms: Sequence[JudgedArm]) -> dict[str, float]:
    """Arm -> the fraction of its messages that it did not deliver, with the blocks that it lost; 0
    for an arm without messages. `arms` are of one workload or of one of its topics."""
    return {arm.name: arm.undelivered_share for arm in with_failed_blocks(arms)}


def never_works(arm: JudgedArm) -> bool:
    """Whether the arm was tried, and failed every time."""
    return bool(arm.failed) and not arm.primary and not arm.undelivered


@dataclass(frozen=True)
class Ratio:
    """A ratio with its interval over `blocks` blocks. `caution`: the error that the
    interval leaves out. `no_data`: why there is no ratio."""

    value: float | None = absent()
    low: float | None = absent()
    high: float | None = absent()
    blocks: int | None = absent()
    caution: str | None = absent()
    no_data: str | None = absent()


@dataclass(frozen=True)
class BlockRatio(Ratio):
    """The geometric mean of block ratios."""

    value: float = field()
    low: float = field()
    high: float = field()
    blocks: int = field()

    def inverse(self) -> "BlockRatio":
        low, high = 1 / self.high, 1 / self.low if self.low > 0 else math.inf
        return BlockRatio(1 / self.value, low, high, self.blocks)


@dataclass(frozen=True)
class NoRatio(Ratio):
    no_data: str = field(kw_only=True)


VerdictName = Literal["best", "equivalent", "worse", "undecided", "alone", "reference", "no data"]


class By(StrEnum):
    """Why an arm is worse: it delivers less, it is slower (its primary metric is larger), or it
    never works."""

    DELIVERY = "delivery"
    PRIMARY = "primary"
    FAILURE = "failure"


@dataclass(frozen=True)
class Verdict:
    """`by`: why a worse arm is worse; `fates`: the fates of the messages that an arm that is worse
    by delivery did not deliver in the judged blocks. `minutes_to_decide`: the length of a campaign
    that would decide an open verdict; None where no campaign would, or where nothing is open."""

    verdict: VerdictName
    against: str | None
    ratio: Ratio | None
    reason: str
    minutes_to_decide: float | None = None
    by: By | None = None
    fates: Fates | None = None

    @property
    def ranks(self) -> bool:
        """Whether the arm was compared with others: the floor, an only contender and an arm
        without data are not."""
        return self.verdict not in ("reference", "no data", "alone")


Verdicts = Mapping[str, Mapping[str, Verdict]]
"""Workload -> arm -> verdict."""


NOISE_BLOCKS = 5
"""The number of blocks for which a calibration states the A/A floor."""


@dataclass(frozen=True)
class Rules:
    """The conditions of a claim. An arm is called worse where the interval of its ratio clears 1 +
    `aa_floor` *and* the ratio itself clears 1 + `least()`; equivalent where the interval stays
    below 1 + `margin`. Why both: docs/formulas.md.

    `alpha`: the error of the whole report, or the share of one look (`sequential.alpha_at`); 0
    decides nothing. `margin`: the ratio minus 1 that matters. `aa_floor`: the ratio minus 1 by
    which identical arms differ in measurements of any length; 0 for arms that shared randomised
    blocks, where there is no such difference, and the A/A noise for campaigns that did not.
    `noise`: the ratio minus 1 within which a calibration saw identical arms stay after NOISE_BLOCKS
    blocks; it decides nothing, a verdict about a smaller ratio mentions it. `loss_margin`: the
    fraction of messages that a best-effort arm may lose more than another arm before loss is
    judged; reliable arms have none. `ahead`: (blocks, alpha) of the looks still to come,
    `campaign_alpha`: the error of a separate campaign; both only serve to say how long a decision
    would take."""

    alpha: float = 0.05
    margin: float = 0.05
    min_blocks: int = 5
    minutes_per_block: float | None = None
    loss_margin: float = 0.01
    aa_floor: float = 0.0
    noise: float = 0.0
    ahead: tuple[tuple[int, float], ...] = ()
    campaign_alpha: float | None = None

    def least(self) -> float:
        """The smallest ratio minus 1 that is claimed to be a difference."""
        return max(self.margin, self.aa_floor)

    def noise_at(self, blocks: int) -> float:
        """The ratio minus 1 within which the calibration saw identical arms stay, converted to this
        number of blocks."""
        return math.expm1(math.log1p(self.noise) * math.sqrt(NOISE_BLOCKS / max(blocks, 1)))
