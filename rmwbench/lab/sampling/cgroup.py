"""Makes control groups, which count the CPU time of single processes, and removes them, also those
of dead orchestrators.

The groups only count: they are made where no CPU controller acts (version 2 without the controller,
or version 1's `cpuacct`), since a group that schedules would change the share of the load against
that of the workers.
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
    """A control group of ours."""

    def __init__(self, name: str):
        """Makes the group. Raises OSError where that is impossible."""
        # A slash separates groups; the marker has slashes only in the campaign's name.
        word = PREFIX + marker.own_marker(name).text().replace("/", "+")
        self.path = _parent() / word
        self.path.mkdir()

    def add(self, pid: int) -> None:
        """Moves a process with all its threads into the group. Raises OSError."""
        (self.path / "cgroup.procs").write_text(str(pid))

    def cpu_ns(self) -> int | None:
        """The CPU time of all processes that were ever in the group; None where it is unknown."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.path / "cpuacct.usage").read_text())
        with contextlib.suppress(OSError, ValueError):
            words = (self.path / "cpu.stat").read_text().split()
            return int(words[words.index("usage_usec") + 1]) * 1000
        return None

    def close(self) -> None:
        """Removes the group, whose processes must have ended, at once or as a stale group later."""
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


def stale_groups() -> list[Path]:
    """The groups whose orchestrator is gone, without those of other PID namespaces."""
    return [
        path
        for parent in _parents()
        for path in sorted(parent.glob(PREFIX + "*"))
        if marker.is_abandoned(path.name.removeprefix(PREFIX).replace("+", "/"))
    ]


def remove_stale_groups() -> list[Path]:
    """Removes the stale groups. Returns those that could be removed."""
    removed = []
    for path in stale_groups():
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
        reason = PermissionError(13, f"no permission to write to {parent}")
    raise reason or FileNotFoundError(2, "no control groups are mounted")


def _parents() -> list[Path]:
    """This process's group in each hierarchy; the root where the group is not below it."""
    groups = own_groups(_CONTROLLER)
    return [groups[root] if groups[root].is_dir() else root for root in _ROOTS if root in groups]
