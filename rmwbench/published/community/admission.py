"""The criteria that a middleware has to meet to be in a report: tier, licence, protocol, each with
its evidence.

The evaluation of 2020 asked three things: Tier 1 in REP-2000, open source under a permissive
licence, and an RTPS/DDS implementation. The last one excludes by definition what is not DDS, so a
candidate is judged criterion by criterion, and no criterion alone leaves it out of a table. A
criterion without evidence is `not stated`, never `not met`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rmwbench.errors import UserError
from rmwbench.input_file import read_text
from rmwbench.published.community.rep2004.markup import cells
from rmwbench.report.view import Table, Text, View, panel
from rmwbench.suite.fault import Strict
from rmwbench.suite.file.suite_files import read
from rmwbench.suite.file.tree import validated

MET, NOT_MET, NOT_STATED = "met", "not met", "not stated"
_PERMISSIVE = (
    "Apache-2.0 MIT MIT-0 BSD-2-Clause BSD-3-Clause 0BSD ISC Zlib BSL-1.0 Unlicense CC0-1.0 "
    "PostgreSQL NCSA X11"
)
_OTHER_OPEN = (
    "EPL-1.0 EPL-2.0 MPL-2.0 LGPL-2.1-only LGPL-2.1-or-later LGPL-3.0-only LGPL-3.0-or-later "
    "GPL-2.0-only GPL-2.0-or-later GPL-3.0-only GPL-3.0-or-later AGPL-3.0-only AGPL-3.0-or-later "
    "CDDL-1.0 EUPL-1.2"
)
PERMISSIVE, OTHER_OPEN = frozenset(_PERMISSIVE.split()), frozenset(_OTHER_OPEN.split())
OURS = Path(__file__).parent / "candidates.yaml"
RTPS = ("rtps", "dds", "ddsi-rtps", "dds/rtps")
CRITERIA = {
    "tier": "Tier 1 in REP-2000",
    "licence": "open source under a permissive licence",
    "protocol": "an RTPS/DDS implementation",
}


class AdmissionEvidence(Strict):
    """Where it was read that a candidate meets a criterion, and when."""

    evidence: str | None = None
    date: Date | None = None
    note: str | None = None


class Tier(AdmissionEvidence):
    tier: int | None = None


class Licence(AdmissionEvidence):
    spdx: str | None = None


class Protocol(AdmissionEvidence):
    name: str | None = None


class AdmissionCandidate(Strict):
    name: str
    package: str | None = None
    tier: Tier | None = None
    licence: Licence | None = None
    protocol: Protocol | None = None


class AdmissionFile(Strict):
    candidates: Annotated[tuple[AdmissionCandidate, ...], Field(strict=False, min_length=1)]


@dataclass(frozen=True, kw_only=True)
class JudgedCriterion:
    status: str
    value: str | None
    evidence: str | None
    date: str | None
    note: str | None


@dataclass(frozen=True, kw_only=True)
class JudgedCandidate:
    """`criteria`: what was judged, by the keys of CRITERIA."""

    name: str
    package: str | None
    criteria: Mapping[str, JudgedCriterion]
    admitted: str


@dataclass(frozen=True, kw_only=True)
class Admission:
    """The admission document (docs/community.md)."""

    schema: Literal["rmwbench/community-admission"] = "rmwbench/community-admission"
    version: Literal[1] = 1
    source: str
    distribution: str | None
    criteria: Mapping[str, str]
    candidates: Sequence[JudgedCandidate]


def judge(path: Path, rep2000: Path | None = None, distribution: str | None = None) -> Admission:
    """Judge the candidates of a YAML file. With REP-2000's text, tiers come from its table for the
    distribution (the newest one with a table, if none is named). Raise UserError with file and
    line."""
    candidates = validated(read(path), where=str(path), model=AdmissionFile).candidates
    support: dict[str, tuple[int, int]] = {}
    if rep2000 is not None:
        distribution, support = tiers(rep2000, distribution)
    elif distribution:
        raise UserError(
            "a distribution without REP-2000's text",
            where=f"--distribution {distribution}",
            fix="--rep-2000",
        )
    judged = []
    for candidate in candidates:
        tier = candidate.tier or Tier()
        if rep2000 is not None and candidate.package:
            supported = support.get(candidate.package)
            tier = Tier(note=f"not in the table for {distribution}")
            if supported:
                where = f"{rep2000.name}:{supported[1]}"
                tier = Tier(tier=supported[0], evidence=where, note=f"for {distribution}")
        criteria = {
            "tier": _tier(tier),
            "licence": _licence(candidate.licence or Licence()),
            "protocol": _protocol(candidate.protocol or Protocol()),
        }
        statuses = {criterion.status for criterion in criteria.values()}
        admitted = "yes" if statuses == {MET} else "no" if NOT_MET in statuses else "could not tell"
        name, package = candidate.name, candidate.package
        judged.append(
            JudgedCandidate(name=name, package=package, criteria=criteria, admitted=admitted)
        )
    return Admission(
        source=str(path), distribution=distribution, criteria=CRITERIA, candidates=judged
    )


def _tier(tier: Tier) -> JudgedCriterion:
    value = None if tier.tier is None else f"Tier {tier.tier}"
    return _criterion(None if value is None else tier.tier == 1, value, tier)


def _licence(licence: Licence) -> JudgedCriterion:
    if not licence.spdx:
        return _criterion(None, None, licence)
    allowed = permissive(licence.spdx)
    note = None if allowed is not None else "not an SPDX expression of licences that are known here"
    return _criterion(allowed, licence.spdx, licence, note)


def _protocol(protocol: Protocol) -> JudgedCriterion:
    is_rtps = protocol.name.lower() in RTPS if protocol.name else None
    return _criterion(is_rtps, protocol.name, protocol)


def _criterion(
    is_met: bool | None, value: str | None, evidence: AdmissionEvidence, note: str | None = None
) -> JudgedCriterion:
    """Return the judged criterion. A value without evidence is only an assertion, and counts as not
    stated."""
    if is_met is not None and not evidence.evidence:
        is_met, note = None, "said without evidence"
    return JudgedCriterion(
        status=NOT_STATED if is_met is None else MET if is_met else NOT_MET,
        value=value,
        evidence=evidence.evidence,
        date=evidence.date.isoformat() if evidence.date else None,
        note="; ".join(filter(None, (note, evidence.note))) or None,
    )


def permissive(expression: str) -> bool | None:
    """Whether an SPDX expression allows use under permissive terms: one side of an OR is enough, an
    AND needs both. None if a licence in it is not known here, or if it is not an expression."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression)

    def alternatives(at: int) -> tuple[bool | None, int]:
        value, at = conjunction(at)
        while at < len(tokens) and tokens[at].upper() == "OR":
            other, at = conjunction(at + 1)
            value = True if True in (value, other) else None if None in (value, other) else False
        return value, at

    def conjunction(at: int) -> tuple[bool | None, int]:
        value, at = licence(at)
        while at < len(tokens) and tokens[at].upper() == "AND":
            other, at = licence(at + 1)
            value = False if False in (value, other) else None if None in (value, other) else True
        return value, at

    def licence(at: int) -> tuple[bool | None, int]:
        if at < len(tokens) and tokens[at] == "(":
            value, at = alternatives(at + 1)
            if tokens[at : at + 1] != [")"]:
                raise _NoExpression
            return value, at + 1
        if at >= len(tokens) or tokens[at].upper() in (")", "OR", "AND"):
            raise _NoExpression
        is_permissive = (
            True if tokens[at] in PERMISSIVE else False if tokens[at] in OTHER_OPEN else None
        )
        return is_permissive, at + 1

    try:
        value, end = alternatives(0)
    except _NoExpression:
        return None
    return value if end == len(tokens) else None


