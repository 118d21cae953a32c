"""What `rmwbench show --fit` answers (docs/formats/show.md): which distribution each arm's latencies
follow, fitted to the messages of all done trials of a cell (rmwbench/analysis/stats/fit.py)."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rmwbench.analysis.metrics.comparisons import comparisons, loads
from rmwbench.analysis.metrics.trial import latencies
from rmwbench.analysis.stats.fit import fit
from rmwbench.bundle import Bundle
from rmwbench.results.fields import exact
from rmwbench.results.imported import refuse_imported


@dataclass(frozen=True, kw_only=True)
class Family:
    """A fitted family. Units are in the names of `parameters`; `ks_distance` is the distance of
    Kolmogorov and Smirnov, `quantile_errors` the family's value ÷ the measured one, minus 1."""

    family: str
    parameters: Mapping[str, float] = exact()
    log_likelihood: float = exact()
    aic: float = exact()
    ks_distance: float = exact()
    quantile_errors: Mapping[str, float] = exact()


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """One cell. `families`: by AIC, the best first, fitted to `fitted` of its `messages`; `lost`
    ones, which had not arrived when their trial ended, are in none. Neighbours correlate by
    `autocorrelation`, so that the messages are worth `effective` independent ones."""

    workload: str
    arm: str
    cell: int
    metric: str
    factors: Mapping[str, Any]
    messages: int
    lost: int
    fitted: int
    autocorrelation: float = exact()
    effective: float = exact()
    families: tuple[Family, ...]
    text: str


def fits(bundle: Bundle) -> tuple[Fitted, ...]:
    """Of each cell with done trials. UserError for an imported bundle, which has no messages."""
    refuse_imported(bundle)
    cells = bundle.rows("cells")
    found: dict[int, list[Any]] = defaultdict(list)
    names: dict[int, str] = {}
    for evidence in bundle.evidence([x for x in bundle.trials("done")]):
        names[evidence.cell], ways = latencies(evidence)
        found[evidence.cell] += ways
    return tuple(
        Fitted(
            workload=comparison.name,
            arm=comparison.labels[cell["cell"]],
            cell=cell["cell"],
            metric=names[cell["cell"]],
            factors=loads(cell["factors"]),
            **_fit(found[cell["cell"]]),
        )
        for comparison in comparisons(bundle.campaign.get("plan") or {}, cells)
        for cell in comparison.cells
        if found.get(cell["cell"])
    )


def _fit(trials: list[Any]) -> dict[str, Any]:
    document = fit(trials).document()
    return document | {"families": tuple(Family(**one) for one in document["families"])}
