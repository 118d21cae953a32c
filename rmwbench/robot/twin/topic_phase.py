"""Groups of topics that are sent in the same instant, such as an image and its camera_info. A twin
keeps the phases in a group, since they determine the lengths of queues."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rmwbench.robot.twin.traffic import TopicTraffic

SAME_PERIOD = 0.01
SAME_INSTANT, STEADY = 0.1, 0.1
"""The largest distance between two topics of the same instant, and its largest scatter (from the
5th to the 95th percentile), as shares of the period."""
FEWEST = 16


@dataclass(frozen=True)
class TopicPhase:
    """A topic of a group and its delay in ns after the first topic of the group."""

    topic: TopicTraffic
    after_ns: int


Group = tuple[TopicPhase, ...]


def groups(topics: Sequence[TopicTraffic]) -> list[Group]:
    """The groups of periodic topics. Each topic is in one group, mostly alone. The smallest delay
    of a group is 0."""
    phase_groups: list[list[TopicPhase]] = []
    for topic in topics:
        for group in phase_groups:
            after_ns = distance_ns(group[0].topic, topic)
            if after_ns is not None:
                group.append(TopicPhase(topic, after_ns))
                break
        else:
            phase_groups.append([TopicPhase(topic, 0)])
    return [_from_zero(group) for group in phase_groups]


def distance_ns(first: TopicTraffic, second: TopicTraffic) -> int | None:
    """The median delay of `second` after `first`, within half a period; None if it is not steady,
    or too long for the same instant. Topics with different stamps are not compared, since the
    clocks differ."""
    period_ns, second_period_ns = first.arrivals.period_ns, second.arrivals.period_ns
    if period_ns is None or second_period_ns is None or first.stamp != second.stamp:
        return None
    if min(len(first.times_ns), len(second.times_ns)) < FEWEST:
        return None
    if abs(second_period_ns / period_ns - 1) > SAME_PERIOD:
        return None
    distances_ns = _distances(first.times_ns, second.times_ns)
    distances_ns = distances_ns[np.abs(distances_ns) < period_ns / 2]
    if len(distances_ns) < FEWEST:
        return None
    low, middle, high = np.quantile(distances_ns, (0.05, 0.5, 0.95))
    if high - low > STEADY * period_ns or abs(middle) > SAME_INSTANT * period_ns:
        return None
    return int(middle)


def _distances(first_ns: np.ndarray, second_ns: np.ndarray) -> np.ndarray:
    """The distances in ns from the nearest time of the first topic to each of the second, while
    both were sent."""
    second_ns = second_ns[(second_ns >= first_ns[0]) & (second_ns <= first_ns[-1])]
    right = np.clip(np.searchsorted(first_ns, second_ns), 1, len(first_ns) - 1)
    left = right - 1
    is_left = second_ns - first_ns[left] <= first_ns[right] - second_ns
    distances: np.ndarray = second_ns - first_ns[np.where(is_left, left, right)]
    return distances


def _from_zero(group: Sequence[TopicPhase]) -> Group:
    first = min(phase.after_ns for phase in group)
    return tuple(TopicPhase(phase.topic, phase.after_ns - first) for phase in group)
