"""The parts of a plan on the machines of a fleet: a trial to every idle machine, whole parts into
the bundle, and the progress that a user sees of it.

A part's results stay on its machine until the part is complete, and are then written together: a
campaign that is killed, and a machine that is lost, leave whole blocks of comparisons and never a
half one. Progress is the line of a campaign on one machine, with the time left divided among the
machines that are there.
"""

import time
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape

from rmwbench.bundle import BundleWriter
from rmwbench.campaign.blocks import omission_text
from rmwbench.campaign.course import Batch, SpoiltBlock
from rmwbench.campaign.looks import InterimLooks
from rmwbench.campaign.pace import SPOILT_TOLERANCE, TOLERANCE, spread_s
from rmwbench.campaign.plan.plan import Plan, Trial, duration_text
from rmwbench.campaign.progress import Progress, announce
from rmwbench.campaign.run import order
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.campaign.trial_lab import TrialEnd
from rmwbench.cluster.batch_schedule import BegunBatch, Schedule, duration_s, most_s
from rmwbench.cluster.fleet import Fleet
from rmwbench.errors import UserError
from rmwbench.words.numbers import counted


class ClusterProgress(Progress):
    """`begin` and `end` name the machine; `machines` is how many there are now."""

    def __init__(self, plan: Plan, console: Console, schedule: Schedule, machines: int):
        super().__init__(plan, console, schedule)
        self.machines = machines
        self._schedule = schedule
        self._begun: dict[str, tuple[Trial, float]] = {}
        self._announced_blocks = schedule.blocks_done

    def begin_on(self, machine: str, trial: Trial) -> None:
        self._begun[machine] = trial, time.monotonic()
        self._redraw()

    def end_on(
        self, machine: str, status: str, reason: str | None, spoilt: SpoiltBlock | None
    ) -> float:
        """Takes note of how a trial ended, and gives how long it took, in seconds."""
        trial, begun_s = self._begun.pop(machine)
        took_s = time.monotonic() - begun_s
        self._count(trial, status, took_s)
        self._print_reason(trial, status, reason, spoilt)
        return took_s

    def lost(self, machine: str) -> None:
        self._begun.pop(machine, None)

    def written(self) -> None:
        """Takes note that a part is in the bundle, and says which blocks are whole by it."""
        blocks = self._schedule.blocks_done
        if blocks > self._announced_blocks and not self._console.is_terminal:
            left = (
                f", {self._remaining_text()}"
                if not self._schedule.finished and not self._schedule.look_due
                else ""
            )
            first = self._announced_blocks + 1
            done = f"block {blocks}" if blocks == first else f"blocks {first} to {blocks}"
            self.say(f"{done} of {self._most()} done{left}")
        self._announced_blocks = max(blocks, self._announced_blocks)
        self._redraw()

    def left_s(self, blocks: int | None = None) -> float:
        """What the base class gives, on the machines that there are; a look waits for all of
        them."""
        now_s = time.monotonic()
        busy_s = []
        for machine, part in self._schedule.running.items():
            if part.queue:
                elapsed_s = now_s - self._begun[machine][1] if machine in self._begun else 0.0
                busy_s.append(max(0.0, sum(map(self._expected_s, part.queue)) - elapsed_s))
        waiting = self._schedule.waiting
        ends = [
            *(end for end in self._plan.looks if end > self._schedule.blocks_done),
            self._schedule.end,
        ]
        total_s, begin = 0.0, 0
        for end in ends if blocks is None else [blocks]:
            parts_s = [
                sum(map(self._expected_s, t))
                for key, t in waiting.items()
                if begin <= key.block < end
            ]
            total_s += spread_s(parts_s, max(self.machines, 1), busy_s)
            begin, busy_s = end, []
        return total_s

    def _redraw(self) -> None:
        running = list(self._begun.values())
        if running:
            self._draw(running[-1][0], f"{len(running)} trials on {self.machines} machines")


