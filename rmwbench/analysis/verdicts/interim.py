"""The data of verdicts while a campaign runs: for each comparison its arms, each with the primary
metric and the undelivered messages of every block that has them.

A campaign judges at each of its looks and a report at the end. Both use this module, so that a
report says the same as the look that stopped its campaign. A trial is read once, however often the
campaign is judged; only a few numbers of each trial are kept."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from rmwbench.analysis.metrics.aggregate import (
    MeasuredTrial,
    clock_bound,
    counts_of,
    fraction_of,
    judged_loss,
    trial_value,
)
from rmwbench.analysis.metrics.comparisons import (
    AnyComparison,
    Comparison,
    comparisons,
    in_focus,
    is_floor,
    is_reliable,
    json_column,
)
from rmwbench.analysis.metrics.context import Evidence
from rmwbench.analysis.metrics.fates import FateCounts
from rmwbench.analysis.metrics.glossary import GLOSSARY, Clocks
from rmwbench.analysis.metrics.judged_topics import POOLED, judged_name, judged_topics
from rmwbench.analysis.metrics.stability import Drift, drift_of_arm
from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.records.columns import Row
from rmwbench.analysis.verdicts.ranking_words import TIME, RankingWords, words
from rmwbench.analysis.verdicts.verdict import (
    FailedLine,
    Family,
    JudgedArm,
    Rules,
    Verdicts,
    lost_by_its_arm,
)
from rmwbench.codes import FLAG, Code
from rmwbench.errors import UserError

MARGIN = 0.05
"""The ratio minus 1 that matters: no smaller difference is claimed, and arms within it are
equivalent."""


class InterimLine(FailedLine, Protocol):
    @property
    def trial(self) -> int: ...

    @property
    def cell(self) -> int: ...

    @property
    def block(self) -> int: ...

    @property
    def judged_before(self) -> int: ...


class InterimBundle(Protocol):
    """The parts of a bundle that a look needs."""

    @property
    def planned_comparisons(self) -> Sequence[AnyComparison]: ...

    def reload(self) -> None: ...

    def rows(self, name: str) -> list[dict[str, Any]]: ...

    def trials(self, status: str | None = None) -> Sequence[InterimLine]: ...

    def evidence(self, lines: Iterable[Any]) -> Iterator[Evidence]: ...


class Looks:
    """A campaign under way. Raises UserError for a trial that `measure_trial` cannot measure."""

    def __init__(self, source: InterimBundle):
        self._source = source
        self._seen: set[int] = set()
        self._comparisons: list[Comparison] = []
        self._primary: dict[int, str] = {}
        self._state: dict[int, InterimCell] = {}
        self.comparison_of: dict[str, str] = {}
        """Name in `arms` -> its comparison."""

    @property
    def cells(self) -> dict[tuple[str, str], int]:
        """(comparison, arm) -> cell, for arms of no effect: arms of effects are wanted in every
        block."""
        rows = [(x, c, x.labels[c["cell"]]) for x in self._comparisons for c in x.cells]
        of_effects = {arm for _, c, label in rows for arm in _arms_of_effect(label, c)}
        return {(x.name, arm): c["cell"] for x, c, arm in rows if arm not in of_effects}

    def rising(self) -> dict[int, Drift]:
        """Cell -> how its latency rises within the window, in its worst topic, for the trials that
        `arms` has read."""
        rising = {}
        for cell, state in self._state.items():
            drifts = [drift for topic in state.drifts if (drift := state.drift(topic)) is not None]
            if drifts_of_cell := [drift for drift in drifts if drift.rises]:
                rising[cell] = max(drifts_of_cell, key=lambda drift: drift.end_ns / drift.begin_ns)
        return rising

    def arms(self) -> dict[str, list[JudgedArm]]:
        """Comparison, or topic of a comparison whose topics are judged one by one -> its arms in
        the order of their cells, from all trials in the journal. A look sees the arms that
        `sequential.arms_after` makes of these."""
        self._source.reload()
        if not self._comparisons:
            self._comparisons = comparisons(
                self._source.planned_comparisons, self._source.rows("cells")
            )
            self._primary = {
                c["cell"]: x.primary_metric for x in self._comparisons for c in x.cells
            }
        lines: dict[int, list[InterimLine]] = defaultdict(list)
        for line in self._source.trials():
            lines[line.cell].append(line)
        done = [x for x in self._source.trials("done") if x.cell in self._primary]
        new = [x for x in done if x.trial not in self._seen]
        for evidence in self._source.evidence(new):
            trial = measure_trial(evidence)
            self._seen.add(trial.trial)
            self._state.setdefault(evidence.cell, InterimCell()).add(
                trial,
                self._primary[evidence.cell],
                evidence.endpoints,
                json_column(evidence.definition),
                is_bound(evidence.events),
            )
        self.comparison_of, arms = {}, {}
        for x in self._comparisons:
            cells = [
                (x.labels[c["cell"]], c, self._state.get(c["cell"], InterimCell())) for c in x.cells
            ]
            for topic in topics_of((state for *_, state in cells), x.primary_metric):
                self.comparison_of[name := judged_name(x.name, topic)] = x.name
                arms[name] = [
                    state.arm(label, c, topic, lines.get(c["cell"], ()))
                    for label, c, state in cells
                ]
        return arms


@dataclass
class InterimCell:
    """The measurements of a cell's done trials so far, for the workload (topic None) and for each
    topic that is judged by itself. `drifts`: how the latency rose or fell within the window, trial
    by trial; `busy`: block -> whether its trial was machine-bound; `order` has the words of the
    primary metric."""

    blocks: dict[str | None, list["BlockFacts"]] = field(default_factory=dict)
    drifts: dict[str | None, list[Drift | None]] = field(default_factory=dict)
    reliable: dict[str | None, bool] = field(default_factory=dict)
    busy: dict[int, bool] = field(default_factory=dict)
    order: RankingWords = TIME

    def add(
        self,
        trial: MeasuredTrial,
        primary: str,
        endpoints: Sequence[Row],
        definition: Mapping[str, Any] = MappingProxyType({}),
        bound: bool = False,
    ) -> None:
        self.order = words(primary)
        self.busy[trial.block] = bound
        self.blocks.setdefault(None, []).append(BlockFacts.of(trial, primary))
        in_time = GLOSSARY[primary].clocks is Clocks.ONE_WAY  # other metrics may rest on a ramp
        self.drifts.setdefault(None, []).append(trial.messages.drift if in_time else None)
        judged = in_focus(endpoints, definition)
        self.reliable[None] = self.reliable.get(None, False) or is_reliable(judged)
        if trial.topics:
            parts = judged_topics(endpoints, definition)
            self.reliable |= {part.name: part.reliable for part in parts}
        for name, of_topic in trial.topics.items():
            self.blocks.setdefault(name, []).append(BlockFacts.of(of_topic, primary))
            drift = of_topic.messages.drift if in_time else None
            self.drifts.setdefault(name, []).append(drift)

    def drift(self, topic: str | None) -> Drift | None:
        """The arm's drift; None where it is stationary. A workload of unlike topics has none as a
        whole."""
        if topic is None and len(self.drifts) > 1:
            return None
        return drift_of_arm(self.drifts.get(topic, ()))

    def arm(
        self, name: str, cell: Row, topic: str | None, lines: Sequence[InterimLine] = ()
    ) -> JudgedArm:
        """The arm of the cell for verdicts. `lines`: the journal's lines of all finished trials of
        the cell; a block that the arm lost is lost in every topic. The measurements of an untimed
        cell are not judged."""
        untimed = is_untimed(cell)
        blocks = [] if untimed else self.blocks.get(topic, [])
        network = bool(json_column(cell["definition"]).get("network"))
        return JudgedArm(
            name,
            primary={x.block: x.cost for x in blocks if x.cost is not None and x.cost >= 0},
            undelivered={x.block: x.undelivered for x in blocks if x.undelivered[1]},
            floor=is_floor(cell),
            reliable=self.reliable.get(topic, False),
            bounds={x.block: x.bound for x in blocks if x.bound},
            failed=frozenset() if untimed else failed_blocks(lines) - {x.block for x in blocks},
            order=self.order,
            since=since(lines),
            busy={block: network and bound for block, bound in self.busy.items()},
            family=family_of(cell),
            fates={x.block: x.fates for x in blocks if x.fates.wanted},
        )


def is_bound(events: Iterable[Row]) -> bool:
    """Whether a trial with these events was machine-bound: less than a tenth of the processors'
    time was idle."""
    return any(row["event"] == FLAG and row.get("code") == Code.MACHINE_BOUND for row in events)


def topics_of(cells: Iterable[InterimCell], primary: str) -> list[str | None]:
    """The parts of a comparison with these cells that are judged: its topics one by one where they
    are unlike and the primary metric is measured on messages, otherwise the whole ([None])."""
    if primary not in POOLED:
        return [None]
    return [
        name for name in dict.fromkeys(n for cell in cells for n in cell.blocks) if name is not None
    ] or [None]


def leaving(
    verdicts: Verdicts,
    cells: Mapping[tuple[str, str], int],
    comparison_of: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, ...]:
    """The cells in which further blocks would decide nothing: the cells of worse arms and of the
    floor, which gets no verdict, and all cells of a comparison in which nothing is undecided. In a
    comparison with topics this must hold in each topic. `cells`: (comparison, arm) -> cell. It is
    valid because the decision of a look stays."""
    decided: set[int] = set()
    undecided: set[int] = set()
    for name, arms in verdicts.items():
        closed = all(verdict.verdict != "undecided" for verdict in arms.values())
        for arm, verdict in arms.items():
            cell = cells.get((comparison_of.get(name, name), arm))
            if cell is not None:
                done = closed or verdict.verdict in ("worse", "reference")
                (decided if done else undecided).add(cell)
    return tuple(sorted(decided - undecided))


@dataclass(frozen=True, kw_only=True)
class BlockFacts:
    """The data of one trial for a verdict. `cost`: its primary metric, turned so that a smaller
    value is better (`RankingWords.as_lower_is_better`), None without a value; `bound`: how far it
    may be from the truth for the clocks; `undelivered`: (messages, wanted); `fates`: of its
    messages."""

    block: int
    cost: float | None
    undelivered: tuple[int, int]
    bound: float
    fates: FateCounts

    @classmethod
    def of(cls, trial: MeasuredTrial, primary: str) -> "BlockFacts":
        entry = GLOSSARY[primary]
        value = trial_value(entry, trial)
        return cls(
            block=trial.block,
            cost=None if value is None else words(primary).as_lower_is_better(value),
            undelivered=fraction_of(judged_loss(primary), trial),
            bound=clock_bound(entry, trial),
            fates=counts_of(primary, trial),
        )


def _arms_of_effect(name: str, cell: Row) -> tuple[str, ...]:
    """An arm that names another arm in `against`, and the other arm; empty for other cells."""
    against = (json_column(cell["definition"]).get("arm") or {}).get("against")
    return (name, str(against)) if against else ()


def since(lines: Iterable[InterimLine]) -> dict[int, int]:
    """Block -> the number of blocks from which on it counts in verdicts, for blocks that ran, or
    ran again, after the campaign had been judged without them."""
    return {x.block: x.judged_before + 1 for x in lines if x.judged_before > x.block}


def failed_blocks(lines: Iterable[InterimLine]) -> frozenset[int]:
    """The blocks that a cell's arm lost, from the lines of all its finished trials."""
    return frozenset(x.block for x in lines if lost_by_its_arm(x))


