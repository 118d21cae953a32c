"""Memory, shared memory, and what dead processes left in it."""

from collections.abc import Mapping
from typing import Any

from rmwbench.lab.machine.finding import Finding, FixChange, Level, bytes_text, fact

Facts = Mapping[str, Any]

LITTLE_SHM_BYTES, FAIR_SHM_BYTES = 128 << 20, 512 << 20
LITTLE_MEMORY_BYTES, FAIR_MEMORY_BYTES = 512 << 20, 2 << 30


def shared_memory(facts: Facts) -> Finding:
    """Trials have a /dev/shm of their own of half the free memory; this one is the robot's."""
    size, used = fact(facts, "shm", "bytes"), fact(facts, "shm", "used_bytes")
    why = (
        "shared-memory transports take their pools from it, and fall back to sockets or fail "
        "when it is too small"
    )
    expected = f"at least {bytes_text(FAIR_SHM_BYTES)}; containers start with 64 MiB"
    if size is None:
        fix = "mkdir -m 1777 /dev/shm && mount -t tmpfs shm /dev/shm"
        why = "no trial can run without it, nor any shared-memory transport"
        return Finding("/dev/shm", "red", "there is none", expected, why, fix, spoils=True)
    found = f"{bytes_text(size)}, {bytes_text(used)} used; trials have one of their own"
    fix = "mount -o remount,size=2g /dev/shm (in a container: --shm-size=2g)"
    level: Level = (
        "red"
        if size < LITTLE_SHM_BYTES
        else "yellow"
        if size < FAIR_SHM_BYTES or used > size / 2
        else "green"
    )
    return Finding("/dev/shm", level, found, expected, why, None if level == "green" else fix)


def leftovers(facts: Facts) -> Finding:
    files, unseen = fact(facts, "shm", "leftovers"), fact(facts, "shm", "unseen_processes")
    why = (
        "segments that nobody maps hold memory for ever, and may disturb a middleware when it "
        "starts"
    )
    expected = "no file of a middleware without a living process"
    note = f" ({unseen} processes of other users could not be looked into)" if unseen else ""
    if not files:
        level: Level = "unknown" if unseen and fact(facts, "shm", "middleware_files") else "green"
        found = "none" + note if level == "green" else f"cannot tell whose the files are{note}"
        return Finding("leftover segments", level, found, expected, why)
    size = sum(f["bytes"] for f in files)
    kinds = ", ".join(dict.fromkeys(f["middleware"] for f in files))
    names = [f["path"] for f in files]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    found = f"{len(files)} of {kinds}, {bytes_text(size)}: {shown}{note}"
    if unseen:
        found += "; make sure that nobody uses them before you remove them"
    return Finding(
        "leftover segments", "yellow", found, expected, why, "rm -r -- " + " ".join(names)
    )


def available(facts: Facts) -> Finding:
    value, swap = (
        fact(facts, "state", "memory_available_bytes"),
        fact(facts, "hardware", "swap_bytes"),
    )
    limit = fact(facts, "hardware", "container").get("memory_bytes")
    why = "records and message pools stay in memory; when it runs out the kernel swaps or kills"
    expected = f"at least {bytes_text(FAIR_MEMORY_BYTES)} available"
    if value is None:
        return Finding("memory", "unknown", "the kernel does not say", expected, why)
    least = min(value, limit) if limit else value
    found = f"{bytes_text(value)} available" + (
        f", limited to {bytes_text(limit)} by the container" if limit else ""
    )
    found += "" if swap is None else f", {bytes_text(swap)} of swap" if swap else ", no swap"
    level: Level = (
        "red" if least < LITTLE_MEMORY_BYTES else "yellow" if least < FAIR_MEMORY_BYTES else "green"
    )
    fix = "end other programs, or give the container more memory" if level != "green" else None
    return Finding("memory", level, found, expected, why, fix, spoils=True)


def huge_pages(facts: Facts) -> Finding:
    value = fact(facts, "kernel", "transparent_hugepages")
    why = "with `always` the kernel may stop a process for a millisecond to make a huge page"
    expected = "madvise or never"
    if value is None:
        return Finding("transparent huge pages", "green", "not in this kernel", expected, why)
    if value != "always":
        return Finding("transparent huge pages", "green", value, expected, why)
    switch = "/sys/kernel/mm/transparent_hugepage/enabled"
    permanent = "add transparent_hugepage=madvise to the kernel's command line"
    return Finding(
        "transparent huge pages",
        "yellow",
        value,
        expected,
        why,
        f"echo madvise > {switch}",
        permanent,
        spoils=True,
        changes=(FixChange("file", switch, "madvise"),),
    )


RULES = (shared_memory, available, leftovers, huge_pages)
