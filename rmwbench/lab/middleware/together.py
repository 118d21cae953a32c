"""Compiles several workers by one cargo, so that every processor has work all the time.

It makes the same files as `cargo build -p` of each: the crate `unified` sees to that.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rmwbench.lab.middleware.catalogue import CORES

PROGRAMS = ("bin", "cdylib")
"""Kinds of targets that are a worker; the others are on the way to one."""


@dataclass(frozen=True)
class Program:
    """What is built of a crate."""

    name: str
    crate: str
    minutes: float
    """From nothing and alone, on two processors; 0 where it is there already."""


def build(
    programs: Sequence[Program],
    root: Path,
    environment: Mapping[str, str],
    announce: Callable[[str], None],
) -> dict[str, float]:
    """Crate → seconds until it was built; one that could not be built is absent. Cargo's own
    progress and its errors go to the terminal."""
    crates = {program.crate: program.name for program in programs}
    command = ["cargo", "build", "--release", "--locked", "--keep-going"]
    command += ["--message-format", "json-render-diagnostics"]
    command += [word for crate in crates for word in ("-p", crate)]
    said_s = 60 * expected_minutes([program.minutes for program in programs])
    begun = time.monotonic()
    announce(f"building {', '.join(crates.values())}{_left(said_s)}")
    seconds: dict[str, float] = {}
    with subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as cargo:
        assert cargo.stdout is not None
        for line in cargo.stdout:
            crate = finished(line)
            if crate not in crates or crate in seconds:
                continue
            seconds[crate] = time.monotonic() - begun
            left = _left(said_s - seconds[crate]) if len(seconds) < len(crates) else ""
            announce(f"[{len(seconds)}/{len(crates)}] {crates[crate]} is built{left}")
    return seconds


SHARE = 0.8
"""What all together take of the sum of what each takes alone: 7.5 of 9.7 minutes for the first set,
on two virtual processors with nothing else running (2026-11-25)."""


def expected_minutes(alone: Sequence[float]) -> float:
    """Of all together, where each takes so long alone on `CORES` processors."""
    processors = min(os.cpu_count() or CORES, 4 * CORES)
    return max(SHARE * sum(alone), max(alone, default=0.0)) * CORES / processors


def finished(line: str) -> str | None:
    """The crate whose worker a line of `cargo --message-format json` says is there."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    if not isinstance(message, dict) or message.get("reason") != "compiler-artifact":
        return None
    kinds = message.get("target", {}).get("kind", ())
    if not set(kinds) & set(PROGRAMS):
        return None
    # path+file:///…/native/link#rmwbench-link@0.1.0
    return str(message.get("package_id", "")).rpartition("#")[2].partition("@")[0]


def _left(seconds: float) -> str:
    return f"; about {seconds / 60:.0f} min left" if seconds >= 60 else ""
