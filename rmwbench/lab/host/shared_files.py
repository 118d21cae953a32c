"""The files that the processes of a shared host leave behind: found while the processes live, and
removed when they are gone.

The init of a shared host (shared_init.py) imports this module, so it imports only such parts of the
standard library as load in milliseconds. It removes only files that certainly belong to the host:
its directory, segments with its name, and segments that its own processes had open. Other files of
a middleware may be a robot's.
"""

# ruff: noqa: SIM105 (contextlib would cost a millisecond at every start)

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:  # an import of `collections.abc` would cost a start
    from collections.abc import Callable

SHARED_MEMORY = "/dev/shm"
_DELETED = " (deleted)"


def number_of(name: str) -> int:
    """The number of a host, from the name of its directory (`rmwbench-NUMBER-…`)."""
    return int(name.split("-")[1])


def dds_ports(number: int) -> range:
    """The ports of a DDS domain (RTPS 2.5, 9.6.2.3): PB + DG × domain and those up to the next."""
    return range(7400 + 250 * number, 7400 + 250 * (number + 1))


def port_of(segment: str) -> int | None:
    """The port in the name of a file of Fast DDS (once Fast RTPS); None for other files."""
    _, prefix, rest = segment.replace("fastdds_", "fastrtps_").partition("fastrtps_port")
    digits = rest.split("_")[0]
    return int(digits) if prefix and digits.isdigit() else None


def held_by(pid: int) -> set[str]:
    """The files in /dev/shm that a process maps or has open; empty where the process is gone."""
    files: set[str] = set()
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                _, slash, rest = line.rstrip("\n").partition(" " + SHARED_MEMORY + "/")
                if slash and not rest.endswith(_DELETED):
                    files.add(f"{SHARED_MEMORY}/{rest}")
    except OSError:
        pass
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if target.startswith(SHARED_MEMORY + "/") and not target.endswith(_DELETED):
                files.add(target)
    except OSError:
        pass
    return files


def processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def parent_of(pid: int) -> int:
    """The PID of a parent; 0 where the process is gone or the parent is not visible."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def is_descendant(pid: int, ancestor: int) -> bool:
    while pid := parent_of(pid):
        if pid == ancestor:
            return True
    return False


def descendants(ancestor: int) -> list[int]:
    """The PIDs of the descendants of a process, nearest first."""
    children: dict[int, list[int]] = {}
    for pid in processes():
        children.setdefault(parent_of(pid), []).append(pid)
    pids: list[int] = []
    generation = [ancestor]
    while generation:
        generation = [child for parent in generation for child in children.get(parent, ())]
        pids += generation
    return pids


def kill(pid: int, is_still: "Callable[[int], bool]") -> None:
    """Kills a process if `is_still` is true for its PID. The check is made with a pidfd in hand,
    because the PID may have become another process's since it was looked up."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if is_still(pid):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(descriptor)


def remove(directory: str, segments: set[str] | frozenset[str] = frozenset()) -> None:
    """Removes a host's directory and the segments with its name. `segments`, and files of Fast DDS
    with a port of the host's domain, are removed where no process has them open any more."""
    name = os.path.basename(directory)
    _remove_tree(directory)
    candidates = {path for path in segments if os.path.exists(path)}
    for segment in os.listdir(SHARED_MEMORY) if os.path.isdir(SHARED_MEMORY) else ():
        if segment.startswith((name + "_", "sem." + name + "_")):
            _unlink(f"{SHARED_MEMORY}/{segment}")
        elif port_of(segment) in dds_ports(number_of(name)):
            candidates.add(f"{SHARED_MEMORY}/{segment}")
    if candidates:
        files_in_use: set[str] = set()
        for pid in processes():
            files_in_use |= held_by(pid)
        for path in candidates - files_in_use:
            _unlink(path)


def _remove_tree(directory: str) -> None:
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            _remove_tree(entry.path)
        else:
            _unlink(entry.path)
    try:
        os.rmdir(directory)
    except OSError:
        pass


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
