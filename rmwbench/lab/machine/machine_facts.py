"""Gathers the facts that the doctor's rules judge. The facts for reports take milliseconds; the
doctor also watches for a second which processes use the processors, and tries out abilities.

A fact that was not gathered is absent; a fact that was gathered and is unknown is None. Abilities
are tried, because a version may have an ability that this machine denies. An attempt returns "" if
it succeeds, and else the reason; an attempt that would change this process runs in a child process.
"""

import ctypes
import errno
import fcntl
import os
import platform
import resource
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.lab.host import Exited, Host, HostBroken, Spawned, check_own, host_kind, init
from rmwbench.lab.host.host import attainable_file_limit
from rmwbench.lab.kernel_files import file_number, file_text
from rmwbench.lab.machine import machine_card, processes
from rmwbench.lab.machine.probe import edge_probes, read_edge
from rmwbench.lab.network import kernel

_libc = ctypes.CDLL(None, use_errno=True)
GROUP = "239.255.77.77"
"""An unused group: DDS and Zenoh announce themselves in others."""
HOST_TRY_S = 3.0

# Sends a datagram to the group over each device (NAME=ADDRESS), to a socket that joined it there.
# Nothing leaves the machine.
_PROBE = f"""
import socket, sys
for device in sys.argv[1:]:
    name, address = device.split("=")
    try:
        r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); r.bind(("", 0)); r.settimeout(1)
        i = socket.inet_aton(address)
        r.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("{GROUP}") + i)
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, i)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
        s.sendto(b"there", ("{GROUP}", r.getsockname()[1])); r.recv(16)
    except OSError as error:
        sys.exit(name + ": " + (error.strerror or "nothing came back"))
"""
_PROBE_ARGUMENTS = ["-I", "-S", "-c", _PROBE]


def try_host() -> tuple[str, str | None]:
    """Tries to make a host with namespaces of its own. Returns the problem and its fix."""
    try:
        check_own().close()
    except UserError as error:
        return f"{error.where}: {error.actual}", error.fix
    return "", None


def shared_host() -> str | None:
    """The sentence that tells why trials run on the shared host; None where they do not."""
    return host_kind().text() if host_kind().shared else None


def try_multicast_lo() -> str:
    """Tries a round trip on the lo of this namespace."""
    command = [sys.executable, *_PROBE_ARGUMENTS, "lo=127.0.0.1"]
    return subprocess.run(command, capture_output=True, text=True).stderr.strip()


def try_multicast_route() -> str:
    """Asks the kernel for a route to the group of DDS; no datagram is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("239.255.0.1", 7400))
        except OSError as error:
            return f"no route for 239.255.0.1: {error.strerror}"
    return ""


def try_multicast_host() -> str | None:
    """Tries the round trip inside a host, on both devices; None where no host can be made."""
    log = os.memfd_create("rmwbench-multicast")
    try:
        with Host("doctor") as trial_host:
            trial_host.wait_ready()
            trial_host.spawn(
                "probe",
                Path(sys.executable),
                [*_PROBE_ARGUMENTS, "lo=127.0.0.1", "eth0=10.77.0.1"],
                {2: log},
                {"PATH": os.defpath},
            )
            while True:
                match trial_host.receive(HOST_TRY_S):
                    case Spawned():
                        continue
                    case Exited(_, 0):
                        return ""
                    case _:
                        return (
                            os.pread(log, 500, 0).decode(errors="replace").strip()
                            or "the trial ended early"
                        )
    except (HostBroken, UserError):
        return None
    finally:
        os.close(log)


def try_user_namespace() -> str:
    return _try_in_child(lambda: init.call("unshare", _libc.unshare, init.CLONE_NEWUSER))


def try_tap_device() -> str:
    """Tries to make a TAP device in a network namespace of its own, with which it ends."""

    def attempt() -> None:
        init.unshare(init.CLONE_NEWNET)
        init.make_tap(b"rmwtry")

    return _try_in_child(attempt)


def try_latency_device() -> str:
    """Tries to open /dev/cpu_dma_latency; closing it ends its effect."""
    return _try_in_child(lambda: os.close(os.open("/dev/cpu_dma_latency", os.O_WRONLY)))


def try_real_time() -> str:
    return _try_in_child(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))


def try_perf_events() -> str:
    """Tries to count this thread's context switches, as the sampler does for workers."""
    number = {"x86_64": 298, "aarch64": 241, "riscv64": 241}.get(platform.machine())
    if number is None:
        return f"unknown system call on {platform.machine()}"
    software, context_switches, size = 1, 3, 120
    attributes = struct.pack("IIQ", software, size, context_switches).ljust(size, b"\0")

    def attempt() -> None:
        if _libc.syscall(number, attributes, 0, -1, -1, 0) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    return _try_in_child(attempt)


