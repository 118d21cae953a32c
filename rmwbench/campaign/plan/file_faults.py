"""The reasons why a user's own profile file cannot be tried here, each in one sentence before any
trial, with a remedy: our hosts do not have everything that a file may name."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rmwbench.campaign.plan.profile import (
    Workers,
    known_daemons,
    needs_of,
    needs_of_profile,
    setups,
)
from rmwbench.campaign.plan.socket_buffers import LIMITS, Kernel, Kernels
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.errors import UserError
from rmwbench.lab.host import HostKind
from rmwbench.lab.middleware import Worker
from rmwbench.lab.profile_file import host_setup
from rmwbench.lab.profile_file.file_needs import (
    FileNeeds,
    OtherMiddlewaresFile,
    Unreadable,
    reachable,
)
from rmwbench.lab.profile_file.readers import family, file_needs
from rmwbench.lab.trial_view import needed_paths
from rmwbench.suite.arm import Side
from rmwbench.suite.cells import Cell
from rmwbench.suite.network.network import KERNEL
from rmwbench.words.numbers import counted

MOST_NAME = 15
"""The most characters of an interface's name (IFNAMSIZ)."""


class FileFaultKind(StrEnum):
    """The kinds of reasons."""

    OF_ANOTHER = "of another middleware"
    BROKEN = "not its format"
    A_DAEMONS = "a daemon's file"
    NO_DAEMON = "no daemon of that kind"
    KERNEL = "kernel limit"
    APART = "nobody connects"
    NAME = "a name nobody resolves"
    NOBODY_LISTENS = "nobody listens"
    SHARED_HOST = "shared host"
    INTERFACE = "interface"
    FOLDER = "folder"
    PARTICIPANTS = "participants of a host"
    PORT = "port of two"
    ADDRESS = "address of two hosts"


@dataclass(frozen=True)
class FileFault:
    """The reason why a process cannot run with its file, and the remedy."""

    kind: FileFaultKind
    process: str
    problem: str
    fix: str


def check(
    cells: Sequence[Cell], workers: Workers, kind: HostKind, places: Places, kernels: Kernels
) -> None:
    """Raise UserError for the first fault."""
    for cell in cells:
        for fault in faults(cell, workers, kind, kernels):
            raise UserError(
                f"arm `{cell.arm.name}`: profile {cell.sides[fault.process].profile.name}: "
                f"{fault.problem}",
                where=places.side(cell, fault.process, "profile"),
                fix=fault.fix,
            )


def faults(cell: Cell, workers: Workers, kind: HostKind, kernels: Kernels) -> Iterator[FileFault]:
    sides_with_file = {
        name: side for name, side in cell.sides.items() if side.profile.text is not None
    }
    for process, side in sides_with_file.items():
        worker = workers[side.middleware]
        yield from _format_faults(process, side)
        needs = needs_of(side)
        yield from _daemon_faults(process, side, needs)
        yield from _kernel_faults(process, needs, kernels.of_process(cell, process))
        if side.modes.keys() & {"discovery", "transport"} or cell.real is not None:
            continue  # the suite or the machines determine how processes connect
        yield from _connection_faults(cell, process, side, needs, worker)
    if sides_with_file and cell.real is None:
        yield from _host_faults(cell, sides_with_file, kind)
        yield from _sharing_faults(cell, sides_with_file)


def renaming_fix(side: Side, refusal: str) -> str | None:
    """Return a remedy for a file that a worker refuses because it names settings as another version
    does: the current name, or the version that reads it."""
    renamed = needs_of(side).renamed
    first = next((setting for setting in renamed if setting.setting in refusal), None) or next(
        iter(renamed), None
    )
    if first is None or side.middleware == first.reader:
        return None
    return (
        f"`{first.setting}` is what versions before {first.since} call it: "
        f"`middleware: {first.reader}` reads this file; today it is {first.today}"
    )


