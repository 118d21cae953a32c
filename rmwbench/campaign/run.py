"""A campaign: the plan's trials in their order, each written to the bundle before the next one starts.

The bundle is valid at every instant: a signal discards the trial under way and nothing else, and a trial that failed is
a result like any other. The next trial's host is started before the last one's tables are written, so that the two
overlap.
"""

import gc
import time
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console

from rmwbench.bundle import BundleWriter
from rmwbench.campaign.document import machine_table
from rmwbench.campaign.outcome import Order
from rmwbench.campaign.pace import has_time, limit_s
from rmwbench.campaign.plan import Plan, Trial, duration_text
from rmwbench.campaign.progress import Progress
from rmwbench.campaign.stop import Stopped, StopSignals
from rmwbench.campaign.trial import TrialResult, run_trial
from rmwbench.lab import machine
from rmwbench.lab.host import Host, marker
from rmwbench.lab.middleware import Worker
from rmwbench.suite.seed import derive_seed


@dataclass(frozen=True)
class Ending:
    """How a campaign ended: by itself, or by the signal `stopped_by`. The counts are of this run, resumed ones not
    included."""

    stopped_by: str | None
    done: int
    failed: int
    void: int


class Campaign:
    """The trials still to run, the workers to run them with, and the bundle they go to."""

    def __init__(self, name: str, plan: Plan, trials: list[Trial], workers: Mapping[str, Worker], writer: BundleWriter):
        self.name, self.plan, self.trials, self.workers, self.writer = name, plan, trials, workers, writer
        self._described = machine.describe()

    def run(self, console: Console, first_host: Host | None = None) -> Ending:
        """Runs until the end or a signal (SIGINT, SIGTERM, SIGHUP); the journal says which. Call it in the main
        thread."""
        progress = Progress(self.plan, console, self.trials)
        counts = {"done": 0, "failed": 0, "void": 0}
        hosts = {"kind": "hosts", "marker": marker.of_this_process("").text()}
        self.writer.append({"type": "created", "resource": hosts})
        host, current = first_host, None
        stopped_by = left_out = None
        resumed = self.trials != list(self.plan.trials)
        started_s = time.monotonic()
        gc.collect()
        gc.freeze()  # the imported modules: collecting before each window then takes a millisecond instead of thirty
        with StopSignals() as signals:
            try:
                for current, following in zip(self.trials, [*self.trials[1:], None], strict=True):
                    elapsed_s = time.monotonic() - started_s
                    if current.position == 0 and not resumed and not has_time(self.plan, current.block, elapsed_s):
                        left_out = self.plan.blocks - current.block
                        break
                    progress.begin(current)
                    begun_s = time.monotonic()
                    with signals.interruptible():
                        result = run_trial(self.order(current), self._worker(current), host)
                    host = self._host(following) if following else None
                    self._write(result)
                    counts[result.status] += 1
                    progress.end(current, result.status, result.reason, time.monotonic() - begun_s)
            except Stopped as stopped:
                stopped_by = stopped.name
            finally:
                if host is not None:
                    host.close()
                progress.close()
            if stopped_by and current:
                self.writer.append(
                    {"type": "note", "text": f"{stopped_by} in trial {current.trial}, which was discarded"}
                )
            if left_out:
                text = (
                    f"{left_out} of {self.plan.blocks} blocks left out: {duration_text(elapsed_s)} had passed, "
                    f"of {duration_text(limit_s(self.plan))} allowed"
                )
                self.writer.append({"type": "note", "text": text})
                console.print(f"{text}; `rmwbench run --resume` runs them")
            self.writer.append({"type": "removed", "resource": hosts})
            self.writer.write_whole_campaign({"machine": machine_table(self._described, machine.state())})
            if not stopped_by:
                self.writer.append({"type": "finished"})
        return Ending(stopped_by, **counts)

    def order(self, trial: Trial) -> Order:
        """The nonce follows from the seed like every other draw; it differs from trial to trial and from campaign to
        campaign."""
        high, low = (derive_seed(self.plan.seed, "nonce", self.name, trial.trial, half) for half in ("high", "low"))
        nonce = (high << 32 ^ low) & (1 << 64) - 1
        return Order(trial.trial, self.plan.cell(trial.cell), trial.block, trial.position, trial.seed, nonce)

    def _worker(self, trial: Trial) -> Worker:
        return self.workers[self.plan.cell(trial.cell).arm.middleware]

    def _host(self, trial: Trial) -> Host:
        return Host(f"{self.name}/{trial.trial}")

    def _write(self, result: TrialResult) -> None:
        order = result.order
        tables = dict(result.tables)
        if result.files:
            digests = {name: self.writer.add_file(content) for name, content in result.files.items()}
            sizes = [len(content) for content in result.files.values()]
            rows = {"trial": order.trial, "name": list(digests), "sha256": list(digests.values()), "bytes": sizes}
            tables["files"] = rows
        self.writer.finish_trial(
            trial=order.trial,
            cell=order.cell.number,
            block=order.block,
            status=result.status,
            reason=result.reason,
            finished_utc=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            tables=tables,
        )
