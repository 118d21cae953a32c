"""The kernel's files about this machine: texts, numbers, memory, and control groups."""

from collections.abc import Iterator
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")
NO_MEMORY_LIMIT = 1 << 60
"""Version 1 of control groups has a number near 2^63 for no limit."""


def file_text(path: str | Path) -> str | None:
    """The stripped text of a file; None where it is empty or cannot be read."""
    try:
        return Path(path).read_text(errors="replace").strip() or None
    except OSError:
        return None


def file_number(path: str | Path) -> int | None:
    """The number in a file, from 0; None where the file has no such number or cannot be read."""
    text = file_text(path)
    return int(text) if text and text.isdigit() else None


def meminfo_bytes() -> dict[str, int]:
    """The entries of /proc/meminfo in bytes; empty where the file cannot be read."""
    sizes_bytes = {}
    for line in (file_text("/proc/meminfo") or "").splitlines():
        name, _, size = line.partition(":")
        words = size.split()
        sizes_bytes[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    return sizes_bytes


def kernel_value(path: str | Path) -> str | None:
    """The value of a setting's file. Where the file lists choices, such as `always [madvise]
    never`, the value is the choice in brackets. None where the file has no text."""
    words = (file_text(path) or "").split()
    marked = [word[1:-1] for word in words if word.startswith("[") and word.endswith("]")]
    return marked[0] if len(marked) == 1 else " ".join(words) or None


def own_groups(controller: str) -> dict[Path, Path]:
    """Root of a hierarchy → the directory of this process's group below that root. The hierarchies
    are that of the controller in version 1, whose root has the controller's name, and that of
    version 2, which lies at either of two roots."""
    directories: dict[Path, Path] = {}
    for line in (file_text("/proc/self/cgroup") or "").splitlines():
        _, controllers, group = line.split(":", 2)
        if not controllers:
            roots = [CONTROL_GROUPS, CONTROL_GROUPS / "unified"]
        else:
            roots = [CONTROL_GROUPS / controller] if controller in controllers.split(",") else []
        directories |= {root: root / group.lstrip("/") for root in roots}
    return directories


def limiting_groups(controller: str) -> Iterator[tuple[Path, Path]]:
    """Yields the (root, directory) of this process's groups and of every group above them, whose
    limits hold for this process as well."""
    for root, directory in own_groups(controller).items():
        depth = len(directory.relative_to(root).parts)
        yield from ((root, group) for group in [directory, *directory.parents][: depth + 1])


def memory_limits() -> Iterator[tuple[Path, bool, int]]:
    """Yields each control group that limits the memory of this process: its directory, whether it
    is of version 1, and its limit in bytes."""
    for root, group in limiting_groups("memory"):
        version1 = root.name == "memory"
        limit = file_number(group / ("memory.limit_in_bytes" if version1 else "memory.max"))
        if limit is not None and limit < NO_MEMORY_LIMIT:
            yield group, version1, limit


def group_memory_bytes() -> int | None:
    """The memory that the control groups of this process still give it, by their limits and their
    use, of which the cache of files can be taken back; None without a limit."""
    amounts = []
    for group, version1, limit in memory_limits():
        used = file_number(group / ("memory.usage_in_bytes" if version1 else "memory.current"))
        lines = (file_text(group / "memory.stat") or "").splitlines()
        bytes_of = {name: int(size) for name, size in map(str.split, lines)}
        prefix = "total_" if version1 else ""
        cached = sum(bytes_of.get(f"{prefix}{kind}_file", 0) for kind in ("active", "inactive"))
        amounts.append(max(0, limit - max(0, (used or 0) - cached)))
    return min(amounts, default=None)


def cpu_quotas() -> Iterator[tuple[Path, bool, float]]:
    """Yields each control group that limits the processor time of this process: its directory,
    whether it is of version 1, and its quota in processors."""
    for root, group in limiting_groups("cpu"):
        version1 = root.name == "cpu"
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if version1 else ("cpu.max",)
        quota, _, period = " ".join(file_text(group / name) or "" for name in names).partition(" ")
        if quota.isdigit() and period.isdigit():
            yield group, version1, int(quota) / int(period)
