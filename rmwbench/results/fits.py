"""Which distribution each arm's latencies follow: fitted to the messages of all done trials of a
cell (rmwbench/analysis/stats/fit.py)."""

from collections import defaultdict
from typing import Any

from rmwbench.analysis.metrics.comparisons import comparisons, loads
from rmwbench.analysis.metrics.trial import latencies
from rmwbench.analysis.stats.fit import fit
from rmwbench.bundle import Bundle
from rmwbench.results.imported import refuse_imported


def fits(bundle: Bundle) -> list[dict[str, Any]]:
    """`workload`, `arm`, `cell`, `metric`, `factors` and the fit (docs/formats/show.md) of each
    cell with done trials. UserError for an imported bundle, which has no messages."""
    refuse_imported(bundle)
    cells = bundle.rows("cells")
    found: dict[int, list[Any]] = defaultdict(list)
    names: dict[int, str] = {}
    for evidence in bundle.evidence([x for x in bundle.trials("done")]):
        names[evidence.cell], ways = latencies(evidence)
        found[evidence.cell] += ways
    return [
        {
            "workload": comparison.name,
            "arm": comparison.labels[cell["cell"]],
            "cell": cell["cell"],
            "metric": names[cell["cell"]],
            "factors": loads(cell["factors"]),
            **fit(found[cell["cell"]]).document(),
        }
        for comparison in comparisons(bundle.campaign.get("plan") or {}, cells)
        for cell in comparison.cells
        if found.get(cell["cell"])
    ]
