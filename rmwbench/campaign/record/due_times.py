"""The due times of a schedule's messages, for the ledger of messages that were never sent.

A worker reports the number of messages that it could not send; their rows need the due times of the
schedule. The arrivals of docs/formats/worker-protocol.md are computed here a second time; Poisson
draws come from SplitMix64, which is exact in integers.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

_MASK = (1 << 64) - 1


def due_offsets_ns(arrival: Mapping[str, Any]) -> Iterator[int]:
    """Yield the offsets from the start in ns, ascending, for a protocol `arrival`; none for a relay
    and for saturation, which have no schedule."""
    match arrival["kind"]:
        case "periodic":
            for k in itertools.count():
                yield arrival.get("phase_ns", 0) + k * arrival["period_ns"]
        case "burst":
            for k in itertools.count():
                yield arrival.get("phase_ns", 0) + k // arrival["count"] * arrival["period_ns"]
        case "trace":
            yield from arrival["offsets_ns"]
        case "poisson":
            mean_ns, due_ns = 1e9 / arrival["rate_hz"], 0.0
            for uniform in _uniform(arrival["seed"]):
                due_ns -= math.log(uniform) * mean_ns
                yield int(due_ns)


def _uniform(seed: int) -> Iterator[float]:
    """Yield SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) as numbers in (0, 1]."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        yield (((z ^ (z >> 31)) >> 11) + 1) / (1 << 53)


def scheduled_messages(arrival: Mapping[str, Any], length_ns: int) -> int:
    """Return the number of messages in a schedule of that length; 0 for a relay and for
    saturation."""
    return sum(
        1 for _ in itertools.takewhile(lambda offset: offset < length_ns, due_offsets_ns(arrival))
    )


def never_sent_due_ns(
    arrival: Mapping[str, Any], start_ns: int, attempted: int, never_sent: int
) -> list[int]:
    """Return the due times of `never_sent` messages after the first `attempted`; fewer if the
    schedule has no more."""
    offsets = itertools.islice(due_offsets_ns(arrival), attempted, attempted + never_sent)
    return [start_ns + offset for offset in offsets]
