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
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.verdicts import sequential
from rmwbench.analysis.verdicts.verdict import Rules
from rmwbench.published.claims.claims_file import ClaimTest
from rmwbench.published.claims.derived_suite import MOST_BLOCKS
from rmwbench.suite.predicate import RANGES

Answer = Literal["holds", "does not hold", "undecided", "no data"]
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
LEAST_BLOCKS = RULES.min_blocks
LOOKS = sequential.looks(LEAST_BLOCKS, MOST_BLOCKS)


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
    if not (below or above):
        # All of it on the bar: nothing is strictly below or above.
        return ("does not hold" if low == high == bar else "undecided"), None
    if test.by == "ratio" and test.right is not None and _near(value, bar, RULES.least()):
        return "undecided", "within_margin"
    return ("holds" if below == (test.relation == "less") else "does not hold"), None


@dataclass(frozen=True)
class ErrorFamily:
    """What a cell of a test stands among: so many `cells` of one version in its test; the `tests`
    of the statement, and the `versions` of its arms, of which one is enough against it."""

    cells: int = 1
    tests: int = 1
    versions: int = 1

    def among(self, answer: Answer, test: ClaimTest) -> int:
        """By what the error of a cell with this answer is divided."""
        needed = needed_of(test, self.cells)
        others = self.tests * self.versions
        if answer == "does not hold":
            return max(needed.least * others, needed.most + 1 if needed.most < needed.of else 1)
        return max(needed.of - needed.least + 1, (needed.of - needed.most) * others)


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


def of_versions(answers: Sequence[Answer]) -> Answer:
    """The answer of a test whose arms have several versions, each with cells of its own; one
    without data says nothing."""
    return whole([answer for answer in answers if answer != "no data"] or answers)


def whole(answers: Sequence[Answer]) -> Answer:
    """The answer of a compound statement, of those of its tests."""
    if "does not hold" in answers:
        return "does not hold"
    if answers and all(answer == "no data" for answer in answers):
        return "no data"
    return "holds" if answers and all(answer == "holds" for answer in answers) else "undecided"
