"""The init of a host: it makes the namespaces, is their PID 1, starts processes on request, and
ends everything in them when it ends.

Run as `python -I -S -E init.py FD SHM_BYTES TMP_BYTES FIRST_FREE_FD DEVICE CLOCK_OFFSET_S REMOVED
[VISIBLE…]`. FD is a SOCK_SEQPACKET socket to the orchestrator. DEVICE is the kind of `eth0`: `veth`
for a lone host, with address and route; `tap` for one of several hosts, whose descriptor goes to
the orchestrator and whose settings come from there; `tap,NAME,…` with further devices of the same
kind; `shared` where the host's network is the machine's own, and no device is made. REMOVED is a
directory that is removed at the end, or empty. VISIBLE are paths below /tmp and /dev/shm that stay
where they are (rmwbench/lab/trial_view.py). Decisions:

* It uses the modules in C of the standard library alone (`marshal`, `_socket`): a start must cost
  milliseconds, and `json` or `socket` alone would double it. marshal needs the same interpreter at
  both ends, which is the case.
* The network is made over netlink, not with `ip`: a minimal container has no iproute2, and netlink
  is faster. The orchestrator composes the messages for a host among several (rmwbench/lab/network);
  the init sends them, because they must be sent from within the namespaces.
* End of file on FD ends PID 1, and the kernel then kills every process of the PID namespace: no
  list of children is needed, and a SIGKILL of the orchestrator cleans up like an orderly end.

Messages are marshalled dicts. To the init: {"spawn", "argv", "env", "directory", "targets"} with
descriptors [executable, one per target number]; with "container": {"own_ipc", "shm_bytes", "uid"}
the process gets a container of its own, and with "scheduling": {"fifo_priority", "processors",
"locked"} a scheduling of its own; "source" in place of the executable is a program in Python, run
in a fork of this process. {"signal", "pid"} signals a process that was started so. {"configure",
"writes": [(path, bytes, required)], "messages": [(step, kind, flags, body)], "reads": [path]} are
requests of rtnetlink(7) and files of /proc/sys. {"hold"} has descriptors to keep open. From the
init: {"ready"} (with the index of a TAP device, and its descriptor), {"failed", "step", "errno"},
{"spawned", "pid"} (sent by the child itself before it executes, so that the socket's credentials
carry its PID as the orchestrator sees it), {"spawn_failed", "errno"}, {"exited": PID, "status"} (a
wait status), {"configured", "failed": None or (step, errno), "answers": [bytes], "texts": {path:
bytes or None}, "time_ns"}.
"""
# ruff: noqa: SIM105 (contextlib would cost a millisecond at every start)

import _signal
import _socket
import ctypes
import marshal
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # an import of `typing` would cost milliseconds at every start
    from collections.abc import Callable
    from typing import Any

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWTIME = 0x20000000, 0x40000000, 0x00000080
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_REC, MS_PRIVATE = 16384, 1 << 18
PR_SET_PDEATHSIG, SIGKILL, SIGPIPE = 1, 9, 13
RLIMIT_MEMLOCK = 8
EPERM = 1
MESSAGE_BYTES = 1 << 18
MOST_FDS = 253  # of one message (SCM_MAX_FD)

ADDRESS, PREFIX = bytes([10, 77, 0, 1]), 24
GATEWAY = bytes([10, 77, 0, 254])
DEVICE, PEER = b"eth0", b"eth0-peer"
MACHINE_ID = "/etc/machine-id"
TUN, TUNSETIFF, IFF_TAP, IFF_NO_PI = "/dev/net/tun", 0x400454CA, 2, 0x1000

_libc = ctypes.CDLL(None, use_errno=True)
_visible: list[str] = []
"""Paths of the machine that this host sees below its own /tmp and /dev/shm, as its containers do."""


class StepFailed(Exception):
    def __init__(self, step: str, errno: int | None):
        self.step, self.errno = step, errno


def call(step: str, function: "Callable[..., int]", *arguments: object) -> None:
    if function(*arguments) != 0:
        raise StepFailed(step, ctypes.get_errno())


