"""Declarations side by side: all packages, what git knows about them, and their view.

Whether a repository has a declaration at all is searched by the names of files, on all of its
branches and tags. A declaration under another name is not found: the answer names the day and the
place, and is not a "no". If the file lies in a repository, its date comes from git, line by line;
otherwise the user gives it. A file's own time says when it was copied, so it is never used.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from datetime import date as Date
from pathlib import Path
from typing import Literal

from rmwbench.errors import UserError, not_one_of
from rmwbench.input_file import read_text
from rmwbench.published.community.rep2004.declaration import (
    NOT_STATED,
    STATUSES,
    Dates,
    Declaration,
    OpenPoint,
    item_dates,
    open_points,
    read,
)
from rmwbench.published.community.rep2004.items import ITEMS, LEVELS, SECTIONS
from rmwbench.published.community.repository import (
    FAR_APART_DAYS,
    GitFailed,
    Repository,
    open_repository,
    run_git,
)
from rmwbench.report.view import Section, Table, Text, View, panel
from rmwbench.words import numbers as fmt


def document_dates(path: Path) -> tuple[str | None, str, Dates]:
    """Return (date of the document, where it comes from, the dates of its lines)."""
    committed = _git(path, "log", "-1", "--no-show-signature", "--format=%ct", "--", path.name)
    if not committed:
        return None, "", lambda lines: None
    by_line = _blame(path)
    return (
        _day(int(committed)),
        "git",
        lambda lines: max((by_line[line] for line in lines if line in by_line), default=None),
    )


def _blame(path: Path) -> dict[int, str]:
    """Return the date of the commit that last changed each line; lines that are not committed yet
    have none."""
    text = _git(path, "blame", "--no-textconv", "--line-porcelain", "--", path.name) or ""
    dates: dict[int, str] = {}
    line = time = 0
    commit = ""
    for row in text.split("\n"):
        words = row.split(" ")
        if row.startswith("\t"):
            if set(commit) != {"0"}:
                dates[line] = _day(time)
        elif len(words) >= 3 and len(words[0]) >= 40 and words[2].isdigit():
            commit, line = words[0], int(words[2])
        elif words[0] == "committer-time":
            time = int(words[1])
    return dates


def _day(time_s: int) -> str:
    return datetime.fromtimestamp(time_s, UTC).date().isoformat()


def _git(path: Path, *arguments: str) -> str | None:
    """Return what git prints, None if the file is in no repository or there is no git."""
    try:
        return run_git(path.resolve().parent, *arguments, from_within=True)
    except GitFailed:
        return None


DECLARATION = re.compile(
    r"(?:.*/)?(?:[^/]*quality[-_ ]?declaration[^/]*|quality)(?:\.(?:md|rst|txt))?", re.IGNORECASE
)
"""QUALITY_DECLARATION.md, CYCLONEDDS_QUALITY_DECLARATION.md, Quality_Declaration_x.md, QUALITY.md,
in any directory."""


@dataclass(frozen=True)
class _Ref:
    """A branch or tag with its commit, and that commit's date."""

    name: str
    commit: str
    date: str

    @property
    def is_tag(self) -> bool:
        return self.name.startswith("refs/tags/")

    @property
    def short_name(self) -> str:
        return re.sub(r"^refs/(?:heads|remotes|tags)/", "", self.name)


@dataclass(frozen=True, kw_only=True)
class OtherDeclaration:
    """A file that only other branches and tags have, with the newest of these."""

    path: str
    ref: str
    date: str


@dataclass(frozen=True, kw_only=True)
class DeclarationSearch:
    """`found`: the files of the default branch whose names are those of declarations. `as_of`: the
    day of its newest commit."""

    repository: str
    branch: str
    commit: str
    as_of: str
    branches: int
    tags: int
    found: Sequence[str]
    elsewhere: Sequence[OtherDeclaration]

    @property
    def sentence(self) -> str:
        """The result as a cell of a table."""
        files = ", ".join(self.found) or "no declaration found"
        return f"{files} in {self.repository} as of {self.as_of}"


