"""What a campaign does next: the plan's trials in their order, blocks that the machine spoilt once
more, and the looks between blocks. Pure: it reads no clock and runs nothing, so that a whole
campaign can be gone through in a test.

A spoilt block runs again right away, and from its second time on at the campaign's end: what other
guests take from a machine comes in spells of minutes, and a block that is repeated into the same
spell is spoilt again.

A trial that the machine spoilt takes the trials of all other arms of its comparison in that block
along: they are void too, and all of them run again or none does. Were it repeated alone, the arm
that the machine hits more often (the one that asks for more processor time) would keep its quiet
moments only, and look faster than it is.

It is made from the plan and the journal, and only the journal knows what was repeated and looked
at: a resumed campaign therefore goes on where the first one was. A block within which it was
stopped begins anew, since its arms are compared because they ran one right after the other.
"""

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
"""Status of a trial whose worker said that its middleware cannot do this: neither done nor failed,
and not tried again."""

MOST_REPEATS = 4
"""Per block of a comparison. Where one trial in twenty is spoilt by itself, every other block of
fifteen arms is; a machine that spoils five in a row will spoil the sixth."""

RIGHT_AWAY = 1
"""So many repeats of a block run right away; the others are put off to the campaign's end."""


class BlockKey(NamedTuple):
    """The trials of one block of one comparison: what is compared within, and void as a whole."""

    block: int
    comparison: str


@dataclass(frozen=True)
class SpoiltBlock:
    """What a trial that the machine spoilt does to its block: `voids` are the trials of the other
    arms that ran before it and are void with it; all of them run `again`, right away or `put_off`
    to the campaign's end, or those that were still to come do not run either."""

    voids: tuple[int, ...]
    again: bool
    put_off: bool = False


@dataclass
class Batch:
    """Trials whose results go into the bundle together: each with its status, in order. `spoilt`
    says of those that the machine spoilt what they did to their block. `settling`: why it ran, of a
    trial that no block has."""

    ended: list[tuple[Trial, str]] = field(default_factory=list)
    spoilt: dict[int, SpoiltBlock] = field(default_factory=dict)
    settling: str | None = None


class _Replayed(NamedTuple):
    """What the journal says of trials. `ran`: (cell, block) -> the number of its last trial;
    `counts`: those of them that no spoilt block took along; `unable`: cells without trials."""

    ran: dict[tuple[int, int], int]
    counts: dict[BlockKey, set[tuple[int, int]]]
    unable: set[int]


