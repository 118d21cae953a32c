"""What `rmwbench check` shows: a line for each candidate, what changed since the last check, and
where the rest is. A page has the tables of `compare` below."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rmwbench.analysis.verdicts.limit_outcomes import Outcome, Why
from rmwbench.report import comparison_view
from rmwbench.report.view import Block, Facts, Items, On, Section, TableCell, Text, Tone, View
from rmwbench.results.answer.facts import names
from rmwbench.results.compare.compare_model import Compared, Difference
from rmwbench.results.decide.decide_words import against_limit
from rmwbench.robot.check.check_model import CheckedCandidate, MoreTime, RobotCheck
from rmwbench.words import numbers as fmt

MOST = 12
"""Differences in a terminal."""
NO_LIMITS = (
    "The suite has no limits, so that nothing meets or misses them: say what your robot needs under "
    "`outcomes:` (docs/limits.md); `rmwbench twin BAG` proposes limits."
)
TONES: Mapping[Outcome, Tone] = {
    Outcome.MEETS: "good",
    Outcome.MISSES: "bad",
    Outcome.OPEN: "open",
    Outcome.UNKNOWN: "odd",
}
DECIDES: Mapping[Outcome, str] = {
    Outcome.MEETS: "meets all limits",
    Outcome.MISSES: "misses a limit",
    Outcome.OPEN: "is not decided",
}


def view(found: RobotCheck) -> View:
    sections = [_since(found)]
    if found.since is not None:
        of_change = comparison_view.view(found.since)
        sections += [replace(one, on=On.DOCUMENT) for one in of_change.sections]
    return View(
        title=f"Check of {found.suite}",
        about=[*_candidates(found)],
        sections=sections,
        answer=[Text(_rest(found), "muted")],
        card=[f"check of {found.suite}"],
    )


def _candidates(found: RobotCheck) -> Iterator[Block]:
    if found.outcome is None:
        yield Text(NO_LIMITS, "warning")
        return
    several = len({one.workload for one in found.candidates}) > 1
    yield Facts([(one.arm, _candidate(one, several)) for one in found.candidates], "facts")
    if len(found.candidates) > 1:
        told = DECIDES[found.outcome]
        together = len(found.in_use) > 1
        who = (
            f"of {names(found.in_use)} together, that" if together else f"{found.in_use[0]}, which"
        )
        yield Text(f"The exit code is about {who} {told} (--use ARM names another).", "muted")


def _candidate(one: CheckedCandidate, several: bool) -> TableCell:
    tone = TONES[one.outcome]
    if one.why is Why.NOT_SUPPORTED:
        return TableCell(f"not supported: {one.reason}", "odd")
    where = f"{one.workload}: " if several else ""
    measured = against_limit(one.limit, one.limit.value) if one.limit else one.reason
    text = f"{where}{measured}"
    if one.outcome is Outcome.MEETS:
        return TableCell(f"meets all limits; nearest: {text}", tone)
    if one.why not in (Why.LIMIT, Why.INTERVAL):
        text = f"{where}{one.reason}"
    if one.missed > 1:
        more = fmt.counted(one.missed - 1, "more workload or level", "more workloads or levels")
        text += f"; in {more}, too"
    if one.more_time is not None:
        text += f"; {_more_time(one.more_time)}"
    return TableCell(f"{one.outcome}: {text}", tone)


def _more_time(more: MoreTime) -> str:
    if more.blocks is None:
        return "no realistic number of blocks would decide it"
    length = "" if more.minutes is None else f" (--budget {math.ceil(more.minutes)}m)"
    return f"about {fmt.counted(more.blocks, 'block')}{length} would decide it"


def _since(found: RobotCheck) -> Section:
    since = found.since
    if since is None:
        told = f"This is the first check of {found.suite} on this machine."
        if found.not_compared is not None:
            told = f"The last check cannot be compared with this one: {found.not_compared}."
        return Section("", [Text(told)])
    title = f"Since the last check, {since.a.created_utc}"
    return Section(title, [*_changes(since)], anchor="since", nav="since", look="panel")


def _changes(since: Compared) -> Iterator[Block]:
    topics = [topic for topic in since.environment if topic.topic != "day"]  # always another one
    differences = [one for topic in topics for one in topic.differences]
    if differences:
        yield Items([_difference(one) for one in differences], most=MOST)
    else:
        yield Text("Versions, settings, machine and workload are the same.")
    changed = comparison_view.changed(since)
    if changed:
        yield Items(
            [
                Text(
                    comparison_view.change_text(row),
                    comparison_view.TONES[row.verdict],
                    row.verdict,
                )
                for row in changed
            ]
        )
        yield from (Text(text, "warning") for text in since.cautions)
    others = tuple(row for row in since.rows if row not in changed)
    if others:
        said = comparison_view.counts(replace(since, rows=others))
        yield Text(f"All other limited values, by topic: {said}.", "muted")
    if since.not_comparable:
        yield Items(
            [f"not compared: {one.cell}: {one.reason}" for one in since.not_comparable],
            "open",
            most=MOST,
        )


def _difference(one: Difference) -> str:
    if one.lines:
        return f"{one.name}: changed"
    return f"{one.name}: {_side(one.a)} → {_side(one.b)}"


def _side(text: str | None) -> str:
    return "absent" if text is None else text if len(text) <= 60 else text[:57] + "…"


def _rest(found: RobotCheck) -> str:
    told = f"Everything that was measured: `rmwbench show {found.directory}`"
    if found.since is not None:
        told += f"; all differences: `rmwbench compare {found.since.a.directory} {found.directory}`"
    return told
