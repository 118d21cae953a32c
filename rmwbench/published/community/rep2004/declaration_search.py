"""What git knows about declarations: whether a repository has one at all, on any of its branches
and tags, and when one was written.

Only the names of files are searched, so a declaration under another name is not found: the answer
names the day and the place, and is not a "no". If the file lies in a repository, its date comes
from git, line by line; otherwise the user gives it. A file's own time says when it was copied, so
it is never used.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.published.community.rep2004.declaration import Dates
from rmwbench.published.community.repository import (
    GitFailed,
    Repository,
    open_repository,
    run_git,
)


def document_dates(path: Path) -> tuple[str | None, str, Dates]:
    """Return (date of the document, where it comes from, the dates of its lines)."""
    committed = _git(path, "log", "-1", "--no-show-signature", "--format=%cI", "--", path.name)
    if not committed:
        return None, "", lambda lines: None
    by_line = _blame(path)
    return (
        committed.strip()[:10],
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
                dates[line] = datetime.fromtimestamp(time, UTC).date().isoformat()
        elif len(words) >= 3 and len(words[0]) >= 40 and words[2].isdigit():
            commit, line = words[0], int(words[2])
        elif words[0] == "committer-time":
            time = int(words[1])
    return dates


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
