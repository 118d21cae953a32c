"""Times to match and what discovery costs, from events and counters."""

import numpy as np

from rmwbench.analysis.metrics.discovery import (
    NOT_READ,
    endpoint_matches_ns,
    graph,
    late_match,
)


def event(name, endpoint, time_ns, process="p", text=None):
    return {
        "event": name,
        "endpoint": endpoint,
        "time_ns": time_ns,
        "process": process,
        "text": text,
    }


def counter(at, name, value, interface="eth0", host="machine"):
    return {
        "at": at,
        "process": host,
        "counter": f"interface.{interface}.{name}",
        "value": value,
    }


def test_each_endpoint_counts_from_its_own_creation_and_the_graph_from_the_first():
    events = [
        event("created", 1, 100),
        event("created", 2, 400),
        event("matched", 1, 900),
        event("matched", 2, 390),
    ]
    assert sorted(endpoint_matches_ns(events)) == [0, 800]
    assert graph(events, [])["graph_time"] == 800


def test_a_graph_is_found_while_it_is_created_and_that_counts():
    """Two processes answer after 380 and 400, and discovery is over at 405."""
    events = [
        event("created", 1, 380),
        event("created", 2, 400),
        event("matched", 1, 395),
        event("matched", 2, 405),
    ]
    steps = [{"at": "end", "counter": "step.create", "value": 400.0}]
    assert graph(events, steps)["graph_time"] == 405
    assert graph(events, [])["graph_time"] == 25  # of a bundle that does not tell


def test_an_endpoint_that_never_matched_is_infinite_and_the_graph_has_no_time():
    events = [event("created", 1, 100), event("created", 2, 100), event("matched", 1, 900)]
    assert sorted(endpoint_matches_ns(events)) == [800, np.inf]
    got = graph(events, [])
    assert got["graph_time"] == "endpoint 2 never matched"


def test_the_wire_is_counted_between_the_first_session_and_the_complete_graph():
    counters = [
        counter("before_open", "tx_bytes", 10.0),
        counter("before_open", "tx_bytes", 5.0, "lo"),
        counter("complete", "tx_bytes", 110.0),
        counter("complete", "tx_bytes", 25.0, "lo"),
        counter("complete", "tx_packets", 7.0),
        counter("steady_end", "tx_bytes", 1e9),
    ]
    got = graph([], counters)
    assert got["discovery_bytes"] == 120.0 and got["discovery_packets"] == NOT_READ


def test_the_time_to_be_ready_is_the_sum_of_its_steps():
    events = [event("created", 1, 100), event("matched", 1, 900)]
    steps = [
        {"at": "end", "counter": f"step.{name}", "value": ns}
        for name, ns in (("open", 70.0), ("create", 5.0))
    ]
    assert isinstance(graph(events, steps)["ready_time"], str)
    steps.append({"at": "end", "counter": "step.match", "value": 30.0})
    assert graph(events, steps)["ready_time"] == 105.0
    unmatched = [*events, event("created", 2, 100)]
    assert graph(unmatched, steps)["ready_time"] == "endpoint 2 never matched"


def test_the_time_of_all_daemons_is_a_sum_and_without_one_there_is_none():
    opened = {"at": "end", "counter": "step.open", "value": 70.0}
    started = [
        {"at": "end", "counter": f"step.daemon.router {host}", "value": ns}
        for host, ns in (("robot", 40.0), ("base", 2.0))
    ]
    assert graph([], [opened, *started])["daemon_time"] == 42.0
    got = graph([], [opened])
    assert got["daemon_time"] == "no daemon ran"
    # A bundle without steps does not tell.
    assert graph([], [])["daemon_time"] == "the trial did not time its steps"


def test_a_late_reader_waits_from_its_creation_and_for_ever_where_it_never_matched():
    events = [event("created", 3, 100), event("matched", 3, 350), event("created", 4, 100)]
    assert late_match(events, {3: "n"}) == {"late_match_time": 250}
    assert late_match(events, {3: "n", 4: "n"}) == {"late_match_time": np.inf}
    assert late_match([], {5: "n"}) == {"late_match_time": np.inf}  # it never came up
    assert late_match(events, {}) == {}


def test_what_a_late_reader_needs_to_open_and_create_is_part_of_its_wait():
    """Of two nodes of a process the second is told to join before the first was created."""
    events = [
        event("joining", None, 50, text="first"),
        event("joining", None, 80, text="second"),
        event("joining", None, 90, process="q", text="first"),
        event("created", 3, 100),
        event("created", 4, 240),
        event("matched", 3, 350),
        event("matched", 4, 260),
    ]
    assert late_match(events, {3: "first"}) == {"late_match_time": 300}
    assert late_match(events, {4: "second"}) == {"late_match_time": 180}
