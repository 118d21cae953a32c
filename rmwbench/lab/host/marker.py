"""The marker by which processes and directories of hosts are recognised, also after their
orchestrator died. A process has it as a variable in its environment.

The marker names the orchestrator by PID, start time and PID namespace, because a PID alone is soon
used again.
"""

import contextlib
import os
import secrets
import shutil
from pathlib import Path
from typing import NamedTuple

from rmwbench.lab.host import shared_files

VARIABLE = "RMWBENCH_HOST"
OWNER = "owner"
"""The file in a directory that contains the marker."""


class Marker(NamedTuple):
    """The owner of a host: `name` is for people, the rest identifies the orchestrator."""

    name: str
    pid: int
    started_ticks: int
    pid_namespace: str

    def text(self) -> str:
        return f"{self.pid}:{self.started_ticks}:{self.pid_namespace}:{self.name}"


def own_marker(name: str) -> Marker:
    return Marker(
        name, os.getpid(), started_ticks(os.getpid()) or 0, os.readlink("/proc/self/ns/pid")
    )


class Stray(NamedTuple):
    """A process of ours whose orchestrator is gone."""

    pid: int
    marker: Marker


def strays() -> list[Stray]:
    """The visible processes with a marker whose orchestrator no longer runs."""
    markers = {pid: _marker(pid) for pid in shared_files.processes()}
    return sorted(
        Stray(pid, marker)
        for pid, marker in markers.items()
        if marker is not None and _orchestrator_lives(marker) is False
    )


def is_stray(pid: int) -> bool:
    return _orchestrator_lives(_marker(pid)) is False


def lives(text: str) -> bool:
    """Whether the orchestrator of a marker's text still runs in this PID namespace."""
    return _orchestrator_lives(parse(text)) is True


def is_abandoned(text: str) -> bool:
    """Whether a marker was made in this PID namespace, by an orchestrator that is gone."""
    return _orchestrator_lives(parse(text)) is False


def _orchestrator_lives(marker: Marker | None) -> bool | None:
    """Whether the orchestrator still runs; None without a marker, and for another PID namespace."""
    if marker is None or marker.pid_namespace != os.readlink("/proc/self/ns/pid"):
        return None
    return started_ticks(marker.pid) == marker.started_ticks


def new_path(parent: Path, prefix: str) -> Path:
    """A path with a random name, which no other process has."""
    return parent / f"{prefix}{secrets.token_hex(8)}"


def make_directory(directory: Path, owner: str) -> None:
    """Makes a directory with its owner's marker. Raises OSError, and leaves nothing then."""
    directory.mkdir(mode=0o700)
    try:
        (directory / OWNER).write_text(owner)
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def abandoned_directories(parent: Path, pattern: str) -> list[Path]:
    """The directories of `make_directory` whose orchestrator is gone."""
    abandoned = []
    for directory in sorted(parent.glob(pattern)):
        with contextlib.suppress(OSError):
            if is_abandoned((directory / OWNER).read_text(errors="replace")):
                abandoned.append(directory)
    return abandoned


def environment_of(pid: int) -> list[bytes]:
    """The variables (`NAME=VALUE`) of a process; empty where it is gone or another user's."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _marker(pid: int) -> Marker | None:
    prefix = VARIABLE.encode() + b"="
    words = (word[len(prefix) :] for word in environment_of(pid) if word.startswith(prefix))
    return next(
        (marker for word in words if (marker := parse(word.decode(errors="replace")))), None
    )


def parse(text: str) -> Marker | None:
    """The marker in a text; None where the text is none."""
    try:
        pid, ticks, kind, inode, name = text.split(":", 4)
        return Marker(name, int(pid), int(ticks), f"{kind}:{inode}")
    except ValueError:
        return None


def started_ticks(pid: int) -> int | None:
    """The start time of a process in clock ticks (field 22 of /proc/PID/stat); None where the
    process is gone. The name in field 2 may contain any bytes, hence the split at the last
    parenthesis."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
    except OSError:
        return None
