"""From the graph to endpoints: numbers, expected peers, and how many messages each will see.

Everything a trial needs to know beforehand is computed here, once, from the plan: the barrier waits for `matches`,
the record file is as large as `capacity` says, and the percentiles that a trial allows follow from `steady_messages`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.suite.arm import Arm
from rmwbench.suite.arrival import Periodic, Relay, Saturation
from rmwbench.suite.fault import Fault
from rmwbench.suite.message_type import MessageType, message_type
from rmwbench.suite.qos import Qos, incompatibility
from rmwbench.suite.seed import derive_seed
from rmwbench.suite.timeline import Timeline
from rmwbench.suite.topology import Node
from rmwbench.suite.workload import Workload

RECORD_MARGIN = 1.5
RECORD_SLACK = 256
"""Room for duplicates and for a Poisson draw above its mean: overflow voids a trial, a slot costs 64 bytes."""


@dataclass(frozen=True)
class Endpoint:
    """One publisher or subscription of a cell.

    `messages` is due from the start of the warm-up to the end of the steady state, `steady_messages` in the steady
    state alone; for a subscription both add up its writers. `peers` are the endpoints it should match.
    """

    endpoint: int
    kind: str
    node: str
    process: str
    host: str
    topic: str
    type: MessageType
    qos: Qos
    touch: str
    arrival: Any
    relay_from: int | None
    peers: tuple[int, ...]
    messages: int
    steady_messages: int
    saturating: bool

    @property
    def matches(self) -> int:
        return len(self.peers)

    @property
    def capacity(self) -> int:
        """Slots in its section of the record file."""
        return math.ceil(self.messages * RECORD_MARGIN) + RECORD_SLACK

    def wire(self, arm: Arm, schedule_seed: int) -> dict[str, Any]:
        """The endpoint's object in the protocol's `create`."""
        asked: dict[str, Any] = {
            "endpoint": self.endpoint,
            "kind": self.kind,
            "topic": self.topic,
            "type": self.type.wire(),
            "qos": self.qos.wire(),
            "touch": self.touch,
            "matches": self.matches,
        }
        if self.kind == "subscription":
            return asked | {"wait": arm.wait}
        if self.relay_from is not None:
            arrival = {"kind": "relay", "from": self.relay_from}
        else:
            arrival = self.arrival.wire(derive_seed(schedule_seed, "arrival", self.endpoint))
        return asked | {"arrival": arrival, "loan": arm.loan, "publish_mode": arm.publish_mode}


def endpoints(workload: Workload, timeline: Timeline) -> tuple[Endpoint, ...]:
    """The workload's endpoints, numbered from 1 in the order of nodes, publishers before subscriptions.

    Raises Fault, counted from the workload, where the topics do not fit together: two message types on one topic, or
    qualities of service that never match.
    """
    nodes = workload.graph
    explicit = ("nodes",) if workload.nodes is not None else None
    drafts = _drafts(workload, nodes)
    types = _topic_types(workload, nodes, explicit)
    peers = _peers(drafts, explicit)
    whole, steady = _counts(drafts, 0, timeline.end_ns), _counts(drafts, timeline.warmup_ns, timeline.end_ns)
    saturating = _saturating_topics(drafts)
    found = []
    for draft in drafts:
        number = draft["endpoint"]
        writers = (number,) if draft["kind"] == "publisher" else peers[number]
        found.append(
            Endpoint(
                **draft,
                type=types[draft["topic"]],
                peers=peers[number],
                messages=sum(whole[writer] for writer in writers),
                steady_messages=sum(steady[writer] for writer in writers),
                saturating=draft["topic"] in saturating,
            )
        )
    return tuple(found)


def _drafts(workload: Workload, nodes: Sequence[Node]) -> list[dict[str, Any]]:
    """Each endpoint with its own settings or the workload's; what depends on other endpoints is still missing."""
    drafts: list[dict[str, Any]] = []
    for node in nodes:
        place = {"node": node.name, "process": node.process_name, "host": node.host}
        first = len(drafts) + 1
        readers = {
            subscription.topic: first + len(node.publishers) + index
            for index, subscription in enumerate(node.subscriptions)
        }
        for publisher in node.publishers:
            arrival = publisher.arrival or workload.schedule
            if publisher.rate_hz is not None:
                arrival = Periodic(kind="periodic", rate_hz=publisher.rate_hz)
            drafts.append(
                place
                | {
                    "endpoint": len(drafts) + 1,
                    "kind": "publisher",
                    "topic": publisher.topic,
                    "qos": publisher.qos or workload.qos,
                    "touch": publisher.touch or workload.touch,
                    "arrival": arrival,
                    "relay_from": readers[arrival.source] if isinstance(arrival, Relay) else None,
                }
            )
        for subscription in node.subscriptions:
            drafts.append(
                place
                | {
                    "endpoint": len(drafts) + 1,
                    "kind": "subscription",
                    "topic": subscription.topic,
                    "qos": subscription.qos or workload.qos,
                    "touch": subscription.touch or workload.touch,
                    "arrival": None,
                    "relay_from": None,
                }
            )
    return drafts