def write(path: str, text: bytes) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)


def unshare(flags: int) -> bool:
    """Moves this process into new namespaces. Returns whether that took a user namespace."""
    if _libc.unshare(flags) == 0:
        return False
    if ctypes.get_errno() != EPERM:
        raise StepFailed("unshare", ctypes.get_errno())
    uid, gid = os.geteuid(), os.getegid()
    call("unshare with a user namespace", _libc.unshare, flags | CLONE_NEWUSER)
    try:
        write("/proc/self/setgroups", b"deny")
        write("/proc/self/uid_map", b"0 %d 1" % uid)
        write("/proc/self/gid_map", b"0 %d 1" % gid)
    except OSError as error:
        raise StepFailed("user id map", error.errno) from None
    return True


def shift_clock(seconds: int) -> None:
    """Shifts CLOCK_MONOTONIC of all processes forked from now on (time_namespaces(7))."""
    try:
        write("/proc/self/timens_offsets", b"monotonic %d 0\n" % seconds)
    except OSError as error:
        raise StepFailed("set the clock's offset", error.errno) from None


def mount(
    step: str,
    source: bytes | None,
    target: bytes,
    kind: bytes | None,
    flags: int,
    data: bytes | None = None,
) -> None:
    call(step, _libc.mount, source, target, kind, ctypes.c_ulong(flags), data)


def make_mounts(shm_bytes: int, tmp_bytes: int, visible: list[str]) -> None:
    _visible.extend(visible)
    mount("private mounts", None, b"/", None, MS_REC | MS_PRIVATE)
    mount_tmpfs("/dev/shm", shm_bytes)
    mount_tmpfs("/tmp", tmp_bytes)


def mount_tmpfs(target: str, size_bytes: int | None = None, read_only: bool = False) -> None:
    """Mounts a file system in memory that everybody may write to, of the kernel's usual size where
    None is given. The visible paths below `target` are bound into it, as writable as they were."""
    name, size = target.rpartition("/")[2], "" if size_bytes is None else f",size={size_bytes}"
    step, data = f"mount {target}", f"mode=1777{size}".encode()
    flags = MS_NOSUID | MS_NODEV
    visible = [(path, open_path(path)) for path in _visible if path.startswith(target + "/")]
    mount(step, name.encode(), target.encode(), b"tmpfs", flags, data)
    for path, fd in visible:
        bind(path, fd)
    if read_only:
        flags |= MS_REMOUNT | MS_RDONLY
        mount(step, name.encode(), target.encode(), b"tmpfs", flags, data)


def own_machine_id() -> None:
    """Gives the host a machine id of its own where the machine has one. Several hosts are different
    machines: Fast DDS 3 takes two with the same id for one machine, and looks for the addresses of
    the other on its own loopback."""
    if not os.path.exists(MACHINE_ID):
        return
    source = "/tmp/machine-id"
    with open(source, "w") as file:
        file.write(os.urandom(16).hex() + "\n")
    mount("own machine id", source.encode(), MACHINE_ID.encode(), None, MS_BIND)
    os.unlink(source)


def open_path(path: str) -> int:
    try:
        return os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        raise StepFailed(f"keep {path}", error.errno) from None


def bind(path: str, fd: int) -> None:
    """Puts the opened directory or file at that path, which is below a mount of ours."""
    step = f"keep {path}"
    try:
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC))
        source = f"/proc/self/fd/{fd}".encode()
        mount(step, source, os.fsencode(path), None, MS_BIND | MS_REC)
    except OSError as error:
        raise StepFailed(step, error.errno) from None
    finally:
        os.close(fd)


def mount_own_proc() -> None:
    """Lets /proc show this PID namespace; a container that forbids it keeps its own."""
    flags = ctypes.c_ulong(MS_NOSUID | MS_NODEV | MS_NOEXEC)
    _libc.mount(b"proc", b"/proc", b"proc", flags, None)


# --- the network, as netlink messages (rtnetlink(7)) ---


