"""The one loop that runs a campaign: what comes next is asked of a source, where it runs of a lab,
and each trial is written to the bundle.

The bundle is valid at every instant: a signal discards the trials under way and nothing else, and a
trial that failed is a result like any other. A machine gets its next trial before the last one's
tables are written, so that the two overlap.
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
from rmwbench.campaign.here import Lab, ResultsLost, TrialEnd
from rmwbench.campaign.plan import socket_buffers
from rmwbench.campaign.plan.plan import Plan, Trial
from rmwbench.campaign.record.campaign_document import write_trial
from rmwbench.campaign.stop import StopSignal, StopSignals
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.lab.host import marker
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell
from rmwbench.suite.seed import derive_seed


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

    def add(self, trial: int, status: str, spoilt: SpoiltBlock | None) -> None:
        self._statuses[trial] = status
        if spoilt is not None:
            self._statuses.update(dict.fromkeys(self._statuses.keys() & set(spoilt.voids), "void"))

    def ending(self, stopped_by: str | None) -> Ending:
        counts = Counter(self._statuses.values())
        return Ending(stopped_by, done=counts["done"], failed=counts["failed"], void=counts["void"])


class TrialSource(Protocol):
    """What comes next in a campaign, and what follows from how it went: the blocks of a plan on one
    machine (blocks.py) or on many (rmwbench/cluster/machine_parts.py), or a search (capacity/rounds.py)."""

    name: str
    plan: Plan

    @property
    def finished(self) -> bool:
        """Whether nothing is left to run."""

    @property
    def decided(self) -> bool:
        """Whether nothing is left to run because all is decided."""

    def begin(self, console: Console, ungranted: Iterable[str]) -> None:
        """Is called before the first trial. `ungranted`: what the kernel does not grant, in
        words."""

    def take(self, machine: str) -> Order | None:
        """The next trial for an idle machine; None where it has to wait, or there is none."""

    def ended(self, end: TrialEnd) -> Batch | None:
        """Takes note of how a trial went; gives those that go into the bundle now."""

    def written(self, batch: Batch, results: Sequence[TrialResult]) -> None:
        """The batch is in the bundle."""

    def lost(self, end: TrialEnd) -> None:
        """A machine is gone with what it ran."""

    def again(self, batch: Batch, why: str) -> None:
        """The batch was lost before it was written."""

    def pause(self) -> bool:
        """Looks at the results, if it is time to, while nothing runs and all is written. Returns
        whether more is to run."""

    def close(self, stopped_by: str | None) -> None:
        """Is called after the last trial, before the journal says that the campaign is finished."""


S_co = TypeVar("S_co", bound=TrialSource, covariant=True)


@dataclass
class Runner(Generic[S_co]):
    """A campaign ready to run. `workers` are those that trials on this machine run with; `machine`
    is the card of the machine when the campaign began, also of one that goes on."""

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
        """Runs until the end or a signal (SIGINT, SIGTERM, SIGHUP); the journal says which. Call it
        in the main thread."""
        hosts = {"kind": "hosts", "marker": marker.of_this_process("").text()}
        self.writer.append(ResourceCreated(resource=hosts))
        self.lab.write_machines(self.writer, self.machine, at_end=False)
        gc.collect()
        # the imported modules: collecting before each window then takes a millisecond instead of
        # thirty
        gc.freeze()
        stopped_by = None
        with StopSignals() as signals:
            try:
                cells, kernels = self.source.plan.cells, self.lab.kernels()
                self.source.begin(
                    console, socket_buffers.ungranted_lines(cells, self.workers, kernels)
                )
                self._loop(signals)
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
        """Every complete batch; one whose results were lost with their machine is run again."""
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
    """The nonce follows from the campaign's seed like every other draw; it differs from trial to
    trial and from campaign to campaign."""
    high, low = (derive_seed(seed, "nonce", name, trial.trial, half) for half in ("high", "low"))
    nonce = (high << 32 ^ low) & (1 << 64) - 1
    return Order(trial.trial, cell, trial.block, trial.position, trial.seed, nonce, directory)
