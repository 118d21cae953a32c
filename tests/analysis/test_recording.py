"""Fates of messages that a recorder should have kept, from made-up records whose truth is known."""

import numpy as np
import pytest

from rmwbench.analysis.metrics.recording import PLACES, measure_recording, total

WARMUP, FAILED, FOREIGN = 4, 1, 16
TOPICS = ("image_1", "image_2")
ENDPOINTS = [
    {"kind": "publisher", "topic": "image_1", "endpoint": 1},
    {"kind": "publisher", "topic": "image_2", "endpoint": 2},
    {"kind": "subscription", "topic": "image_1", "endpoint": 3},
    {"kind": "publisher", "topic": "not_recorded", "endpoint": 4},
]


def rows(**columns):
    return {name: np.array(values, np.int64) for name, values in columns.items()}


def sent(*parts, called=None):
    """(endpoint, seq, flags) each."""
    endpoint, seq, flags = zip(*parts, strict=True)
    columns = rows(endpoint=endpoint, seq=seq, flags=flags)
    return columns | {"called": np.ones(len(parts), bool) if called is None else np.array(called)}


def counter(name, value, endpoint=None, at="end", role="recorder"):
    return {"counter": name, "value": float(value), "endpoint": endpoint, "at": at, "role": role}


def account(endpoint, handed, in_bag, cache):
    counts = {
        "rosbag2.handed_to_storage": handed,
        "bag.messages": in_bag,
        "rosbag2.lost_in_cache": cache,
    }
    return [counter(name, value, endpoint) for name, value in counts.items()]


HUNDRED = sent(*((1, seq, WARMUP if seq < 10 else 0) for seq in range(100)))
SIZE = counter("bag.size", 1e6)
NOBODY = rows(writer=[], seq=[], flags=[])


def of_topic_1(in_bag, counters, received=NOBODY, published=HUNDRED):
    in_bag = rows(endpoint=[1] * len(in_bag), seq=in_bag)
    return measure_recording(ENDPOINTS, ("image_1",), published, received, in_bag, counters)


def of_one(in_bag, counters, *more):
    (topic,) = of_topic_1(in_bag, [SIZE, *counters], *more).topics
    return topic


def test_every_place_gets_what_was_counted_there_and_the_rest_came_to_nobody():
    # Sent 0 to 99; the first 5 were not heard; of the rest 12 are not in the bag: 4 cache, 3 disk,
    # 5 before rosbag2.
    in_bag = [seq for seq in range(5, 100) if not 20 <= seq < 32]
    topic = of_one(in_bag, account(1, handed=len(in_bag) + 3, in_bag=len(in_bag), cache=4))
    assert (topic.sent, topic.kept, topic.unheard, topic.lost) == (100, 83, 5, 12)
    assert (topic.before, topic.cache, topic.disk, topic.unplaced) == (5, 4, 3, 0)
    assert topic.sent == topic.kept + sum(getattr(topic, name) for name in PLACES)


def test_a_recorder_that_gave_no_account_leaves_its_losses_without_a_place():
    topic = of_one([3, 5], [])
    assert (topic.before, topic.cache, topic.disk) == (None, None, None)
    assert (topic.unheard, topic.unplaced, topic.kept) == (3, 95, 2)


def test_an_account_that_does_not_add_up_places_nothing():
    in_bag = list(range(95))
    topic = of_one(in_bag, account(1, handed=95, in_bag=95, cache=9))
    assert topic.before is topic.cache is topic.disk is None
    assert topic.unplaced == 5
    assert "image_1: 5 lost, but 9 in the cache" in topic.contradiction


def test_what_was_never_sent_or_failed_cannot_be_lost():
    published = sent(
        (1, 0, 0), (1, 1, FAILED), (1, 2, 0), (1, 3, 0), called=[True, True, True, False]
    )
    topic = of_one([0], account(1, 1, 1, 0), NOBODY, published)
    assert (topic.sent, topic.kept, topic.before) == (2, 1, 1)


def test_a_reader_of_ours_beside_it_tells_who_got_what():
    received = rows(writer=[1, 1, 1, 1], seq=[0, 1, 2, 3], flags=[0, 0, FOREIGN, 0])
    published = sent(*((1, seq, 0) for seq in range(5)))
    topic = of_one([0, 2, 4], account(1, 3, 3, 0), received, published)
    assert (topic.beside, topic.only_beside, topic.only_kept) == (3, 2, 2)


def test_topics_stand_apart_and_add_up():
    published = [(writer, seq, 0) for writer in (1, 2) for seq in range(10)]
    in_bag = rows(endpoint=[1] * 10 + [2] * 7, seq=[*range(10), *range(7)])
    counters = [
        SIZE,
        *account(1, 10, 10, 0),
        *account(2, 7, 7, 3),
        counter("rosbag2.lost_in_transport", 0),
    ]
    fates = measure_recording(ENDPOINTS, TOPICS, sent(*published), NOBODY, in_bag, counters)
    first, second = fates.topics
    assert (first.topic, first.kept, first.lost) == ("image_1", 10, 0)
    assert (second.topic, second.kept, second.cache, second.before) == ("image_2", 7, 3, 0)
    assert (fates.all.sent, fates.all.cache, fates.transport) == (20, 3, 0)


def test_a_place_that_one_part_does_not_know_is_not_known_of_the_whole():
    known = of_one([*range(100)], account(1, 100, 100, 0))
    unknown = of_one([*range(99)], [])
    assert total([known, unknown]).cache is None
    assert total([known, unknown]).unplaced == 1


@pytest.mark.parametrize("role", ["publisher", "machine"])
def test_costs_are_the_recorders_own(role):
    edges = [counter("cpu", 2e9, at="steady_begin"), counter("cpu", 5e9, at="steady_end")]
    other = [counter("cpu", 9e9, at="steady_end", role=role), counter("peak_rss", 1e9, role=role)]
    cost = of_topic_1([], [SIZE, *edges, *other])
    assert (cost.cpu_ns, cost.peak_rss_bytes) == (3e9, None)
