"""The facts that the doctor's rules look at. Reading only what is cheap takes milliseconds, for
reports; the doctor itself also looks for a second at who uses the processors, and tries things.

What was not looked for is absent; what was looked for and could not be told is None.
"""

import fcntl
import os
import resource
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rmwbench.lab import open_files
from rmwbench.lab.machine import card, processes, tries
from rmwbench.lab.machine.probe import edge_probes, read_edge
from rmwbench.lab.network import kernel_tries

SIOCGIFFLAGS, IFF_UP = 0x8913, 1
SAMPLE_S = 1.0
TOP = 3


def quick(described: Mapping[str, Any]) -> dict[str, Any]:
    """Facts for a report, from the card's raw documents and a few more files. About 10 ms."""
    keys = ("hardware", "kernel", "sysctls", "state")
    return {
        **{key: described[key] for key in keys},
        "limits": limits(),
        "programs": _programs(processes.walk()),
    }


def everything(
    described: Mapping[str, Any],
    *,
    tools: Mapping[str, Any],
    calibration: Mapping[str, Any] | None,
    sample_s: float,
) -> dict[str, Any]:
    """Everything that a rule looks at. `tools` is {"middlewares": {name: problem}, "tools": {name:
    problem}}."""
    facts = quick(described)
    seen = processes.walk()
    problem, fix = tries.host()
    facts["programs"] = _programs(seen)
    facts["sampled"] = sampled(sample_s)
    facts["shm"] = shm(seen)
    facts["network"] = network(with_host=not problem)
    facts["abilities"] = {
        "host": problem,
        "host_fix": fix,
        "shared_host": tries.shared_host(),
        "user_namespace": tries.user_namespace(),
        "tun": tries.tap_device(),
        "cgroup": tries.control_group(),
        "perf": tries.perf_events(),
        "dma_latency": tries.latency_device(),
        "real_time": tries.real_time(),
    }
    return facts | {"tools": tools, "calibration": calibration}


def limits() -> dict[str, Any]:
    """What a process started from here may use; None is unlimited."""

    def soft(which: int) -> int | None:
        value = resource.getrlimit(which)[0]
        return None if value == resource.RLIM_INFINITY else value

    try:
        slack = int(Path("/proc/self/timerslack_ns").read_text())
    except (OSError, ValueError):
        slack = None
    return {
        "files": open_files.attainable(),
        "memlock_bytes": soft(resource.RLIMIT_MEMLOCK),
        "processes": _fewest(soft(resource.RLIMIT_NPROC), card.container_processes()),
        "may_lock_any": has_capability(CAP_IPC_LOCK),
        "timer_slack_ns": slack,
    }


def shm(seen: processes.Walk) -> dict[str, Any]:
    try:
        status = os.statvfs("/dev/shm")
        size, used = (
            status.f_frsize * status.f_blocks,
            status.f_frsize * (status.f_blocks - status.f_bfree),
        )
    except OSError:
        return {
            "bytes": None,
            "used_bytes": None,
            "leftovers": [],
            "middleware_files": 0,
            "unseen_processes": 0,
        }
    dead, count = processes.leftovers(seen.mapped)
    unseen = seen.unseen if count else 0
    return {
        "bytes": size,
        "used_bytes": used,
        "leftovers": dead,
        "middleware_files": count,
        "unseen_processes": unseen,
    }


def network(with_host: bool) -> dict[str, Any]:
    return {
        "bridge_nf_call_iptables": _text("/proc/sys/net/bridge/bridge-nf-call-iptables"),
        "multicast_lo": tries.multicast_lo(),
        "multicast_route": tries.multicast_route(),
        "multicast_host": tries.multicast_host() if with_host else None,
        "kernel_backend": kernel_tries.works() if with_host else None,
        "interfaces": _interfaces_up(),
    }


def sampled(seconds: float) -> dict[str, Any]:
    """What a trial's probes would be over some time, the use of our processors, and the programs
    that used most: (pid, name, share of one core)."""
    before, times, begun = read_edge(), _process_ticks(), time.monotonic()
    time.sleep(seconds)
    elapsed, after, later = time.monotonic() - begun, read_edge(), _process_ticks()
    probes = edge_probes(before, after)
    share = {row["probe"]: row["value"] for row in probes}
    hz = os.sysconf("SC_CLK_TCK")
    used = [
        (pid, name, (ticks - times[pid][1]) / hz / elapsed)
        for pid, (name, ticks) in later.items()
        if pid in times and pid != os.getpid()
    ]
    top = sorted((row for row in used if row[2] >= 0.02), key=lambda row: -row[2])[:TOP]
    top = [(pid, processes.told(pid) or name, share) for pid, name, share in top]
    return {
        "seconds": elapsed,
        "probes": probes,
        "busy": share["busy"] + share["softirq"] if "busy" in share else None,
        "top": top,
    }


def _programs(seen: processes.Walk) -> list[dict[str, Any]]:
    return sorted(seen.programs, key=lambda program: program["pid"])


def _process_ticks() -> dict[int, tuple[str, int]]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            text = _text(entry / "stat") or ""
            name, _, rest = text.partition("(")[2].rpartition(")")
            words = rest.split()
            if len(words) > 12:
                found[int(entry.name)] = (name, int(words[11]) + int(words[12]))
    return found


def _interfaces_up() -> list[str] | None:
    """The interfaces of this network namespace; /sys may show another's."""

    def is_up(name: str) -> bool:
        answer = fcntl.ioctl(asking, SIOCGIFFLAGS, struct.pack("16sH22x", name.encode(), 0))
        return bool(struct.unpack("16sH22x", answer)[1] & IFF_UP)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            return sorted(name for _, name in socket.if_nameindex() if is_up(name))
        except OSError:
            return None


CAP_IPC_LOCK, CAP_SYS_NICE = 14, 23


def has_capability(number: int) -> bool:
    """Whether the set of effective capabilities has that one, by its number of capabilities(7)."""
    lines = (_text("/proc/self/status") or "").splitlines()
    mask = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    return bool(int(mask, 16) >> number & 1)


def _fewest(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _text(path: str | Path) -> str | None:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return None
