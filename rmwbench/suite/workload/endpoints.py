"""From the graph to endpoints: their numbers, the peers that each expects, and how many messages
each will send and read.

Everything that a trial must know beforehand is computed here, once, from the plan: the barrier
waits for `matches`, the record file is as large as `sections` says, and the percentiles that a
trial allows follow from `steady_messages`. The counts follow from each endpoint's arrivals and from
when it and its peers are there. Times are ns from the start of the warm-up. A late joiner's
schedule begins when it joins.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.suite.arm import Arm
from rmwbench.suite.fault import Fault, inside
from rmwbench.suite.seed import derive_seed
from rmwbench.suite.timeline import Timeline, to_ns
from rmwbench.suite.workload.arrival import Periodic, Relay, Saturation
from rmwbench.suite.workload.arrival import fewest as fewest_of
from rmwbench.suite.workload.camera import SYNTHETIC, frame_format
from rmwbench.suite.workload.message_type import MessageType, message_type, service_type
from rmwbench.suite.workload.qos import Qos, incompatibility
from rmwbench.suite.workload.schedule import Sender
from rmwbench.suite.workload.topology import Node, NodeLife
from rmwbench.suite.workload.workload import Workload


class Counts:
    """`drafts` are endpoints as dictionaries with `endpoint`, `kind`, `topic`, `arrival` and
    `life`."""

    def __init__(
        self,
        drafts: Sequence[Mapping[str, Any]],
        peers: Mapping[int, tuple[int, ...]],
        timeline: Timeline,
    ):
        self._drafts = {draft["endpoint"]: draft for draft in drafts}
        self._peers, self._timeline = peers, timeline
        self._counts: dict[tuple[int, int, int, bool], int] = {}
        self._of_topic: dict[str, list[int]] = {}
        for draft in drafts:
            if draft["kind"] == "publisher":
                self._of_topic.setdefault(draft["topic"], []).append(draft["endpoint"])

    def sent(self, number: int) -> int:
        """A publisher or client sends all; a service a reply to each request; 0 of a
        subscription."""
        match self._drafts[number]["kind"]:
            case "subscription":
                return 0
            case "service":
                return self.received(number)
        return self._due(number, 0, self._timeline.end_ns)

    def received(self, number: int) -> int:
        """How many messages an endpoint receives from all its writers; a client reads the reply of
        each of its services to each of its requests."""
        match self._drafts[number]["kind"]:
            case "publisher":
                return 0
            case "client":
                return self.sent(number) * len(self._peers[number])
        return sum(self._due(writer, 0, self._timeline.end_ns) for writer in self._peers[number])

    def steady(self, number: int) -> int:
        """The fewest messages of an endpoint in the steady state while it is there, whatever phases
        are drawn."""
        begin_ns, end_ns = self._span(self._drafts[number]["life"])
        begin_ns = max(begin_ns, self._timeline.warmup_ns)
        sends = self._drafts[number]["kind"] in SCHEDULED
        writers = (number,) if sends else self._peers[number]
        return sum(self._due(writer, begin_ns, end_ns, fewest=True) for writer in writers)

    def _span(self, life: NodeLife) -> tuple[int, int]:
        """When it is there."""
        begin_ns = 0 if life.begin_s is None else self._timeline.warmup_ns + to_ns(life.begin_s)
        if life.end_s is None:
            return begin_ns, self._timeline.end_ns
        return begin_ns, self._timeline.warmup_ns + to_ns(life.end_s)

    def _due(self, number: int, begin_ns: int, end_ns: int, *, fewest: bool = False) -> int:
        """What a publisher or client sends in a span, at most or at least; a relay sends what all
        who publish the topic it relays do."""
        key = (number, begin_ns, end_ns, fewest)
        if key not in self._counts:
            draft = self._drafts[number]
            origin_ns, last_ns = self._span(draft["life"])
            begin_ns, end_ns = max(begin_ns, origin_ns), min(end_ns, last_ns)
            if begin_ns >= end_ns:
                self._counts[key] = 0
            elif isinstance(draft["arrival"], Relay):
                sources = self._of_topic.get(draft["arrival"].source, ())
                self._counts[key] = sum(
                    self._due(source, begin_ns, end_ns, fewest=fewest) for source in sources
                )
            else:
                span = begin_ns - origin_ns, end_ns - origin_ns
                arrival = draft["arrival"]
                self._counts[key] = fewest_of(arrival, *span) if fewest else arrival.count(*span)
        return self._counts[key]


RECORD_MARGIN = 1.5
RECORD_SLACK = 256
"""Room for duplicates and for a Poisson draw above its mean: overflow voids a trial, a slot costs
64 bytes."""

SENT, RECEIVED = 1, 2

READ_BY = {"publisher": "subscription", "client": "service", "service": "client"}
"""Kind that writes → kind that reads what it writes; both are on one topic, or of one service."""
READERS = tuple(dict.fromkeys(READ_BY.values()))
SCHEDULED = ("publisher", "client")
"""Kinds with an arrival of their own."""


@dataclass(frozen=True)
class Endpoint:
    """One publisher, subscription, service or client of a cell.

    `type` is that of the topic, or of the service's requests, and `reply_type` that of its replies.
    `sent` is due from the start of the warm-up to the end of the steady state, `received` adds up
    what its writers send, `steady_messages` is what it reads (a publisher: sends) in the steady
    state, the fewest whatever phases are drawn. `peers` are the endpoints it should match in its
    life, `present` those of them that are there when it is created.
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
    peers: tuple[int, ...]
    present: tuple[int, ...]
    sent: int
    received: int
    steady_messages: int
    saturating: bool
    hold_ns: int = 0
    frames: str | None = None
    """The source of the frames that a publisher sends, where it is not the synthetic one."""

    @property
    def matches(self) -> int:
        return len(self.present)

    @property
    def reads(self) -> bool:
        return self.kind in READERS

    @property
    def writes(self) -> bool:
        return self.kind in READ_BY

    @property
    def sender(self) -> Sender | None:
        """The endpoint as a schedule sees it; None where it has no arrival."""
        if self.kind not in SCHEDULED:
            return None
        arrival = "relay" if self.relay_from is not None else self.arrival.kind
        joins = None if self.life.begin_s is None else (self.node, self.life.begin_s)
        return Sender(self.endpoint, self.process, joins, arrival)

    @property
    def read_bytes(self) -> int:
        """Payload of what it reads."""
        type_read = self.reply_type if self.kind == "client" else self.type
        return type_read.payload_bytes if type_read is not None and self.reads else 0

    @property
    def sections(self) -> tuple[tuple[int, int], ...]:
        """(kind of record, slots) of its sections of the record file."""
        sections = ((SENT, self.sent, self.writes), (RECEIVED, self.received, self.reads))
        return tuple((kind, _capacity(messages)) for kind, messages, has in sections if has)

    @property
    def capacity(self) -> int:
        """Slots of all its sections."""
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
        settings |= {"qos": self.qos.wire(), "touch": self.touch, "matches": self.matches}
        if self.reads:
            settings["wait"] = arm.wait
        if self.kind == "subscription" and arm.take != "typed":
            settings["take"] = arm.take
        if self.hold_ns:
            settings["hold_ns"] = self.hold_ns
        if self.kind not in SCHEDULED:
            return settings
        if self.relay_from is not None:
            arrival = {"kind": "relay", "from": self.relay_from}
        else:
            arrival = self.arrival.wire(derive_seed(schedule_seed, "arrival", self.endpoint))
            if isinstance(self.arrival, Periodic) and self.arrival.jitter_ms is not None:
                jitter_owner = self.endpoint if self.arrival.phase_ns is None else self.node
                seed = derive_seed(schedule_seed, "jitter", jitter_owner)
                arrival = self.arrival.jittered(arrival, self.sent, seed)
        if self.frames is not None:
            settings["frames"] = self.frames
        return settings | {"arrival": arrival, "loan": arm.loan, "publish_mode": arm.publish_mode}


