"""GitHub engagement of 2020: pull requests, issues and commits of four repositories, 180 days each.

The issues came from an interface that lists pull requests too, so each pull request is counted
twice. A pull request that was closed without merge has no time in the pull requests' table, but the
issues' table has one for the same number. The corrected curve uses it: Kaplan and Meier's estimate
of the time to close, with open ones censored at the newest time in the data.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from rmwbench.published.importers.data_source import Source, SourceFile
from rmwbench.published.importers.published import Published, SeriesPoints
from rmwbench.published.importers.sheet import Once, SheetRow, columns, rows, unlike

PULLS = columns(",state,opened_on,closed,time_to_close,commits,number,title,url,closed_at")
ISSUES = columns(
    ",closed_at,created_at,labels,id,number,state,title,url,last_mod,comments,turn_round"
)
COMMITS = columns(",last_modified,author,sha,changes,commiter")
FORMS = {"pr": PULLS, "issue": ISSUES, "commit": COMMITS}
URL = re.compile(r"https://api\.github\.com/repos/([^/]+/[^/]+)/(?:pulls|issues)/(\d+)")
FIRST = datetime(1970, 1, 2, tzinfo=UTC)
"""The earliest time: commits keep dates from before GitHub."""
FILL_DAYS = 180.0
DAY_S = 86400.0
WITHIN_DAYS = (1, 7, 14, 30, 80)
BINS, AXIS_DAYS = 180, 80
"""The number of bins of the original's cumulative histograms, and how far their axis goes."""

Closings = dict[int, tuple[datetime, float | None, str]]
"""Number → (opened, seconds until closed or None, state)."""


@dataclass
class GithubRepository:
    name: str = ""
    pulls: Closings = field(default_factory=dict)
    issues: Closings = field(default_factory=dict)
    commits: int | None = None
    has_pulls: bool = False
    has_issues: bool = False

    def closings(self) -> Closings:
        """Return the pull requests, with the closing time of unmerged ones from the issues' table,
        which alone has it."""
        return {
            n: (t, s if s is not None else self.issues.get(n, (t, None, state))[1], state)
            for n, (t, s, state) in self.pulls.items()
        }


def recognises(item: SourceFile) -> bool:
    return _form(item) is not None


def _form(item: SourceFile) -> str | None:
    names = set(item.header)
    return next((form for form, header in FORMS.items() if names == set(header)), None)


def read(source: Source, out: Published) -> None:
    """Read figures only: an item on GitHub is not a trial."""
    out.add_known("github-csv")
    by_stem = repositories(source)
    until = newest(by_stem.values())
    for stem, repository in by_stem.items():
        _figures(stem, repository, until, out)


def repositories(source: Source) -> dict[str, GithubRepository]:
    """Return the repositories of a directory of tables, by the stem of their files. Raise UserError
    for any other file."""
    by_stem: dict[str, GithubRepository] = {}
    for item in source:
        form = _form(item)
        if form is None:
            what = "not a table of pull requests, issues or commits"
            raise unlike(item, what, "their columns")
        stem = item.file_name.removesuffix(".csv").removesuffix(f"_{form}")
        repository = by_stem.setdefault(stem, GithubRepository())
        {"pr": _pulls, "issue": _issues, "commit": _commits}[form](item, repository)
    return by_stem


def newest(of: Iterable[GithubRepository]) -> float:
    """Return the newest time in the data, s since 1970: the repositories were watched until then at
    least. 0 without items."""
    return max(
        (
            time.timestamp() + (seconds or 0.0)
            for r in of
            for time, seconds, _ in (*r.pulls.values(), *r.issues.values())
        ),
        default=0.0,
    )


def _pulls(item: SourceFile, repository: GithubRepository) -> None:
    repository.has_pulls = True
    _take(rows(item, PULLS), repository, repository.pulls, "opened_on", "time_to_close")


def _issues(item: SourceFile, repository: GithubRepository) -> None:
    repository.has_issues = True
    _take(rows(item, ISSUES), repository, repository.issues, "created_at", "turn_round")


