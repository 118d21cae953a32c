"""The orchestrator's end of a host: it starts the host, spawns processes in it, receives reports of
their ends, and ends the host. A failure is a HostBroken, with the advice that its user gets.

Starting does not wait, so that a campaign can have the next host ready while it writes the last
trial's tables.
"""

import errno
import marshal
import os
import resource
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from rmwbench.errors import UserError
from rmwbench.lab import trial_view
from rmwbench.lab.host import marker
from rmwbench.lab.kernel_files import file_text, group_memory_bytes, meminfo_bytes

_MESSAGE_BYTES = 1 << 18
_INIT = str(Path(__file__).with_name("init.py"))
READY_TIMEOUT_S = 5.0
TARGETS = 20
"""The usual bound of the descriptor numbers that a process of a host may be given."""
MOST_FDS = 252
"""The largest number of descriptors of one message, besides the executable's."""

Write = tuple[str, bytes, bool]
"""Path below /proc/sys, what to write, and whether it must succeed."""
NetlinkMessage = tuple[str, int, int, bytes]
"""The purpose in words, and the type, flags and body of an rtnetlink message."""

# A worker sees no other variable of the user's shell: ROS_DOMAIN_ID, CYCLONEDDS_URI,
# FASTRTPS_DEFAULT_PROFILES_FILE and others would change a middleware against its profile, and
# LD_LIBRARY_PATH of a sourced ROS 2 would change the library that it loads. The description of a
# worker names the variables that it needs.
INHERITED_VARIABLES = ("PATH",)


class HostBroken(Exception):
    """A host could not be made, or its init ended by itself, at `step`."""

    def __init__(self, step: str, error_number: int | None = None):
        self.step, self.errno = step, error_number
        super().__init__(f"{step}: {os.strerror(error_number)}" if error_number else step)


class Container(NamedTuple):
    """The namespaces of a process with mounts, /tmp and PIDs of its own: with `own_ipc` also IPC
    and a /dev/shm of `shm_bytes` (read-only where 0), and with a `uid` other than 0 a user of its
    own."""

    own_ipc: bool
    shm_bytes: int = 0
    uid: int = 0


class Scheduling(NamedTuple):
    """The scheduling of a process and all its threads: SCHED_FIFO with `fifo_priority` (0: the
    usual policy), on these `processors` alone (empty: on all), with its memory `locked`."""

    fifo_priority: int
    processors: tuple[int, ...]
    locked: bool


class Spawned(NamedTuple):
    """A process runs. `token` is the caller's name for it, `inner_pid` its PID in the host, and
    `pid` its PID here, None where it is on another machine."""

    token: str
    inner_pid: int
    pid: int | None


class SpawnFailed(NamedTuple):
    """A process could not be started."""

    token: str
    errno: int


class Exited(NamedTuple):
    """A process has ended; `status` is a wait status (os.WIFSIGNALED …)."""

    inner_pid: int
    status: int


class Configured(NamedTuple):
    """The result of `configure`: the step that failed and its errno, or None; the answers of
    netlink, in order; the texts of the files that were read; and the time at which all changes were
    in force (our CLOCK_MONOTONIC)."""

    token: str
    failed: tuple[str, int] | None
    answers: list[bytes]
    texts: dict[str, bytes | None]
    time_ns: int


