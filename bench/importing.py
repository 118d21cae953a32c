"""The importer of the largest published archive (Mininet, 2 700 files), against 3 s of one
processor.

    python -m bench.importing [--archive 2020-10-23_10-47-36.tar.gz] [--pairs 8] [--times 1]

The whole verb as a user types it, start-up included, in a fresh process each time. The published
archive is not ours to ship: without one, logs of the same shape (90 conditions, 10 runs, 15 s) with
invented numbers are packed instead. CPU time, since that is what the importer can help; a busy
machine stretches the other.
"""

import argparse
import io
import itertools
import json
import random
import shutil
import tarfile
import tempfile
from pathlib import Path

from bench import command
from bench.ratio import against

LIMIT_S = 3.0
RUNS, SECONDS = 10, 15
SIZES = {"Array1k": 1_040, "PointCloud512k": 524_380}
"""Message type of the logs -> its size in bytes."""


def generate(archive: Path, runs: int = RUNS) -> int:
    """Pack `runs` runs of each of the original's 90 conditions, and return the number of files."""
    from tests.published.importers.logs import Second, text_2020

    draw = random.Random(1)
    modes = (
        ("rmw_fastrtps_cpp", "async"),
        ("rmw_fastrtps_cpp", "sync"),
        ("rmw_cyclonedds_cpp", "sync"),
    )
    conditions = itertools.product(modes, (54, 300, 1000), (0, 10, 20, 30, 40), SIZES)
    sent = text_2020([Second(30)] * SECONDS, publishers=1, subscribers=0)
    sent = sent.replace(",\t\t30,\t\t0,\t\t0", ",\t\t0,\t\t29,\t\t0")
    files = 0
    with tarfile.open(archive, "w:gz") as tar:
        for place, ((rmw, mode), bandwidth, loss, message) in enumerate(conditions):
            config = {
                "rmw_implementation": rmw,
                "async_pub": mode,
                "bandwidth": bandwidth,
                "loss": loss,
                "delay": 0,
                "message_rate": 30,
                "message_type": message,
                "reliability": "reliable",
                "durability": "volatile",
                "history_kind": "keep_last",
                "history_depth": 10,
            }
            for run in range(runs):
                received = text_2020([Second(draw.randint(20, 30)) for _ in range(SECONDS)])
                name_of_run = f"{place}-{run}"
                parts = {
                    "experiment_config.json": json.dumps(config),
                    "pub_log": _headed(sent, name_of_run, rmw, mode, message),
                    "sub_log": _headed(received, name_of_run, rmw, mode, message),
                }
                for name, text in parts.items():
                    data = text.encode()
                    info = tarfile.TarInfo(f"2020/cell{place:02}/run{run:02}/{name}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
                    files += 1
    return files


def _headed(log: str, run: str, rmw: str, mode: str, message: str) -> str:
    """Return the log with the head of its own run: the importer refuses one run under two names, and
    a log that contradicts its configuration."""
    changes = {
        "Experiment id: 0": f"Experiment id: {run}",
        "RMW Implementation: rmw_cyclonedds_cpp": f"RMW Implementation: {rmw}",
        "Topic name: Array1k": f"Topic name: {message}",
        "Sync. pub/sub: 0": f"Sync. pub/sub: {int(mode == 'sync')}",
    }
    for before, after in changes.items():
        log = log.replace(before, after, 1)
    return log


def timed(archive: Path, out: Path) -> dict[str, float]:
    """Import it once."""
    used = command.timed(
        ["published", "import", str(archive), "--out", str(out)], out.with_suffix(".pyc")
    )
    shutil.rmtree(out, ignore_errors=True)
    return used


def measure(archive: Path, files: int | None, directory: Path, pairs: int) -> dict:
    """Return the line. The first import is not counted, since it writes the bytecode of its modules."""
    timed(archive, directory / "bundle")
    return against(
        LIMIT_S,
        pairs,
        lambda: timed(archive, directory / "bundle"),
        "seconds",
        lambda runs: {"files": files, "peak_bytes": max(run["peak_bytes"] for run in runs)},
        bench="import",
        name=f"import of the Mininet archive / {LIMIT_S:g} s",
        message_bytes=SIZES["Array1k"],
        metric="cpu",
        unit="s",
        limit=(None, 1.0),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--archive", type=Path, help="the published one; made up without")
    parser.add_argument("--pairs", type=int, default=8, help="8 are the fewest with an interval")
    parser.add_argument("--times", type=int, default=1, help="a factor for the pairs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rmwbench-bench-") as temporary:
        archive, files = arguments.archive, None
        if archive is None:
            archive = Path(temporary) / "archive.tar.gz"
            files = generate(archive)
        result = measure(
            archive.resolve(), files, Path(temporary), arguments.pairs * arguments.times
        )
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