def u16(value: int) -> bytes:
    return value.to_bytes(2, sys.byteorder)


def u32(value: int) -> bytes:
    return value.to_bytes(4, sys.byteorder)


def attribute(kind: int, value: bytes) -> bytes:
    return u16(4 + len(value)) + u16(kind) + value + bytes(-len(value) % 4)


RTM_NEWLINK, RTM_NEWADDR, RTM_NEWROUTE = 16, 20, 24
NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE_EXCL = 1, 4, 0x600
NLMSG_ERROR, NLMSG_DONE = 2, 3
IFF_UP = 1
AF_INET = _socket.AF_INET


def link(index: int, up: bool, *attributes: bytes) -> bytes:
    """The body of a link message; index 0 with a name attribute makes a new device."""
    flags = u32(IFF_UP if up else 0)
    return bytes(4) + u32(index) + flags + flags + b"".join(attributes)


def netlink(step: str, sock: _socket.socket, kind: int, flags: int, body: bytes) -> bytes:
    """Sends one request. Returns the messages before its end. Raises StepFailed."""
    sock.send(
        u32(16 + len(body)) + u16(kind) + u16(NLM_F_REQUEST | NLM_F_ACK | flags) + bytes(8) + body
    )
    answer = b""
    while True:
        data = sock.recv(1 << 16)
        while data:
            size = int.from_bytes(data[:4], sys.byteorder)
            type_ = int.from_bytes(data[4:6], sys.byteorder)
            if type_ in (NLMSG_ERROR, NLMSG_DONE):
                code = int.from_bytes(data[16:20], sys.byteorder, signed=True)
                if code:
                    raise StepFailed(step, -code)
                return answer
            answer += data[:size]
            data = data[size + -size % 4 :]


def netlink_socket() -> _socket.socket:
    sock = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW, 0)
    sock.bind((0, 0))
    return sock


def make_loopback() -> _socket.socket:
    # Without this the link-local address stays tentative for a second or two, and the change would
    # fall into a trial.
    for key in ("accept_dad", "router_solicitations"):
        for scope in ("all", "default"):
            try:
                write(f"/proc/sys/net/ipv6/conf/{scope}/{key}", b"0")
            except OSError:
                pass  # a kernel without IPv6, or a read-only /proc/sys as in a container
    sock = netlink_socket()
    netlink("lo up", sock, RTM_NEWLINK, 0, link(1, True))
    return sock


