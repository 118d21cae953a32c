"""The engagement document as sections for page and terminal, with its pictures: how long items stay
open, until somebody answers, and what happened each month."""

from datetime import date
from typing import Any

import altair as alt

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


def waiting(repositories: list[dict[str, Any]], kind: str, metric: str, title: str) -> Spec | None:
    """The share of items still waiting against time, a step line per repository; dots where its
    curve ends with items still open. None without any curve."""
    names, points, ends = [], [], []
    for repository in repositories:
        if rows := _curve(repository, repository[kind].get(metric, {})):
            names.append(repository["name"])
            points += rows
            last = rows[-1]
            ends += [{key: last[key] for key in ("name", "days", "share")}] * (last["share"] > 0)
    if not names:
        return None
    most = max(p["days"] for p in points)
    scale = alt.Scale(type="log", domain=[LEAST_DAYS, max(most, 1.0)], nice=False, clamp=True)
    axis = frame.axis(
        values=[t for t in _TICKS if t <= most], labelExpr=_TICK_LABEL, title=f"{title} (log axis)"
    )
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


def _curve(repository: dict[str, Any], metric: dict[str, Any]) -> list[dict[str, Any]]:
    """A point per step, to the end of the data where items are still open."""
    if not metric.get("curve"):
        return []
    steps = [
        [LEAST_DAYS, 1.0, 1.0, 1.0],
        *([max(row[0], LEAST_DAYS), *row[1:]] for row in metric["curve"]),
    ]
    if steps[-1][1] > 0:
        steps.append([max(repository["days"], steps[-1][0]), *steps[-1][1:]])
    return [
        dict(name=repository["name"], days=days, share=share, low=low, high=high, n=n)
        for n, (days, share, low, high) in enumerate(steps)
    ]


def months(repositories: list[dict[str, Any]], name: str, title: str) -> Spec | None:
    """A count per calendar month, a group of bars per month; months without data have none."""
    rows = [
        {"name": r["name"], "month": m["month"], "value": m[name], "days": m["days"]}
        for r in repositories
        for m in r["months"]
        if m[name] is not None
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


def _colours(repositories: list[dict[str, Any]], names: list[str]) -> alt.Color:
    """The same colour for a repository in every picture of a page."""
    styles = looks_of_middlewares(r["name"] for r in repositories)
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


def view(doc: dict[str, Any], *, draw: bool = False, months: bool = True) -> View:
    """The view; `draw` makes the pictures too, and `months` is whether there is a row for each
    month."""
    repositories = doc["repositories"]
    lead = [
        f"{r['name']}: {r['since'][:10]} to {r['until'][:10]} ({r['days']:.0f} days)"
        for r in repositories
    ]
    if doc["people_only"]:
        lead.append("Without the pull requests, issues and commits of bots.")
    with_api = [r for r in repositories if "history" not in r]
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
        f"{', '.join(r['name'] for r in repositories)} · until "
        f"{max((r['until'][:10] for r in repositories), default='')}"
    )
    return View(
        title="Engagement on GitHub" if with_api or not repositories else "Activity in git",
        about=[*map(Text, lead)],
        sections=sections,
        card=[card],
    )