class _NoExpression(Exception):
    """The text is not an SPDX expression."""


_HEADING = re.compile(r"([A-Z][a-z]+ [A-Z][a-z]+) \((.*)\)\s*")


def tiers(path: Path, distribution: str | None = None) -> tuple[str, dict[str, tuple[int, int]]]:
    """Return (distribution, package → (tier, line)) of REP-2000's table of middleware support."""
    try:
        lines = read_text(path).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read: {error}", where=str(path)) from None
    tables: dict[str, dict[str, tuple[int, int]]] = {}
    current, inside = "", False
    for number, line in enumerate(lines, start=1):
        if (
            (match := _HEADING.fullmatch(line))
            and number < len(lines)
            and set(lines[number].strip()) == {"-"}
        ):
            current, inside = match[1], False
        row = cells(line)
        if row is None:
            inside = inside and line.lstrip().startswith(("+", "|"))
            continue
        if row[0] == "Middleware Library":
            inside = True
        elif inside and current and len(row) >= 3 and (tier := re.fullmatch(r"Tier (\d)", row[2])):
            tables.setdefault(current, {})[row[0].rstrip("*")] = (int(tier[1]), number)
    if not tables:
        raise UserError(
            "no table of middleware support",
            where=str(path),
            expected="REP-2000 as reStructuredText",
            actual="none",
        )
    if distribution is None:
        heading = list(tables)[-1]
    else:
        names = [n for n in tables if n.lower().startswith(distribution.lower())]
        if len(names) != 1:
            distributions = [n.split()[0] for n in tables]
            raise UserError(
                "no table for this distribution",
                where=f"--distribution {distribution}",
                expected=", ".join(distributions),
            )
        heading = names[0]
    return heading, tables[heading]


def view(admission: Admission) -> View:
    """Return a view with a row for each candidate and criterion."""
    rows = []
    for candidate in admission.candidates:
        for place, (key, text) in enumerate(admission.criteria.items()):
            criterion = candidate.criteria[key]
            start = ["", ""] if place else [candidate.name, candidate.admitted]
            about = (criterion.value, criterion.evidence, criterion.date, criterion.note)
            rows.append([*start, text, criterion.status, *(words or "–" for words in about)])
    columns = ("candidate", "admitted", "criterion", "status")
    lead = [
        "The minimum bar of the evaluation of 2020, criterion by criterion; each status with its "
        "evidence."
    ]
    if admission.distribution:
        lead.append(f"Tiers of REP-2000 for {admission.distribution}.")
    return View(
        title="Admission to a report",
        about=[*map(Text, lead)],
        sections=[
            panel("Candidates", [], Table((*columns, "value", "evidence", "as of", "note"), rows))
        ],
        card=[admission.source],
    )
