"""A repository read from its git history, without any API: commits, people, lines, version tags.

Each commit that the default branch reaches counts once. What GitHub alone knows (issues, pull
requests, first responses, stars, forks) has no number here. Names and addresses are read to count
people, and are not kept.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.published.community.github.client import PARTS
from rmwbench.published.community.github.project import (
    Commit,
    History,
    Project,
    RepositoryFact,
    is_bot_name,
)
from rmwbench.published.community.repository import GitFailed, Repository, open_repository

NOT_IN_GIT = "git does not hold it"
LICENCE = "not read from a text; `rmwbench published community admission` has licences with their evidence"
SIZE = "not counted from git"
NO_TAGS = "no tags here: a clone without them looks like a project without releases"
VERSION = re.compile(r"(?:rel|release)?[-_/]?v?\d+(?:\.\d+)+[-+._0-9a-z]*", re.IGNORECASE)
"""The whole name of a tag that is a version: 1.2.3, v1.2, V0.5.0rc1, release-2.0.0-beta."""
WEB = "noreply@github.com"
"""The committer of what is merged on GitHub's pages: a program and no person."""
ONLY_WEB = "GitHub's pages or bots committed all, and git does not tell for whom"
_FIELDS = ("%H", "%P", "%ct", "%aN", "%aE", "%cN", "%cE")


@dataclass(frozen=True)
class _Person:
    name: str
    address: str

    @property
    def is_bot(self) -> bool:
        return is_bot_name(self.name) or is_bot_name(self.address.partition("@")[0])

    @property
    def is_program(self) -> bool:
        return self.is_bot or self.address.casefold() == WEB


@dataclass(frozen=True, kw_only=True)
class _LogEntry:
    """A commit as git tells it; `time` is when it was committed, None if git cannot read it."""

    sha: str
    merge: bool
    time: datetime | None
    author: _Person
    committer: _Person


def load(name: str, path: Path, since: datetime | timedelta) -> Project:
    """Return the repository in a git directory or clone, for a window that ends with its newest
    commit and begins `since`, a time or a length. Raise UserError if the repository cannot be read,
    is shallow, or ends before the window begins."""
    repository = open_repository(path)
    log, tags = _read(repository)
    now = datetime.now(UTC)
    past_times = [entry.time for entry in log if entry.time is not None and entry.time <= now]
    if not past_times:
        raise UserError(
            "no commit has a date in the past", where=str(path), expected="dates that git can read"
        )
    until = max(past_times)
    begin = _begin(path, since, until)
    project = Project(name, f"git, {repository.branch} at {repository.head[:12]}", begin, until)
    project.history = History(
        branch=repository.branch,
        commit=repository.head,
        undated=len(log) - len(past_times),
        other_tags=len(tags) - sum(_is_version(tag) for tag, _ in tags),
    )
    project.missing = _missing_parts(has_tags=bool(tags))
    project.facts["licence"] = RepositoryFact(no_data=LICENCE)
    _add_commits(project, repository, log)
    project.releases = sorted(time for tag, time in tags if _is_version(tag))
    project.facts["contributors"] = RepositoryFact.of_count(people(x.author for x in log))
    return project


def _read(repository: Repository) -> tuple[list[_LogEntry], list[tuple[str, datetime]]]:
    """Return every commit of the default branch, and every tag."""
    try:
        return _log(repository), _tags(repository)
    except GitFailed as error:
        raise UserError(
            "its history cannot be read",
            where=str(repository.path),
            expected="every commit of the default branch",
            actual=str(error),
        ) from None


def _missing_parts(*, has_tags: bool) -> dict[str, str]:
    """Return why git has nothing of it, for each such part."""
    reasons = dict.fromkeys(PARTS, NOT_IN_GIT) | {"languages": SIZE, "releases": NO_TAGS}
    known_parts = ["commits", "contributors", "code_frequency", *(["releases"] if has_tags else [])]
    return {part: reason for part, reason in reasons.items() if part not in known_parts}


