"""The schedule of a plan on several machines, and its duration there. This module is pure: it has
no clock and no network, so that a test can lose machines at every step.

The unit is a *part*: the trials of one block of one comparison. A part runs on one machine, because
its arms are compared with each other; it counts when all its trials are in the bundle. The part of
a lost machine is queued again, so that no block of a comparison is from two machines. Machines take
untouched blocks first and share one only when none is left: so a sweep uses as many machines as it
has parts, and a machine of a small campaign runs whole blocks.

A plan's cost is in machine-hours: a machine costs as long as it is held, so all machines count
until the last one is done.
"""

import heapq
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from rmwbench.bundle.journal import Line
from rmwbench.campaign.course import MOST_REPEATS, UNSUPPORTED, Batch, BlockKey, Course, SpoiltBlock
from rmwbench.campaign.plan.plan import Plan, Trial, budget_text, duration_text
from rmwbench.errors import UserError
from rmwbench.words.numbers import counted, distinct, significant


@dataclass(kw_only=True)
class MachineBatch(Batch):
    """A batch that a machine has begun. `queue`: its trials that are left; `counts`: the ended ones
    that are not void with a spoilt trial; `repeats`: how often it began again."""

    key: BlockKey
    machine: str
    queue: deque[Trial]
    counts: list[Trial] = field(default_factory=list)
    repeats: int = 0

    @property
    def text(self) -> str:
        """`block 3 of imu (trials 17 to 24)`."""
        numbers = [trial.trial for trial, _ in self.ended] + [trial.trial for trial in self.queue]
        return (
            f"block {self.key.block + 1} of {self.key.comparison} (trials {min(numbers)} to "
            f"{max(numbers)})"
        )


