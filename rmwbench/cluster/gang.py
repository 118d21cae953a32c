"""The hosts of a trial on the machines of a gang, as its leader sees them: the first host is here,
in this machine's own network, and drives the trial; each other one is reached through its machine's
agent.

The leader's clock is the trial's reference, so the first host's offset is exact and only the
others' are measured.
"""

from collections.abc import Mapping
from dataclasses import replace

from rmwbench.campaign.trial.outcome import Order
from rmwbench.lab.host import Host, HostBroken, Hosts, RemoteHost, devices
from rmwbench.lab.host.remote import Agent
from rmwbench.suite.cells import Cell
from rmwbench.suite.network.real import Gang


def hosts_of(name: str, cell: Cell, gang: Gang, agents: Mapping[str, Agent]) -> tuple[Hosts, Gang]:
    """The hosts of a cell over several machines, and the gang with what each says of its interface.
    `agents`: host → its machine's agent, of all but the first. Raises HostBroken where a machine
    cannot be reached, or lacks the address that it was to have."""
    first, *others = cell.hosts
    made: dict[str, Host | RemoteHost] = {}
    try:
        made[first] = Host(f"{name}/{first}", shared=True)
        cards = {first: devices.of_address(gang.spots[first].address)}
        remotes: dict[str, RemoteHost] = {}
        for host in others:
            made[host] = remotes[host] = RemoteHost(f"{name}/{host}", agents[host])
        for host, remote in remotes.items():
            cards[host] = remote.interface_of(gang.spots[host].address)
        for host, card in cards.items():
            if card["device"] is None:
                spot = gang.spots[host]
                raise HostBroken(
                    f"machine {spot.machine} has no interface with the address {spot.address}"
                )
    except BaseException:
        Hosts.of(made).close()
        raise
    return Hosts.of(made), replace(gang, cards=cards)


def with_gang(order: Order, gang: Gang) -> Order:
    """The order with the machines that its cell's hosts are."""
    assert order.cell.real is not None
    return replace(order, cell=replace(order.cell, real=replace(order.cell.real, gang=gang)))