def _format_faults(process: str, side: Side) -> Iterator[FileFault]:
    try:
        file_needs(side.middleware, side.profile.format, side.profile.text or "")
    except OtherMiddlewaresFile as owner:
        yield FileFault(
            FileFaultKind.OF_ANOTHER,
            process,
            f"it is a file of {owner}, and {side.middleware} would read nothing of it",
            "name a file of this middleware's, or the other middleware",
        )
    except Unreadable as mistake:
        yield FileFault(
            FileFaultKind.BROKEN,
            process,
            f"it is not {(side.profile.format or '').upper()}: {mistake}",
            "correct the file",
        )


def _daemon_faults(process: str, side: Side, needs: FileNeeds) -> Iterator[FileFault]:
    if needs.is_daemon is not None:
        yield FileFault(
            FileFaultKind.A_DAEMONS,
            process,
            f"this is a {needs.is_daemon}'s file and not a session's: it is what `daemon:` takes",
            "daemon: {profile: FILE}, beside a session's own file under `profile`",
        )
    if side.daemon is not None and family(side.middleware) not in ("zenoh", "hiroz"):
        yield FileFault(
            FileFaultKind.NO_DAEMON,
            process,
            f"{side.middleware} has no daemon that takes a file",
            "leave `daemon` out: the worker starts its own daemon where the file looks for it",
        )
    elif side.daemon is not None:
        daemon_needs = needs_of_profile(side.middleware, side.daemon.profile)
        if side.daemon.profile.text is not None and daemon_needs.is_daemon is None:
            yield FileFault(
                FileFaultKind.NO_DAEMON,
                process,
                f"`daemon` takes a router's file, and {side.daemon.profile.name} is a session's",
                'a file with `mode: "router"`',
            )


def _kernel_faults(process: str, needs: FileNeeds, kernel: Kernel) -> Iterator[FileFault]:
    """Yield buffers that the kernel does not grant. The kernel counts a buffer twice, for its own
    bookkeeping, and middlewares compare that number with their minimum."""
    minimum_of_side = {"receive": needs.receive_buffer_bytes, "send": needs.send_buffer_bytes}
    for side, minimum in minimum_of_side.items():
        most = kernel.sysctls.get(LIMITS[side])
        if minimum is not None and most is not None and 2 * int(most) < minimum:
            yield FileFault(
                FileFaultKind.KERNEL,
                process,
                f"it does not open with a {side} buffer below {minimum} bytes, and the kernel"
                + (f" of {kernel.machine}" if kernel.machine else "")
                + f" grants {2 * int(most)}",
                f"sysctl -w {LIMITS[side]}={minimum}",
            )


def _connection_faults(
    cell: Cell, process: str, side: Side, needs: FileNeeds, worker: Worker
) -> Iterator[FileFault]:
    if needs.apart is not None:
        yield FileFault(
            FileFaultKind.APART,
            process,
            needs.apart,
            "add it, and run two hosts (`hosts` of a workload)",
        )
    for name in needs.unresolved:
        yield FileFault(
            FileFaultKind.NAME,
            process,
            f"it looks for `{name}` by name, and hosts of a trial resolve none",
            "write its address",
        )
    has_daemons_option = side.options.get("daemons") is not None
    daemon_names = known_daemons(worker)
    for index, name in enumerate(() if has_daemons_option else needs.daemons):
        if name.rpartition("-")[0] in daemon_names or name in daemon_names:
            continue
        at = f" at {needs.servers[index]}" if index < len(needs.servers) else ""
        yield FileFault(
            FileFaultKind.NOBODY_LISTENS,
            process,
            f"nobody listens{at}: {side.middleware} brings "
            f"{' and '.join(sorted(daemon_names)) or 'no daemon'}",
            "name a port that its server can have, 11811 to 11826"
            if name.startswith("port ")
            else "connect to the other host instead",
        )
    local = [server for server in needs.servers if not reachable([server.address])]
    hosts = [process.host for process in cell.processes if cell.sides[process.name] == side]
    own_router = "router" in needs.daemons and not has_daemons_option and "/" not in side.middleware
    if local and len({*hosts}) > 1 and own_router:
        yield FileFault(
            FileFaultKind.NOBODY_LISTENS,
            process,
            f"each host would have a router of its own at {local[0]}, which knows no other router",
            "name the router's host in the file, or take `modes: {discovery: server}`",
        )


