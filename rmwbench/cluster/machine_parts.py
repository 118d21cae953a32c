"""Runs the parts of a plan on the machines of a fleet: gives a trial to every idle machine, writes
complete parts into the bundle, and shows the progress.

A part's results stay on its machine until the part is complete, and are then written together, so
that a killed campaign or a lost machine never leaves half a block of a comparison. The progress is
the line of a campaign on one machine, with the time left divided among the machines.
"""

import time
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape

from rmwbench.bundle import BundleWriter
from rmwbench.campaign.blocks import omission_text
from rmwbench.campaign.course import (
    SPOILT_TOLERANCE,
    TOLERANCE,
    Batch,
    SpoiltBlock,
    spread_s,
)
from rmwbench.campaign.looks import InterimLooks
from rmwbench.campaign.plan.plan import Plan, Trial, duration_text
from rmwbench.campaign.progress import Progress, announce
from rmwbench.campaign.run import order
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.campaign.trial_lab import TrialEnd
from rmwbench.cluster.batch_schedule import MachineBatch, Schedule, duration_s, most_s
from rmwbench.cluster.fleet import Fleet
from rmwbench.errors import UserError
from rmwbench.words.numbers import counted


class ClusterProgress(Progress):
    """The progress on several machines."""

    def __init__(self, plan: Plan, console: Console, schedule: Schedule, fleet: Fleet):
        super().__init__(plan, console, schedule)
        self._schedule, self._fleet = schedule, fleet
        self._begun: dict[str, tuple[Trial, float]] = {}
        self._announced_blocks = schedule.blocks_done

    def begin_on(self, machine: str, trial: Trial) -> None:
        self._begun[machine] = trial, time.monotonic()
        self._redraw()

    def end_on(
        self, machine: str, status: str, reason: str | None, spoilt: SpoiltBlock | None
    ) -> None:
        trial, begun_s = self._begun.pop(machine)
        self._count(trial, status, time.monotonic() - begun_s)
        self._print_reason(trial, status, reason, spoilt)

    def lost(self, machine: str) -> None:
        self._begun.pop(machine, None)

    def written(self) -> None:
        """Record that a part is in the bundle, and print which blocks are complete."""
        schedule, blocks = self._schedule, self._schedule.blocks_done
        if blocks > self._announced_blocks and not self._is_drawn:
            is_over = schedule.finished or schedule.look_due
            left = "" if is_over else f", {self._remaining_text()}"
            first = self._announced_blocks + 1
            done = f"block {blocks}" if blocks == first else f"blocks {first} to {blocks}"
            self.say(f"{done} of {self._most()} done{left}")
        self._announced_blocks = max(blocks, self._announced_blocks)
        self._redraw()

    def left_s(self, blocks: int | None = None) -> float:
        """Return the time left as the base class does, on these machines; a look waits for all of
        them."""
        schedule, now_s = self._schedule, time.monotonic()
        busy_s = []
        for machine, part in schedule.running.items():
            if part.queue:
                elapsed_s = now_s - self._begun[machine][1] if machine in self._begun else 0.0
                busy_s.append(max(0.0, sum(map(self._expected_s, part.queue)) - elapsed_s))
        ends = [*(end for end in self._plan.looks if end > schedule.blocks_done), schedule.end]
        total_s, begin = 0.0, 0
        for end in ends if blocks is None else [blocks]:
            parts_s = [
                sum(map(self._expected_s, trials))
                for key, trials in schedule.waiting.items()
                if begin <= key.block < end
            ]
            total_s += spread_s(parts_s, max(len(self._fleet.runners), 1), busy_s)
            begin, busy_s = end, []
        return total_s

    def _redraw(self) -> None:
        running = list(self._begun.values())
        if running:
            machines = sum(len(runner.members) for runner in self._fleet.runners)
            text = f"{counted(len(running), 'trial')} on {counted(machines, 'machine')}"
            self._draw(running[-1][0], text)