def search_declarations(name: str, path: Path) -> DeclarationSearch:
    """Search all branches and tags. Raise UserError if the repository cannot be read."""
    repository = open_repository(path)
    try:
        refs = list(_refs(repository))
        on_default_branch = _declarations(repository, repository.head)
        newest = repository.git(
            "log", "-1", "--no-show-signature", "--format=%cs", repository.head, "--"
        ).strip()
        elsewhere: dict[str, _Ref] = {}
        files_of_commit: dict[str, list[str]] = {}
        for ref in sorted(refs, key=lambda ref: ref.date, reverse=True):
            if ref.commit not in files_of_commit:
                files_of_commit[ref.commit] = _declarations(repository, ref.commit)
            for file in files_of_commit[ref.commit]:
                if file not in on_default_branch:
                    elsewhere.setdefault(file, ref)
    except GitFailed as error:
        raise UserError(
            "its branches and tags cannot be read", where=str(path), actual=str(error)
        ) from None
    return DeclarationSearch(
        repository=name,
        branch=repository.branch,
        commit=repository.head,
        as_of=newest,
        branches=sum(not ref.is_tag for ref in refs),
        tags=sum(ref.is_tag for ref in refs),
        found=on_default_branch,
        elsewhere=[
            OtherDeclaration(path=file, ref=ref.short_name, date=ref.date)
            for file, ref in sorted(elsewhere.items())
        ],
    )


def _refs(repository: Repository) -> Iterator[_Ref]:
    """Yield branches and tags of commits; a tag of anything else has no files to search."""
    of_ref = "%(refname)%00%(objecttype)%00%(objectname)%00%(committerdate:short)"
    of_target = "%00%(*objecttype)%00%(*objectname)%00%(*committerdate:short)"
    text = repository.git(
        "for-each-ref", f"--format={of_ref}{of_target}", "refs/heads", "refs/remotes", "refs/tags"
    )
    for line in text.splitlines():
        name, *words = line.split("\0")
        for kind, commit, date in (words[:3], words[3:]):
            # HEAD is another name that a clone has for its default branch.
            if kind == "commit" and not name.endswith("/HEAD"):
                yield _Ref(name, commit, date)


def _declarations(repository: Repository, commit: str) -> list[str]:
    files = repository.git("ls-tree", "-r", "-z", "--name-only", commit).split("\0")
    return sorted(file for file in files if DECLARATION.fullmatch(file))


@dataclass(frozen=True, kw_only=True)
class RequirementName:
    number: str
    name: str
    section: str


@dataclass(frozen=True, kw_only=True)
class DeclaredItem:
    """What a document says about a requirement. `asked`: how much its claimed level asks for it."""

    number: str
    status: str
    asked: str | None
    basis: str | None
    scope: str
    line: int | None
    quote: str | None
    links: Sequence[str]
    date: str | None
    note: str | None
    contradicts: bool

    @property
    def is_of_section(self) -> bool:
        return self.scope == "section" and self.status != NOT_STATED


@dataclass(frozen=True, kw_only=True)
class DeclaredPackage:
    """`level`: the level that it claims, or NOT_STATED."""

    package: str
    document: str
    date: str | None
    date_from: str
    level: int | str
    level_line: int | None
    items: Sequence[DeclaredItem]
    open_points: Sequence[OpenPoint]


@dataclass(frozen=True, kw_only=True)
class ComparedDeclarations:
    """The REP-2004 document (docs/community.md). Earlier documents have no `searched`."""

    schema: Literal["rmwbench/community-rep2004"] = "rmwbench/community-rep2004"
    version: Literal[1] = 1
    statuses: Mapping[str, str]
    items: Sequence[RequirementName]
    packages: Sequence[DeclaredPackage]
    searched: Sequence[DeclarationSearch] = ()

    def without_words(self) -> "ComparedDeclarations":
        """Return the document without the sentences that it quotes; facts, lines and dates stay."""
        packages = [
            replace(package, items=[replace(item, quote=None) for item in package.items])
            for package in self.packages
        ]
        return replace(self, packages=packages)


