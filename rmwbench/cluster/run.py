"""The loop of a campaign on a fleet: a trial to every idle machine, what they found into the
bundle.

A part's results stay on its machine until the part is complete, and are then written together: a
campaign that is killed, and a machine that is lost, leave whole blocks of comparisons and never a
half one. The driver's machine may be one of the fleet; fetching and writing then waits until no
trial runs on it, as in a campaign on one machine.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape

from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.journal_lines import CampaignFinished, CellUnsupported
from rmwbench.bundle.schema import TABLES, table_from_columns, table_from_rows
from rmwbench.campaign.course import UNSUPPORTED
from rmwbench.campaign.looks import InterimLooks, Judging
from rmwbench.campaign.pace import SPOILT_TOLERANCE, TOLERANCE
from rmwbench.campaign.plan.plan import Plan, Trial, duration_text
from rmwbench.campaign.record.write import write_trial
from rmwbench.campaign.run import Campaign, Ending, Tally, order
from rmwbench.campaign.stop import Stopped, StopSignals
from rmwbench.campaign.trial.spoilt import TOLD, keeps_spoilt
from rmwbench.cluster.filesystem import Copy
from rmwbench.cluster.fleet import Fleet, MachineLost, Remote
from rmwbench.cluster.machine import LOST
from rmwbench.cluster.progress import ClusterProgress
from rmwbench.cluster.schedule import Part, Schedule, duration_s
from rmwbench.errors import UserError
from rmwbench.lab.middleware import Worker
from rmwbench.suite.arm import left_out_lines

WAIT_S = 1.0
"""How long a signal may go unnoticed."""


@dataclass
class ClusterCampaign:
    """A campaign's plan, its schedule over a fleet, and the bundle that it goes to. `budget_s`:
    time of the cluster that was asked for, None where none was."""

    name: str
    plan: Plan
    course: Schedule
    workers: Mapping[str, Worker]
    writer: BundleWriter
    fleet: Fleet
    copy: Copy | None = None
    budget_s: float | None = None
    judge: Judging | None = None
    _started_s: float = field(default_factory=time.monotonic)
    _running: dict[Any, tuple[Remote, Trial]] = field(default_factory=dict)
    _results: dict[str, list[tuple[Trial, Any]]] = field(default_factory=dict)
    _complete: list[tuple[Part, list[tuple[Trial, Any]]]] = field(default_factory=list)
    _tally: Tally = field(default_factory=Tally)
    _copied_blocks: int = 0
    _unsupported: set[int] = field(default_factory=set)
    _over: bool = False
    _limit_s: float = 0.0

    @classmethod
    def on(
        cls, made: Campaign, fleet: Fleet, copy: Copy | None, budget_s: float | None
    ) -> "ClusterCampaign":
        """The same campaign on a fleet."""
        return cls(
            made.name,
            made.plan,
            Schedule(made.plan, Bundle(made.writer.directory).journal.lines),
            made.workers,
            made.writer,
            fleet=fleet,
            copy=copy,
            budget_s=budget_s,
        )

    def run(self, console: Console) -> Ending:
        progress = ClusterProgress(self.plan, console, self.course, len(self.fleet.runners))
        self._announce(progress)
        self._write_machines(ends={})
        looks = InterimLooks(self.plan, self.course, self.writer, self.judge)
        stopped_by = None
        self._started_s = time.monotonic()
        self._limit_s = self._may_take_s()
        with StopSignals() as signals:
            try:
                while self._dispatch(progress) or self._pause(progress, looks):
                    if self._running:
                        # A signal that raised within Ray's own code would come out of it as another
                        # error.
                        ended = self.fleet.wait(self._running, WAIT_S)
                        with signals.interruptible():
                            pass
                        for reference in ended:
                            self._take(reference, progress)
                    if self.fleet.here not in self._machines_running():
                        self._write(progress)
            except Stopped as stopped:
                stopped_by = stopped.name
                self._write(progress)
                self._note_discarded(stopped_by)
            finally:
                progress.close()
                self._write_machines(ends={} if self._running else self._states())
                self.writer.merge()
                if not stopped_by and not self._running and not self._complete and self._over:
                    self.writer.append(CampaignFinished())
                if self.copy:
                    self.copy.update()
        return self._tally.ending(stopped_by)

    def _may_take_s(self) -> float:
        """As `pace.limit_s`, in time of the cluster: the campaign's budget, or that of its suite, or
        the plan's estimate on so many machines with some tolerance."""
        if self.budget_s is not None:
            return self.budget_s
        if self.plan.within_s is not None:
            return self.plan.within_s
        return TOLERANCE * duration_s(self.plan, len(self.fleet.runners))

    def _dispatch(self, progress: ClusterProgress) -> bool:
        """A trial to every idle machine; whether any is running now."""
        busy = {remote.name for remote, _ in self._running.values()}
        for remote in list(self.fleet.runners):
            if remote.name in busy:
                continue
            block = self.course.next_block(remote.name)
            if block is not None and not self._has_time_for(block, progress):
                self.course.end_before(block)
            trial = self.course.take(remote.name)
            if trial is None:
                continue
            summary, result = remote.ask("run", order(self, trial), self.name, returns=2)
            self._running[summary] = remote, trial
            self._results.setdefault(remote.name, []).append((trial, result))
            progress.begin_on(remote.name, trial)
        return bool(self._running)

    def _take(self, reference: Any, progress: ClusterProgress) -> None:
        remote, trial = self._running.pop(reference)
        try:
            status, reason, cause = self.fleet.fetch(reference)
        except MachineLost as lost:
            self._lose(remote, trial, str(lost), progress)
            return
        if status == LOST:
            self._lose(remote, trial, reason, progress)
            return
        if status == UNSUPPORTED and trial.cell not in self._unsupported:
            self._unsupported.add(trial.cell)
            self.writer.append(CellUnsupported(cell=trial.cell, trial=trial.trial, reason=reason))
        under_way = self.course.running[remote.name]
        may_repeat = cause == "machine" and self._may_repeat_on(under_way, progress)
        part = self.course.ended(remote.name, status, cause, may_repeat)
        progress.end_on(remote.name, status, reason, under_way.spoilt.get(trial.trial))
        if part:
            self._complete.append((part, self._results.pop(remote.name)))

    def _write(self, progress: ClusterProgress) -> None:
        """Every complete part; one whose results were lost with their machine is run again."""
        while self._complete:
            part, results = self._complete[0]
            try:
                found = self.fleet.fetch([result for _, result in results])
            except MachineLost as error:
                self.course.again(part)
                self._tell(
                    f"the results of {_named(part)} were lost with machine {part.machine}: {error}",
                    progress,
                )
            else:
                for (trial, _), result in zip(results, found, strict=True):
                    if result.status != UNSUPPORTED:
                        self._write_trial(part, trial, result)
                self.course.written(part)
                progress.written()
            del self._complete[0]
        if self.copy and self.course.blocks_done > self._copied_blocks:
            self._copied_blocks = self.course.blocks_done
            try:
                self.copy.update()
            except UserError as error:
                self._tell(f"{error.what}: {error.actual}", progress)

    def _write_trial(self, part: Part, trial: Trial, result: Any) -> None:
        columns = {name: result.tables["trials"].column(name) for name in TABLES["trials"].names}
        result.tables["trials"] = table_from_columns("trials", columns | {"machine": part.machine})
        spoilt = part.spoilt.get(trial.trial)
        write_trial(self.writer, result, trial.repeats, spoilt)
        self._tally.add(trial.trial, result.status, spoilt)

    def _pause(self, progress: ClusterProgress, looks: InterimLooks) -> bool:
        """Nothing runs: writes, looks if it is time to; whether there is more to run."""
        self._write(progress)
        if not self.fleet.runners:
            raise UserError(
                "every machine of the cluster was lost"
                if not self.fleet.machines
                else "too few machines of the cluster are left for a trial",
                where=f"--cluster {self.fleet.address}",
                fix=f"rmwbench resume {self.writer.directory} --cluster ADDRESS",
            )
        over = self.course.end < self.plan.blocks and self.course.blocks_done >= self.course.end
        if self.course.look_due or over:
            looks.take(progress, self._elapsed_s(), over=over)
        if over and not self.course.finished:
            self._leave_out(progress, time.monotonic() - self._started_s)
        self._over = over or self.course.finished
        return not self._over

    def _leave_out(self, progress: ClusterProgress, elapsed_s: float) -> None:
        left_out = self.plan.blocks - self.course.blocks_done
        self._tell(
            f"{left_out} of {self.plan.blocks} blocks left out: {duration_text(elapsed_s)} had "
            f"passed, of {duration_text(self._limit_s)} allowed; `rmwbench resume` runs them",
            progress,
        )

    def _has_time_for(self, block: int, progress: ClusterProgress) -> bool:
        if self.course.resumed or block < self.plan.suite.blocks.minimum:
            return True
        return self._elapsed_s() + progress.left_s(block + 1) <= self._limit_s

    def _may_repeat_on(self, part: Part, progress: ClusterProgress) -> bool:
        """As `pace.may_repeat`: while its block and the suite's minimum of blocks still fit, and
        longer where the comparison cannot spare the block."""
        if self.course.resumed:
            return True
        needed = max(part.key.block + 1, self.plan.suite.blocks.minimum)
        ends_s = self._elapsed_s() + sum(
            trial.estimated_s for trial in (*part.counts, part.queue[0])
        )
        if ends_s + progress.left_s(needed) <= self._limit_s:
            return True
        return self.course.needs(part.queue[0]) and ends_s <= SPOILT_TOLERANCE * self._limit_s

    def _lose(self, remote: Remote, trial: Trial, why: str, progress: ClusterProgress) -> None:
        part = self.course.lost(remote.name)
        self._results.pop(remote.name, None)
        progress.lost(remote.name)
        became = self.fleet.lose(remote)
        progress.machines = len(self.fleet.runners)
        again = f"; {_named(part)} is queued again" if part else ""
        text = f"machine {remote.name} was lost in trial {trial.trial}{again}: {why}"
        self._tell(f"{text}; {became}" if became else text, progress)

    def _machines_running(self) -> set[str]:
        """Those that run a trial, or a part of one, now."""
        return {machine.name for runner, _ in self._running.values() for machine in runner.members}

    def _announce(self, progress: ClusterProgress) -> None:
        if keeps_spoilt():
            progress.say(TOLD)
        for text in left_out_lines(self.plan.left_out):
            progress.say(f"left out: {escape(text)}")
        progress.unsupported(self.plan.unsupported)
        for name, reason in self.fleet.left_out:
            progress.say(f"machine {escape(name)} is not used: {escape(reason)}")
        names = ", ".join(remote.name for remote in self.fleet.machines)
        about = duration_text(duration_s(self.plan, len(self.fleet.runners)))
        count = len(self.fleet.machines)
        progress.say(f"{count} machine{'s' * (count != 1)}: {escape(names)}; at most about {about}")
        for runner in self.fleet.runners:
            if len(runner.members) > 1:
                self._tell(
                    f"one trial at a time over {runner.name}, in domain {runner.domain_id}",
                    progress,
                )
        for text in dict.fromkeys(
            text for cell in self.plan.cells if cell.real for text in cell.real.told()
        ):
            self._tell(text, progress)
        several = {
            cell.workload.name: cell.hosts for cell in self.plan.cells if cell.links is not None
        }
        for workload, hosts in several.items():
            self._tell(
                f"workload {workload} is over the hosts {', '.join(hosts)}: each machine runs it "
                "whole, with the hosts as namespaces and the network between them emulated",
                progress,
            )

    def _states(self) -> dict[str, Any]:
        found = self.fleet.answers(self.fleet.all("state"))
        return {name: state for name, state in found.items() if isinstance(state, dict)}

    def _write_machines(self, ends: dict[str, Any]) -> None:
        """A row per machine that took part, as it was when it first did; a lost one has no end."""
        rows = {row["machine"]: row for row in Bundle(self.writer.directory).rows("machine")}
        rows.pop(None, None)  # of the campaign that was made and had no fleet yet
        for remote in self.fleet.machines:
            card = remote.card["machine"]
            row = {name: json.dumps(card[name]) for name in ("hardware", "kernel", "sysctls")}
            row |= {"start": json.dumps(card["state"]), "machine": remote.name}
            end = json.dumps(ends[remote.name]) if remote.name in ends else None
            rows[remote.name] = rows.get(remote.name, row) | {"end": end}
        table = table_from_rows("machine", list(rows.values()))
        self.writer.write_whole_campaign({"machine": table})

    def _note_discarded(self, signal: str) -> None:
        trials = sorted(trial.trial for _, trial in self._running.values())
        parts = [_named(part) for part in self.course.running.values()]
        if trials:
            text = (
                f"{signal} in trials {', '.join(map(str, trials))}; discarded: {'; '.join(parts)}"
            )
            self.writer.note(text)

    def _tell(self, text: str, progress: ClusterProgress) -> None:
        self.writer.note(text)
        progress.say(escape(text))

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started_s


def _named(part: Part) -> str:
    """`block 3 of imu (trials 17 to 24)`."""
    numbers = [trial.trial for trial, _ in part.ended] + [trial.trial for trial in part.queue]
    return (
        f"block {part.key.block + 1} of {part.key.comparison} (trials {min(numbers)} to "
        f"{max(numbers)})"
    )
