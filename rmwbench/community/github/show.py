"""The engagement document as sections for page and terminal."""

from typing import Any

from rmwbench.community.github import pictures
from rmwbench.report.view import Picture, Section, Table, View

_LOG = "Time runs on a log axis; the shade is the 95 % interval; a dot ends a curve that items still open cut short."


def view(doc: dict[str, Any], *, draw: bool = False) -> View:
    """The view; `draw` makes the pictures too."""
    found = doc["repositories"]
    lead = [f"{r['name']}: {r['since'][:10]} to {r['until'][:10]} ({r['days']:.0f} days)" for r in found]
    if doc["people_only"]:
        lead.append("Without the pull requests and issues of bots.")
    sections = [
        _kind(found, "pulls", "Pull requests", draw),
        _kind(found, "issues", "Issues", draw),
        _answers(found, draw),
        _authors(found),
        _facts(found),
        _months(found, draw),
        Section(
            "How to read it",
            [
                "Pull requests are not issues, though GitHub's list of issues has both; here each is counted once.",
                "What is still open counts as open until the end of the data (censored), not as closed then. So a "
                "median can be undecided, and is never made up.",
                "Merged and closed unmerged are two ends of a pull request; their shares add up with what is open.",
                "A first response is the first comment, or review with a comment, of another person; bots do not "
                "answer. Who closes without a word ends the waiting unanswered.",
                "Inside: owner, member or collaborator, as GitHub says it today. Intervals are for chance, not for "
                "what kind of requests a project gets.",
            ],
            list=True,
        ),
    ]
    card = f"{', '.join(r['name'] for r in found)} · until {max((r['until'][:10] for r in found), default='')}"
    return View("Engagement on GitHub", lead, sections, card)


def _kind(found: list[dict[str, Any]], kind: str, title: str, draw: bool) -> Section:
    pull = kind == "pulls"
    columns = [("repository", False), ("opened", True), ("open", True)]
    columns += [("merged", True), ("closed unmerged", True)] if pull else [("closed", True)]
    columns += [("median days to close", True), ("in 1 day", True), ("in 7 days", True), ("in 30 days", True)]
    rows, missing = [], []
    for repository in found:
        of = repository[kind]
        if "no_data" in of:
            missing.append(f"{repository['name']}: no data ({of['no_data']})")
            rows.append([repository["name"], *["no data"] * (len(columns) - 1)])
            continue
        counts = [str(of[name]) for name in (("merged", "closed_unmerged") if pull else ("closed",))]
        within = {w["days"]: f"{100 * w['share']:.0f} %" for w in of["time_to_close"]["within"]}
        shares = [within.get(days, "–") for days in (1, 7, 30)]
        median = median_text(of["time_to_close"]["median"])
        rows.append([repository["name"], str(of["opened"]), str(of["open"]), *counts, median, *shares])
        if of.get("closing_time_unknown"):
            missing.append(f"{repository['name']}: {of['closing_time_unknown']} closed at an unknown time are left out")
    drawn = []
    if draw and (spec := pictures.waiting(found, kind, "time_to_close", "time since it was opened")):
        drawn.append(Picture(f"{kind}-open", f"{title} still open", f"Lower is faster. {_LOG}", spec))
    return Section(title, missing, Table(tuple(columns), rows), drawn)


def _answers(found: list[dict[str, Any]], draw: bool) -> Section:
    rows: list[list[str]] = []
    reasons: dict[str, list[str]] = {}
    for repository in found:
        for kind, name in (("pulls", "pull requests"), ("issues", "issues")):
            answer = repository[kind].get("first_response", {"no_data": repository[kind].get("no_data")})
            if "no_data" in answer:
                reasons.setdefault(str(answer["no_data"]), []).append(f"{repository['name']} ({name})")
                continue
            within = {w["days"]: f"{100 * w['share']:.0f} %" for w in answer["within"]}
            text = [str(answer["count"]), str(answer["answered"]), median_text(answer["median"])]
            rows.append([repository["name"], name, *text, within.get(1, "–"), within.get(7, "–")])
    columns = (
        *(("repository", False), ("", False), ("opened", True), ("answered", True)),
        *(("median days to first response", True), ("in 1 day", True), ("in 7 days", True)),
    )
    drawn = []
    if draw:
        for kind, name in (("pulls", "Pull requests"), ("issues", "Issues")):
            if spec := pictures.waiting(found, kind, "first_response", "time since it was opened"):
                title = f"{name} without an answer"
                drawn.append(Picture(f"{kind}-answer", title, f"Lower is faster. {_LOG}", spec))
    missing = [f"no data ({reason}): {', '.join(who)}" for reason, who in reasons.items()]
    return Section("First response", missing, Table(columns, rows) if rows else None, drawn)


