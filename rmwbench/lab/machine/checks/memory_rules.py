"""Rules on memory, on shared memory, and on files of dead processes in it."""

import shlex

from rmwbench.lab.machine.finding import (
    Diagnosis,
    FixChange,
    MachineFacts,
    Severity,
    bytes_text,
    fact,
    rule,
)

LITTLE_SHM_BYTES, FAIR_SHM_BYTES = 128 << 20, 512 << 20
LITTLE_MEMORY_BYTES, FAIR_MEMORY_BYTES = 512 << 20, 2 << 30


@rule(
    "/dev/shm",
    expected=f"at least {bytes_text(FAIR_SHM_BYTES)}; containers start with 64 MiB",
    why="shared-memory transports take their pools from it, and fall back to sockets or fail "
    "when it is too small",
)
def shared_memory(facts: MachineFacts) -> Diagnosis:
    """Judges the machine's own /dev/shm, which robots use, and trials do not."""
    size, used = fact(facts, "shm", "bytes"), fact(facts, "shm", "used_bytes")
    if size is None:
        fix = "mkdir -m 1777 /dev/shm && mount -t tmpfs shm /dev/shm"
        why = "no trial can run without it, nor any shared-memory transport"
        return Diagnosis("red", "there is none", fix, why=why, spoils=True)
    text = f"{bytes_text(size)}, {bytes_text(used)} used; trials have one of their own"
    level: Severity = (
        "red"
        if size < LITTLE_SHM_BYTES
        else "yellow"
        if size < FAIR_SHM_BYTES or used > size / 2
        else "green"
    )
    larger = max(2, -(-2 * size >> 30))
    fix = f"mount -o remount,size={larger}g /dev/shm (in a container: --shm-size={larger}g)"
    return Diagnosis(level, text, None if level == "green" else fix)


@rule(
    "leftover segments",
    expected="no file of a middleware without a living process",
    why="segments that no process maps occupy memory for ever, and may disturb the start of a "
    "middleware",
)
def leftovers(facts: MachineFacts) -> Diagnosis:
    files, unseen = fact(facts, "shm", "leftovers"), fact(facts, "shm", "unseen_processes")
    note = f" ({unseen} processes of other users could not be looked into)" if unseen else ""
    if not files:
        level: Severity = (
            "unknown" if unseen and fact(facts, "shm", "middleware_files") else "green"
        )
        text = "none" + note if level == "green" else f"cannot tell whose the files are{note}"
        return Diagnosis(level, text)
    size = sum(file["bytes"] for file in files)
    kinds = ", ".join(dict.fromkeys(file["middleware"] for file in files))
    names = [file["path"] for file in files]
    examples = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    text = f"{len(files)} of {kinds}, {bytes_text(size)}: {examples}{note}"
    if unseen:
        text += "; make sure that nobody uses them before you remove them"
    return Diagnosis("yellow", text, "rm -r -- " + shlex.join(names))


@rule(
    "memory",
    expected=f"at least {bytes_text(FAIR_MEMORY_BYTES)} available",
    why="records and message pools stay in memory; when it runs out the kernel swaps or kills",
)
def available(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "state", "memory_available_bytes")
    swap = fact(facts, "hardware", "swap_bytes")
    limit = fact(facts, "hardware", "container").get("memory_bytes")
    if value is None:
        return Diagnosis("unknown", "the kernel does not say")
    least = min(value, limit) if limit else value
    text = f"{bytes_text(value)} available" + (
        f", limited to {bytes_text(limit)} by the container" if limit else ""
    )
    text += "" if swap is None else f", {bytes_text(swap)} of swap" if swap else ", no swap"
    level: Severity = (
        "red" if least < LITTLE_MEMORY_BYTES else "yellow" if least < FAIR_MEMORY_BYTES else "green"
    )
    fix = "end other programs, or give the container more memory" if level != "green" else None
    return Diagnosis(level, text, fix, spoils=True)


@rule(
    "transparent huge pages",
    expected="madvise or never",
    why="with `always` the kernel may stop a process for a millisecond to make a huge page",
)
def huge_pages(facts: MachineFacts) -> Diagnosis:
    value = fact(facts, "kernel", "transparent_hugepages")
    if value is None:
        return Diagnosis("green", "not in this kernel")
    if value != "always":
        return Diagnosis("green", value)
    switch = "/sys/kernel/mm/transparent_hugepage/enabled"
    permanent = "add transparent_hugepage=madvise to the kernel's command line"
    return Diagnosis(
        "yellow",
        value,
        f"echo madvise > {switch}",
        permanent,
        spoils=True,
        changes=(FixChange("file", switch, "madvise"),),
    )


RULES = (shared_memory, available, leftovers, huge_pages)
