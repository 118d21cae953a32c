"""The progress of a campaign on many machines: the line of a campaign on one, with the time left
divided among those that are there."""

import time

from rich.console import Console

from rmwbench.campaign.course import SpoiltBlock
from rmwbench.campaign.pace import spread_s
from rmwbench.campaign.plan.plan import Plan, Trial
from rmwbench.campaign.progress import Progress
from rmwbench.cluster.batch_schedule import Schedule


class ClusterProgress(Progress):
    """`begin` and `end` name the machine; `machines` is how many there are now."""

    def __init__(self, plan: Plan, console: Console, schedule: Schedule, machines: int):
        super().__init__(plan, console, schedule)
        self.machines = machines
        self._schedule = schedule
        self._begun: dict[str, tuple[Trial, float]] = {}
        self._blocks_told = schedule.blocks_done

    def begin_on(self, machine: str, trial: Trial) -> None:
        self._begun[machine] = trial, time.monotonic()
        self._redraw()

    def end_on(
        self, machine: str, status: str, reason: str | None, spoilt: SpoiltBlock | None
    ) -> float:
        """How long it took, in seconds."""
        trial, begun_s = self._begun.pop(machine)
        took_s = time.monotonic() - begun_s
        self._count(trial, status, took_s)
        self._tell(trial, status, reason, spoilt)
        return took_s

    def lost(self, machine: str) -> None:
        self._begun.pop(machine, None)
        self.machines -= 1

    def written(self) -> None:
        """A part is in the bundle; whole blocks are told as they come."""
        blocks = self._schedule.blocks_done
        if blocks > self._blocks_told and not self._console.is_terminal:
            left = (
                f", {self._left()}"
                if not self._schedule.finished and not self._schedule.look_due
                else ""
            )
            first = self._blocks_told + 1
            told = f"block {blocks}" if blocks == first else f"blocks {first} to {blocks}"
            self.say(f"{told} of {self._most()} done{left}")
        self._blocks_told = max(blocks, self._blocks_told)
        self._redraw()

    def left_s(self, blocks: int | None = None) -> float:
        """As the base class, on the machines that there are; a look waits for all of them."""
        now_s = time.monotonic()
        busy_s = []
        for machine, part in self._schedule.running.items():
            if part.queue:
                gone_s = now_s - self._begun[machine][1] if machine in self._begun else 0.0
                busy_s.append(max(0.0, sum(map(self._expected_s, part.queue)) - gone_s))
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
