"""A place like an ordinary container, without one: `python tests/container.py COMMAND…` (as root).

What Docker's default leaves a process of root: network, mount and IPC namespaces of the place with
a loopback alone and 64 MiB of /dev/shm, fourteen capabilities, and a system-call filter that
answers EPERM to unshare, mount, umount2, setns, pivot_root and to clone with namespaces, ENOSYS to
clone3. The files are the machine's own.
"""

import ctypes
import errno
import os
import platform
import struct
import subprocess
import sys
from pathlib import Path

SHM_BYTES = 64 << 20
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWNET = 0x00020000, 0x08000000, 0x40000000
MS_REC, MS_PRIVATE = 16384, 1 << 18
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 24, 38, 2
NAMESPACES = 0x7E020000
KEPT_CAPABILITIES = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}
"""capabilities(7): chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap,
net_bind_service, net_raw, sys_chroot, mknod, audit_write, setfcap."""
CALLS = {
    "x86_64": (
        0xC000003E,
        {
            "clone": 56,
            "unshare": 272,
            "mount": 165,
            "umount2": 166,
            "pivot_root": 155,
            "setns": 308,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {"clone": 220, "unshare": 97, "mount": 40, "umount2": 39, "pivot_root": 41, "setns": 268},
    ),
}
CLONE3, BPF, PERF_EVENT_OPEN = 435, {"x86_64": 321, "aarch64": 280}, {"x86_64": 298, "aarch64": 241}

_libc = ctypes.CDLL(None, use_errno=True)


def _call(what: str, function, *arguments) -> None:
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def enter() -> None:
    """Turns this process into one of such a place. Raises OSError where it has not the right to."""
    _call("unshare", _libc.unshare, CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET)
    _call(
        "private mounts", _libc.mount, None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None
    )
    _call(
        "/dev/shm",
        _libc.mount,
        b"shm",
        b"/dev/shm",
        b"tmpfs",
        ctypes.c_ulong(0),
        b"mode=1777,size=%d" % SHM_BYTES,
    )
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    drop_capabilities()
    filter_calls()


def drop_capabilities() -> None:
    """From what is executed from now on, and from this process."""
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for number in set(range(last + 1)) - KEPT_CAPABILITIES:
        _call("drop a capability", _libc.prctl, PR_CAPBSET_DROP, number, 0, 0, 0)
    kept = sum(1 << number for number in KEPT_CAPABILITIES)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    header = struct.pack("Ii", 0x20080522, 0)
    _call("capset", _libc.capset, header, struct.pack("6I", low, low, 0, high, high, 0))


def filter_calls() -> None:
    """seccomp(2), for this process and all below it."""
    architecture, calls = CALLS[platform.machine()]
    denied = [calls[name] for name in ("unshare", "mount", "umount2", "pivot_root", "setns")]
    denied += [BPF[platform.machine()], PERF_EVENT_OPEN[platform.machine()]]
    load, equal, any_bit, answer = 0x20, 0x15, 0x45, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000
    program = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (answer, 0, 0, allow),
        (load, 0, 0, 0),
        (equal, 0, 1, CLONE3),
        (answer, 0, 0, refuse | errno.ENOSYS),
    ]
    for number in denied:
        program += [(equal, 0, 1, number), (answer, 0, 0, refuse | errno.EPERM)]
    program += [
        (equal, 0, 3, calls["clone"]),
        (load, 0, 0, 16),
        (any_bit, 0, 1, NAMESPACES),
        (answer, 0, 0, refuse | errno.EPERM),
        (answer, 0, 0, allow),
    ]
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    _call("no new privileges", _libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call("seccomp", _libc.prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_)


if __name__ == "__main__":
    enter()
    os.execvp(sys.argv[1], sys.argv[1:])
