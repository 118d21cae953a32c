"""The ledger of claims: every claim with its answers, for the terminal, the page, Markdown and
`--json`. Pure.

Each claim is in one of STATES. All forms use the same words and the same counts of states.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from rmwbench.command_name import command_line
from rmwbench.errors import UserError, did_you_mean
from rmwbench.published.campaign import MeasuredCampaign
from rmwbench.published.claims.claims_file import Claim, Claims, Heading
from rmwbench.published.claims.judging.campaign_answers import (
    CellAnswer,
    MeasuredAnswer,
    other_versions,
)
from rmwbench.published.claims.judging.decision_rules import DECIDED
from rmwbench.published.claims.judging.judge import answers

STATES = {
    "holds": "the whole interval lies on the claimed side, in every cell",
    "does not hold": "in at least one cell the whole interval lies on the other side",
    "undecided": "an interval contains the bar or lies within the margin of it, or there are too "
    "few blocks: these trials do not tell",
    "undecidable": "undecided, and no run could decide it: its bar needs more blocks, or longer "
    "ones, than `claims run` allows, as stated beside it",
    "machines differ": "it holds on one machine and not on another, or the value of another "
    "machine lies on the other side of the bar, outside the deciding interval",
    "no data": "the metric has no value here, for the reason given",
    "open": "there is an experiment, but nobody has run it yet",
    "not testable here": "for the reason given",
    "opinion": "listed, not judged",
}
"""State -> its meaning. Every claim is in one of them."""
MEASURED = (*DECIDED, "undecided", "undecidable", "no data", "machines differ")
ANSWERS = {name: words for name, words in STATES.items() if name in MEASURED}
"""States of claims that were measured, with their meanings."""
DATA_VERDICTS = (
    "supported",
    "contradicted",
    "contradicted within the source",
    "partly supported",
    "data not published",
)
"""Verdicts of the source's own data that a user can select; its `no data` and `undecided` give way
to the states of these names."""
ANSWER_VERDICTS = ("proxy", "supported", "refuted")
"""Verdicts of an answer, beside the states."""
NAMES = (*STATES, "proxy", "refuted", *DATA_VERDICTS)


def state_of(claim: Claim, measured: Sequence[MeasuredAnswer]) -> str:
    """Return the state of a claim. The answer with the most cells and blocks at the claim's own
    layer decides, whatever it says, and that of the newest version if versions differ; unless
    another machine denies it at the same layer."""
    if claim.kind == "opinion":
        return "opinion"
    if claim.test is None:
        return "not testable here"
    if not measured:
        return "open"
    first = measured[0]
    if any(_is_denied(first, other) for other in measured[1:] if other.layer == first.layer):
        return "machines differ"
    return "undecidable" if first.takes is not None else first.answer


def _is_denied(first: MeasuredAnswer, other: MeasuredAnswer) -> bool:
    """Whether another machine denies a decided answer: it decides the contrary, or a value of its
    cells lies on the other side of the bar, outside of the deciding interval. Another version
    denies nothing."""
    if first.answer not in DECIDED or first.answer == other.answer:
        return False
    if other_versions(first.versions, other.versions):
        return False
    if other.answer in DECIDED:
        return True
    undecided = {(x.part, x.workload): x for x in other.cells if x.answer == "undecided"}
    return any(
        _is_cell_denied(cell, undecided[place])
        for cell in first.cells
        if cell.answer == first.answer and (place := (cell.part, cell.workload)) in undecided
    )


def _is_cell_denied(decided: CellAnswer, cell: CellAnswer) -> bool:
    if cell.code == "few_blocks" or cell.low is None or cell.high is None:
        return False
    if decided.low is None or decided.high is None:
        return False
    disjoint = cell.high < decided.low or decided.high < cell.low
    return disjoint and cell.value_says not in (None, decided.answer)


def counts_text(summary: "LedgerSummary") -> str:
    """Return `holds 43 (40 by proxy), does not hold 25 (25 by proxy), undecided 33, …`."""
    return ", ".join(
        f"{name}{'s' * (name == 'opinion')} {number}"
        + (f" ({proxies} by proxy)" if proxies else "")
        for name, number in summary.states.items()
        for proxies in (summary.proxies.get(name),)
    )


def versions_text(summary: "LedgerSummary") -> str:
    """Return the rule by which claims are counted whose versions differ; empty if there are
    none."""
    if not summary.versions_differ:
        return ""
    return (
        "Where versions of a middleware have different answers, the newest that was measured is "
        f"counted and the others stand beside it: {', '.join(summary.versions_differ)}."
    )


def run_command(source: str) -> str:
    """Return the command that measures the open claims of a source, or of a claims file by its
    path."""
    return command_line("published", "claims", "run", source, "--budget", "30m")


def verdict_names(words: Iterable[str], where: str) -> frozenset[str]:
    """Return the states and verdicts of these words, which are names as printed, names with `-` for
    a blank, or unique beginnings of names. Raise UserError for any other word."""
    return frozenset(_verdict_name(word, where) for word in words)


def _verdict_name(word: str, where: str) -> str:
    plain = re.sub(r"[\s_-]+", " ", word.strip().casefold())
    if plain in NAMES:
        return plain
    candidates = [name for name in NAMES if plain and name.startswith(plain)]
    if len(candidates) == 1:
        return candidates[0]
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
    """Raise UserError if no heading of these claims has that text. For a source with `ids`, only
    the headings of those claims count."""
    for source in sources:
        wanted_ids = ids.get(source.claims, ())
        claim_headings = [
            claim.heading for claim in source.items if not wanted_ids or claim.id in wanted_ids
        ]
        without_claims = [] if wanted_ids else [item.heading for item in source.headings]
        if any(_has_text(name, heading) for name in (*claim_headings, *without_claims)):
            return
    raise UserError("no heading has that text", where=where, actual=heading)


def has_verdict_in(judged: "JudgedClaim", names: Collection[str]) -> bool:
    """Whether the claim's state, the verdict of its source's data or the verdict of its first
    answer is among `names`."""
    data_verdicts = {judgement.verdict for _, judgement in judged.claim.judgements}
    answer_verdicts = {answer.verdict for answer in judged.measured[:1]}
    claim_names = (
        {judged.state} | data_verdicts & set(DATA_VERDICTS) | answer_verdicts & set(ANSWER_VERDICTS)
    )
    return not claim_names.isdisjoint(names)


SCHEMA, VERSION = "rmwbench/claims", 4


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """A claim, the `layer` that it speaks of, the answers of the campaigns, those with data first,
    and its state (`STATES`)."""

    claim: Claim
    layer: str
    measured: tuple[MeasuredAnswer, ...]
    state: str

    @property
    def is_proxy(self) -> bool:
        return bool(self.measured) and self.measured[0].verdict == "proxy"


@dataclass(frozen=True, kw_only=True)
class SourceLedger:
    """A source with its claims, and its headings without claims. `run`: the command that measures
    its open claims."""

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
    """How many claims there are, and verdict or state -> number of claims. `states` has all states,
    also those without claims, so that the numbers add up to `claims`; `proxies`: how many of the
    decided ones are proxies; `versions_differ`: the ids of claims that are counted by the newest
    measured version, since another version has another answer."""

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
    """`campaigns`: the names of the given campaigns, without the shipped ones."""

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
    """Judge all claims of these sources by each campaign.

    `shipped`: source -> campaigns that were measured elsewhere (`summaries.expanded`), which come
    after the given ones. Only those claims are kept whose heading contains `heading`, in upper or
    lower case; whose id is among `ids` of its source, if the source has any; and that have one of
    the `verdicts` (`verdict_names`). `given`: source -> the user's word for it, if that is the path
    of a file.
    """
    shipped_by_source, given_names, ids_by_source = shipped or {}, given or {}, ids or {}

    def source_ledger(source: Claims) -> SourceLedger:
        name = source.claims
        wanted_ids = ids_by_source.get(name, ())
        is_whole = not (wanted_ids or verdicts)
        claims = (
            _judge_claim(source, claim, [*campaigns, *shipped_by_source.get(name, ())])
            for claim in source.items
            if _has_text(claim.heading, heading) and (not wanted_ids or claim.id in wanted_ids)
        )
        return SourceLedger(
            source=name,
            title=source.title,
            published=source.published,
            layer=source.layer,
            versions=source.versions,
            claims=tuple(x for x in claims if not verdicts or has_verdict_in(x, verdicts)),
            headings=tuple(
                item for item in source.headings if is_whole and _has_text(item.heading, heading)
            ),
            run=run_command(given_names.get(name, name)),
        )

    ledgers = [x for x in map(source_ledger, sources) if x.claims or not verdicts]
    return ClaimsLedger(
        campaigns=tuple(campaign.name for campaign in campaigns),
        summary=_summary([claim for x in ledgers for claim in x.claims]),
        sources=tuple(ledgers),
    )


def document(claims_ledger: ClaimsLedger) -> dict[str, Any]:
    """Return the document of `--json` (docs/formats/claims.md)."""
    return {"schema": SCHEMA, "version": VERSION, **_plain(claims_ledger)}


def _has_text(heading: str, text: str | None) -> bool:
    return text is None or text.casefold() in heading.casefold()


def _judge_claim(
    source: Claims, claim: Claim, campaigns: Sequence[MeasuredCampaign]
) -> JudgedClaim:
    measured = tuple(answers(source, claim, campaigns))
    return JudgedClaim(
        claim=claim,
        layer=source.layer_of(claim),
        measured=measured,
        state=state_of(claim, measured),
    )


def _summary(claims: Sequence[JudgedClaim]) -> LedgerSummary:
    first_answers = [judged.measured[0] for judged in claims if judged.measured]
    states = Counter(judged.state for judged in claims)
    proxies = Counter(judged.state for judged in claims if judged.is_proxy)
    return LedgerSummary(
        claims=len(claims),
        inferred=sum(judged.claim.inferred is not None for judged in claims),
        opinions=sum(judged.claim.kind == "opinion" for judged in claims),
        testable=sum(judged.claim.test is not None for judged in claims),
        published=_counts(x.claim.published.verdict for x in claims if x.claim.published),
        corrected=_counts(x.claim.corrected.verdict for x in claims if x.claim.corrected),
        today=dict(Counter(answer.verdict for answer in first_answers)),
        answers=dict(Counter(answer.answer for answer in first_answers)),
        states={name: states[name] for name in STATES},
        proxies={name: proxies[name] for name in DECIDED},
        versions_differ=tuple(
            judged.claim.id
            for judged in claims
            if judged.measured and judged.measured[0].differing_versions
        ),
    )


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())


def _plain(value: Any) -> Any:
    """Return the value as JSON has it. An infinite number is the text `inf` or `-inf`, as in the
    show document."""
    if isinstance(value, float):
        return f"{value:g}" if math.isinf(value) else value
    if isinstance(value, JudgedClaim):
        more = {"layer": value.layer, "today": _plain(value.measured), "state": value.state}
        return value.claim.model_dump(mode="json") | more
    if isinstance(value, Heading):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        members = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return members | (_properties(value) if isinstance(value, MeasuredAnswer) else {})
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _properties(measured: MeasuredAnswer) -> dict[str, Any]:
    """Return the properties of an answer that the document has."""
    takes = measured.takes
    return {
        "campaign": measured.campaign,
        "leans": measured.leans,
        "takes": None if takes is None else {**_plain(takes), "text": takes.text()},
        "text": measured.text(),
        "seen": measured.seen(),
    }