class Schedule(Course):
    """A course on several machines. `take` gives a machine its next trial, and `ended_on` records
    its end; a complete part is `written`, or queued by `again` if its results are lost with their
    machine. As in every course, there are looks, and an incomplete part of the bundle begins
    anew."""

    def __init__(self, plan: Plan, journal: Iterable[Line] = ()):
        super().__init__(plan, journal)
        self._waiting: dict[BlockKey, list[Trial]] = {}
        for trial in self._rest:
            self._waiting.setdefault(self._key(trial), []).append(trial)
        self._owner: dict[int, str] = {}
        self._begun: dict[BlockKey, list[Trial]] = {}
        self.running: dict[str, MachineBatch] = {}
        """Machine → the part that it runs."""
        self._dropped_cells: set[int] = set()
        self.end = plan.blocks
        """The number of blocks that will run, as far as is known."""
        self._first_untouched = 0

    def take(self, machine: str) -> Trial | None:
        """Return the trial that this machine runs next, of its part or of a new one; None if there
        is none for it."""
        part = self.running.get(machine) or self._begin(machine)
        return part.queue[0] if part else None

    def next_block(self, machine: str) -> int | None:
        """Return the untouched block that `take` would begin on this machine, None if it would
        begin none."""
        key = None if machine in self.running else self._choose(machine)
        return key.block if key and key.block >= self._first_untouched else None

    def ended_on(
        self, machine: str, status: str, cause: str | None = None, may_repeat: bool = True
    ) -> MachineBatch | None:
        """Record the end of the machine's trial, and return its part if it is complete now. If the
        machine spoilt the trial, its part begins again or ends; if it is unsupported, its cell is
        dropped."""
        part = self.running[machine]
        trial = part.queue.popleft()
        part.ended.append((trial, status))
        if status == UNSUPPORTED:
            self.drop({trial.cell}, part)
        elif status == "void" and cause == "machine":
            self._spoil(part, trial, may_repeat)
        else:
            part.counts.append(trial)
        if part.queue:
            return None
        del self.running[machine]
        return part

    def written(self, part: MachineBatch) -> None:
        """Record that all trials of a part are in the bundle."""
        numbers = {trial.trial for trial in self._begun.pop(part.key)}
        self._rest = deque(trial for trial in self._rest if trial.trial not in numbers)
        self._repeats[part.key] += part.repeats
        self._blocks_given_up[part.key.comparison] += any(
            not spoilt.again for spoilt in part.spoilt.values()
        )

    def again(self, part: MachineBatch) -> None:
        """Queue a part again: its results are lost."""
        begun = self._begun.pop(part.key)
        trials = [trial for trial in begun if trial.cell not in self._dropped_cells]
        dropped = {trial.trial for trial in begun if trial.cell in self._dropped_cells}
        self._rest = deque(trial for trial in self._rest if trial.trial not in dropped)
        if trials:
            parts = [(part.key, trials), *self._waiting.items()]
            self._waiting = dict(sorted(parts, key=lambda item: item[1][0].trial))
        if all(key.block != part.key.block for key in self._begun):
            self._owner.pop(part.key.block, None)

    def lost(self, machine: str) -> MachineBatch | None:
        """Queue the part of a lost machine again, and return it."""
        part = self.running.pop(machine, None)
        if part:
            self.again(part)
        return part

    def end_before(self, block: int) -> None:
        """Leave out this block and the later ones: there is no time for them."""
        self.end = min(self.end, block)

    @property
    def waiting(self) -> dict[BlockKey, list[Trial]]:
        """The parts that no machine has begun, in order, without those left out."""
        return {key: trials for key, trials in self._waiting.items() if key.block < self.end}

    def _put_off(self) -> None:
        """Do nothing: a part that runs again stays on its machine, and other parts run
        meanwhile."""

    def _begin(self, machine: str) -> MachineBatch | None:
        key = self._choose(machine)
        if key is None:
            return None
        self._begun[key] = self._waiting.pop(key)
        part = self.running[machine] = MachineBatch(
            key=key, machine=machine, queue=deque(self._begun[key])
        )
        self._owner.setdefault(key.block, machine)
        self._first_untouched = max(self._first_untouched, key.block + 1)
        return part

    def _choose(self, machine: str) -> BlockKey | None:
        """Return the next part for a machine: of its own block, else of an untouched one, else of
        another machine's."""
        bound = self.end if self.next_look is None else min(self.end, self.next_look)
        best: tuple[int, BlockKey] | None = None
        for key in self._waiting:
            if key.block >= bound:
                continue
            owner = self._owner.get(key.block)
            rank = 0 if machine == owner else 1 if owner is None else 2
            if rank == 0:
                return key
            if best is None or rank < best[0]:
                best = rank, key
        return best[1] if best else None

    def drop(self, cells: Collection[int], ended: MachineBatch | None = None) -> None:
        """Drop these cells from all parts that wait or run. A trial of them that runs goes on; that
        of the part `ended` has ended."""
        self._dropped_cells.update(cells)
        self._waiting = {
            key: trials_left
            for key, trials in self._waiting.items()
            if (trials_left := [trial for trial in trials if trial.cell not in cells])
        }
        for part in self.running.values():
            current = None if part is ended else part.queue[0]
            part.queue = deque(t for t in part.queue if t.cell not in cells or t is current)
        begun = {trial.trial for trials in self._begun.values() for trial in trials}
        self._rest = deque(t for t in self._rest if t.cell not in cells or t.trial in begun)

    def _spoil(self, part: MachineBatch, trial: Trial, may_repeat: bool) -> None:
        """Do what `Course.ended` does, to a part whose results are not in the bundle yet."""
        again = may_repeat and self._repeats[part.key] + part.repeats < MOST_REPEATS
        part.spoilt[trial.trial] = SpoiltBlock(tuple(t.trial for t in part.counts), again)
        ended_trials = [t for t in (*part.counts, trial) if t.cell not in self._dropped_cells]
        part.counts.clear()
        if again:
            part.repeats += 1
            part.queue.extendleft(reversed(self._anew(ended_trials)))
        else:
            part.queue.clear()


def duration_s(plan: Plan, machines: int) -> float:
    """Return the duration of a plan on this number of machines in seconds, by a simulation with
    the plan's estimates."""
    schedule, clock_s, idle = Schedule(plan), 0.0, deque(str(number) for number in range(machines))
    busy: list[tuple[float, str]] = []
    while True:
        # if the first idle machine gets no trial, no other one does
        while idle and (trial := schedule.take(idle[0])):
            heapq.heappush(busy, (clock_s + trial.estimated_s, idle.popleft()))
        if busy:
            clock_s, machine = heapq.heappop(busy)
            if part := schedule.ended_on(machine, "done"):
                schedule.written(part)
            idle.appendleft(machine)  # the rest of its part comes first
        elif schedule.look_due and (look := schedule.next_look) is not None:
            schedule.looked(look, decided=False)
        else:
            return clock_s


