"""Nodes and topics as a graph: who publishes, subscribes, serves and calls what, in which process,
on which host, and when it is there; lifecycle nodes and the manager that brings them up.

Most workloads are one of a few shapes, so those have a shorthand (`shapes.py`) that expands into
the same nodes that a file can also spell out, and everything behind this module knows only nodes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from rmwbench.suite.fault import Fault, ListOf, Strict, places, within
from rmwbench.suite.name_rules import NodeName, TopicName
from rmwbench.suite.timeline import Span
from rmwbench.suite.workload.arrival import Arrival, RateHz, Relay
from rmwbench.suite.workload.camera import Source
from rmwbench.suite.workload.message_type import message_type, service_type
from rmwbench.suite.workload.qos import Qos

SERVICE_TIMEOUT_S = 5.0
"""Nav2's own: the default of its parameter `service_timeout`."""

Timeout = Annotated[float, within("a time-out is between a millisecond and an hour", 0.001, 3600)]


class Lifecycle(Strict):
    """How long the node's own callbacks take, as a driver's that waits for its device; one that
    takes longer than the manager waits is one that hangs."""

    configure_s: Span = 0.0
    activate_s: Span = 0.0


class Manages(Strict):
    """Brings up all lifecycle nodes of the workload, in their order. `service_timeout_s`: how long
    it waits for a node's service, and for each answer."""

    service_timeout_s: Timeout = SERVICE_TIMEOUT_S


class BringUp(Lifecycle):
    """node_1 … node_N, each a process of its own, and their manager, in the last. All are started
    as a launch file does: their sessions are opened and their nodes created at once, at the
    beginning of the steady state, and the manager begins when it is there."""

    nodes: int = Field(ge=1, le=1000)
    service_timeout_s: Timeout = SERVICE_TIMEOUT_S


Touch = Literal["none", "header", "all"]
Placement = Literal["per_node", "one"]

SUCCESSOR = " again"
"""Behind a process's name: the process that takes its place when it was killed. No name of a suite
has a space."""

LOCAL_HOST = "local"
"""The host of everything that names none: namespaces on this machine."""


def _known_message(name: str) -> str:
    return message_type(name).name


def _known_call(name: str) -> str:
    return service_type(name, "request").name


MessageName = Annotated[str, AfterValidator(_known_message)]
CallName = Annotated[str, AfterValidator(_known_call)]


OF_QOS = places("`qos: {KEY: …}`", Qos.model_fields)


class Publisher(Strict):
    """What is left out is taken from the workload."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = OF_QOS

    topic: TopicName
    message: MessageName | None = None
    rate_hz: RateHz | None = None
    arrival: Arrival | None = None
    qos: Qos | None = None
    touch: Touch | None = None
    frames: Source | None = None


MOST_HOLD_MS = 10_000.0


class Subscription(Strict):
    """Its message type is that of the topic. `hold_ms`: how long the consumer keeps each message,
    with its memory where that is the middleware's, before it gives it back."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = OF_QOS

    topic: TopicName
    qos: Qos | None = None
    touch: Touch | None = None
    hold_ms: float = Field(default=0.0, ge=0.0, le=MOST_HOLD_MS)


class Service(Strict):
    """Answers each request from within its callback. What is left out is taken from the
    workload."""

    service: TopicName
    request: CallName | None = None
    reply: CallName | None = None
    qos: Qos | None = None
    touch: Touch | None = None


class Client(Strict):
    """Sends requests by its arrival, whether earlier ones are answered or not; their types are
    those of the service."""

    service: TopicName
    rate_hz: RateHz | None = None
    arrival: Arrival | None = None
    qos: Qos | None = None
    touch: Touch | None = None

    @model_validator(mode="after")
    def _no_relay(self) -> "Client":
        if isinstance(self.arrival, Relay):
            raise Fault(
                "a client does not relay",
                expected="any kind of arrival but relay",
                actual="relay",
                at=("arrival", "kind"),
            )
        return self


