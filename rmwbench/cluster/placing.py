"""The placing of a workload's hosts on machines, by `--place` (named machines) or `--gang` (any
like machines).

Without one of these options all hosts of a suite are on one machine. This module is pure: no Ray,
no clock.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rmwbench.campaign.plan.plan import Plan
from rmwbench.errors import UserError, not_one_of
from rmwbench.suite.cells import Cell

PLACE, GANG = "--place", "--gang"
_WORD = re.compile(r"(?P<host>[^=@,\s]+)=(?P<machine>[^=@,\s]+)(@(?P<address>[^=@,\s]+))?")


@dataclass(frozen=True)
class Placing:
    """`hosts`: host → the name of its machine as the user typed it, and its address for the other
    hosts (None: its address in Ray). Without an entry, hosts are on any like machines."""

    hosts: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)

    @property
    def option(self) -> str:
        return PLACE if self.hosts else GANG

    def document(self) -> dict[str, Any]:
        """Return the placement for campaign.json."""
        return {
            "hosts": {
                host: {"machine": m, "address": address}
                for host, (m, address) in self.hosts.items()
            }
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "Placing":
        hosts = document["hosts"].items()
        return cls({host: (place["machine"], place["address"]) for host, place in hosts})

    def size(self, cells: Sequence[Cell]) -> int:
        """Return how many machines one trial takes."""
        return len(self.hosts) or max(len(cell.hosts) for cell in cells)

    def index(self, cell: Cell) -> dict[str, int]:
        """Return host → the position of its machine in a gang."""
        order = list(self.hosts or cell.hosts)
        return {host: order.index(host) for host in cell.hosts}

    def check(self, plan: Plan) -> None:
        """Raises UserError if a workload has a host without a machine, or if no workload has a host
        that is placed."""
        if not self.hosts:
            return
        workload_of = {
            host: cell.workload.name for cell in plan.cells if cell.real for host in cell.hosts
        }
        for host, workload in workload_of.items():
            if host not in self.hosts:
                raise UserError(
                    f"host `{host}` of workload `{workload}` has no machine",
                    where=PLACE,
                    expected=",".join(f"{name}=MACHINE" for name in workload_of),
                    actual=", ".join(self.hosts),
                )
        for host in self.hosts:
            if host not in workload_of:
                raise not_one_of(
                    f"no workload over several hosts has a host `{host}`",
                    host,
                    workload_of,
                    where=PLACE,
                )


def parse(text: str) -> Placing:
    """Parse `robot=MACHINE,base=MACHINE@ADDRESS`. Raises UserError."""
    hosts: dict[str, tuple[str, str | None]] = {}
    for word in text.split(","):
        match = _WORD.fullmatch(word.strip())
        if match is None:
            raise UserError(
                f"`{word.strip()}` is not HOST=MACHINE",
                where=PLACE,
                expected="HOST=MACHINE,HOST=MACHINE; a machine by the name or address that `ray "
                "status -v` shows, with @ADDRESS behind it where the others reach it at another "
                "one",
                actual=word.strip() or "nothing",
            )
        host, machine = match["host"], match["machine"]
        if host in hosts or machine in [other for other, _ in hosts.values()]:
            twice = f"host `{host}`" if host in hosts else f"machine `{machine}`"
            raise UserError(
                f"{twice} is placed twice",
                where=PLACE,
                expected="one machine for each host",
                actual=text,
            )
        hosts[host] = machine, match["address"]
    if len(hosts) < 2:
        raise UserError(
            f"{PLACE} needs at least two hosts",
            where=PLACE,
            expected="two hosts or more",
            actual=text,
        )
    return Placing(hosts)
