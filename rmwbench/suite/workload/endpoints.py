"""From the graph to endpoints: their numbers, their expected peers, and the counts of messages that
they will send and read.

They are computed once, from the plan, and each trial uses them: the barrier waits for `present`,
the record file has the size of `sections`, and the percentiles that a trial allows follow from
`steady_messages`. The counts follow from the arrivals and lives of an endpoint and its peers. Times
are in ns from the start of the warm-up. A late joiner's schedule begins when it joins.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rmwbench.codes import SENDERS
from rmwbench.suite.arm import Arm
from rmwbench.suite.fault import At, Fault, at_key
from rmwbench.suite.seed import derive_seed
from rmwbench.suite.timeline import Timeline, to_ns
from rmwbench.suite.workload.arrival import Periodic, Relay, Saturation
from rmwbench.suite.workload.arrival import fewest as fewest_of
from rmwbench.suite.workload.camera import SYNTHETIC, frame_format
from rmwbench.suite.workload.message_type import MessageType, message_type, service_type
from rmwbench.suite.workload.qos import Qos, incompatibility
from rmwbench.suite.workload.schedule import Sender
from rmwbench.suite.workload.topology import Node, NodeLife, Publisher
from rmwbench.suite.workload.workload import Workload

RECORD_MARGIN = 1.5
RECORD_SLACK = 256
"""Room for duplicates and for a Poisson draw above its mean: overflow voids a trial, a slot costs
64 bytes."""

SENT, RECEIVED = 1, 2

READ_BY = {"publisher": "subscription", "client": "service", "service": "client"}
"""Kind of a writer → kind of its readers, on the same topic or service."""
READERS = tuple(dict.fromkeys(READ_BY.values()))


@dataclass(frozen=True)
class Endpoint:
    """One publisher, subscription, service or client of a cell.

    `type` is the type of the topic, or of the service's requests, and `reply_type` that of its
    replies. `frames` is the source of a publisher's frames, None for the synthetic one. The fields
    that depend on other endpoints have defaults until all are known. `peers` are the endpoints that
    it should match in its life, `present` those that exist when it is created. `sent` counts the
    messages that are due from the start of the warm-up to the end of the steady state, `received`
    those that its writers send, and `steady_messages` those that it reads (a publisher: sends) in
    the steady state, the fewest with any drawn phases.
    """

    endpoint: int
    kind: str
    node: str
    process: str
    host: str
    topic: str
    type: MessageType
    reply_type: MessageType | None
    qos: Qos
    touch: str
    arrival: Any
    relay_from: int | None
    life: NodeLife
    hold_ns: int
    frames: str | None
    peers: tuple[int, ...] = ()
    present: tuple[int, ...] = ()
    sent: int = 0
    received: int = 0
    steady_messages: int = 0
    saturating: bool = False

    @property
    def reads(self) -> bool:
        return self.kind in READERS

    @property
    def writes(self) -> bool:
        return self.kind in READ_BY

    @property
    def sender(self) -> Sender | None:
        """The endpoint in the terms of a schedule; None without an arrival."""
        if self.kind not in SENDERS:
            return None
        arrival = "relay" if self.relay_from is not None else self.arrival.kind
        joins = None if self.life.begin_s is None else (self.node, self.life.begin_s)
        return Sender(self.endpoint, self.process, joins, arrival)

    @property
    def read_bytes(self) -> int:
        """The payload of a message that it reads; 0 if it does not read."""
        type_read = self.reply_type if self.kind == "client" else self.type
        return type_read.payload_bytes if type_read is not None and self.reads else 0

    @property
    def sections(self) -> tuple[tuple[int, int], ...]:
        """Its sections of the record file, as (kind of record, slots)."""
        counts = [(SENT, self.sent)] if self.writes else []
        counts += [(RECEIVED, self.received)] if self.reads else []
        return tuple(
            (kind, math.ceil(messages * RECORD_MARGIN) + RECORD_SLACK) for kind, messages in counts
        )

    @property
    def capacity(self) -> int:
        """The number of slots in all sections."""
        return sum(slots for _, slots in self.sections)

    def wire(self, arm: Arm, schedule_seed: int) -> dict[str, Any]:
        """The endpoint's object in the protocol's `create`."""
        settings: dict[str, Any] = {
            "endpoint": self.endpoint,
            "kind": self.kind,
            "topic": self.topic,
            "type": self.type.wire(),
        }
        if self.reply_type is not None:
            settings["reply_type"] = self.reply_type.wire()
        settings |= {"qos": self.qos.wire(), "touch": self.touch, "matches": len(self.present)}
        if self.reads:
            settings["wait"] = arm.wait
        if self.kind == "subscription" and arm.take != "typed":
            settings["take"] = arm.take
        if self.hold_ns:
            settings["hold_ns"] = self.hold_ns
        if self.kind not in SENDERS:
            return settings
        if self.relay_from is not None:
            arrival = {"kind": "relay", "from": self.relay_from}
        else:
            arrival = self.arrival.wire(derive_seed(schedule_seed, "arrival", self.endpoint))
            if isinstance(self.arrival, Periodic) and self.arrival.jitter_ms is not None:
                jitter_owner = self.endpoint if self.arrival.phase_ns is None else self.node
                seed = derive_seed(schedule_seed, "jitter", jitter_owner)
                arrival = self.arrival.with_jitter(arrival, self.sent, seed)
        if self.frames is not None:
            settings["frames"] = self.frames
        return settings | {"arrival": arrival, "loan": arm.loan, "publish_mode": arm.publish_mode}


class _Counts:
    """Counts of the messages that endpoints with known peers send and receive."""

    def __init__(self, endpoints: Sequence[Endpoint], timeline: Timeline):
        self._timeline = timeline
        self._counts: dict[tuple[int, int, int, bool], int] = {}
        self._by_number = {e.endpoint: e for e in endpoints}
        self._publishers: dict[str, list[Endpoint]] = {}
        for e in endpoints:
            if e.kind == "publisher":
                self._publishers.setdefault(e.topic, []).append(e)

    def sent(self, e: Endpoint) -> int:
        """The messages of an endpoint until the end of the steady state; a service sends a reply to
        each request."""
        match e.kind:
            case "subscription":
                return 0
            case "service":
                return self.received(e)
        return self._due(e, 0, self._timeline.end_ns)

    def received(self, e: Endpoint) -> int:
        """The messages from all writers of an endpoint; a client reads the reply of each of its
        services to each of its requests."""
        match e.kind:
            case "publisher":
                return 0
            case "client":
                return self.sent(e) * len(e.peers)
        return sum(self._due(self._by_number[n], 0, self._timeline.end_ns) for n in e.peers)

    def steady(self, e: Endpoint) -> int:
        """The fewest messages of an endpoint in the steady state and its life, with any drawn
        phases."""
        begin_ns, end_ns = self._span(e.life)
        begin_ns = max(begin_ns, self._timeline.warmup_ns)
        writers = [e] if e.kind in SENDERS else [self._by_number[n] for n in e.peers]
        return sum(self._due(writer, begin_ns, end_ns, fewest=True) for writer in writers)

    def _span(self, life: NodeLife) -> tuple[int, int]:
        """Begin and end of a life."""
        begin_ns = 0 if life.begin_s is None else self._timeline.warmup_ns + to_ns(life.begin_s)
        if life.end_s is None:
            return begin_ns, self._timeline.end_ns
        return begin_ns, self._timeline.warmup_ns + to_ns(life.end_s)

    def _due(self, e: Endpoint, begin_ns: int, end_ns: int, *, fewest: bool = False) -> int:
        """The messages that a publisher or client sends in a span, with phase 0 or the fewest; a
        relay sends those of all publishers of its source."""
        key = (e.endpoint, begin_ns, end_ns, fewest)
        if key not in self._counts:
            origin_ns, last_ns = self._span(e.life)
            begin_ns, end_ns = max(begin_ns, origin_ns), min(end_ns, last_ns)
            if begin_ns >= end_ns:
                self._counts[key] = 0
            elif isinstance(e.arrival, Relay):
                sources = self._publishers.get(e.arrival.source, ())
                self._counts[key] = sum(
                    self._due(source, begin_ns, end_ns, fewest=fewest) for source in sources
                )
            else:
                span = begin_ns - origin_ns, end_ns - origin_ns
                self._counts[key] = (
                    fewest_of(e.arrival, *span) if fewest else e.arrival.count(*span)
                )
        return self._counts[key]


def endpoints(workload: Workload, timeline: Timeline) -> tuple[Endpoint, ...]:
    """The workload's endpoints, numbered from 1 in the order of nodes, within a node publishers,
    subscriptions, services, clients; a node that restarts has new ones behind all others.

    Raises Fault, counted from the workload, where the topics do not fit together (two message types
    on one topic, qualities of service that never match) or a node joins or leaves outside of the
    steady state.
    """
    nodes = workload.all_nodes
    _check_events(workload, nodes, timeline)
    _check_lives(workload, nodes, timeline)
    drafts = _with_peers(workload, _drafts(workload, nodes))
    for draft in drafts:
        _check_frames(workload, draft)
    counts, saturating = _Counts(drafts, timeline), _saturating_topics(drafts)
    return tuple(
        replace(
            draft,
            sent=counts.sent(draft),
            received=counts.received(draft),
            steady_messages=counts.steady(draft),
            saturating=draft.topic in saturating,
        )
        for draft in drafts
    )


def _at(workload: Workload, key: str, *path: str | int) -> At:
    """The place of a part of the graph in a workload: a path in `nodes`, or a key of the
    shorthand."""
    return (key,) if workload.nodes is None else ("nodes", *path)


def _check_frames(workload: Workload, publisher: Endpoint) -> None:
    if publisher.frames is None:
        return
    at = _at(workload, "frames")
    with at_key(*at):
        frame_format(publisher.frames, publisher.type, publisher.arrival)
    if publisher.touch != "all":
        raise Fault(
            "frames are written and read whole",
            expected="touch: all",
            actual=publisher.touch,
            at=at,
        )


def _check_events(workload: Workload, nodes: Sequence[Node], timeline: Timeline) -> None:
    """Checks the times at which daemons end and return and readers freeze."""
    if workload.daemons_return_s is not None and (
        workload.daemons_end_s is None or workload.daemons_return_s <= workload.daemons_end_s
    ):
        raise Fault(
            "the daemons return before they end",
            expected="daemons_end_s, and daemons_return_s after it",
            actual=f"{workload.daemons_return_s:g}",
            at=("daemons_return_s",),
        )
    writing = {
        node.process_name for node in nodes if node.publishers or node.clients or node.services
    }
    if (
        workload.readers_freeze_s is not None
        and not {node.process_name for node in nodes} - writing
    ):
        raise Fault(
            "no process only reads, so none can freeze",
            expected="a node with subscriptions alone, in a process of its own",
            actual="a publisher, client or service in every process",
            at=("readers_freeze_s",),
        )
    for key, event in (
        ("daemons_end_s", "the daemons end"),
        ("daemons_return_s", "the daemons return"),
        ("readers_freeze_s", "the readers freeze"),
    ):
        at_s = getattr(workload, key)
        if at_s is not None and at_s >= timeline.steady_s:
            raise Fault(
                f"{event} after the steady state",
                expected=f"{key} below {timeline.steady_s:g}, the length of the steady state",
                actual=f"{at_s:g}",
                at=(key,),
            )


def _check_lives(workload: Workload, nodes: Sequence[Node], timeline: Timeline) -> None:
    """Checks that nodes join, leave and restart within the steady state."""
    for index, node in enumerate(nodes):
        for key in ("joins_s", "leaves_s", "killed_s", "restarts_s"):
            at_s = getattr(node, key)
            if at_s is not None and at_s >= timeline.steady_s:
                at = ("nodes", index, key) if workload.nodes is not None else ("graph", key)
                event = "is killed" if key == "killed_s" else key.removesuffix("_s")
                raise Fault(
                    f"node `{node.name}` {event} after the steady state",
                    expected=f"{key} below {timeline.steady_s:g}, the length of the steady state",
                    actual=f"{at_s:g}",
                    at=at,
                )


def _drafts(workload: Workload, nodes: Sequence[Node]) -> list[Endpoint]:
    """The endpoints without the fields that depend on other endpoints. Second lives come last, so
    that a restart changes no number."""
    types, services = _topic_types(workload, nodes), _service_types(workload, nodes)
    drafts: list[Endpoint] = []
    for turn in range(2):
        for node in nodes:
            if turn < len(node.lives):
                drafts += _of_node(
                    workload, node, node.lives[turn], len(drafts) + 1, types, services
                )
    return drafts


def _of_node(
    workload: Workload,
    node: Node,
    life: NodeLife,
    first: int,
    types: Mapping[str, MessageType],
    services: Mapping[str, tuple[MessageType, MessageType]],
) -> list[Endpoint]:
    readers = {
        subscription.topic: first + len(node.publishers) + index
        for index, subscription in enumerate(node.subscriptions)
    }
    drafts: list[Endpoint] = []

    def add(kind: str, topic: str, end: Any, arrival: Any = None) -> None:
        of_service = kind in ("service", "client")
        request, reply = services[topic] if of_service else (types[topic], None)
        drafts.append(
            Endpoint(
                endpoint=first + len(drafts),
                kind=kind,
                node=node.name,
                process=node.process_of(life),
                host=node.host,
                topic=topic,
                type=request,
                reply_type=reply,
                qos=end.qos or workload.qos,
                touch=end.touch or workload.touch,
                arrival=arrival,
                relay_from=readers[arrival.source] if isinstance(arrival, Relay) else None,
                life=life,
                hold_ns=round(1e6 * getattr(end, "hold_ms", 0.0)),
                frames=_frames(workload, end, request) if kind == "publisher" else None,
            )
        )

    for publisher in node.publishers:
        add("publisher", publisher.topic, publisher, _arrival(workload, publisher))
    for subscription in node.subscriptions:
        add("subscription", subscription.topic, subscription)
    for service in node.services:
        add("service", service.service, service)
    for client in node.clients:
        add("client", client.service, client, _arrival(workload, client))
    return drafts


def _frames(workload: Workload, publisher: Publisher, type_: MessageType) -> str | None:
    """The source of a publisher's frames: its own, or for images the workload's. None for the
    synthetic one, and for a relay."""
    source = publisher.frames or (workload.frames if type_.pixels is not None else None)
    return None if source == SYNTHETIC or isinstance(publisher.arrival, Relay) else source


def _arrival(workload: Workload, sender: Any) -> Any:
    if sender.rate_hz is not None:
        return Periodic(kind="periodic", rate_hz=sender.rate_hz)
    return sender.arrival or workload.common_arrival


def _topic_types(workload: Workload, nodes: Sequence[Node]) -> dict[str, MessageType]:
    """The message type of each topic; a relay without a type has that of its source."""
    type_of_topic: dict[str, str] = {}
    relays: list[tuple[str, str, At]] = []

    def assign(topic: str, name: str, at: At) -> None:
        first = type_of_topic.setdefault(topic, name)
        if first != name:
            raise Fault(
                f"topic `{topic}` has two message types", expected=first, actual=name, at=at
            )

    for index, node in enumerate(nodes):
        for position, publisher in enumerate(node.publishers):
            key = "message" if publisher.message else "topic"
            at = _at(workload, "message", index, "publishers", position, key)
            if isinstance(publisher.arrival, Relay):
                relays.append((publisher.arrival.source, publisher.topic, at))
            name = publisher.message
            if name is None and not isinstance(publisher.arrival, Relay):
                name = workload.message
            if name is not None:
                assign(publisher.topic, name, at)
    # As many rounds as a chain has relays are enough for any order of them in the file.
    for _ in relays:
        for source, target, at in relays:
            if source in type_of_topic:
                assign(target, type_of_topic[source], at)
    return {topic: message_type(name) for topic, name in type_of_topic.items()}


def _service_types(
    workload: Workload, nodes: Sequence[Node]
) -> dict[str, tuple[MessageType, MessageType]]:
    """The types of each service's request and reply."""
    types_of_service: dict[str, tuple[str, str]] = {}
    for index, node in enumerate(nodes):
        for position, service in enumerate(node.services):
            request, reply = service.request or workload.request, service.reply or workload.reply
            assert request and reply, "a workload whose services have no types is refused"
            types = request, reply
            first = types_of_service.setdefault(service.service, types)
            if first != types:
                raise Fault(
                    f"service `{service.service}` has two types",
                    expected=" and ".join(first),
                    actual=" and ".join(types),
                    at=_at(workload, "request", index, "services", position),
                )
    return {
        name: (service_type(request, "request"), service_type(reply, "reply"))
        for name, (request, reply) in types_of_service.items()
    }


