"""What this machine lets us do, found out by doing it: a capability that is there by version may
still be denied.

Each returns "" when it worked and the reason when not. What changes the process is tried in a child
of its own.
"""

import ctypes
import errno
import fcntl
import os
import platform
import select
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.lab.host import Exited, Host, HostBroken, Spawned, check_own, host_kind
from rmwbench.lab.sampling.cgroup import ControlGroup

_libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
TUNSETIFF, IFF_TAP_NO_PI = 0x400454CA, 0x1002
GROUP = "239.255.77.77"
"""Nobody's: not the group that DDS or Zenoh announce themselves in."""
HOST_TRY_S = 3.0

# Run inside a host: a datagram to the group over lo and over eth0, heard by a socket that joined
# there.
_PROBE = f"""
import socket, sys
for name, address in (("lo", "127.0.0.1"), ("eth0", "10.77.0.1")):
    try:
        r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); r.bind(("", 0)); r.settimeout(1)
        i = socket.inet_aton(address)
        r.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("{GROUP}") + i)
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, i)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
        s.sendto(b"there", ("{GROUP}", r.getsockname()[1])); r.recv(16)
    except OSError as error:
        print(name + ": " + (error.strerror or "nothing came back"), end="; "); sys.exit(1)
"""


def host() -> tuple[str, str | None]:
    """Whether a host with namespaces of its own can be made: the reason why not, and what to do
    about it."""
    try:
        check_own().close()
    except UserError as error:
        return f"{error.where}: {error.actual}" if error.where else error.what, error.fix
    except HostBroken as broken:
        return str(broken), None
    return "", None


def shared_host() -> str | None:
    """Whether trials run on the shared host for that, in words; None where they do not."""
    return host_kind().told() if host_kind().shared else None


def multicast_lo() -> str:
    """A round trip on this namespace's own lo; nothing leaves the machine."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    lo = socket.inet_aton("127.0.0.1")
    with receiver, sender:
        try:
            receiver.bind(("", 0))
            receiver.setsockopt(
                socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + lo
            )
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, lo)
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
            sender.sendto(b"there", (GROUP, receiver.getsockname()[1]))
        except OSError as error:
            return f"cannot be sent: {error.strerror}"
        return "" if select.select([receiver], [], [], 0.5)[0] else "nothing came back"


def multicast_route() -> str:
    """Asks the kernel for a way to DDS's group; connecting a datagram socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("239.255.0.1", 7400))
        except OSError as error:
            return f"no route for 239.255.0.1: {error.strerror}"
    return ""


def multicast_host() -> str | None:
    """The round trip inside a host, on both interfaces; None where no host can be made."""
    log = os.memfd_create("rmwbench-multicast")
    try:
        with Host("doctor") as made:
            made.wait_ready()
            made.spawn(
                "probe",
                Path(sys.executable),
                ["-I", "-S", "-c", _PROBE],
                {1: log},
                {"PATH": os.defpath},
            )
            while True:
                match made.receive(HOST_TRY_S):
                    case Spawned():
                        continue
                    case Exited(_, 0):
                        return ""
                    case _:
                        return (
                            os.pread(log, 500, 0).decode(errors="replace").rstrip("; ")
                            or "the trial ended early"
                        )
    except (HostBroken, UserError):
        return None
    finally:
        os.close(log)


def user_namespace() -> str:
    return _in_child(lambda: _unshare(CLONE_NEWUSER))


def tap_device() -> str:
    """A TAP device in a network namespace of its own, which goes with it."""

    def attempt() -> None:
        try:
            _unshare(CLONE_NEWNET)
        except PermissionError:
            _unshare(CLONE_NEWUSER | CLONE_NEWNET)
        fd = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"rmwtry", IFF_TAP_NO_PI))

    return _in_child(attempt)


def control_group() -> str:
    try:
        ControlGroup("doctor").close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def latency_device() -> str:
    """Opening and closing it leaves everything as it was."""
    return _in_child(lambda: os.close(os.open("/dev/cpu_dma_latency", os.O_WRONLY)))


def real_time() -> str:
    return _in_child(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))


def perf_events() -> str:
    """Counts this thread's context switches, kernel included, as the sampler does for the
    workers'."""
    number = {"x86_64": 298, "aarch64": 241, "riscv64": 241}.get(platform.machine())
    if number is None:
        return f"unknown system call on {platform.machine()}"
    software, context_switches, size = 1, 3, 120
    attributes = struct.pack("IIQ", software, size, context_switches).ljust(size, b"\0")

    def attempt() -> None:
        if _libc.syscall(number, attributes, 0, -1, -1, 0) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    return _in_child(attempt)


def _unshare(flags: int) -> None:
    if _libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _in_child(attempt: Callable[[], object]) -> str:
    """The error of what is tried in a forked child, which ends with it."""
    pid = os.fork()
    if not pid:
        try:
            attempt()
            os._exit(0)
        except OSError as error:
            os._exit(min(error.errno or errno.EIO, 254))
        except BaseException:
            os._exit(255)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return "" if code == 0 else os.strerror(code) if 0 < code < 255 else "the attempt died"
