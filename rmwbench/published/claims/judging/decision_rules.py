"""The rules that decide a claim: those of a verdict (`verdict.Rules`), for one statement at a time.
Pure.

A statement needs at least five blocks that both sides have. No difference of two sides is claimed
below the margin. Intervals have the level of the look at which they are taken: a campaign of
`claims run` looks at LOOKS, with the shares of alpha that `sequential.alpha_at` gives. Measuring an
undecided statement again is another look, so the n-th campaign of a machine on which an answer
rests has the share 2⁻ⁿ of alpha, and the shares of all campaigns add up to alpha. If k of n cells
decide a statement, each cell has an (n − k + 1)-th of that share, so that all of them together err
no more often than one cell would (partial conjunction: Benjamini and Heller, Biometrics 64, 2008):
if one cell of n decides, each has an n-th; if all must hold, each has the whole share.

How many blocks or messages would decide a statement if nothing is lost? This is known before a run:
an upper bound on losses that were never seen must meet the bar on a loss, or on the difference of
two losses, and that bound shrinks with messages and with blocks alone. So the bar and the design of
a suite say whether a run can decide: `claims run` has MOST_BLOCKS blocks, none longer than
LONGEST_S.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rmwbench.analysis.stats.intervals import BURST, wrong_trials
from rmwbench.analysis.verdicts import sequential
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.published.claims.amounts import unit_of
from rmwbench.published.claims.claims_file import ClaimTest
from rmwbench.published.claims.derived_suite import LEAST_BLOCKS, LONGEST_S, MOST_BLOCKS
from rmwbench.results.model import Estimate
from rmwbench.suite.predicate import RANGES
from rmwbench.words.numbers import concise, significant_count

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
"""Why a cell is not decided, or has no data."""
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
    """An answer's part of the error. `earlier`: None if all campaigns are over. Otherwise the
    answer is a look of a running campaign, and `earlier` campaigns of this machine, whose blocks
    are not in it, were judged before. `divisor`: see `ErrorFamily.divisor`."""

    earlier: int | None = None
    divisor: int = 1


WHOLE_ERROR = ErrorShare()


def level_of(blocks: Sequence[int], share: ErrorShare = WHOLE_ERROR) -> ErrorLevel:
    """Return the level of an answer that rests on campaigns with these numbers of blocks, in the
    order in which they were run."""
    alpha = RULES.alpha / 2 ** (max(len(blocks), 1) + (share.earlier or 0)) / share.divisor
    last = min(blocks[-1], LOOKS[-1]) if blocks else 0
    return ErrorLevel(
        sequential.alpha_at(LOOKS, last, alpha=alpha, ended=share.earlier is None) / 2
    )


def answer_of_interval(
    test: ClaimTest, value: float | None, low: float, high: float
) -> tuple[Answer, Code | None]:
    """Return the answer for an interval of the test's ratio, difference, exponent or value. A ratio
    of two sides that is nearer to its bar than `Rules.least` is undecided."""
    bar = bar_of(test)
    if test.relation in RANGES:
        return _answer_of_range(test, bar, low, high), None
    below, above = high < bar, low > bar
    on_the_bar = low == high == bar  # nothing of the interval is strictly below or above
    if not (below or above or on_the_bar):
        return "undecided", None
    if test.by == "ratio" and test.right is not None and value is not None:
        margin = 1 + RULES.least()
        if bar / margin <= value <= bar * margin:
            return "undecided", "within_margin"
    return ("holds" if (below if test.relation == "less" else above) else "does not hold"), None


@dataclass(frozen=True)
class ErrorFamily:
    """The answers that share the error of a statement with a cell: its test has `cells` cells, and
    the statement has `tests` tests, one of which is enough against it."""

    cells: int = 1
    tests: int = 1

    def divisor(self, answer: Answer, test: ClaimTest) -> int:
        """Return the divisor of the error of a cell with this answer."""
        of, least, most = required_cells(test, self.cells)
        if answer == "does not hold":
            return max(least * self.tests, most + 1 if most < of else 1)
        return max(of - least + 1, (of - most) * self.tests)


def answer_of_value(test: ClaimTest, value: float | None) -> Answer | None:
    """Return the answer that the value alone, without its interval, would give."""
    if value is None:
        return None
    answer, _ = answer_of_interval(test, None, value, value)
    return None if answer == "undecided" else answer


def bar_of(test: ClaimTest) -> float:
    """Return the bar with which the value is compared, which is the middle of a range."""
    if test.level is not None:
        return test.level
    return test.times if test.relation in RANGES else test.factor


def _answer_of_range(test: ClaimTest, bar: float, low: float, high: float) -> Answer:
    first, last = sorted((bar / test.factor, bar * test.factor))
    inside, outside = first <= low and high <= last, high < first or low > last
    if not (inside or outside):
        return "undecided"
    return "holds" if inside == (test.relation == "within") else "does not hold"


class RequiredCells(NamedTuple):
    """How many of the test's `of` cells must hold: at `least`, and at `most`."""

    of: int
    least: int
    most: int