class Host:
    """A host in namespaces of its own. Use it as a context manager, or `close()` it; it also ends
    when this process ends in any way.

    With `tap`, its `eth0` is a TAP device without address, whose descriptor is in `tap_fd` once the
    host is ready; `beside` are the names of further TAP devices, whose descriptors are then in
    `beside_fds` and whose indices are in `beside_devices`. With `shared`, its network is that of
    this process, and all else is its own. `targets` is the bound of descriptor numbers that its
    processes may be given. `clock_offset_s` is how far CLOCK_MONOTONIC of its processes is ahead of
    ours: with it, two clocks are compared on one machine as on two. `removes` is a directory that
    is removed when the host ends.

    Every process of the host gets `environment` besides the variables of its caller, and
    `directory` as its home and for temporary files; `domain_id` is the host's DDS domain.
    """

    kind: ClassVar[str] = "own"
    directory: str = "/tmp"
    environment: Mapping[str, str] = MappingProxyType({})
    domain_id: int = 0
    device_name: str = "eth0"
    """The device that leads to other hosts, where there are some."""

    def __init__(
        self,
        name: str,
        *,
        tap: bool = False,
        beside: Sequence[str] = (),
        shared: bool = False,
        targets: int = TARGETS,
        clock_offset_s: int = 0,
        removes: Path | None = None,
    ):
        self.name = name
        self.clock_offset_ns = clock_offset_s * 1_000_000_000
        self.user_namespace: bool | None = None
        self.tap_fd: int | None = None
        self.device: int | None = None
        self.beside_fds: dict[str, int] = {}
        self.beside_devices: dict[str, int] = {}
        self._beside = tuple(beside)
        self._removes = removes
        self._ready = False
        self._socket, init_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        device = "shared" if shared else ",".join(("tap", *self._beside)) if tap else "veth"
        command, inherited_fds = self._command(init_end.fileno(), targets, device, clock_offset_s)
        raise_file_limit()
        with init_end:
            self._init = subprocess.Popen(
                [sys.executable, "-I", "-S", "-E", *command],
                pass_fds=[init_end.fileno(), *inherited_fds],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C in the terminal is for the orchestrator
                cwd="/",
                env={marker.VARIABLE: marker.own_marker(name).text(), "PATH": os.defpath},
            )

    def _command(
        self, fd: int, targets: int, device: str, clock_offset_s: int
    ) -> tuple[list[str], list[int]]:
        """The program of the init with its arguments, and further descriptors that it inherits."""
        self.shm_bytes, tmp_bytes = tmpfs_bytes()
        return [
            _INIT,
            *map(str, (fd, self.shm_bytes, tmp_bytes, targets, device, clock_offset_s)),
            str(self._removes or ""),
            *trial_view.roots(),
        ], []

    def __enter__(self) -> "Host":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """For a selector: readable when `receive` has something to say."""
        return self._socket.fileno()

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Returns once processes can be spawned. Raises HostBroken."""
        if self._ready:
            return
        self._socket.settimeout(timeout_s)
        try:
            message, _ = self._message()
        except TimeoutError:
            raise HostBroken(
                f"the init of host {self.name} did not answer within {timeout_s:.3g} s"
            ) from None
        finally:
            self._socket.settimeout(None)
        if message is None:
            raise HostBroken(
                f"the init of host {self.name} ended at once with status {self._init.wait()}"
            )
        if "failed" in message:
            raise HostBroken(message["step"], message["errno"])
        self._ready = True
        self.user_namespace = message["user_namespace"]
        self.device = message["device"]
        self.beside_devices = dict(zip(self._beside, message.get("beside", ()), strict=True))

    def spawn(
        self,
        token: str,
        executable: Path,
        arguments: Sequence[str],
        fds: Mapping[int, int],
        env: Mapping[str, str],
        container: Container | None = None,
        scheduling: Scheduling | None = None,
    ) -> None:
        """Requests a process, in a container of its own where one is given; `receive` reports the
        outcome. A `scheduling` that the kernel refuses is not reported: read it back.

        `fds` maps a number in the new process (below `targets`) to a descriptor of ours; 0 is
        /dev/null unless given. The executable is opened here, because the host has a /tmp of its
        own and the program may lie in ours (rmwbench/lab/trial_view.py has its other needs). Raises
        UserError where the executable cannot be opened.
        """
        try:
            executable_fd = os.open(executable, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            # A host needs none of its imports otherwise.
            from rmwbench.lab.middleware.workspace import build_command

            raise UserError(
                "cannot run this program",
                where=str(executable),
                actual=error.strerror,
                fix=build_command(),
            ) from None
        try:
            request: dict[str, object] = {
                "spawn": token,
                "argv": [str(executable), *arguments],
                "targets": list(fds),
                "env": {**self._base_environment(), **self.environment, **env},
                "directory": self.directory,
            }
            request |= {"container": container._asdict()} if container else {}
            request |= {"scheduling": scheduling._asdict()} if scheduling else {}
            self._send(request, [executable_fd, *fds.values()])
        finally:
            os.close(executable_fd)

    def _base_environment(self) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
        return inherited | {"HOME": self.directory, "TMPDIR": self.directory, "LANG": "C.UTF-8"}

    def interpret(
        self, token: str, source: str, arguments: Sequence[str], fds: Mapping[int, int]
    ) -> None:
        """Requests a process that runs a Python program with `arguments` in ARGUMENTS. It may use
        the modules in C of the standard library. `receive` reports the outcome."""
        request = {"spawn": token, "source": source, "argv": list(arguments), "targets": list(fds)}
        self._send(request, list(fds.values()))

    def configure(
        self,
        token: str,
        messages: Sequence[NetlinkMessage] = (),
        writes: Sequence[Write] = (),
        reads: Sequence[str] = (),
    ) -> None:
        """Requests `writes`, `messages` and `reads`, in this order; `receive` has the
        Configured."""
        self._send(
            {
                "configure": token,
                "messages": [tuple(message) for message in messages],
                "writes": [tuple(write) for write in writes],
                "reads": list(reads),
            }
        )

    def _send(self, request: dict[str, Any], fds: Sequence[int] = ()) -> None:
        try:
            socket.send_fds(self._socket, [marshal.dumps(request)], list(fds))
        except (BrokenPipeError, ConnectionResetError):
            raise HostBroken(f"the init of host {self.name} is gone") from None

    def signal(self, inner_pid: int, number: int) -> None:
        """Sends a signal to a process that the host started, by its inner PID; a process that has
        ended is ignored. Raises HostBroken when the init has ended."""
        self._send({"signal": int(number), "pid": inner_pid})

    def receive(self, timeout_s: float = 0.0) -> Spawned | SpawnFailed | Exited | Configured | None:
        """Returns the next report, or None when there is none within the time. Raises HostBroken
        when the init has ended."""
        self._socket.settimeout(timeout_s)
        try:
            message, pid = self._message()
        except (BlockingIOError, TimeoutError):
            return None
        finally:
            self._socket.settimeout(None)
        if message is None:
            raise HostBroken(
                f"the init of host {self.name} ended by itself with status {self._init.wait()}"
            )
        if "spawned" in message:
            return Spawned(message["spawned"], message["pid"], pid)
        if "spawn_failed" in message:
            return SpawnFailed(message["spawn_failed"], message["errno"])
        if "configured" in message:
            return Configured(
                message["configured"],
                message["failed"],
                message["answers"],
                message["texts"],
                message["time_ns"] - self.clock_offset_ns,
            )
        return Exited(message["exited"], message["status"])

    def _message(self) -> tuple[dict[str, Any] | None, int]:
        """Receives a message and the PID of its sender here; (None, 0) at the end of file."""
        try:
            data, control, _, _ = self._socket.recvmsg(
                _MESSAGE_BYTES,
                socket.CMSG_SPACE(12) + socket.CMSG_SPACE(4 * (1 + len(self._beside))),
                socket.MSG_CMSG_CLOEXEC,
            )
        except ConnectionResetError:
            return None, 0
        if not data:
            return None, 0
        for _, kind, payload in control:
            if kind == socket.SCM_RIGHTS:
                self.tap_fd, *beside = struct.unpack(f"{len(payload) // 4}i", payload)
                self.beside_fds = dict(zip(self._beside, beside, strict=True))
        pids = [
            struct.unpack("3i", payload)[0]
            for _, kind, payload in control
            if kind == socket.SCM_CREDENTIALS
        ]
        return marshal.loads(data), pids[0] if pids else 0

    def open_network(self) -> int:
        """Opens the host's network namespace; the caller closes the descriptor. Raises OSError, for
        example without root where the host has a user namespace of its own."""
        return os.open(f"/proc/{self._init.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def outside_path(self, path: str) -> Path:
        """The path of a file of the host's mounts, as seen from here while its init lives."""
        return Path(f"/proc/{self._init.pid}/root{path}")

    def close_tap(self) -> None:
        """Closes our copies of the TAP devices' descriptors."""
        while self.beside_fds:
            os.close(self.beside_fds.popitem()[1])
        if self.tap_fd is not None:
            os.close(self.tap_fd)
            self.tap_fd = None

    def leave(self) -> None:
        """Begins the end of every process of the host, which `close` waits for."""
        self._socket.close()
        self.close_tap()

    def close(self, timeout_s: float = 5.0) -> None:
        """Ends every process of the host and waits until they are gone; may be called twice."""
        self.leave()
        if self._init.returncode is None:
            # Popen.wait with a time-out sleeps for up to 50 ms at a time; a pidfd wakes at once.
            ended = os.pidfd_open(self._init.pid)
            try:
                waiting = select.poll()
                waiting.register(ended, select.POLLIN)
                if not waiting.poll(1000 * timeout_s):
                    self._init.kill()
            finally:
                os.close(ended)
        self._init.wait()


