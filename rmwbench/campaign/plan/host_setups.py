"""What the hosts of a trial are given for the profile files that a user brought: interfaces and
addresses by the names in the file, folders, the domain, and where its daemons listen.

Each address that a file binds goes to the hosts where a process reads that file. Addresses where it
looks for others go to the other hosts, in their order: one alone gets all of them. Of every such
network each host has an address: where the file names fewer than there are hosts, the first hosts
get free ones.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from rmwbench.lab.network import addresses
from rmwbench.lab.profile_file.file_needs import NOTHING, Address, FileNeeds, Unreadable, reachable
from rmwbench.lab.profile_file.formats import file_needs
from rmwbench.lab.profile_file.host_setup import OWN_DEVICES, HostSetup
from rmwbench.suite.cells import Cell
from rmwbench.suite.side import Profile, Side

PREFIX_BITS = {4: 24, 6: 64}
NO_SETUP = HostSetup()
T = TypeVar("T")


def needs_of(side: Side) -> FileNeeds:
    """Of its file; nothing where the worker brings the profile, or the file cannot be read."""
    return needs_of_profile(side.middleware, side.profile)


def needs_of_profile(middleware: str, profile: Profile) -> FileNeeds:
    if profile.text is None:
        return NOTHING
    try:
        return file_needs(middleware, profile.format, profile.text)
    except Unreadable:
        return NOTHING


def file_domain(cell: Cell) -> int | None:
    """The domain that the files are for; None where they leave it open."""
    said = (needs_of(side).domain_id for side in cell.sides.values())
    return next((number for number in said if number is not None), None)


def setups(cell: Cell) -> dict[str, HostSetup]:
    """Host → what it is given, of the hosts that are given anything. Real machines have what they
    have."""
    if cell.real is not None:
        return {}
    found = {}
    several = len(cell.hosts) > 1
    owned = _addresses(cell)
    for host in cell.hosts:
        here = [needs_of(side) for side in _sides_on(cell, host)]
        made = HostSetup(
            interfaces=_once(
                name for one in here for name in one.interfaces if name not in OWN_DEVICES
            ),
            addresses=tuple(map(_with_prefix, owned[host])),
            writes=_once(path for one in here for path in one.writes),
            folders=_once(path for one in here for path in one.folders),
        )
        if made != NO_SETUP:
            found[host] = replace(made, leads=several)
    return found


def on_one_host(setup: HostSetup, side: Side) -> HostSetup:
    """The same where the other hosts are not there, as when a session is tried before the run: with
    the addresses at which it looks for its daemons."""
    servers = reachable(server.address for server in needs_of(side).servers)
    more = tuple(_with_prefix(one) for one in servers)
    return replace(setup, leads=False, addresses=_once((*setup.addresses, *more)))


def _with_prefix(address: Address) -> str:
    return f"{address}/{PREFIX_BITS[address.version]}"


def daemon_address(side: Side, name: str) -> str | None:
    """Where the file looks for this daemon; None where that is the loopback's, or left open."""
    needs = needs_of(side)
    for daemon, server in zip(needs.daemons, needs.servers, strict=False):
        if daemon == name and reachable([server.address]):
            return server.address
    return None


def flags(side: Side) -> list[str]:
    """In what a trial still differs from the robot that the file was taken from."""
    needs = needs_of(side)
    found = []
    if names := [name for name in needs.interfaces if name not in OWN_DEVICES]:
        found.append(
            f"{', '.join(names)}: devices of the trial's host, which no radio and no driver is behind"
        )
    if needs.daemons and side.daemon is None:
        at = f" at {', '.join(map(str, needs.servers))}" * bool(needs.servers)
        found.append(f"{', '.join(needs.daemons)}{at}: its middleware's own, not the robot's")
    if needs.writes:
        found.append(f"{', '.join(needs.writes)}: written to memory")
    return found


def _sides_on(cell: Cell, host: str) -> list[Side]:
    return [cell.sides[process.name] for process in cell.processes if process.host == host]


def _addresses(cell: Cell) -> dict[str, list[Address]]:
    """Host → those that it is given besides its own."""
    there = {addresses.text(addresses.ipv4(n)) for n, _ in enumerate(cell.hosts, start=1)}
    found: dict[str, list[Address]] = {
        host: list(_once(one for side in _sides_on(cell, host) for one in needs_of(side).own))
        for host in cell.hosts
    }
    needs = [needs_of(side) for side in cell.sides.values()]
    taken = {one for owned in found.values() for one in owned}
    servers = list(reachable(server.address for one in needs for server in one.servers))
    for side in cell.sides.values():
        if side.daemon is not None:
            servers += needs_of_profile(side.middleware, side.daemon.profile).own
    found[cell.daemons_host] += [one for one in _once(servers) if one not in taken]
    taken |= {*servers}
    peers = _once(one for each in needs for one in each.peers if one not in taken)
    _deal(cell.hosts, found, peers)
    return {host: [one for one in owned if str(one) not in there] for host, owned in found.items()}


def _deal(hosts: Sequence[str], found: dict[str, list[Address]], peers: Sequence[Address]) -> None:
    if len(hosts) == 1:
        found[hosts[0]] += peers
        return
    owned = (one for addresses in found.values() for one in addresses)
    for network in _once(network_of(one) for one in (*peers, *owned)):
        members = [one for one in peers if one in network]
        without = [host for host in hosts if not any(one in network for one in found[host])]
        spare = max(0, len(without) - len(members))
        used = {*members, *(one for owned in found.values() for one in owned)}
        free = (one for one in network.hosts() if one not in used)
        for host, one in zip(without[:spare], free, strict=False):
            found[host].append(one)
        for host, one in zip(without[spare:], members, strict=False):
            found[host].append(one)


def network_of(address: Address) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(f"{address}/{PREFIX_BITS[address.version]}", strict=False)


def _once(found: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(found))
