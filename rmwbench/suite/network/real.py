"""The network of a cell whose hosts are machines: nothing of it is ours. Which machines they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
        """As a cell stores it, in place of the emulated one's."""
        return {"kind": REAL, "hosts": list(self.hosts), "not_emulated": list(self.left_out)}

    def told(self) -> list[str]:
        """In words, as a plan says it."""
        text = f"network: {REAL}, between {', '.join(self.hosts)}; nothing is emulated"
        return [text, *(f"left out: {line}" for line in self.left_out)]
