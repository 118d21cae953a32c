"""An evaluation's sections, one campaign after the other, the shortest first; stopped and gone on
with anywhere.

Each campaign keeps to its share of the budget by leaving out whole blocks, never below those
without which it decides nothing.
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


class Sections:
    """Runs what of a session is left. `begin` and `resume` make the campaign of a section, by
    default one that runs here (rmwbench/campaign/start.py)."""

    def __init__(
        self,
        session: CommitteeSession,
        begin: Callable[..., Runner[TrialSource]] = new_campaign,
        resume: Callable[[Path], Runner[TrialSource]] = resumed_campaign,
    ):
        self._session, self._begin, self._resume = session, begin, resume

    def run(self, console: Console) -> Ending | None:
        """The ending of the last campaign that ran; None where none was left. A section that cannot
        begin costs only itself, and is a row of the document."""
        ending = None
        for section, about in self._due():
            console.print(f"[bold]{escape(section.title)}[/bold]{about}")
            ending = self._carry_out(section, console) or ending
            if ending is not None and ending.stopped_by:
                break
        return ending

    def _due(self) -> Iterator[tuple[PlannedSection, str]]:
        """What is to be run, and what is said of it. At the end those run on of whose blocks the
        machine spoilt so many that nothing is decided: by then it may be quiet again."""
        waiting = self._session.waiting()
        for place, section in enumerate(waiting):
            left_s = sum(one.budget_s for one in waiting[place:])
            yield (
                section,
                f" (section {place + 1} of {len(waiting)}): about "
                f"{duration_text(section.budget_s)}; {duration_text(left_s)} for all that is left",
            )
        for section in self._session.sections:
            if self._lacks_blocks(section):
                yield section, ": the blocks that the machine spoilt, once more"

    def _carry_out(self, section: PlannedSection, console: Console) -> Ending | None:
        """None where it cannot begin, or nothing of it is left."""
        try:
            campaign = self._campaign(section)
        except UserError as error:
            self._has_problem(section, " ".join(error.render().split()))
            console.print(f"{escape(section.title)} cannot be run here: {escape(error.render())}")
            return None
        self._has_problem(section, None)
        with campaign.writer, campaign.lab:
            return None if campaign.source.finished else campaign.run(console)

    def _lacks_blocks(self, section: PlannedSection) -> bool:
        """Whether a condition of it, which has run, has fewer blocks than decide anything, and
        could have more."""
        if section.problem is not None or not self._session.has_begun(section):
            return False
        try:
            return course_of(self._session.place(section)).lacks(DECIDABLE_BLOCKS)
        except UserError:  # it cannot be resumed; its report is made all the same
            return False

    def _has_problem(self, section: PlannedSection, problem: str | None) -> None:
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
