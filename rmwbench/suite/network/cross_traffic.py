"""TCP of others over the network of a workload: downloads and videos on the robot's air, between
hosts of their own.

"Cross traffic" is the field's word for what crosses the same links and is not measured itself. It
is made by sockets of the kernel with its congestion control (docs/formats/load.md), because what
TCP does about a loss or a full queue is the half of it: a stream of datagrams at a fixed rate would
never give way. UDP is therefore not offered here.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rmwbench.suite.fault import Fault, Strict
from rmwbench.suite.name_rules import ALL, NodeName

MEGABYTE = 1_000_000


class CrossTraffic(Strict):
    """`flows` connections `from` one host `to` another, all the time, or, as a video's player does,
    a piece of `piece_mb` every `every_s` over each. Without `congestion_control` it is the
    network's."""

    from_: Annotated[NodeName, Field(alias="from")]
    to: NodeName
    kind: Literal["tcp"] = "tcp"
    flows: int = Field(default=1, ge=1, le=64)
    piece_mb: float | None = Field(default=None, gt=0, le=10_000)
    every_s: float | None = Field(default=None, gt=0, le=3600)
    congestion_control: str | None = Field(default=None, pattern=r"^[a-z0-9_]{1,15}$")

    @model_validator(mode="after")
    def _consistent(self) -> "CrossTraffic":
        if self.from_ == self.to:
            raise Fault(
                "cross traffic leads from one host to another",
                expected="two hosts",
                actual=self.to,
                at=("to",),
            )
        for name, other in (("piece_mb", "every_s"), ("every_s", "piece_mb")):
            if getattr(self, name) is not None and getattr(self, other) is None:
                raise Fault(
                    f"`{name}` alone says no rate",
                    expected=f"`{other}` beside it, as in `piece_mb: 2, every_s: 2`; neither for a "
                    "download",
                    at=(name,),
                )
        return self

    @property
    def name(self) -> str:
        return f"{self.from_} to {self.to}"

    @property
    def piece(self) -> dict[str, int] | None:
        """The piece as the load protocol takes it; None for what never ends."""
        if self.piece_mb is None or self.every_s is None:
            return None
        return {
            "bytes": max(1, round(self.piece_mb * MEGABYTE)),
            "every_ns": round(self.every_s * 1e9),
        }

    @property
    def words(self) -> str:
        flows = "one flow" if self.flows == 1 else f"{self.flows} flows"
        shape = (
            ""
            if self.piece_mb is None
            else f", {self.piece_mb:g} MB every {self.every_s:g} s in each"
        )
        control = "" if self.congestion_control is None else f", {self.congestion_control}"
        return f"{flows} of TCP from {self.name}{shape}{control}"

    def definition(self) -> dict[str, Any]:
        """What a cell stores of it."""
        always_stored = {"from": self.from_, "to": self.to, "kind": self.kind, "flows": self.flows}
        more = {"piece": self.piece, "congestion_control": self.congestion_control}
        return always_stored | {key: value for key, value in more.items() if value is not None}


def hosts_of(traffic: tuple[CrossTraffic, ...]) -> tuple[str, ...]:
    """Each once, in the order in which they are named."""
    return tuple(dict.fromkeys(host for flows in traffic for host in (flows.from_, flows.to)))


def called_all(at: tuple[str | int, ...]) -> Fault:
    return Fault(
        "no host is called `all`: it stands for every link", expected="another name", at=at
    )


def check_hosts(traffic: tuple[CrossTraffic, ...], hosts: tuple[str, ...]) -> None:
    """Raises Fault, counted from the list, for traffic of the workload's own `hosts`: what its
    interfaces counted would be the middleware's and the others' together; and for two of one
    name."""
    names: set[str] = set()
    for index, flows in enumerate(traffic):
        for key, host in (("from", flows.from_), ("to", flows.to)):
            if host == ALL:
                raise called_all((index, key))
            if host in hosts:
                raise Fault(
                    f"host `{host}` is the workload's, and cross traffic is between hosts of its "
                    "own",
                    expected="a host without nodes, such as `laptop`",
                    actual=host,
                    at=(index, key),
                )
        if flows.name in names:
            raise Fault(
                f"there is cross traffic from {flows.name} already",
                expected="more `flows`, or another host",
                actual="two of it",
                at=(index, "to"),
            )
        names.add(flows.name)
