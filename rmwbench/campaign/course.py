"""The course of a campaign: the plan's trials in order, repeats of the blocks that the machine
spoilt, the looks between blocks, and the number of blocks within a time. It is pure: it reads no
clock and runs nothing, so that a test can go through a whole campaign.

A spoilt block runs again right away, and from its second repeat on at the campaign's end: other
guests load a machine for minutes at a time, and a block that is repeated meanwhile is spoilt again.

If the machine spoils a trial, the trials of all other arms of its comparison in that block are void
too, and all of them run again or none does. If it were repeated alone, an arm that the machine
disturbs more often (because it needs more processor time) would keep its undisturbed trials only,
and look faster than it is.

The course follows from the plan and the journal, and the journal alone has the repeats and the
looks, so a resumed campaign continues where it was stopped. A block within which it was stopped
runs again as a whole: arms are compared because they ran one right after the other.

A campaign on a slow machine keeps its time by leaving out whole blocks, but not below the suite's
minimum. This rule depends on the elapsed time alone and is fixed before the first trial, so results
do not influence the number of trials. A resumed campaign has no time limit: it finishes its plan.
"""

import heapq
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rmwbench.bundle.journal import (
    CampaignResumed,
    CellsDropped,
    CellUnsupported,
    Line,
    LookTaken,
    TrialEnded,
)
from rmwbench.campaign.plan.plan import Plan, Trial

UNSUPPORTED = "unsupported"
"""The status of a trial whose worker said that its middleware does not support it. The trial is
neither done nor failed, and does not run again."""

MOST_REPEATS = 4
"""The most repeats per block of a comparison. If one trial in twenty is spoilt, every other block
of fifteen arms is; a machine that spoils a block five times in a row will spoil it again."""

RIGHT_AWAY = 1
"""The number of repeats of a block that run right away; later ones run at the campaign's end."""


class BlockKey(NamedTuple):
    """The key of one comparison's part of a block, which is compared, or void, as a whole."""

    block: int
    comparison: str


@dataclass(frozen=True)
class SpoiltBlock:
    """The effect of a spoilt trial on its block. `voids` are the earlier trials of the other arms,
    which are void with it. If `again`, all of them run again, right away or `put_off` to the
    campaign's end; otherwise the later trials of the block do not run either."""

    voids: tuple[int, ...]
    again: bool
    put_off: bool = False


@dataclass
class Batch:
    """Trials whose results are written together, each with its status, in order. `spoilt` maps the
    trials that the machine spoilt to the effect on their block. `settling` is the reason for a
    trial outside of blocks."""

    ended: list[tuple[Trial, str]] = field(default_factory=list)
    spoilt: dict[int, SpoiltBlock] = field(default_factory=dict)
    settling: str | None = None


class _JournalState(NamedTuple):
    """The trials of the journal. `last_trials`: (cell, block) → the number of its last trial;
    `valid`: those of them that are in no spoilt block; `dropped`: cells without further trials."""

    last_trials: dict[tuple[int, int], int]
    valid: dict[BlockKey, set[tuple[int, int]]]
    dropped: set[int]


