"""The configuration of a side of an arm, and the setup of its hosts.

The configuration is the user's file, or the worker's embedded profile of that name. A user's file
may name interfaces, addresses, folders, the domain, and the addresses of its daemons: the hosts of
a trial are given these.

A host has the addresses that the files of its processes bind. The addresses of peers go to the
other hosts in their order; a single host has all of them. In every such network each host has an
address: if the file names fewer addresses than there are hosts, the first hosts get free ones.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from rmwbench.beside import from_features
from rmwbench.lab.host import Hosts
from rmwbench.lab.middleware import Worker, ros2
from rmwbench.lab.network import addresses
from rmwbench.lab.profile_file.file_needs import NO_NEEDS, Address, FileNeeds, Unreadable, reachable
from rmwbench.lab.profile_file.host_setup import OWN_DEVICES, HostSetup
from rmwbench.lab.profile_file.readers import file_needs
from rmwbench.suite.arm import Profile, Side
from rmwbench.suite.cells import Cell

PREFIX_BITS = {4: 24, 6: 64}
NO_SETUP = HostSetup()
T = TypeVar("T")


def needs_of(side: Side) -> FileNeeds:
    """Return the needs of a side's file; no needs for an embedded profile, or a file that cannot be
    read."""
    return needs_of_profile(side.middleware, side.profile)


def needs_of_profile(middleware: str, profile: Profile) -> FileNeeds:
    if profile.text is None:
        return NO_NEEDS
    try:
        return file_needs(middleware, profile.format, profile.text)
    except Unreadable:
        return NO_NEEDS


def file_domain(cell: Cell) -> int | None:
    """Return the domain in the cell's files; None if they have none."""
    domains = (needs_of(side).domain_id for side in cell.sides.values())
    return next((number for number in domains if number is not None), None)


def setups(cell: Cell) -> dict[str, HostSetup]:
    """Return host → its setup, for the hosts that need one. Real machines have none."""
    if cell.real is not None:
        return {}
    setup_of_host = {}
    several = len(cell.hosts) > 1
    owned = _addresses(cell)
    for host in cell.hosts:
        host_needs = [needs_of(side) for side in _sides_on(cell, host)]
        setup = HostSetup(
            interfaces=_once(
                name for needs in host_needs for name in needs.interfaces if name not in OWN_DEVICES
            ),
            addresses=tuple(map(_with_prefix, owned[host])),
            writes=_once(path for needs in host_needs for path in needs.writes),
            folders=_once(path for needs in host_needs for path in needs.folders),
        )
        if setup != NO_SETUP:
            setup_of_host[host] = replace(setup, leads=several)
    return setup_of_host


def on_one_host(setup: HostSetup, side: Side) -> HostSetup:
    """Return the setup of a single host, as for a rehearsal: it also has the addresses at which the
    side looks for its daemons."""
    servers = reachable(server.address for server in needs_of(side).servers)
    more = tuple(_with_prefix(address) for address in servers)
    return replace(setup, leads=False, addresses=_once((*setup.addresses, *more)))


def _with_prefix(address: Address) -> str:
    return f"{address}/{PREFIX_BITS[address.version]}"


def daemon_address(side: Side, name: str) -> str | None:
    """Return the address at which the file looks for this daemon; None if it is the loopback, or
    not given."""
    needs = needs_of(side)
    for daemon, server in zip(needs.daemons, needs.servers, strict=False):
        if daemon == name and reachable([server.address]):
            return server.address
    return None


def file_flags(side: Side) -> list[str]:
    """Return the differences between a trial and the robot that the file is from."""
    needs = needs_of(side)
    differences = []
    if names := [name for name in needs.interfaces if name not in OWN_DEVICES]:
        differences.append(
            f"{', '.join(names)}: devices of the trial's host, without a radio or a driver"
        )
    if needs.daemons and side.daemon is None:
        at = f" at {', '.join(map(str, needs.servers))}" * bool(needs.servers)
        differences.append(f"{', '.join(needs.daemons)}{at}: its middleware's own, not the robot's")
    if needs.writes:
        differences.append(f"{', '.join(needs.writes)}: written to memory")
    return differences


def _sides_on(cell: Cell, host: str) -> list[Side]:
    return [cell.sides[process.name] for process in cell.processes if process.host == host]


