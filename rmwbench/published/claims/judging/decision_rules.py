"""The rules that decide a claim: those of a verdict (`verdict.Rules`), for one statement at a time.
Pure.

A statement needs at least five blocks that both sides have. No difference of two sides is claimed
below the margin. Intervals have the level of the look at which they are taken: a campaign of
`claims run` looks at LOOKS, with the shares of alpha that `sequential.alpha_at` gives. Measuring an
undecided statement again is another look, so the n-th campaign of a machine on which an answer
rests has the share 2⁻ⁿ of alpha, and the shares of all campaigns add up to alpha. Where k of n
cells decide a statement, each cell has an (n − k + 1)-th of that share, so that all of them
together err no more often than one cell would (partial conjunction: Benjamini and Heller,
Biometrics 64, 2008): where one cell of n decides, each has an n-th; where all must hold, each has
the whole share.

How many blocks or messages would decide a statement if nothing is lost? The answer is known before
a run: a bar on a loss, or on the difference of two losses, is met by an upper bound on losses that
were never seen, which shrinks with messages and with blocks alone. So the bar and the design of a
suite say whether a run can decide: `claims run` has MOST_BLOCKS blocks, none longer than LONGEST_S.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.stats.intervals import BURST, wrong_trials
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
    """The part of the error that an answer has. `earlier`: None where all campaigns are over. Else
    the answer is a look of a campaign under way, and `earlier` campaigns of this machine, whose
    blocks are not in it, were judged before. `among`: the divisor (`ErrorFamily.among`)."""

    earlier: int | None = None
    among: int = 1


ALL_OF_IT = ErrorShare()


def level_of(blocks: Sequence[int], share: ErrorShare = ALL_OF_IT) -> ErrorLevel:
    """The level of an answer that rests on campaigns with these numbers of blocks, in the order in
    which they were run."""
    alpha = RULES.alpha / 2 ** (max(len(blocks), 1) + (share.earlier or 0)) / share.among
    last = min(blocks[-1], LOOKS[-1]) if blocks else 0
    return ErrorLevel(
        sequential.alpha_at(LOOKS, last, alpha=alpha, ended=share.earlier is None) / 2
    )


def decided(
    test: ClaimTest, value: float | None, low: float, high: float
) -> tuple[Answer, Code | None]:
    """The answer that an interval of the test's ratio, difference, exponent or value gives. A ratio
    of two sides that is nearer to its bar than `Rules.least` is undecided."""
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
    """The answers that share the error of a statement with a cell: its test has `cells` cells, and
    the statement `tests` tests, one of which is enough against it."""

    cells: int = 1
    tests: int = 1

    def among(self, answer: Answer, test: ClaimTest) -> int:
        """The divisor of the error of a cell with this answer."""
        needed = needed_of(test, self.cells)
        if answer == "does not hold":
            return max(needed.least * self.tests, needed.most + 1 if needed.most < needed.of else 1)
        return max(needed.of - needed.least + 1, (needed.of - needed.most) * self.tests)


def leaning(test: ClaimTest, value: float | None) -> Answer | None:
    """The answer that the value alone, without its interval, would give."""
    if value is None:
        return None
    answer, _ = decided(test, None, value, value)
    return None if answer == "undecided" else answer


def bar_of(test: ClaimTest) -> float:
    """The bar with which the value is compared; for a range its middle."""
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
    """How many of the test's `of` cells must hold: at `least`, and at `most`."""

    of: int
    least: int
    most: int


def needed_of(test: ClaimTest, measured: int) -> Needed:
    """How many cells must hold. `measured`: the number of cells measured; the test may speak of
    more."""
    cells = test.cells
    of = max(cells.of, measured) if cells else measured
    if cells is None or (cells.at_least, cells.at_most) == (None, None):
        return Needed(of, of, of)
    return Needed(of, cells.least, of if cells.at_most is None else cells.at_most)


def answer_of_cells(answers: Sequence[Answer], test: ClaimTest) -> Answer:
    """The answer of a test from those of its cells, all of the same versions. All cells must hold,
    and one that does not is enough against the test; where the test has `cells`, as many must hold
    as that says, and a cell without data, or not measured, is open."""
    if not answers or all(answer == "no data" for answer in answers):
        return "no data"
    needed = needed_of(test, len(answers))
    holding, open_or_holding = answers.count("holds"), needed.of - answers.count("does not hold")
    if holding > needed.most or open_or_holding < needed.least:
        return "does not hold"
    is_so = holding >= needed.least and open_or_holding <= needed.most
    return "holds" if is_so else "undecided"


def answer_of_tests(answers: Sequence[Answer]) -> Answer:
    """The answer of a statement from those of its tests, which must all hold."""
    if "does not hold" in answers:
        return "does not hold"
    if answers and all(answer == "no data" for answer in answers):
        return "no data"
    return "holds" if answers and all(answer == "holds" for answer in answers) else "undecided"


MAX_COUNTED_BLOCKS = 10_000
"""The most blocks that `run_needed` counts up to."""


@dataclass(frozen=True)
class RunNeeded:
    """The run that would decide a test if nothing is lost: `blocks` of `steady_s` each (None where
    the length changes nothing or is not known), with `messages` in all (None where blocks alone
    decide)."""

    blocks: int
    steady_s: float | None
    messages: int | None

    @property
    def beyond(self) -> bool:
        """Whether it is longer than any run of `claims run`."""
        return self.blocks > MOST_BLOCKS or (self.steady_s or 0.0) > LONGEST_S

    def text(self) -> str:
        long = "" if self.steady_s is None else f" of {self.steady_s:.3g} s"
        each = "" if self.messages is None else f", {significant_count(self.messages)} messages"
        return f"{self.blocks} blocks{long}{each}"


def run_needed(
    test: ClaimTest,
    sides: Sequence[Estimate | None],
    steady_s: float | None,
) -> RunNeeded | None:
    """The run that would decide the test if nothing is lost. None where the test has no bar on a
    loss, or where something was lost: then the spread of the trials decides. `sides`: the metric of
    left and right; `steady_s`: the length of the window of one of their trials."""
    if any(side is not None and side.value for side in sides) or sides[0] is None:
        return None
    if test.times_metric or unit_of(test.metric) != "fraction" or not test.level:
        return None
    if test.by == "difference":
        return _blocks(abs(test.level))
    below = test.right is None and test.relation == "less" and not test.existence
    return _messages(test.level, sides[0], steady_s) if below else None


def _blocks(level: float) -> RunNeeded:
    """As many blocks as exclude that a share of trials as large as `level` goes wrong unseen."""
    counted = range(2, MAX_COUNTED_BLOCKS)
    blocks = next(
        (n for n in counted if wrong_trials(n, level_of([n]).confidence) < level),
        MAX_COUNTED_BLOCKS,
    )
    return RunNeeded(blocks, None, None)


def _messages(level: float, side: Estimate, steady_s: float | None) -> RunNeeded | None:
    """As many messages as put the upper bound on the loss, where none was lost, below `level`, with
    losses in bursts (`intervals.clustered_fraction`): in MOST_BLOCKS blocks of the length that this
    needs."""
    if not side.count or not side.trials:
        return None
    needed = math.ceil(-math.log(2 * level_of([MOST_BLOCKS]).error) * BURST / level)
    each = side.count / side.trials
    if steady_s is None:
        return RunNeeded(math.ceil(needed / each), None, needed)
    return RunNeeded(MOST_BLOCKS, needed / MOST_BLOCKS * steady_s / each, needed)