class Course:
    """The state of a campaign. `next` is the trial to run, unless `look_due`; call `ended` at its
    end. `spoilt` is the effect of the last trial on its block, None unless the machine spoilt it.
    `begins_block`: the next trial begins another block, or none is left; `late`: only postponed
    blocks are left; `decided`: a look decided everything."""

    def __init__(self, plan: Plan, journal: Iterable[Line] = ()):
        self.plan = plan
        self.spoilt: SpoiltBlock | None = None
        self.begins_block = True
        self.late = False
        self._later: deque[list[Trial]] = deque()
        self._looks = plan.looks
        self._looked: set[int] = set()
        self._repeats: Counter[BlockKey] = Counter()
        self._blocks_given_up: Counter[str] = Counter()
        """Comparison → the number of its blocks that this run gave up."""
        self.decided = False
        self._done_in_block: dict[BlockKey, list[Trial]] = {}
        self._rest: deque[Trial] = deque()
        so_far = self._replay(journal)
        self._number = max([len(plan.trials), *so_far.last_trials.values()])
        for trial in plan.trials:
            cell_in_block, key = (trial.cell, trial.block), self._key(trial)
            if trial.cell in so_far.dropped:
                continue
            last = so_far.last_trials.get(cell_in_block)
            if last is None:
                self._rest.append(trial)
            elif cell_in_block in so_far.valid[key]:
                self._done_in_block.setdefault(key, []).append(replace(trial, trial=last))
            else:
                self._rest += self._anew([replace(trial, trial=last)])
        self.resumed = bool(so_far.last_trials or so_far.dropped)
        if self.decided:
            self._rest.clear()
        self._put_off()
        self._begin_late()

    def _replay(self, journal: Iterable[Line]) -> _JournalState:
        so_far = _JournalState({}, {}, set())
        key_of_trial: dict[int, BlockKey] = {}
        for line in journal:
            match line:
                case TrialEnded():
                    cell_in_block = line.cell, line.block
                    key = key_of_trial[line.trial] = self._key_at(*cell_in_block)
                    so_far.last_trials[cell_in_block] = line.trial
                    so_far.valid.setdefault(key, set()).add(cell_in_block)
                    if line.again is not None:
                        so_far.valid[key].clear()
                        self._repeats[key] += line.again
                    # it was given up; a resumed campaign has time, and perhaps a quieter machine
                    if line.again is False:
                        del self._repeats[key]
                case CampaignResumed():
                    for key in {key_of_trial[n] for n in line.voids if n in key_of_trial}:
                        so_far.valid[key].clear()
                case CellUnsupported():
                    so_far.dropped.add(line.cell)
                case CellsDropped():
                    so_far.dropped.update(line.cells)
                case LookTaken():
                    self._looked.add(line.blocks)
                    self.decided = line.stop == "decided"
                    # a fixed design whose time was over has another look at its own end
                    self._looks = self.plan.judged_after
        return so_far

    @property
    def next(self) -> Trial | None:
        return self._rest[0] if self._rest else None

    @property
    def rest(self) -> tuple[Trial, ...]:
        """The remaining trials of the plan, the next one first, without those of postponed blocks
        that have not begun."""
        return tuple(self._rest)

    @property
    def later(self) -> tuple[Trial, ...]:
        """The trials of postponed blocks that have not begun."""
        return tuple(trial for trials in self._later for trial in trials)

    @property
    def cut(self) -> tuple[int, ...]:
        """The numbers of the trials of blocks that have run in part: they are void if the campaign
        is stopped now and resumed later."""
        begun = {self._key(trial) for trial in (*self._rest, *self.later)}
        return tuple(sorted(t.trial for key in begun for t in self._done_in_block.get(key, ())))

    @property
    def blocks_done(self) -> int:
        """The number of whole blocks before the next trial; postponed ones count as done."""
        return self._rest[0].block if self._rest and not self.late else self.plan.blocks

    @property
    def next_look(self) -> int | None:
        """The number of blocks after which the next look is due."""
        return next((blocks for blocks in self._looks if blocks not in self._looked), None)

    @property
    def look_due(self) -> bool:
        """Whether a planned look is due before the next trial. The last look is due when no trial
        is left."""
        look = self.next_look
        if look is None or self.decided or (look == self.plan.blocks and self._rest):
            return False
        return look <= self.blocks_done

    @property
    def spoilt_any(self) -> bool:
        """Whether the machine spoilt a block that was given up or postponed."""
        return bool(self._blocks_given_up or self._later)

    @property
    def finished(self) -> bool:
        return not self._rest and not self.look_due

    def block_of(self, trial: Trial) -> list[Trial]:
        """Return the trials of its comparison in its block, which run again together."""
        key = self._key(trial)
        left = [t for t in self._rest if self._key(t) == key]
        return [*self._done_in_block.get(key, ()), *left]

    def needs(self, trial: Trial) -> bool:
        """Whether the comparison of `trial` cannot lose another block: with fewer than the suite's
        minimum of blocks it would decide nothing."""
        blocks_left = self.plan.blocks - self._blocks_given_up[self._key(trial).comparison]
        return blocks_left <= self.plan.suite.blocks.minimum

    def ended(self, trial: Trial, status: str, cause: str | None, may_repeat: bool) -> Trial | None:
        """Take note of the end of `trial`, the next one; return the trial after it. If the machine
        made it void, its block is void and, if `may_repeat`, runs again; repeated trials get new
        numbers beyond the plan's. If it is unsupported, its cell is dropped."""
        if self._rest[0].trial != trial.trial:
            raise ValueError(f"trial {trial.trial} was not the next")
        self._rest.popleft()
        self.spoilt, self.begins_block = None, False
        key = self._key(trial)
        if status == UNSUPPORTED:
            self.drop({trial.cell})
        elif status == "void" and cause == "machine":
            done = [*self._done_in_block.pop(key, ()), trial]
            left = [t for t in self._rest if self._key(t) == key]
            again = may_repeat and self._repeats[key] < MOST_REPEATS
            put_off = again and self._repeats[key] >= RIGHT_AWAY
            self.spoilt = SpoiltBlock(tuple(t.trial for t in done[:-1]), again, put_off)
            self._rest = deque(t for t in self._rest if self._key(t) != key)
            if again:
                self._repeats[key] += 1
                block = [*self._anew(done), *left]
                if put_off:
                    self._later.append(block)
                else:
                    self._rest.extendleft(reversed(block))
            else:
                self._blocks_given_up[key.comparison] += 1
        else:
            self._done_in_block.setdefault(key, []).append(trial)
        self._begin_late()
        self.begins_block |= self.next is None or self.next.block > trial.block
        return self.next

    def lacks(self, least: int) -> bool:
        """Whether a comparison has fewer than `least` of its blocks, and further ones can run."""
        block_keys = {self._key(trial) for trial in (*self._rest, *self.later)}
        return any(
            self.plan.blocks - count < least
            for count in Counter(key.comparison for key in block_keys).values()
        )

    def give_up(self) -> None:
        """Give up the postponed block that would run now, for want of time."""
        self._blocks_given_up[self._key(self._rest[0]).comparison] += 1
        self._rest.clear()
        self._begin_late()

    def looked(self, blocks: int, decided: bool) -> None:
        """Take note of a look; if everything is `decided`, nothing is left to run."""
        self._looked.add(blocks)
        if decided:
            self.decided = True
            self._rest.clear()
            self._later.clear()

    def drop(self, cells: Collection[int]) -> None:
        """Drop the remaining trials of these cells."""
        self._rest = deque(trial for trial in self._rest if trial.cell not in cells)
        put_off = ([trial for trial in trials if trial.cell not in cells] for trials in self._later)
        self._later = deque(trials for trials in put_off if trials)
        self._begin_late()

    def _put_off(self) -> None:
        """Postpone the blocks that, by the journal, wait for the end; their order is unknown."""
        late: dict[BlockKey, list[Trial]] = {}
        for trial in self._rest:
            if self._repeats[self._key(trial)] > RIGHT_AWAY:
                late.setdefault(self._key(trial), []).append(trial)
        self._rest = deque(trial for trial in self._rest if self._key(trial) not in late)
        self._later = deque(late.values())

    def _begin_late(self) -> None:
        """Begin the next postponed block, once the plan's own blocks are done."""
        if self._later and not self._rest:
            self._rest.extend(self._later.popleft())
            self.late = self.begins_block = True

    def _key(self, trial: Trial) -> BlockKey:
        return self._key_at(trial.cell, trial.block)

    def _key_at(self, cell: int, block: int) -> BlockKey:
        return BlockKey(block, self.plan.cell(cell).comparison)

    def _anew(self, repeated: Sequence[Trial]) -> list[Trial]:
        """Return trials that have run, with new numbers for another run."""
        first = self._number + 1
        self._number += len(repeated)
        return [replace(t, trial=first + n, repeats=t.trial) for n, t in enumerate(repeated)]


