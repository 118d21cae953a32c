"""Declarations side by side: one document of all packages, and its view."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date as Date
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.input_file import read_text
from rmwbench.published.community.rep2004.declaration import (
    NOT_STATED,
    STATUSES,
    Declaration,
    item_dates,
    open_points,
    read,
)
from rmwbench.published.community.rep2004.declaration_search import (
    document_dates,
    search_declarations,
    sentence,
)
from rmwbench.published.community.rep2004.items import ITEMS, LEVELS, SECTIONS
from rmwbench.published.community.repository import FAR_APART_DAYS
from rmwbench.report.view import Section, Table, Text, View, panel
from rmwbench.words import numbers as fmt


def document(
    sources: Sequence[tuple[str | None, Path]], given: dict[str, str] | None = None
) -> dict[str, Any]:
    """The REP-2004 document (docs/community.md) of (name or None, path) pairs; `given` are dates by
    name or file name (ISO) for files that are in no git repository. A directory is a git repository
    in which to look for one."""
    packages, searches = [], []
    for name, path in sources:
        if path.is_dir():
            searches.append(search_declarations(name or path.resolve().name, path))
            continue
        try:
            text = read_text(path, encoding="utf-8-sig")
        except OSError as error:
            raise UserError(f"cannot read: {error.strerror}", where=str(path)) from None
        except UnicodeDecodeError as error:
            raise UserError(
                "not a text file", where=str(path), expected="UTF-8", actual=str(error)
            ) from None
        packages.append(_package(read(text, str(path), name), path, given or {}))
    _name_apart(packages)
    return {
        "schema": "rmwbench/community-rep2004",
        "version": 1,
        "statuses": STATUSES,
        "items": [
            {"number": i.number, "name": i.name, "section": SECTIONS[i.section]}
            for i in ITEMS.values()
        ],
        "packages": packages,
        "searched": searches,
    }


def _name_apart(packages: list[dict[str, Any]]) -> None:
    """Two versions of one package are two columns, each with its date in its name, or with its file
    where no date tells them apart."""
    names = Counter(p["package"] for p in packages)
    days = Counter((p["package"], p["date"]) for p in packages)
    for package in packages:
        name, date = package["package"], package["date"]
        if names[name] > 1:
            alone = date is not None and days[name, date] == 1
            package["package"] = f"{name} ({date if alone else package['document']})"


def without_words(doc: dict[str, Any]) -> dict[str, Any]:
    """The document without the sentences that it quotes: its facts, with the line and the date of
    each."""
    packages = [
        {**package, "items": [{**item, "quote": None} for item in package["items"]]}
        for package in doc["packages"]
    ]
    return {**doc, "packages": packages}


def _package(declaration: Declaration, path: Path, given: dict[str, str]) -> dict[str, Any]:
    date, origin, by_line = document_dates(path)
    for key in (declaration.package, path.name, str(path)):
        if key in given:
            date, origin, by_line = given[key], "told", lambda lines: None
    date_of = item_dates(declaration, date, by_line)
    return {
        "package": declaration.package,
        "document": declaration.where,
        "date": date,
        "date_from": origin or "not known: the file is in no git repository (tell it with --date)",
        "level": declaration.level if declaration.level is not None else NOT_STATED,
        "level_line": declaration.level_line,
        "items": [
            {
                "number": number,
                "status": f.status,
                "asked": LEVELS.get(declaration.level or 0, {}).get(number, "not asked for")
                if declaration.level
                else None,
                "basis": f.basis or None,
                "scope": f.scope,
                "line": f.line,
                "quote": f.quote or None,
                "links": f.links,
                "date": date_of[number],
                "note": f.note or None,
                "contradicts": f.contradicts,
            }
            for number, f in declaration.findings.items()
        ],
        "open_points": open_points(declaration),
    }


def view(doc: dict[str, Any], *, evidence: bool = True) -> View:
    """A row per requirement, a column per package; then what is open, and the evidence (which is
    long)."""
    packages, searches = doc["packages"], doc.get("searched", [])
    lead = [*_lead(packages), *(f"{sentence(search)}." for search in searches)]
    sections = [_requirements(doc["items"], packages)] if packages else []
    sections += [_searched(searches)] if searches or not packages else []
    if packages:
        sections += [_counts(packages), _open(packages)]
        sections += [_evidence(packages)] if evidence else []
    card = [f"{p['package']} {p['date'] or ''}".strip() for p in packages] or lead
    return View(
        title="REP-2004 quality declarations",
        about=[*map(Text, lead)],
        sections=sections,
        card=[" · ".join(card)],
    )


def _lead(packages: list[dict[str, Any]]) -> Iterator[str]:
    for p in packages:
        stated = p["level"] != NOT_STATED
        level = f"Quality Level {p['level']}" if stated else "no level"
        yield f"{p['package']}: claims {level}, document of {p['date'] or 'unknown date'}"
    days = [Date.fromisoformat(p["date"]) for p in packages if p["date"]]
    if days and (max(days) - min(days)).days > FAR_APART_DAYS:
        yield "The documents are more than 18 months apart: they describe different times."


def _requirements(items: list[dict[str, Any]], packages: list[dict[str, Any]]) -> Section:
    rows = [["level claimed", "", *(str(p["level"]) for p in packages)]]
    for place, item in enumerate(items):
        rows.append([item["number"], item["name"], *(_cell(p["items"][place]) for p in packages)])
    columns = ("requirement", "", *(p["package"] for p in packages))
    return panel("Requirements", _marks(packages), Table(columns, rows))


def _counts(packages: list[dict[str, Any]]) -> Section:
    counts = [Counter(i["status"] for i in p["items"]) for p in packages]
    rows = [[status, *(str(c[status]) for c in counts)] for status in STATUSES]
    table = Table(("status", *((p["package"], True) for p in packages)), rows)
    meanings = [f"{status}: {text}." for status, text in STATUSES.items()]
    return panel("How many", meanings, table, listed=True)


def _open(packages: list[dict[str, Any]]) -> Section:
    title = "What the claimed level asks for and the document does not settle"
    rows = [
        [p["package"], str(p["level"]), o["number"], o["name"], o["status"]]
        for p in packages
        for o in p["open_points"]
    ]
    if not rows:
        nothing = "Nothing: every requirement of the claimed levels is marked or stated."
        return panel(title, [nothing])
    columns = ("package", ("level", True), "", "requirement", "status")
    return panel(title, [], Table(columns, rows))


def _evidence(packages: list[dict[str, Any]]) -> Section:
    rows = []
    for p in packages:
        for i in p["items"]:
            if i["status"] != NOT_STATED:
                said = "; ".join(filter(None, (i["quote"], i["note"]))) or "(its table)"
                where = (str(i["line"] or ""), i["date"] or "–", said, " ".join(i["links"]))
                rows.append([p["package"], i["number"], i["status"], *where])
    columns = ("package", "", "status", ("line", True), "changed", "in its words", "links")
    text = (
        "All of it is what the projects say of themselves; nothing here was checked against their "
        "code."
    )
    return panel("Evidence", [text], Table(columns, rows))


def _searched(searches: list[dict[str, Any]]) -> Section:
    rows = [
        [
            search["repository"],
            sentence(search),
            f"{search['branch']} at {search['commit'][:12]}, "
            f"{fmt.counted(search['branches'], 'branch', 'branches')}, "
            f"{fmt.counted(search['tags'], 'tag')}",
            "; ".join(f"{one['path']} ({one['ref']}, {one['date']})" for one in search["elsewhere"])
            or "–",
        ]
        for search in searches
    ]
    text = [
        "Looked for by the names of files, on all branches and tags of a copy of the repository "
        "that ends on that day. "
        'None found is not a "no": what was not found is not stated, and a later one may be there.'
    ]
    if any(search["found"] for search in searches):
        text.append(
            "One that was found is read by its own: `git show BRANCH:PATH > FILE`, and FILE for "
            "this verb."
        )
    columns = ("repository", "declaration", "looked at", "only elsewhere")
    return panel("Whether there is one", text, Table(columns, rows))


def _marks(packages: list[dict[str, Any]]) -> list[str]:
    items = [item for package in packages for item in package["items"]]
    marks = []
    if any(_is_of_section(item) for item in items):
        marks.append("* said of the whole section, not of this requirement")
    if any(item["contradicts"] for item in items):
        marks.append("(!) table and text contradict each other")
    return marks


def _is_of_section(item: dict[str, Any]) -> bool:
    return bool(item["scope"] == "section" and item["status"] != NOT_STATED)


def _cell(item: dict[str, Any]) -> str:
    mark = "*" if _is_of_section(item) else ""
    return f"{item['status']}{mark}" + (" (!)" if item["contradicts"] else "")
