"""What the processes of a shared host leave in the file system: found while they live, removed when
they are gone.

Standard library only, and of that what a start in milliseconds allows: the init of a shared host
(shared_init.py) imports this too. Only what is certainly of the host is removed: its directory,
segments that carry its name, and segments that its own processes were seen to hold. What merely
looks like a middleware's may be a robot's.
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
    """The number of a host, by the name of its directory (`rmwbench-NUMBER-…`)."""
    return int(name.split("-")[1])


def dds_ports(number: int) -> range:
    """RTPS 2.5, 9.6.2.3: PB + DG × domain, up to the next domain's."""
    return range(7400 + 250 * number, 7400 + 250 * (number + 1))


def port_of(segment: str) -> int | None:
    """The port that a file of Fast DDS (until 2.x: Fast RTPS) in /dev/shm is named after; None where
    it is not such a file."""
    _, prefix, rest = segment.replace("fastdds_", "fastrtps_").partition("fastrtps_port")
    digits = rest.split("_")[0]
    return int(digits) if prefix and digits.isdigit() else None


def held_by(pid: int) -> set[str]:
    """Files in /dev/shm that a process maps or has open; none where it is gone."""
    held: set[str] = set()
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                _, slash, rest = line.rstrip("\n").partition(" " + SHARED_MEMORY + "/")
                if slash and not rest.endswith(_DELETED):
                    held.add(f"{SHARED_MEMORY}/{rest}")
    except OSError:
        pass
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if target.startswith(SHARED_MEMORY + "/") and not target.endswith(_DELETED):
                held.add(target)
    except OSError:
        pass
    return held


def processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def parent_of(pid: int) -> int:
    """0 where the process is gone, and where its parent is in another PID namespace."""
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
    """PIDs below a process, nearest first."""
    children: dict[int, list[int]] = {}
    for pid in processes():
        children.setdefault(parent_of(pid), []).append(pid)
    below: list[int] = []
    row = [ancestor]
    while row:
        row = [child for parent in row for child in children.get(parent, ())]
        below += row
    return below


def kill(pid: int, is_still: "Callable[[int], bool]") -> None:
    """Kills a process if `is_still` says so of its number. A pidfd names the process: since its
    number was looked up, that may have become somebody else's."""
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


def remove(directory: str, held: set[str] | frozenset[str] = frozenset()) -> None:
    """The host's directory, segments that carry its name, and of those of `held` and of Fast DDS's
    ports in its domain what no process holds any more."""
    name = os.path.basename(directory)
    _remove_tree(directory)
    left = {path for path in held if os.path.exists(path)}
    for segment in os.listdir(SHARED_MEMORY) if os.path.isdir(SHARED_MEMORY) else ():
        if segment.startswith((name + "_", "sem." + name + "_")):
            _unlink(f"{SHARED_MEMORY}/{segment}")
        elif port_of(segment) in dds_ports(number_of(name)):
            left.add(f"{SHARED_MEMORY}/{segment}")
    if left:
        others: set[str] = set()
        for pid in processes():
            others |= held_by(pid)
        for path in left:
            if path not in others:
                _unlink(path)


def _remove_tree(place: str) -> None:
    try:
        entries = list(os.scandir(place))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            _remove_tree(entry.path)
        else:
            _unlink(entry.path)
    try:
        os.rmdir(place)
    except OSError:
        pass


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
