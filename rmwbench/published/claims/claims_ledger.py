"""The ledger of claims: every claim with its answers, for the terminal, the page, Markdown and
`--json`. Pure.

What became of a claim here is one of STATES, and how many claims are in each: the same words and
numbers in all forms."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from rmwbench.errors import UserError, did_you_mean
from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.claims.claims_file import Claim, Claims, Heading
from rmwbench.published.claims.judging.decision_rules import DECIDED
from rmwbench.published.claims.judging.judge import answers
from rmwbench.published.claims.judging.today import CellAnswer, Today
from rmwbench.published.claims.judging.versions import other_versions
from rmwbench.words.shell import command_line

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
MEASURED = (*DECIDED, "undecided", "undecidable", "no data", "machines differ")
ANSWERS = {name: words for name, words in STATES.items() if name in MEASURED}
"""States of claims that something was measured of, with what they mean."""
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
    """By the answer with the most cells and blocks at the claim's own layer, whatever it says, of
    the newest version where versions differ; unless another machine says the contrary at the same
    layer."""
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
    found in a cell lies on the other side of the bar, outside of what decided it. Another version
    denies nothing."""
    if first.answer not in DECIDED or first.answer == other.answer:
        return False
    if other_versions(first.versions, other.versions):
        return False
    if other.answer in DECIDED:
        return True
    undecided = {(c.part, c.workload): c for c in other.cells if c.answer == "undecided"}
    return any(
        _apart(cell, undecided[place])
        for cell in first.cells
        if cell.answer == first.answer and (place := (cell.part, cell.workload)) in undecided
    )


def _apart(decided: CellAnswer, cell: CellAnswer) -> bool:
    if cell.code == "few_blocks" or cell.low is None or cell.high is None:
        return False
    if decided.low is None or decided.high is None:
        return False
    disjoint = cell.high < decided.low or decided.high < cell.low
    return disjoint and cell.value_says not in (None, decided.answer)


def counts_text(summary: "LedgerSummary") -> str:
    """`holds 43 (40 by proxy), does not hold 25 (25 by proxy), undecided 33, …`."""
    return ", ".join(
        f"{name}{'s' * (name == 'opinion')} {number}"
        + (f" ({proxies} by proxy)" if proxies else "")
        for name, number in summary.states.items()
        for proxies in (summary.proxies.get(name),)
    )


def versions_text(summary: "LedgerSummary") -> str:
    """By which rule claims whose versions differ are counted; empty where there are none."""
    if not summary.versions_differ:
        return ""
    return (
        "Where versions of a middleware have different answers, the newest that was measured is "
        f"counted and the others stand beside it: {', '.join(summary.versions_differ)}."
    )


def to_do(source: str) -> str:
    """What measures the open claims of a source, or of a claims file by its path."""
    return command_line("published", "claims", "run", source, "--budget", "30m")


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


def require_heading(
    sources: Iterable[Claims], heading: str, ids: Mapping[str, Collection[str]], where: str
) -> None:
    """Raises UserError where no heading of these claims (of a source's `ids` alone, where it has
    any) has that text."""
    for source in sources:
        wanted = ids.get(source.claims, ())
        claims = [claim.heading for claim in source.items if not wanted or claim.id in wanted]
        without_claims = [] if wanted else [one.heading for one in source.headings]
        if any(_has(heading, name) for name in (*claims, *without_claims)):
            return
    raise UserError("no heading has that text", where=where, actual=heading)


def is_one_of(judged: "JudgedClaim", names: Collection[str]) -> bool:
    """Whether the claim is in a state of this name, or has such a verdict: of its source's own
    data, or of here."""
    of_the_data = {judgement.verdict for _, judgement in judged.claim.judgements}
    of_here = {answer.verdict for answer in judged.today[:1]}
    claim_names = {judged.state} | of_the_data & set(OF_THE_DATA) | of_here & set(OF_HERE)
    return not claim_names.isdisjoint(names)


SCHEMA, VERSION = "rmwbench/claims", 4


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """A claim, the `layer` that it speaks of, what each campaign says of it, those with data first,
    and what became of it (`STATES`)."""

    claim: Claim
    layer: str
    today: tuple[Today, ...]
    state: str

    @property
    def is_proxy(self) -> bool:
        return bool(self.today) and self.today[0].verdict == "proxy"


@dataclass(frozen=True, kw_only=True)
class SourceLedger:
    """A source with its claims, and with the headings that have none. `run`: what
    measures its open claims."""

    source: str
    title: str
    published: str
    layer: str
    versions: tuple[str, ...]
    claims: tuple[JudgedClaim, ...]
    headings: tuple[Heading, ...]
    run: str


@dataclass(frozen=True, kw_only=True)
class LedgerSummary:
    """How many claims there are, and verdict or state -> how many have it. `states`: all of them,
    also those that no claim is in, so that they add up to the claims; `proxies`: how many of the
    decided ones are proxies; `versions_differ`: the ids of those that are counted by the newest
    version that was measured, since another one has another answer."""

    claims: int
    inferred: int
    opinions: int
    testable: int
    published: Mapping[str, int]
    corrected: Mapping[str, int]
    today: Mapping[str, int]
    answers: Mapping[str, int]
    states: Mapping[str, int]
    proxies: Mapping[str, int]
    versions_differ: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ClaimsLedger:
    """`campaigns`: the names of those that were given, without the shipped ones."""

    campaigns: tuple[str, ...]
    summary: LedgerSummary
    sources: tuple[SourceLedger, ...]

    @property
    def claims(self) -> list[JudgedClaim]:
        return [claim for source in self.sources for claim in source.claims]


