"""The loop that runs a campaign: a source gives the next trial, a lab runs it, and the result is
written to the bundle.

The bundle is valid at every instant: a signal discards the trials under way and nothing else, and a
trial that failed is a result like any other. A machine gets its next trial before the tables of the
last one are written, so that the two overlap, unless that trial would run where they are written.
"""

import gc
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from rich.console import Console

from rmwbench.bundle import BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.bundle.journal import (
    SETTLING,
    CampaignFinished,
    CellUnsupported,
    ResourceCreated,
    ResourceRemoved,
)
from rmwbench.campaign.course import UNSUPPORTED, Batch, SpoiltBlock
from rmwbench.campaign.plan import socket_buffers
from rmwbench.campaign.plan.plan import Plan, Trial
from rmwbench.campaign.record.campaign_document import write_trial
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.campaign.trial_lab import (
    Lab,
    ResultsLost,
    StopSignal,
    StopSignals,
    TrialEnd,
)
from rmwbench.lab.host import marker
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell
from rmwbench.suite.seed import derive_seed

ERROR = "error"
"""What stops a campaign that raises an exception."""


@dataclass(frozen=True)
class Ending:
    """The end of a campaign, perhaps by the signal `stopped_by`, with the counts of this run's
    trials. Trials from before a resume are not counted."""

    stopped_by: str | None
    done: int
    failed: int
    void: int


@dataclass
class Tally:
    """The statuses of this run's trials. All trials of a spoilt block are void."""

    _statuses: dict[int, str] = field(default_factory=dict)

    def add(self, trial: int, status: str, spoilt: SpoiltBlock | None) -> None:
        self._statuses[trial] = status
        if spoilt is not None:
            self._statuses.update(dict.fromkeys(self._statuses.keys() & set(spoilt.voids), "void"))

    def ending(self, stopped_by: str | None) -> Ending:
        counts = Counter(self._statuses.values())
        return Ending(stopped_by, done=counts["done"], failed=counts["failed"], void=counts["void"])


class TrialSource(Protocol):
    """The source of a campaign's trials, which may depend on the results so far: the blocks of a
    plan on one machine (blocks.py) or on many (rmwbench/cluster/machine_parts.py), or a search
    (capacity/rounds.py)."""

    name: str
    plan: Plan

    @property
    def finished(self) -> bool:
        """Whether nothing is left to run."""

    @property
    def decided(self) -> bool:
        """Whether nothing is left to run because everything is decided."""

    def begin(self, console: Console, ungranted: Iterable[str]) -> None:
        """Prepare for the first trial. `ungranted` has a line for each setting that the kernel does
        not grant."""

    def take(self, machine: str) -> Order | None:
        """Return the next trial for an idle machine; None if it has to wait or nothing is left."""

    def ended(self, end: TrialEnd) -> Batch | None:
        """Take note of the end of a trial; return the batch that is now complete, if there is
        one."""

    def written(self, batch: Batch, results: Sequence[TrialResult]) -> None:
        """Take note that the batch is in the bundle."""

    def lost(self, end: TrialEnd) -> None:
        """Take note that a machine was lost with its trial. Sources on one machine inherit this."""
        raise AssertionError("this machine cannot be lost")

    def again(self, batch: Batch, why: str) -> None:
        """Plan a batch again whose results were lost before they were written."""
        raise AssertionError("this machine cannot be lost")

    def pause(self) -> bool:
        """Look at the results, if a look is due, while nothing runs and everything is written.
        Return whether more trials are to run."""

    def close(self, stopped_by: str | None) -> None:
        """End, after the last trial and before the journal says that the campaign is finished.
        `stopped_by` is the signal, or ERROR, that ended it early."""


S_co = TypeVar("S_co", bound=TrialSource, covariant=True)


