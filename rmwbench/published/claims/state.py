"""What became of a claim here, as one of seven states, and how many are in each: the same words and
numbers in the terminal, on the page and in docs/claims.md. Pure."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from rmwbench.errors import UserError, did_you_mean
from rmwbench.published.claims.claims_file import Claim
from rmwbench.published.claims.judging.today import CellAnswer, Today

if TYPE_CHECKING:
    from rmwbench.published.claims.claims_ledger import JudgedClaim, LedgerSummary

STATES = {
    "holds": "the whole interval lies on the claimed side, in every cell",
    "does not hold": "in at least one cell the whole interval lies on the other side",
    "undecided": "an interval contains the bar or lies within the margin of it, or there are too "
    "few blocks: these trials do not tell",
    "undecidable": "undecided, and no run could tell: its bar takes more blocks, or longer ones, than "
    "`claims run` has, as is said beside it",
    "machines differ": "it holds on one machine and does not on another, or what another one found "
    "lies on the other side of the bar, outside of the interval that decides",
    "no data": "the metric has no value here, for the reason given",
    "open": "there is an experiment, and nothing has measured it yet",
    "not testable here": "for the reason given",
    "opinion": "listed, not judged",
}
"""Every claim is in one of them."""
DECIDED = ("holds", "does not hold")
SIDE_BY_SIDE = (*DECIDED, "undecided", "undecidable", "no data", "machines differ")
"""States of claims that something was measured of."""
ANSWERS = {name: words for name, words in STATES.items() if name in SIDE_BY_SIDE}
"""Those, with what they mean."""
OF_THE_DATA = (
    "supported",
    "contradicted",
    "contradicted within the source",
    "partly supported",
    "data not published",
)
"""Verdicts of the source's own data that can be asked for; its `no data` and `undecided` give way
to the states of these names."""
OF_HERE = ("proxy", "supported", "refuted")
"""Verdicts of an answer, beside the states."""
NAMES = (*STATES, "proxy", "refuted", *OF_THE_DATA)


def state_of(claim: Claim, today: Sequence[Today]) -> str:
    """By the answer with the most cells and blocks at the claim's own layer, whatever it says;
    unless another machine says the contrary at the same layer."""
    if claim.kind == "opinion":
        return "opinion"
    if claim.test is None:
        return "not testable here"
    if not today:
        return "open"
    first = today[0]
    if any(_contrary(first, other) for other in today[1:] if other.layer == first.layer):
        return "machines differ"
    return "undecidable" if first.takes is not None else first.answer


def _contrary(first: Today, other: Today) -> bool:
    """Whether a decided answer is denied by another machine: it decides the contrary, or what it
    found in a cell lies on the other side of the bar, outside of what decided it."""
    if first.answer not in DECIDED or first.answer == other.answer:
        return False
    if other.answer in DECIDED:
        return True
    found = {(c.part, c.workload): c for c in other.cells if c.answer == "undecided"}
    return any(
        _apart(cell, found[place])
        for cell in first.cells
        if cell.answer == first.answer and (place := (cell.part, cell.workload)) in found
    )


def _apart(decided: CellAnswer, cell: CellAnswer) -> bool:
    if cell.code == "few_blocks" or cell.low is None or cell.high is None:
        return False
    if decided.low is None or decided.high is None:
        return False
    disjoint = cell.high < decided.low or decided.high < cell.low
    return disjoint and cell.value_says not in (None, decided.answer)


def counts(summary: "LedgerSummary") -> str:
    """`holds 43 (40 by proxy), does not hold 25 (25 by proxy), undecided 33, …`."""
    return ", ".join(
        f"{name}{'s' * (name == 'opinion')} {number}"
        + (f" ({proxies} by proxy)" if proxies else "")
        for name, number in summary.states.items()
        for proxies in (summary.proxies.get(name),)
    )


def to_do(source: str) -> str:
    """What measures the open claims of a source, or of a claims file by its path."""
    return f"rmwbench published claims run {source} --budget 30m"


def named(words: Iterable[str], where: str) -> frozenset[str]:
    """The states and verdicts of these names, as printed or with `-` for a blank, or by how they
    begin where that is enough. Raises UserError for any other."""
    return frozenset(_named(word, where) for word in words)


def _named(word: str, where: str) -> str:
    plain = re.sub(r"[\s_-]+", " ", word.strip().casefold())
    begun = [name for name in NAMES if plain and name.startswith(plain)]
    if plain in NAMES or len(begun) == 1:
        return plain if plain in NAMES else begun[0]
    dashed = [name.replace(" ", "-") for name in NAMES]
    raise UserError(
        f"no verdict is called `{word}`",
        where=where,
        expected="one of " + ", ".join(dashed),
        actual=word,
        fix=did_you_mean(plain.replace(" ", "-"), dashed),
    )


def is_one_of(judged: "JudgedClaim", names: Collection[str]) -> bool:
    """Whether the claim is in a state of this name, or has such a verdict: of its source's own
    data, or of here."""
    claim = judged.claim
    of_the_data = {one.verdict for one in (claim.published, claim.corrected) if one}
    of_here = {one.verdict for one in judged.today[:1]}
    told = {judged.state} | of_the_data & set(OF_THE_DATA) | of_here & set(OF_HERE)
    return not told.isdisjoint(names)
