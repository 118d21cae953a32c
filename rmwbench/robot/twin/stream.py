"""The stream of messages, without payloads, that every format of a bag is read into."""

from dataclasses import dataclass
from typing import NamedTuple

from rmwbench.robot.twin.qos_offer import QosOffer


@dataclass(frozen=True, kw_only=True)
class BagTopic:
    """`offers` has the QoS of each publisher; empty if the bag does not have it."""

    name: str
    type: str
    offers: tuple[QosOffer, ...] = ()


class Message(NamedTuple):
    """`log_ns` is the time at which the recorder got the message, `publish_ns` the other stamp of
    the bag, or None. `size_bytes` is the size of the serialised message with its encapsulation."""

    topic: BagTopic
    log_ns: int
    publish_ns: int | None
    size_bytes: int