def _take(
    items: Iterable[SheetRow], repository: GithubRepository, into: Closings, opened: str, took: str
) -> None:
    """Add the rows to `into`. `opened` and `took` are the columns with the time of opening and the
    seconds until closed."""
    once = Once("the same number")
    for row in items:
        number = _identify(row, repository)
        state, opened_at = row.one_of("state", ("open", "closed")), _time(row, opened)
        once(number, row.where)
        seconds = _seconds(row, took)
        _check_closing(row, opened_at, seconds)
        into[number] = (opened_at, seconds, state)


def _commits(item: SourceFile, repository: GithubRepository) -> None:
    repository.commits = 0
    for row in rows(item, COMMITS):
        _time(row, "last_modified")
        repository.commits += 1


def _identify(row: SheetRow, repository: GithubRepository) -> int:
    """Return the number of an item, which its address must end in."""
    match, number = URL.fullmatch(row["url"]), row.whole("number")
    if match is None or int(match[2]) != number:
        raise row.wrong(
            "the url is not the item's",
            "https://api.github.com/repos/OWNER/NAME/…/NUMBER",
            row["url"],
        )
    if repository.name and repository.name != match[1]:
        raise row.wrong("another repository's item", repository.name, match[1])
    repository.name = match[1]
    return number


def _seconds(row: SheetRow, column: str) -> float | None:
    seconds = row.number_or_none(column)
    if seconds is not None and seconds < 0:
        raise row.wrong(f"column {column!r} is negative", "seconds from 0 on", row[column])
    return seconds


def _check_closing(row: SheetRow, opened_at: datetime, seconds: float | None) -> None:
    """Raise UserError if something was closed before it was opened, after now, or in another time
    than it took."""
    closed_at = _time(row, "closed_at") if row["closed_at"].strip() else None
    if closed_at is not None and closed_at < opened_at:
        raise row.wrong(
            "closed before it was opened", f"a time from {opened_at} on", row["closed_at"]
        )
    if seconds is None:
        return
    if opened_at.timestamp() + seconds > _now().timestamp():
        raise row.wrong(
            "closed in the future", "a time until now", f"{seconds:g} s after {opened_at}"
        )
    if closed_at is not None and abs((closed_at - opened_at).total_seconds() - seconds) > 1:
        took = (closed_at - opened_at).total_seconds()
        raise row.wrong("the time to close contradicts the times", f"{took:g} s", f"{seconds:g} s")


def _now() -> datetime:
    """Return the latest time that a time can be, with a day for other zones."""
    return datetime.now(UTC) + timedelta(days=1)


def _time(row: SheetRow, column: str) -> datetime:
    """Return a time. Raise UserError for text that is not a time, or an impossible one."""
    time = _parse_time(row, column)
    if not FIRST <= time <= _now():
        raise row.wrong(
            f"column {column!r} is an impossible time", f"from {FIRST} until now", row[column]
        )
    return time