def _with_peers(workload: Workload, drafts: Sequence[Endpoint]) -> list[Endpoint]:
    """The endpoints with their peers. Raises Fault where a reader requests more than its writer
    offers."""
    peers: dict[int, list[Endpoint]] = {draft.endpoint: [] for draft in drafts}
    readers: dict[tuple[str, str], list[Endpoint]] = {}
    for draft in drafts:
        readers.setdefault((draft.kind, draft.topic), []).append(draft)
    for writer in drafts:
        for reader in readers.get((READ_BY.get(writer.kind, ""), writer.topic), ()):
            if not writer.life.meets(reader.life):
                continue
            if reason := incompatibility(writer.qos, reader.qos):
                raise Fault(
                    f"contradictory quality of service on topic `{writer.topic}`: {reason}",
                    expected=f"as node `{writer.node}` offers: {_qos_words(writer.qos)}",
                    actual=f"node `{reader.node}` requests {_qos_words(reader.qos)}",
                    at=_at(workload, "qos"),
                )
            if writer.kind != "service":  # client and service read each other: one pair, not two
                peers[writer.endpoint].append(reader)
                peers[reader.endpoint].append(writer)
    return [
        replace(
            draft,
            peers=tuple(peer.endpoint for peer in peers[draft.endpoint]),
            present=tuple(
                peer.endpoint
                for peer in peers[draft.endpoint]
                if peer.life.includes_begin_of(draft.life)
            ),
        )
        for draft in drafts
    ]


def _qos_words(qos: Qos) -> str:
    return f"{qos.reliability}, {qos.durability}"


def _saturating_topics(endpoints: Sequence[Endpoint]) -> set[str]:
    """The topics whose count of messages depends on the middleware: those of a saturating
    publisher, or of a relay behind one."""
    topics = {e.topic for e in endpoints if isinstance(e.arrival, Saturation)}
    relays = [e for e in endpoints if isinstance(e.arrival, Relay)]
    for _ in relays:
        topics |= {e.topic for e in relays if e.arrival.source in topics}
    return topics