def required_cells(test: ClaimTest, measured: int) -> RequiredCells:
    """Return how many cells must hold. `measured`: the number of measured cells; the test may speak
    of more."""
    cells = test.cells
    of = max(cells.of, measured) if cells else measured
    if cells is None or (cells.at_least, cells.at_most) == (None, None):
        return RequiredCells(of, of, of)
    return RequiredCells(of, cells.least, of if cells.at_most is None else cells.at_most)


def answer_of_cells(answers: Sequence[Answer], test: ClaimTest) -> Answer:
    """Return the answer of a test from those of its cells, all of the same versions. All cells must
    hold, and one that does not is enough against the test. If the test has `cells`, these say how
    many must hold, and a cell that was not measured or has no data is open."""
    if not answers or all(answer == "no data" for answer in answers):
        return "no data"
    of, least, most = required_cells(test, len(answers))
    holding, open_or_holding = answers.count("holds"), of - answers.count("does not hold")
    if holding > most or open_or_holding < least:
        return "does not hold"
    return "holds" if holding >= least and open_or_holding <= most else "undecided"


def answer_of_tests(answers: Sequence[Answer]) -> Answer:
    """Return the answer of a statement from those of its tests, which must all hold."""
    if "does not hold" in answers:
        return "does not hold"
    if answers and all(answer == "no data" for answer in answers):
        return "no data"
    return "holds" if answers and all(answer == "holds" for answer in answers) else "undecided"


MAX_COUNTED_BLOCKS = 10_000
"""The most blocks that `needed_run` counts up to."""


@dataclass(frozen=True)
class NeededRun:
    """The run that would decide a test if nothing is lost: `blocks` of `steady_s` each (None if the
    length is not known, or has no influence), with `messages` in all (None if blocks alone
    decide)."""

    blocks: int
    steady_s: float | None
    messages: int | None

    @property
    def beyond(self) -> bool:
        """Whether it is longer than any run of `claims run`."""
        return self.blocks > MOST_BLOCKS or (self.steady_s or 0.0) > LONGEST_S

    def text(self) -> str:
        long = "" if self.steady_s is None else f" of {concise(self.steady_s)} s"
        each = "" if self.messages is None else f", {significant_count(self.messages)} messages"
        return f"{self.blocks} blocks{long}{each}"


def needed_run(
    test: ClaimTest,
    sides: Sequence[Estimate | None],
    steady_s: float | None,
) -> NeededRun | None:
    """Return the run that would decide the test if nothing is lost. None if the test has no bar on
    a loss, or if something was lost, since then the spread of the trials decides. `sides`: the
    metric of left and right; `steady_s`: the length of the window of one of their trials."""
    if any(side is not None and side.value for side in sides) or sides[0] is None:
        return None
    if test.times_metric or unit_of(test.metric) != "fraction" or not test.level:
        return None
    if test.by == "difference":
        return _run_by_blocks(abs(test.level))
    below = test.right is None and test.relation == "less" and not test.existence
    return _run_by_messages(test.level, sides[0], steady_s) if below else None


def _run_by_blocks(level: float) -> NeededRun:
    """Return the fewest blocks that exclude an unseen share of failing trials as large as
    `level`."""
    numbers = range(2, MAX_COUNTED_BLOCKS)
    deciding = (n for n in numbers if wrong_trials(n, level_of([n]).confidence) < level)
    return NeededRun(next(deciding, MAX_COUNTED_BLOCKS), None, None)


def _run_by_messages(level: float, side: Estimate, steady_s: float | None) -> NeededRun | None:
    """Return the run whose messages bring the upper bound on the loss, if none is lost, below
    `level`, with losses in bursts (`intervals.clustered_fraction`): MOST_BLOCKS blocks of the
    length that this needs."""
    if not side.count or not side.trials:
        return None
    needed = math.ceil(-math.log(2 * level_of([MOST_BLOCKS]).error) * BURST / level)
    each = side.count / side.trials
    if steady_s is None:
        return NeededRun(math.ceil(needed / each), None, needed)
    return NeededRun(MOST_BLOCKS, needed / MOST_BLOCKS * steady_s / each, needed)