def most_s(plan: Plan, machines: int) -> float:
    """Return the longest duration of a plan on this number of machines in seconds: the clock ends
    a campaign that has a time."""
    return min(duration_s(plan, machines), math.inf if plan.within_s is None else plan.within_s)


def time_document(plan: Plan, machines: int, per_trial: int = 1) -> dict[str, Any]:
    """Return `cluster` of docs/formats/plan.md. More machines than `useful_machines` have nothing
    to do, since a block of a comparison runs on one machine (or gang of `per_trial` machines) and a
    look waits for all. Raises UserError if one trial takes more machines than there are."""
    gangs = machines // per_trial
    if not gangs:
        raise UserError(
            f"one trial takes {counted(per_trial, 'machine')}",
            where="--cluster",
            expected=f"{per_trial} or more",
            actual=str(machines),
        )
    affordable = _first_blocks(plan, _affordable_blocks(plan))
    estimated_s, all_s = most_s(affordable, gangs), duration_s(affordable, gangs)
    trials_s = affordable.blocks * plan.block_s * per_trial
    ends = plan.looks or (plan.blocks,)
    parts = {(trial.block, plan.cell(trial.cell).comparison) for trial in plan.trials}
    parts_between_looks = [
        sum(first <= block < end for block, _ in parts)
        for first, end in zip((0, *ends), ends, strict=False)
    ]
    return {
        "machines": machines,
        **({"machines_per_trial": per_trial} if per_trial > 1 else {}),
        "estimated_s": round(estimated_s, 3),
        "machine_hours": round(machines * estimated_s / 3600, 4),
        "busy": round(trials_s / (machines * all_s), 4) if all_s else None,
        "useful_machines": max(parts_between_looks) * per_trial,
    }


def time_text(document: dict[str, Any]) -> str:
    """Return a text such as `On 4 machines of a cluster: at most about 83.2 s, 0.0925 machine-hours,
    87 % of them trials.`"""
    machines, useful = document["machines"], document["useful_machines"]
    text = f"On {counted(machines, 'machine')} of a cluster"
    if "machines_per_trial" in document:
        text += f", {document['machines_per_trial']} for each trial"
    text += f": at most about {duration_text(document['estimated_s'])}"
    text += f", {significant(document['machine_hours'])} machine-hours"
    if document["busy"]:
        text += f", {100 * document['busy']:.0f} % of them trials"
    if machines > useful:
        text += f"; machines beyond {useful} have nothing to do"
    return f"{text}."


def machine_budget_s(
    make: Callable[[float | None], Plan], machines: int, budget_s: float, per_trial: int = 1
) -> float:
    """Return the machine time of the blocks that fit into `budget_s` of the cluster, where a trial
    takes `per_trial` machines; `make` makes a plan with a budget of machine time. Raises UserError
    if the suite's minimum of blocks does not fit."""
    gangs = max(1, machines // per_trial)
    plan = make(None)
    plan = make(max(budget_s * gangs, plan.minimum_s))
    blocks = _affordable_blocks(plan)
    while (
        needed_s := duration_s(_first_blocks(plan, blocks), gangs)
    ) > budget_s and blocks > plan.suite.blocks.minimum:
        blocks -= 1
    if needed_s > budget_s * (1 + 1e-9):
        needed, given = distinct(duration_text, needed_s, budget_s)
        raise UserError(
            f"the budget is too small for suite `{plan.suite.suite}`",
            expected=f"at least {needed} on {counted(machines, 'machine')}: "
            f"{counted(blocks, 'block')}",
            actual=given,
            fix=f"give it --budget {budget_text(needed_s)} or more, or more machines",
        )
    return blocks * plan.block_s


def _affordable_blocks(plan: Plan) -> int:
    """Return the number of the plan's blocks; in a campaign that the clock ends, the number of
    blocks that its budget holds with all arms."""
    if plan.budget_s is None or plan.within_s is None:
        return plan.blocks
    return min(
        plan.blocks, max(math.floor(plan.budget_s / plan.block_s + 1e-9), plan.suite.blocks.minimum)
    )


def _first_blocks(plan: Plan, blocks: int) -> Plan:
    """Return the plan with its first blocks alone."""
    if blocks == plan.blocks:
        return plan
    looks = (*(look for look in plan.looks if look < blocks), blocks) if plan.looks else ()
    trials = tuple(trial for trial in plan.trials if trial.block < blocks)
    return replace(plan, blocks=blocks, looks=looks, trials=trials)
