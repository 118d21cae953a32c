"""What a repository's items say: how many, how long until closed, merged or answered, and what
happened each month.

Open items are censored at the end of the data. Of pull requests, merged and closed unmerged are
competing ends. A first response is what the first other person writes; who closes without a word
ends the waiting without an answer.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from math import isfinite
from typing import Any

import numpy as np

from rmwbench.analysis.stats.survival import Curve, cumulative_incidence, kaplan_meier
from rmwbench.published.community.github.project import Commit, Metric, Project, ProjectItem

DAY_S = 86400.0
WITHIN_DAYS = (1, 7, 30, 90)
CURVE_POINTS = 400
FEWEST = 5
"""Items for a median: with fewer, the curve is an anecdote."""


def document(projects: Sequence[Project], *, people_only: bool = False) -> dict[str, Any]:
    """The engagement document (docs/community.md)."""
    return {
        "schema": "rmwbench/community-github",
        "version": 1,
        "people_only": people_only,
        "repositories": [_repository(p, people_only) for p in projects],
    }


def _repository(project: Project, people_only: bool) -> dict[str, Any]:
    items = [i for i in project.items if not (people_only and i.bot)]
    responses = _responses_known(project)
    out: dict[str, Any] = {
        "name": project.name,
        "source": project.source,
        "since": project.since.isoformat(),
        "until": project.until.isoformat(),
        "days": round((project.until - project.since).total_seconds() / DAY_S, 3),
    }
    reasons = {
        "pulls": _no_pulls(project),
        "issues": project.missing.get("issues"),
    }
    for kind, pull in (("pulls", True), ("issues", False)):
        out[kind] = (
            {"no_data": reasons[kind]}
            if reasons[kind]
            else _kind([i for i in items if i.pull is pull], project.until, pull, responses)
        )
    commits = [c for c in project.commits if not (people_only and c.bot)]
    out["months"] = _months(project, items, commits)
    out["facts"] = _facts(project, commits)
    if project.history is not None:
        out["history"] = asdict(project.history)
    return out


def _kind(
    items: list[ProjectItem], until: datetime, pull: bool, responses: str | None
) -> dict[str, Any]:
    closed = [i for i in items if i.closed or i.closed_unknown]
    out: dict[str, Any] = {
        "opened": len(items),
        "open": len(items) - len(closed),
        "closed": len(closed),
    }
    if pull:
        out["merged"] = sum(i.merged for i in closed)
        out["closed_unmerged"] = len(closed) - out["merged"]
    unknown = sum(i.closed_unknown for i in items)
    if unknown:
        out["closing_time_unknown"] = unknown
    known = [i for i in items if not i.closed_unknown]
    days = [_days(i.opened, i.closed or until) for i in known]
    curve = kaplan_meier(days, [i.closed is not None for i in known])
    out["time_to_close"] = _times(curve) | {"curve": _points(curve)}
    if pull:
        causes = [0 if i.closed is None else 1 if i.merged else 2 for i in known]
        out["ends"] = _ends(days, causes)
    out["first_response"] = {"no_data": responses} if responses else _first_response(items, until)
    out["by"] = {name: _group(group, until) for name, group in _groups(items).items()}
    return out


def _first_response(items: list[ProjectItem], until: datetime) -> dict[str, Any]:
    days, answered = [], []
    for item in items:
        end = item.responded or item.closed or (None if item.closed_unknown else until)
        if end is None:
            continue
        # A comment after the closing is not what anybody waited for.
        late = item.closed is not None and end > item.closed
        days.append(_days(item.opened, item.closed if item.closed and late else end))
        answered.append(item.responded is not None and not late)
    curve = kaplan_meier(days, answered)
    return _times(curve) | {"curve": _points(curve), "answered": int(sum(answered))}


def _times(curve: Curve) -> dict[str, Any]:
    """Median in days with its interval, and shares within some days; `ended` of `count` items
    ended."""
    out: dict[str, Any] = {"count": curve.count, "ended": curve.happened}
    median, low, high = curve.median()
    if curve.count < FEWEST:
        out["median"] = {"no_data": f"{curve.count} items: fewer than {FEWEST}"}
    elif not isfinite(median):
        out["median"] = {"no_data": "fewer than half have ended"} | (
            {"at_least": low} if isfinite(low) else {}
        )
    else:
        out["median"] = {
            "value": median,
            "low": low,
            "high": high if isfinite(high) else "inf",
            "unit": "days",
        }
    out["within"] = []
    for days in WITHIN_DAYS:
        if curve.count < FEWEST:
            break
        left, low, high = curve.at(days)
        out["within"].append({"days": days, "share": 1 - left, "low": 1 - high, "high": 1 - low})
    return out


def _points(curve: Curve) -> list[list[float]]:
    """[days, share still open, low, high], at most `CURVE_POINTS`; every step of a small curve."""
    keep = _thinned(len(curve.time))
    rows = zip(curve.time[keep], curve.share[keep], curve.low[keep], curve.high[keep], strict=True)
    return [[round(float(x), 6) for x in row] for row in rows]


def _thinned(steps: int) -> np.ndarray:
    """The places of at most CURVE_POINTS of so many steps, with the first and the last."""
    return np.unique(np.linspace(0, steps - 1, min(steps, CURVE_POINTS)).astype(int))


def _ends(days: list[float], causes: list[int]) -> dict[str, Any]:
    """Shares merged and closed unmerged over time; `curve` rows are [days, merged, closed
    unmerged]."""
    time, share = cumulative_incidence(days, causes)
    merged = share[0] if len(share) else np.zeros(len(time))
    unmerged = share[1] if len(share) > 1 else np.zeros(len(time))
    keep = _thinned(len(time))
    rows = [
        [round(float(x), 6) for x in row]
        for row in zip(time[keep], merged[keep], unmerged[keep], strict=True)
    ]
    within = []
    for limit in WITHIN_DAYS:
        place = int(np.searchsorted(time, limit, side="right")) - 1
        if len(days) >= FEWEST:
            values = (0.0, 0.0) if place < 0 else (float(merged[place]), float(unmerged[place]))
            within.append({"days": limit, "merged": values[0], "closed_unmerged": values[1]})
    return {"within": within, "curve": rows}


def _groups(items: list[ProjectItem]) -> dict[str, list[ProjectItem]]:
    """By author; an item whose author's standing is not known is in none of them."""
    people = [i for i in items if i.bot is False]
    return {
        "inside": [i for i in people if i.inside],
        "outside": [i for i in people if i.inside is False],
        "bots": [i for i in items if i.bot],
    }


