"""Axes: what a workload looks like at another level, which levels there are, and how long a probe
must be."""

import itertools

import pytest

from rmwbench.campaign.capacity import search_request
from rmwbench.campaign.capacity.axis import AXES, axis, levels
from rmwbench.campaign.capacity.search_request import (
    ENOUGH_MESSAGES,
    SearchCells,
    SearchRequest,
    parse_level,
    quantity,
)
from rmwbench.errors import UserError
from rmwbench.suite.file.load import load, parse

SUITE = """\
suite: mini
title: a test
timeline: {warmup_s: 0.1, steady_s: 1.0, drain_s: 0.1}
arms:
  - {name: one, middleware: synthetic}
  - {name: spin, middleware: synthetic, wait: poll}
workloads:
  - {name: small, message: Bytes(100), rate_hz: 200}
  - {name: random, message: Bytes(100), arrival: {kind: poisson, rate_hz: 200}}
  - {name: flood, message: Bytes(100), arrival: {kind: saturation, limit: 1000}}
  - {name: chain, message: Bytes(100), rate_hz: 100, relays: 1, subscribers: 2}
  - {name: service, clients: 1, request: Bytes(64), reply: Bytes(8000000), rate_hz: 200}
  - {name: dying, message: Bytes(100), rate_hz: 200, daemons_end_s: 2, timeline: {steady_s: 3}}
  - name: graph
    nodes:
      - {name: a, publishers: [{topic: x, message: Bytes(64), rate_hz: 100},
                               {topic: y, message: Array1k, arrival: {kind: poisson, rate_hz: 25}}]}
      - {name: r, subscriptions: [{topic: x}], publishers: [{topic: z, arrival: {kind: relay, from: x}}]}
      - {name: b, subscriptions: [{topic: z}, {topic: y}]}
"""
LOADED = parse(SUITE, where="mini.yaml")
WORKLOADS = {workload.name: workload for workload in LOADED.workloads}


def cells(workload, along="rate", messages=1000):
    return SearchCells(LOADED, WORKLOADS[workload], axis(along), messages)


def test_a_rate_is_the_fastest_publishers_and_the_others_keep_their_proportion():
    along = AXES["rate"]
    assert along.own(WORKLOADS["graph"]) == 100
    changed = along.at(WORKLOADS["graph"], 400)
    rates = [
        p.rate_hz or (p.arrival and getattr(p.arrival, "rate_hz", None))
        for n in changed.nodes
        for p in n.publishers
    ]
    assert rates == [400, 100, None]
    assert along.at(WORKLOADS["small"], 333).common_arrival.rate_hz == 333
    assert along.at(WORKLOADS["random"], 333).arrival.rate_hz == 333


def test_hosts_have_their_network_between_them():
    text = SUITE.replace("{name: small,", "{name: small, hosts: [robot, base], network: wifi,")
    suite = parse(text, where="mini.yaml")
    cell = SearchCells(suite, suite.workloads[0], axis("rate"), 1000).cell(suite.arms[0], 100.0)
    assert cell.links is not None and cell.links.name == "wifi"


def test_size_subscribers_and_topics_change_what_they_say():
    cell = cells("small", "size").cell(LOADED.arms[0], 4096.0)
    assert {e.type.payload_bytes for e in cell.endpoints} == {4096}
    assert cell.factors == {"payload_bytes": 4096}
    cell = cells("chain", "subscribers").cell(LOADED.arms[0], 7.0)
    assert len([n for n in cell.workload.all_nodes if n.name.startswith("listener")]) == 7
    cell = cells("chain", "topics").cell(LOADED.arms[0], 3.0)
    assert [n.name for n in cell.workload.all_nodes] == [
        n.name for n in WORKLOADS["chain"].all_nodes
    ]
    assert len({e.topic for e in cell.endpoints}) == 6  # three of the talker, three of the relay
    relays = [e for e in cell.endpoints if e.relay_from]
    by_number = {e.endpoint: e for e in cell.endpoints}
    assert len(relays) == 3
    assert {(by_number[e.relay_from].topic[-3:], e.topic[-3:]) for e in relays} == {
        ("_c1", "_c1"),
        ("_c2", "_c2"),
        ("_c3", "_c3"),
    }


def test_copies_of_a_topic_in_focus_are_in_focus():
    """No copy was, and no latency of theirs could be judged."""
    graph = WORKLOADS["graph"].model_copy(update={"focus": ("x", "b")})
    assert AXES["topics"].at(graph, 2.0).focus == ("x_c1", "x_c2", "b")


@pytest.mark.parametrize(
    "workload, along, part",
    [
        ("flood", "rate", "no message is late"),
        ("graph", "subscribers", "lists its nodes itself"),
        ("graph", "size", "several message types"),
        ("service", "topics", "no topics to copy"),
    ],
)
def test_a_workload_that_has_no_level_says_why(workload, along, part):
    with pytest.raises(UserError) as error:
        axis(along).own(WORKLOADS[workload])
    assert part in str(error.value)


@pytest.mark.parametrize(
    "along, part",
    [
        ("rate", "none of its publishers has a rate"),
        ("size", "no messages of its own"),
        ("subscribers", "no subscribers to add"),
        ("topics", "no topics to copy"),
    ],
)
def test_lifecycle_nodes_have_no_level(along, part):
    workload = load("features/bring-up").workloads[0]
    with pytest.raises(UserError, match=part):
        axis(along).own(workload)


