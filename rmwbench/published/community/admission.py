"""The bar that a middleware has to clear to be in a report: tier, licence, protocol, each with its
evidence.

The evaluation of 2020 asked three things: Tier 1 in REP-2000, open source under a permissive
licence, and an RTPS/DDS implementation. The last excludes by definition what is not DDS, so a
candidate is judged criterion by criterion and nothing is left out of a table because of one. A
criterion without evidence is `not stated`, never `not met`.
"""

import re
from datetime import date
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError, did_you_mean
from rmwbench.input_file import read_text
from rmwbench.published.community.rep2004.markup import cells
from rmwbench.report.view import Table, Text, View, panel

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
FIELDS = ("name", "package", "licence", "protocol", "tier")
KEYS = {"licence": "spdx", "protocol": "name", "tier": "tier"}
EVIDENCE = ("evidence", "date", "note")
CRITERIA = {
    "tier": "Tier 1 in REP-2000",
    "licence": "open source under a permissive licence",
    "protocol": "an RTPS/DDS implementation",
}


def document(
    path: Path, rep2000: Path | None = None, distribution: str | None = None
) -> dict[str, Any]:
    """The admission document (docs/community.md) of a YAML file of candidates. With REP-2000's
    text, tiers come from its table for the distribution (the newest one it has a table for, if not
    named). UserError with file and line."""
    candidates = _load(path)
    support: dict[str, tuple[int, int]] = {}
    if rep2000 is not None:
        distribution, support = tiers(rep2000, distribution)
    elif distribution:
        raise UserError(
            "a distribution without REP-2000's text",
            where=f"--distribution {distribution}",
            fix="--rep-2000",
        )
    rows = []
    for candidate in candidates:
        tier = candidate.get("tier")
        if rep2000 is not None and candidate.get("package"):
            found = support.get(candidate["package"])
            tier = {"evidence": f"{rep2000.name}:{found[1]}", "tier": found[0]} if found else None
            note = f"not in the table for {distribution}" if tier is None else f"for {distribution}"
            tier = (tier or {"tier": None}) | {"note": note, "date": None}
        rows.append(
            {
                "name": candidate["name"],
                "package": candidate.get("package"),
                "criteria": {
                    "tier": _tier(tier),
                    "licence": _licence(candidate.get("licence")),
                    "protocol": _protocol(candidate.get("protocol")),
                },
            }
        )
        statuses = {c["status"] for c in rows[-1]["criteria"].values()}
        rows[-1]["admitted"] = (
            "yes" if statuses == {MET} else "no" if NOT_MET in statuses else "could not tell"
        )
    return {
        "schema": "rmwbench/community-admission",
        "version": 1,
        "source": str(path),
        "distribution": distribution,
        "criteria": CRITERIA,
        "candidates": rows,
    }


def _tier(given: dict[str, Any] | None) -> dict[str, Any]:
    value = (given or {}).get("tier")
    status = NOT_STATED if value is None else MET if value == 1 else NOT_MET
    return _criterion(status, None if value is None else f"Tier {value}", given)


def _licence(given: dict[str, Any] | None) -> dict[str, Any]:
    expression = (given or {}).get("spdx")
    if not expression:
        return _criterion(NOT_STATED, None, given)
    allowed = permissive(expression)
    note = None if allowed is not None else "not an SPDX expression of licences that are known here"
    status = NOT_STATED if allowed is None else MET if allowed else NOT_MET
    return _criterion(status, expression, given, note)


def _protocol(given: dict[str, Any] | None) -> dict[str, Any]:
    name = (given or {}).get("name")
    status = NOT_STATED if not name else MET if name.lower() in RTPS else NOT_MET
    return _criterion(status, name, given)


def _criterion(
    status: str, value: str | None, given: dict[str, Any] | None, note: str | None = None
) -> dict[str, Any]:
    """Without evidence a value is somebody's word, and counts as not stated."""
    given = given or {}
    if status != NOT_STATED and not given.get("evidence"):
        status, note = NOT_STATED, "said without evidence"
    notes = "; ".join(n for n in (note, given.get("note")) if n)
    return {
        "status": status,
        "value": value,
        "evidence": given.get("evidence"),
        "date": given.get("date"),
        "note": notes or None,
    }