def make_tap(device: bytes) -> tuple[int, int]:
    """Makes a TAP device. Returns its descriptor and its index."""
    try:
        fd = os.open(TUN, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise StepFailed("open " + TUN, error.errno) from None
    request = device.ljust(16, b"\0") + u16(IFF_TAP | IFF_NO_PI) + bytes(22)
    if _libc.ioctl(fd, ctypes.c_ulong(TUNSETIFF), request) < 0:
        raise StepFailed("make " + device.decode() + " a TAP device", ctypes.get_errno())
    return fd, _socket.if_nametoindex(device.decode())


def make_network() -> None:
    sock = make_loopback()
    name, info, info_kind, info_data, peer_info = 3, 18, 1, 2, 1
    # IFLA_AF_SPEC > AF_INET6 > IFLA_INET6_ADDR_GEN_MODE = NONE
    address_generation, none = 26, attribute(8, b"\x01")
    peer = bytes(16) + attribute(name, PEER + b"\0")
    veth = attribute(info_kind, b"veth") + attribute(info_data, attribute(peer_info, peer))
    body = link(0, False, attribute(name, DEVICE + b"\0"), attribute(info, veth))
    netlink("make eth0", sock, RTM_NEWLINK, NLM_F_CREATE_EXCL, body)
    device, other = _socket.if_nametoindex(DEVICE.decode()), _socket.if_nametoindex(PEER.decode())
    quiet = attribute(address_generation, attribute(_socket.AF_INET6, none))
    try:
        netlink("eth0-peer without address", sock, RTM_NEWLINK, 0, link(other, False, quiet))
    except StepFailed:
        pass  # a kernel without IPv6 has no address to withhold
    netlink("eth0-peer up", sock, RTM_NEWLINK, 0, link(other, True))
    netlink("eth0 up", sock, RTM_NEWLINK, 0, link(device, True))
    local, broadcast = ADDRESS, ADDRESS[:3] + b"\xff"
    body = bytes([AF_INET, PREFIX, 0, 0]) + u32(device)
    body += attribute(1, local) + attribute(2, local) + attribute(4, broadcast)
    netlink("address of eth0", sock, RTM_NEWADDR, NLM_F_CREATE_EXCL, body)
    main_table, static, universe, unicast = 254, 4, 0, 1
    body = bytes([AF_INET, 0, 0, 0, main_table, static, universe, unicast]) + u32(0)
    body += attribute(5, GATEWAY) + attribute(4, u32(device))
    netlink("default route", sock, RTM_NEWROUTE, NLM_F_CREATE_EXCL, body)
    sock.close()


# --- PID 1 ---


def receive(sock: _socket.socket) -> "tuple[dict[str, Any] | None, list[int]]":
    """Receives a message and its descriptors; (None, []) at the end of file."""
    room = _socket.CMSG_SPACE(MOST_FDS * 4)
    data, control, _, _ = sock.recvmsg(MESSAGE_BYTES, room, _socket.MSG_CMSG_CLOEXEC)
    if not data:
        return None, []
    fds = []
    for level, kind, payload in control:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds += [
                int.from_bytes(payload[i : i + 4], sys.byteorder)
                for i in range(0, len(payload) - 3, 4)
            ]
    return marshal.loads(data), fds


def spawn(sock: _socket.socket, request: "dict[str, Any]", fds: list[int]) -> int:
    program, container = request.get("source"), request.get("container")
    sources = fds if program is not None else fds[1:]
    init_pid, (pid_reader, pid_writer) = os.getpid(), os.pipe()
    try:
        pid = fork_into_own_pids() if container else os.fork()
    except (OSError, StepFailed):
        close_all((*fds, pid_reader, pid_writer))
        raise
    if pid:
        os.write(pid_writer, b"%d" % pid)
        close_all((*fds, pid_reader, pid_writer))
        return pid
    try:
        _libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)  # for a host without a PID namespace
        if os.getppid() not in (init_pid, 0):  # 0: the parent is in another PID namespace
            os._exit(127)  # the init was killed before that was in force
        os.setsid()
        # Python ignores SIGPIPE, and an ignored signal stays ignored across exec.
        _libc.signal(SIGPIPE, None)
        # The PID in the host: within a container of its own, the process sees itself as 1.
        pid = int(os.read(pid_reader, 16))
        if request.get("scheduling"):
            schedule(**request["scheduling"])  # while it is root
        if container:
            enter_container(**container)
        sock.send(marshal.dumps({"spawned": request["spawn"], "pid": pid}))
        for source, target in zip(sources, request["targets"]):  # noqa: B905
            os.dup2(source, target)
        if program is not None:
            interpret(program, request)
        else:
            os.chdir(request["directory"])
            execute(fds[0], request["argv"], request["env"])
    except (OSError, StepFailed) as error:
        sock.send(marshal.dumps({"spawn_failed": request["spawn"], "errno": error.errno}))
    finally:
        os._exit(127)


def close_all(fds: tuple[int, ...] | list[int]) -> None:
    for fd in fds:
        os.close(fd)


