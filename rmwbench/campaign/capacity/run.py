"""Rounds of probes: in each round every arm that is still open makes one fresh trial at its own
next level, in random order, so that what the machine does meanwhile hits all arms alike.

An arm with long probes (a percentile at a low rate) takes part in fewer rounds, so that it does not
spend the time of the others. The next level depends on all trials of the arm before, and on nothing
else; a report that reads the same trials comes to the same interval. A trial that is void says
nothing and is not counted, nor is one that the host broke; one that failed by the arm's own fault
did not hold its level. When every arm is decided, or has had its number of trials, the curve below
the capacity is filled up to three trials a level where time is left.
"""

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from rich.console import Console
from rich.markup import escape

from rmwbench.analysis.capacity.arm import ArmSearch
from rmwbench.analysis.capacity.limit import Finding, judge
from rmwbench.analysis.metrics.stability import stability
from rmwbench.analysis.metrics.trial import endpoints_of, measure_trial, told, window_of
from rmwbench.analysis.verdicts.failing import lost_by_its_arm
from rmwbench.bundle import Bundle
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.bundle.journal_lines import (
    CampaignFinished,
    CellUnsupported,
    ResourceCreated,
    ResourceRemoved,
    SearchEnded,
)
from rmwbench.campaign.capacity.request import (
    MOST_TRIALS,
    Contestant,
    Prepared,
    nearest_level,
    quantity,
)
from rmwbench.campaign.plan.plan import duration_text
from rmwbench.campaign.plan.unsupported import NOT_SUPPORTED
from rmwbench.campaign.record.document import cells_table, machine_table
from rmwbench.campaign.record.write import write_trial
from rmwbench.campaign.stop import Stopped, StopSignals
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial import TrialResult, hosts_ahead, run_trial
from rmwbench.lab import machine
from rmwbench.lab.host import Hosts, marker
from rmwbench.suite.cells import Cell
from rmwbench.suite.seed import derive_seed

MOST_IN_VAIN, MOST_SPOILT = 4, 12
"""Trials of an arm in a row that said nothing, or failed with nothing else before, after which it
is left; and those that the machine spoilt, which may be over soon."""
AHEAD, AHEAD_PROBES = 1.5, 3
"""How far an arm's time may be ahead of the arm that had least: as a factor, and in probes at the
first level."""
CURVE_TRIALS = 3
CURVE_SHARES = (1.0, 0.5, 0.25, 0.125)
"""Of the capacity: the levels of the curve that get several trials."""

Run = Callable[[Order, object, Hosts | None], TrialResult]
MakeHosts = Callable[[str, Cell], Hosts | None]


@dataclass
class ArmRounds:
    """An arm on its way. `ended`: why it makes no more probes; `used_s`: the time that its probes
    took. `spoilt` and `in_vain`: trials that said nothing since the last one that did, those that
    the machine spoilt and the others."""

    contestant: Contestant
    search: ArmSearch
    spoilt: int = 0
    in_vain: int = 0
    used_s: float = 0.0
    ended: str | None = None
    kinds: Counter = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return self.contestant.arm.name