def _from_git(repositories: list[dict[str, Any]]) -> Section:
    """What was read from git, until when, and what that cannot say."""
    read = [r for r in repositories if "history" in r]
    newest = max(_day(r["until"]) for r in repositories)
    rows = []
    for repository in read:
        until = _day(repository["until"])
        old = " (!)" if (newest - until).days > FAR_APART_DAYS else ""
        history = repository["history"]
        rows.append(
            [repository["name"], history["branch"], history["commit"][:12], f"{until}{old}"]
        )
    text = [
        "These were read from git histories, where GitHub's API was not asked: of issues, pull "
        "requests, first responses, stars and forks a history holds nothing, so there is no data "
        "on them, which is not 0. With access to the API `rmwbench published community github OWNER/NAME…` "
        "gives them, of today.",
        "A window ends with the newest commit that the copy of the history has. What happened "
        "since is not in it, and quiet days after that commit are not either.",
    ]
    if len({r["until"][:10] for r in repositories}) > 1:
        text.append(
            "The windows end on different days, so numbers of one row cannot be set against those "
            "of another: no row is ahead of another, and their order is the one in which they were "
            "asked for."
        )
    if any("(!)" in row[-1] for row in rows):
        text.append("(!) ends more than 18 months before the newest: it describes another time.")
    for repository in read:
        if undated := repository["history"]["undated"]:
            text.append(
                f"{repository['name']}: commits without a date in the past, in no window: "
                f"{undated}."
            )
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
            "What is still open counts as open until the end of the data (censored), not as closed "
            "then. So a median can be undecided, and is never made up.",
            "Merged and closed unmerged are two ends of a pull request; their shares add up with "
            "what is open.",
            "A first response is the first comment, or review with a comment, of another person; "
            "bots do not answer. Who closes without a word ends the waiting unanswered.",
            "Inside: owner, member or collaborator, as GitHub says it today. Intervals are for "
            "chance, not for what kind of requests a project gets.",
        ]
    if git:
        text += [
            "Each commit counts once, of those that the default branch reaches. A project that "
            "squashes a pull request into one commit has fewer of them than one that merges, for "
            "the same work.",
            "Authors, committers and contributors are people, without bots: who has the same "
            "address or the same full name is one person. What GitHub's pages merged has no "
            "committer of its own.",
            "Lines are added plus removed ones of commits that are not merges. Releases are tags "
            "that are versions, release candidates among them, on any branch.",
        ]
    return panel("How to read it", text, listed=True)


def _kind(repositories: list[dict[str, Any]], kind: str, title: str, draw: bool) -> Section:
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
        of = repository[kind]
        if "no_data" in of:
            reasons.setdefault(of["no_data"], []).append(repository["name"])
            rows.append([repository["name"], *["no data"] * (len(columns) - 1)])
            continue
        counts = [
            str(of[name]) for name in (("merged", "closed_unmerged") if pull else ("closed",))
        ]
        within = {w["days"]: f"{100 * w['share']:.0f} %" for w in of["time_to_close"]["within"]}
        shares = [within.get(days, "–") for days in (1, 7, 30)]
        median = median_text(of["time_to_close"]["median"])
        rows.append(
            [repository["name"], str(of["opened"]), str(of["open"]), *counts, median, *shares]
        )
        if of.get("closing_time_unknown"):
            missing.append(
                f"{repository['name']}: {of['closing_time_unknown']} closed at an unknown time are "
                "left out"
            )
    drawn = []
    if draw and (spec := waiting(repositories, kind, "time_to_close", "time since it was opened")):
        drawn.append(
            Picture(f"{kind}-open", f"{title} still open", f"Lower is faster. {_LOG}", spec)
        )
    missing = [f"no data ({reason}): {', '.join(who)}" for reason, who in reasons.items()] + missing
    known = any("no_data" not in repository[kind] for repository in repositories)
    return panel(title, missing, Table(tuple(columns), rows) if known else None, drawn)


def _answers(repositories: list[dict[str, Any]], draw: bool) -> Section:
    rows: list[list[str]] = []
    reasons: dict[str, list[str]] = {}
    for repository in repositories:
        for kind, name in (("pulls", "pull requests"), ("issues", "issues")):
            answer = repository[kind].get(
                "first_response", {"no_data": repository[kind].get("no_data")}
            )
            if "no_data" in answer:
                reasons.setdefault(str(answer["no_data"]), []).append(
                    f"{repository['name']} ({name})"
                )
                continue
            within = {w["days"]: f"{100 * w['share']:.0f} %" for w in answer["within"]}
            text = [str(answer["count"]), str(answer["answered"]), median_text(answer["median"])]
            rows.append([repository["name"], name, *text, within.get(1, "–"), within.get(7, "–")])
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
        for kind, name in (("pulls", "Pull requests"), ("issues", "Issues")):
            if spec := waiting(repositories, kind, "first_response", "time since it was opened"):
                title = f"{name} without an answer"
                drawn.append(Picture(f"{kind}-answer", title, f"Lower is faster. {_LOG}", spec))
    missing = [f"no data ({reason}): {', '.join(who)}" for reason, who in reasons.items()]
    return panel("First response", missing, Table(columns, rows) if rows else None, drawn)


