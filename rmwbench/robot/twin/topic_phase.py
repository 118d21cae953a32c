"""Topics that are sent in the same instant, as an image and its camera_info are: the phase between
them decides how they meet in a queue, so a twin keeps it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rmwbench.robot.twin.traffic import TopicTraffic

SAME_PERIOD = 0.01
SAME_INSTANT, STEADY = 0.1, 0.1
"""Shares of the period: so far apart are two topics of one instant at most, and so much does the
distance scatter (from its 5th to its 95th percentile)."""
FEWEST = 16


@dataclass(frozen=True)
class TopicPhase:
    """A topic of a group and when it is sent, in ns after the group's first."""

    topic: TopicTraffic
    after_ns: int


Group = tuple[TopicPhase, ...]


def groups(topics: Sequence[TopicTraffic]) -> list[Group]:
    """The groups of periodic topics: each topic is in one group, mostly by itself. Phases begin
    with 0."""
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
    """How long after `first` the `second` is sent, within half a period; None where that is not
    steady, or not in the same instant. Two stamps are of two clocks and not compared."""
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