class Course:
    """`next` is the trial to run, `ended` says how it went, `look_due` whether to look first.
    `spoilt` is what the trial that ended last does to its block; None for one that the machine left
    alone. `begins_block`: whether the next trial is the first of another block, or none is left;
    `late`: whether only blocks are left that were put off."""

    def __init__(self, plan: Plan, journal: Iterable[Line] = ()):
        self.plan = plan
        self.spoilt: SpoiltBlock | None = None
        self.begins_block = True
        self.late = False
        self._later: deque[list[Trial]] = deque()
        self._looks = plan.looks
        self._looked: set[int] = set()
        self._repeats: Counter[BlockKey] = Counter()
        self._left_out: Counter[str] = Counter()
        """Comparison -> how many of its blocks this run gave up."""
        self._decided = False
        self._here: dict[BlockKey, list[Trial]] = {}
        self._rest: deque[Trial] = deque()
        so_far = self._replay(journal)
        self._number = max([len(plan.trials), *so_far.ran.values()])
        for trial in plan.trials:
            cell_in_block, key = (trial.cell, trial.block), self._key(trial)
            if trial.cell in so_far.unable:
                continue
            last = so_far.ran.get(cell_in_block)
            if last is None:
                self._rest.append(trial)
            elif cell_in_block in so_far.counts[key]:
                self._here.setdefault(key, []).append(replace(trial, trial=last))
            else:
                self._rest += self._anew([replace(trial, trial=last)])
        self.resumed = bool(so_far.ran or so_far.unable)
        if self._decided:
            self._rest.clear()
        self._put_off()
        self._begin_late()

    def _replay(self, journal: Iterable[Line]) -> "_Replayed":
        so_far = _Replayed({}, {}, set())
        keys: dict[int, BlockKey] = {}  # of each trial that has run
        for line in journal:
            match line:
                case TrialEnded():
                    cell_in_block = line.cell, line.block
                    key = keys[line.trial] = self._key_at(*cell_in_block)
                    so_far.ran[cell_in_block] = line.trial
                    so_far.counts.setdefault(key, set()).add(cell_in_block)
                    if line.again is not None:
                        so_far.counts[key].clear()
                        self._repeats[key] += line.again
                    # given up then; who goes on has time, and a quieter machine perhaps
                    if line.again is False:
                        del self._repeats[key]
                case CampaignResumed():
                    for cut in {keys[n] for n in line.voids if n in keys}:
                        so_far.counts[cut].clear()
                case CellUnsupported():
                    so_far.unable.add(line.cell)
                case CellsDropped():
                    so_far.unable.update(line.cells)
                case LookTaken():
                    self._looked.add(line.blocks)
                    self._decided = line.stop == "decided"
                    # a fixed design that time ended is judged once more at its own end
                    self._looks = self.plan.judged_after
        return so_far

    @property
    def next(self) -> Trial | None:
        return self._rest[0] if self._rest else None

    @property
    def rest(self) -> tuple[Trial, ...]:
        """What is left of the plan, the next trial first; what was put off is not among it before
        its time."""
        return tuple(self._rest)

    @property
    def later(self) -> tuple[Trial, ...]:
        """What was put off and has not begun."""
        return tuple(trial for trials in self._later for trial in trials)

    @property
    def cut(self) -> tuple[int, ...]:
        """The trials, by number, of blocks that have run in part: void where the campaign was
        stopped there and goes on later."""
        begun = {self._key(trial) for trial in (*self._rest, *self.later)}
        return tuple(sorted(t.trial for key in begun for t in self._here.get(key, ())))

    @property
    def blocks_done(self) -> int:
        """Whole blocks behind the next trial; what was put off counts as behind it."""
        return self._rest[0].block if self._rest and not self.late else self.plan.blocks

    @property
    def next_look(self) -> int | None:
        """The number of blocks after which the next look is taken."""
        return next((blocks for blocks in self._looks if blocks not in self._looked), None)

    @property
    def look_due(self) -> bool:
        """Whether a planned look is to be taken before the next trial: the last one when nothing is
        left."""
        look = self.next_look
        if look is None or self._decided or (look == self.plan.blocks and self._rest):
            return False
        return look <= self.blocks_done

    @property
    def decided(self) -> bool:
        """Whether a look found that nothing is left to decide."""
        return self._decided

    @property
    def spoilt_any(self) -> bool:
        """Whether the machine spoilt a block that was given up, or waits for the campaign's end."""
        return bool(self._left_out or self._later)

    @property
    def finished(self) -> bool:
        return not self._rest and not self.look_due

    def block_of(self, trial: Trial) -> list[Trial]:
        """The trials of its comparison in its block: what runs again where the machine spoils one
        of them."""
        key = self._key(trial)
        return [
            *self._here.get(key, ()),
            *(trial_left for trial_left in self._rest if self._key(trial_left) == key),
        ]

    def needs(self, trial: Trial) -> bool:
        """Whether the comparison of `trial` cannot lose another block: with fewer than the suite's
        minimum of blocks it would decide nothing."""
        blocks_left = self.plan.blocks - self._left_out[self._key(trial).comparison]
        return blocks_left <= self.plan.suite.blocks.minimum

    def ended(self, trial: Trial, status: str, cause: str | None, may_repeat: bool) -> Trial | None:
        """Takes note that `trial`, the next one, has run, and gives the one after it. One that is
        void for the machine's sake voids its block: where `may_repeat` it runs again, each trial
        that had run with a number of its own beyond the plan's. One that is unsupported takes its
        cell's others along.
        """
        if self._rest[0].trial != trial.trial:
            raise ValueError(f"trial {trial.trial} was not the next")
        self._rest.popleft()
        self.spoilt, self.begins_block = None, False
        key = self._key(trial)
        if status == UNSUPPORTED:
            self.drop({trial.cell})
        elif status == "void" and cause == "machine":
            ran, not_run = (
                [*self._here.pop(key, ()), trial],
                [t for t in self._rest if self._key(t) == key],
            )
            again = may_repeat and self._repeats[key] < MOST_REPEATS
            put_off = again and self._repeats[key] >= RIGHT_AWAY
            self.spoilt = SpoiltBlock(tuple(t.trial for t in ran[:-1]), again, put_off)
            self._rest = deque(t for t in self._rest if self._key(t) != key)
            if again:
                self._repeats[key] += 1
                again_in_block = [*self._anew(ran), *not_run]
                self._later.append(again_in_block) if put_off else self._rest.extendleft(
                    reversed(again_in_block)
                )
            else:
                self._left_out[key.comparison] += 1
        else:
            self._here.setdefault(key, []).append(trial)
        self._begin_late()
        self.begins_block |= self.next is None or self.next.block > trial.block
        return self.next

    def lacks(self, least: int) -> bool:
        """Whether a comparison has fewer than `least` of its blocks, and others could still run."""
        block_keys = {self._key(trial) for trial in (*self._rest, *self.later)}
        return any(
            self.plan.blocks - count < least
            for count in Counter(key.comparison for key in block_keys).values()
        )

    def give_up(self) -> None:
        """Takes note that there is no time for the block that was put off and would run now."""
        self._left_out[self._key(self._rest[0]).comparison] += 1
        self._rest.clear()
        self._begin_late()

    def looked(self, blocks: int, decided: bool) -> None:
        """Takes note of a look; everything decided ends the campaign."""
        self._looked.add(blocks)
        if decided:
            self._decided = True
            self._rest.clear()
            self._later.clear()

    def drop(self, cells: Collection[int]) -> None:
        """Takes note that these cells are not run any more."""
        self._rest = deque(trial for trial in self._rest if trial.cell not in cells)
        put_off = ([trial for trial in trials if trial.cell not in cells] for trials in self._later)
        self._later = deque(trials for trials in put_off if trials)
        self._begin_late()

    def _put_off(self) -> None:
        """Puts off the blocks that wait for the end by the journal; it does not have their
        order."""
        late: dict[BlockKey, list[Trial]] = {}
        for trial in self._rest:
            if self._repeats[self._key(trial)] > RIGHT_AWAY:
                late.setdefault(self._key(trial), []).append(trial)
        self._rest = deque(trial for trial in self._rest if self._key(trial) not in late)
        self._later = deque(late.values())

    def _begin_late(self) -> None:
        """Begins the next of the blocks that were put off, once the plan's own blocks are done."""
        if self._later and not self._rest:
            self._rest.extend(self._later.popleft())
            self.late = self.begins_block = True

    def _key(self, trial: Trial) -> BlockKey:
        return self._key_at(trial.cell, trial.block)

    def _key_at(self, cell: int, block: int) -> BlockKey:
        return BlockKey(block, self.plan.cell(cell).comparison)

    def _anew(self, ran: Sequence[Trial]) -> list[Trial]:
        """Trials that have run, to be run once more under numbers of their own."""
        first = self._number + 1
        self._number += len(ran)
        return [replace(t, trial=first + n, repeats=t.trial) for n, t in enumerate(ran)]
