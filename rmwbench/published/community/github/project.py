"""A repository as it is measured, whatever it was read from: its items with their times, its
commits, its counts.

No names are kept: about people only whether they are a bot, whether they belong to the project, and
how many committed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from rmwbench.errors import UserError
from rmwbench.published.community.github.client import PARTS, Raw, is_pull, parse
from rmwbench.words.fields import absent

INSIDE = ("OWNER", "MEMBER", "COLLABORATOR")
WEB = "web-flow"
"""The committer of what is merged on GitHub's pages: a program and no person."""
_BOT = re.compile(r".*\[bot\]|[\w.+-]*[-_]bot", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class RepositoryFact:
    """`value` with `unit`, or `no_data` with the reason. `languages`: the largest; `weeks`: the
    number of weeks summed; `latest`: the time of the newest release."""

    no_data: str | None = absent()
    value: int | str | None = absent()
    unit: str | None = absent()
    languages: Sequence[str] | None = absent()
    weeks: int | None = absent()
    bots: int | None = absent()
    bots_left_out: int | None = absent()
    merges: int | None = absent()
    latest: str | None = absent()

    @classmethod
    def of_count(cls, count: int) -> Self:
        return cls(value=count, unit="count")


@dataclass
class ProjectItem:
    """A pull request or issue. `closed` is None while it is open, and with `closed_unknown` if only
    its time is missing.

    `responded` is when the first person other than the author wrote or reviewed.
    """

    number: int
    pull: bool
    opened: datetime
    closed: datetime | None = None
    merged: bool = False
    closed_unknown: bool = False
    bot: bool | None = None
    inside: bool | None = None
    responded: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Commit:
    """`merge` and `lines` (added and removed) are None if the source does not tell them."""

    time: datetime
    bot: bool = False
    merge: bool | None = None
    lines: int | None = None


@dataclass(frozen=True, kw_only=True)
class History:
    """Where a git history was read. `undated`: the commits without a date, or with one in the
    future, which are in no window; `other_tags`: the tags whose names are no versions."""

    branch: str
    commit: str
    undated: int
    other_tags: int


@dataclass
class Project:
    """What is known of one repository; `missing` says for a part (`PARTS`) why it is not known.

    `authors` wrote the commits of the window, `committers` put them on the branch: people, without
    bots; None if the source does not tell them. `history` is None for what GitHub answered.
    """

    name: str
    source: str
    since: datetime
    until: datetime
    items: list[ProjectItem] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    authors: int | None = None
    committers: int | None = None
    releases: list[datetime] = field(default_factory=list)
    facts: dict[str, RepositoryFact] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    history: History | None = None


def digest(raw: Raw, where: str) -> Project:
    """Return the repository in raw answers. Raise UserError with `where` and the part if an answer
    does not have the API's shape."""
    about = raw["collected"]
    project = Project(about["name"], where, parse(about["since"]), parse(about["until"]))
    for part in PARTS:
        answer = raw.get(part)
        if answer is None:
            project.missing[part] = "not in these files"
        elif isinstance(answer, dict) and "no_data" in answer:
            project.missing[part] = answer["no_data"]
    for part, read in _READERS.items():
        if part in raw and part not in project.missing:
            try:
                read(project, raw[part], raw)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise UserError(
                    f"{part} is not what GitHub's API answers",
                    where=where,
                    expected="its objects, unchanged",
                    actual=f"{type(error).__name__}: {error}",
                ) from None
    return project


def _items(project: Project, answer: list[Raw], raw: Raw) -> None:
    merges = raw.get("pulls")
    merged_at = {
        entry["number"]: entry.get("merged_at")
        for entry in (merges if isinstance(merges, list) else ())
    }
    for entry in answer:
        opened = parse(entry["created_at"])
        if opened < project.since:
            continue
        closed, state = entry.get("closed_at"), entry["state"]
        if state not in ("open", "closed"):
            raise ValueError(f"state {state!r}")
        pull = is_pull(entry)
        merge = merged_at.get(entry["number"]) or (entry.get("pull_request") or {}).get("merged_at")
        project.items.append(
            ProjectItem(
                number=entry["number"],
                pull=pull,
                opened=opened,
                closed=parse(closed) if closed and state == "closed" else None,
                merged=pull and bool(merge or entry.get("merged_at")),
                closed_unknown=state == "closed" and not closed,
                bot=_is_bot(entry.get("user")),
                inside=entry["author_association"] in INSIDE
                if entry.get("author_association")
                else None,
            )
        )


def _pulls(project: Project, answer: list[Raw], raw: Raw) -> None:
    """Add the pull requests if the list of issues is missing; otherwise their merges are already
    used."""
    if "issues" in project.missing:
        _items(project, answer, {})


def _responses(project: Project, answer: list[Raw], raw: Raw) -> None:
    listed = raw["issues"] if isinstance(raw.get("issues"), list) else raw.get("pulls") or []
    authors = {entry["number"]: (entry.get("user") or {}).get("login") for entry in listed}
    by_number = {item.number: item for item in project.items}
    for entry in answer:
        number = int(str(entry.get("issue_url") or entry["pull_request_url"]).rpartition("/")[2])
        when = entry.get("created_at") or entry.get("submitted_at")
        item, who = by_number.get(number), entry.get("user")
        if item is None or when is None or _is_bot(who):
            continue
        if (who or {}).get("login") == authors.get(number) and who:
            continue
        time = parse(when)
        if time >= item.opened and (item.responded is None or time < item.responded):
            item.responded = time


def _commits(project: Project, answer: list[Raw], raw: Raw) -> None:
    authors, committers = set(), set()
    for entry in answer:
        time = parse(entry["commit"]["committer"]["date"])
        if time < project.since:
            continue
        author, name = entry.get("author"), entry["commit"]["author"]["name"]
        bot = _is_bot(author) or is_bot_name(name or "")
        project.commits.append(Commit(time=time, bot=bot))
        if not bot:
            authors.add((author or {}).get("login") or name)
        committer = entry.get("committer")
        if committer and not _is_bot(committer) and committer.get("login") != WEB:
            committers.add(committer.get("login"))
    project.authors = len(authors)
    # Answers that were saved before committers were kept have none at all.
    project.committers = (
        len(committers) if not answer or any("committer" in entry for entry in answer) else None
    )


def _releases(project: Project, answer: list[Raw], raw: Raw) -> None:
    published = [e for e in answer if not e.get("draft")]
    project.releases = sorted(parse(e["published_at"] or e["created_at"]) for e in published)


def _repository(project: Project, answer: Raw, raw: Raw) -> None:
    facts = {"stars": "stargazers_count", "forks": "forks_count", "watchers": "subscribers_count"}
    for fact, key in facts.items():
        value = answer.get(key)
        project.facts[fact] = (
            RepositoryFact(no_data="not in the answer")
            if value is None
            else RepositoryFact.of_count(int(value))
        )
    spdx = (answer.get("license") or {}).get("spdx_id")
    project.facts["licence"] = (
        RepositoryFact(value=spdx, unit="")
        if spdx and spdx != "NOASSERTION"
        else RepositoryFact(no_data="GitHub does not recognise the licence")
    )


def _languages(project: Project, answer: Raw, raw: Raw) -> None:
    sizes = {str(name): int(size) for name, size in answer.items()}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
    project.facts["code_size"] = RepositoryFact(
        value=sum(sizes.values()), unit="bytes", languages=largest
    )


def _changes(project: Project, answer: list[list[int]], raw: Raw) -> None:
    weeks = [week for week in answer if datetime.fromtimestamp(week[0], UTC) >= project.since]
    value = sum(week[1] - week[2] for week in weeks)
    project.facts["lines_changed"] = RepositoryFact(value=value, unit="lines", weeks=len(weeks))


def _contributors(project: Project, answer: int, raw: Raw) -> None:
    project.facts["contributors"] = RepositoryFact.of_count(int(answer))


_READERS: dict[str, Callable[[Project, Any, Raw], None]] = {
    "repository": _repository,
    "issues": _items,
    "pulls": _pulls,
    "comments": _responses,
    "review_comments": _responses,
    "reviews": _responses,
    "commits": _commits,
    "releases": _releases,
    "languages": _languages,
    "code_frequency": _changes,
    "contributors": _contributors,
}


def _is_bot(user: Raw | None) -> bool:
    user = user or {}
    return user.get("type") == "Bot" or is_bot_name(str(user.get("login") or ""))


def is_bot_name(name: str) -> bool:
    """Whether a login or an author's name is that of a bot: NAME[bot], as GitHub names them, or
    NAME-bot."""
    return _BOT.fullmatch(name.strip()) is not None