class PartSource:
    """The trials of a plan for the machines of a fleet (a TrialSource of rmwbench/campaign/run.py).
    `cluster_s`: the budget in time of the cluster, if the user gives one."""

    def __init__(
        self,
        name: str,
        schedule: Schedule,
        writer: BundleWriter,
        fleet: Fleet,
        *,
        cluster_s: float | None = None,
    ):
        self.name, self.plan, self.course = name, schedule.plan, schedule
        self._writer, self._fleet, self._cluster_s = writer, fleet, cluster_s
        self._progress: ClusterProgress
        self._looks: InterimLooks
        self._started_s = time.monotonic()
        self._limit_s = 0.0
        self._copied_blocks = 0

    @property
    def finished(self) -> bool:
        return self.course.finished

    @property
    def decided(self) -> bool:
        return self.course.decided

    def begin(self, console: Console, ungranted: Iterable[str]) -> None:
        self._progress = ClusterProgress(self.plan, console, self.course, self._fleet)
        announce(self._progress.say, self.plan, ungranted)
        self._announce_machines()
        self._looks = InterimLooks(self.plan, self.course, self._writer)
        self._started_s = time.monotonic()
        self._limit_s = self._time_limit_s()

    def take(self, machine: str) -> Order | None:
        block = self.course.next_block(machine)
        if block is not None and not self._has_time_for(block):
            self.course.end_before(block)
        trial = self.course.take(machine)
        if trial is None:
            return None
        self._progress.begin_on(machine, trial)
        cell = self.plan.cell(trial.cell)
        return order(self.name, self.plan.seed, trial, cell, self._writer.directory)

    def ended(self, end: TrialEnd) -> Batch | None:
        part = self.course.running[end.machine]
        may_repeat = end.cause == "machine" and self._may_repeat(part)
        complete_part = self.course.ended_on(end.machine, end.status, end.cause, may_repeat)
        spoilt = part.spoilt.get(end.order.trial)
        self._progress.end_on(end.machine, end.status, end.reason, spoilt)
        return complete_part

    def written(self, batch: Batch, results: Sequence[TrialResult]) -> None:
        assert isinstance(batch, MachineBatch)
        self.course.written(batch)
        self._progress.written()
        if self._fleet.copy and self.course.blocks_done > self._copied_blocks:
            self._copied_blocks = self.course.blocks_done
            try:
                self._fleet.copy.update()
            except UserError as error:
                self._tell(f"{error.what}: {error.actual}")

    def lost(self, end: TrialEnd) -> None:
        part = self.course.lost(end.machine)
        self._progress.lost(end.machine)
        outcome = self._fleet.lose(end.machine)
        again = f"; {part.text} is queued again" if part else ""
        text = f"machine {end.machine} was lost in trial {end.order.trial}{again}: {end.reason}"
        self._tell(f"{text}; {outcome}" if outcome else text)

    def again(self, batch: Batch, why: str) -> None:
        assert isinstance(batch, MachineBatch)
        self.course.again(batch)
        self._tell(f"the results of {batch.text} were lost with machine {batch.machine}: {why}")

    def pause(self) -> bool:
        fleet, course = self._fleet, self.course
        if not fleet.runners:
            raise UserError(
                "every machine of the cluster was lost"
                if not fleet.machines
                else "too few machines of the cluster are left for a trial",
                where=f"--cluster {fleet.address}",
                fix="start machines of the cluster again",
            )
        is_over = course.end < self.plan.blocks and course.blocks_done >= course.end
        if course.look_due or is_over:
            self._looks.take(self._progress, self._elapsed_s(), over=is_over)
        if is_over and not course.finished:
            elapsed_s = self._elapsed_s()
            left_out = omission_text(self.plan, course.blocks_done, elapsed_s, self._limit_s)
            self._tell(f"{left_out}; `rmwbench resume` runs them")
        return not is_over and not course.finished

    def close(self, stopped_by: str | None) -> None:
        self._progress.close()

    def _time_limit_s(self) -> float:
        """Return the limit of `course.limit_s` in time of the cluster: the user's budget, or else the
        time of the suite, or else the plan's estimate with some tolerance."""
        if self._cluster_s is not None:
            return self._cluster_s
        if self.plan.within_s is not None:
            return self.plan.within_s
        return TOLERANCE * duration_s(self.plan, len(self._fleet.runners))

    def _has_time_for(self, block: int) -> bool:
        if self.course.resumed or block < self.plan.suite.blocks.minimum:
            return True
        return self._elapsed_s() + self._progress.left_s(block + 1) <= self._limit_s

    def _may_repeat(self, part: MachineBatch) -> bool:
        """Whether a spoilt part may run again, by the rule of `course.may_repeat`: while its block
        and the suite's minimum of blocks still fit, and longer if the comparison needs the
        block."""
        if self.course.resumed:
            return True
        trial, limit_s = part.queue[0], self._limit_s
        blocks = max(part.key.block + 1, self.plan.suite.blocks.minimum)
        end_s = self._elapsed_s() + sum(t.estimated_s for t in (*part.counts, trial))
        if end_s + self._progress.left_s(blocks) <= limit_s:
            return True
        return self.course.needs(trial) and end_s <= SPOILT_TOLERANCE * limit_s

    def _announce_machines(self) -> None:
        fleet, say = self._fleet, self._progress.say
        for name, reason in fleet.left_out:
            say(f"machine {escape(name)} is not used: {escape(reason)}")
        names = ", ".join(remote.name for remote in fleet.machines)
        duration = duration_text(most_s(self.plan, len(fleet.runners)))
        machines = counted(len(fleet.machines), "machine")
        say(f"{machines}: {escape(names)}; at most about {duration}")
        for runner in fleet.runners:
            if len(runner.members) > 1:
                self._tell(f"one trial at a time over {runner.name}, in domain {runner.domain_id}")
        lines = (line for cell in self.plan.cells if cell.real for line in cell.real.lines())
        for line in dict.fromkeys(lines):
            self._tell(line)
        hosts_of_workload = {
            cell.workload.name: cell.hosts for cell in self.plan.cells if cell.links is not None
        }
        for workload, hosts in hosts_of_workload.items():
            self._tell(
                f"workload {workload} is over the hosts {', '.join(hosts)}: each machine runs it "
                "whole, with the hosts as namespaces and the network between them emulated"
            )

    def _tell(self, text: str) -> None:
        self._writer.note(text)
        self._progress.say(escape(text))

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started_s