def _group(items: list[ProjectItem], until: datetime) -> dict[str, Any]:
    known = [i for i in items if not i.closed_unknown]
    curve = kaplan_meier(
        [_days(i.opened, i.closed or until) for i in known], [i.closed is not None for i in known]
    )
    return {"opened": len(items), "median": _times(curve)["median"]}


def _months(
    project: Project, items: list[ProjectItem], commits: list[Commit]
) -> list[dict[str, Any]]:
    """Per calendar month (UTC) of the window; the first and the last may be cut (`days` says how
    much is in). Closings are of items opened in the window."""
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
    absent = {"commits", "releases"} & set(project.missing)
    if "issues" in project.missing:
        absent |= {"issues_opened", "issues_closed"}
    if _no_pulls(project):
        absent |= {"pulls_opened", "pulls_closed", "pulls_merged"}
    names = (
        "pulls_opened",
        "pulls_closed",
        "pulls_merged",
        "issues_opened",
        "issues_closed",
        "commits",
        "releases",
    )
    rows = []
    for month, days in _calendar(project.since, project.until):
        of_month = counts.get(month, Counter())
        values = {n: None if n in absent else of_month[n] for n in names}
        rows.append({"month": month, "days": round(days, 2)} | values)
    return rows


def _calendar(since: datetime, until: datetime) -> list[tuple[str, float]]:
    """(month, days of it in the window)."""
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


def _facts(project: Project, commits: list[Commit]) -> dict[str, Any]:
    """Stars, forks, contributors, … and the counts of the window; `no_data` with the reason where
    there is none."""
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
        name: project.facts.get(name) or {"no_data": project.missing.get(part, "not in the answer")}
        for name, part in parts.items()
    }
    return facts | _commit_facts(project, commits) | _release_facts(project)


def _commit_facts(project: Project, commits: list[Commit]) -> dict[str, Metric]:
    if "commits" in project.missing:
        return {
            name: {"no_data": project.missing["commits"]}
            for name in ("commits", "authors", "committers")
        }
    facts: dict[str, Metric] = {
        "commits": {"value": len(commits), "unit": "count", "bots": sum(c.bot for c in commits)},
        "authors": _people(project.authors),
        "committers": project.facts.get("committers") or _people(project.committers),
    }
    if left_out := len(project.commits) - len(commits):
        facts["commits"]["bots_left_out"] = left_out
    if project.history is not None:
        facts["commits"]["merges"] = sum(bool(c.merge) for c in commits)
        if "code_frequency" not in project.missing:
            facts["lines_changed"] = {
                "value": sum(c.lines for c in commits if c.lines is not None),
                "unit": "lines",
            }
    return facts


def _people(count: int | None) -> Metric:
    return (
        {"no_data": "these answers were saved without it"}
        if count is None
        else {"value": count, "unit": "count"}
    )


def _release_facts(project: Project) -> dict[str, Metric]:
    if "releases" in project.missing:
        return {
            name: {"no_data": project.missing["releases"]} for name in ("releases", "releases_ever")
        }
    recent = [t for t in project.releases if project.since <= t <= project.until]
    ever: Metric = {"value": len(project.releases), "unit": "count"}
    if project.releases:
        ever["latest"] = project.releases[-1].isoformat()
    return {"releases": {"value": len(recent), "unit": "count"}, "releases_ever": ever}


def _no_pulls(project: Project) -> str | None:
    """Why there are no pull requests; None where the list of issues has them, or their own."""
    return project.missing.get("issues") and project.missing.get("pulls")


def _responses_known(project: Project) -> str | None:
    """Why first responses are not known, None where they are."""
    both = [project.missing.get(part) for part in ("comments", "review_comments")]
    return next((reason for reason in both if reason), None)


def _days(begin: datetime, end: datetime) -> float:
    return max(0.0, (end - begin).total_seconds() / DAY_S)
