"""Further interfaces of a host besides the one that leads to the others (Docker's bridge, a VPN's
tunnel, a second card), and the network of a cell whose hosts are machines.

The further interfaces lead to no host: frames that a middleware sends into them are lost, and the
addresses that it announces for them cannot be reached. Most robots and laptops have such
interfaces; a namespace with one `eth0` hides their effect. Nothing is emulated between machines, so
such a network has only their names.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator

from rmwbench.suite.fault import Fault, Strict, check_distinct

TAKEN = ("lo", "eth0")
MOST = 16
OURS = ipaddress.IPv4Network("10.77.0.0/16")
"""The addresses of the links between hosts, the same in each network."""


def checked_name(name: str) -> str:
    """Returns the name. Raises Fault for an invalid name of a device beside `eth0`."""
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


def _checked_address(text: str) -> str:
    """Returns the text. Raises Fault for another text than an address with its prefix, and for an
    address of the links between hosts."""
    try:
        interface = ipaddress.IPv4Interface(text)
    except ValueError:
        interface = None
    if interface is None or "/" not in text:
        raise Fault(
            "this is not an address with its prefix", expected="such as 172.17.0.1/16", actual=text
        )
    if interface.network.overlaps(OURS):
        raise Fault(
            "these addresses are those of the links between hosts",
            expected=f"outside of {OURS}",
            actual=text,
        )
    return text


class Interface(Strict):
    """`address` has its prefix, as `ip addr` shows it. `multicast: false`, as of a tunnel: no
    multicast and no address resolution. `carrier: false`: up without a carrier, as docker0 is
    without containers."""

    name: Annotated[str, AfterValidator(checked_name)]
    address: Annotated[str, AfterValidator(_checked_address)]
    multicast: bool = True
    carrier: bool = True

    @property
    def peer_name(self) -> str:
        """The device at the other end of the veth pair, which no process listens to."""
        return f"{self.name}-p"

    @property
    def _parsed(self) -> ipaddress.IPv4Interface:
        return ipaddress.IPv4Interface(self.address)

    @property
    def local(self) -> bytes:
        return self._parsed.ip.packed

    @property
    def broadcast(self) -> bytes:
        return self._parsed.network.broadcast_address.packed

    @property
    def prefix_bits(self) -> int:
        return self._parsed.network.prefixlen


def check_interfaces(interfaces: tuple[Interface, ...]) -> None:
    """Raises Fault, counted from the list, where one host cannot have these interfaces together."""
    if len(interfaces) > MOST:
        raise Fault(
            "too many further interfaces of one host",
            expected=f"at most {MOST}",
            actual=len(interfaces),
        )
    check_distinct("interfaces", (interface.name for interface in interfaces))
    for index, interface in enumerate(interfaces):
        for other in interfaces:
            if interface.name == other.peer_name:
                raise Fault(
                    f"`{interface.name}` is the device at the other end of `{other.name}`",
                    expected="another name",
                    at=(index, "name"),
                )
        for other in interfaces[:index]:
            if interface.local == other.local:
                raise Fault(
                    f"`{interface.name}` and `{other.name}` have the same address",
                    expected="an address of its own for each",
                    actual=interface.address,
                    at=(index, "address"),
                )


REAL = "real"


@dataclass(frozen=True)
class MachineAddress:
    """The name of the machine of one host, and its address for the others."""

    name: str
    address: str


@dataclass(frozen=True)
class Gang:
    """`machines`: host → its machine, in the order of the hosts. `domain_id` keeps gangs on one
    network apart. `interfaces`: host → what its machine says of the interface with that address.
    `notes`: flags of every trial of the gang."""

    machines: Mapping[str, MachineAddress]
    domain_id: int = 0
    interfaces: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RealNetwork:
    """`left_out`: the emulation that the suite asks for and that is not done, in words. `gang`: the
    machines, once they are chosen; a plan and a stored cell have none."""

    hosts: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    gang: Gang | None = None

    def definition(self) -> dict[str, Any]:
        """The network as a cell stores it, in place of an emulated one."""
        return {"kind": REAL, "hosts": list(self.hosts), "not_emulated": list(self.left_out)}

    def lines(self) -> list[str]:
        """The lines of a plan about this network."""
        text = f"network: {REAL}, between {', '.join(self.hosts)}; nothing is emulated"
        return [text, *(f"left out: {line}" for line in self.left_out)]
