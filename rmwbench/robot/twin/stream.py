"""What every format of a bag becomes: one stream of messages, without their payload."""

from dataclasses import dataclass
from typing import NamedTuple

from rmwbench.robot.twin.qos_offer import QosOffer


@dataclass(frozen=True, kw_only=True)
class BagTopic:
    """`offers`: what each of its publishers offers; empty where the bag does not say."""

    name: str
    type: str
    offers: tuple[QosOffer, ...] = ()


class Message(NamedTuple):
    """`log_ns` is when the recorder had it, `publish_ns` the other stamp of the bag, None where
    there is none; `size_bytes` is that of the serialised message, with its encapsulation."""

    topic: BagTopic
    log_ns: int
    publish_ns: int | None
    size_bytes: int
