"""How a host's init process is recognised as ours, also after its orchestrator died: by a word in
its environment.

The marker names the orchestrator by PID, start time and PID namespace, because a PID alone is soon
somebody else's.
"""

import os
from pathlib import Path
from typing import NamedTuple

VARIABLE = "RMWBENCH_HOST"


class Marker(NamedTuple):
    """Whose host it is: `name` for people, the rest identifies the orchestrator's process."""

    name: str
    pid: int
    started_ticks: int
    pid_namespace: str

    def text(self) -> str:
        return f"{self.pid}:{self.started_ticks}:{self.pid_namespace}:{self.name}"


def of_this_process(name: str) -> Marker:
    return Marker(
        name, os.getpid(), _started_ticks(os.getpid()) or 0, os.readlink("/proc/self/ns/pid")
    )


class Stray(NamedTuple):
    """A process of ours whose orchestrator is gone."""

    pid: int
    marker: Marker


def strays() -> list[Stray]:
    """Processes that carry our marker, in this PID namespace, whose orchestrator no longer runs.
    Other users' are not visible."""
    here = os.readlink("/proc/self/ns/pid")
    found = []
    for entry in Path("/proc").iterdir():
        if (
            entry.name.isdigit()
            and (marker := _marker(entry))
            and marker.pid_namespace == here
            and not _lives(marker)
        ):
            found.append(Stray(int(entry.name), marker))
    return sorted(found)


def lives(text: str) -> bool:
    """Whether the orchestrator that a marker's text names still runs, seen from this PID
    namespace."""
    marker = parsed(text)
    return (
        marker is not None
        and marker.pid_namespace == os.readlink("/proc/self/ns/pid")
        and _lives(marker)
    )


def carriers(text: str) -> list[int]:
    """PIDs of processes with exactly this marker; other users' are not visible."""
    wanted = parsed(text)
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _marker(entry) == wanted
    ]


def is_abandoned(text: str) -> bool:
    """Whether a marker was made in this PID namespace, by an orchestrator that is gone; of another
    one's nothing can be said."""
    marker = parsed(text)
    return (
        marker is not None
        and marker.pid_namespace == os.readlink("/proc/self/ns/pid")
        and not _lives(marker)
    )


def _marker(process: Path) -> Marker | None:
    try:
        environment = (process / "environ").read_bytes()
    except OSError:
        return None
    prefix = VARIABLE.encode() + b"="
    words = (word[len(prefix) :] for word in environment.split(b"\0") if word.startswith(prefix))
    return next(
        (marker for word in words if (marker := parsed(word.decode(errors="replace")))), None
    )


def parsed(text: str) -> Marker | None:
    """None where it is not a marker."""
    try:
        pid, ticks, kind, inode, name = text.split(":", 4)
        return Marker(name, int(pid), int(ticks), f"{kind}:{inode}")
    except ValueError:
        return None


def _lives(marker: Marker) -> bool:
    return _started_ticks(marker.pid) == marker.started_ticks


def _started_ticks(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat; the name in field 2 may hold spaces and parentheses, hence the
    split at the last one."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return None