def _authors(found: list[dict[str, Any]]) -> Section:
    rows = []
    for repository in found:
        for kind, name in (("pulls", "pull requests"), ("issues", "issues")):
            for who, group in repository[kind].get("by", {}).items():
                if group["opened"]:
                    shown = [str(group["opened"]), median_text(group["median"])]
                    rows.append([repository["name"], name, who, *shown])
    columns = (("repository", False), ("", False), ("by", False), ("opened", True), ("median days to close", True))
    if not rows:
        return Section("Who opened them", ["no data: the authors' standing is not in these files"])
    return Section("Who opened them", [], Table(columns, rows))


_FACTS = {
    "stars": "stars",
    "forks": "forks",
    "contributors": "contributors",
    "commits": "commits",
    "committers": "committers",
    "releases": "releases",
    "releases_ever": "releases ever",
    "code_size": "code",
    "lines_changed": "lines changed",
    "licence": "licence",
}


def _facts(found: list[dict[str, Any]]) -> Section:
    known = {fact for r in found for fact, value in r["facts"].items() if "value" in value}
    shown = [fact for fact in _FACTS if fact in known]
    rows = [[r["name"], *(_fact(r["facts"][fact]) for fact in shown)] for r in found]
    reasons = _reasons(found)
    columns = (("repository", False), *((_FACTS[fact], True) for fact in shown))
    return Section("Size and activity", reasons, Table(columns, rows) if shown else None)


def _reasons(found: list[dict[str, Any]]) -> list[str]:
    """What there is no data for: a sentence per reason, not one per number."""
    facts: dict[tuple[str, str], list[str]] = {}
    for repository in found:
        for fact, name in _FACTS.items():
            if "no_data" in repository["facts"][fact]:
                facts.setdefault((repository["name"], repository["facts"][fact]["no_data"]), []).append(name)
    repositories: dict[tuple[str, str], list[str]] = {}
    for (repository, reason), names in facts.items():
        repositories.setdefault((", ".join(names), reason), []).append(repository)
    return [f"{names}: no data ({reason}): {', '.join(who)}" for (names, reason), who in repositories.items()]


def _fact(metric: dict[str, Any]) -> str:
    if "no_data" in metric:
        return "no data"
    if metric["unit"] == "bytes":
        languages = ", ".join(metric.get("languages", [])[:2])
        return f"{metric['value'] / 1e6:.1f} MB" + (f" ({languages})" if languages else "")
    return str(metric["value"])


def _months(found: list[dict[str, Any]], draw: bool) -> Section:
    names = ("pulls_opened", "pulls_merged", "issues_opened", "issues_closed", "commits")
    rows = [
        [r["name"], m["month"] + ("" if m["days"] >= 28 else f" ({m['days']:.0f} d)"), *(_count(m[n]) for n in names)]
        for r in found
        for m in r["months"]
    ]
    columns = (("repository", False), ("month", False), *((n.replace("_", " "), True) for n in names))
    drawn = []
    if draw:
        for what in ("pulls_opened", "issues_opened", "commits"):
            title = what.replace("_", " ").replace("pulls", "pull requests")
            if spec := pictures.months(found, what, title):
                reading = "Per calendar month; the first and the last are cut where the data begins and ends."
                drawn.append(Picture(f"months-{what}", title.capitalize(), reading, spec))
    text = ["Closings are of what was opened in the window; a number in brackets is a month that is cut."]
    return Section("Month by month", text, Table(columns, rows), drawn)


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def median_text(median: dict[str, Any]) -> str:
    """A median with its interval, or why there is none."""
    if "no_data" in median:
        least = f", at least {median['at_least']:.3g}" if "at_least" in median else ""
        return f"no data: {median['no_data']}{least}"
    high = "…" if median["high"] == "inf" else f"{median['high']:.3g}"
    return f"{median['value']:.3g} [{median['low']:.3g}–{high}]"