def compare(
    sources: Sequence[tuple[str | None, Path]], given: Mapping[str, str] | None = None
) -> ComparedDeclarations:
    """Compare the declarations of (name or None, path) pairs. `given` are dates (ISO) by name or
    file name, for files that are in no git repository. A directory is a git repository in which to
    search for one."""
    packages, searches = [], []
    keys: list[str] = []
    for name, path in sources:
        if path.is_dir():
            searches.append(search_declarations(name or path.resolve().name, path))
            continue
        try:
            text = read_text(path)
        except OSError as error:
            raise UserError(f"cannot read: {error.strerror}", where=str(path)) from None
        except UnicodeDecodeError as error:
            raise UserError(
                "not a text file", where=str(path), expected="UTF-8", actual=str(error)
            ) from None
        declaration = read(text, str(path), name)
        keys += _keys(declaration, path)
        packages.append(_package(declaration, path, given or {}))
    for key in given or ():
        if packages and key not in keys:
            raise not_one_of(f"no document is called `{key}`", key, keys, where="--date")
    return ComparedDeclarations(
        statuses=STATUSES,
        items=[
            RequirementName(number=i.number, name=i.name, section=SECTIONS[i.section])
            for i in ITEMS.values()
        ],
        packages=_named_apart(packages),
        searched=searches,
    )


def _named_apart(packages: Sequence[DeclaredPackage]) -> list[DeclaredPackage]:
    """Give two versions of one package names that differ: each has its date in its name, or its
    file if no date tells them apart."""
    names = Counter(p.package for p in packages)
    days = Counter((p.package, p.date) for p in packages)

    def name(package: DeclaredPackage) -> str:
        if names[package.package] == 1:
            return package.package
        alone = package.date is not None and days[package.package, package.date] == 1
        return f"{package.package} ({package.date if alone else package.document})"

    return [replace(package, package=name(package)) for package in packages]


def _keys(declaration: Declaration, path: Path) -> tuple[str, ...]:
    """Return the names by which `--date` may name a document."""
    return declaration.package, path.name, str(path)


def _package(declaration: Declaration, path: Path, given: Mapping[str, str]) -> DeclaredPackage:
    date, origin, by_line = document_dates(path)
    for key in _keys(declaration, path):
        if key in given:
            date, origin, by_line = given[key], "told", lambda lines: None
    date_of = item_dates(declaration, date, by_line)
    demands = LEVELS.get(declaration.level or 0, {})
    return DeclaredPackage(
        package=declaration.package,
        document=declaration.where,
        date=date,
        date_from=origin or "not known: the file is in no git repository (tell it with --date)",
        level=declaration.level if declaration.level is not None else NOT_STATED,
        level_line=declaration.level_line,
        items=[
            DeclaredItem(
                number=number,
                status=finding.status,
                asked=demands.get(number, "not asked for") if declaration.level else None,
                basis=finding.basis or None,
                scope=finding.scope,
                line=finding.line,
                quote=finding.quote or None,
                links=finding.links,
                date=date_of[number],
                note=finding.note or None,
                contradicts=finding.contradicts,
            )
            for number, finding in declaration.findings.items()
        ],
        open_points=open_points(declaration),
    )


def view(compared: ComparedDeclarations, *, evidence: bool = True) -> View:
    """Return a view with a row for each requirement and a column for each package, then what is
    open, then the evidence (which is long)."""
    packages, searches = compared.packages, compared.searched
    lead = [*_lead_sentences(packages), *(f"{search.sentence}." for search in searches)]
    sections = [_requirements(compared.items, packages)] if packages else []
    sections += [_search_section(searches)] if searches or not packages else []
    if packages:
        sections += [_counts(packages), _open_section(packages)]
        sections += [_evidence(packages)] if evidence else []
    card = [f"{p.package} {p.date or ''}".strip() for p in packages] or lead
    return View(
        title="REP-2004 quality declarations",
        about=[*map(Text, lead)],
        sections=sections,
        card=[" · ".join(card)],
    )


