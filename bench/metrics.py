"""Bundle -> metrics against a DuckDB full scan of the same Parquet, in interleaved pairs of fresh
processes.

    python -m bench.metrics [--messages 10000000] [--pairs 8] [--times 1]

The scan reads every column of every row (a sum per column), which is the least that any analysis of
all records could do. Ours reads what the metrics need and computes all of them, for one trial that
holds every message. Prints two lines (docs/benchmarks.md): the ratio of the times, and peak memory
against 2 GB.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from bench import command
from bench.ratio import line, until_decided

PERIOD_NS, WARMUP_NS = 1_000, 1_000_000
LIMIT_RATIO, LIMIT_BYTES = 13.0, 2_000_000_000
MESSAGE_BYTES = 64


def generate(directory: Path, messages: int) -> None:
    """One trial of `messages` messages at 1 MHz: log-normal latency, 0.1 % lost, some reordered and
    duplicated, a few failed publishes.
    """
    from rmwbench.bundle import BundleWriter
    from rmwbench.bundle.journal import TrialEnded
    from rmwbench.bundle.schema import table_from_columns, table_from_rows

    rng = np.random.default_rng(1)
    begin = 10_000_000_000
    intended = begin + np.arange(messages, dtype=np.int64) * PERIOD_NS
    call = intended + rng.integers(100, 400, messages)
    taken = call + np.exp(9.5 + 0.4 * rng.standard_normal(messages)).astype(np.int64)
    flags = np.where(intended < begin + WARMUP_NS, 4, 0).astype(np.uint32)
    failed = rng.random(messages) < 1e-5
    got = np.flatnonzero((rng.random(messages) > 1e-3) & ~failed)
    got = np.concatenate([got, got[::100_003]])
    got = got[np.argsort(taken[got], kind="stable")]
    end = int(intended[-1]) + PERIOD_NS
    sent = table_from_columns(
        "sent",
        {
            "trial": 0,
            "endpoint": 1,
            "seq": np.arange(messages, dtype=np.uint64),
            "intended_ns": intended,
            "begun_ns": intended + rng.integers(20, 90, messages),
            "call_ns": call,
            "return_ns": call + rng.integers(200, 900, messages),
            "bytes": MESSAGE_BYTES,
            "flags": flags | failed.astype(np.uint32),
        },
    )
    received = table_from_columns(
        "received",
        {
            "trial": 0,
            "endpoint": 2,
            "writer": 1,
            "seq": got.astype(np.uint64),
            "notified_ns": taken[got] - rng.integers(100, 500, len(got)),
            "taken_ns": taken[got],
            "callback_ns": taken[got] + rng.integers(20, 60, len(got)),
            "consumed_ns": taken[got] + rng.integers(70, 200, len(got)),
            "intended_ns": intended[got],
            "bytes": MESSAGE_BYTES,
            "flags": flags[got],
        },
    )
    trial = {
        "trial": 0,
        "cell": 0,
        "block": 0,
        "position": 0,
        "status": "done",
        "steady_begin_ns": begin + WARMUP_NS,
        "steady_end_ns": end,
        "duration_ns": end - begin,
    }
    endpoints = [
        {"trial": 0, "endpoint": e, "kind": k, "topic": "t", "process": k, "host": "local"}
        for e, k in ((1, "publisher"), (2, "subscription"))
    ]
    cell = {
        "cell": 0,
        "workload": "bench",
        "arm": "bench",
        "middleware": "bench",
        "layer": "native",
        "version": "0",
        "profile": "-",
        "factors": "{}",
        "definition": "{}",
    }
    with BundleWriter.create(directory, {"campaign": "bench"}) as writer:
        writer.write_whole_campaign({"cells": table_from_rows("cells", [cell])})
        tables = {
            "trials": table_from_rows("trials", [trial]),
            "endpoints": table_from_rows("endpoints", endpoints),
            "sent": sent,
            "received": received,
        }
        writer.finish_trial(
            TrialEnded(trial=0, cell=0, block=0, status="done", reason=None, finished_utc=""),
            tables,
        )


SCAN = """
import sys, time
from rmwbench.bundle import Bundle
from rmwbench.bundle.sql import connect
from rmwbench.bundle.schema import TABLES
connection = connect(Bundle(sys.argv[1]))
begin = time.perf_counter()
for name in ("sent", "received"):
    connection.execute("select " + ", ".join(f"sum({c})" for c in TABLES[name].names) + f" from {name}").fetchall()
elapsed = time.perf_counter() - begin
"""

METRICS = """
import sys, time
import rmwbench.results.show_document as summary
from rmwbench.bundle import Bundle
begin = time.perf_counter()
summary.summarise(Bundle(sys.argv[1]))
elapsed = time.perf_counter() - begin
"""

REPORT = """
import json, re
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
print(json.dumps({"seconds": elapsed, "peak_bytes": peak}))
"""


def timed(code: str, directory: Path) -> dict[str, float]:
    """Run the code in a fresh process; return the seconds of its work without imports, and the peak
    resident memory of the process."""
    program = [sys.executable, "-c", code + REPORT, str(directory)]
    done = subprocess.run(program, cwd=command.ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=10_000_000)
    parser.add_argument("--pairs", type=int, default=8, help="8 are the fewest with an interval")
    parser.add_argument("--times", type=int, default=1, help="a factor for the pairs")
    parser.add_argument(
        "--keep", type=Path, help="use this bundle, made there on first use, and keep it"
    )
    parser.add_argument("--generate", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.generate:
        generate(arguments.generate, arguments.messages)
        return
    options = ("--messages", str(arguments.messages))
    with command.bundle(arguments.keep, "bench.metrics", *options) as directory:
        for result in compare(directory, arguments.messages, arguments.pairs * arguments.times):
            print(json.dumps(result), flush=True)


def compare(directory: Path, messages: int, pairs: int) -> list[dict]:
    """Two lines: time and peak memory."""
    scans, ours = [], []

    def pair(number: int) -> str:
        order = (SCAN, METRICS) if number % 2 == 0 else (METRICS, SCAN)
        results = {code: timed(code, directory) for code in order}
        scans.append(results[SCAN])
        ours.append(results[METRICS])
        return f"scan {scans[-1]['seconds']:.2f} s, metrics {ours[-1]['seconds']:.2f} s"

    return until_decided(pairs, pair, lambda: _lines(directory, messages, scans, ours))


def _lines(directory: Path, messages: int, scans: list[dict], ours: list[dict]) -> list[dict]:
    about = {"bench": "metrics", "message_bytes": MESSAGE_BYTES}
    size = sum(path.stat().st_size for path in directory.rglob("*.parquet"))
    return [
        line(
            **about,
            name=f"metrics of {messages} messages / DuckDB scan",
            metric="time",
            unit="s",
            limit=(None, LIMIT_RATIO),
            ours=[run["seconds"] for run in ours],
            theirs=[run["seconds"] for run in scans],
            details={"messages": messages, "parquet_bytes": size},
        ),
        line(
            **about,
            name=f"metrics of {messages} messages / 2 GB",
            metric="peak_memory",
            unit="bytes",
            limit=(None, 1.0),
            ours=[run["peak_bytes"] for run in ours],
            theirs=[float(LIMIT_BYTES)] * len(ours),
            details={
                "messages": messages,
                "scan_peak_bytes": max(run["peak_bytes"] for run in scans),
            },
        ),
    ]


if __name__ == "__main__":
    main()
