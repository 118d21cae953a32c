"""Rounds of probes: in each round every open arm makes one fresh trial at its own next level, in
random order, so that disturbances by the machine affect all arms alike. Everything is checked
before anything is written.

An arm with long probes (a percentile at a low rate) takes part in fewer rounds, so that it does not
spend the time of the others. The next level depends on the arm's earlier trials alone, so a report
that reads the same trials comes to the same interval. A trial that is void, or that the host broke,
is not counted; a trial that failed by the arm's own fault did not hold its level. When every arm is
decided, or has had its number of trials, the levels of the curve below the capacity get up to three
trials each in the time that is left.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from rmwbench.analysis.capacity.arm_capacity import ArmSearch
from rmwbench.analysis.capacity.limit import LimitFinding, judge
from rmwbench.analysis.metrics.context import Context
from rmwbench.analysis.metrics.stability import stability
from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.verdicts.verdict import lost_by_its_arm
from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.bundle.journal import SearchEnded
from rmwbench.campaign.capacity.search_request import (
    MOST_TRIALS,
    SearchRequest,
    SearchSpace,
    nearest_level,
    quantity,
    search_space,
)
from rmwbench.campaign.course import UNSUPPORTED, Batch
from rmwbench.campaign.plan import unsupported_cells
from rmwbench.campaign.plan.plan import Plan, Trial, duration_text, make_plan
from rmwbench.campaign.plan.socket_buffers import Kernels
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.plan.unsupported_cells import NOT_SUPPORTED
from rmwbench.campaign.progress import announce
from rmwbench.campaign.record.campaign_document import campaign_document, cells_table, machine_table
from rmwbench.campaign.run import Runner, TrialSource, order
from rmwbench.campaign.start import check_plan
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.campaign.trial_lab import Lab, TrialEnd
from rmwbench.lab.middleware import Worker, names_here
from rmwbench.suite.arm import Arm
from rmwbench.suite.cells import Cell
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice
from rmwbench.suite.file.load import parse
from rmwbench.suite.file.suite_files import find, path_text, read
from rmwbench.suite.seed import derive_seed
from rmwbench.words.numbers import counted

MOST_UNUSABLE, MOST_SPOILT = 4, 12
"""The numbers of unusable trials in a row, and of trials in a row that the machine spoilt, after
which an arm is given up. All failed trials from the first on count as unusable here."""
AHEAD, AHEAD_PROBES = 1.5, 3
"""The most that an arm's time may exceed that of the arm with the least time: a factor, and probes
at the first level in addition."""
CURVE_TRIALS = 3
CURVE_SHARES = (1.0, 0.5, 0.25, 0.125)
"""The levels of the curve that get several trials, as shares of the capacity."""


@dataclass
class ArmRounds:
    """The state of an arm's search. `ended` is the reason why it makes no more probes, `used_s` the
    time of its probes. `spoilt` and `unusable` count the trials since the last usable one: those
    that the machine spoilt, and the others."""

    arm: Arm
    search: ArmSearch
    spoilt: int = 0
    unusable: int = 0
    used_s: float = 0.0
    ended: str | None = None
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return self.arm.name


class SearchSource(TrialSource):
    """The source of probes until every arm is decided or the budget ends."""

    finished = decided = False

    def __init__(
        self,
        name: str,
        space: SearchSpace,
        plan: Plan,
        writer: BundleWriter,
        workers: Mapping[str, Worker],
        kernels: Kernels,
    ):
        self.name, self.space, self.plan = name, space, plan
        self._writer, self._workers, self._kernels = writer, workers, kernels
        self._console = Console(quiet=True)
        whole = space.along.whole
        self.arms = [
            ArmRounds(each.arm, ArmSearch(each.levels, each.nearest(space.start), whole=whole))
            for each in space.testable
        ]
        self._cells: dict[tuple[str, float], Cell] = {}
        self._trial = self._round = 0
        self._started_s = time.monotonic()
        self._probes = self._all_probes()
        self._next: Order | None = None
        self._ended: TrialEnd | None = None

    def begin(self, console: Console, ungranted: Iterable[str]) -> None:
        announce(console.print, self.plan, ungranted)
        self._console, self._started_s = console, time.monotonic()

    def take(self, machine: str) -> Order | None:
        """Return the probe that `pause` chose: it depends on the result of the one before."""
        probe, self._next = self._next, None
        return probe

    def ended(self, end: TrialEnd) -> Batch | None:
        self._ended, probe = end, end.order
        trial = Trial(probe.trial, probe.cell.number, probe.block, probe.position, probe.seed, 0.0)
        return Batch([(trial, end.status)])

    def written(self, batch: Batch, results: Sequence[TrialResult]) -> None:
        """Do nothing: `pause` reads the result."""

    def pause(self) -> bool:
        self._next = next(self._probes, None)
        return self._next is not None

    def close(self, stopped_by: str | None) -> None:
        for arm in self.arms:
            ended = arm.ended or ("stopped" if stopped_by else "budget")
            self._writer.append(SearchEnded(arm=arm.name, ended=ended))

    def _all_probes(self) -> Iterator[Order]:
        """Yield the probes of all rounds, until no arm has a level for which there is time. Each
        probe is in the bundle before the next one is requested."""
        for next_level in (self._search_level, self._curve_level):
            while due := self._arms_of_round(next_level):
                for position, (arm, level) in enumerate(due):
                    if not self._has_time(level):
                        arm.ended = arm.ended or "budget"
                        continue
                    yield self._order(arm, level, position)
                    assert self._ended is not None
                    self._take(arm, level, self._ended.result)
                self._round += 1

    def _arms_of_round(
        self, next_level: Callable[[ArmRounds], float | None]
    ) -> list[tuple[ArmRounds, float]]:
        """Return the arms of this round, each with its level, in random order."""
        due = [(arm, level) for arm in self.arms if (level := next_level(arm)) is not None]
        seed = self.space.request.seed
        return sorted(
            self._not_ahead(due),
            key=lambda item: derive_seed(seed, "capacity order", self._round, item[0].name),
        )

    def _not_ahead(self, due: list[tuple[ArmRounds, float]]) -> list[tuple[ArmRounds, float]]:
        """Return the arms whose time does not exceed the least time of an arm by too much."""
        least_s = min((arm.used_s for arm, _ in due), default=0.0)
        most_s = AHEAD * least_s + AHEAD_PROBES * self.space.cells.probe_s(self.space.start)
        return [(arm, level) for arm, level in due if arm.used_s <= most_s]

    def _search_level(self, arm: ArmRounds) -> float | None:
        """Return the next level of the search; None if it has ended, with the reason in `ended`."""
        if arm.ended:
            return None
        if arm.search.resolved:
            arm.ended = "resolved"
        elif arm.search.trials >= MOST_TRIALS:
            arm.ended = "trials"
        else:
            level = arm.search.next()
            if self._has_time(level):
                return level
            arm.ended = "budget"
        return None

    def _curve_level(self, arm: ArmRounds) -> float | None:
        """Return a level of the curve that lacks trials; None if there is none."""
        capacity = arm.search.capacity()
        if arm.ended not in ("resolved", "trials") or capacity.state not in (
            "bracketed",
            "at least",
        ):
            return None
        top = capacity.low or capacity.value
        if top is None:
            return None
        longest_s = 4 * self.space.cells.probe_s(nearest_level(arm.search.levels, top))
        for share in CURVE_SHARES:
            if top * share < arm.search.levels[0]:
                continue
            level = nearest_level(self._levels_near(arm, top * share), top * share)
            if (
                arm.search.trials_at(level) < CURVE_TRIALS
                and self.space.cells.probe_s(level) <= longest_s
            ):
                return level if self._has_time(level) else None
        return None

    def _levels_near(self, arm: ArmRounds, level: float) -> tuple[float, ...]:
        """Return the levels within a quarter of `level` that were tried already, or else all."""
        tried = tuple(
            x for x in arm.search.levels if 0.8 <= x / level <= 1.25 and arm.search.trials_at(x)
        )
        return tried or arm.search.levels

    def _has_time(self, level: float) -> bool:
        budget_s = self.space.request.budget_s
        return (
            budget_s is None
            or time.monotonic() - self._started_s + self.space.cells.probe_s(level) <= budget_s
        )

    def _order(self, arm: ArmRounds, level: float, position: int) -> Order:
        """Return the order of a probe. All arms of a round have the same schedule seed."""
        space, cell = self.space, self._cell(arm, level)
        self._trial += 1
        arm.used_s += space.cells.probe_s(level)
        seed = derive_seed(space.request.seed, "schedule", self._round, space.request.workload)
        trial = Trial(self._trial, cell.number, self._round, position, seed, 0.0)
        return order(self.name, space.request.seed, trial, cell, self._writer.directory)

    def _take(self, arm: ArmRounds, level: float, result: TrialResult) -> None:
        text = quantity(level, self.space.along)
        if result.status == UNSUPPORTED:
            arm.ended = f"{NOT_SUPPORTED}: {result.reason}"
            self._say(arm, text, f"[magenta]{escape(arm.ended)}[/magenta]")
            return
        finding = self._finding(result)
        if finding is None:
            self._take_unusable(arm, text, result)
            return
        arm.spoilt = arm.unusable = 0
        arm.kinds[finding.kind] += 1
        arm.search.record(level, finding.holds)
        if arm.kinds["failed"] == arm.search.trials >= MOST_UNUSABLE:
            arm.ended = f"every trial failed: {finding.causes[0]}"
        if finding.holds:
            self._say(arm, text, "[green]holds[/green]")
        else:
            self._say(arm, text, f"[red]fails[/red]: {escape('; '.join(finding.causes))}")

    def _take_unusable(self, arm: ArmRounds, level: str, result: TrialResult) -> None:
        why = result.reason or "too few messages to judge the limit by"
        if result.cause == "machine":
            arm.spoilt += 1
            count, most = arm.spoilt, MOST_SPOILT
        else:
            arm.unusable += 1
            count, most = arm.unusable, MOST_UNUSABLE
        if count >= most:
            arm.ended = f"{count} trials in a row said nothing: {why}"
        self._say(arm, level, f"[magenta]says nothing[/magenta]: {escape(_first_line(why))}")

    def _say(self, arm: ArmRounds, level: str, answer: str) -> None:
        width = max(len(each.name) for each in self.arms)
        self._console.print(
            f"[dim]{self._round + 1:>3}[/dim]  {escape(arm.name):<{width}}  {level:>12}  {answer}"
        )

    def _cell(self, arm: ArmRounds, level: float) -> Cell:
        """Return the cell of an arm at a level. A new cell is written to the bundle before its
        first trial."""
        key = (arm.name, level)
        if key not in self._cells:
            cell = self.space.cells.cell(arm.arm, level, len(self._cells) + 1)
            self._cells[key] = cell
            plan = replace(self.plan, cells=tuple(self._cells.values()))
            table = cells_table(plan, self._workers, self._kernels)
            self._writer.write_whole_campaign({"cells": table})
        return self._cells[key]

    def _finding(self, result: TrialResult) -> LimitFinding | None:
        """Judge the limit in a trial; None if it is unusable. The trial is read back from the
        bundle, so that the search and the report use the same data."""
        if lost_by_its_arm(result):
            return LimitFinding("failed", (_first_line(result.reason or "the trial failed"),))
        if result.status != "done":
            return None
        bundle = Bundle(self._writer.directory)
        line = next(line for line in reversed(bundle.trials()) if line.trial == result.order.trial)
        (evidence,) = bundle.evidence([line])
        context = Context.of(evidence)
        steady = stability(context.evidence.records, context.endpoints, context.window)
        return judge(self.space.limit, measure_trial(evidence), steady)

    def summary(self) -> str:
        """Return the number of trials and the time, for the last line on stderr."""
        return f"{counted(self._trial, 'trial')} in {duration_text(time.monotonic() - self._started_s)}"


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else text


def new_search(
    request: SearchRequest, directory: Path, choice: Choice = NO_CHOICE
) -> Runner[SearchSource]:
    """Check everything, then make the directory. Raises UserError before anything is written.
    `choice` has the command line's options on the suite's arms."""
    path, lab = find(request.suite_file), Lab()
    text = read(path)
    suite = parse(
        text, where=path_text(path), directory=path.parent, middlewares=names_here(), choice=choice
    )
    space = search_space(request, suite, path_text(path))
    plan = _first_round(space)
    places = Places(path_text(path), text, suite, choice=choice)
    workers, reasons = check_plan(plan, places, lab, directory)
    space = _without(space, plan, reasons)
    document = campaign_document(directory, plan, text, workers, lab.describe())
    document["kind"] = "capacity"
    document["plan"] = {
        "suite": {"name": suite.suite, "title": suite.title, "description": suite.description}
    }
    document["machine"] |= lab.calibration()
    document["capacity"] = space.document()
    writer = BundleWriter.create(directory, document)
    card = MachineDocument.model_validate(document["machine"])
    writer.write_whole_campaign({"machine": machine_table(card, None)})
    source = SearchSource(document["campaign"], space, plan, writer, workers, lab.kernels())
    return Runner(source, lab, workers, writer, card)


def _first_round(space: SearchSpace) -> Plan:
    """Return a plan of the first cell of each arm."""
    cells = [
        space.cells.cell(each.arm, each.nearest(space.start), number)
        for number, each in enumerate(space.testable, start=1)
    ]
    plan = make_plan(space.cells.suite, cells, seed=space.request.seed)
    return replace(plan, host=Lab().host())


def _without(space: SearchSpace, plan: Plan, reasons: dict[int, str]) -> SearchSpace:
    """Return the search without the arms whose first cell cannot run. `reasons`: cell → why not."""
    why = {
        plan.cell(number).arm.name: f"{unsupported_cells.NOT_SUPPORTED}: {reason}"
        for number, reason in reasons.items()
    }
    arms = tuple(
        replace(each, levels=(), bound=why[each.arm.name]) if each.arm.name in why else each
        for each in space.arms
    )
    warnings = tuple(f"{name}: {reason}" for name, reason in why.items())
    return replace(space, arms=arms, warnings=(*space.warnings, *warnings))