@dataclass
class Runner(Generic[S_co]):
    """A campaign that is ready to run. `workers` are those for trials on this machine; `machine` is
    the card of the machine from when the campaign began, even if it is resumed."""

    source: S_co
    lab: Lab
    workers: Mapping[str, Worker]
    writer: BundleWriter
    machine: MachineDocument
    _tally: Tally = field(default_factory=Tally)
    _ends: dict[int, TrialEnd] = field(default_factory=dict)
    _complete: list[Batch] = field(default_factory=list)
    _unsupported: set[int] = field(default_factory=set)

    def run(self, console: Console) -> Ending:
        """Run until the end or a signal (SIGINT, SIGTERM, SIGHUP); the journal says which. Call it
        in the main thread."""
        hosts = {"kind": "hosts", "marker": marker.own_marker("").text()}
        self.writer.append(ResourceCreated(resource=hosts))
        self.lab.write_machines(self.writer, self.machine, at_end=False)
        gc.collect()
        gc.freeze()  # a collection before each window then takes 1 ms instead of 30
        stopped_by: str | None = ERROR
        with StopSignals() as signals:
            try:
                cells, kernels = self.source.plan.cells, self.lab.kernels()
                self.source.begin(
                    console, socket_buffers.ungranted_lines(cells, self.workers, kernels)
                )
                self._loop(signals)
                stopped_by = None
            except StopSignal as stopped:
                stopped_by = stopped.name
                self._write()
                self._note_discarded(stopped_by)
            finally:
                self.source.close(stopped_by)
            self.writer.append(ResourceRemoved(resource=hosts))
            self.lab.write_machines(self.writer, self.machine, at_end=True)
            self.writer.merge()
            if not stopped_by:
                self.writer.append(CampaignFinished())
            if self.lab.copy:
                self.lab.copy.update()
        return self._tally.ending(stopped_by)

    def _loop(self, signals: StopSignals) -> None:
        while True:
            for machine in self.lab.idle():
                if self.lab.is_here(machine):
                    self._write()
                if order := self.source.take(machine):
                    self.lab.start(machine, self.source.name, order, self.workers)
            if not self.lab.measures_here():
                self._write()
            if self.lab.running():
                for end in self.lab.wait(signals):
                    self._take(end)
            elif not self._complete and not self.source.pause():
                return

    def _take(self, end: TrialEnd) -> None:
        if end.lost:
            self.source.lost(end)
            return
        cell = end.order.cell.number
        if end.status == UNSUPPORTED and cell not in self._unsupported:
            self._unsupported.add(cell)
            self.writer.append(
                CellUnsupported(cell=cell, trial=end.order.trial, reason=end.reason or "")
            )
        self._ends[end.order.trial] = end
        if batch := self.source.ended(end):
            self._complete.append(batch)

    def _write(self) -> None:
        """Write every complete batch. A batch whose results were lost with their machine is run
        again."""
        while self._complete:
            batch = self._complete.pop(0)
            ends = [self._ends.pop(trial.trial) for trial, _ in batch.ended]
            try:
                results = self.lab.fetch(ends)
            except ResultsLost as error:
                self.source.again(batch, str(error))
                continue
            for (trial, _), result in zip(batch.ended, results, strict=True):
                if result.status != UNSUPPORTED:
                    self._write_trial(batch, trial, result)
            self.source.written(batch, results)

    def _write_trial(self, batch: Batch, trial: Trial, result: TrialResult) -> None:
        if batch.settling is not None:
            write_trial(self.writer, replace(result, status=SETTLING, reason=batch.settling))
            return
        spoilt = batch.spoilt.get(trial.trial)
        write_trial(self.writer, result, trial.repeats, spoilt)
        self._tally.add(trial.trial, result.status, spoilt)

    def _note_discarded(self, signal: str) -> None:
        numbers = sorted(order.trial for order in self.lab.running())
        if len(numbers) == 1:
            self.writer.note(f"{signal} in trial {numbers[0]}, which was discarded")
        elif numbers:
            listed = ", ".join(map(str, numbers))
            self.writer.note(f"{signal} in trials {listed}, which were discarded with their blocks")


def order(name: str, seed: int, trial: Trial, cell: Cell, directory: Path) -> Order:
    """Return the order of a trial. Its nonce follows from the campaign's seed, like every other
    draw, and differs between trials and between campaigns."""
    high, low = (derive_seed(seed, "nonce", name, trial.trial, half) for half in ("high", "low"))
    nonce = (high << 32 ^ low) & (1 << 64) - 1
    return Order(trial.trial, cell, trial.block, trial.position, trial.seed, nonce, directory)