class CapacityCampaign:
    """`run` makes the probes until every arm is decided, the budget ends, or a signal comes."""

    def __init__(
        self,
        prepared: Prepared,
        console: Console,
        run: Run = run_trial,
        make_hosts: MakeHosts = hosts_ahead,
    ):
        self.prepared, self.console = prepared, console
        self._run, self._make_hosts = run, make_hosts
        self.writer = prepared.writer
        self.pursuits = [
            ArmRounds(
                c,
                ArmSearch(
                    c.levels, nearest_level(c.levels, prepared.start), whole=prepared.along.whole
                ),
            )
            for c in prepared.contestants
            if c.levels
        ]
        self._cells: dict[tuple[str, float], Cell] = {}
        self._trial = self._round = 0
        self._started_s = time.monotonic()

    def run(self) -> str | None:
        """The name of the signal that ended it, or None."""
        hosts = {"kind": "hosts", "marker": marker.of_this_process("").text()}
        self.writer.append(ResourceCreated(resource=hosts))
        described = MachineDocument.model_validate(self.prepared.document["machine"])
        self._started_s = time.monotonic()
        gc.collect()
        gc.freeze()
        stopped_by = None
        with StopSignals() as signals:
            try:
                self._rounds(signals, self._searching)
                self._rounds(signals, self._filling)
            except Stopped as stopped:
                stopped_by = stopped.name
                self.writer.note(f"{stopped_by} in trial {self._trial}, which was discarded")
            for pursuit in self.pursuits:
                ended = pursuit.ended or ("stopped" if stopped_by else "budget")
                self.writer.append(SearchEnded(arm=pursuit.name, ended=ended))
            self.writer.append(ResourceRemoved(resource=hosts))
            self.writer.write_whole_campaign({"machine": machine_table(described, machine.state())})
            if not stopped_by:
                self.writer.append(CampaignFinished())
        return stopped_by

    def _rounds(self, signals: StopSignals, wanted: Callable[[ArmRounds], float | None]) -> None:
        """Rounds until no arm wants a level that there is time for."""
        while True:
            due = [
                (pursuit, level)
                for pursuit in self.pursuits
                if (level := wanted(pursuit)) is not None
            ]
            if not due:
                return
            due = self._in_turn(due)
            seed = self.prepared.request.seed
            due.sort(
                key=lambda item: derive_seed(seed, "capacity order", self._round, item[0].name)
            )
            for position, (pursuit, level) in enumerate(due):
                self._probe(signals, pursuit, level, position)
            self._round += 1

    def _in_turn(self, due: list[tuple[ArmRounds, float]]) -> list[tuple[ArmRounds, float]]:
        """Those whose time is not far ahead of the one that had least."""
        least_s = min(pursuit.used_s for pursuit, _ in due)
        most_s = AHEAD * least_s + AHEAD_PROBES * self.prepared.cells.probe_s(self.prepared.start)
        return [(pursuit, level) for pursuit, level in due if pursuit.used_s <= most_s]

    def _searching(self, pursuit: ArmRounds) -> float | None:
        """The next level of the search, None where it has ended; then `ended` says why."""
        if pursuit.ended:
            return None
        if pursuit.search.resolved:
            pursuit.ended = "resolved"
        elif pursuit.search.trials >= MOST_TRIALS:
            pursuit.ended = "trials"
        else:
            level = pursuit.search.next()
            if self._affordable(level):
                return level
            pursuit.ended = "budget"
        return None

    def _filling(self, pursuit: ArmRounds) -> float | None:
        """A level of the curve that lacks trials."""
        found = pursuit.search.capacity()
        if pursuit.ended not in ("resolved", "trials") or found.state not in (
            "bracketed",
            "at least",
        ):
            return None
        top = found.low or found.value
        longest_s = 4 * self.prepared.cells.probe_s(nearest_level(pursuit.search.levels, top))
        for share in CURVE_SHARES:
            if top * share < pursuit.search.levels[0]:
                continue
            level = nearest_level(self._near(pursuit, top * share), top * share)
            if (
                pursuit.search.tried(level) < CURVE_TRIALS
                and self.prepared.cells.probe_s(level) <= longest_s
            ):
                return level if self._affordable(level) else None
        return None

    def _near(self, pursuit: ArmRounds, level: float) -> tuple[float, ...]:
        """Levels within a quarter of the wanted one that were tried already, or else all."""
        tried = tuple(
            x for x in pursuit.search.levels if 0.8 <= x / level <= 1.25 and pursuit.search.tried(x)
        )
        return tried or pursuit.search.levels

    def _affordable(self, level: float) -> bool:
        budget_s = self.prepared.request.budget_s
        return (
            budget_s is None
            or time.monotonic() - self._started_s + self.prepared.cells.probe_s(level) <= budget_s
        )

    def _probe(self, signals: StopSignals, pursuit: ArmRounds, level: float, position: int) -> None:
        if not self._affordable(level):
            pursuit.ended = pursuit.ended or "budget"
            return
        cell = self._cell(pursuit, level)
        self._trial += 1
        seed, nonce = self._draws(cell)
        order = Order(self._trial, cell, self._round, position, seed, nonce, self.writer.directory)
        pursuit.used_s += self.prepared.cells.probe_s(level)
        with signals.interruptible():
            hosts = self._make_hosts(f"{self.prepared.name}/{self._trial}", cell)
            result = self._run(order, self.prepared.workers, hosts)
        if result.status == "unsupported":
            pursuit.ended = f"{NOT_SUPPORTED}: {result.reason}"
            self.writer.append(CellUnsupported(cell=cell.number, reason=result.reason))
            self._say(
                pursuit,
                quantity(level, self.prepared.along),
                f"[magenta]{escape(pursuit.ended)}[/magenta]",
            )
            return
        write_trial(self.writer, result)
        finding = self._judged(result)
        self._take(pursuit, level, finding, result)

    def _take(
        self, pursuit: ArmRounds, level: float, finding: Finding | None, result: TrialResult
    ) -> None:
        text = quantity(level, self.prepared.along)
        if finding is None:
            why = result.reason or "too few messages to judge the limit by"
            if result.cause == "machine":
                pursuit.spoilt += 1
                count, most = pursuit.spoilt, MOST_SPOILT
            else:
                pursuit.in_vain += 1
                count, most = pursuit.in_vain, MOST_IN_VAIN
            if count >= most:
                pursuit.ended = f"{count} trials in a row said nothing: {why}"
            self._say(pursuit, text, f"[magenta]says nothing[/magenta]: {escape(_first_line(why))}")
            return
        pursuit.spoilt = pursuit.in_vain = 0
        pursuit.kinds[finding.kind] += 1
        pursuit.search.record(level, finding.holds)
        if pursuit.kinds["failed"] == pursuit.search.trials >= MOST_IN_VAIN:
            pursuit.ended = f"every trial failed: {finding.causes[0]}"
        if finding.holds:
            self._say(pursuit, text, "[green]holds[/green]")
        else:
            self._say(pursuit, text, f"[red]fails[/red]: {escape('; '.join(finding.causes))}")

    def _say(self, pursuit: ArmRounds, level: str, what: str) -> None:
        width = max(len(p.name) for p in self.pursuits)
        self.console.print(
            f"[dim]{self._round + 1:>3}[/dim]  {escape(pursuit.name):<{width}}  {level:>12}  {what}"
        )

    def _cell(self, pursuit: ArmRounds, level: float) -> Cell:
        """The cell of an arm at a level; a new one is in the bundle before its first trial is."""
        key = (pursuit.name, level)
        if key not in self._cells:
            cell = self.prepared.cells.cell(pursuit.contestant.arm, level, len(self._cells) + 1)
            self._cells[key] = cell
            plan = replace(self.prepared.plan, cells=tuple(self._cells.values()))
            sysctls = self.prepared.document["machine"]["sysctls"]
            self.writer.write_whole_campaign(
                {"cells": cells_table(plan, self.prepared.workers, sysctls)}
            )
        return self._cells[key]

    def _draws(self, cell: Cell) -> Iterator[int]:
        """Schedule seed, the same for every arm of a round, and nonce."""
        seed = self.prepared.request.seed
        yield derive_seed(seed, "schedule", self._round, self.prepared.request.workload)
        high, low = (
            derive_seed(seed, "nonce", self.prepared.name, self._trial, half)
            for half in ("high", "low")
        )
        yield (high << 32 ^ low) & (1 << 64) - 1

    def _judged(self, result: TrialResult) -> Finding | None:
        """Read back from the bundle: what the report will see is what the search goes by."""
        if lost_by_its_arm(result):
            return Finding("failed", (_first_line(result.reason or "the trial failed"),))
        if result.status != "done":
            return None
        bundle = Bundle(self.writer.directory)
        line = next(line for line in reversed(bundle.trials()) if line.trial == result.order.trial)
        (found,) = bundle.evidence([line])
        known, clocks = told(found)
        window = window_of(known, clocks)
        endpoints = endpoints_of(found)
        return judge(
            self.prepared.limit, measure_trial(found), stability(known.records, endpoints, window)
        )

    def summary(self) -> str:
        """What was run, for the last line on stderr."""
        return f"{self._trial} trials in {duration_text(time.monotonic() - self._started_s)}"


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else text
