"""The engagement as sections for page and terminal, with its charts: how long items stay open, how
long until somebody answers, and what happened each month."""

from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Literal

import altair as alt

from rmwbench.published.community.github.engagement import (
    Engagement,
    Kind,
    MedianDays,
    MonthCounts,
    NoDataReason,
    RepositoryEngagement,
    WaitingTimes,
)
from rmwbench.published.community.github.project import RepositoryFact
from rmwbench.published.community.repository import FAR_APART_DAYS
from rmwbench.report.chart import frame
from rmwbench.report.chart.frame import TEXT
from rmwbench.report.chart.style import Spec, looks_of_middlewares
from rmwbench.report.view import Head, Picture, Section, Table, Text, View, panel
from rmwbench.words import numbers as fmt

LEAST_DAYS = 1 / 24
"""The left end of the time axis: whatever took less than an hour is drawn there."""
_TICKS = (1 / 24, 0.25, 1, 3, 7, 14, 30, 90, 180, 365, 730)
_TICK_LABEL = (
    "datum.value < 1 ? format(datum.value * 24, '.2~g') + ' h' : format(datum.value, '~g') + ' d'"
)
_HEIGHT = 300


def waiting_chart(
    repositories: Sequence[RepositoryEngagement],
    kind: Kind,
    metric: Literal["time_to_close", "first_response"],
) -> Spec | None:
    """Return a chart of the share of items still waiting against time, with a step line per
    repository and a dot at the end of a curve that still has open items. None without any curve."""
    names, points, ends = [], [], []
    for repository in repositories:
        items = repository.items(kind)
        if isinstance(items, NoDataReason):
            continue
        times = items.time_to_close if metric == "time_to_close" else items.first_response
        if not isinstance(times, NoDataReason) and (rows := _curve(repository, times)):
            names.append(repository.name)
            points += rows
            last = rows[-1]
            ends += [{key: last[key] for key in ("name", "days", "share")}] * (last["share"] > 0)
    if not names:
        return None
    most = max(p["days"] for p in points)
    scale = alt.Scale(type="log", domain=[LEAST_DAYS, max(most, 1.0)], nice=False, clamp=True)
    title = "time since it was opened (log axis)"
    axis = frame.axis(values=[t for t in _TICKS if t <= most], labelExpr=_TICK_LABEL, title=title)
    colour = _colours(repositories, names)
    x = alt.X("days:Q", scale=scale, axis=axis)
    y = alt.Y(
        "share:Q",
        scale=alt.Scale(domain=[0, 1]),
        axis=frame.axis(title=None, format=".0%", tickCount=5),
    )
    base = alt.Chart(frame.POINTS)
    layers = [
        base.mark_line(interpolate="step-after", strokeWidth=2).encode(
            x=x, y=y, order=alt.Order("n:Q"), color=colour
        ),
        base.mark_area(interpolate="step-after", opacity=0.1).encode(
            x=x, y=alt.Y("low:Q", scale=alt.Scale(domain=[0, 1])), y2=alt.Y2("high:Q"), color=colour
        ),
    ]
    if ends:
        layers.append(
            alt.Chart(alt.InlineData(values=ends))
            .mark_circle(size=45, opacity=1)
            .encode(x=x, y=y, color=colour)
        )
    return frame.finish(alt.layer(*layers), height=_HEIGHT, points=points)


def _curve(repository: RepositoryEngagement, times: WaitingTimes) -> list[dict[str, Any]]:
    """Return a point for each step, up to the end of the data if items are still open."""
    if not times.curve:
        return []
    steps = [
        [LEAST_DAYS, 1.0, 1.0, 1.0],
        *([max(row[0], LEAST_DAYS), *row[1:]] for row in times.curve),
    ]
    if steps[-1][1] > 0:
        steps.append([max(repository.days, steps[-1][0]), *steps[-1][1:]])
    return [
        dict(name=repository.name, days=days, share=share, low=low, high=high, n=n)
        for n, (days, share, low, high) in enumerate(steps)
    ]


def months_chart(
    repositories: Sequence[RepositoryEngagement], name: str, title: str
) -> Spec | None:
    """Return a chart of a count per calendar month, with a group of bars per month; months without
    data have none."""
    rows: list[dict[str, Any]] = [
        {"name": r.name, "month": m.month, "value": m.count(name), "days": m.days}
        for r in repositories
        for m in r.months
        if m.count(name) is not None
    ]
    if not any(row["value"] for row in rows):
        return None
    names = list(dict.fromkeys(row["name"] for row in rows))
    chart = (
        alt.Chart(frame.ROWS)
        .mark_bar(opacity=0.9)
        .encode(
            x=alt.X("month:O", axis=frame.axis(title=None, grid=False, labelAngle=0)),
            xOffset=alt.XOffset("name:N", scale=alt.Scale(domain=names)),
            y=alt.Y("value:Q", axis=frame.axis(title=title, tickMinStep=1, tickCount=5)),
            color=_colours(repositories, names),
            tooltip=[
                alt.Tooltip("name:N", title="repository"),
                alt.Tooltip("month:N"),
                alt.Tooltip("value:Q", title=title),
                alt.Tooltip("days:Q", title="days of the month covered"),
            ],
        )
    )
    return frame.finish(chart, height=220, rows=rows)