def check_tap() -> None:
    """Checks that hosts can be joined by a network here. Raises UserError if not."""
    ready_host(lambda: Host("check", tap=True)).close()


def ready_host(make_host: Callable[[], Host]) -> Host:
    """Makes a host and waits until it is ready. Raises UserError, and ends the host then."""
    host = None
    try:
        host = make_host()
        host.wait_ready()
    except HostBroken as broken:
        if host is not None:
            host.close()
        raise advice(broken) from None
    return host


def advice(broken: HostBroken) -> UserError:
    """The error that tells what is missing on this machine, and what to do."""
    step, _, target = broken.step.partition(" ")
    if step == "mount" and broken.errno in (errno.ENOENT, errno.ENOTDIR):
        return UserError(
            f"there is no directory {target} for a host to put its own over",
            where=target,
            expected="a directory",
            actual=os.strerror(broken.errno),
            fix=f"as root: mkdir -m 1777 {target}",
        )
    if step == "open" or broken.step.endswith("a TAP device"):
        return _no_tap(broken)
    switches = ["kernel.unprivileged_userns_clone=1", "user.max_user_namespaces=10000"]
    if file_text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        switches = ["kernel.apparmor_restrict_unprivileged_userns=0"]
    container = "--cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined"
    container += " --security-opt apparmor=unconfined"
    denied = broken.errno in (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EUSERS)
    fix = (
        f"run as root, or as root once `sysctl -w {' '.join(switches)}`; in a container add "
        f"{container}"
    )
    return UserError(
        "cannot make the isolated host that every trial runs in",
        where=broken.step,
        expected="CAP_SYS_ADMIN and CAP_NET_ADMIN, or user namespaces for this user",
        actual=os.strerror(broken.errno) if broken.errno else str(broken),
        fix=fix if denied else None,
    )


