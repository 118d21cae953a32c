"""The machine card, as JSON: a reader of a report must be able to tell whether the machine
resembles theirs. An unknown fact is None."""

import os
import platform
import re
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rmwbench.lab.kernel_files import (
    cpu_quotas,
    file_number,
    file_text,
    kernel_value,
    limiting_groups,
    meminfo_bytes,
    memory_limits,
)
from rmwbench.lab.machine.finding import idle_state_text
from rmwbench.lab.machine.probe import read_ticks
from rmwbench.lab.machine.timekeeping import keeper, timekeeping
from rmwbench.lab.middleware.catalogue import system_name

_CPU = Path("/sys/devices/system/cpu")
CLOCK_SOURCES = Path("/sys/devices/system/clocksource/clocksource0")

SYSCTLS = (
    "net.core.rmem_max",
    "net.core.rmem_default",
    "net.core.wmem_max",
    "net.core.wmem_default",
    "net.core.netdev_max_backlog",
    "net.core.default_qdisc",
    "net.ipv4.ipfrag_high_thresh",
    "net.ipv4.ipfrag_time",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "kernel.sched_rt_runtime_us",
    "kernel.sched_autogroup_enabled",
    "vm.swappiness",
)
# The words of the kernel's command line that change timing; the rest may hold secrets.
BOOT_OPTIONS = (
    "isolcpus",
    "nohz_full",
    "rcu_nocbs",
    "mitigations",
    "idle",
    "nosmt",
    "intel_idle.max_cstate",
    "processor.max_cstate",
)


def describe() -> dict[str, Any]:
    """The machine card: `summary` (one line), `facts` ([{name, value, note}]), and the raw
    `hardware`, `kernel`, `sysctls` and `state` documents behind them."""
    raw = {"hardware": hardware(), "kernel": kernel(), "sysctls": sysctls(), "state": state()}
    return {"summary": _summary(raw), "facts": _facts(raw), **raw}


def hardware() -> dict[str, Any]:
    meminfo = meminfo_bytes()
    shm = os.statvfs("/dev/shm") if Path("/dev/shm").is_dir() else None
    return {
        "architecture": platform.machine(),
        "cpu_model": _cpu_model(),
        "cores_online": os.cpu_count(),
        "cores_usable": len(os.sched_getaffinity(0)),
        "smt_active": _flag(_CPU / "smt/active"),
        "governor": file_text(_CPU / "cpu0/cpufreq/scaling_governor"),
        "frequency_driver": file_text(_CPU / "cpu0/cpufreq/scaling_driver"),
        "frequency_max_khz": file_number(_CPU / "cpu0/cpufreq/cpuinfo_max_freq"),
        "turbo": _turbo(),
        "idle_driver": file_text(_CPU / "cpuidle/current_driver"),
        "idle_states": _idle_states(),
        "virtualization": _virtualization(),
        "system_vendor": file_text("/sys/class/dmi/id/sys_vendor"),
        "system_product": file_text("/sys/class/dmi/id/product_name"),
        "memory_bytes": meminfo.get("MemTotal"),
        "swap_bytes": meminfo.get("SwapTotal"),
        "shm_bytes": shm.f_frsize * shm.f_blocks if shm else None,
        "container": _container_limits(),
    }