TOLERANCE = 1.25
"""The longest time of a campaign without a budget, as a multiple of its plan."""


def limit_s(plan: Plan) -> float:
    """Return the time that a campaign of this plan may take: its budget, the time of its suite, or
    the plan's estimate with a tolerance."""
    if plan.budget_s is not None:
        return plan.budget_s
    return TOLERANCE * plan.estimated_s if plan.within_s is None else plan.within_s


def has_time(plan: Plan, blocks_done: int, elapsed_s: float, next_s: float | None = None) -> bool:
    """Whether another block may begin after `blocks_done` whole blocks, which took `elapsed_s`
    together. `next_s` is the expected time of the next block, by default the mean so far."""
    if blocks_done < plan.suite.blocks.minimum:
        return True
    return elapsed_s + (elapsed_s / blocks_done if next_s is None else next_s) <= limit_s(plan)


SPOILT_TOLERANCE = 1.5
"""The longest time, as a multiple of its limit, of a campaign that repeats spoilt blocks to reach
the suite's minimum: with fewer blocks a comparison decides nothing."""


def may_repeat(
    plan: Plan, block: int, elapsed_s: float, again_s: float, rest_of_block_s: float
) -> bool:
    """Whether a comparison's part of `block` that the machine spoilt may run again for `again_s`:
    the rest of the block and the suite's minimum of blocks must still fit after it. It may cost a
    later block, which all arms lose."""
    missing = max(0, plan.suite.blocks.minimum - block - 1)
    return elapsed_s + again_s + rest_of_block_s + missing * plan.block_s <= limit_s(plan)


def may_repeat_needed(plan: Plan, elapsed_s: float, again_s: float) -> bool:
    """Whether a block that its comparison cannot spare may be repeated."""
    return elapsed_s + again_s <= SPOILT_TOLERANCE * limit_s(plan)


def spread_s(parts_s: Iterable[float], machines: int, busy_s: Sequence[float] = ()) -> float:
    """Return the seconds until all parts have run, in order, each on the machine that is free
    first. `busy_s` has the remaining seconds of each busy machine."""
    free = [*busy_s, *[0.0] * (machines - len(busy_s))]
    heapq.heapify(free)
    for part_s in parts_s:
        heapq.heappush(free, heapq.heappop(free) + part_s)
    return max(free, default=0.0)
