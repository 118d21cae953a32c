"""What ddsperf prints, as numbers. Read from the print statements of its source (Cyclone DDS
11.0.1), one line for each second and, of latencies, for each writer.

    [9] 2.001  size 320 total 2001 lost 0 delta 1000 lost 0 rate 1.00 kS/s 2.56 Mb/s (0.20 kS/s …)
    [9] 2.001  sublat vm:19 size 320 mean 64.0us min 35.3us 50% 59.2us 90% 85.9us … cnt 1002
    [9] 2.001  vm:19 size 12 mean 52.1us … cnt 3456           (round trips, halved by ddsperf)
"""

import re
from dataclasses import dataclass

_HEAD = r"^\[(?P<pid>\d+)\] (?P<time_s>\d+\.\d+) +"
_COUNT = re.compile(
    _HEAD + r"size (?P<size>\d+) total (?P<total>\d+) lost (?P<lost>\d+) delta (?P<delta>\d+) lost "
    r"(?P<delta_lost>\d+)"
    r" rate (?P<rate>[\d.]+) kS/s (?P<mbit>[\d.]+) Mb/s \((?P<rate10>[\d.]+) kS/s "
    r"(?P<mbit10>[\d.]+) Mb/s\)",
)
_LATENCY = re.compile(
    _HEAD + r"(?P<kind>sublat )?(?P<peer>\S+) size (?P<size>\d+) mean (?P<mean>[\d.]+)us min "
    r"(?P<min>-?[\d.]+)us"
    r" 50% (?P<p50>[\d.]+)us 90% (?P<p90>[\d.]+)us 99% (?P<p99>[\d.]+)us max (?P<max>[\d.]+)us cnt "
    r"(?P<count>\d+)",
)


@dataclass(frozen=True)
class Count:
    """A second of a subscriber. `time_s` is when it was printed, `lost` and `total` are since the
    start; rates are per second, `rate10_hz` and `mbit10_per_s` what it calls the average of ten
    seconds."""

    time_s: float
    size_bytes: int
    total: int
    lost: int
    delta: int
    delta_lost: int
    rate_hz: float
    mbit_per_s: float
    rate10_hz: float
    mbit10_per_s: float


@dataclass(frozen=True)
class Latency:
    """A second of one writer (`one_way`, stamp to take) or of one pong (half of a round trip), in
    ns."""

    time_s: float
    one_way: bool
    peer: str
    count: int
    mean_ns: float
    min_ns: float
    p50_ns: float
    p90_ns: float
    p99_ns: float
    max_ns: float


def counts(text: str) -> list[Count]:
    return [
        Count(
            time_s=float(found["time_s"]),
            size_bytes=int(found["size"]),
            total=int(found["total"]),
            lost=int(found["lost"]),
            delta=int(found["delta"]),
            delta_lost=int(found["delta_lost"]),
            rate_hz=float(found["rate"]) * 1e3,
            mbit_per_s=float(found["mbit"]),
            rate10_hz=float(found["rate10"]) * 1e3,
            mbit10_per_s=float(found["mbit10"]),
        )
        for line in text.splitlines()
        if (found := _COUNT.match(line))
    ]


def latencies(text: str) -> list[Latency]:
    return [
        Latency(
            time_s=float(found["time_s"]),
            one_way=found["kind"] is not None,
            peer=found["peer"],
            count=int(found["count"]),
            **{
                f"{name}_ns": float(found[name]) * 1e3
                for name in ("mean", "min", "p50", "p90", "p99", "max")
            },
        )
        for line in text.splitlines()
        if (found := _LATENCY.match(line))
    ]
