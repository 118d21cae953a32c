"""Trials without a rate, since a publisher reached its limit, and the files that a trial left
behind."""

import json

import pytest

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.latency import measure
from rmwbench.analysis.metrics.trial_metrics import (
    NOT_ASKED,
    OF_THE_WINDOW,
    drop_whole_window_metrics,
    leftovers,
    limit_reached,
)
from rmwbench.analysis.records.columns import SteadyWindow
from tests.support.columns import PAIR, Records, message

WINDOW = SteadyWindow(1_000_000_000, 6_000_000_000)


def publisher(arrival, endpoint=1):
    return {"endpoint": endpoint, "asked": json.dumps({"arrival": arrival})}


def finished(scheduled, time_ns, endpoint=1):
    return {
        "event": "finished",
        "endpoint": endpoint,
        "time_ns": time_ns,
        "text": json.dumps({"scheduled": scheduled}),
    }


UP_TO = {"kind": "saturation", "limit": 100_000}


@pytest.mark.parametrize(
    ("arrival", "event", "told"),
    [
        (UP_TO, finished(100_000, 2_170_000_000), "3.83 s before"),
        (UP_TO, finished(100_000, 700_000_000), "5.3 s before"),
        (UP_TO, finished(75_000, 6_000_000_000), None),
        (UP_TO, finished(75_000, 3_000_000_000), None),
        ({"kind": "periodic", "period_ns": 1000}, finished(100_000, 2_170_000_000), None),
    ],
    ids=["within the window", "within the warm-up", "not reached", "it left", "periodic"],
)
def test_a_limit_that_is_reached_before_the_window_ends_tells_no_rate(arrival, event, told):
    """60 000 messages per second until 1.2 s, divided by the 5 s of the window, were called
    14 000."""
    reason = limit_reached([publisher(arrival)], [event], WINDOW)
    assert reason is None if told is None else told in reason and "raise `limit`" in reason


def test_of_several_publishers_the_first_that_ended_is_told():
    endpoints = [publisher(UP_TO), publisher(UP_TO, 2), {"endpoint": 3, "asked": None}]
    events = [finished(100_000, 5_000_000_000), finished(100_000, 4_000_000_000, endpoint=2)]
    assert "2 s before" in limit_reached(endpoints, events, WINDOW)
    assert limit_reached(endpoints, events, None) is None


def test_a_trial_without_a_rate_says_why():
    messages = measure(Records([message(0, WINDOW.begin_ns)], []), PAIR, WINDOW)
    topic, reader = (MeasuredTrial(0, 0, messages, 5_000_000_000) for _ in range(2))
    parts = {"topics": {"t": topic}, "readers": {"logger": reader}}
    trial = MeasuredTrial(0, 0, messages, 5_000_000_000, **parts)
    assert trial.values["offered_rate"] == 0.2
    trial.values |= {"sent_rate_variation": 1.05, "sent_rate_early": 2.0}
    drop_whole_window_metrics(trial, "why")
    for one in (trial, topic, reader):
        assert not one.values.keys() & set(OF_THE_WINDOW)
        assert {one.reasons[name] for name in OF_THE_WINDOW} == {"why"}


def left(host, value, text):
    return {"event": "leftovers", "process": host, "value": value, "text": text}


def test_leftovers_are_files_and_sockets_of_all_hosts():
    events = [
        left("robot", 8192, '{"directory": 2, "file": 3}'),
        left("base", 0, '{"socket": 1}'),
        {"event": "killed", "process": "p", "value": 7, "text": None},
    ]
    assert leftovers(events) == {"leftover_files": 4.0, "leftover_bytes": 8192.0}
    assert leftovers([left("robot", 0, "{}")]) == {"leftover_files": 0.0, "leftover_bytes": 0.0}


def test_where_nobody_looked_there_is_no_figure():
    got = leftovers([])
    assert set(got.values()) == {NOT_ASKED}