def _lead_sentences(packages: Sequence[DeclaredPackage]) -> Iterator[str]:
    for p in packages:
        level = f"Quality Level {p.level}" if p.level != NOT_STATED else "no level"
        yield f"{p.package}: claims {level}, document of {p.date or 'unknown date'}"
    days = [Date.fromisoformat(p.date) for p in packages if p.date]
    if days and (max(days) - min(days)).days > FAR_APART_DAYS:
        yield "The documents are more than 18 months apart: they describe different times."


def _requirements(names: Sequence[RequirementName], packages: Sequence[DeclaredPackage]) -> Section:
    rows = [["level claimed", "", *(str(p.level) for p in packages)]]
    for place, name in enumerate(names):
        rows.append([name.number, name.name, *(_cell(p.items[place]) for p in packages)])
    columns = ("requirement", "", *(p.package for p in packages))
    return panel("Requirements", _marks(packages), Table(columns, rows))


def _counts(packages: Sequence[DeclaredPackage]) -> Section:
    counts = [Counter(item.status for item in p.items) for p in packages]
    rows = [[status, *(str(c[status]) for c in counts)] for status in STATUSES]
    table = Table(("status", *((p.package, True) for p in packages)), rows)
    meanings = [f"{status}: {text}." for status, text in STATUSES.items()]
    return panel("How many", meanings, table, listed=True)


def _open_section(packages: Sequence[DeclaredPackage]) -> Section:
    title = "What the claimed level asks for and the document does not settle"
    rows = [
        [p.package, str(p.level), point.number, point.name, point.status]
        for p in packages
        for point in p.open_points
    ]
    if not rows:
        nothing = "Nothing: every requirement of the claimed levels is marked or stated."
        return panel(title, [nothing])
    columns = ("package", ("level", True), "", "requirement", "status")
    return panel(title, [], Table(columns, rows))


def _evidence(packages: Sequence[DeclaredPackage]) -> Section:
    rows = []
    for p in packages:
        for item in p.items:
            if item.status != NOT_STATED:
                words = "; ".join(filter(None, (item.quote, item.note))) or "(its table)"
                where = (str(item.line or ""), item.date or "–", words, " ".join(item.links))
                rows.append([p.package, item.number, item.status, *where])
    columns = ("package", "", "status", ("line", True), "changed", "in its words", "links")
    text = (
        "The projects say all of this of themselves; nothing here was checked against their code."
    )
    return panel("Evidence", [text], Table(columns, rows))


def _search_section(searches: Sequence[DeclarationSearch]) -> Section:
    rows = [
        [
            search.repository,
            search.sentence,
            f"{search.branch} at {search.commit[:12]}, "
            f"{fmt.counted(search.branches, 'branch', 'branches')}, "
            f"{fmt.counted(search.tags, 'tag')}",
            "; ".join(f"{file.path} ({file.ref}, {file.date})" for file in search.elsewhere) or "–",
        ]
        for search in searches
    ]
    text = [
        "A declaration was looked for by the names of files, on all branches and tags of a copy of "
        "the repository that ends on that day. "
        'A declaration that was not found is not a "no": it is not stated, and a later one may exist.'
    ]
    if any(search.found for search in searches):
        text.append(
            "To read one that was found, write it into a file with `git show BRANCH:PATH > FILE`, "
            "and name FILE to this verb."
        )
    columns = ("repository", "declaration", "looked at", "only elsewhere")
    return panel("Whether there is one", text, Table(columns, rows))


def _marks(packages: Sequence[DeclaredPackage]) -> list[str]:
    items = [item for package in packages for item in package.items]
    marks = []
    if any(item.is_of_section for item in items):
        marks.append("* said of the whole section, not of this requirement")
    if any(item.contradicts for item in items):
        marks.append("(!) table and text contradict each other")
    return marks


def _cell(item: DeclaredItem) -> str:
    mark = "*" if item.is_of_section else ""
    return f"{item.status}{mark}" + (" (!)" if item.contradicts else "")