def _host_faults(
    cell: Cell, sides_with_file: Mapping[str, Side], kind: HostKind
) -> Iterator[FileFault]:
    setup_of_host = setups(cell)
    process = next(iter(sides_with_file))
    if not setup_of_host:
        return
    names = [
        name for setup in setup_of_host.values() for name in (*setup.interfaces, *setup.addresses)
    ]
    if kind.shared and (names or any(setup.all_folders for setup in setup_of_host.values())):
        folders = [path for setup in setup_of_host.values() for path in setup.all_folders]
        yield FileFault(
            FileFaultKind.SHARED_HOST,
            process,
            f"it needs {', '.join(dict.fromkeys([*names, *folders]))}, and the shared host has "
            "only what the machine has",
            "run as root on the machine itself: trials then have hosts of their own, with these",
        )
        return
    kernel = cell.links is not None and cell.links.network.backend == KERNEL
    for host, setup in setup_of_host.items():
        for name in setup.interfaces:
            if len(name) > MOST_NAME or "/" in name or " " in name:
                yield FileFault(
                    FileFaultKind.INTERFACE,
                    process,
                    f"`{name}` names no interface",
                    "name an interface, with at most 15 characters",
                )
            elif kernel and setup.leads:
                yield FileFault(
                    FileFaultKind.INTERFACE,
                    process,
                    f"no device is called {name} where the network's backend is `kernel`",
                    "leave `backend: kernel` out",
                )
        for folder in setup.all_folders:
            mount_point = host_setup.mount_point(folder)
            if not host_setup.may_hide(mount_point, tuple(needed_paths())):
                yield FileFault(
                    FileFaultKind.FOLDER,
                    process,
                    f"it writes to {folder}, which host {host} cannot have of its own: trials need "
                    f"what is in {mount_point}",
                    f"mkdir -p {shlex.quote(folder)}"
                    if mount_point != folder
                    else "write below /tmp or /var/log",
                )


def _sharing_faults(cell: Cell, sides_with_file: Mapping[str, Side]) -> Iterator[FileFault]:
    """Yield the conflicts over resources that only one process of a host, or one host, can have."""
    host_of_process = {
        process.name: process.host for process in cell.processes if process.follows is None
    }
    claimed_by: dict[str, str] = {}
    count: Counter[str] = Counter()
    for process, side in sides_with_file.items():
        if process not in host_of_process:
            continue
        needs, host = needs_of(side), host_of_process[process]
        count[host] += 1
        if needs.participants is not None and count[host] > needs.participants:
            yield FileFault(
                FileFaultKind.PARTICIPANTS,
                process,
                f"it allows {counted(needs.participants, 'participant')} on a host, and {host} has "
                "more "
                "(ParticipantIndex, MaxAutoParticipantIndex)",
                "raise MaxAutoParticipantIndex, or run fewer processes",
            )
        for port in needs.listens:
            first_process = claimed_by.setdefault(f"{host} {port.port}", process)
            if first_process != process:
                yield FileFault(
                    FileFaultKind.PORT,
                    process,
                    f"`{first_process}` and `{process}` of one host want to listen at port {port.port}",
                    "run them on two hosts (`hosts` of a workload), or give one a file of its own "
                    f"(`processes: {{{process}: {{profile: FILE}}}}`)",
                )
        for address in needs.own:
            first_host = claimed_by.setdefault(str(address), host)
            if first_host != host:
                yield FileFault(
                    FileFaultKind.ADDRESS,
                    process,
                    f"it binds {address}, which only one host can have, and {first_host} has it",
                    f"give the other host its own file: processes: {{{process}: {{profile: FILE}}}}",
                )