def _no_tap(broken: HostBroken) -> UserError:
    """The error for a machine on which hosts can be made, but no network between them."""
    device = "/dev/net/tun"
    if broken.errno in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        fix = f"as root: modprobe tun; in a container add --device {device}"
    elif broken.errno in (errno.EACCES, errno.EPERM):
        fix = f"as root: chmod 0666 {device}, as most distributions have it, or run as root"
    else:
        fix = None
    return UserError(
        "workloads over several hosts need TAP devices, which cannot be made here; workloads on "
        "one host still run",
        where=broken.step,
        expected=f"{device}, open to this user",
        actual=os.strerror(broken.errno) if broken.errno else str(broken),
        fix=fix,
    )


ENOUGH_FILES = 65_536
"""It is no higher, because some programs close all possible descriptors one by one."""


def attainable_file_limit() -> int:
    """The limit of open files that a process of a trial gets. A user's limit is often 1 024, though
    the kernel lets every process raise its own to a far higher hard limit. Twenty nodes of iceoryx2
    in one process need more than 1 024, and a campaign holds some files of each worker."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY in (soft, hard)
    return ENOUGH_FILES if unlimited else max(soft, min(hard, ENOUGH_FILES))


def raise_file_limit() -> None:
    """Raises the limit of open files for this process and those that it starts from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = attainable_file_limit()
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def tmpfs_bytes() -> tuple[int, int]:
    """The limits of /dev/shm and /tmp, so that a leak fails before the machine swaps."""
    available = available_memory_bytes()
    return available // 2, available // 4


def available_memory_bytes() -> int:
    """The memory that is available to this process, within the limits of its container. Raises
    HostBroken where the kernel does not tell."""
    available, in_group = meminfo_bytes().get("MemAvailable"), group_memory_bytes()
    if available is None:
        raise HostBroken("no MemAvailable in /proc/meminfo")
    return available if in_group is None else min(available, in_group)