def _topic_types(workload: Workload, nodes: Sequence[Node], explicit: tuple[str] | None) -> dict[str, MessageType]:
    """One message type per topic; a relay that names none passes on what it gets."""
    named: dict[str, tuple[str, tuple[str | int, ...]]] = {}
    relays: list[tuple[str, str, tuple[str | int, ...]]] = []

    def assign(topic: str, name: str, at: tuple[str | int, ...]) -> None:
        before = named.setdefault(topic, (name, at))
        if before[0] != name:
            raise Fault(f"topic `{topic}` has two message types", expected=before[0], actual=name, at=at)

    for index, node in enumerate(nodes):
        for place, publisher in enumerate(node.publishers):
            at = (
                (*explicit, index, "publishers", place, "message" if publisher.message else "topic")
                if explicit
                else ("message",)
            )
            if isinstance(publisher.arrival, Relay):
                relays.append((publisher.arrival.source, publisher.topic, at))
            name = publisher.message
            if name is None and not isinstance(publisher.arrival, Relay):
                name = workload.message
            if name is not None:
                assign(publisher.topic, name, at)
    # A chain of relays settles after as many rounds as it has links, in whatever order the file lists them.
    for _ in relays:
        for source, target, at in relays:
            if source in named:
                assign(target, named[source][0], at)
    return {topic: message_type(name) for topic, (name, _) in named.items()}


def _peers(drafts: list[dict[str, Any]], explicit: tuple[str] | None) -> dict[int, tuple[int, ...]]:
    peers: dict[int, list[int]] = {draft["endpoint"]: [] for draft in drafts}
    for writer in drafts:
        for reader in drafts:
            if writer["kind"] != "publisher" or reader["kind"] != "subscription" or writer["topic"] != reader["topic"]:
                continue
            reason = incompatibility(writer["qos"], reader["qos"])
            if reason:
                raise Fault(
                    f"contradictory quality of service on topic `{writer['topic']}`: {reason}",
                    expected=f"what node `{writer['node']}` offers: {_qos_words(writer['qos'])}",
                    actual=f"node `{reader['node']}` asks for {_qos_words(reader['qos'])}",
                    at=explicit or ("qos",),
                )
            peers[writer["endpoint"]].append(reader["endpoint"])
            peers[reader["endpoint"]].append(writer["endpoint"])
    return {number: tuple(found) for number, found in peers.items()}


def _qos_words(qos: Qos) -> str:
    return f"{qos.reliability}, {qos.durability}"


def _counts(drafts: list[dict[str, Any]], begin_ns: int, end_ns: int) -> dict[int, int]:
    """Messages due per publisher in the span; a relay's count is that of all who publish the topic it relays."""
    publishers = {draft["endpoint"]: draft for draft in drafts if draft["kind"] == "publisher"}
    counts: dict[int, int] = {}

    def count(number: int) -> int:
        if number not in counts:
            arrival = publishers[number]["arrival"]
            if isinstance(arrival, Relay):
                counts[number] = sum(
                    count(other) for other, draft in publishers.items() if draft["topic"] == arrival.source
                )
            else:
                counts[number] = arrival.count(begin_ns, end_ns)
        return counts[number]

    return {number: count(number) for number in publishers}


def _saturating_topics(drafts: list[dict[str, Any]]) -> set[str]:
    """Topics on which the number of messages is the middleware's answer: a saturating publisher, or a relay behind
    one."""
    found = {draft["topic"] for draft in drafts if isinstance(draft["arrival"], Saturation)}
    for _ in drafts:
        found |= {
            draft["topic"]
            for draft in drafts
            if isinstance(draft["arrival"], Relay) and draft["arrival"].source in found
        }
    return found