@dataclass(frozen=True)
class NodeLife:
    """When a node is there, in seconds from the start of the steady state. `begin_s` None: from the
    start of the trial, as part of its barrier; `end_s` None: until its end, which is in order
    unless the process is `killed` with it."""

    begin_s: float | None = None
    end_s: float | None = None
    killed: bool = False

    @property
    def whole(self) -> bool:
        return self.begin_s is None and self.end_s is None

    def meets(self, other: "NodeLife") -> bool:
        """Whether there is a time at which both are there."""
        return self._begins_before_end(other) and other._begins_before_end(self)

    def present_at(self, begin_s: float | None) -> bool:
        """Whether it is there when something begins that begins then; what begins together is."""
        if begin_s is None:
            return self.begin_s is None
        return (self.begin_s is None or self.begin_s <= begin_s) and (
            self.end_s is None or self.end_s > begin_s
        )

    def _begins_before_end(self, other: "NodeLife") -> bool:
        return self.begin_s is None or other.end_s is None or self.begin_s < other.end_s


class Node(Strict):
    """A ROS node. `process` is its own by default; nodes that name the same process share it (the
    intra-process case).

    `joins_s`, `leaves_s`, `killed_s` and `restarts_s` count from the start of the steady state: a
    late joiner is created then and nobody waits for it, a leaver is destroyed, and one that
    restarts comes back under the same name. With `killed_s` the node's whole process gets SIGKILL,
    and a restart is a new process.

    `lifecycle` makes it a lifecycle node, `manages` the one that brings up all of these.
    """

    name: NodeName
    process: NodeName | None = None
    host: NodeName = LOCAL_HOST
    joins_s: Span | None = None
    leaves_s: Span | None = None
    killed_s: Span | None = None
    restarts_s: Span | None = None
    publishers: ListOf[Publisher] = ()
    subscriptions: ListOf[Subscription] = ()
    services: ListOf[Service] = ()
    clients: ListOf[Client] = ()
    lifecycle: Lifecycle | None = None
    manages: Manages | None = None

    @model_validator(mode="after")
    def _in_order(self) -> "Node":
        joins_s = 0.0 if self.joins_s is None else self.joins_s
        if self.leaves_s is not None and self.killed_s is not None:
            raise Fault(
                f"node `{self.name}` has two ends",
                expected="`leaves_s`, in order, or `killed_s`",
                actual="both",
                at=("killed_s",),
            )
        for key, ending in (("leaves_s", "leaves"), ("killed_s", "is killed")):
            at_s = getattr(self, key)
            if at_s is not None and at_s <= joins_s:
                raise Fault(
                    f"node `{self.name}` {ending} before it is there",
                    expected=f"{key} after {joins_s:g}",
                    actual=f"{at_s:g}",
                    at=(key,),
                )
        if self.restarts_s is not None and (self.ends_s is None or self.restarts_s <= self.ends_s):
            key = "leaves_s" if self.killed_s is None else "killed_s"
            raise Fault(
                f"node `{self.name}` comes back before it has left",
                expected="`leaves_s` or `killed_s`, and restarts_s after it",
                actual=f"{key} {'absent' if self.ends_s is None else f'{self.ends_s:g}'}, "
                f"restarts_s {self.restarts_s:g}",
                at=("restarts_s",),
            )
        return self

    @property
    def ends_s(self) -> float | None:
        """When its first life is over, in whatever way."""
        return self.leaves_s if self.killed_s is None else self.killed_s

    @property
    def process_name(self) -> str:
        return self.process or self.name

    def process_of(self, life: NodeLife) -> str:
        """The process that it lives in, which is another one after a kill."""
        again = (
            self.killed_s is not None
            and life.begin_s is not None
            and life.begin_s == self.restarts_s
        )
        return self.process_name + SUCCESSOR if again else self.process_name

    @property
    def lives(self) -> tuple[NodeLife, ...]:
        """One, or two of a node that restarts."""
        first = NodeLife(self.joins_s, self.ends_s, self.killed_s is not None)
        return (first,) if self.restarts_s is None else (first, NodeLife(self.restarts_s))

    def on(self, host: str) -> "Node":
        return self if host == self.host else self.model_copy(update={"host": host})

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics and services of its endpoints, each as often as it has one."""
        return (
            *(publisher.topic for publisher in self.publishers),
            *(subscription.topic for subscription in self.subscriptions),
            *(service.service for service in self.services),
            *(client.service for client in self.clients),
        )

    @property
    def is_empty(self) -> bool:
        return not (self.publishers or self.subscriptions or self.services or self.clients)


def topics_and_readers(nodes: Sequence[Node]) -> list[str]:
    """The topics and services by name, then readers by the names of their nodes, each once."""
    topics = [topic for node in nodes for topic in node.topics]
    return [*dict.fromkeys([*topics, *(node.name for node in nodes if node.subscriptions)])]
