"""Statistics of a large campaign: 504 cells, 10 blocks, about 300 messages per trial, from the
bundle to every verdict.

    python -m bench.campaign [--levels 63] [--pairs 8] [--times 1] [--keep DIR]

The time depends on the number of trials and not of messages, so it is divided by the promise itself,
10 s, and not by that of a scan. Each run is a process of its own, and its imports are not counted.
Prints one line (docs/benchmarks.md).
"""

import argparse
import json
import os
from pathlib import Path

from bench import command
from bench.metrics import METRICS, timed
from bench.ratio import against

LIMIT_S = 10.0
BLOCKS, ARMS = 10, 8
WORKLOAD = {
    "title": "bench",
    "description": "about 300 messages per trial",
    "type": "PointCloud512k",
    "payload_bytes": 524_288,
    "rate_hz": 145.0,
    "steady_s": 2.1,
}


def generate(directory: Path, levels: int) -> None:
    """Write the tests' synthetic campaign with `levels` comparisons of eight arms, merged as at the
    end of a real one."""
    from rmwbench.bundle import BundleWriter
    from tests.support import synthetic_bundle

    os.fsync = lambda _: None  # 45 000 files; that they survive a power cut is not what is timed
    synthetic_bundle.WORKLOADS["bench"] = WORKLOAD
    synthetic_bundle.write(directory, blocks=BLOCKS, workloads=("bench",), levels=levels)
    with BundleWriter.reopen(directory) as writer:
        writer.merge()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--levels", type=int, default=63, help="comparisons of eight cells each")
    parser.add_argument("--pairs", type=int, default=8, help="8 are the fewest with an interval")
    parser.add_argument("--times", type=int, default=1, help="a factor for the pairs")
    parser.add_argument(
        "--keep", type=Path, help="use this bundle, made there on first use, and keep it"
    )
    parser.add_argument("--generate", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.generate:
        generate(arguments.generate, arguments.levels)
        return
    options = ("--levels", str(arguments.levels))
    with command.bundle(arguments.keep, "bench.campaign", *options) as directory:
        result = measure(directory, arguments.levels, arguments.pairs * arguments.times)
        print(json.dumps(result), flush=True)


def measure(directory: Path, levels: int, pairs: int) -> dict:
    cells = levels * ARMS
    return against(
        LIMIT_S,
        pairs,
        lambda: timed(METRICS, directory),
        "seconds",
        lambda runs: {
            "trials": cells * BLOCKS,
            "peak_bytes": max(run["peak_bytes"] for run in runs),
        },
        bench="campaign",
        name=f"statistics of {cells} cells, {BLOCKS} blocks / {LIMIT_S:g} s",
        message_bytes=WORKLOAD["payload_bytes"],
        metric="time",
        unit="s",
        limit=(None, 1.0),
    )


if __name__ == "__main__":
    main()