def _addresses(cell: Cell) -> dict[str, list[Address]]:
    """Return host → the addresses that it is given besides its own."""
    own_addresses = {addresses.text(addresses.ipv4(n)) for n, _ in enumerate(cell.hosts, start=1)}
    addresses_of_host: dict[str, list[Address]] = {
        host: list(
            _once(address for side in _sides_on(cell, host) for address in needs_of(side).own)
        )
        for host in cell.hosts
    }
    needs = [needs_of(side) for side in cell.sides.values()]
    bound = {address for owned in addresses_of_host.values() for address in owned}
    servers = list(reachable(server.address for each_side in needs for server in each_side.servers))
    for side in cell.sides.values():
        if side.daemon is not None:
            servers += needs_of_profile(side.middleware, side.daemon.profile).own
    addresses_of_host[cell.daemons_host] += [
        address for address in _once(servers) if address not in bound
    ]
    bound |= {*servers}
    peers = _once(peer for each_side in needs for peer in each_side.peers if peer not in bound)
    _deal(cell.hosts, addresses_of_host, peers)
    return {
        host: [address for address in owned if str(address) not in own_addresses]
        for host, owned in addresses_of_host.items()
    }


def _deal(
    hosts: Sequence[str], addresses_of_host: dict[str, list[Address]], peers: Sequence[Address]
) -> None:
    if len(hosts) == 1:
        addresses_of_host[hosts[0]] += peers
        return
    owned = (address for addresses in addresses_of_host.values() for address in addresses)
    for network in _once(network_of(address) for address in (*peers, *owned)):
        members = [peer for peer in peers if peer in network]
        hosts_without = [
            host
            for host in hosts
            if not any(address in network for address in addresses_of_host[host])
        ]
        spare = max(0, len(hosts_without) - len(members))
        used_addresses = {
            *members,
            *(address for owned in addresses_of_host.values() for address in owned),
        }
        free = (address for address in network.hosts() if address not in used_addresses)
        for host, address in zip(hosts_without[:spare], free, strict=False):
            addresses_of_host[host].append(address)
        for host, address in zip(hosts_without[spare:], members, strict=False):
            addresses_of_host[host].append(address)


def network_of(address: Address) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(f"{address}/{PREFIX_BITS[address.version]}", strict=False)


def _once(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))


PATH_OPTION = "path"
"""The arm's option for the path that its bytes must take. The worker does not get it."""
DAEMONS_OPTION = "daemons"
"""The option with the daemons of a user's own profile, separated by spaces. The worker, which has
the daemons of its embedded profiles, does not get it."""

Workers = Mapping[str, Worker]
"""Middleware → worker."""


def resolved_profile(profile: Profile, worker: Worker) -> dict[str, Any]:
    """Return the name, format and text. Raises UserError for a name that the worker does not
    have."""
    if profile.text is not None:
        return {"name": profile.name, "format": profile.format or "", "text": profile.text}
    embedded = worker.profile(profile.name)
    return {key: embedded[key] for key in ("name", "format", "text")}


def forced_text(side: Side, worker: Worker) -> str | None:
    """Return the worker's text on the settings that isolation or the worker forces on an embedded
    profile; None if there are none."""
    profile = side.profile
    return None if profile.text is not None else worker.profile(profile.name).get("forced")


def open_fields(side: Side, worker: Worker, nonce: int, domain_id: int = 0) -> dict[str, Any]:
    """Return the fields of the protocol's `open`, without the options that are not for workers."""
    options = {
        name: value
        for name, value in side.options.items()
        if name not in (PATH_OPTION, DAEMONS_OPTION)
    }
    fields = {
        "trial_nonce": f"{nonce:016x}",
        "domain_id": domain_id,
        "profile": resolved_profile(side.profile, worker),
    }
    return fields | {"options": options, "modes": dict(side.modes)}


def address_environment(cell: Cell, host: str) -> dict[str, str]:
    """Return the variables with addresses for a worker or daemon on this host; empty without
    another host. Each other host is named once per process there."""
    if len(cell.hosts) < 2:
        return {}
    if cell.real is not None and cell.real.gang is not None:
        address_of_host = {
            name: machine.address for name, machine in cell.real.gang.machines.items()
        }
    else:
        address_of_host = {
            name: addresses.text(addresses.ipv4(number))
            for number, name in enumerate(cell.hosts, start=1)
        }
    return {
        "RMWBENCH_ADDRESS": address_of_host[host],
        "RMWBENCH_PEERS": " ".join(
            address_of_host[process.host]
            for process in cell.processes
            if process.host != host and process.follows is None
        ),
        "RMWBENCH_DAEMON_ADDRESS": address_of_host[cell.daemons_host],
    }


def beside_options(cell: Cell, process: str) -> dict[str, str | int]:
    """Return the options of a process's worker for the features beside the trial."""
    options: dict[str, str | int] = {}
    for feature_options in from_features("plan", "options", cell, process):
        options |= feature_options
    return options


