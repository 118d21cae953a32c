"""Quality of service as bags and graphs have it: integers up to version 8 of rosbag2's metadata,
words from 9 on, as a YAML list or as a string that contains one.

Discovery does not carry the history, so `history: unknown, depth: 0` is the usual case: the depth
is then absent, and never 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

RELIABLE, BEST_EFFORT = "reliable", "best_effort"
VOLATILE, TRANSIENT_LOCAL = "volatile", "transient_local"
KEEP_LAST, KEEP_ALL = "keep_last", "keep_all"

_HISTORY = {1: KEEP_LAST, 2: KEEP_ALL}
_RELIABILITY = {1: RELIABLE, 2: BEST_EFFORT}
_DURABILITY = {1: TRANSIENT_LOCAL, 2: VOLATILE}
"""The integers of rmw's enumerations, and of rosgraph_msgs/QoSProfile. What is not here (system
default, unknown, best available) says nothing."""


@dataclass(frozen=True)
class QosOffer:
    """What a publisher offers or a subscription asks for; None where that is not known."""

    reliability: str | None = None
    durability: str | None = None
    history: str | None = None
    depth: int | None = None


def load_yaml(text: str) -> Any:
    """A YAML document at the speed of C. Raises ValueError for what is not one."""
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())) from None


def offers(profiles: Any) -> tuple[QosOffer, ...]:
    """The offers of `offered_qos_profiles`, one per publisher. Raises ValueError where it is
    neither empty nor a list of profiles."""
    if isinstance(profiles, str):
        profiles = load_yaml(profiles)
    if profiles is None or profiles == "":
        return ()
    if not isinstance(profiles, list):
        raise ValueError("offered_qos_profiles is not a list")
    return tuple(map(offer, profiles))


def offer(profile: Any) -> QosOffer:
    """Raises ValueError where it is not a profile."""
    if not isinstance(profile, Mapping):
        raise ValueError("a quality of service is not a mapping")
    history = _word(profile.get("history"), _HISTORY)
    depth = profile.get("depth")
    has_depth = history == KEEP_LAST and isinstance(depth, int) and depth > 0
    return QosOffer(
        _word(profile.get("reliability"), _RELIABILITY),
        _word(profile.get("durability"), _DURABILITY),
        history,
        depth if has_depth else None,
    )


def _word(value: Any, words: Mapping[int, str]) -> str | None:
    if isinstance(value, int):
        return words.get(value)
    return value if value in words.values() else None
