"""Reads quality of service of bags and graphs: integers up to version 8 of rosbag2's metadata,
words from version 9 on, as a YAML list or as a string with one.

Discovery does not transmit the history, so `history: unknown, depth: 0` is usual: the depth is then
absent, and never 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from rmwbench.suite.workload.qos import MOST_DEPTH

RELIABLE, BEST_EFFORT = "reliable", "best_effort"
VOLATILE, TRANSIENT_LOCAL = "volatile", "transient_local"
KEEP_LAST, KEEP_ALL = "keep_last", "keep_all"

_HISTORY = {1: KEEP_LAST, 2: KEEP_ALL}
_RELIABILITY = {1: RELIABLE, 2: BEST_EFFORT}
_DURABILITY = {1: TRANSIENT_LOCAL, 2: VOLATILE}
"""The integers of rmw's enumerations, and of rosgraph_msgs/QoSProfile. All others (system default,
unknown, best available) have no definite value."""


@dataclass(frozen=True)
class QosOffer:
    """The QoS that a publisher offers or a subscription requests; None for an unknown value."""

    reliability: str | None = None
    durability: str | None = None
    history: str | None = None
    depth: int | None = None


def load_yaml(text: str) -> Any:
    """A YAML document, parsed by libyaml if it is there. Raises ValueError for invalid YAML."""
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())) from None


def offers(profiles: Any) -> tuple[QosOffer, ...]:
    """The offers in `offered_qos_profiles`, one per publisher; empty for an empty value. Raises
    ValueError for any value but a list of profiles."""
    if isinstance(profiles, str):
        profiles = load_yaml(profiles)
    if profiles is None or profiles == "":
        return ()
    if not isinstance(profiles, list):
        raise ValueError("offered_qos_profiles is not a list")
    return tuple(map(offer, profiles))


def offer(profile: Any) -> QosOffer:
    """The QoS of one profile, with no more depth than a suite takes. Raises ValueError for any
    value but a mapping."""
    if not isinstance(profile, Mapping):
        raise ValueError("a quality of service is not a mapping")
    history = _word(profile.get("history"), _HISTORY)
    depth = profile.get("depth")
    if history != KEEP_LAST or not isinstance(depth, int) or depth <= 0:
        depth = None
    return QosOffer(
        _word(profile.get("reliability"), _RELIABILITY),
        _word(profile.get("durability"), _DURABILITY),
        history,
        None if depth is None else min(depth, MOST_DEPTH),
    )


def _word(value: Any, words: Mapping[int, str]) -> str | None:
    if isinstance(value, int):
        return words.get(value)
    return value if value in words.values() else None
