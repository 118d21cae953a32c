"""A workload: message types, rates, quality of service, nodes, and what readers do with a
message."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, create_model, model_validator

from rmwbench import beside
from rmwbench.analysis.metrics.glossary import GLOSSARY, MetricScope, Use, names_for
from rmwbench.suite.arm import MODES, Arm
from rmwbench.suite.fault import (
    At,
    Fault,
    ListOf,
    Strict,
    at_key,
    check_keys,
    check_known,
    elsewhere,
    one_of,
)
from rmwbench.suite.name_rules import NodeName, TopicName, WorkloadName
from rmwbench.suite.network.network import LINK_KEY_PLACES, Network
from rmwbench.suite.process_conditions import Background, Containers, HostIdle, RealTime
from rmwbench.suite.timeline import Span, Timeline
from rmwbench.suite.workload.arrival import Arrival, Periodic, RateHz, Relay
from rmwbench.suite.workload.camera import Source
from rmwbench.suite.workload.qos import Qos
from rmwbench.suite.workload.schedule import Schedule
from rmwbench.suite.workload.shapes import (
    Graph,
    bring_up_nodes,
    chain_nodes,
    check_hosts,
    service_nodes,
)
from rmwbench.suite.workload.topology import (
    LOCAL_HOST,
    BringUp,
    CallName,
    Client,
    MessageName,
    Node,
    Placement,
    Publisher,
    Service,
    Touch,
    check_graph,
    topics_and_readers,
)

PRIMARY = names_for(Use.PRIMARY)
PrimaryMetric = Annotated[str, one_of("primary_metric", PRIMARY)]
ACHIEVED_RATE = "achieved_rate"
"""The default primary metric of a workload with a saturation, whose latencies are those of queues
that are always full."""


def _is_saturating(arrival: Any) -> bool:
    """Whether an arrival, in the form of a file or of the model, is a saturation."""
    kind = arrival.get("kind") if isinstance(arrival, dict) else getattr(arrival, "kind", None)
    return kind == "saturation"


MESSAGES = ("message", "request", "reply", "rate_hz", "arrival", "frames")
"""Keys of messages and their times, which a bring-up of lifecycle nodes does not have."""

RESOLVED = frozenset(
    {
        *MESSAGES,
        *("qos", "touch", "nodes", "subscribers", "relays", "clients", "graph", "bring_up"),
        *("hosts", "processes", "schedule", "timeline", "network", "daemons_host", "overload"),
        *("background", "background_hosts", "host_idle", "containers", "real_time", "relays_host"),
        "beside",
    }
)
"""The keys of a workload whose effect is in another part of a cell's definition: its endpoints,
processes, conditions, network. The definition has all other keys with the workload itself, so that
a new key is kept in the bundle, and as a factor makes cells differ, without another list."""

_CHAIN = ("subscribers", "relays", "relays_host")
EXCLUDES = {
    "nodes": (*_CHAIN, "processes", "clients", "graph", "hosts", "bring_up"),
    "bring_up": (*_CHAIN, "processes", "clients", "graph", "hosts", *MESSAGES),
    "graph": (*_CHAIN, "processes", "clients"),
    "clients": (*_CHAIN, "message"),
}
"""Key that defines the nodes → keys that contradict it, since they define nodes as well."""

ONE_HOST = (LOCAL_HOST,)


NetworkOrName = Annotated[
    Annotated[str, Tag("name")] | Annotated[Network, Tag("mapping")],
    Discriminator(lambda value: "name" if isinstance(value, str) else "mapping"),
]

BESIDE = beside.parts("keys")
"""The features beside a workload that have keys in it."""
BESIDE_KEYS: dict[str, Any] = {part.KEY: (part.KIND, None) for part in BESIDE if part.KEY}
Beside: Any = create_model("Beside", __base__=Strict, **BESIDE_KEYS)
"""A file has these keys in the workload itself."""


class Workload(Strict):
    """By default a talker and `subscribers` listeners, with `relays` nodes in between. With
    `clients` it is that many clients of one service, with `nodes` a list of nodes, with `graph` a
    graph of many nodes, with `bring_up` many lifecycle nodes and their manager.

    `primary_metric` judges the arms: by default the median response latency, or the achieved rate
    where `arrival` is a saturation.

    `message` (or `request` and `reply`), `rate_hz` or `arrival`, `qos`, `touch` and `frames` (the
    source of images) are the defaults of all endpoints; each publisher or client has the whole
    rate. `schedule`: each publisher and client has its `own` thread, or those of a process have a
    `shared` one.

    `background` and `host_idle` are the load and the idle states of `background_hosts`, by default
    of all hosts. `containers` puts each process into a container, `real_time` gives it a scheduling
    class, a processor or locked memory. `ros_variables` sets a case of ROS variables for the
    process that writes and the one that reads; the trial then only tests whether they are obeyed.
    `recorder` runs rosbag2's recorder beside the readers (both: rmwbench/beside).

    Times count from the start of the steady state. At `daemons_end_s` the daemons of an arm's
    middleware (RouDi, router, discovery server) are killed: all, only the `first`, or those on the
    `daemons_host`; at `daemons_return_s` they are started again. At `readers_freeze_s` every
    process that only reads is stopped (SIGSTOP) until the steady state ends.

    `hosts` distributes the nodes of a shorthand over hosts, except relays with a `relays_host`; a
    listed node has its own `host`. `network` is the network between hosts, or its name;
    `daemons_host` is the host of the middleware's daemons, by default the first host.

    With `focus` latencies and losses are those of these topics, services and readers (by the names
    of their nodes), and all others are load beside them. `against` names the workload that this one
    is compared with, arm by arm and block by block, as ratios. `overload` allows a load of more
    than five times a link's capacity, which a plan refuses otherwise.
    """

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        **LINK_KEY_PLACES,
        **elsewhere("`modes: {KEY: …}` of an arm", MODES),
        **elsewhere("`KEY` of an arm", Arm.model_fields),
        **elsewhere("`qos: {KEY: …}`", Qos.model_fields),
        **elsewhere("`timeline: {KEY: …}`", Timeline.model_fields),
        **elsewhere("`KEY` of a subscription in `nodes`", ("hold_ms",)),
        **elsewhere("`KEY` of the suite, beside `workloads`", ("factors", "networks", "blocks")),
    }
    UNWRITTEN: ClassVar[frozenset[str]] = frozenset({"beside"})

    name: WorkloadName
    title: str = ""
    description: str = ""
    primary_metric: PrimaryMetric = "response_latency_p50"
    message: MessageName | None = None
    request: CallName | None = None
    reply: CallName | None = None
    rate_hz: RateHz | None = None
    arrival: Arrival | None = None
    qos: Qos = Qos()
    touch: Touch = "all"
    frames: Source | None = None
    subscribers: int | None = Field(default=None, ge=1, le=1000)
    relays: int | None = Field(default=None, ge=0, le=1000)
    clients: int | None = Field(default=None, ge=1, le=1000)
    processes: Placement | None = None
    schedule: Schedule = "own"
    nodes: ListOf[Node] | None = None
    graph: Graph | None = None
    bring_up: BringUp | None = None
    timeline: Timeline = Timeline()
    background: Background = "idle"
    background_hosts: ListOf[NodeName] = ()
    host_idle: HostIdle = "as_found"
    containers: Containers = "none"
    real_time: RealTime = "none"
    beside: Beside = Beside()
    daemons_end_s: Span | None = None
    daemons_end: Literal["all", "first", "daemons_host"] = "all"
    daemons_return_s: Span | None = None
    hosts: ListOf[NodeName] | None = None
    relays_host: NodeName | None = None
    network: NetworkOrName | None = None
    daemons_host: NodeName | None = None
    readers_freeze_s: Span | None = None
    focus: ListOf[TopicName] = ()
    against: WorkloadName | None = None
    overload: bool = False

    @model_validator(mode="before")
    @classmethod
    def _known_keys_only(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        check_keys(cls, data, [*BESIDE_KEYS])
        beside_values = {key: value for key, value in data.items() if key in BESIDE_KEYS}
        own_values = {key: value for key, value in data.items() if key not in BESIDE_KEYS}
        if "primary_metric" not in own_values and _is_saturating(own_values.get("arrival")):
            own_values["primary_metric"] = ACHIEVED_RATE
        return own_values | ({"beside": beside_values} if beside_values else {})

    def set_values(self) -> dict[str, Any]:
        values = super().set_values()
        return values | (values.pop("beside").set_values() if "beside" in values else {})

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
        self._check_shape()
        if self.nodes is not None:
            self._check_nodes(self.nodes)
        elif self.bring_up is None:
            self._check_shorthand()
        if self.hosts is not None:
            check_hosts(self.hosts, self.all_nodes, one_process=self.processes == "one")
        self._check_places()
        self._check_chain()
        for part in BESIDE:
            part.check(part.KEY and getattr(self.beside, part.KEY), self)
        known = topics_and_readers(self.all_nodes)
        for index, name in enumerate(self.focus):
            check_known("topic, service or reader", name, known, at=("focus", index))
        return self

    def _check_shape(self) -> None:
        shape = next((name for name in EXCLUDES if getattr(self, name) is not None), None)
        for name in EXCLUDES[shape] if shape is not None else ():
            if getattr(self, name) is not None:
                raise Fault(
                    f"`{name}` and `{shape}` contradict each other",
                    expected=f"either `{shape}` or a shorthand with `{name}`",
                    actual=f"both `{name}` and `{shape}`",
                    fix=f"remove `{name}` and write its nodes into the list, or remove `nodes`"
                    if shape == "nodes"
                    else f"remove `{name}` or `{shape}`",
                    at=(name,),
                )

    def _check_places(self) -> None:
        known = self.host_names
        if self.network is not None and len(known) < 2:
            raise Fault(
                "a network lies between hosts, and this workload has one",
                expected="`hosts: [robot, base]`, or nodes with a `host`",
                actual=", ".join(known),
                at=("network",),
            )
        if self.overload and self.network is None:
            raise Fault(
                "`overload` is about a network, and this workload has none",
                expected="a `network` whose links have a rate",
                actual="no network",
                fix="remove `overload`, or name the `network`",
                at=("overload",),
            )
        for index, host in enumerate(self.background_hosts):
            check_known("host", host, known, at=("background_hosts", index))
        for key in ("daemons_host", "relays_host"):
            if (host_name := getattr(self, key)) is not None:
                check_known("host", host_name, known, at=(key,))

    def _check_chain(self) -> None:
        nodes = self.all_nodes
        relays = any(
            isinstance(publisher.arrival, Relay) for node in nodes for publisher in node.publishers
        )
        if (
            GLOSSARY[self.primary_metric].scope is MetricScope.CHAIN
            and not relays
            and not any(node.clients for node in nodes)
        ):
            raise Fault(
                f"`{self.primary_metric}` is about relayed messages, and no node relays any here",
                expected="`relays: 1`, or nodes with a relay",
                actual="none",
                fix="judge by response_latency_p50, which is the same for one hop",
                at=("primary_metric",),
            )

    def _check_shorthand(self) -> None:
        for name in ("request", "reply") if self.clients is not None else ("message",):
            if getattr(self, name) is None:
                example = "Bytes(320) or Image1080p" if name == "message" else "Bytes(64)"
                raise Fault(
                    f"workload without `{name}`",
                    expected=f"a message type such as {example}",
                    at=(name,),
                )
        for name in ("request", "reply") if self.clients is None else ():
            if getattr(self, name) is not None:
                raise Fault(
                    f"`{name}` without a service",
                    expected="`clients: 1`, or `nodes` with a service",
                    at=(name,),
                )
        if self.common_arrival is None:
            raise Fault(
                "workload without a rate",
                expected="`rate_hz: 30` or `arrival: {kind: …}`",
                at=("rate_hz",),
            )

    def _check_nodes(self, nodes: tuple[Node, ...]) -> None:
        with at_key("nodes"):
            check_graph(nodes)
            for index, node in enumerate(nodes):
                for position, publisher in enumerate(node.publishers):
                    self._check_publisher(publisher, (index, "publishers", position))
                for position, client in enumerate(node.clients):
                    self._check_sender(client, "client", "service", (index, "clients", position))
                for position, service in enumerate(node.services):
                    self._check_service(service, (index, "services", position))

    def _check_publisher(self, publisher: Publisher, at: At) -> None:
        if (
            publisher.message is None
            and self.message is None
            and not isinstance(publisher.arrival, Relay)
        ):
            raise Fault(
                "publisher without a message type",
                expected="`message` here or in the workload",
                at=(*at, "topic"),
            )
        self._check_sender(publisher, "publisher", "topic", at)

    def _check_sender(self, sender: Publisher | Client, kind: str, name: str, at: At) -> None:
        with at_key(*at):
            _one_schedule(sender.rate_hz, sender.arrival)
            if sender.rate_hz is None and sender.arrival is None and self.common_arrival is None:
                raise Fault(
                    f"{kind} without a rate",
                    expected="`rate_hz` or `arrival` here or in the workload",
                    at=(name,),
                )

    def _check_service(self, service: Service, at: At) -> None:
        for name in ("request", "reply"):
            if getattr(service, name) is None and getattr(self, name) is None:
                raise Fault(
                    f"service without a type of its {name}",
                    expected=f"`{name}` here or in the workload, such as Bytes(64)",
                    at=(*at, "service"),
                )

    @property
    def common_arrival(self) -> Any:
        """The arrival by `arrival` or `rate_hz`, or None where every publisher has its own."""
        if self.rate_hz is None:
            return self.arrival
        return Periodic(kind="periodic", rate_hz=self.rate_hz)

    @property
    def all_nodes(self) -> tuple[Node, ...]:
        """The nodes of the list or the shorthand."""
        if self.nodes is not None:
            return self.nodes
        if self.graph is not None:
            return self.graph.node_list(self.name, self.hosts or ONE_HOST)
        if self.bring_up is not None:
            return bring_up_nodes(self.bring_up)
        placement = (self.processes or "per_node", self.hosts or ONE_HOST)
        if self.clients is not None:
            return service_nodes(self.name, self.clients, *placement)
        length = (self.subscribers or 1, self.relays or 0)
        return chain_nodes(self.name, *length, *placement, self.relays_host)

    @property
    def host_names(self) -> tuple[str, ...]:
        """The hosts, in the order of their addresses."""
        return self.hosts or tuple(dict.fromkeys(node.host for node in self.all_nodes))

    @property
    def display_title(self) -> str:
        return self.title or self.name

    def definition(self) -> dict[str, Any]:
        """The workload as a cell stores it, without keys at their defaults: a new key does not
        change the definitions of older campaigns."""
        always_stored = {
            "name": self.name,
            "title": self.display_title,
            "description": self.description,
            "primary_metric": self.primary_metric,
        }
        return always_stored | self.non_defaults(without={*RESOLVED, *always_stored})


def _one_schedule(rate_hz: float | None, arrival: Any) -> None:
    if rate_hz is not None and arrival is not None:
        raise Fault(
            "`rate_hz` and `arrival` contradict each other",
            expected="one of them: `rate_hz: 30` is short for `arrival: {kind: periodic, rate_hz: "
            "30}`",
            actual="both",
            fix="remove one",
            at=("rate_hz",),
        )
