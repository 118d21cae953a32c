"""Rounds of probes: in each round every arm that is still open makes one fresh trial at its own
next level, in random order, so that what the machine does meanwhile hits all arms alike. Everything
is checked before anything is written.

An arm with long probes (a percentile at a low rate) takes part in fewer rounds, so that it does not
spend the time of the others. The next level depends on all trials of the arm before, and on nothing
else; a report that reads the same trials comes to the same interval. A trial that is void says
nothing and is not counted, nor is one that the host broke; one that failed by the arm's own fault
did not hold its level. When every arm is decided, or has had its number of trials, the curve below
the capacity is filled up to three trials a level where time is left.
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
from rmwbench.analysis.verdicts.failed_arms import lost_by_its_arm
from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.bundle.journal import SearchEnded
from rmwbench.campaign.capacity.search_request import (
    MOST_TRIALS,
    Contestant,
    SearchRequest,
    SearchSpace,
    nearest_level,
    quantity,
    search_space,
)
from rmwbench.campaign.course import UNSUPPORTED, Batch
from rmwbench.campaign.here import Here, TrialEnd
from rmwbench.campaign.plan import unsupported
from rmwbench.campaign.plan.plan import Plan, Trial, duration_text, make_plan
from rmwbench.campaign.plan.socket_buffers import Kernels
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.plan.unsupported import NOT_SUPPORTED
from rmwbench.campaign.progress import announce
from rmwbench.campaign.record.campaign_document import campaign_document, cells_table, machine_table
from rmwbench.campaign.run import Runner, order
from rmwbench.campaign.start import workers_of
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.lab.middleware import Worker, names_here
from rmwbench.suite.cells import Cell
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice
from rmwbench.suite.file.load import parse
from rmwbench.suite.file.places import find, read, shown
from rmwbench.suite.seed import derive_seed

MOST_IN_VAIN, MOST_SPOILT = 4, 12
"""Trials of an arm in a row that said nothing, or failed with nothing else before, after which it
is left; and those that the machine spoilt, which may be over soon."""
AHEAD, AHEAD_PROBES = 1.5, 3
"""How far an arm's time may be ahead of the arm that had least: as a factor, and in probes at the
first level."""
CURVE_TRIALS = 3
CURVE_SHARES = (1.0, 0.5, 0.25, 0.125)
"""The levels of the curve that get several trials, as shares of the capacity."""


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
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return self.contestant.arm.name


class SearchSource:
    """Makes the probes until every arm is decided or the budget ends."""

    decided = False

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
        self.pursuits = [
            ArmRounds(
                contestant,
                ArmSearch(
                    contestant.levels, contestant.nearest(space.start), whole=space.along.whole
                ),
            )
            for contestant in space.able
        ]
        self._cells: dict[tuple[str, float], Cell] = {}
        self._trial = self._round = 0
        self._started_s = time.monotonic()
        self._probes = self._all_probes()
        self._next: Order | None = None
        self._ended: TrialEnd | None = None

    @property
    def finished(self) -> bool:
        return False

    def begin(self, console: Console, ungranted: Iterable[str]) -> None:
        announce(console.print, self.plan, ungranted)
        self._console, self._started_s = console, time.monotonic()

    def take(self, machine: str) -> Order | None:
        """The probe that `pause` found: which one comes next depends on the one before."""
        probe, self._next = self._next, None
        return probe

    def ended(self, end: TrialEnd) -> Batch | None:
        self._ended, ran = end, end.order
        trial = Trial(ran.trial, ran.cell.number, ran.block, ran.position, ran.seed, 0.0)
        return Batch([(trial, end.status)])

    def written(self, batch: Batch, results: Sequence[TrialResult]) -> None:
        """What it says is read when the next one is looked for."""

    def lost(self, end: TrialEnd) -> None:
        raise AssertionError("this machine cannot be lost")

    def again(self, batch: Batch, why: str) -> None:
        raise AssertionError("this machine cannot be lost")

    def pause(self) -> bool:
        self._next = next(self._probes, None)
        return self._next is not None

    def close(self, stopped_by: str | None) -> None:
        for pursuit in self.pursuits:
            ended = pursuit.ended or ("stopped" if stopped_by else "budget")
            self._writer.append(SearchEnded(arm=pursuit.name, ended=ended))

    def _all_probes(self) -> Iterator[Order]:
        """Rounds until no arm wants a level that there is time for; each probe is in the bundle
        when the next one is asked for."""
        for next_level in (self._searching, self._filling):
            while due := self._due(next_level):
                for position, (pursuit, level) in enumerate(due):
                    if not self._affordable(level):
                        pursuit.ended = pursuit.ended or "budget"
                        continue
                    yield self._order(pursuit, level, position)
                    assert self._ended is not None
                    self._take(pursuit, level, self._ended.result)
                self._round += 1

    def _due(
        self, next_level: Callable[[ArmRounds], float | None]
    ) -> list[tuple[ArmRounds, float]]:
        """The arms that take part in this round, each with its level, in random order."""
        due = [
            (pursuit, level)
            for pursuit in self.pursuits
            if (level := next_level(pursuit)) is not None
        ]
        seed = self.space.request.seed
        return sorted(
            self._in_turn(due),
            key=lambda item: derive_seed(seed, "capacity order", self._round, item[0].name),
        )

    def _in_turn(self, due: list[tuple[ArmRounds, float]]) -> list[tuple[ArmRounds, float]]:
        """The arms whose time is not far ahead of that of the arm that had least."""
        least_s = min((pursuit.used_s for pursuit, _ in due), default=0.0)
        most_s = AHEAD * least_s + AHEAD_PROBES * self.space.cells.probe_s(self.space.start)
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
        capacity = pursuit.search.capacity()
        if pursuit.ended not in ("resolved", "trials") or capacity.state not in (
            "bracketed",
            "at least",
        ):
            return None
        top = capacity.low or capacity.value
        if top is None:
            return None
        longest_s = 4 * self.space.cells.probe_s(nearest_level(pursuit.search.levels, top))
        for share in CURVE_SHARES:
            if top * share < pursuit.search.levels[0]:
                continue
            level = nearest_level(self._near(pursuit, top * share), top * share)
            if (
                pursuit.search.tried(level) < CURVE_TRIALS
                and self.space.cells.probe_s(level) <= longest_s
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
        budget_s = self.space.request.budget_s
        return (
            budget_s is None
            or time.monotonic() - self._started_s + self.space.cells.probe_s(level) <= budget_s
        )

    def _order(self, pursuit: ArmRounds, level: float, position: int) -> Order:
        """The schedule's seed is the same for every arm of a round."""
        space, cell = self.space, self._cell(pursuit, level)
        self._trial += 1
        pursuit.used_s += space.cells.probe_s(level)
        seed = derive_seed(space.request.seed, "schedule", self._round, space.request.workload)
        trial = Trial(self._trial, cell.number, self._round, position, seed, 0.0)
        return order(self.name, space.request.seed, trial, cell, self._writer.directory)

    def _take(self, pursuit: ArmRounds, level: float, result: TrialResult) -> None:
        text = quantity(level, self.space.along)
        if result.status == UNSUPPORTED:
            pursuit.ended = f"{NOT_SUPPORTED}: {result.reason}"
            self._say(pursuit, text, f"[magenta]{escape(pursuit.ended)}[/magenta]")
            return
        finding = self._finding(result)
        if finding is None:
            self._said_nothing(pursuit, text, result)
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

    def _said_nothing(self, pursuit: ArmRounds, level: str, result: TrialResult) -> None:
        why = result.reason or "too few messages to judge the limit by"
        if result.cause == "machine":
            pursuit.spoilt += 1
            count, most = pursuit.spoilt, MOST_SPOILT
        else:
            pursuit.in_vain += 1
            count, most = pursuit.in_vain, MOST_IN_VAIN
        if count >= most:
            pursuit.ended = f"{count} trials in a row said nothing: {why}"
        self._say(pursuit, level, f"[magenta]says nothing[/magenta]: {escape(_first_line(why))}")

    def _say(self, pursuit: ArmRounds, level: str, answer: str) -> None:
        width = max(len(p.name) for p in self.pursuits)
        self._console.print(
            f"[dim]{self._round + 1:>3}[/dim]  {escape(pursuit.name):<{width}}  {level:>12}  {answer}"
        )

    def _cell(self, pursuit: ArmRounds, level: float) -> Cell:
        """The cell of an arm at a level; a new one is in the bundle before its first trial is."""
        key = (pursuit.name, level)
        if key not in self._cells:
            cell = self.space.cells.cell(pursuit.contestant.arm, level, len(self._cells) + 1)
            self._cells[key] = cell
            plan = replace(self.plan, cells=tuple(self._cells.values()))
            table = cells_table(plan, self._workers, self._kernels)
            self._writer.write_whole_campaign({"cells": table})
        return self._cells[key]

    def _finding(self, result: TrialResult) -> LimitFinding | None:
        """Read back from the bundle: what the report will see is what the search goes by."""
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
        """What was run, for the last line on stderr."""
        return f"{self._trial} trials in {duration_text(time.monotonic() - self._started_s)}"


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else text