def fork_into_own_pids() -> int:
    """Forks as os.fork does; the child is PID 1 of a namespace of its own."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        call("unshare PIDs for a container", _libc.unshare, CLONE_NEWPID)
        try:
            return os.fork()
        finally:
            _libc.setns(own, CLONE_NEWPID)  # for the next child; of the child itself it is refused
    finally:
        os.close(own)


def enter_container(own_ipc: bool, shm_bytes: int, uid: int) -> None:
    """Gives this process, PID 1 of its namespace, what `docker run --network=host` gives: mounts
    and a /tmp of its own, and with `own_ipc` also IPC and a /dev/shm of `shm_bytes`, which is
    read-only where that is 0."""
    call("unshare for a container", _libc.unshare, CLONE_NEWNS | (CLONE_NEWIPC if own_ipc else 0))
    mount("private mounts", None, b"/", None, MS_REC | MS_PRIVATE)
    if own_ipc:
        mount_tmpfs("/dev/shm", max(shm_bytes, 4096), read_only=not shm_bytes)
    mount_tmpfs("/tmp")
    mount_own_proc()
    if uid:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        _libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)  # a change of user had reset it


def schedule(fifo_priority: int, processors: tuple[int, ...], locked: bool) -> None:
    """Schedules this process as asked, before it executes its program, whose threads inherit that.
    A refusal is not reported, since it can be read from outside. The limit on locked memory is
    lifted; the program itself locks its memory."""
    try:
        if processors:
            os.sched_setaffinity(0, processors)
        if fifo_priority:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(fifo_priority))
    except OSError:
        pass
    if locked:
        _libc.prlimit(0, RLIMIT_MEMLOCK, b"\xff" * 16, None)


def execute(executable: int, argv: list[str], env: dict[str, str]) -> None:
    """Becomes the opened program. Raises OSError."""
    try:
        os.execve(executable, argv, env)
    except FileNotFoundError:
        # The interpreter of a script, or an emulator (binfmt_misc), opens the file as /dev/fd/N.
        os.set_inheritable(executable, True)
        os.execve(executable, argv, env)


def interpret(source: str, request: "dict[str, Any]") -> None:
    """Runs a program in this process, without a new interpreter, and ends the process."""
    status = 1
    try:
        exec(
            compile(source, request["spawn"], "exec"),
            {"__name__": "__main__", "ARGUMENTS": request["argv"]},
        )
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def configure(request: "dict[str, Any]") -> "dict[str, Any]":
    """Carries out the steps of the orchestrator in order, until one fails."""
    failed: tuple[str, int | None] | None = None
    answers: list[bytes] = []
    texts: dict[str, bytes | None] = {}
    try:
        for path, text, required in request["writes"]:
            try:
                write(path, text)
            except OSError as error:
                if required:
                    raise StepFailed(path, error.errno) from None
        if request["messages"]:
            sock = netlink_socket()
            for step, kind, flags, body in request["messages"]:
                answers.append(netlink(step, sock, kind, flags, body))
            sock.close()
    except StepFailed as failure:
        failed = (failure.step, failure.errno)
    done_ns = time.monotonic_ns()
    for path in request["reads"]:
        try:
            with open(path, "rb") as file:
                texts[path] = file.read()
        except OSError:
            texts[path] = None
    return {
        "configured": request["configure"], "failed": failed, "answers": answers, "texts": texts, "time_ns": done_ns,
    }  # fmt: skip


def serve(sock: _socket.socket, before_signal: "Callable[[int, int], None] | None" = None) -> None:
    """Serves requests until the end of file, and reaps children, orphans among them.
    `before_signal` is called with each signal (PID, number) before it is sent."""
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    watched: dict[int, int] = {}  # pidfd -> pid
    while True:
        for fd, _ in poll.poll():
            if fd in watched:
                poll.unregister(fd)
                os.close(fd)
                del watched[fd]
                continue
            request, fds = receive(sock)
            if request is None:
                return
            if "spawn" in request:
                try:
                    pid = spawn(sock, request, fds)
                except (OSError, StepFailed) as error:
                    sock.send(
                        marshal.dumps({"spawn_failed": request["spawn"], "errno": error.errno})
                    )
                    continue
                fd = os.pidfd_open(pid)
                watched[fd] = pid
                poll.register(fd, select.POLLIN)
            elif "configure" in request:
                sock.send(marshal.dumps(configure(request)))
            elif "hold" in request:
                pass  # its descriptors stay open as long as this process lives
            elif "signal" in request:
                if before_signal:
                    before_signal(request["pid"], request["signal"])
                signal_watched(watched, request["pid"], request["signal"])
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            sock.send(marshal.dumps({"exited": pid, "status": status}))


def signal_watched(watched: dict[int, int], pid: int, number: int) -> None:
    """Sends a signal by the pidfd, since the PID of an ended process may be used again."""
    fd = next((fd for fd, child in reversed(watched.items()) if child == pid), None)
    if fd is not None:
        try:
            _signal.pidfd_send_signal(fd, number)
        except ProcessLookupError:
            pass


def remove(directory: str) -> None:
    """Removes a directory, or the part of it that can be removed while others still write there."""
    for path, _, names in os.walk(directory, topdown=False):
        try:
            for name in names:
                os.unlink(os.path.join(path, name))
            os.rmdir(path)
        except OSError:
            pass


def inherited_socket(fd: int) -> _socket.socket:
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fd)
    os.set_inheritable(fd, False)
    return sock


def leave_room(first_free_fd: int) -> None:
    """Takes all descriptors below a number. Targets are below it and received descriptors above, so
    dup2 never overwrites a descriptor that is still needed."""
    while True:
        spare = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        if spare >= first_free_fd:
            os.close(spare)
            break


def run_before_the_orchestrator() -> None:
    """Lets the kernel kill a worker before the orchestrator when memory runs out."""
    try:
        write("/proc/self/oom_score_adj", b"500")
    except OSError:
        pass


def make_host(
    device: str, clock_offset_s: int, shm_bytes: int, tmp_bytes: int, visible: list[str]
) -> tuple[bool, list[tuple[int, int]]]:
    """Makes the namespaces with their mounts and their network. Returns whether that took a user
    namespace, and the descriptor and the index of each TAP device. Raises StepFailed."""
    kind, *beside = device.split(",")
    own_network = kind != "shared"
    flags = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID
    flags |= (CLONE_NEWTIME if clock_offset_s else 0) | (CLONE_NEWNET if own_network else 0)
    user_namespace = unshare(flags)
    if clock_offset_s:
        shift_clock(clock_offset_s)
    make_mounts(shm_bytes, tmp_bytes, visible)
    taps = []
    if kind == "tap":
        own_machine_id()
        make_loopback().close()
        taps = [make_tap(name) for name in (DEVICE, *(name.encode() for name in beside))]
    elif own_network:
        make_network()
    return user_namespace, taps


def send_ready(sock: _socket.socket, user_namespace: bool, taps: list[tuple[int, int]]) -> None:
    """Tells the orchestrator that the host is ready, and gives it the TAP devices."""
    ready = marshal.dumps(
        {
            "ready": True,
            "user_namespace": user_namespace,
            "device": taps[0][1] if taps else None,
            "beside": [index for _, index in taps[1:]],
        }
    )
    if taps:
        fds = b"".join(fd.to_bytes(4, sys.byteorder) for fd, _ in taps)
        sock.sendmsg([ready], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
    else:
        sock.send(ready)
    close_all([fd for fd, _ in taps])


def main() -> int:
    fd, shm_bytes, tmp_bytes, first_free_fd = (int(text) for text in sys.argv[1:5])
    device, clock_offset_s = sys.argv[5], int(sys.argv[6])
    removed, visible = sys.argv[7], sys.argv[8:]
    sock = inherited_socket(fd)
    leave_room(first_free_fd)
    try:
        run_before_the_orchestrator()
        user_namespace, taps = make_host(device, clock_offset_s, shm_bytes, tmp_bytes, visible)
        pid = os.fork()
    except StepFailed as failure:
        sock.send(marshal.dumps({"failed": True, "step": failure.step, "errno": failure.errno}))
        return 1
    if pid:
        sock.close()
        close_all([fd for fd, _ in taps])
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status) & 0xFF
    # a signal that kills the outer process kills the host
    _libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    mount_own_proc()
    send_ready(sock, user_namespace, taps)
    serve(sock)
    if removed:
        remove(removed)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
