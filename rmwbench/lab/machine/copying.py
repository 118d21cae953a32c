"""How fast one processor of this machine copies memory: what bounds every middleware that carries
large messages."""

import functools
import time
from math import floor, log10

BUFFER_BYTES = 64 << 20
"""Beyond the caches, as ten large messages of a history are together."""
LENGTH_S = 0.15


@functools.cache
def copy_bytes_per_s() -> float:
    """Bytes copied per second by one thread, the best of as many whole copies as fit into LENGTH_S,
    since a slower one was interrupted. To one significant digit, so that two plans of one day
    agree. Measured once per process."""
    import numpy as np

    source, target = np.ones(BUFFER_BYTES, dtype=np.uint8), np.empty(BUFFER_BYTES, dtype=np.uint8)
    np.copyto(target, source)  # its pages are there from now on
    best_s, end_s = float("inf"), time.perf_counter() + LENGTH_S
    while True:
        begin_s = time.perf_counter()
        np.copyto(target, source)
        now_s = time.perf_counter()
        best_s = min(best_s, now_s - begin_s)
        if now_s >= end_s:
            break
    exact = BUFFER_BYTES / best_s
    digit = 10 ** floor(log10(exact))
    return float(round(exact / digit) * digit)