def _add_commits(project: Project, repository: Repository, log: Sequence[_LogEntry]) -> None:
    """Add what was committed within the project's window, and by how many people."""
    entries = [x for x in log if x.time is not None and project.since <= x.time <= project.until]
    lines: dict[str, int] = {}
    try:
        lines = _lines(repository, [entry.sha for entry in entries if not entry.merge])
    except GitFailed as error:
        project.missing["code_frequency"] = f"files are missing here: {error}"
    project.commits = [
        Commit(time=x.time, bot=x.author.is_bot, merge=x.merge, lines=lines.get(x.sha))
        for x in entries
        if x.time is not None
    ]
    project.authors = people(entry.author for entry in entries)
    project.committers = people(entry.committer for entry in entries) or None
    if project.committers is None:
        project.facts["committers"] = RepositoryFact(no_data=ONLY_WEB)


def _begin(path: Path, since: datetime | timedelta, until: datetime) -> datetime:
    try:
        begin = since if isinstance(since, datetime) else until - since
    except OverflowError:
        raise UserError(
            "the window is longer than the calendar", where="--since", expected="such as 180d"
        ) from None
    if begin >= until:
        raise UserError(
            "the history ends before the window begins, so it says nothing of it",
            where=str(path),
            expected=f"--since before {until:%Y-%m-%d}, the date of its newest commit, or a length "
            "such as 180d",
            actual=f"{begin:%Y-%m-%d}",
            fix="a newer clone, or a window of its own: a length is counted back from each newest "
            "commit",
        )
    return begin


def _log(repository: Repository) -> list[_LogEntry]:
    pretty = "%x00".join(_FIELDS)
    plain = "--no-show-signature --no-decorate --no-notes --no-ext-diff --no-patch --encoding=UTF-8"
    options = (f"--format={pretty}", *plain.split(), repository.head, "--")
    text = repository.git("log", "-z", *options)
    words = text.removesuffix("\0").split("\0")
    if len(words) % len(_FIELDS):
        raise GitFailed("a commit whose author or committer git does not tell")
    rows = (words[n : n + len(_FIELDS)] for n in range(0, len(words), len(_FIELDS)))
    return [
        _LogEntry(
            sha=sha,
            merge=" " in parents,
            time=_time(seconds),
            author=_Person(author, author_address),
            committer=_Person(committer, committer_address),
        )
        for sha, parents, seconds, author, author_address, committer, committer_address in rows
    ]


def _tags(repository: Repository) -> list[tuple[str, datetime]]:
    """Return (name, when it was made) of each tag. The commit's date stands in for a tag without a
    date of its own; a tag with neither is left out."""
    text = repository.git(
        "for-each-ref", "--format=%(refname:strip=2)%00%(creatordate:unix)", "refs/tags"
    )
    rows = (line.partition("\0") for line in text.splitlines())
    return [(name, time) for name, _, seconds in rows if (time := _time(seconds)) is not None]


def _is_version(tag: str) -> bool:
    return VERSION.fullmatch(tag) is not None


def _time(seconds: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _lines(repository: Repository, commits: Sequence[str]) -> dict[str, int]:
    """Return the lines added and removed by each commit; a renamed file counts with what changed in
    it, a binary file not at all."""
    options = ("-r", "--root", "--numstat", "-M", "--no-ext-diff", "--no-textconv")
    text = repository.git(
        "diff-tree", "--stdin", *options, stdin="".join(f"{sha}\n" for sha in commits)
    )
    lines_by_commit = dict.fromkeys(commits, 0)
    sha = ""
    for line in text.splitlines():
        words = line.split("\t")
        if len(words) == 1:
            sha = words[0]
        elif sha in lines_by_commit:
            lines_by_commit[sha] += sum(int(word) for word in words[:2] if word.isdecimal())
    return lines_by_commit


def people(persons: Iterable[_Person]) -> int:
    """Return how many people they are, without bots and programs. Persons with the same address or
    the same full name count as one, after the repository's own .mailmap."""
    leader: dict[str, str] = {}

    def first(key: str) -> str:
        while leader.setdefault(key, key) != key:
            key = leader[key]
        return key

    keys = set()
    for person in set(persons):
        if person.is_program:
            continue
        address = re.sub(
            r"^\d+\+(?=.*@users\.noreply\.github\.com$)", "", person.address.strip().casefold()
        )
        name = " ".join(person.name.split()).casefold()
        person_keys = [f"@{address}"] if address else []
        if " " in name or not person_keys:
            person_keys.append(f"={name}")
        for key in person_keys:
            leader[first(key)] = first(person_keys[0])
        keys.update(person_keys)
    return len({first(key) for key in keys})