def _authors(repositories: list[dict[str, Any]]) -> Section:
    rows = []
    for repository in repositories:
        for kind, name in (("pulls", "pull requests"), ("issues", "issues")):
            for who, group in repository[kind].get("by", {}).items():
                if group["opened"]:
                    shown = [str(group["opened"]), median_text(group["median"])]
                    rows.append([repository["name"], name, who, *shown])
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


def _facts(repositories: list[dict[str, Any]]) -> Section:
    known = {fact for r in repositories for fact, value in r["facts"].items() if "value" in value}
    shown = [fact for fact in _FACTS if fact in known]
    rows = [[r["name"], _window(r), *(_fact(_of(r, fact)) for fact in shown)] for r in repositories]
    columns: list[Head] = ["repository", "window", *((_FACTS[fact], True) for fact in shown)]
    return panel(
        "Size and activity", _reasons(repositories), Table(columns, rows) if shown else None
    )


def _window(repository: dict[str, Any]) -> str:
    return f"{repository['since'][:10]} to {repository['until'][:10]}"


def _of(repository: dict[str, Any], fact: str) -> dict[str, Any]:
    """A fact; documents that were made before it was known have none."""
    return dict(repository["facts"].get(fact) or {"no_data": "not in this document"})


def _reasons(repositories: list[dict[str, Any]]) -> list[str]:
    """The values without data: a sentence for each reason, not one for each number."""
    facts: dict[tuple[str, str], list[str]] = {}
    for repository in repositories:
        for fact, name in _FACTS.items():
            if (reason := _of(repository, fact).get("no_data")) is not None:
                facts.setdefault((repository["name"], reason), []).append(name)
    by_facts: dict[tuple[str, str], list[str]] = {}
    for (name, reason), names in facts.items():
        by_facts.setdefault((", ".join(names), reason), []).append(name)
    return [
        f"{names}: no data ({reason}): {', '.join(who)}"
        for (names, reason), who in by_facts.items()
    ]


def _fact(metric: dict[str, Any]) -> str:
    if "no_data" in metric:
        return "no data"
    if metric["unit"] == "bytes":
        languages = ", ".join(metric.get("languages", [])[:2])
        return f"{metric['value'] / 1e6:.1f} MB" + (f" ({languages})" if languages else "")
    details = [fmt.counted(count, "merge") for count in [metric.get("merges")] if count]
    details += [f"{count} {words}" for key, words in _BOTS.items() if (count := metric.get(key))]
    return f"{metric['value']} ({', '.join(details)})" if details else str(metric["value"])


_BOTS = {"bots": "of bots", "bots_left_out": "of bots left out"}
_MONTHLY = ("pulls_opened", "pulls_merged", "issues_opened", "issues_closed", "commits", "releases")


def _months(repositories: list[dict[str, Any]], draw: bool) -> Section:
    names = [
        n for n in _MONTHLY if any(m[n] is not None for r in repositories for m in r["months"])
    ]
    rows = [
        [
            r["name"],
            m["month"] + ("" if m["days"] >= 28 else f" ({m['days']:.0f} d)"),
            *(_count(m[n]) for n in names),
        ]
        for r in repositories
        for m in r["months"]
    ]
    columns: list[Head] = ["repository", "month", *((n.replace("_", " "), True) for n in names)]
    drawn = []
    if draw:
        for name in ("pulls_opened", "issues_opened", "commits"):
            title = name.replace("_", " ").replace("pulls", "pull requests")
            if spec := months(repositories, name, title):
                reading = (
                    "Per calendar month; the first and the last are cut where the data "
                    "begins and ends."
                )
                drawn.append(Picture(f"months-{name}", title.capitalize(), reading, spec))
    text = ["A number in brackets is a month that is cut."]
    if "pulls_opened" in names or "issues_opened" in names:
        text.insert(0, "Closings are of what was opened in the window.")
    return panel("Month by month", text, Table(columns, rows) if names else None, drawn)


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def median_text(median: dict[str, Any]) -> str:
    """A median with its interval, or why there is none."""
    if "no_data" in median:
        least = f", at least {median['at_least']:.3g}" if "at_least" in median else ""
        return f"no data: {median['no_data']}{least}"
    high = "…" if median["high"] == "inf" else f"{median['high']:.3g}"
    return f"{median['value']:.3g} [{median['low']:.3g}–{high}]"
