"""A campaign: the plan's trials in their order, each written to the bundle before the next one
starts.

The bundle is valid at every instant: a signal discards the trial under way and nothing else, and a
trial that failed is a result like any other. The next trial's host is started before the last one's
tables are written, so that the two overlap. Between blocks, with no window open, a sequential
campaign looks at what it has and may end.
"""

import gc
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from rich.console import Console
from rich.markup import escape

from rmwbench.bundle import BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.bundle.journal_lines import (
    CampaignFinished,
    CellsDropped,
    CellUnsupported,
    ResourceCreated,
    ResourceRemoved,
)
from rmwbench.campaign.course import UNSUPPORTED, Course, Spoilt
from rmwbench.campaign.looks import InterimLooks, Judging
from rmwbench.campaign.pace import has_time, limit_s, may_repeat, may_repeat_needed
from rmwbench.campaign.plan import buffers
from rmwbench.campaign.plan.plan import Plan, Trial, duration_text
from rmwbench.campaign.progress import Progress
from rmwbench.campaign.record.document import machine_table
from rmwbench.campaign.record.write import write_trial
from rmwbench.campaign.settling import Settling
from rmwbench.campaign.stop import Stopped, StopSignals
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.spoilt import TOLD, keeps_spoilt
from rmwbench.campaign.trial.trial import hosts_ahead, run_trial
from rmwbench.lab import machine
from rmwbench.lab.host import Host, Hosts, marker
from rmwbench.lab.middleware import Worker
from rmwbench.suite.arm import left_out_lines
from rmwbench.suite.seed import derive_seed
from rmwbench.typed import as_typed
from rmwbench.words.numbers import counted


@dataclass(frozen=True)
class Ending:
    """How a campaign ended: by itself, or by the signal `stopped_by`. The counts are of this run,
    resumed ones not included."""

    stopped_by: str | None
    done: int
    failed: int
    void: int


@dataclass
class Tally:
    """How the trials of this run ended, those that a spoilt block took along as void."""

    _statuses: dict[int, str] = field(default_factory=dict)

    def add(self, trial: int, status: str, spoilt: Spoilt | None) -> None:
        self._statuses[trial] = status
        if spoilt is not None:
            self._statuses.update(dict.fromkeys(self._statuses.keys() & set(spoilt.voids), "void"))

    def ending(self, stopped_by: str | None) -> Ending:
        counts = Counter(self._statuses.values())
        return Ending(stopped_by, done=counts["done"], failed=counts["failed"], void=counts["void"])


@dataclass(frozen=True)
class Dropped:
    """Cell → why it need not run any more (`decided`, `time`), and what to tell."""

    cells: Mapping[int, str]
    text: str = ""


class Hold(Protocol):
    """Who runs a campaign for a purpose of its own, and says between blocks what it still needs."""

    def __call__(self, blocks: int, elapsed_s: float, next_s: Mapping[int, float]) -> Dropped:
        """After `blocks` whole blocks, with what each cell's trials of the next block are expected
        to take."""

    def left_s(self, elapsed_s: float) -> float:
        """The time that the campaign may still take."""


class Runner(Protocol):
    """A campaign that can be run: on this machine (`Campaign`), or on those of a cluster
    (rmwbench/cluster)."""

    name: str
    plan: Plan
    writer: BundleWriter

    @property
    def course(self) -> Course:
        """What it does next."""

    def run(self, console: Console) -> Ending:
        """Runs until the end or a signal; the journal says which."""