def kernel() -> dict[str, Any]:
    command_line = (file_text("/proc/cmdline") or "").split()
    return {
        "system": platform.system(),
        "release": platform.release(),
        "version": platform.version(),
        "distribution": system_name(),
        "libc": " ".join(platform.libc_ver()) or None,
        "python": platform.python_version(),
        "clocksource": file_text(CLOCK_SOURCES / "current_clocksource"),
        "clocksources_available": (
            file_text(CLOCK_SOURCES / "available_clocksource") or ""
        ).split(),
        "timer_hz": os.sysconf("SC_CLK_TCK"),
        "clock_resolution_ns": round(time.clock_getres(time.CLOCK_MONOTONIC) * 1e9),
        "transparent_hugepages": kernel_value("/sys/kernel/mm/transparent_hugepage/enabled"),
        "shmem_hugepages": kernel_value("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
        "boot_options": [word for word in command_line if word.split("=")[0] in BOOT_OPTIONS],
    }


def sysctls() -> dict[str, str | None]:
    return {name: file_text("/proc/sys/" + name.replace(".", "/")) for name in SYSCTLS}


def state() -> dict[str, Any]:
    """The facts that change, taken at the start and at the end of a campaign."""
    ticks, meminfo = read_ticks(), meminfo_bytes()
    load = os.getloadavg()
    return {
        "time_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "uptime_s": float((file_text("/proc/uptime") or "0").split()[0]),
        "load_1min": load[0],
        "load_5min": load[1],
        "steal_fraction_since_boot": ticks.steal / ticks.total if ticks.total else None,
        "busy_fraction_since_boot": ticks.busy / ticks.total if ticks.total else None,
        "memory_available_bytes": meminfo.get("MemAvailable"),
        "pressure_cpu": file_text("/proc/pressure/cpu"),
        "timekeeping": timekeeping(),
    }


def _summary(raw: dict[str, Any]) -> str:
    hardware, release = raw["hardware"], raw["kernel"]["release"]
    short = ".".join(re.findall(r"\d+", release)[:2])
    memory = hardware["memory_bytes"]
    parts = [
        f"{hardware['cores_usable']} × {hardware['cpu_model'] or hardware['architecture']}",
        f"Linux {short}",
    ]
    if memory:
        parts.append(f"{memory / 1e9:.0f} GB")
    return ", ".join(parts)


def _fact(
    hidden: tuple[str, str],
    name: str,
    value: Any,
    note: str | None = None,
    absent: tuple[str, str] | None = None,
) -> dict[str, Any]:
    """A fact; without a value, it is `absent`, or else `hidden`: a value with a note."""
    text, shown_note = (str(value), note) if value is not None else absent or hidden
    return {"name": name, "value": text, "note": shown_note}


def _facts(raw: dict[str, Any]) -> list[dict[str, Any]]:
    hardware, kernel_, state_ = raw["hardware"], raw["kernel"], raw["state"]
    virtual = (
        "a virtual machine hides it" if is_virtual_machine(hardware) else "the kernel does not say"
    )
    fact = partial(_fact, ("not exposed", virtual))
    idle = list(map(idle_state_text, hardware["idle_states"]))
    smt = {True: "on", False: "off", None: None}[hardware["smt_active"]]
    steal = state_["steal_fraction_since_boot"]
    return [
        fact("processor", hardware["cpu_model"]),
        fact(
            "cores", f"{hardware['cores_usable']} of {hardware['cores_online']}", "usable of online"
        ),
        fact("simultaneous multithreading", smt),
        fact("frequency governor", hardware["governor"]),
        fact("turbo", hardware["turbo"]),
        fact(
            "idle states",
            ", ".join(idle) or None,
            f"driver {hardware['idle_driver']}" if hardware["idle_driver"] else None,
        ),
        fact("virtualization", hardware["virtualization"], absent=("none", "no sign of one")),
        fact("memory", _gigabytes(hardware["memory_bytes"])),
        fact("/dev/shm", _gigabytes(hardware["shm_bytes"])),
        fact(
            "CPU quota",
            hardware["container"].get("cpu_quota_cores"),
            "cores",
            ("none", "no limit found"),
        ),
        fact("kernel", kernel_["release"]),
        fact("distribution", kernel_["distribution"]),
        fact(
            "clock source",
            kernel_["clocksource"],
            f"resolution {kernel_['clock_resolution_ns']} ns",
        ),
        fact("clock", keeper(state_["timekeeping"]), "against other machines; at the start"),
        fact(
            "boot options",
            " ".join(kernel_["boot_options"]) or None,
            absent=("none", "none that changes timing"),
        ),
        fact("steal since boot", f"{100 * steal:.2f} %" if steal is not None else None),
        fact("load average", f"{state_['load_1min']:.2f}", "1 minute, at the start"),
        *(fact(name, raw["sysctls"][name]) for name in SYSCTLS if name.startswith("net.")),
    ]


def _gigabytes(size: int | None) -> str | None:
    return f"{size / 1e9:.1f} GB" if size else None


def _flag(path: Path) -> bool | None:
    return {"1": True, "0": False}.get(file_text(path) or "")


def _cpu_model() -> str | None:
    text = file_text("/proc/cpuinfo") or ""
    match = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", text, re.MULTILINE)
    return match.group(1).strip() if match else None


def _turbo() -> str | None:
    no_turbo, boost = _flag(_CPU / "intel_pstate/no_turbo"), _flag(_CPU / "cpufreq/boost")
    if no_turbo is not None:
        return "off" if no_turbo else "on"
    return None if boost is None else "on" if boost else "off"


def _idle_states() -> list[dict[str, Any]]:
    states = sorted((_CPU / "cpu0/cpuidle").glob("state*"))
    return [
        {
            "name": file_text(state / "name"),
            "latency_us": file_number(state / "latency"),
            "disabled": _flag(state / "disable"),
        }
        for state in states
    ]


def _virtualization() -> str | None:
    """The signs of a virtual machine (`hypervisor`) or a container that need no helper program: the
    hypervisor bit of the processor, and files of a container; None without any."""
    signs = []
    if re.search(r"^flags\s*:.*\bhypervisor\b", file_text("/proc/cpuinfo") or "", re.MULTILINE):
        kind = file_text("/sys/hypervisor/type")
        signs.append(f"hypervisor ({kind})" if kind else "hypervisor")
    if Path("/.dockerenv").exists():
        signs.append("docker")
    elif Path("/run/.containerenv").exists():
        signs.append("podman")
    return ", ".join(signs) or None


def is_virtual_machine(hardware: Mapping[str, Any]) -> bool:
    """Whether a machine card has a sign of a virtual machine; a container alone is none."""
    return "hypervisor" in (hardware.get("virtualization") or "")


def _container_limits() -> dict[str, Any]:
    """The lowest limits of this process's control groups, in either version, where they are set."""
    quotas = [cores for _, _, cores in cpu_quotas()]
    sizes = [limit for _, _, limit in memory_limits()]
    limits: dict[str, Any] = {"cpu_quota_cores": min(quotas)} if quotas else {}
    return limits | ({"memory_bytes": min(sizes)} if sizes else {})


def container_processes() -> int | None:
    """The number of processes that this control group may have; None without a limit."""
    limits = (file_number(group / "pids.max") for _, group in limiting_groups("pids"))
    return min((limit for limit in limits if limit is not None), default=None)