def ledger(
    sources: Sequence[Claims],
    campaigns: Sequence[MeasuredCampaign] = (),
    *,
    heading: str | None = None,
    shipped: Mapping[str, Sequence[MeasuredCampaign]] | None = None,
    ids: Mapping[str, Collection[str]] | None = None,
    verdicts: Collection[str] = (),
    given: Mapping[str, str] | None = None,
) -> ClaimsLedger:
    """All claims of these sources, with what each campaign says of them.

    `shipped`: source -> what was measured elsewhere (`summaries.expanded`), which comes behind the
    campaigns. Only those are kept whose heading contains `heading`, whatever the case; whose id is
    among `ids` of its source, where the source has any; and which are in one of the states or have
    one of the `verdicts` (`named`). `given`: source -> how the user named it, where that is
    the path of a file.
    """
    shipped_by_source, given_names, ids_by_source = shipped or {}, given or {}, ids or {}

    def of(source: Claims) -> SourceLedger:
        name = source.claims
        wanted = ids_by_source.get(name, ())
        whole = not (wanted or verdicts)
        claims = (
            _judged(source, claim, campaigns, shipped_by_source.get(name, ()))
            for claim in source.items
            if _has(heading, claim.heading) and (not wanted or claim.id in wanted)
        )
        return SourceLedger(
            source=name,
            title=source.title,
            published=source.published,
            layer=source.layer,
            versions=source.versions,
            claims=tuple(one for one in claims if not verdicts or is_one_of(one, verdicts)),
            headings=tuple(one for one in source.headings if whole and _has(heading, one.heading)),
            run=to_do(given_names.get(name, name)),
        )

    parts = [part for part in map(of, sources) if part.claims or not verdicts]
    return ClaimsLedger(
        campaigns=tuple(campaign.name for campaign in campaigns),
        summary=_summary([claim for part in parts for claim in part.claims]),
        sources=tuple(parts),
    )


def document(claims_ledger: ClaimsLedger) -> dict[str, Any]:
    """As `--json` prints it (docs/formats/claims.md)."""
    return {"schema": SCHEMA, "version": VERSION, **_plain(claims_ledger)}


def _has(heading: str | None, name: str) -> bool:
    return heading is None or heading.casefold() in name.casefold()


def _judged(
    source: Claims,
    claim: Claim,
    campaigns: Sequence[MeasuredCampaign],
    shipped: Sequence[MeasuredCampaign],
) -> JudgedClaim:
    today = tuple(answers(source, claim, [*campaigns, *shipped]))
    return JudgedClaim(
        claim=claim,
        layer=source.layer_of(claim),
        today=today,
        state=state_of(claim, today),
    )


def _summary(claims: Sequence[JudgedClaim]) -> LedgerSummary:
    first_answers = [judged.today[0] for judged in claims if judged.today]
    states = Counter(judged.state for judged in claims)
    proxies = Counter(judged.state for judged in claims if judged.is_proxy)
    return LedgerSummary(
        claims=len(claims),
        inferred=sum(judged.claim.inferred is not None for judged in claims),
        opinions=sum(judged.claim.kind == "opinion" for judged in claims),
        testable=sum(judged.claim.test is not None for judged in claims),
        published=_counts(x.claim.published.verdict for x in claims if x.claim.published),
        corrected=_counts(x.claim.corrected.verdict for x in claims if x.claim.corrected),
        today=dict(Counter(today.verdict for today in first_answers)),
        answers=dict(Counter(today.answer for today in first_answers)),
        states={name: states[name] for name in STATES},
        proxies={name: proxies[name] for name in DECIDED},
        versions_differ=tuple(
            judged.claim.id
            for judged in claims
            if judged.today and judged.today[0].differing_versions
        ),
    )


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())


def _plain(value: Any) -> Any:
    """As JSON has it. It has no infinity: as in the show document it is the text `inf`."""
    if isinstance(value, float):
        return "inf" if math.isinf(value) else value
    if isinstance(value, JudgedClaim):
        more = {name: _plain(getattr(value, name)) for name in ("layer", "today", "state")}
        return value.claim.model_dump(mode="json") | more
    if isinstance(value, Heading):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        members = {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
        return members | (_more(value) if isinstance(value, Today) else {})
    if isinstance(value, Mapping):
        return {key: _plain(held) for key, held in value.items()}
    return [_plain(held) for held in value] if isinstance(value, list | tuple) else value


def _more(today: Today) -> dict[str, Any]:
    """What an answer tells by computing it."""
    takes = today.takes
    return {
        "campaign": today.campaign,
        "leans": today.leans,
        "takes": None if takes is None else {**_plain(takes), "text": takes.text()},
        "text": today.text(),
        "seen": today.seen(),
    }
