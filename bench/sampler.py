"""What the sampler takes from the window of a trial: a series at 10 Hz of 20 processes in a host of
their own.

    python -m bench.sampler [--runs 8] [--seconds 5] [--times 1]

Its CPU time between the edges of the window, per second, divided by what is promised: 0.2 % of a
core. A second line is for comparison: what a trial's sampler takes without a series, with the
canary that wakes 100 times a second. Prints two lines (docs/benchmarks.md).
"""

import argparse
import contextlib
import json
import time
from functools import partial
from pathlib import Path

from bench.ratio import against
from rmwbench.lab.host import Host
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.sampling.sampler import Sampler
from rmwbench.suite.timeline import Sampling

PROCESSES, RATE_HZ = 20, 10.0
LIMIT_CORES = 0.002
LEAD_NS = 300_000_000
TIMEOUT_S = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=8, help="8 are the fewest with an interval")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of a window")
    parser.add_argument("--times", type=int, default=1, help="a factor for the runs")
    arguments = parser.parse_args()
    series = Sampling(series_hz=RATE_HZ)
    promises = (
        (
            f"sampler, {RATE_HZ:g} Hz for {PROCESSES} processes / 0.2 % of a core",
            series,
            0,
            (None, 1.0),
        ),
        ("sampler, edges and canary / 0.2 % of a core", Sampling(), None, None),
    )
    runs = arguments.runs * arguments.times
    for name, sampling, canary_ns, limit in promises:
        result = against(
            LIMIT_CORES,
            runs,
            partial(measure, sampling, arguments.seconds, canary_ns),
            "cores",
            lambda windows: {
                "edge_ns": max(window["edge_ns"] for window in windows),
                "processes": PROCESSES,
            },
            bench="sampler",
            name=name,
            message_bytes=0,
            metric="cpu",
            unit="cores",
            limit=limit,
        )
        print(json.dumps(result), flush=True)


def measure(sampling: Sampling, seconds: float, canary_ns: int | None) -> dict[str, float]:
    """One window: `cores` between its edges, and how long the slower of the two edges took to
    read."""
    with Host("bench-sampler") as host, TrialProcesses(host) as processes:
        host.wait_ready()
        for number in range(PROCESSES):
            host.spawn(f"p{number}", Path("/bin/sleep"), ["600"], {}, {})
        pids = [host.receive(TIMEOUT_S).inner_pid for _ in range(PROCESSES)]
        with contextlib.closing(Sampler(processes)) as sampler:
            sampler.spawn()
            sampler.watch([(f"p{number}", pid, "worker") for number, pid in enumerate(pids)])
            begin_ns = time.monotonic_ns() + LEAD_NS
            end_ns = begin_ns + round(seconds * 1e9)
            sampler.start(
                sampling,
                begin_ns,
                end_ns,
                **({} if canary_ns is None else {"canary_ns": canary_ns}),
            )
            sampler.ask()
            sampler.read(seconds + TIMEOUT_S)
            if sampler.document is None:
                raise SystemExit(sampler.problem)
            edges = sampler.document["snapshots"]
            window_ns = edges[1]["time_ns"] - edges[0]["time_ns"]
            cores = sampler.document["own"]["window_cpu_ns"] / window_ns
            return {"cores": cores, "edge_ns": max(edge["took_ns"] for edge in edges)}


if __name__ == "__main__":
    main()
