"""The bench programs: what each is built from and called with. Each prints one JSON line per ratio,
and its progress and complaints on stderr."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.ratio import KEYS
from rmwbench.lab.middleware import workspace

ROOT = Path(__file__).resolve().parents[1]
DEADLINE_S = 3600.0
"""The longest time of a program with its default number of pairs: four looks at lines that stay
open."""


@dataclass(frozen=True)
class Program:
    """`crates` are built in this order; the last one is the program, unless `arguments` name a module
    (`-m`) for this Python. Each program also has the option `--times N`."""

    name: str
    crates: tuple[str, ...]
    arguments: tuple[str, ...]
    about: str


PROGRAMS = {
    program.name: program
    for program in (
        Program(
            "floor",
            ("rmwbench-bench-floor",),
            (),
            "record path, floor against bare ping-pong, open loop",
        ),
        Program(
            "iceoryx2", ("rmwbench-bench-iceoryx2",), (), "worker's path against a bare program"
        ),
        Program("zenoh", ("rmwbench-bench-zenoh",), (), "worker's path against a bare program"),
        Program(
            "cyclonedds",
            ("rmwbench-bench-cyclonedds",),
            ("bare",),
            "worker's path against a bare program",
        ),
        Program(
            "ddsperf",
            ("rmwbench-cyclonedds", "rmwbench-bench-cyclonedds"),
            ("ddsperf",),
            "Cyclone worker against Cyclone's own benchmark",
        ),
        Program("fastdds", ("rmwbench-bench-fastdds",), (), "worker's path against a bare program"),
        Program(
            "sampler",
            ("rmwbench-sampler",),
            ("-m", "bench.sampler"),
            "the sampler's CPU time within a window",
        ),
        Program(
            "metrics",
            (),
            ("-m", "bench.metrics"),
            "metrics of 10 million messages against a DuckDB scan",
        ),
        Program(
            "campaign", (), ("-m", "bench.campaign"), "statistics of a campaign of 5 040 trials"
        ),
        Program("import", (), ("-m", "bench.importing"), "import of an archive of 2 700 logs"),
        Program("verbs", (), ("-m", "bench.verbs"), "help, show, report and claims"),
    )
}


class Crashed(Exception):
    """A program could not be built, ended with an error, or printed something that is not a
    line."""


def build(program: Program) -> list[str]:
    """Build it where the workers are built, and return the command that runs it. Raises Crashed."""
    environment = workspace.cargo_environment() if program.crates else {}
    for crate in program.crates:
        command = ["cargo", "build", "--quiet", "--release", "--locked", "-p", crate]
        # stdout is for results
        compiler = subprocess.run(
            command,
            cwd=workspace.root(),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
        )
        if compiler.returncode:
            raise Crashed(f"`{' '.join(command)}` ended with status {compiler.returncode}")
    if program.arguments[:1] == ("-m",):
        return [sys.executable, *program.arguments]
    executable = Path(environment["CARGO_TARGET_DIR"]) / "release" / program.crates[-1]
    return [str(executable), *program.arguments]


def run(command: list[str], on_line: Callable[[dict[str, Any]], None], deadline_s: float) -> None:
    """Hand every line over as it comes. Raises Crashed, after the lines that came before."""
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    late = threading.Event()

    def expire() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(deadline_s, expire)
    timer.start()
    try:
        for text in process.stdout:
            on_line(_parsed(text))
        code = process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.wait()
    if late.is_set():
        raise Crashed(f"not done within {deadline_s:g} s")
    if code:
        raise Crashed(f"killed by signal {-code}" if code < 0 else f"ended with status {code}")


def _parsed(text: str) -> dict[str, Any]:
    try:
        line = json.loads(text)
    except ValueError:
        raise Crashed(f"printed something that is not a JSON line: {text.strip()[:200]}") from None
    missing = [key for key in KEYS if not isinstance(line, dict) or key not in line]
    if missing:
        raise Crashed(f"printed a line without {', '.join(missing)}: {text.strip()[:200]}")
    return line