def _try_in_child(attempt: Callable[[], object]) -> str:
    """Runs the attempt in a forked child. Returns its error, "" where it succeeds."""
    pid = os.fork()
    if not pid:
        try:
            attempt()
            os._exit(0)
        except (OSError, init.StepFailed) as error:
            os._exit(min(error.errno or errno.EIO, 254))
        except BaseException:
            os._exit(255)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return "" if code == 0 else os.strerror(code) if 0 < code < 255 else "the attempt died"


SIOCGIFFLAGS, IFF_UP = 0x8913, 1
SAMPLE_S = 1.0
TOP = 3


def report_facts(
    machine_card: Mapping[str, Any], walk: processes.Walk | None = None
) -> dict[str, Any]:
    """Gathers the facts for a report, in about 10 ms."""
    programs = (walk or processes.walk()).programs
    return {
        **{key: machine_card[key] for key in ("hardware", "kernel", "sysctls", "state")},
        "limits": limits(),
        "programs": sorted(programs, key=lambda program: program["pid"]),
    }


def all_facts(
    machine_card: Mapping[str, Any],
    *,
    tools: Mapping[str, Any],
    calibration: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Gathers the facts of all rules. `tools` is that of `checkup`."""
    walk = processes.walk()
    facts = report_facts(machine_card, walk)
    problem, fix = try_host()
    facts["sampled"] = sample(SAMPLE_S)
    facts["shm"] = shm(walk)
    facts["network"] = network(with_host=not problem)
    facts["abilities"] = {
        "host": problem,
        "host_fix": fix,
        "shared_host": shared_host(),
        "user_namespace": try_user_namespace(),
        "tun": try_tap_device(),
        "perf": try_perf_events(),
        "dma_latency": try_latency_device(),
        "real_time": try_real_time(),
    }
    return facts | {"tools": tools, "calibration": calibration}


def limits() -> dict[str, Any]:
    """The limits of a process that is started from here; None stands for unlimited."""

    def soft(resource_number: int) -> int | None:
        value = resource.getrlimit(resource_number)[0]
        return None if value == resource.RLIM_INFINITY else value

    processes_allowed = (soft(resource.RLIMIT_NPROC), machine_card.container_processes())
    return {
        "files": attainable_file_limit(),
        "memlock_bytes": soft(resource.RLIMIT_MEMLOCK),
        "processes": min((most for most in processes_allowed if most is not None), default=None),
        "may_lock_any": has_capability(CAP_IPC_LOCK),
        "timer_slack_ns": file_number("/proc/self/timerslack_ns"),
    }


def shm(walk: processes.Walk) -> dict[str, Any]:
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
    leftover_files, count = processes.leftovers(walk.mapped)
    unseen = walk.unseen if count else 0
    return {
        "bytes": size,
        "used_bytes": used,
        "leftovers": leftover_files,
        "middleware_files": count,
        "unseen_processes": unseen,
    }


def network(with_host: bool) -> dict[str, Any]:
    return {
        "bridge_nf_call_iptables": file_text("/proc/sys/net/bridge/bridge-nf-call-iptables"),
        "multicast_lo": try_multicast_lo(),
        "multicast_route": try_multicast_route(),
        "multicast_host": try_multicast_host() if with_host else None,
        "kernel_backend": kernel.works() if with_host else None,
        "interfaces": _interfaces_up(),
    }


def sample(seconds: float) -> dict[str, Any]:
    """Samples the machine for some seconds: the probes of a trial, the busy share of our
    processors, and the programs that used most: (PID, name, share of one core)."""
    before, times, begun = read_edge(), _process_ticks(), time.monotonic()
    time.sleep(seconds)
    elapsed, after, later = time.monotonic() - begun, read_edge(), _process_ticks()
    probes = edge_probes(before, after)
    value_of = {row["probe"]: row["value"] for row in probes}
    hz = os.sysconf("SC_CLK_TCK")
    used = [
        (pid, name, (ticks - times[pid][1]) / hz / elapsed)
        for pid, (name, ticks) in later.items()
        if pid in times and pid != os.getpid()
    ]
    top = sorted((row for row in used if row[2] >= 0.02), key=lambda row: -row[2])[:TOP]
    top = [(pid, processes.display_name(pid) or name, cores) for pid, name, cores in top]
    return {
        "seconds": elapsed,
        "probes": probes,
        "busy": value_of["busy"] + value_of["softirq"] if "busy" in value_of else None,
        "top": top,
    }


def _process_ticks() -> dict[int, tuple[str, int]]:
    ticks_of_pid = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            text = file_text(entry / "stat") or ""
            name, _, rest = text.partition("(")[2].rpartition(")")
            words = rest.split()
            if len(words) > 12:
                ticks_of_pid[int(entry.name)] = (name, int(words[11]) + int(words[12]))
    return ticks_of_pid


def _interfaces_up() -> list[str] | None:
    """The interfaces of this network namespace that are up; /sys may show another's."""

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
    """Whether this process has a capability in force, by its number (capabilities(7))."""
    lines = (file_text("/proc/self/status") or "").splitlines()
    mask = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    return bool(int(mask, 16) >> number & 1)
