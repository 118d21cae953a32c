"""How a cost grows with the number of nodes: the exponent k of cost ∝ nodes^k, per arm.

Each block has a trial of every size, so each block gives a slope of its own (least squares of log
cost on log nodes), and the interval is over the slopes of the blocks (Student's t). k = 1: every
further node costs the same. k = 2: every node pays for every other. Three sizes are the fewest: two
points always lie on a line. All sizes have the same number of processes, or of nodes in each:
otherwise costs per process, or per pair of processes, would bend the line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rmwbench.analysis.stats import intervals

FEWEST_SIZES, FEWEST_BLOCKS = 3, 3
LEAST_LINEAR, MOST_LINEAR, MOST_SQUARE = 0.5, 1.5, 2.5
"""A cost grows about as the number of nodes if its whole interval lies above halfway to a constant
and below halfway to the square; it grows as the square if the interval ends halfway to the cube."""


@dataclass(frozen=True)
class Growth:
    """`exponent` with its 95 % interval from `blocks` blocks over `sizes` (numbers of nodes)."""

    exponent: float
    low: float
    high: float
    blocks: int
    sizes: tuple[int, ...]


def growth(values: Mapping[int, Mapping[int, float]]) -> Growth | None:
    """The growth of a cost; `values`: number of nodes -> block -> the value of a trial, positive.
    None where fewer than three sizes have data, where fewer than three blocks have all sizes, or
    where a value is 0 or infinite."""
    sizes = tuple(sorted(n for n, blocks_of_size in values.items() if blocks_of_size))
    if len(sizes) < FEWEST_SIZES:
        return None
    blocks = sorted(set.intersection(*(set(values[n]) for n in sizes)))
    table = np.array([[values[n][b] for n in sizes] for b in blocks], float).reshape(
        len(blocks), len(sizes)
    )
    if len(blocks) < FEWEST_BLOCKS or not np.isfinite(table).all() or (table <= 0).any():
        return None
    slopes = np.polyfit(np.log(sizes), np.log(table).T, 1)[0]
    value, low, high = intervals.plain_t(slopes)
    return Growth(value, low, high, len(blocks), sizes)


def words(line: Growth) -> str:
    """The meaning of the exponent, no stronger than its interval allows."""
    if line.high < 0:
        return "falls as the number of nodes grows"
    if line.high < 0.2:
        return "hardly grows with the number of nodes"
    if line.low > 2.05:
        return "grows faster than the square of the number of nodes"
    if line.low > MOST_LINEAR and line.high <= MOST_SQUARE:
        return "grows with the square of the number of nodes, or nearly"
    if line.low > 1.05:
        return "grows faster than the number of nodes"
    if line.high < 0.95:
        slowly = "grows more slowly than the number of nodes"
        return slowly if line.low > 0 else f"{slowly}, if at all"
    if line.low >= LEAST_LINEAR and line.high <= MOST_LINEAR:
        return "grows about with the number of nodes"
    return "how it grows with the number of nodes is not decided"


def sizes_of(names: Sequence[str], graphs: Mapping[str, tuple[int, int] | None]) -> dict[str, int]:
    """Workload -> its number of nodes, for the largest group of workloads with as many processes,
    or with as many nodes in each process. Workloads whose graph (nodes, processes) is not known are
    left out; of two with the same number of nodes the first counts."""
    groups: dict[tuple[str, float], dict[str, int]] = {}
    for name in names:
        if (graph := graphs.get(name)) is None:
            continue
        nodes, processes = graph
        for alike in (("processes", processes), ("nodes in each", nodes / processes)):
            sizes = groups.setdefault(alike, {})
            if nodes not in sizes.values():
                sizes[name] = nodes
    return max(groups.values(), key=len, default={})
