"""What pieces of work take on several machines."""

import heapq
from collections.abc import Iterable, Sequence


def spread_s(parts_s: Iterable[float], machines: int, busy_s: Sequence[float] = ()) -> float:
    """Until all parts have run, in order, each on the machine that is free first; `busy_s` is what
    those machines still need that run something now."""
    free = [*busy_s, *[0.0] * (machines - len(busy_s))]
    heapq.heapify(free)
    for part_s in parts_s:
        heapq.heappush(free, heapq.heappop(free) + part_s)
    return max(free, default=0.0)
