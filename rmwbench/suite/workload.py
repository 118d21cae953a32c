"""A workload: what is sent, how often, with which quality of service, between which nodes, and what the reader does
with it."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rmwbench.suite.arrival import Arrival, Periodic, RateHz, Relay
from rmwbench.suite.fault import Fault, Strict
from rmwbench.suite.machine_condition import Background, HostIdle
from rmwbench.suite.names import WorkloadName
from rmwbench.suite.qos import Qos
from rmwbench.suite.timeline import TimelineOverride
from rmwbench.suite.topology import MessageName, Node, Placement, Publisher, Touch, chain, check_graph

PrimaryMetric = Literal[
    "response_latency_p50",
    "response_latency_p90",
    "response_latency_p99",
    "service_latency_p50",
    "service_latency_p90",
    "service_latency_p99",
]


class Workload(Strict):
    """Without `nodes` it is a talker and `subscribers` listeners, with `relays` nodes in between.

    `message`, `rate_hz` or `arrival`, `qos` and `touch` hold for every endpoint that says nothing else; `background`
    and `host_idle` say what else the machine does meanwhile.
    """

    name: WorkloadName
    title: str = ""
    description: str = ""
    primary_metric: PrimaryMetric = "response_latency_p50"
    message: MessageName | None = None
    rate_hz: RateHz | None = None
    arrival: Arrival | None = None
    qos: Qos = Qos()
    touch: Touch = "all"
    subscribers: int | None = Field(default=None, ge=1, le=1000)
    relays: int | None = Field(default=None, ge=0, le=1000)
    processes: Placement | None = None
    nodes: Annotated[tuple[Node, ...], Field(strict=False)] | None = None
    timeline: TimelineOverride = TimelineOverride()
    background: Background = "idle"
    host_idle: HostIdle = "as_found"

    @model_validator(mode="after")
    def _runnable(self) -> "Workload":
        _one_schedule(self.rate_hz, self.arrival)
        if isinstance(self.arrival, Relay):
            raise Fault(
                "a workload's own arrival starts the messages",
                expected="any kind but relay",
                actual="relay",
                at=("arrival", "kind"),
            )
        if self.nodes is None:
            if self.message is None:
                raise Fault(
                    "workload without `message`",
                    expected="a message type such as Bytes(320) or Image1080p",
                    at=("message",),
                )
            if self.schedule is None:
                raise Fault(
                    "workload without a rate", expected="`rate_hz: 30` or `arrival: {kind: …}`", at=("rate_hz",)
                )
            return self
        for name in ("subscribers", "relays", "processes"):
            if getattr(self, name) is not None:
                raise Fault(
                    f"`{name}` and `nodes` contradict each other",
                    expected="either the shorthand or a list of nodes",
                    actual=f"both `{name}` and `nodes`",
                    fix=f"remove `{name}` and write its nodes into the list, or remove `nodes`",
                    at=(name,),
                )
        try:
            check_graph(self.nodes)
            for index, node in enumerate(self.nodes):
                for place, publisher in enumerate(node.publishers):
                    self._check_publisher(publisher, (index, "publishers", place))
        except Fault as fault:
            fault.at = ("nodes", *fault.at)
            raise
        return self

    def _check_publisher(self, publisher: Publisher, at: tuple[str | int, ...]) -> None:
        try:
            _one_schedule(publisher.rate_hz, publisher.arrival)
            if publisher.message is None and self.message is None and not isinstance(publisher.arrival, Relay):
                raise Fault(
                    "publisher without a message type", expected="`message` here or in the workload", at=("topic",)
                )
            if publisher.rate_hz is None and publisher.arrival is None and self.schedule is None:
                raise Fault(
                    "publisher without a rate", expected="`rate_hz` or `arrival` here or in the workload", at=("topic",)
                )
        except Fault as fault:
            fault.at = (*at, *fault.at)
            raise

    @property
    def schedule(self) -> Any:
        """The workload's arrival, whichever way it was written, or None where every publisher has its own."""
        return self.arrival if self.rate_hz is None else Periodic(kind="periodic", rate_hz=self.rate_hz)

    @property
    def graph(self) -> tuple[Node, ...]:
        """The nodes, written out."""
        if self.nodes is not None:
            return self.nodes
        return chain(self.name, self.subscribers or 1, self.relays or 0, self.processes or "per_node")

    @property
    def display_title(self) -> str:
        return self.title or self.name


def _one_schedule(rate_hz: float | None, arrival: Any) -> None:
    if rate_hz is not None and arrival is not None:
        raise Fault(
            "`rate_hz` and `arrival` contradict each other",
            expected="one of them: `rate_hz: 30` is short for `arrival: {kind: periodic, rate_hz: 30}`",
            actual="both",
            fix="remove one",
            at=("rate_hz",),
        )