@pytest.mark.parametrize("resolution", [0.01, 0.05, 0.2, 1.0])
def test_levels_are_no_further_apart_than_asked_and_doubling_finds_one(resolution):
    all_levels = levels(AXES["rate"], 30.0, resolution, 1.0, 30_000.0)
    assert all_levels[0] == 1.0 and all_levels[-1] == 30_000.0 and 30.0 in all_levels
    assert (
        max(b / a for a, b in itertools.pairwise(all_levels)) <= 1 + resolution + 0.006
    )  # of rounding
    assert all(
        any(abs(other / (2 * level) - 1) < 0.006 for other in all_levels)
        for level in all_levels
        if 4 < level < 10_000
    )


def test_the_ends_that_are_asked_for_are_levels():
    """1 MiB has seven digits."""
    assert levels(AXES["size"], 1000.0, 0.05, 1 << 10, 1 << 20)[-1] == 1 << 20
    assert levels(AXES["rate"], 30.0, 0.05, 1.0, 1234567.0)[-1] == 1234567.0


def test_a_range_without_any_level_is_refused():
    request = SearchRequest(
        "mini.yaml", "chain", (), "p50 < 5 ms", "subscribers", "2.2", "2.4", None, 0.05, 0
    )
    with pytest.raises(UserError, match="at least two levels") as error:
        search_request._levels(AXES["subscribers"], 2.0, request)
    assert error.value.actual == "none"


def test_whole_levels_are_whole_and_each_once():
    all_levels = levels(AXES["subscribers"], 1.0, 0.05, 1, 1000)
    assert all_levels[:12] == tuple(map(float, range(1, 13)))
    assert len(set(all_levels)) == len(all_levels)
    assert all(level == int(level) for level in all_levels)


@pytest.mark.parametrize(
    "level, messages", [(10.0, 1000), (1000.0, 1000), (0.5, 20), (300_000.0, 10_000)]
)
def test_the_window_is_as_long_as_the_percentile_needs(level, messages):
    cell = cells("small", messages=messages).cell(LOADED.arms[0], level)
    assert cell.steady_messages >= max(messages, 50)
    assert cell.timeline.steady_s <= max(1.0, 1.05 * max(messages, 50) / level + 0.02)
    assert cell.steady_messages <= max(1.2 * ENOUGH_MESSAGES, 1.2 * messages)


def test_a_poisson_window_has_room_for_a_short_draw():
    assert cells("random").cell(LOADED.arms[0], 200.0).steady_messages >= 1000 + 4 * 1000**0.5 - 1


@pytest.mark.parametrize(
    "text, along, level",
    [
        ("100", "rate", 100),
        ("1.5 kHz", "rate", 1500),
        ("64kB", "size", 64_000),
        ("1MiB", "size", 1 << 20),
        ("7", "topics", 7),
    ],
)
def test_a_level_is_read_with_its_unit(text, along, level):
    assert parse_level(text, AXES[along], "--to") == level


@pytest.mark.parametrize(
    "text, along",
    [("3 kB", "rate"), ("x", "rate"), ("0", "rate"), ("1.2.3", "rate"), ("1", "size")],
)
def test_what_is_not_a_level_is_refused(text, along):
    with pytest.raises(UserError, match="--to"):
        parse_level(text, AXES[along], "--to")


def test_levels_are_printed_with_their_unit():
    assert quantity(412.0, AXES["rate"]) == "412 Hz"
    assert quantity(38_900.0, AXES["rate"]) == "38.9 kHz"
    assert quantity(1.0, AXES["topics"]) == "1 topic"
    assert quantity(7.0, AXES["subscribers"]) == "7 subscribers"


def test_a_spinning_arm_needs_a_core_more_than_it_spins(monkeypatch):
    one = cells("small").cell(LOADED.arms[1], 200.0)
    assert search_request.spin_reason(one, 2) is None
    assert "1 core; it needs 2" in search_request.spin_reason(one, 1)
    assert search_request.spin_reason(cells("small").cell(LOADED.arms[0], 200.0), 1) is None
    monkeypatch.setattr(search_request, "describe", lambda: {"hardware": {"cores_usable": 4}})
    all_levels = levels(AXES["subscribers"], 1.0, 0.05, 1, 100)
    arm = search_request.testable_arm(cells("small", "subscribers"), LOADED.arms[1], all_levels)
    assert arm.levels[-1] == 3 and "4 spinning and 4 cores" in arm.bound


def test_a_window_that_ends_before_an_event_of_the_workload_ends_the_range():
    """It was no error of the user's, but a crash."""
    dying = cells("dying", messages=50)
    with pytest.raises(UserError, match="a window of 1 s, the daemons end after the steady state"):
        dying.probe_s(200.0)
    arm = search_request.testable_arm(dying, LOADED.arms[0], (10.0, 200.0, 400.0))
    assert arm.levels == (10.0,) and "the daemons end" in arm.bound


def test_what_does_not_fit_into_memory_ends_the_range(monkeypatch):
    monkeypatch.setattr(search_request, "available_memory_bytes", lambda: 2 << 30)
    all_levels = levels(AXES["size"], 1000.0, 0.2, 64, 1 << 28)
    arm = search_request.testable_arm(cells("small", "size"), LOADED.arms[0], all_levels)
    count = len(arm.levels)
    assert 0 < count < len(all_levels) and "of memory" in arm.bound
    # a depth of 10 and two in the making, at the publisher and at the reader
    assert all_levels[count - 1] * 24 < 2 << 30 < all_levels[count] * 24 + (1 << 30)


def test_a_service_keeps_its_replies_in_memory_too():
    """As `machine_limits.memory_bytes` counts them, by which `run` is refused."""
    service = cells("service").cell(LOADED.arms[0], 200.0)
    assert "of memory" in search_request.memory_reason(service, 720 << 20)
