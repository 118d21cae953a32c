"""Cross traffic: TCP of other programs over the network of a workload, such as downloads and videos
on the robot's radio link, between hosts of their own.

Cross traffic shares the links and is not measured itself. It uses the kernel's sockets and
congestion control (docs/formats/load.md), because its reaction to a loss or a full queue matters as
much as its volume: a stream of datagrams at a fixed rate would never give way. So there is no cross
traffic over UDP.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rmwbench.suite.fault import At, Fault, Strict
from rmwbench.suite.name_rules import ALL, NodeName

MEGABYTE = 1_000_000


class CrossTraffic(Strict):
    """`flows` connections `from` one host `to` another. Each sends all the time, or, as a video
    player loads, a piece of `piece_mb` every `every_s`. `congestion_control` is the network's by
    default."""

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
                "this cross traffic leads to its own host",
                expected="two hosts",
                actual=self.to,
                at=("to",),
            )
        for name, other in (("piece_mb", "every_s"), ("every_s", "piece_mb")):
            if getattr(self, name) is not None and getattr(self, other) is None:
                raise Fault(
                    f"`{name}` alone does not define a rate",
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
        """The piece in the load protocol; None for flows that send all the time."""
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
        always_stored = {"from": self.from_, "to": self.to, "kind": self.kind, "flows": self.flows}
        more = {"piece": self.piece, "congestion_control": self.congestion_control}
        return always_stored | {key: value for key, value in more.items() if value is not None}


def hosts_of(traffic: tuple[CrossTraffic, ...]) -> tuple[str, ...]:
    """The hosts of cross traffic, each once, in the order of the suite."""
    return tuple(dict.fromkeys(host for flows in traffic for host in (flows.from_, flows.to)))


def called_all(at: At) -> Fault:
    """The Fault for a host with the reserved name `all`."""
    return Fault(
        "no host is called `all`: it stands for every link", expected="another name", at=at
    )


def check_hosts(traffic: tuple[CrossTraffic, ...], hosts: tuple[str, ...]) -> None:
    """Raises Fault, counted from the list, where cross traffic uses one of the workload's `hosts`,
    whose interface counters would mix both, or where two entries have the same ends."""
    names: set[str] = set()
    for index, flows in enumerate(traffic):
        for key, host in (("from", flows.from_), ("to", flows.to)):
            if host == ALL:
                raise called_all((index, key))
            if host in hosts:
                raise Fault(
                    f"cross traffic cannot use host `{host}`: the workload has nodes there",
                    expected="a host without nodes, such as `laptop`",
                    actual=host,
                    at=(index, key),
                )
        if flows.name in names:
            raise Fault(
                f"there is cross traffic from {flows.name} already",
                expected="more `flows`, or another host",
                actual="two entries",
                at=(index, "to"),
            )
        names.add(flows.name)
