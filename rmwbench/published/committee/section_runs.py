"""The campaigns of an evaluation's sections, one after the other, the shortest first. A run may be
stopped anywhere and resumed.

Each campaign keeps to its share of the budget by leaving out whole blocks, but never those without
which it decides nothing.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from rmwbench.campaign.plan.plan import duration_text
from rmwbench.campaign.plan.request import Request
from rmwbench.campaign.run import Ending, Runner, TrialSource
from rmwbench.campaign.start import course_of, new_campaign, resumed_campaign
from rmwbench.errors import UserError
from rmwbench.published.committee.evaluation_session import CommitteeSession, PlannedSection
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS


class SectionRuns:
    """Runs the unfinished sections of a session. `begin` and `resume` make the campaign of a
    section, by default on this machine (rmwbench/campaign/start.py)."""

    def __init__(
        self,
        session: CommitteeSession,
        begin: Callable[..., Runner[TrialSource]] = new_campaign,
        resume: Callable[[Path], Runner[TrialSource]] = resumed_campaign,
    ):
        self._session, self._begin, self._resume = session, begin, resume

    def run(self, console: Console) -> Ending | None:
        """Run the sections; return the ending of the last campaign that ran, None if none was left.
        A section that cannot begin does not stop the others, and is a row of the document."""
        ending = None
        for section, about in self._due_sections():
            console.print(f"[bold]{escape(section.title)}[/bold]{about}")
            ending = self._run(section, console) or ending
            if ending is not None and ending.stopped_by:
                break
        return ending

    def _due_sections(self) -> Iterator[tuple[PlannedSection, str]]:
        """Yield each section to run with the text that announces it. Sections in which the machine
        spoilt so many blocks that nothing is decided come again at the end, when the machine may be
        quiet."""
        waiting = self._session.waiting()
        for place, section in enumerate(waiting):
            left_s = sum(later.budget_s for later in waiting[place:])
            yield (
                section,
                f" (section {place + 1} of {len(waiting)}): about "
                f"{duration_text(section.budget_s)}; {duration_text(left_s)} for all that is left",
            )
        for section in self._session.sections:
            if self._lacks_blocks(section):
                yield section, ": the blocks that the machine spoilt, once more"

    def _run(self, section: PlannedSection, console: Console) -> Ending | None:
        """Run a section; return None if it cannot begin, or is finished."""
        try:
            campaign = self._campaign(section)
        except UserError as error:
            self._note_problem(section, " ".join(error.render().split()))
            console.print(f"{escape(section.title)} cannot be run here: {escape(error.render())}")
            return None
        self._note_problem(section, None)
        with campaign.writer, campaign.lab:
            return None if campaign.source.finished else campaign.run(console)

    def _lacks_blocks(self, section: PlannedSection) -> bool:
        """Whether a condition of the section that ran has too few blocks to decide anything, and
        could have more."""
        if section.problem is not None or not self._session.has_begun(section):
            return False
        try:
            return course_of(self._session.place(section)).lacks(DECIDABLE_BLOCKS)
        except UserError:  # it cannot be resumed; its report is made all the same
            return False

    def _note_problem(self, section: PlannedSection, problem: str | None) -> None:
        if section.problem != problem:
            section.problem = problem
            self._session.save()

    def _campaign(self, section: PlannedSection) -> Runner[TrialSource]:
        directory = self._session.place(section)
        if self._session.has_begun(section):
            return self._resume(directory)
        request = Request(
            section.suite,
            seed=self._session.seed,
            budget_s=section.budget_s,
            workloads=tuple(section.workloads),
            shortened=section.short,
            at=tuple(section.at),
            comparisons=None if section.comparisons is None else tuple(section.comparisons),
            least_blocks=max(DECIDABLE_BLOCKS, section.asked),
        )
        choice, machine_s = self._session.choice(section), section.machine_s
        return self._begin(request, directory, choice=choice, machine_s=machine_s)
