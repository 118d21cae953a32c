"""What a campaign does next: the plan's trials in their order, repeats of those that the machine spoilt, and the looks
between blocks. Pure: it reads no clock and runs nothing, so that a whole campaign can be gone through in a test.

It is made from the plan and the journal, and only the journal knows what was repeated and looked at: a resumed campaign
therefore goes on exactly where the first one was.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from rmwbench.campaign.plan import Plan, Trial

UNSUPPORTED = "unsupported"
"""Status of a trial whose worker said that its middleware cannot do this, and type of the journal's line about its
cell: neither done nor failed, and not tried again."""

DROPPED = "dropped"
"""Type of the journal's line about cells that need not run any more: what they were run for is decided, or there is no
time."""

MOST_REPEATS = 2
"""Per planned trial. A machine that spoils three trials in a row will spoil the fourth."""


class Course:
    """`next` is the trial to run, `ended` says how it went, `look_due` whether to look first."""

    def __init__(self, plan: Plan, journal: Iterable[Mapping[str, Any]] = ()):
        self.plan = plan
        self._looked: set[int] = set()
        self._repeats: Counter[tuple[int, int]] = Counter()
        self._number = len(plan.trials)
        self._decided = False
        finished, last = set(), None
        unable: set[int] = set()
        for line in journal:
            match line.get("type"):
                case "trial":
                    last = line
                    finished.add(line["trial"])
                    self._number = max(self._number, line["trial"])
                    if line.get("repeats") is not None:
                        self._repeats[line["cell"], line["block"]] += 1
                case "unsupported":
                    unable.add(line["cell"])
                case "dropped":
                    unable.update(line["cells"])
                case "look":
                    self._looked.add(line["blocks"])
                    self._decided = line.get("stop") == "decided"
        self._rest = deque(t for t in plan.trials if t.trial not in finished and t.cell not in unable)
        self.resumed = bool(finished or unable)
        if self._decided:
            self._rest.clear()
        # Only the very last: a repeat belongs right behind the trial whose place it takes, in the same mood of the
        # machine.
        elif last and last["status"] == "void" and last.get("cause") == "machine":
            spoilt = next((t for t in plan.trials if (t.cell, t.block) == (last["cell"], last["block"])), None)
            if spoilt and self._may_repeat(spoilt):
                self._repeat(replace(spoilt, trial=last["trial"]))

    @property
    def next(self) -> Trial | None:
        return self._rest[0] if self._rest else None

    @property
    def rest(self) -> tuple[Trial, ...]:
        """What is left of the plan, the next trial first."""
        return tuple(self._rest)

    @property
    def blocks_done(self) -> int:
        """Whole blocks behind the next trial."""
        return self._rest[0].block if self._rest else self.plan.blocks

    @property
    def next_look(self) -> int | None:
        """The number of blocks after which the next look is taken."""
        return next((blocks for blocks in self.plan.looks if blocks not in self._looked), None)

    @property
    def look_due(self) -> bool:
        """Whether a planned look is to be taken before the next trial."""
        return self.next_look is not None and self.next_look <= self.blocks_done and not self._decided

    @property
    def decided(self) -> bool:
        """Whether a look found that nothing is left to decide."""
        return self._decided

    @property
    def finished(self) -> bool:
        return not self._rest and not self.look_due

    def ended(self, trial: Trial, status: str, cause: str | None, may_repeat: bool) -> Trial | None:
        """Takes note that `trial`, the next one, has run, and gives the one after it. A trial that is void for the
        machine's sake is repeated right away where `may_repeat`, with a number of its own beyond the plan's. One
        that is unsupported takes its cell's others along.
        """
        if self._rest[0].trial != trial.trial:
            raise ValueError(f"trial {trial.trial} was not the next")
        self._rest.popleft()
        if status == UNSUPPORTED:
            self._rest = deque(other for other in self._rest if other.cell != trial.cell)
        if status == "void" and cause == "machine" and may_repeat and self._may_repeat(trial):
            self._repeat(trial)
        return self.next

    def looked(self, blocks: int, decided: bool) -> None:
        """Takes note of a look; everything decided ends the campaign."""
        self._looked.add(blocks)
        if decided:
            self._decided = True
            self._rest.clear()

    def drop(self, cells: Collection[int]) -> None:
        """Takes note that these cells are not run any more."""
        self._rest = deque(trial for trial in self._rest if trial.cell not in cells)

    def _may_repeat(self, trial: Trial) -> bool:
        return self._repeats[trial.cell, trial.block] < MOST_REPEATS

    def _repeat(self, spoilt: Trial) -> None:
        self._number += 1
        self._repeats[spoilt.cell, spoilt.block] += 1
        self._rest.appendleft(replace(spoilt, trial=self._number, repeats=spoilt.trial))
