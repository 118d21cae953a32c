"""Control groups of our own, to count a process's time apart; removed afterwards, also those of
dead orchestrators.

Only for counting: the group is made where no CPU controller acts (version 2 without the controller,
or version 1's `cpuacct`), since a group that schedules would change the load's fair share against
the workers'.
"""

import contextlib
import os
import time
from pathlib import Path

from rmwbench.lab.host import marker
from rmwbench.lab.kernel_files import CONTROL_GROUPS, own_groups

PREFIX = "rmwbench-"
_CONTROLLER = "cpuacct"
_ROOTS = (CONTROL_GROUPS / "unified", CONTROL_GROUPS, CONTROL_GROUPS / _CONTROLLER)
REMOVE_TIMEOUT_S = 1.0


class ControlGroup:
    """One group. Raises OSError where none can be made."""

    def __init__(self, name: str):
        # A slash separates groups, and the marker carries none but in the campaign's name.
        word = PREFIX + marker.of_this_process(name).text().replace("/", "+")
        self.path = _parent() / word
        self.path.mkdir()

    def add(self, pid: int) -> None:
        """Moves a process, all its threads with it. Raises OSError."""
        (self.path / "cgroup.procs").write_text(str(pid))

    def cpu_ns(self) -> int | None:
        """The processor time of all processes that ever were in it."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.path / "cpuacct.usage").read_text())
        with contextlib.suppress(OSError, ValueError):
            words = (self.path / "cpu.stat").read_text().split()
            return int(words[words.index("usage_usec") + 1]) * 1000
        return None

    def close(self) -> None:
        """Removes it; its processes must have ended. A group that stays is removed by
        `remove_stale` later."""
        deadline = time.monotonic() + REMOVE_TIMEOUT_S
        while True:
            try:
                self.path.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.005)


def stale() -> list[Path]:
    """Groups whose orchestrator is gone. Those of another PID namespace are left out."""
    return [
        path
        for parent in _parents()
        for path in sorted(parent.glob(PREFIX + "*"))
        if marker.is_abandoned(path.name.removeprefix(PREFIX).replace("+", "/"))
    ]


def remove_stale() -> list[Path]:
    """Removes the stale groups; returns those that are gone now."""
    removed = []
    for path in stale():
        with contextlib.suppress(OSError):
            path.rmdir()
            removed.append(path)
    return removed


def _parent() -> Path:
    """The first of `_parents` in which we may make a group."""
    reason: OSError | None = None
    for parent in _parents():
        if not (parent / "cgroup.procs").exists():
            continue
        if os.access(parent, os.W_OK):
            return parent
        reason = PermissionError(13, f"{parent} is not ours to write to")
    raise reason or FileNotFoundError(2, "no control groups are mounted")


def _parents() -> list[Path]:
    """Our own group in each hierarchy, or the hierarchy's root where our group is not below it."""
    groups = own_groups(_CONTROLLER)
    return [groups[root] if groups[root].is_dir() else root for root in _ROOTS if root in groups]
