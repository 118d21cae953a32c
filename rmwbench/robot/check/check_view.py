"""What `rmwbench check` shows: a line for each candidate, what changed since the last check, and
where the rest is. A page has the tables of `decide` and of `compare` below."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rmwbench.analysis.verdicts.limit_outcomes import Outcome, Why
from rmwbench.report import comparison_view, decision_view
from rmwbench.report.view import Block, Facts, Items, On, Section, TableCell, Text, View
from rmwbench.results.answer.facts import names
from rmwbench.results.compare.compare_model import Compared, Difference
from rmwbench.results.decide import decide_words
from rmwbench.results.decide.decide_model import Contender
from rmwbench.robot.check.check_model import Checked, MoreTime
from rmwbench.words import numbers as fmt

MOST = 12
"""Differences in a terminal."""
NO_LIMITS = (
    "The suite has no limits, so that nothing meets or misses them: say what your robot needs under "
    "`outcomes:` (docs/limits.md); `rmwbench twin BAG` proposes limits."
)
DECIDES: Mapping[Outcome, str] = {
    Outcome.MEETS: "meets all limits",
    Outcome.MISSES: "misses a limit",
    Outcome.OPEN: "is not decided",
}


def view(found: Checked) -> View:
    sections = [_since(found)]
    if found.decided is not None:
        of_limits = decision_view.view(found.decided)
        sections += [replace(one, on=On.DOCUMENT) for one in of_limits.sections]
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


def _candidates(found: Checked) -> Iterator[Block]:
    if found.decided is None:
        yield Text(NO_LIMITS, "warning")
        return
    candidates = found.decided.machines[0].candidates
    more = {one.arm: one for one in found.more_time}
    yield Facts([(one.arm, _candidate(one, more.get(one.arm))) for one in candidates], "facts")
    if found.outcome is not None and len(candidates) > 1:
        several = len(found.in_use) > 1
        told = DECIDES[found.outcome]
        who = f"of {names(found.in_use)} together, that" if several else f"{found.in_use[0]}, which"
        yield Text(f"The exit code is about {who} {told} (--use ARM names another).", "muted")


def _candidate(one: Contender, more: MoreTime | None) -> TableCell:
    tone = decision_view.TONES[one.outcome]
    reason = decide_words.reason(one)
    if one.outcome is Outcome.MEETS:
        return TableCell(f"meets all limits; nearest: {decide_words.nearest(one)}", tone)
    if one.why is Why.NOT_SUPPORTED:
        return TableCell(f"not supported: {reason}", "odd")
    missed = sum(met.outcome is Outcome.MISSES for met in one.limits)
    if one.outcome is Outcome.MISSES and missed > 1:
        reason += f"; {missed - 1} more missed"
    if more is not None:
        reason += f"; {_more_time(more)}"
    return TableCell(f"{one.outcome}: {reason}", tone)


def _more_time(more: MoreTime) -> str:
    if more.blocks is None:
        return "no realistic number of blocks would decide it"
    length = "" if more.minutes is None else f", --budget {math.ceil(more.minutes)}m,"
    return f"about {fmt.counted(more.blocks, 'block')}{length} would decide it"


def _since(found: Checked) -> Section:
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
    if lines := comparison_view.unchanged(since):
        yield Items(lines, "muted")
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


def _rest(found: Checked) -> str:
    told = f"Everything that was measured: `rmwbench show {found.directory}`"
    if found.since is not None:
        told += f"; all differences: `rmwbench compare {found.since.a.directory} {found.directory}`"
    return told
