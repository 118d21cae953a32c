"""What rosbag2 prints of itself: which topics it subscribed to, what its cache lost, what the RMW
told it was lost on the way, and whether it ended in order.

It prints losses only where there are any: that a line is missing means zero where the recorder
ended in order, and nothing otherwise.
"""

import re
from dataclasses import dataclass

_SUBSCRIBED = re.compile(r"Subscribed to topic '([^']+)'")
_CACHE = re.compile(
    r"Cache buffers lost messages per topic: ((?:\n\t\S+: \d+)*)\nTotal lost: (\d+)"
)
_OF_TOPIC = re.compile(r"\t(\S+): (\d+)")
_UNFLUSHED = re.compile(r"Cache buffers were unflushed with (\d+) remaining messages")
_TRANSPORT = re.compile(r"Number of messages lost on the transport layer: (\d+)")
_STOPPED = "Recording stopped"
TRANSPORT_SINCE = (0, 26, 10)
"""The version of rosbag2 in Jazzy from which on it counts the message-lost events of its RMW and prints their
sum."""


@dataclass(frozen=True)
class RecorderLog:
    """`cache_lost`: topic → messages; None where it did not end in order, which no count survives.
    `transport_lost`: of all topics together, None where this rosbag2 does not count them."""

    subscribed: frozenset[str]
    stopped: bool
    cache_lost: dict[str, int] | None
    unflushed: int
    transport_lost: int | None


def parse(text: str, version: tuple[int, ...] = ()) -> RecorderLog:
    """From all that it printed; `version` is rosbag2's."""
    stopped = _STOPPED in text
    cache_lost: dict[str, int] = {}
    # A bag that is split prints its cache's account once more, which then counts on from the one
    # before.
    for found in _CACHE.finditer(text):
        cache_lost |= {topic: int(count) for topic, count in _OF_TOPIC.findall(found[1])}
    transport = _TRANSPORT.search(text)
    counts = version[:2] == TRANSPORT_SINCE[:2] and version >= TRANSPORT_SINCE
    return RecorderLog(
        frozenset(_SUBSCRIBED.findall(text)),
        stopped,
        cache_lost if stopped else None,
        sum(int(count) for count in _UNFLUSHED.findall(text)),
        int(transport[1]) if transport else 0 if stopped and counts else None,
    )
