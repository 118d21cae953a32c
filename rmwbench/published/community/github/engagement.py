"""What a repository's items say: how many there are, how long they take until they are closed,
merged or answered, and what happened each month.

Open items are censored at the end of the data. Merged and closed unmerged are competing ends of a
pull request. A first response is what the first other person writes; closing without a word ends
the waiting without an answer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from math import isfinite
from typing import Literal

import numpy as np

from rmwbench.published.community.github.project import (
    Commit,
    History,
    Project,
    ProjectItem,
    RepositoryFact,
)
from rmwbench.published.community.github.survival import Curve, cumulative_incidence, kaplan_meier
from rmwbench.words.fields import absent, exact
from rmwbench.words.numbers import counted

DAY_S = 86400.0
WITHIN_DAYS = (1, 7, 30, 90)
CURVE_POINTS = 400
FEWEST = 5
"""The fewest items for a median: with fewer, the curve is an anecdote."""


Kind = Literal["pulls", "issues"]


@dataclass(frozen=True, kw_only=True)
class NoDataReason:
    no_data: str


@dataclass(frozen=True, kw_only=True)
class MedianDays:
    """A median with its interval, or `no_data` with the reason; `at_least` is its bound, if any."""

    no_data: str | None = absent()
    at_least: float | None = absent(exact=True)
    value: float | None = absent(exact=True)
    low: float | None = absent(exact=True)
    high: float | Literal["inf"] | None = absent(exact=True)
    unit: str | None = absent()


@dataclass(frozen=True, kw_only=True)
class EndedWithin:
    """The share that ended within `days`."""

    days: int
    share: float = exact()
    low: float = exact()
    high: float = exact()


@dataclass(frozen=True, kw_only=True)
class WaitingTimes:
    """How long items wait for an end: `ended` of `count` did. `curve`: [days, share still open,
    low, high]; `answered`: the number of first responses."""

    count: int
    ended: int
    median: MedianDays
    within: Sequence[EndedWithin]
    curve: Sequence[Sequence[float]] = exact()
    answered: int | None = absent()


@dataclass(frozen=True, kw_only=True)
class MergedWithin:
    days: int
    merged: float = exact()
    closed_unmerged: float = exact()


@dataclass(frozen=True, kw_only=True)
class PullEnds:
    """Shares merged and closed unmerged over time; `curve` rows are [days, merged, closed
    unmerged]."""

    within: Sequence[MergedWithin]
    curve: Sequence[Sequence[float]] = exact()


@dataclass(frozen=True, kw_only=True)
class AuthorGroup:
    opened: int
    median: MedianDays


@dataclass(frozen=True, kw_only=True)
class ItemTimes:
    """Pull requests or issues. `closing_time_unknown`: the number of closed ones without a time. If
    there are any, there are no `ends`, because theirs are among them."""

    opened: int
    open: int
    closed: int
    merged: int | None = absent()
    closed_unmerged: int | None = absent()
    closing_time_unknown: int | None = absent()
    time_to_close: WaitingTimes
    ends: PullEnds | None = absent()
    first_response: WaitingTimes | NoDataReason
    by: Mapping[str, AuthorGroup]


@dataclass(frozen=True, kw_only=True)
class MonthCounts:
    """A calendar month (UTC), of which `days` are in the window; a count is None if it is not
    known. Closings are those of items opened in the window."""

    month: str
    days: float = exact()
    pulls_opened: int | None = None
    pulls_closed: int | None = None
    pulls_merged: int | None = None
    issues_opened: int | None = None
    issues_closed: int | None = None
    commits: int | None = None
    releases: int | None = None

    def count(self, name: str) -> int | None:
        count: int | None = getattr(self, name)
        return count


MONTHLY = tuple(field.name for field in fields(MonthCounts) if field.name not in ("month", "days"))


@dataclass(frozen=True, kw_only=True)
class RepositoryEngagement:
    """`facts`: stars, forks, contributors, … and the counts of the window."""

    name: str
    source: str
    since: str
    until: str
    days: float = exact()
    pulls: ItemTimes | NoDataReason
    issues: ItemTimes | NoDataReason
    months: Sequence[MonthCounts]
    facts: Mapping[str, RepositoryFact]
    history: History | None = absent()

    def items(self, kind: Kind) -> ItemTimes | NoDataReason:
        return self.pulls if kind == "pulls" else self.issues


@dataclass(frozen=True, kw_only=True)
class Engagement:
    """The engagement document (docs/community.md)."""

    schema: Literal["rmwbench/community-github"] = "rmwbench/community-github"
    version: Literal[1] = 1
    people_only: bool
    repositories: Sequence[RepositoryEngagement]


def measure(projects: Sequence[Project], *, people_only: bool = False) -> Engagement:
    """Measure the repositories. `people_only`: without what bots opened or committed."""
    return Engagement(
        people_only=people_only, repositories=[_repository(p, people_only) for p in projects]
    )


def _repository(project: Project, people_only: bool) -> RepositoryEngagement:
    items = [i for i in project.items if not (people_only and i.bot)]
    commits = [c for c in project.commits if not (people_only and c.bot)]
    responses = _responses_unknown(project)

    def times(pull: bool, reason: str | None) -> ItemTimes | NoDataReason:
        if reason:
            return NoDataReason(no_data=reason)
        return _times(
            [i for i in items if i.pull is pull], project.until, pull=pull, responses=responses
        )

    return RepositoryEngagement(
        name=project.name,
        source=project.source,
        since=project.since.isoformat(),
        until=project.until.isoformat(),
        days=round((project.until - project.since).total_seconds() / DAY_S, 3),
        pulls=times(True, _no_pulls(project)),
        issues=times(False, project.missing.get("issues")),
        months=_months(project, items, commits),
        facts=_facts(project, commits),
        history=project.history,
    )


def _times(
    items: list[ProjectItem], until: datetime, *, pull: bool, responses: str | None
) -> ItemTimes:
    closed = [i for i in items if i.closed or i.closed_unknown]
    merged = sum(i.merged for i in closed)
    with_times = [i for i in items if not i.closed_unknown]
    days = [_days(i.opened, i.closed or until) for i in with_times]
    causes = [0 if i.closed is None else 1 if i.merged else 2 for i in with_times]
    return ItemTimes(
        opened=len(items),
        open=len(items) - len(closed),
        closed=len(closed),
        merged=merged if pull else None,
        closed_unmerged=len(closed) - merged if pull else None,
        closing_time_unknown=len(items) - len(with_times) or None,
        time_to_close=_waiting_times(days, [i.closed is not None for i in with_times]),
        ends=_ends(days, causes) if pull and len(with_times) == len(items) else None,
        first_response=(
            NoDataReason(no_data=responses) if responses else _first_response(items, until)
        ),
        by={name: _group(group, until) for name, group in _groups(items).items()},
    )


def _first_response(items: list[ProjectItem], until: datetime) -> WaitingTimes:
    days, answered = [], []
    for item in items:
        end = item.responded or item.closed or (None if item.closed_unknown else until)
        if end is None:
            continue
        # A comment after the closing is not what anybody waited for.
        late = item.closed is not None and end > item.closed
        days.append(_days(item.opened, item.closed if item.closed and late else end))
        answered.append(item.responded is not None and not late)
    return replace(_waiting_times(days, answered), answered=sum(answered))


def _waiting_times(days: list[float], ended: list[bool]) -> WaitingTimes:
    curve = kaplan_meier(days, ended)
    within = []
    for limit in _limits(days, float(curve.share[-1]) if len(curve.share) else 1.0):
        left, low, high = curve.at(limit)
        within.append(EndedWithin(days=limit, share=1 - left, low=1 - high, high=1 - low))
    return WaitingTimes(
        count=curve.count,
        ended=curve.happened,
        median=_median(curve),
        within=within,
        curve=_points(curve),
    )


def _limits(days: Sequence[float], left: float) -> list[int]:
    """Return the numbers of days for which a share is known; none for fewer than FEWEST items.
    Nothing is known of what is after the longest time, unless no share is `left` open then."""
    if len(days) < FEWEST:
        return []
    return [limit for limit in WITHIN_DAYS if limit <= max(days) or left < 1e-9]


def _median(curve: Curve) -> MedianDays:
    median, low, high = curve.median()
    if curve.count < FEWEST:
        return MedianDays(no_data=f"{counted(curve.count, 'item')}: fewer than {FEWEST}")
    if not isfinite(median):
        return MedianDays(
            no_data="fewer than half have ended", at_least=low if isfinite(low) else None
        )
    return MedianDays(value=median, low=low, high=high if isfinite(high) else "inf", unit="days")


def _points(curve: Curve) -> list[list[float]]:
    """Return at most `CURVE_POINTS` points; every step of a small curve."""
    keep = _thin(len(curve.time))
    rows = zip(curve.time[keep], curve.share[keep], curve.low[keep], curve.high[keep], strict=True)
    return [[round(float(x), 6) for x in row] for row in rows]


def _thin(steps: int) -> np.ndarray:
    """Return the places of at most CURVE_POINTS steps, with the first and the last."""
    return np.unique(np.linspace(0, steps - 1, min(steps, CURVE_POINTS)).astype(int))


def _ends(days: list[float], causes: list[int]) -> PullEnds:
    time, share = cumulative_incidence(days, causes)
    merged = share[0] if len(share) else np.zeros(len(time))
    unmerged = share[1] if len(share) > 1 else np.zeros(len(time))
    keep = _thin(len(time))
    rows = [
        [round(float(x), 6) for x in row]
        for row in zip(time[keep], merged[keep], unmerged[keep], strict=True)
    ]
    within = []
    for limit in _limits(days, 1 - float(merged[-1] + unmerged[-1]) if len(time) else 1.0):
        place = int(np.searchsorted(time, limit, side="right")) - 1
        values = (0.0, 0.0) if place < 0 else (float(merged[place]), float(unmerged[place]))
        within.append(MergedWithin(days=limit, merged=values[0], closed_unmerged=values[1]))
    return PullEnds(within=within, curve=rows)


def _groups(items: list[ProjectItem]) -> dict[str, list[ProjectItem]]:
    """Return the items by group of author; an item whose author's standing is not known is in none
    of them."""
    people = [i for i in items if i.bot is False]
    return {
        "inside": [i for i in people if i.inside],
        "outside": [i for i in people if i.inside is False],
        "bots": [i for i in items if i.bot],
    }


def _group(items: list[ProjectItem], until: datetime) -> AuthorGroup:
    with_times = [i for i in items if not i.closed_unknown]
    curve = kaplan_meier(
        [_days(i.opened, i.closed or until) for i in with_times],
        [i.closed is not None for i in with_times],
    )
    return AuthorGroup(opened=len(items), median=_median(curve))


def _months(project: Project, items: list[ProjectItem], commits: list[Commit]) -> list[MonthCounts]:
    """Return the counts of each month; the first and the last month may be cut."""
    counts: dict[str, Counter[str]] = {}

    def count(time: datetime | None, name: str) -> None:
        if time is not None and project.since <= time <= project.until:
            counts.setdefault(f"{time:%Y-%m}", Counter())[name] += 1

    for item in items:
        kind = "pulls" if item.pull else "issues"
        count(item.opened, f"{kind}_opened")
        count(item.closed, f"{kind}_closed")
        count(item.closed if item.merged else None, "pulls_merged")
    for commit in commits:
        count(commit.time, "commits")
    for time in project.releases:
        count(time, "releases")
    unknown = {"commits", "releases"} & set(project.missing)
    if "issues" in project.missing:
        unknown |= {"issues_opened", "issues_closed"}
    if _no_pulls(project):
        unknown |= {"pulls_opened", "pulls_closed", "pulls_merged"}
    months = []
    for month, days in _calendar(project.since, project.until):
        of_month = counts.get(month, Counter())
        values = {name: None if name in unknown else of_month[name] for name in MONTHLY}
        months.append(MonthCounts(month=month, days=round(days, 2), **values))
    return months


def _calendar(since: datetime, until: datetime) -> list[tuple[str, float]]:
    """Return (month, days of it in the window) for each month."""
    out, begin = [], since
    while begin < until:
        year, month = begin.year + begin.month // 12, begin.month % 12 + 1
        end = min(
            until,
            begin.replace(year=year, month=month, day=1, hour=0, minute=0, second=0, microsecond=0),
        )
        out.append((f"{begin:%Y-%m}", (end - begin).total_seconds() / DAY_S))
        begin = end
    return out


def _facts(project: Project, commits: list[Commit]) -> dict[str, RepositoryFact]:
    parts = {
        "stars": "repository",
        "forks": "repository",
        "watchers": "repository",
        "contributors": "contributors",
        "code_size": "languages",
        "lines_changed": "code_frequency",
        "licence": "repository",
    }
    facts = {
        name: project.facts.get(name)
        or RepositoryFact(no_data=project.missing.get(part, "not in the answer"))
        for name, part in parts.items()
    }
    return facts | _commit_facts(project, commits) | _release_facts(project)


def _commit_facts(project: Project, commits: list[Commit]) -> dict[str, RepositoryFact]:
    if "commits" in project.missing:
        unknown = RepositoryFact(no_data=project.missing["commits"])
        return dict.fromkeys(("commits", "authors", "committers"), unknown)
    from_git = project.history is not None
    facts = {
        "commits": RepositoryFact(
            value=len(commits),
            unit="count",
            bots=sum(c.bot for c in commits),
            bots_left_out=len(project.commits) - len(commits) or None,
            merges=sum(bool(c.merge) for c in commits) if from_git else None,
        ),
        "authors": _people(project.authors),
        "committers": project.facts.get("committers") or _people(project.committers),
    }
    if from_git and "code_frequency" not in project.missing:
        lines = sum(c.lines for c in commits if c.lines is not None)
        facts["lines_changed"] = RepositoryFact(value=lines, unit="lines")
    return facts


def _people(count: int | None) -> RepositoryFact:
    if count is None:
        return RepositoryFact(no_data="these answers were saved without it")
    return RepositoryFact.of_count(count)


def _release_facts(project: Project) -> dict[str, RepositoryFact]:
    if "releases" in project.missing:
        unknown = RepositoryFact(no_data=project.missing["releases"])
        return dict.fromkeys(("releases", "releases_ever"), unknown)
    recent = [t for t in project.releases if project.since <= t <= project.until]
    latest = project.releases[-1].isoformat() if project.releases else None
    return {
        "releases": RepositoryFact.of_count(len(recent)),
        "releases_ever": RepositoryFact(value=len(project.releases), unit="count", latest=latest),
    }


def _no_pulls(project: Project) -> str | None:
    """Return why there are no pull requests; None if the list of issues or their own list has
    them."""
    return project.missing.get("issues") and project.missing.get("pulls")


def _responses_unknown(project: Project) -> str | None:
    """Return why first responses are not known, None if they are."""
    reasons = [project.missing.get(part) for part in ("comments", "review_comments")]
    return next((reason for reason in reasons if reason), None)


def _days(begin: datetime, end: datetime) -> float:
    return max(0.0, (end - begin).total_seconds() / DAY_S)