def permissive(expression: str) -> bool | None:
    """Whether an SPDX expression can be had under permissive terms: one side of an OR is enough, an
    AND needs both. None where a licence in it is not known here, or where it is not an
    expression."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression)

    def either(at: int) -> tuple[bool | None, int]:
        value, at = both(at)
        while at < len(tokens) and tokens[at].upper() == "OR":
            other, at = both(at + 1)
            value = True if True in (value, other) else None if None in (value, other) else False
        return value, at

    def both(at: int) -> tuple[bool | None, int]:
        value, at = one(at)
        while at < len(tokens) and tokens[at].upper() == "AND":
            other, at = one(at + 1)
            value = False if False in (value, other) else None if None in (value, other) else True
        return value, at

    def one(at: int) -> tuple[bool | None, int]:
        if at < len(tokens) and tokens[at] == "(":
            value, at = either(at + 1)
            if tokens[at : at + 1] != [")"]:
                raise _NoExpression
            return value, at + 1
        if at >= len(tokens) or tokens[at].upper() in (")", "OR", "AND"):
            raise _NoExpression
        known = True if tokens[at] in PERMISSIVE else False if tokens[at] in OTHER_OPEN else None
        return known, at + 1

    try:
        value, end = either(0)
    except _NoExpression:
        return None
    return value if end == len(tokens) else None


class _NoExpression(Exception):
    """Not an SPDX expression."""


_HEADING = re.compile(r"([A-Z][a-z]+ [A-Z][a-z]+) \((.*)\)\s*")


def tiers(path: Path, distribution: str | None = None) -> tuple[str, dict[str, tuple[int, int]]]:
    """(distribution, package → (tier, line)) of REP-2000's table of middleware support."""
    try:
        lines = read_text(path).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read: {error}", where=str(path)) from None
    found: dict[str, dict[str, tuple[int, int]]] = {}
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
            found.setdefault(current, {})[row[0].rstrip("*")] = (int(tier[1]), number)
    if not found:
        raise UserError(
            "no table of middleware support",
            where=str(path),
            expected="REP-2000 as reStructuredText",
            actual="none",
        )
    if distribution is None:
        chosen = list(found)[-1]
    else:
        names = [n for n in found if n.lower().startswith(distribution.lower())]
        if len(names) != 1:
            known = [n.split()[0] for n in found]
            raise UserError(
                "no table for this distribution",
                where=f"--distribution {distribution}",
                expected=", ".join(known),
            )
        chosen = names[0]
    return chosen, found[chosen]


def _load(path: Path) -> list[dict[str, Any]]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        loaded = YAML(typ="rt").load(read_text(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read: {error}", where=str(path)) from None
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(f"not YAML: {error.problem}", where=f"{path}:{line}") from None
    except YAMLError as error:
        raise UserError(f"not YAML: {error}", where=str(path)) from None
    candidates = loaded.get("candidates") if isinstance(loaded, dict) else None
    if not isinstance(candidates, list) or not candidates:
        raise UserError(
            "no candidates",
            where=str(path),
            expected="candidates: [{name: …, licence: {spdx: …}}, …]",
        )
    return [_candidate(path, entry) for entry in candidates]


def _candidate(path: Path, entry: Any) -> dict[str, Any]:
    where = f"{path}:{entry.lc.line + 1}" if hasattr(entry, "lc") else str(path)
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise UserError(
            "a candidate without a name", where=where, expected="name: …", actual=str(entry)[:80]
        )
    _known(where, entry, FIELDS)
    at_line: Any = entry
    out: dict[str, Any] = {"name": entry["name"], "package": entry.get("package")}
    for field, key in KEYS.items():
        given = entry.get(field)
        if given is None:
            continue
        at = f"{path}:{at_line.lc.key(field)[0] + 1}"
        if not isinstance(given, dict):
            raise UserError(
                f"{field} is not a mapping",
                where=at,
                expected=f"{{{key}: …, evidence: URL}}",
                actual=str(given),
            )
        _known(at, given, (key, *EVIDENCE))
        kind = int if key == "tier" else str
        if given.get(key) is not None and (
            not isinstance(given[key], kind) or isinstance(given[key], bool)
        ):
            raise UserError(
                f"{field}.{key} is not of type {kind.__name__}", where=at, actual=str(given[key])
            )
        out[field] = dict(given) | {"date": _date(at, given.get("date"))}
    return out


def _known(where: str, given: dict[str, Any], allowed: tuple[str, ...]) -> None:
    for name in given:
        if name not in allowed:
            raise UserError(
                f"unknown field {name!r}",
                where=where,
                expected=", ".join(allowed),
                fix=did_you_mean(str(name), allowed),
            )


def _date(where: str, value: Any) -> str | None:
    if value is None:
        return None
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise UserError(
            "not a date", where=where, expected="YYYY-MM-DD", actual=str(value)
        ) from None


def view(doc: dict[str, Any]) -> View:
    """A row per candidate and criterion."""
    rows = []
    for candidate in doc["candidates"]:
        for place, (key, text) in enumerate(doc["criteria"].items()):
            found = candidate["criteria"][key]
            start = ["", ""] if place else [candidate["name"], candidate["admitted"]]
            rows.append(
                [
                    *start,
                    text,
                    found["status"],
                    *(found[k] or "–" for k in ("value", "evidence", "date", "note")),
                ]
            )
    columns = (
        "candidate",
        "admitted",
        "criterion",
        "status",
        "found",
        "evidence",
        "as of",
        "note",
    )
    lead = [
        "The minimum bar of the evaluation of 2020, criterion by criterion; each status with its "
        "evidence."
    ]
    if doc["distribution"]:
        lead.append(f"Tiers of REP-2000 for {doc['distribution']}.")
    return View(
        title="Admission to a report",
        about=[*map(Text, lead)],
        sections=[panel("Candidates", [], Table(columns, rows))],
        card=[doc["source"]],
    )