class PartSource:
    """`cluster_s`: time of the cluster that was asked for, None where none was."""

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
        runners = self._fleet.runners
        self._progress = ClusterProgress(self.plan, console, self.course, len(runners))
        announce(self._progress.say, self.plan, ungranted)
        self._announce_machines()
        self._looks = InterimLooks(self.plan, self.course, self._writer)
        self._started_s = time.monotonic()
        self._limit_s = self._may_take_s()

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
        under_way = self.course.running[end.machine]
        may_repeat = end.cause == "machine" and self._may_repeat(under_way)
        part = self.course.ended_on(end.machine, end.status, end.cause, may_repeat)
        spoilt = under_way.spoilt.get(end.order.trial)
        self._progress.end_on(end.machine, end.status, end.reason, spoilt)
        return part

    def written(self, batch: Batch, results: Sequence[TrialResult]) -> None:
        assert isinstance(batch, BegunBatch)
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
        self._progress.machines = len(self._fleet.runners)
        again = f"; {part.text} is queued again" if part else ""
        text = f"machine {end.machine} was lost in trial {end.order.trial}{again}: {end.reason}"
        self._tell(f"{text}; {outcome}" if outcome else text)

    def again(self, batch: Batch, why: str) -> None:
        assert isinstance(batch, BegunBatch)
        self.course.again(batch)
        self._tell(f"the results of {batch.text} were lost with machine {batch.machine}: {why}")

    def pause(self) -> bool:
        if not self._fleet.runners:
            raise UserError(
                "every machine of the cluster was lost"
                if not self._fleet.machines
                else "too few machines of the cluster are left for a trial",
                where=f"--cluster {self._fleet.address}",
                fix="start machines of the cluster again",
            )
        over = self.course.end < self.plan.blocks and self.course.blocks_done >= self.course.end
        if self.course.look_due or over:
            self._looks.take(self._progress, self._elapsed_s(), over=over)
        if over and not self.course.finished:
            left_out = omission_text(
                self.plan, self.course.blocks_done, self._elapsed_s(), self._limit_s
            )
            self._tell(f"{left_out}; `rmwbench resume` runs them")
        return not over and not self.course.finished

    def close(self, stopped_by: str | None) -> None:
        self._progress.close()

    def _may_take_s(self) -> float:
        """The limit of `pace.limit_s` in time of the cluster: what was asked for, or the time of
        its suite, or the plan's estimate on so many machines with some tolerance."""
        if self._cluster_s is not None:
            return self._cluster_s
        if self.plan.within_s is not None:
            return self.plan.within_s
        return TOLERANCE * duration_s(self.plan, len(self._fleet.runners))

    def _has_time_for(self, block: int) -> bool:
        if self.course.resumed or block < self.plan.suite.blocks.minimum:
            return True
        return self._elapsed_s() + self._progress.left_s(block + 1) <= self._limit_s

    def _may_repeat(self, part: BegunBatch) -> bool:
        """The rule of `pace.may_repeat`: while its block and the suite's minimum of blocks still
        fit, and longer where the comparison cannot spare the block."""
        if self.course.resumed:
            return True
        needed = max(part.key.block + 1, self.plan.suite.blocks.minimum)
        ends_s = self._elapsed_s() + sum(
            trial.estimated_s for trial in (*part.counts, part.queue[0])
        )
        if ends_s + self._progress.left_s(needed) <= self._limit_s:
            return True
        return self.course.needs(part.queue[0]) and ends_s <= SPOILT_TOLERANCE * self._limit_s

    def _announce_machines(self) -> None:
        fleet, say = self._fleet, self._progress.say
        for name, reason in fleet.left_out:
            say(f"machine {escape(name)} is not used: {escape(reason)}")
        names = ", ".join(remote.name for remote in fleet.machines)
        about = duration_text(most_s(self.plan, len(fleet.runners)))
        machines = counted(len(fleet.machines), "machine")
        say(f"{machines}: {escape(names)}; at most about {about}")
        for runner in fleet.runners:
            if len(runner.members) > 1:
                self._tell(f"one trial at a time over {runner.name}, in domain {runner.domain_id}")
        for text in dict.fromkeys(
            text for cell in self.plan.cells if cell.real for text in cell.real.lines()
        ):
            self._tell(text)
        several = {
            cell.workload.name: cell.hosts for cell in self.plan.cells if cell.links is not None
        }
        for workload, hosts in several.items():
            self._tell(
                f"workload {workload} is over the hosts {', '.join(hosts)}: each machine runs it "
                "whole, with the hosts as namespaces and the network between them emulated"
            )

    def _tell(self, text: str) -> None:
        self._writer.note(text)
        self._progress.say(escape(text))

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._started_s