def new_search(
    request: SearchRequest, directory: Path, choice: Choice = NO_CHOICE
) -> Runner[SearchSource]:
    """Checks everything, then makes the directory. Raises UserError before anything is written.
    `choice`: what the command line says of the suite's arms."""
    path, lab = find(request.suite_file), Here()
    text = read(path)
    suite = parse(
        text, where=shown(path), directory=path.parent, middlewares=names_here(), choice=choice
    )
    space = search_space(request, suite, shown(path))
    plan = _first_round(space)
    places = Places(shown(path), text, suite, choice=choice)
    workers, reasons = workers_of(plan, places, lab, directory)
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
    """A plan of the cells that the search starts with."""
    cells = [
        space.cells.cell(contestant.arm, contestant.nearest(space.start), number)
        for number, contestant in enumerate(space.able, start=1)
    ]
    plan = make_plan(space.cells.suite, cells, seed=space.request.seed)
    return replace(plan, host=Here().host())


def _without(space: SearchSpace, plan: Plan, reasons: dict[int, str]) -> SearchSpace:
    """The search without the arms whose first cell cannot run. `reasons`: cell -> why not."""
    why = {
        plan.cell(number).arm.name: f"{unsupported.NOT_SUPPORTED}: {reason}"
        for number, reason in reasons.items()
    }
    contestants = tuple(
        replace(contestant, levels=(), bound=why[contestant.arm.name])
        if contestant.arm.name in why
        else contestant
        for contestant in space.contestants
    )
    warnings = tuple(f"{name}: {reason}" for name, reason in why.items())
    return replace(space, contestants=contestants, warnings=(*space.warnings, *warnings))