def _colours(repositories: Iterable[RepositoryEngagement], names: list[str]) -> alt.Color:
    """Return the colours, which are the same for a repository in every chart of a page."""
    styles = looks_of_middlewares(r.name for r in repositories)
    legend = alt.Legend(
        orient="bottom",
        columns=2,
        title=None,
        symbolSize=160,
        symbolOpacity=1,
        labelColor=TEXT,
        labelLimit=320,
    )
    return alt.Color(
        "name:N",
        scale=alt.Scale(domain=names, range=[styles[n].colour for n in names]),
        legend=legend,
    )


_LOG = (
    "Time runs on a log axis; the shade is the 95 % interval; a dot ends a curve that items "
    "still open cut short."
)


def view(engagement: Engagement, *, draw: bool = False, months: bool = True) -> View:
    """Return the view. `draw` also makes the charts; `months`: there is a row for each month."""
    repositories = engagement.repositories
    lead = [f"{r.name}: {_window(r)} ({r.days:.0f} days)" for r in repositories]
    if engagement.people_only:
        lead.append("Without the pull requests, issues and commits of bots.")
    with_api = [r for r in repositories if r.history is None]
    sections = [
        _kind(repositories, "pulls", "Pull requests", draw),
        _kind(repositories, "issues", "Issues", draw),
    ]
    if with_api:
        sections += [_answers(repositories, draw), _authors(repositories)]
    sections.append(_facts(repositories))
    if months:
        sections.append(_months(repositories, draw))
    sections.append(_reading(bool(with_api), len(with_api) < len(repositories)))
    if len(with_api) < len(repositories):
        sections.insert(0, _from_git(repositories))
    card = (
        f"{', '.join(r.name for r in repositories)} · until "
        f"{max((r.until[:10] for r in repositories), default='')}"
    )
    return View(
        title="Engagement on GitHub" if with_api or not repositories else "Activity in git",
        about=[*map(Text, lead)],
        sections=sections,
        card=[card],
    )


def _from_git(repositories: Sequence[RepositoryEngagement]) -> Section:
    """Return what was read from git, until when, and what git cannot say."""
    histories = [(r, r.history) for r in repositories if r.history]
    newest = max(_day(r.until) for r in repositories)
    rows = []
    for repository, history in histories:
        until = _day(repository.until)
        old = " (!)" if (newest - until).days > FAR_APART_DAYS else ""
        rows.append([repository.name, history.branch, history.commit[:12], f"{until}{old}"])
    text = [
        "These numbers are from git histories; GitHub's API was not asked. A history has no issues, "
        "pull requests, first responses, stars or forks: there is no data on them, which is not 0. "
        "With access to the API, `rmwbench published community github OWNER/NAME…` gives those of today.",
        "A window ends with the newest commit of the copy of the history. It has neither what "
        "happened since then nor the quiet days after that commit.",
    ]
    if len({r.until[:10] for r in repositories}) > 1:
        text.append(
            "The windows end on different days, so the numbers of two rows cannot be compared. The "
            "rows stand in the order in which they were asked for."
        )
    if any("(!)" in row[-1] for row in rows):
        text.append("(!) ends more than 18 months before the newest: it describes another time.")
    for repository, history in histories:
        if history.undated:
            commits = fmt.counted(history.undated, "commit")
            text.append(f"{repository.name}: {commits} without a date in the past, in no window.")
    columns = ("repository", "branch", "commit", "newest commit of")
    return panel("Where it was read", text, Table(columns, rows))


def _day(stamp: str) -> date:
    return date.fromisoformat(stamp[:10])


