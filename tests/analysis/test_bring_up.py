"""How lifecycle nodes came up, from the events of a trial."""

from math import inf

from rmwbench.analysis.metrics.bring_up import NONE, PLACES, STEPS, bring_up, metrics
from rmwbench.analysis.metrics.glossary import MetricScope, names_of

S = 1_000_000_000
LAUNCH = {"event": "joining", "time_ns": 10 * S, "text": "a"}


def step(node, code, asked_s, ended_s):
    """Seconds after the launch."""
    times = {"time_ns": round((10 + ended_s) * S), "value": round((10 + asked_s) * S)}
    return {"event": "step", "text": node, "code": code, **times}


def all_of(node, begin_s):
    """A node of which each of its three steps takes a second."""
    return [
        step(node, f"{name}.done", begin_s + place, begin_s + place + 1)
        for place, name in enumerate(STEPS)
    ]


def came_up(*events, nodes="abc", end_s=60):
    managed = {"manager": "manager", "nodes": list(nodes), "service_timeout_s": 5.0}
    definition = {
        "bring_up": managed,
        "processes": [{"name": f"process_{node}", "nodes": [node]} for node in nodes],
    }
    later = {"event": "joining", "time_ns": 11 * S, "text": "b"}
    return bring_up([later, LAUNCH, *events], definition, round((10 + end_s) * S))


def test_a_node_is_up_when_it_was_activated_counted_from_the_first_launch():
    one = came_up(*all_of("a", 1), *all_of("b", 2.5), *all_of("c", 0))
    assert one.up_ns == (3 * S, 4 * S, 5.5 * S)
    assert one.whole and not one.stopped
    assert (one.until_ns(0.5), one.until_ns(1.0)) == (4 * S, 5.5 * S)


def test_who_stopped_is_counted_where_it_stopped_and_all_are_never_up():
    one = came_up(
        step("a", "service.timed_out", 0, 5),
        *all_of("b", 0)[:1],
        step("b", "configure.timed_out", 5, 10),
        *all_of("c", 0)[:2],
        step("c", "activate.refused", 10, 11),
        *all_of("d", 0),
        nodes="abcd",
    )
    assert one.stopped == {"service.timed_out": 1, "configure.timed_out": 1, "activate.refused": 1}
    assert not one.whole and one.until_ns(1.0) == inf and one.until_ns(0.25) == 3 * S
    assert set(one.stopped) <= set(PLACES)
    assert one.longest_change_ns == inf, "a change that was not answered has no length"


def test_a_node_whose_session_did_not_open_stopped_there_and_not_at_its_service():
    refused = {
        "event": "not_joined",
        "process": "process_b",
        "time_ns": 12 * S,
        "text": "no participant index",
    }
    one = came_up(
        *all_of("a", 0),
        step("b", "service.timed_out", 1, 6),
        refused,
        step("c", "service.timed_out", 6, 11),
    )
    assert one.stopped == {"session.refused": 1, "service.timed_out": 1}
    got = metrics(one, {}, S)
    assert got["stopped_at_session"] == got["stopped_at_service"] == (1, 3)
    assert got["never_active"] == (2, 3)


def test_what_was_under_way_or_never_begun_when_the_window_ended_is_not_active():
    one = came_up(*all_of("a", 0), *all_of("b", 0)[:2], *all_of("c", 0)[:1], nodes="abcd", end_s=4)
    places = ("service.unfinished", "configure.unfinished", "activate.unfinished")
    assert one.stopped == dict.fromkeys(places, 1)
    late = came_up(*all_of("a", 2), nodes="a", end_s=4.5)
    assert late.up_ns == () and late.stopped == {"activate.unfinished": 1}


def test_the_longest_change_is_of_configuring_and_activating_alone():
    waited = [
        step("a", "service.done", 0, 4),
        step("a", "configure.done", 4, 6),
        step("a", "activate.done", 6, 6.5),
    ]
    assert came_up(*waited, nodes="a").longest_change_ns == 2 * S
    assert came_up(*waited[:1], nodes="a").longest_change_ns is None
    # it was that of the changes before it, or that the manager asked for no change
    late = came_up(*waited[:2], nodes="a", end_s=5)
    assert late.longest_change_ns == 2 * S and late.stopped == {"configure.unfinished": 1}


def test_a_workload_without_lifecycle_nodes_has_none_and_says_so():
    assert bring_up([LAUNCH, *all_of("a", 0)], {}, None) is None
    got = metrics(None, {"pss": 1.0}, S)
    assert got == dict.fromkeys(names_of(MetricScope.NODES), NONE)


def test_metrics_share_costs_among_the_nodes_and_count_who_never_was_active():
    one = came_up(*all_of("a", 0), *all_of("b", 1), step("c", "service.timed_out", 0, 5))
    got = metrics(one, {"pss": 30.0, "cpu_cores": 0.5}, 60 * S)
    assert (got["pss_per_node"], got["cpu_per_node"]) == (10.0, 10 * S)
    assert (got["bring_up_time"], got["half_up_time"]) == (inf, 4 * S)
    assert got["longest_change"] == S
    assert got["never_active"] == got["stopped_at_service"] == (1, 3)
    assert got["stopped_at_configure"] == got["stopped_at_activate"] == (0, 3)