@dataclass
class Campaign:
    """The course still to run, the workers to run it with, and the bundle that it goes to.
    `described`: the card of the machine when it began, also of a campaign that goes on. `judge`
    looks at the bundle after so many blocks (`rmwbench.campaign.interim`); `hold` may drop cells
    after any."""

    name: str
    plan: Plan
    course: Course
    workers: Mapping[str, Worker]
    writer: BundleWriter
    described: MachineDocument
    judge: Judging | None = None
    hold: Hold | None = None
    _started_s: float = field(default_factory=time.monotonic)
    _planned_s: float = 0.0
    """Of the trials that have run, by the plan's estimates."""

    def run(self, console: Console, first_host: Host | Hosts | None = None) -> Ending:
        """Runs until the end or a signal (SIGINT, SIGTERM, SIGHUP); the journal says which. Call it
        in the main thread."""
        progress = Progress(
            self.plan,
            console,
            self.course,
            None if self.hold is None and self.course.resumed else self._left_s,
            held=self.hold is not None,
        )
        if self.plan.host.shared:
            progress.say(escape(self.plan.host.told()))
        if keeps_spoilt():
            progress.say(TOLD)
        for text in left_out_lines(self.plan.left_out):
            progress.say(f"left out: {escape(text)}")
        if self.plan.cut is not None:
            progress.say(escape(self.plan.cut.text))
        progress.unsupported(self.plan.unsupported)
        for text in buffers.told(self.plan.cells, self.workers, self.described.sysctls):
            progress.say(f"not granted: {escape(as_typed(text))}")
        tally = Tally()
        hosts = {"kind": "hosts", "marker": marker.of_this_process("").text()}
        self.writer.append(ResourceCreated(resource=hosts))
        host, current = first_host, None
        stopped_by = None
        self._started_s = time.monotonic()
        looks = InterimLooks(
            self.plan, self.course, self.writer, self.judge, races=self.hold is None
        )
        gc.collect()
        # the imported modules: collecting before each window then takes a millisecond instead of
        # thirty
        gc.freeze()
        with StopSignals() as signals:
            try:
                goes_on = self._between_blocks(progress, looks)  # a resumed campaign may owe a look
                while goes_on and (current := self.course.next):
                    progress.begin(current)
                    begun_s = time.monotonic()
                    with signals.interruptible():
                        result = run_trial(order(self, current), self.workers, host)
                    self._planned_s += current.estimated_s
                    may = self._may_repeat(current)
                    following = self.course.ended(current, result.status, result.cause, may)
                    host = self._host(following) if following else None
                    if result.status == UNSUPPORTED:
                        self.writer.append(
                            CellUnsupported(
                                cell=current.cell, trial=current.trial, reason=result.reason
                            )
                        )
                    else:
                        write_trial(self.writer, result, current.repeats, self.course.spoilt)
                        tally.add(current.trial, result.status, self.course.spoilt)
                    progress.end(current, result.status, result.reason, time.monotonic() - begun_s)
                    if self.course.begins_block:
                        goes_on = self._between_blocks(progress, looks)
                    # it was made for a dropped cell
                    if host is not None and self.course.next is not following:
                        host.close()
                        host = None
                current = None
                if self.hold is None and self.course.finished:
                    with signals.interruptible():
                        self._settling(progress).run(looks.rising())
            except Stopped as stopped:
                stopped_by = stopped.name
            finally:
                if host is not None:
                    host.close()
                progress.close()
            if stopped_by and current:
                self.writer.note(f"{stopped_by} in trial {current.trial}, which was discarded")
            self.writer.append(ResourceRemoved(resource=hosts))
            self.writer.write_whole_campaign(
                {"machine": machine_table(self.described, machine.state())}
            )
            self.writer.merge()
            if not stopped_by:
                self.writer.append(CampaignFinished())
        return tally.ending(stopped_by)

    def _settling(self, progress: Progress) -> Settling:
        return Settling(
            self.plan,
            self.workers,
            self.writer,
            partial(order, self),
            self._left_s,
            lambda text: progress.say(escape(text)),
        )

    def _left_s(self) -> float:
        """What its time still holds: that of its plan, which a resumed campaign has not, or of who
        holds it."""
        elapsed_s = time.monotonic() - self._started_s
        if self.hold is not None:
            return self.hold.left_s(elapsed_s)
        return limit_s(self.plan) - elapsed_s

    def _between_blocks(self, progress: Progress, looks: InterimLooks) -> bool:
        """Looks if it is time to; whether another block is to run."""
        blocks = self.course.blocks_done
        elapsed_s = time.monotonic() - self._started_s
        if self.hold is not None and self.course.next and not self.course.late:
            self._drop(progress, blocks, elapsed_s)
        if self.course.late:
            self._give_up(progress)
        over = (
            not self.course.resumed
            and not self.course.late
            and bool(self.course.next)
            and not has_time(self.plan, blocks, elapsed_s, self._next_block_s(elapsed_s))
        )
        if self.course.look_due or over:
            looks.take(progress, elapsed_s, over=over)
        if over and not self.course.finished:
            self._leave_out(progress, elapsed_s)
            return False
        return self.course.next is not None

    def _drop(self, progress: Progress, blocks: int, elapsed_s: float) -> None:
        next_s = progress.expected_s(blocks)
        dropped = self.hold(blocks, elapsed_s, next_s)
        for why in dict.fromkeys(dropped.cells.values()):
            if cells := sorted(
                cell for cell, found in dropped.cells.items() if found == why and cell in next_s
            ):
                self.writer.append(CellsDropped(blocks=blocks, cells=tuple(cells), why=why))
        self.course.drop(dropped.cells)
        if dropped.text:
            progress.say(escape(dropped.text))

    def _next_block_s(self, elapsed_s: float) -> float | None:
        """What the next block is expected to take without the arms that have left: its planned
        time, as much longer as the trials so far took than was planned. None where none has run."""
        following = self.course.next
        if following is None or not self._planned_s:
            return None
        left_s = sum(t.estimated_s for t in self.course.rest if t.block == following.block)
        return left_s * elapsed_s / self._planned_s

    def _leave_out(self, progress: Progress, elapsed_s: float) -> None:
        text = (
            f"{self.plan.blocks - self.course.blocks_done} of {self.plan.blocks} blocks left out: "
            f"{duration_text(elapsed_s)} had passed, of {duration_text(limit_s(self.plan))} allowed"
        )
        self.writer.note(text)
        progress.say(f"{text}; `rmwbench resume` runs them")

    def _give_up(self, progress: Progress) -> None:
        """The blocks that were put off and have no time any more, until one that has."""
        count = 0
        while (trial := self.course.next) and not self._may_repeat(trial):
            self.course.give_up()
            count += 1
        if count:
            text = (
                f"no time for {counted(count, 'block')} of a comparison that the machine "
                "spoilt twice"
            )
            self.writer.note(text)
            progress.say(
                f"{text}; `rmwbench resume` runs {'it' if count == 1 else 'them'}, for its numbers: "
                "verdicts that were given stay"
            )

    def _may_repeat(self, trial: Trial) -> bool:
        """Whether the block of the trial's comparison may run again, should the machine have spoilt
        it."""
        if self.course.resumed:
            return True
        again = self.course.block_of(trial)
        numbers = {t.trial for t in again}
        others_s = sum(
            t.estimated_s
            for t in self.course.rest
            if t.block == trial.block and t.trial not in numbers
        )
        again_s = sum(t.estimated_s for t in again)
        elapsed_s = time.monotonic() - self._started_s
        block = self.plan.blocks if self.course.late else trial.block
        if may_repeat(self.plan, block, elapsed_s, again_s, others_s):
            return True
        return self.course.needs(trial) and may_repeat_needed(self.plan, elapsed_s, again_s)

    def _host(self, trial: Trial) -> Hosts | None:
        return hosts_ahead(f"{self.name}/{trial.trial}", self.plan.cell(trial.cell))


def order(campaign: Runner, trial: Trial) -> Order:
    """The nonce follows from the seed like every other draw; it differs from trial to trial and
    from campaign to campaign."""
    plan = campaign.plan
    high, low = (
        derive_seed(plan.seed, "nonce", campaign.name, trial.trial, half)
        for half in ("high", "low")
    )
    nonce = (high << 32 ^ low) & (1 << 64) - 1
    directory = campaign.writer.directory
    return Order(
        trial.trial,
        plan.cell(trial.cell),
        trial.block,
        trial.position,
        trial.seed,
        nonce,
        directory,
    )