def _capacity(messages: int) -> int:
    return math.ceil(messages * RECORD_MARGIN) + RECORD_SLACK


def endpoints(workload: Workload, timeline: Timeline) -> tuple[Endpoint, ...]:
    """The workload's endpoints, numbered from 1 in the order of nodes, within a node publishers,
    subscriptions, services, clients; a node that restarts has new ones behind all others.

    Raises Fault, counted from the workload, where the topics do not fit together (two message types
    on one topic, qualities of service that never match) or a node joins or leaves outside of the
    steady state.
    """
    nodes = workload.written_out
    _check_events(workload, nodes, timeline)
    _check_lives(workload, nodes, timeline)
    drafts = _drafts(workload, nodes)
    types = _topic_types(workload, nodes)
    services = _service_types(workload, nodes)
    peers = _peers(workload, drafts)
    counts = Counts(drafts, peers, timeline)
    saturating = _saturating_topics(drafts)
    by_number = {draft["endpoint"]: draft for draft in drafts}
    numbered = []
    for draft in drafts:
        number, topic, life = draft["endpoint"], draft["topic"], draft["life"]
        of_service = draft["kind"] in ("service", "client")
        request, reply = services[topic] if of_service else (types[topic], None)
        _check_frames(workload, draft, request)
        numbered.append(
            Endpoint(
                **draft,
                type=request,
                reply_type=reply,
                peers=peers[number],
                present=tuple(
                    p for p in peers[number] if by_number[p]["life"].present_at(life.begin_s)
                ),
                sent=counts.sent(number),
                received=counts.received(number),
                steady_messages=counts.steady(number),
                saturating=topic in saturating,
            )
        )
    return tuple(numbered)