def publish_mode_option(cell: Cell, side: Side) -> dict[str, str]:
    """Return the option with a process's publish mode, which rclcpp's worker needs before its
    session opens: an RMW may have it per participant. Empty if the arm has the default mode, and
    for other workers."""
    mode = cell.arm.publish_mode
    needs_option = mode != "default" and side.middleware.startswith(f"{ros2.NAME}/")
    return {"publish_mode": mode} if needs_option else {}


def domain_id(cell: Cell, hosts: Hosts) -> int:
    """Return the DDS domain of a trial. In a network of our own it is the domain of a user's
    file, else 0. On a shared host, and among machines, it differs from a robot's domain and from those of
    other trials."""
    if cell.real is not None and cell.real.gang is not None:
        return cell.real.gang.domain_id
    return hosts.first.domain_id or file_domain(cell) or 0


def daemons(side: Side, worker: Worker) -> list[str]:
    """Return the daemons that must serve before workers open with the profile and the modes, in
    their order.

    If a level of a mode has a list of daemons, it replaces the profile's. A user's own file needs
    the daemons that it connects to.
    """
    daemon_names = side.options.get(DAEMONS_OPTION)
    if daemon_names is not None:
        return str(daemon_names).split()
    by_mode = (worker.description or {}).get("mode_daemons", {})
    levels = [by_mode.get(mode, {}).get(str(level)) for mode, level in side.modes.items()]
    lists = [names for names in levels if names is not None]
    if not lists and side.profile.text is None:
        lists = [worker.profile(side.profile.name).get("daemons", [])]
    elif not lists:
        lists = [needs_of(side).daemons]
    return list(dict.fromkeys(name for names in lists for name in names))


def known_daemons(worker: Worker) -> set[str]:
    """Return all daemons in the worker's description."""
    described = worker.description or {}
    listed = [
        described_profile.get("daemons", []) for described_profile in described.get("profiles", [])
    ]
    listed += [
        names for levels in described.get("mode_daemons", {}).values() for names in levels.values()
    ]
    return {name for names in listed for name in names}


@dataclass(frozen=True)
class NeededDaemon:
    """A daemon of a trial. Its `label` is its name, followed by the host's if several hosts have
    one or the host is another machine, and by the middleware's if that is not unique."""

    label: str
    name: str
    worker: Worker
    fields: dict[str, Any]
    host: str
    environment: dict[str, str] = field(default_factory=dict)


def needed_daemons(
    cell: Cell, workers: Workers, nonce: int, domain_id: int
) -> Iterator[NeededDaemon]:
    """Yield the daemons of all sides of a cell, each once, or once per host if each host has its
    own."""
    listed: list[tuple[str, Any, dict[str, Any], str]] = []
    labels: set[str] = set()
    for side in distinct_sides(cell):
        worker = workers[side.middleware]
        for name, fields, environment in side_daemons(side, worker, domain_id, nonce):
            hosts = _daemon_hosts(cell, side, worker, name)
            for host in hosts:
                if (name, worker.executable, fields, host) in listed:
                    continue
                afar = cell.real is not None and host != cell.hosts[0]
                label = f"{name} {host}" if len(hosts) > 1 or afar else name
                if label in labels:
                    label += f" {side.middleware}"
                listed.append((name, worker.executable, fields, host))
                labels.add(label)
                yield NeededDaemon(label, name, worker, fields, host, environment)


class SideDaemon(NamedTuple):
    """A daemon that a side needs. `fields` of its `open` are those of the side, but with the
    daemon's own file if it has one; `environment` has its address if the user's file names one."""

    name: str
    fields: dict[str, Any]
    environment: dict[str, str]


def side_daemons(
    side: Side, worker: Worker, domain_id: int = 0, nonce: int = 1
) -> list[SideDaemon]:
    fields = open_fields(side, worker, nonce, domain_id)
    if side.daemon is not None:
        fields["profile"] = resolved_profile(side.daemon.profile, worker)
    at = {name: daemon_address(side, name) for name in daemons(side, worker)}
    return [
        SideDaemon(name, fields, {} if address is None else {"RMWBENCH_ADDRESS": address})
        for name, address in at.items()
    ]


def _daemon_hosts(cell: Cell, side: Side, worker: Worker, name: str) -> list[str]:
    """Return the hosts that a daemon runs on, in the order of their addresses."""
    if name not in (worker.description or {}).get("daemons_each_host", ()):
        return [cell.daemons_host]
    definition = side.side_definition()
    same = [
        process
        for process in cell.processes
        if cell.sides[process.name].side_definition() == definition
    ]
    return [host for host in cell.hosts if any(process.host == host for process in same)]


def distinct_sides(cell: Cell) -> list[Side]:
    """Return the different sides of a cell's processes; most cells have one."""
    sides: list[Side] = []
    for side in cell.sides.values():
        if not any(side.side_definition() == earlier.side_definition() for earlier in sides):
            sides.append(side)
    return sides