def _reading(api: bool, git: bool) -> Section:
    text = []
    if api:
        text += [
            "Pull requests are not issues, though GitHub's list of issues has both; here each is "
            "counted once.",
            "An item that is still open counts as open until the end of the data (censored), not as "
            "closed then. So a median can be undecided.",
            "Merged and closed unmerged are two ends of a pull request; their shares add up with "
            "what is open.",
            "A first response is the first comment, or review with a comment, of another person; "
            "bots do not answer. Closing without a word ends the waiting without an answer.",
            "Inside: owner, member or collaborator, as GitHub says today. Intervals allow for "
            "chance, and not for the kind of requests that a project gets.",
        ]
    if git:
        text += [
            "Each commit counts once, of those that the default branch reaches. A project that "
            "squashes a pull request into one commit has fewer of them than one that merges, for "
            "the same work.",
            "Authors, committers and contributors are people, without bots; persons with the "
            "same address or the same full name count as one. A commit that GitHub's pages merged "
            "has no committer of its own.",
            "Lines: those that commits other than merges added and removed. Releases are tags "
            "that are versions, release candidates among them, on any branch.",
        ]
    return panel("How to read it", text, listed=True)


def _kind(
    repositories: Sequence[RepositoryEngagement], kind: Kind, title: str, draw: bool
) -> Section:
    pull = kind == "pulls"
    columns: list[Head] = ["repository", ("opened", True), ("open", True)]
    columns += [("merged", True), ("closed unmerged", True)] if pull else [("closed", True)]
    columns += [
        ("median days to close", True),
        ("in 1 day", True),
        ("in 7 days", True),
        ("in 30 days", True),
    ]
    rows, missing = [], []
    reasons: dict[str, list[str]] = {}
    for repository in repositories:
        items = repository.items(kind)
        if isinstance(items, NoDataReason):
            reasons.setdefault(items.no_data, []).append(repository.name)
            rows.append([repository.name, *["no data"] * (len(columns) - 1)])
            continue
        counts = [items.opened, items.open]
        counts += [items.merged or 0, items.closed_unmerged or 0] if pull else [items.closed]
        times = items.time_to_close
        shares = _shares(times, (1, 7, 30))
        rows.append([repository.name, *map(str, counts), median_text(times.median), *shares])
        if items.closing_time_unknown:
            missing.append(
                f"{repository.name}: {items.closing_time_unknown} closed at an unknown time are "
                "left out"
            )
    drawn = []
    if draw and (spec := waiting_chart(repositories, kind, "time_to_close")):
        drawn.append(
            Picture(f"{kind}-open", f"{title} still open", f"Lower is faster. {_LOG}", spec)
        )
    missing = _without_data(reasons) + missing
    has_data = any(not isinstance(r.items(kind), NoDataReason) for r in repositories)
    return panel(title, missing, Table(tuple(columns), rows) if has_data else None, drawn)