def family_of(cell: Row) -> Family:
    """The family of a cell's arm: by loan where its publishers were asked to write into memory that
    the middleware lends."""
    arm = json_column(cell["definition"]).get("arm") or {}
    return Family.LOAN if arm.get("loan") else Family.COPY


def is_untimed(cell: Row) -> bool:
    """Whether the cell's trials counted allocations, which costs time, so that times are no
    result."""
    return bool((json_column(cell["definition"]).get("sampling") or {}).get("allocations"))


def is_traced(cell: Row) -> bool:
    """Whether the cell's trials recorded the schedule of every thread, which costs time too."""
    return bool((json_column(cell["definition"]).get("sampling") or {}).get("schedule"))


def aa_noise(ratio: float | None) -> float | None:
    """The A/A noise of its machine that a campaign stores, as a ratio minus 1; None where it was
    not measured. Raises UserError for anything that is not such a number."""
    if ratio is None:
        return None
    if not 0 <= ratio < math.inf:
        raise UserError(
            "the machine's A/A floor is not a valid ratio",
            where="campaign.json, machine.aa_floor",
            expected="a number from 0 on",
            actual=repr(ratio),
            fix="remove it: then the report says that it is not known",
        )
    return float(ratio)


def rules(aa_floor: float | None, minutes_per_block: float | None) -> Rules:
    """The rules of a claim: a difference must exceed 5 %. The A/A noise of the machine only warns:
    blocks are randomised, so the scatter of a verdict includes the changes of the machine
    (docs/formulas.md)."""
    return Rules(
        margin=MARGIN, noise=aa_noise(aa_floor) or 0.0, minutes_per_block=minutes_per_block
    )