def _at(workload: Workload, key: str, *path: str | int) -> tuple[str | int, ...]:
    """Where a part of the graph stands in a workload: at a path in its `nodes`, or at a key of its
    shorthand."""
    return (key,) if workload.nodes is None else ("nodes", *path)


def _check_frames(workload: Workload, draft: dict[str, Any], type_: MessageType) -> None:
    """A publisher's frames: those of the workload are for images alone, and those of its own for
    what must be one."""
    has_own = draft.pop("own_frames", False)
    if draft.get("frames") in (None, SYNTHETIC) or (type_.pixels is None and not has_own):
        draft["frames"] = None
        return
    at = _at(workload, "frames")
    with inside(*at):
        frame_format(draft["frames"], type_, draft["arrival"])
    if draft["touch"] != "all":
        raise Fault(
            "frames are written and read whole", expected="touch: all", actual=draft["touch"], at=at
        )


def _check_events(workload: Workload, nodes: Sequence[Node], timeline: Timeline) -> None:
    """Checks what happens to daemons, and to the processes that only read."""
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
            actual="something in every process that sends",
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
    """Checks that nodes come and go within the steady state."""
    for index, node in enumerate(nodes):
        for key in ("joins_s", "leaves_s", "killed_s", "restarts_s"):
            at_s = getattr(node, key)
            if at_s is not None and at_s >= timeline.steady_s:
                at = ("nodes", index, key) if workload.nodes is not None else ("graph", key)
                raise Fault(
                    f"node `{node.name}` "
                    f"{'is ' if key == 'killed_s' else ''}{key.removesuffix('_s')} after the "
                    "steady state",
                    expected=f"{key} below {timeline.steady_s:g}, the length of the steady state",
                    actual=f"{at_s:g}",
                    at=at,
                )


def _drafts(workload: Workload, nodes: Sequence[Node]) -> list[dict[str, Any]]:
    """The endpoints, each with its own settings or the workload's; what depends on other endpoints
    is still missing. Second lives come last, so that a restart changes no number."""
    drafts: list[dict[str, Any]] = []
    for turn in range(2):
        for node in nodes:
            if turn < len(node.lives):
                drafts += _of_node(workload, node, node.lives[turn], len(drafts) + 1)
    return drafts


