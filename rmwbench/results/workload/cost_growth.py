"""How discovery grows with the number of nodes: a line per arm and cost, for graphs of several
sizes."""

from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.analysis.metrics.glossary import Use, names_for
from rmwbench.analysis.stats.growth import growth, sizes_of, words
from rmwbench.results.show_model import CostGrowth
from rmwbench.results.workload.workload_arm import ArmReport


def graph_of(definition: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return how many nodes a cell brings up, or has at its start, and in how many processes; None
    if some join late, since the graph is never complete at one time then."""
    managed = definition.get("bring_up")
    if managed is None and any(
        endpoint.get("joins_s") is not None for endpoint in definition.get("endpoints") or ()
    ):
        return None
    processes = [process.get("nodes") or () for process in definition.get("processes") or ()]
    if managed is not None:  # without the manager itself
        processes = [set(nodes) & set(managed["nodes"]) for nodes in processes]
    counts = [len(nodes) for nodes in processes if nodes]
    return (sum(counts), len(counts)) if counts else None


def growths(arms: Mapping[str, Sequence[ArmReport]]) -> tuple[CostGrowth, ...]:
    """Return `growth` of the show document. `arms`: comparison -> its arms."""
    graphs = {name: graph_of(of[0].definition) for name, of in arms.items() if of}
    sizes = sizes_of(list(arms), graphs)
    out = []
    for name in dict.fromkeys(arm.name for workload in sizes for arm in arms[workload]):
        of_arm = {
            n: arm for workload, n in sizes.items() for arm in arms[workload] if arm.name == name
        }
        for metric in names_for(Use.GROWTH):
            fit = growth(
                {n: {t.block: v for t, v in arm.values[metric]} for n, arm in of_arm.items()}
            )
            if fit is None:
                continue
            out.append(
                CostGrowth(
                    arm=name,
                    metric=metric,
                    exponent=round(fit.exponent, 3),
                    low=round(fit.low, 3),
                    high=round(fit.high, 3),
                    blocks=fit.blocks,
                    nodes=tuple(fit.sizes),
                    text=words(fit),
                )
            )
    return tuple(out)