def _parse_time(row: SheetRow, column: str) -> datetime:
    try:
        return datetime.strptime(row[column], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        raise row.wrong(
            f"column {column!r} is not a time", "YYYY-MM-DD HH:MM:SS", row[column]
        ) from None


def _figures(stem: str, r: GithubRepository, until: float, out: Published) -> None:
    series = r.name or stem
    point = SeriesPoints(out, "github", series)
    if r.has_pulls:
        _counts(out, "github_pull_requests", series, r.pulls, r.pulls)
        merged = [s / DAY_S for _, s, _ in r.pulls.values() if s is not None]
        closed = sum(state == "closed" for *_, state in r.pulls.values())
        unmerged = float(closed - len(merged))
        replace(point, count=closed)("closed_unmerged", "pull requests", None, unmerged)
        curve = SeriesPoints(out, "github_pull_request", series)
        _curve(curve, merged, len(r.pulls), r.closings(), until)
    if r.has_issues:
        true = {n: v for n, v in r.issues.items() if n not in r.pulls} if r.has_pulls else None
        _counts(out, "github_issues", series, r.issues, true)
        days = [s / DAY_S for _, s, _ in r.issues.values() if s is not None]
        _curve(SeriesPoints(out, "github_issue", series), days, len(r.issues), true, until)
    if r.commits is not None:
        note = "no data: the counts are whole pages (multiples of 60), so paging cut them"
        point("commits", "commits", float(r.commits), None, note)


NO_PULLS = "no data: without the table of pull requests they cannot be told from issues"
UNKNOWN_TIMES = "no data: when some of the closed were closed is in none of the tables"


def _counts(
    out: Published,
    figure: str,
    series: str,
    published: Mapping[int, Any],
    corrected: Mapping[int, Any] | None,
) -> None:
    note = NO_PULLS if corrected is None else None
    if corrected is not None and published is not corrected:
        note = "corrected: without pull requests"
    for state in ("open", "closed"):
        counts = [
            None if d is None else float(sum(s == state for *_, s in d.values()))
            for d in (published, corrected)
        ]
        point = SeriesPoints(out, "", series, state, len(published))
        point(figure, "items", counts[0], counts[1], note)


def _curve(
    point: SeriesPoints,
    published_days: list[float],
    published_items: int,
    items: Closings | None,
    until: float,
) -> None:
    """Add the share closed within some days, and the median: as published with 180 days for what
    has no time, as corrected with open items censored at `until`, s since 1970."""
    filled_days = np.array(published_days + [FILL_DAYS] * (published_items - len(published_days)))
    filled = float(np.median(filled_days)) if len(filled_days) else None
    median = float(np.median(published_days)) if published_days else None
    if items is None or _some_times_unknown(items):
        why = NO_PULLS if items is None else UNKNOWN_TIMES
        point("median_of_closed", "days", median, None, why)
        point("median", "days", filled, None, why)
        return
    corrected = _median_of(items)
    why_none = "no data: nothing was closed" if corrected is None else None
    point("median_of_closed", "days", median, corrected, why_none)
    if not items:
        replace(point, count=0)("median", "days", filled, None, "no data: no item")
    else:
        _survival(replace(point, count=len(items)), filled_days, filled, items, until)


def _some_times_unknown(items: Closings) -> bool:
    """Whether some items are closed without a time. Counted as open they would last too long, and
    without them the others would be all."""
    return any(seconds is None and state == "closed" for _, seconds, state in items.values())


def _survival(
    point: SeriesPoints,
    filled_days: np.ndarray,
    filled: float | None,
    items: Closings,
    until: float,
) -> None:
    days = np.array(
        [(until - t.timestamp() if s is None else s) / DAY_S for t, s, _ in items.values()]
    )
    happened = np.array([s is not None for _, s, _ in items.values()])
    survival = kaplan_meier(days, happened)
    half = next((float(t) for t, left in survival if left <= 0.5), None)
    note = "published: 180 days for what has no time; corrected: open items censored"
    why = "no data: fewer than half are closed"
    point("median", "days", filled, half, why if half is None else note)
    for within in WITHIN_DAYS:
        left = [s for t, s in survival if t <= within]
        share = float(np.mean(filled_days <= within)) * 100 if len(filled_days) else None
        closed = 100 * (1 - (left[-1] if left else 1.0))
        replace(point, x=within)("closed_within", "%", share, closed)
    _steps(replace(point, count=len(filled_days)), filled_days, survival)


def _steps(
    point: SeriesPoints, filled_days: np.ndarray, survival: list[tuple[float, float]]
) -> None:
    """Add the cumulative histogram at the right edge of each of its 180 bins, as far as its axis
    goes (80 days)."""
    edges = np.linspace(filled_days.min(), filled_days.max(), BINS + 1)[1:]
    times = np.array([time for time, _ in survival])
    left = np.array([1.0, *(share for _, share in survival)])
    for edge in edges[edges <= AXIS_DAYS]:
        closed = 1 - left[int(np.searchsorted(times, edge, side="right"))]
        share = float((filled_days <= edge).mean())
        replace(point, x=f"{edge:.4g}")("curve", "fraction", share, float(closed))


def _median_of(items: Closings) -> float | None:
    days = [s / DAY_S for _, s, _ in items.values() if s is not None]
    return float(np.median(days)) if days else None


def kaplan_meier(times: np.ndarray, happened: np.ndarray) -> list[tuple[float, float]]:
    """Return (time, share still open after it) at every time at which something happened; times of
    shape (items,).

    Kaplan and Meier 1958: the product over event times of 1 − events ÷ items still at risk.
    """
    out, left = [], 1.0
    for time in np.unique(times[happened]):
        at_risk = int((times >= time).sum())
        left *= 1 - int(((times == time) & happened).sum()) / at_risk
        out.append((float(time), left))
    return out