def _of_node(workload: Workload, node: Node, life: NodeLife, first: int) -> list[dict[str, Any]]:
    shared = {"node": node.name, "process": node.process_of(life), "host": node.host, "life": life}
    readers = {
        subscription.topic: first + len(node.publishers) + index
        for index, subscription in enumerate(node.subscriptions)
    }
    drafts: list[dict[str, Any]] = []

    def draft(kind: str, topic: str, end: Any, arrival: Any = None) -> None:
        drafts.append(
            shared
            | {
                "endpoint": first + len(drafts),
                "kind": kind,
                "topic": topic,
                "qos": end.qos or workload.qos,
                "touch": end.touch or workload.touch,
                "arrival": arrival,
                "relay_from": readers[arrival.source] if isinstance(arrival, Relay) else None,
                "hold_ns": round(1e6 * getattr(end, "hold_ms", 0.0)),
            }
        )

    for publisher in node.publishers:
        draft("publisher", publisher.topic, publisher, _arrival(workload, publisher))
        if not isinstance(publisher.arrival, Relay):
            source = publisher.frames or workload.frames
            drafts[-1] |= {"frames": source, "own_frames": publisher.frames is not None}
    for subscription in node.subscriptions:
        draft("subscription", subscription.topic, subscription)
    for service in node.services:
        draft("service", service.service, service)
    for client in node.clients:
        draft("client", client.service, client, _arrival(workload, client))
    return drafts


def _arrival(workload: Workload, sender: Any) -> Any:
    if sender.rate_hz is not None:
        return Periodic(kind="periodic", rate_hz=sender.rate_hz)
    return sender.arrival or workload.common_arrival


def _topic_types(workload: Workload, nodes: Sequence[Node]) -> dict[str, MessageType]:
    """One message type per topic; a relay that names none passes on what it gets."""
    type_of_topic: dict[str, tuple[str, tuple[str | int, ...]]] = {}
    relays: list[tuple[str, str, tuple[str | int, ...]]] = []

    def assign(topic: str, name: str, at: tuple[str | int, ...]) -> None:
        first = type_of_topic.setdefault(topic, (name, at))[0]
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
    # A chain of relays settles after as many rounds as it has links, in whatever order the file
    # lists them.
    for _ in relays:
        for source, target, at in relays:
            if source in type_of_topic:
                assign(target, type_of_topic[source][0], at)
    return {topic: message_type(name) for topic, (name, _) in type_of_topic.items()}


def _service_types(
    workload: Workload, nodes: Sequence[Node]
) -> dict[str, tuple[MessageType, MessageType]]:
    """Request and reply of each service."""
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


def _peers(workload: Workload, drafts: list[dict[str, Any]]) -> dict[int, tuple[int, ...]]:
    peers: dict[int, list[int]] = {draft["endpoint"]: [] for draft in drafts}
    readers: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for draft in drafts:
        readers.setdefault((draft["kind"], draft["topic"]), []).append(draft)
    for writer in drafts:
        for reader in readers.get((READ_BY.get(writer["kind"], ""), writer["topic"]), ()):
            if not writer["life"].meets(reader["life"]):
                continue
            reason = incompatibility(writer["qos"], reader["qos"])
            if reason:
                raise Fault(
                    f"contradictory quality of service on topic `{writer['topic']}`: {reason}",
                    expected=f"what node `{writer['node']}` offers: {_qos_words(writer['qos'])}",
                    actual=f"node `{reader['node']}` asks for {_qos_words(reader['qos'])}",
                    at=_at(workload, "qos"),
                )
            if writer["kind"] != "service":  # client and service read each other: one pair, not two
                peers[writer["endpoint"]].append(reader["endpoint"])
                peers[reader["endpoint"]].append(writer["endpoint"])
    return {number: tuple(peer_numbers) for number, peer_numbers in peers.items()}


def _qos_words(qos: Qos) -> str:
    return f"{qos.reliability}, {qos.durability}"


def _saturating_topics(drafts: list[dict[str, Any]]) -> set[str]:
    """Topics on which the number of messages is the middleware's answer: a saturating publisher, or
    a relay behind one."""
    topics = {draft["topic"] for draft in drafts if isinstance(draft["arrival"], Saturation)}
    relays = [draft for draft in drafts if isinstance(draft["arrival"], Relay)]
    for _ in relays:
        topics |= {draft["topic"] for draft in relays if draft["arrival"].source in topics}
    return topics
