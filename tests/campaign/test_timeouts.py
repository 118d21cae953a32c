"""How long the steps of a trial wait, and readers for what is on its way."""

from types import SimpleNamespace

import numpy as np
import pytest

from rmwbench.campaign.trial import barrier, timeouts
from rmwbench.campaign.trial.window import _longest_latency_ns
from rmwbench.lab.process import records
from rmwbench.lab.process.records import RECEIVED, RecordSection
from tests.campaign.cells import cell, outcome


@pytest.mark.parametrize(
    ("middleware", "seconds"),
    [
        ("fastdds", 3.0),
        ("fastdds-2.9", 3.0),
        ("rclcpp/rmw_fastrtps_cpp", 3.0),
        ("rclpy/rmw_fastrtps_dynamic_cpp", 3.0),
        ("rclcpp/rmw_cyclonedds_cpp", 0.0),
        ("zenoh", 0.0),
    ],
)
def test_a_drain_awaits_fast_dds_heartbeat_natively_and_through_ros(middleware, seconds):
    """A lost tail that is repeated only then counted as lost through rclcpp, and not natively."""
    assert timeouts.heartbeat_s(middleware) == seconds


class Probed(Exception):
    """The barrier has come to the first messages."""


class Patient:
    """Processes that answer everything at once, and keeps how long it was given: command → seconds."""

    def __init__(self):
        self.hosts = type("NoHosts", (dict,), {"remote": {}})()
        self.workers = {}
        self.given_s = {}

    def post(self, process, cmd, fields):
        return SimpleNamespace(worker=process, cmd=cmd)

    def gather(self, commands, timeout_s, take):
        self.given_s[next(iter(commands)).cmd] = timeout_s

    def await_answers(self, commands, timeout_s):
        pass

    def ask(self, requests, timeout_s):
        self.given_s[next(iter(requests.values()))[0]] = timeout_s
        raise Probed


def test_each_of_many_processes_adds_its_share_to_the_limit_until_all_are_open(monkeypatch):
    """`open` and `create` of two hundred participants on two processors had the time of one, and
    the arm was said to hang."""
    many = cell(subscribers=100)
    assert len(many.processes) == 101
    for name in ("take_matched", "take_events"):
        monkeypatch.setattr(barrier, name, lambda *_: None)
    monkeypatch.setattr(barrier, "fields_of", lambda *_: {})
    processes = Patient()
    with pytest.raises(Probed):
        barrier.open_and_match(outcome(many), processes, {})
    limit_s = timeouts.COMMAND_TIMEOUT_S + 101 * timeouts.PER_PROCESS_S
    assert processes.given_s == dict.fromkeys(("open", "create", "probe"), pytest.approx(limit_s))


MS, UPTIME = 1_000_000, 10**15


def longest(monkeypatch, *rows, events=()):
    """Return the longest latency of messages of endpoint 2; each row has its intended time, its
    latency (both in ns) and its flags."""
    messages = np.zeros(len(rows), [(n, "<i8") for n in ("intended_ns", "taken_ns", "flags")])
    for place, (intended_ns, took_ns, flags) in enumerate(rows):
        messages[place] = (intended_ns, intended_ns + took_ns, flags)
    section = RecordSection(RECEIVED, 2, 99, len(rows), 0, messages)
    monkeypatch.setattr(records, "read", lambda *_: [section])
    made = outcome()
    made.events = [{"event": e, "endpoint": 2, "time_ns": t, "process": "p"} for e, t in events]
    return _longest_latency_ns(made, {"p": 3})


def test_how_old_the_history_of_a_late_reader_was_is_no_latency(monkeypatch):
    joined = [("created", UPTIME + 4_000 * MS), ("matched", UPTIME + 4_001 * MS)]
    history, own = (UPTIME, 4_002 * MS, 0), (UPTIME + 4_005 * MS, 3 * MS, 0)
    assert longest(monkeypatch, history, own, events=joined) == 3 * MS
