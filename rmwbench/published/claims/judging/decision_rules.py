"""By which rules a claim is decided: those of a verdict (`verdict.Rules`), for one statement at a
time. Pure.

At least five blocks that both sides have; no difference of two sides is claimed below the margin;
intervals stand at the level of the look at which they are taken. A campaign of `claims run` looks
at LOOKS, with the shares of alpha that `sequential.alpha_at` gives. Whoever measures again what is
still undecided looks once more, so the n-th campaign of a machine that an answer rests on has the
share 2⁻ⁿ of alpha: the shares of all campaigns together are alpha. Where k of n cells decide a
statement, each of them has an (n − k + 1)-th of that, so that all together err no more often than
one would (partial conjunction: Benjamini and Heller, Biometrics 64, 2008): one of n an n-th, all of
them the whole.

What it would take to decide a statement if nothing at all were lost is known besides: a bar on a
loss, or on how much larger one is than another, is met by bounds on what was never seen, which
shrink with messages and with blocks alone. So the bar and the design of a suite say by themselves
whether a run can decide: `claims run` has MOST_BLOCKS blocks, none of them longer than LONGEST_S.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.stats.intervals import BURST
from rmwbench.analysis.verdicts import sequential
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.published.claims.amounts import unit_of
from rmwbench.published.claims.claims_file import ClaimTest
from rmwbench.published.claims.derived_suite import LEAST_BLOCKS, LONGEST_S, MOST_BLOCKS
from rmwbench.results.model import Estimate
from rmwbench.suite.predicate import RANGES
from rmwbench.words.numbers import significant_count

Answer = Literal["holds", "does not hold", "undecided", "no data"]
DECIDED = ("holds", "does not hold")
Code = Literal[
    "few_blocks",
    "few_for_infinite",
    "within_margin",
    "no_ratio",
    "lost",
    "one_of_many",
    "no_fraction",
    "absent",
    "not_supported",
    "machine_bound",
    "other_machine",
    "other_touch",
]
"""Why a cell says no more than it does."""
RULES = Rules()
LOOKS = sequential.planned_looks(LEAST_BLOCKS, MOST_BLOCKS)


@dataclass(frozen=True)
class ErrorLevel:
    """`error`: the probability with which each bound of an interval may err."""

    error: float

    @property
    def confidence(self) -> float:
        return 1 - 2 * self.error


@dataclass(frozen=True)
class ErrorShare:
    """What part of the error an answer has. `earlier`: the last campaign is not over, this is one
    of its looks, and so many campaigns of this machine, whose blocks are not in it, were judged
    before; None where all are over. `among`: by what it is divided (`ErrorFamily.among`)."""

    earlier: int | None = None
    among: int = 1


ALL_OF_IT = ErrorShare()


def level_of(blocks: Sequence[int], share: ErrorShare = ALL_OF_IT) -> ErrorLevel:
    """For an answer that rests on campaigns of so many blocks, in the order in which they were
    run."""
    alpha = RULES.alpha / 2 ** (max(len(blocks), 1) + (share.earlier or 0)) / share.among
    last = min(blocks[-1], LOOKS[-1]) if blocks else 0
    return ErrorLevel(
        sequential.alpha_at(LOOKS, last, alpha=alpha, ended=share.earlier is None) / 2
    )


def unseen(blocks: int, level: ErrorLevel) -> float:
    """The share of trials that may still go wrong as a whole where none of so many did: of a share
    p no bad one is seen with probability (1 − p)^blocks."""
    return float(1 - (2 * level.error) ** (1 / blocks))


def decided(
    test: ClaimTest, value: float | None, low: float, high: float
) -> tuple[Answer, Code | None]:
    """What an interval of the test's ratio, difference, exponent or value says. A ratio of two
    sides that is nearer to its bar than `Rules.least` is called neither."""
    bar = bar_of(test)
    if test.relation in RANGES:
        return _of_range(test, bar, low, high), None
    below, above = high < bar, low > bar
    on_the_bar = low == high == bar  # all of it: nothing is strictly below or above
    if not (below or above or on_the_bar):
        return "undecided", None
    if test.by == "ratio" and test.right is not None and _near(value, bar, RULES.least()):
        return "undecided", "within_margin"
    return ("holds" if (below if test.relation == "less" else above) else "does not hold"), None


@dataclass(frozen=True)
class ErrorFamily:
    """What a cell of a test stands among: so many `cells` in its test, and the `tests` of the
    statement, of which one is enough against it."""

    cells: int = 1
    tests: int = 1

    def among(self, answer: Answer, test: ClaimTest) -> int:
        """By what the error of a cell with this answer is divided."""
        needed = needed_of(test, self.cells)
        if answer == "does not hold":
            return max(needed.least * self.tests, needed.most + 1 if needed.most < needed.of else 1)
        return max(needed.of - needed.least + 1, (needed.of - needed.most) * self.tests)


def leaning(test: ClaimTest, value: float | None) -> Answer | None:
    """What the value alone would say."""
    if value is None:
        return None
    answer, _ = decided(test, None, value, value)
    return None if answer == "undecided" else answer


def bar_of(test: ClaimTest) -> float:
    """What the value is compared with; of a range its middle."""
    if test.level is not None:
        return test.level
    return test.times if test.relation in RANGES else test.factor


def _of_range(test: ClaimTest, bar: float, low: float, high: float) -> Answer:
    first, last = sorted((bar / test.factor, bar * test.factor))
    inside, outside = first <= low and high <= last, high < first or low > last
    if not (inside or outside):
        return "undecided"
    return "holds" if inside == (test.relation == "within") else "does not hold"


def _near(value: float | None, bar: float, least: float) -> bool:
    return value is not None and bar / (1 + least) <= value <= bar * (1 + least)


@dataclass(frozen=True)
class Needed:
    """How many `of` the cells must be as the test says: at `least`, and at `most`."""

    of: int
    least: int
    most: int


def needed_of(test: ClaimTest, measured: int) -> Needed:
    """`measured`: the cells that there are; the test may speak of more."""
    cells = test.cells
    of = max(cells.of, measured) if cells else measured
    if cells is None or (cells.at_least, cells.at_most) == (None, None):
        return Needed(of, of, of)
    return Needed(of, cells.least, of if cells.at_most is None else cells.at_most)


def together(answers: Sequence[Answer], test: ClaimTest) -> Answer:
    """The answer of one test's cells, all of the same versions: all must hold, and one against it
    is enough; or as many as the test's `cells` says, where those without data, and those that were
    not measured, are open."""
    if not answers or all(answer == "no data" for answer in answers):
        return "no data"
    needed = needed_of(test, len(answers))
    holding, open_or_holding = answers.count("holds"), needed.of - answers.count("does not hold")
    if holding > needed.most or open_or_holding < needed.least:
        return "does not hold"
    is_so = holding >= needed.least and open_or_holding <= needed.most
    return "holds" if is_so else "undecided"


def whole(answers: Sequence[Answer]) -> Answer:
    """The answer of a compound statement, of those of its tests."""
    if "does not hold" in answers:
        return "does not hold"
    if answers and all(answer == "no data" for answer in answers):
        return "no data"
    return "holds" if answers and all(answer == "holds" for answer in answers) else "undecided"


MOST = 10_000
"""Beyond so many blocks it is not counted."""


@dataclass(frozen=True)
class Takes:
    """`blocks` of `steady_s` each, None where the length changes nothing or is not known;
    `messages` in all, None where blocks alone decide."""

    blocks: int
    steady_s: float | None
    messages: int | None

    @property
    def beyond(self) -> bool:
        """Whether no run of `claims run` is so long."""
        return self.blocks > MOST_BLOCKS or (self.steady_s or 0.0) > LONGEST_S

    def text(self) -> str:
        long = "" if self.steady_s is None else f" of {self.steady_s:.3g} s"
        each = "" if self.messages is None else f", {significant_count(self.messages)} messages"
        return f"{self.blocks} blocks{long}{each}"


def takes(
    test: ClaimTest,
    sides: Sequence[Estimate | None],
    steady_s: float | None,
) -> Takes | None:
    """None where the test is not of this kind, or where something was lost: then the trials tell by
    their spread. `sides`: the metric of left and right; `steady_s`: of one of these trials."""
    if any(side is not None and side.value for side in sides) or sides[0] is None:
        return None
    if test.times_metric or unit_of(test.metric) != "fraction" or not test.level:
        return None
    if test.by == "difference":
        return _blocks(abs(test.level))
    below = test.right is None and test.relation == "less" and not test.existence
    return _messages(test.level, sides[0], steady_s) if below else None


def _blocks(level: float) -> Takes:
    """So that no share of trials as large as the difference may have gone wrong unseen."""
    blocks = next((n for n in range(2, MOST) if unseen(n, level_of([n])) < level), MOST)
    return Takes(blocks, None, None)


def _messages(level: float, side: Estimate, steady_s: float | None) -> Takes | None:
    """So many that none seen lies below the level, in bursts (`intervals.clustered_fraction`): in
    MOST_BLOCKS blocks as long as that takes."""
    if not side.count or not side.trials:
        return None
    needed = math.ceil(-math.log(2 * level_of([MOST_BLOCKS]).error) * BURST / level)
    each = side.count / side.trials
    if steady_s is None:
        return Takes(math.ceil(needed / each), None, needed)
    return Takes(MOST_BLOCKS, needed / MOST_BLOCKS * steady_s / each, needed)
