"""What a comparison rests on so far: per comparison its arms, each with the primary metric and the undelivered messages
of every block that has them.

A campaign asks at each of its looks and a report at the end. Both ask here, so that what stopped a campaign is what its
report says. A trial is read once, however often one looks; of each only a few numbers are kept.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from rmwbench.analysis import compare
from rmwbench.analysis.aggregate import Trial, clock_bound, fraction_of, trial_value
from rmwbench.analysis.comparisons import Comparison, comparisons, is_floor, is_reliable, loads
from rmwbench.analysis.glossary import GLOSSARY
from rmwbench.analysis.trial import Evidence, Row, measure_trial
from rmwbench.errors import UserError

MARGIN = 0.05
"""The ratio minus 1 that matters: no smaller difference is claimed, and arms within it are equivalent."""


UNDELIVERED_OF_CHAINS = "end_to_end_undelivered"
"""What a late hop lost was delivered by all before it: of a chain only those messages count that reached its end."""


class Line(Protocol):
    trial: int
    cell: int


class Source(Protocol):
    """A bundle, as far as a look needs it."""

    campaign: Mapping[str, Any]

    def reload(self) -> None: ...

    def rows(self, name: str) -> list[dict[str, Any]]: ...

    def trials(self, status: str) -> Sequence[Line]: ...

    def evidence(self, lines: Iterable[Line]) -> Iterator[Evidence]: ...


class Looks:
    """A campaign under way. Raises UserError for what `measure_trial` cannot measure."""

    def __init__(self, source: Source):
        self._source = source
        self._seen: set[int] = set()
        self._comparisons: list[Comparison] = []
        self._primary: dict[int, str] = {}
        self._blocks: dict[int, list[Facts]] = defaultdict(list)
        self._reliable: dict[int, bool] = defaultdict(bool)

    def arms(self) -> dict[str, list[compare.Arm]]:
        """Comparison -> its arms in the order of their cells, from all trials that the journal has by now."""
        self._source.reload()
        if not self._comparisons:
            self._comparisons = comparisons(self._source.campaign.get("plan") or {}, self._source.rows("cells"))
            self._primary = {c["cell"]: x.primary_metric for x in self._comparisons for c in x.cells}
        new = [x for x in self._source.trials("done") if x.trial not in self._seen and x.cell in self._primary]
        for evidence in self._source.evidence(new):
            trial = measure_trial(evidence)
            self._seen.add(trial.trial)
            self._blocks[evidence.cell].append(facts(trial, self._primary[evidence.cell]))
            self._reliable[evidence.cell] |= is_reliable(evidence.endpoints)
        return {
            x.name: [
                arm(x.labels[c["cell"]], c, self._blocks[c["cell"]], reliable=self._reliable[c["cell"]])
                for c in x.cells
            ]
            for x in self._comparisons
        }


Facts = tuple[int, float | None, tuple[int, int], float]


def facts(trial: Trial, primary: str) -> Facts:
    """(block, primary metric or None where the trial has none, (undelivered, wanted), the clocks' bound of the primary
    metric): what a verdict takes of a trial.
    """
    entry = GLOSSARY[primary]
    judged_first = UNDELIVERED_OF_CHAINS if primary.startswith("end_to_end_") else "undelivered"
    return trial.block, trial_value(entry, trial), fraction_of(judged_first, trial), clock_bound(entry, trial)


def arm(name: str, cell: Row, blocks: Iterable[Facts], *, reliable: bool) -> compare.Arm:
    """A cell as `compare.judge` takes it, from the `facts` of its done trials. What an untimed cell measured is judged
    by nothing."""
    blocks = [] if is_untimed(cell) else list(blocks)
    return compare.Arm(
        name,
        {block: value for block, value, *_ in blocks if value is not None and value > 0},
        {block: fraction for block, _, fraction, _ in blocks if fraction[1]},
        is_floor(cell),
        reliable,
        {block: bound for block, *_, bound in blocks if bound},
    )


def is_untimed(cell: Row) -> bool:
    """Whether its trials counted allocations, which costs time: none of their times is a result."""
    return bool((loads(cell["definition"]).get("sampling") or {}).get("allocations"))


def aa_noise(machine: Mapping[str, Any] | None) -> float | None:
    """The A/A floor that a campaign.json's `machine` took along, as a ratio minus 1; None where it was not measured.
    UserError for what is no such number."""
    found = (machine or {}).get("aa_floor")
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < math.inf:
        raise UserError(
            "the machine's A/A floor is no ratio",
            where="campaign.json, machine.aa_floor",
            expected="a number from 0 on",
            actual=repr(found),
            fix="remove it: then the report says that it is not known",
        )
    return float(found)


def rules(machine: Mapping[str, Any] | None, minutes_per_block: float | None) -> compare.Rules:
    """What a claim needs on a campaign.json's `machine`: a difference beyond 5 %, and beyond the A/A noise of that day
    where it is larger. The noise bounds the estimate, not the interval, which contains it already (docs/method.md).
    """
    return compare.Rules(margin=MARGIN, noise=aa_noise(machine) or 0.0, minutes_per_block=minutes_per_block)
