"""Interfaces that a host has besides the one that leads to the others (Docker's bridge, a VPN's
tunnel, a second card), and the network of a cell whose hosts are machines.

The further interfaces lead nowhere: what a middleware sends into them is gone, and what it
announces of them nobody can reach. That is what most robots and laptops have, and what a namespace
with one clean `eth0` hides. Between machines nothing of the network is ours, and only they are
named.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import field_validator

from rmwbench.suite.fault import Fault, Strict

TAKEN = ("lo", "eth0")
MOST = 16
OURS = ipaddress.IPv4Network("10.77.0.0/16")
"""The links between hosts take these, in each of their networks."""
PEER = "-p"
"""Behind the name: the other end of the pair, which nobody listens to."""


def checked_name(name: str) -> str:
    """The name of a device beside `eth0`. Raises Fault."""
    allowed = "abcdefghijklmnopqrstuvwxyz0123456789-"
    if (
        name in TAKEN
        or not 1 <= len(name) <= 13
        or not name[0].isalpha()
        or set(name) - set(allowed)
    ):
        raise Fault(
            f"`{name}` is not a valid name for a further interface",
            expected="at most 13 lower-case letters, digits and dashes, a letter first, and not "
            + " or ".join(TAKEN),
            actual=name,
        )
    return name


class Interface(Strict):
    """`address` with its prefix, as `ip addr` shows it. `multicast: false` is a tunnel's: no
    multicast and no address resolution. `carrier: false`: up, but with nothing plugged in, as
    docker0 is without containers."""

    name: str
    address: str
    multicast: bool = True
    carrier: bool = True

    @field_validator("name")
    @classmethod
    def _a_name(cls, name: str) -> str:
        return checked_name(name)

    @field_validator("address")
    @classmethod
    def _an_address(cls, text: str) -> str:
        try:
            interface = ipaddress.IPv4Interface(text)
        except ValueError:
            interface = None
        if interface is None or "/" not in text:
            raise Fault(
                "this is not an address with its prefix",
                expected="such as 172.17.0.1/16",
                actual=text,
            )
        if interface.network.overlaps(OURS):
            raise Fault(
                "these addresses are those of the links between hosts",
                expected=f"outside of {OURS}",
                actual=text,
            )
        return text

    @property
    def local(self) -> bytes:
        return ipaddress.IPv4Interface(self.address).ip.packed

    @property
    def broadcast(self) -> bytes:
        return ipaddress.IPv4Interface(self.address).network.broadcast_address.packed

    @property
    def prefix_bits(self) -> int:
        return ipaddress.IPv4Interface(self.address).network.prefixlen

    def definition(self) -> dict[str, Any]:
        return self.model_dump()


def check_interfaces(interfaces: tuple[Interface, ...]) -> None:
    """Raises Fault, counted from the list, for what one host cannot have together."""
    if len(interfaces) > MOST:
        raise Fault(
            "too many further interfaces of one host",
            expected=f"at most {MOST}",
            actual=len(interfaces),
        )
    for index, interface in enumerate(interfaces):
        for other in interfaces[:index]:
            if interface.name == other.name:
                raise Fault(
                    f"two interfaces are called `{interface.name}`",
                    expected="a name of its own for each",
                    at=(index, "name"),
                )
            if interface.local == other.local:
                raise Fault(
                    f"`{interface.name}` and `{other.name}` have one address",
                    expected="an address of its own for each",
                    actual=interface.address,
                    at=(index, "address"),
                )


REAL = "real"


@dataclass(frozen=True)
class Spot:
    """One host's machine, and the address that the others reach it at."""

    machine: str
    address: str


@dataclass(frozen=True)
class Gang:
    """Host → spot, in the order of the hosts, and what keeps gangs on one network apart."""

    spots: Mapping[str, Spot]
    domain_id: int = 0
    cards: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Host → what its machine says of the interface with that address."""
    notes: tuple[str, ...] = ()
    """What every trial of theirs is flagged with."""


@dataclass(frozen=True)
class RealNetwork:
    """`left_out`: in words, the emulation that the suite asks for and that is not made. `gang`: the
    machines, once they are chosen; a plan has none, and neither has what a bundle stores of a
    cell."""

    hosts: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    gang: Gang | None = None

    def definition(self) -> dict[str, Any]:
        """What a cell stores of it, in place of the emulated one's."""
        return {"kind": REAL, "hosts": list(self.hosts), "not_emulated": list(self.left_out)}

    def lines(self) -> list[str]:
        """What a plan says of it."""
        text = f"network: {REAL}, between {', '.join(self.hosts)}; nothing is emulated"
        return [text, *(f"left out: {line}" for line in self.left_out)]
