"""The view of `rmwbench check`: a line for each candidate, the changes since the last check, and
the commands for all details. A page also has the tables of `compare`."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rmwbench.analysis.verdicts.limit_outcomes import Outcome, Why
from rmwbench.command_name import command_line
from rmwbench.report import comparison_view
from rmwbench.report.view import Block, Facts, Items, On, Section, TableCell, Text, Tone, View
from rmwbench.results.answer.facts import names
from rmwbench.results.compare.compare_model import Compared, Difference
from rmwbench.results.decide.decide_words import against_limit
from rmwbench.robot.check.check_document import CheckedCandidate, MoreTime, RobotCheck
from rmwbench.words import numbers as fmt

MOST = 12
"""The most differences in a terminal."""
NO_LIMITS = (
    "The suite has no limits, so that nothing meets or misses them: write the limits of your robot "
    "under `outcomes:` (docs/limits.md); `rmwbench twin BAG` proposes limits."
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


def view(check: RobotCheck) -> View:
    sections = [_since(check)]
    if check.since is not None:
        of_change = comparison_view.view(check.since)
        sections += [replace(section, on=On.DOCUMENT) for section in of_change.sections]
    return View(
        title=f"Check of {check.suite}",
        about=[*_candidates(check)],
        sections=sections,
        answer=[Text(_rest(check), "muted")],
        card=[f"check of {check.suite}"],
    )


def _candidates(check: RobotCheck) -> Iterator[Block]:
    if check.outcome is None:
        yield Text(NO_LIMITS, "warning")
        return
    several = len({candidate.workload for candidate in check.candidates}) > 1
    yield Facts(
        [(candidate.arm, _candidate(candidate, several)) for candidate in check.candidates], "facts"
    )
    if len(check.candidates) > 1:
        verb = DECIDES[check.outcome]
        subject = names(check.in_use)
        if len(check.in_use) > 1:
            subject = f"the worst of {subject}"
        yield Text(
            f"The exit code is about {subject}, which {verb} (--use ARM names another).", "muted"
        )


def _candidate(candidate: CheckedCandidate, several: bool) -> TableCell:
    tone = TONES[candidate.outcome]
    if candidate.why is Why.NOT_SUPPORTED:
        return TableCell(f"not supported: {candidate.reason}", "odd")
    workload = f"{candidate.workload}: " if several else ""
    measured = (
        against_limit(candidate.limit, candidate.limit.value)
        if candidate.limit
        else candidate.reason
    )
    text = f"{workload}{measured}"
    if candidate.outcome is Outcome.MEETS:
        return TableCell(f"meets all limits; nearest: {text}", tone)
    if candidate.why not in (Why.LIMIT, Why.INTERVAL):
        text = f"{workload}{candidate.reason}"
    if candidate.missed > 1:
        more = fmt.counted(
            candidate.missed - 1, "more workload or level", "more workloads or levels"
        )
        text += f"; in {more}, too"
    if candidate.more_time is not None:
        text += f"; {_more_time(candidate.more_time)}"
    return TableCell(f"{candidate.outcome}: {text}", tone)


def _more_time(more: MoreTime) -> str:
    if more.blocks is None:
        return "no realistic number of blocks would decide it"
    length = "" if more.minutes is None else f" (--budget {math.ceil(more.minutes)}m)"
    return f"about {fmt.counted(more.blocks, 'block')}{length} would decide it"


def _since(check: RobotCheck) -> Section:
    since = check.since
    if since is None:
        text = f"This is the first check of {check.suite} on this machine."
        if check.not_compared is not None:
            text = f"The last check cannot be compared with this one: {check.not_compared}."
        return Section("", [Text(text)])
    title = ", ".join(filter(None, ("Since the last check", since.a.created_utc)))
    return Section(title, [*_changes(since)], anchor="since", nav="since", look="panel")


def _changes(since: Compared) -> Iterator[Block]:
    topics = [topic for topic in since.environment if topic.topic != "day"]  # always another one
    differences = [difference for topic in topics for difference in topic.differences]
    if differences:
        yield Items([_difference(difference) for difference in differences], most=MOST)
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
    unchanged = tuple(row for row in since.rows if row not in changed)
    if unchanged:
        counts = comparison_view.counts(replace(since, rows=unchanged))
        yield Text(f"All other limited values, by topic: {counts}.", "muted")
    if since.not_comparable:
        yield Items(
            [f"not compared: {pair.cell}: {pair.reason}" for pair in since.not_comparable],
            "open",
            most=MOST,
        )


def _difference(difference: Difference) -> str:
    if difference.lines:
        return f"{difference.name}: changed"
    return f"{difference.name}: {_side(difference.a)} → {_side(difference.b)}"


def _side(text: str | None) -> str:
    return "absent" if text is None else text if len(text) <= 60 else text[:57] + "…"


def _rest(check: RobotCheck) -> str:
    text = f"Everything that was measured: `{command_line('show', check.directory)}`"
    if check.since is not None:
        compare = command_line("compare", check.since.a.directory, check.directory)
        text += f"; all differences: `{compare}`"
    return text