def _without_data(reasons: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each reason, with the names of what it is about."""
    return [f"no data ({reason}): {', '.join(names)}" for reason, names in reasons.items()]


def _shares(times: WaitingTimes, limits: Iterable[int]) -> list[str]:
    """Return the share that ended within each number of days, in per cent."""
    shares = {share.days: f"{100 * share.share:.0f} %" for share in times.within}
    return [shares.get(days, "–") for days in limits]


KINDS: tuple[tuple[Kind, str], ...] = (("pulls", "pull requests"), ("issues", "issues"))


def _answers(repositories: Sequence[RepositoryEngagement], draw: bool) -> Section:
    rows: list[list[str]] = []
    reasons: dict[str, list[str]] = {}
    for repository in repositories:
        for kind, name in KINDS:
            items = repository.items(kind)
            times = items if isinstance(items, NoDataReason) else items.first_response
            if isinstance(times, NoDataReason):
                reasons.setdefault(times.no_data, []).append(f"{repository.name} ({name})")
                continue
            text = [str(times.count), str(times.answered), median_text(times.median)]
            rows.append([repository.name, name, *text, *_shares(times, (1, 7))])
    columns = (
        "repository",
        "",
        ("opened", True),
        ("answered", True),
        ("median days to first response", True),
        ("in 1 day", True),
        ("in 7 days", True),
    )
    drawn = []
    if draw:
        for kind, name in KINDS:
            if spec := waiting_chart(repositories, kind, "first_response"):
                title = f"{name.capitalize()} without an answer"
                drawn.append(Picture(f"{kind}-answer", title, f"Lower is faster. {_LOG}", spec))
    table = Table(columns, rows) if rows else None
    return panel("First response", _without_data(reasons), table, drawn)


def _authors(repositories: Sequence[RepositoryEngagement]) -> Section:
    rows = []
    for repository in repositories:
        for kind, name in KINDS:
            items = repository.items(kind)
            if isinstance(items, NoDataReason):
                continue
            for who, group in items.by.items():
                if group.opened:
                    text = [str(group.opened), median_text(group.median)]
                    rows.append([repository.name, name, who, *text])
    columns = ("repository", "", "by", ("opened", True), ("median days to close", True))
    if not rows:
        return panel("Who opened them", ["no data: the authors' standing is not in these files"])
    return panel("Who opened them", [], Table(columns, rows))


_FACTS = {
    "stars": "stars",
    "forks": "forks",
    "contributors": "contributors",
    "commits": "commits",
    "authors": "authors",
    "committers": "committers",
    "releases": "releases",
    "releases_ever": "releases ever",
    "code_size": "code",
    "lines_changed": "lines changed",
    "licence": "licence",
}


def _facts(repositories: Sequence[RepositoryEngagement]) -> Section:
    facts = {name for r in repositories for name, fact in r.facts.items() if fact.no_data is None}
    shown = [fact for fact in _FACTS if fact in facts]
    rows = [
        [r.name, _window(r), *(_fact(_fact_of(r, fact)) for fact in shown)] for r in repositories
    ]
    columns: list[Head] = ["repository", "window", *((_FACTS[fact], True) for fact in shown)]
    return panel(
        "Size and activity", _reasons(repositories), Table(columns, rows) if shown else None
    )


def _window(repository: RepositoryEngagement) -> str:
    return f"{repository.since[:10]} to {repository.until[:10]}"


def _fact_of(repository: RepositoryEngagement, fact: str) -> RepositoryFact:
    """Return a fact; a document that was made before the fact was known has no data for it."""
    return repository.facts.get(fact) or RepositoryFact(no_data="not in this document")


def _reasons(repositories: Sequence[RepositoryEngagement]) -> list[str]:
    """Return a sentence for each reason why values have no data, not one for each value."""
    facts: dict[tuple[str, str], list[str]] = {}
    for repository in repositories:
        for fact, name in _FACTS.items():
            if (reason := _fact_of(repository, fact).no_data) is not None:
                facts.setdefault((repository.name, reason), []).append(name)
    by_facts: dict[tuple[str, str], list[str]] = {}
    for (name, reason), names in facts.items():
        by_facts.setdefault((", ".join(names), reason), []).append(name)
    return [
        f"{names}: no data ({reason}): {', '.join(who)}"
        for (names, reason), who in by_facts.items()
    ]


def _fact(fact: RepositoryFact) -> str:
    if fact.no_data is not None:
        return "no data"
    if fact.unit == "bytes" and isinstance(fact.value, int):
        languages = ", ".join((fact.languages or ())[:2])
        return fmt.quantity(fact.value, fact.unit) + (f" ({languages})" if languages else "")
    details = [fmt.counted(fact.merges, "merge")] if fact.merges else []
    details += [f"{fact.bots} of bots"] if fact.bots else []
    details += [f"{fact.bots_left_out} of bots left out"] if fact.bots_left_out else []
    return f"{fact.value} ({', '.join(details)})" if details else str(fact.value)


_MONTHLY = ("pulls_opened", "pulls_merged", "issues_opened", "issues_closed", "commits", "releases")


def _months(repositories: Sequence[RepositoryEngagement], draw: bool) -> Section:
    names = [
        name
        for name in _MONTHLY
        if any(m.count(name) is not None for r in repositories for m in r.months)
    ]
    rows = [
        [
            r.name,
            _month(m),
            *(_count(m.count(name)) for name in names),
        ]
        for r in repositories
        for m in r.months
    ]
    columns: list[Head] = ["repository", "month", *((n.replace("_", " "), True) for n in names)]
    drawn = []
    if draw:
        for name in ("pulls_opened", "issues_opened", "commits"):
            title = name.replace("_", " ").replace("pulls", "pull requests")
            if spec := months_chart(repositories, name, title):
                reading = (
                    "Per calendar month; the first and the last are cut where the data "
                    "begins and ends."
                )
                drawn.append(Picture(f"months-{name}", title.capitalize(), reading, spec))
    text = ["Days in brackets are those of a month that is cut."]
    if "pulls_opened" in names or "issues_opened" in names:
        text.insert(0, "Closings are of what was opened in the window.")
    return panel("Month by month", text, Table(columns, rows) if names else None, drawn)


def _month(counts: MonthCounts) -> str:
    """Return `2026-03`, or `2026-03 (12.5 d)` if only these days of it are in the window."""
    year, month = map(int, counts.month.split("-"))
    is_cut = counts.days < monthrange(year, month)[1]
    return f"{counts.month} ({counts.days:.3g} d)" if is_cut else counts.month


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def median_text(median: MedianDays) -> str:
    """Return a median with its interval, or why there is none."""
    if median.no_data is not None:
        least = "" if median.at_least is None else f", at least {fmt.concise(median.at_least)}"
        return f"no data: {median.no_data}{least}"

    def text(days: float | Literal["inf"] | None) -> str:
        return fmt.concise(days) if isinstance(days, int | float) else "…"

    return f"{text(median.value)} [{text(median.low)}–{text(median.high)}]"
