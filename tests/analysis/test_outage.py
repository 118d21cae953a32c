"""Outages: recovered is who got something new, repaired is not recovered, and a stall has one
cause."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmwbench.analysis.metrics.glossary import MetricScope, names_of
from rmwbench.analysis.metrics.network.outage import (
    NONE,
    NONE_DUE,
    NONE_DUE_AFTER,
    NOT_BACK,
    Outage,
    outage_measures,
    outages,
    recoveries,
)
from rmwbench.analysis.metrics.network.streams import End, StreamPair, pairs_of
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.analysis.records.ledger import ABSENT
from tests.analysis.test_wire import PATIENT, log
from tests.support.columns import PAIR, Records, message

WINDOW = SteadyWindow(0, 1000)
OUTAGE = Outage("network", "robot", "blackhole", 300, 600)


def pair(
    taken,
    due=None,
    again=(),
    writer=("talker", "robot"),
    reader=("listener", "base"),
    lives=((-np.inf, np.inf),) * 2,
    under_way=(),
):
    """A message every 100 ns, due at 0, 100, …; `taken`: their times, None where lost, or
    `under_way` by its place."""
    due = np.arange(len(taken)) * 100 if due is None else np.array(due)
    got = np.array([ABSENT if t is None else t for t in taken], np.int64)
    ends = [
        End(n, *place, *life)
        for n, (place, life) in enumerate(zip((writer, reader), lives, strict=True), start=1)
    ]
    sent = np.ones(len(taken), bool)
    waiting = np.isin(np.arange(len(taken)), under_way)
    return StreamPair("t", *ends, due, due + 1, got, sent, waiting, np.array(again, np.int64))


def event(time_ns, name, process="robot", text=None):
    return {"time_ns": time_ns, "event": name, "process": process, "text": text, "endpoint": None}


def told(pairs, outages_of, frames=None):
    return outage_measures(pairs, outages_of, recoveries(pairs, outages_of), frames, WINDOW)


def test_changes_of_a_link_are_put_together():
    events = [
        event(600, "network", text="up"),
        event(300, "network", text="blackhole"),
        event(400, "network", text="new_address"),
        event(350, "network", "base", "new_address"),
        event(700, "network", "base", "admin_down"),
        event(100, "killed", "router", "daemons_end_s"),
        event(120, "joining", "late"),
    ]
    assert outages(events, [], WINDOW) == [
        Outage("daemon", "router", "killed", 100, 100),
        Outage("network", "robot", "blackhole, new address", 300, 600),
        Outage("network", "base", "new address", 350, 350),
        Outage("network", "base", "admin_down", 700, np.inf),
    ]


def test_a_restart_is_an_outage_of_its_node():
    row = {"node": "talker", "joins_ns": None, "leaves_ns": None}
    rows = [
        row | {"leaves_ns": 200},
        row | {"joins_ns": 500},
        row | {"node": "late", "joins_ns": 100},
    ]
    (outage,) = outages([], rows, WINDOW)
    assert outage == Outage("restart", "talker", "restart", 200, 500)


def test_a_killed_process_is_an_outage_of_its_nodes_whether_they_come_back_or_not():
    row = {"node": "talker", "process": "p", "joins_ns": None, "leaves_ns": None}
    again = row | {"process": "p again", "joins_ns": 500}
    gone = row | {"node": "listener", "process": "q", "leaves_ns": 300}
    left = row | {"node": "orderly", "process": "r", "leaves_ns": 300}
    events = [
        event(204, "killed", "p", "killed_s while holding 1 message"),
        event(304, "killed", "q", "killed_s"),
        event(100, "killed", "router", "daemons_end_s"),
    ]
    assert outages(events, [row | {"leaves_ns": 200}, again, gone, left], WINDOW) == [
        Outage("daemon", "router", "killed", 100, 100),
        Outage("restart", "talker", "killed", 200, 500),
        Outage("restart", "listener", "killed", 300, np.inf),
    ]


def test_the_survivors_of_a_kill_have_their_stall_of_their_own():
    dead = pair(
        [5, 105, 205], reader=("planner", "base"), lives=((-np.inf, np.inf), (-np.inf, 300))
    )
    other = pair([5, 105, 205, None, None, 505, 605, 705, 805, 905])
    got = told([dead, other], [Outage("restart", "planner", "killed", 300, np.inf)])
    assert got["stall_outside_outages"] == 300
    assert got["recovery_time"] == NOT_BACK


def test_nothing_can_be_lost_while_the_stream_s_own_end_is_away():
    """It is due no message then: none lost would be said of something that could not be lost."""
    always, before, after = (-np.inf, np.inf), (-np.inf, 300), (600, np.inf)
    old = pair([5, 105, 205], lives=(always, before))
    new = pair([607, 705], due=[600, 700], lives=(always, after))
    got = told([old, new], [Outage("restart", "listener", "killed", 300, 600)])
    assert got["recovery_time"] == 7
    for name in ("lost_in_outage", "repaired_after_outage"):
        assert got[name] == NONE_DUE


def test_a_killed_service_is_an_outage_of_its_clients():
    call = replace(
        pair([5, 105, 205, None, None, None, 709, 805, 905], reader=("talker", "robot")),
        servers=("adder",),
    )
    outages_of = [Outage("restart", "adder", "killed", 300, 500)]
    got = told([call], outages_of)
    assert got["recovery_time"] == 209 and got["lost_in_outage"] == 2
    assert recoveries([replace(call, servers=())], outages_of) == []


def test_roaming_is_an_outage_between_two_media():
    events = [
        event(300, "network", text="roam ap2"),
        event(350, "network", text="roamed ap2"),
        event(351, "network", text="new_address"),
        event(700, "network", text="roam ap1"),
        event(300, "network", "base", "roamed ap2"),  # of which nobody saw the beginning
    ]
    assert outages(events, [], WINDOW) == [
        Outage("network", "robot", "roam ap2", 300, 350),
        Outage("network", "robot", "new address", 351, 351),
        Outage("network", "robot", "roam ap1", 700, np.inf),
    ]


def test_who_roams_again_before_it_is_anywhere_is_away_since_the_first_time():
    events = [
        event(300, "network", text="roam ap2"),
        event(320, "network", text="roam ap3"),
        event(350, "network", text="roamed ap3"),
    ]
    assert outages(events, [], WINDOW) == [Outage("network", "robot", "roam ap3", 300, 350)]


def test_recovered_is_the_first_new_message_and_not_a_repaired_one():
    taken = [5, 105, 205, None, 610, 615, None, 760, 805, 905]
    got = told([pair(taken)], [OUTAGE])
    assert got["recovery_time"] == 160  # 760 − 600: 610 and 615 were published in the outage
    assert (got["lost_in_outage"], got["repaired_after_outage"]) == (1, 2)
    assert (got["lost_before_recovery"], got["lost_after_recovery"]) == (1, 0)
    assert got["outage_stall"] == 610 - 205
    assert got["stall_outside_outages"] == 760 - 615


def test_who_gets_nothing_new_never_recovers_and_its_bytes_are_no_data():
    got = told([pair([5, 105, 205, None, 610, 615, None, None, None, None])], [OUTAGE], log())
    assert got["recovery_time"] == np.inf
    assert got["lost_before_recovery"] == 4
    assert "did not recover" in got["recovery_bytes"]


def test_the_slowest_of_several_readers_counts_and_the_others_are_told():
    fast = pair([5, 105, 205, None, None, None, 606, 705, 805, 905])
    slow = pair([5, 105, 205, None, None, None, None, None, 809, 905], reader=("tablet", "tablet"))
    recovered = recoveries([fast, slow], [OUTAGE])
    assert [(one.reader, one.time_ns) for one in recovered] == [("listener", 6), ("tablet", 209)]
    assert told([fast, slow], [OUTAGE])["recovery_time"] == 209


def test_streams_that_do_not_cross_the_link_are_not_touched():
    beside = pair([t * 100 + 5 for t in range(10)], writer=("a", "base"), reader=("b", "tablet"))
    within = pair([t * 100 + 5 for t in range(10)], writer=("a", "robot"), reader=("b", "robot"))
    got = told([beside, within], [OUTAGE])
    assert recoveries([beside, within], [OUTAGE]) == []
    assert got["lost_in_outage"] == NONE_DUE
    assert got["recovery_time"] == NONE_DUE_AFTER


def test_nothing_came_back_is_said_of_outages_that_never_end_alone():
    """The link came back 50 ns before the end, after the last message that was due."""
    taken = [5, 105, 205, 305, 405, 505, 605, 705, 805, None]
    ended = told([pair(taken)], [replace(OUTAGE, down_ns=850, up_ns=950)])
    assert ended["recovery_time"] == NONE_DUE_AFTER
    assert told([pair(taken)], [replace(OUTAGE, up_ns=np.inf)])["recovery_time"] == NOT_BACK


@pytest.mark.parametrize(
    "other",
    [
        [],
        [Outage("restart", "another node", "restart", 700, 750)],
        [Outage("network", "tablet", "blackhole", 700, 950)],
        # Its own, after which nothing was due.
        [Outage("network", "base", "blackhole", 920, 950)],
    ],
    ids=["alone", "a node of another stream", "a link of another stream", "its own"],
)
def test_a_recovery_lasts_whatever_else_is_interrupted(other):
    taken = [5, 105, 205, None, None, None, 605, 705, 805, None]
    got = told([pair(taken, again=[650, 960])], [OUTAGE, *other])
    assert (got["lost_in_outage"], got["lost_before_recovery"]) == (3, 0)
    assert (got["lost_after_recovery"], got["duplicates_after_outage"]) == (1, 2)


def test_a_writer_that_came_back_silent_did_not_recover():
    old = pair([5, 105, None], lives=((-np.inf, 300), (-np.inf, np.inf)))
    new = pair([], lives=((600, np.inf), (-np.inf, np.inf)))
    restart = Outage("restart", "talker", "restart", 300, 600)
    assert told([old, new], [restart])["recovery_time"] == np.inf


def test_a_writer_that_came_back_and_had_nothing_to_send_yet_is_not_waited_for():
    old = pair([5, 105, None], lives=((-np.inf, 300), (-np.inf, np.inf)))
    new = pair([], lives=((600, np.inf), (-np.inf, np.inf)))
    restart = Outage("restart", "talker", "restart", 300, 600)
    assert recoveries([old, new], [restart], created={new.writer.endpoint}) == []


def test_a_reader_that_came_back_is_not_waited_for_where_nothing_was_due():
    """A viewer with a transform at 100 Hz and a map of which no message was due after it."""
    before, after = (-np.inf, 300), (600, np.inf)
    always = (-np.inf, np.inf)
    viewer = {"reader": ("viewer", "base")}
    transform = [
        pair([5, 105, 205], lives=(always, before), **viewer),
        pair([607, 705], due=[600, 700], lives=(always, after), **viewer),
    ]
    latched = [
        replace(pair([5], lives=(always, before), **viewer), topic="map"),
        replace(pair([], lives=(always, after), **viewer), topic="map"),
    ]
    got = told([*transform, *latched], [Outage("restart", "viewer", "killed", 300, 600)])
    assert got["recovery_time"] == 7


def test_a_restarted_writer_is_one_stream_with_its_former_self():
    old = pair([5, 105, 205], lives=((-np.inf, 300), (-np.inf, np.inf)))
    new = pair([None, 790, 880], due=[650, 750, 850], lives=((600, np.inf), (-np.inf, np.inf)))
    got = told([old, new], [Outage("restart", "talker", "restart", 300, 600)])
    assert got["recovery_time"] == 190
    assert got["outage_stall"] == 790 - 205
    assert got["lost_before_recovery"] == 1


ROUTERS = [
    Outage("daemon", "router robot", "killed", 300, 600),
    Outage("daemon", "router base", "killed", 300, 602),
]


def test_two_outages_at_once_count_a_message_once():
    taken = [5, 105, 205, None, None, 650, 606, None, 805, 905]
    got = told([pair(taken, again=[700])], ROUTERS)
    # What was published at 601 is new after the first return, and not after the second.
    assert (got["lost_in_outage"], got["repaired_after_outage"]) == (2, 2)
    assert (got["lost_before_recovery"], got["lost_after_recovery"]) == (1, 0)
    assert (got["duplicates_after_outage"], got["recovery_time"]) == (1, 805 - 602)


def test_a_daemon_that_was_to_come_back_and_never_served_is_not_the_fastest_to_recover():
    """A discovery server that does not start again: no stream waits for it for half a period."""
    events = [event(300, "killed", "server", "daemons_end_s")]
    (outage,) = outages(events, [], WINDOW, daemons_return=True)
    assert (outage.down_ns, outage.up_ns) == (300, np.inf)
    taken = [5, 105, 205, None, 405, 505, 605, 705, 805, 905]
    got = told([pair(taken)], [outage], log())
    assert got["recovery_time"] == np.inf
    assert (got["lost_in_outage"], got["lost_before_recovery"]) == (1, 0)
    assert "did not recover" in got["recovery_bytes"]
    back = [*events, event(500, "returned", "server again")]
    assert [one.up_ns for one in outages(back, [], WINDOW, daemons_return=True)] == [500]


def test_bytes_of_two_recoveries_at_once_are_counted_once():
    frames = log(
        (0, "robot", "base", "delivered", "discovery", 70, {"in_ns": 603}),
        (1, "robot", "base", "delivered", "discovery", 50, {"in_ns": 601}),
    )
    taken = [5, 105, 205, None, None, None, 606, 705, 805, 905]
    assert told([pair(taken)], ROUTERS, frames)["recovery_bytes"] == 120


def test_a_stream_whose_reader_left_before_its_writer_came_has_no_stall():
    apart = pair([], lives=((400, np.inf), (-np.inf, 200)))
    got = told([apart], [])
    assert set(got.values()) == {NONE}
    beside = pair([5, 105, 205, 305, 405, 505, 605, 705, 805, 905])
    assert told([apart, beside], [])["stall_outside_outages"] == 100


def test_bytes_to_recover_are_all_but_new_data_and_only_until_then():
    rows = [
        (0, "robot", "base", "delivered", "discovery", 70, {"in_ns": 601}),
        (1, "robot", "base", "lost_up", "data", 100, {"in_ns": 610, "retransmission": True}),
        (2, "robot", "base", "delivered", "data", 100, {"in_ns": 620}),
        (3, "base", "robot", "delivered", "acknowledgement", 60, {"in_ns": 599}),
        (4, "base", "robot", "delivered", "acknowledgement", 60, {"in_ns": 900}),
    ]
    got = told([pair([5, 105, 205, None, None, None, 650, 705, 805, 905])], [OUTAGE], log(*rows))
    assert got["recovery_bytes"] == 170


@PATIENT
@given(
    st.lists(st.one_of(st.none(), st.integers(1, 150)), min_size=1, max_size=10),
    st.lists(st.tuples(st.integers(0, 900), st.integers(1, 300)), min_size=1, max_size=2),
)
def test_what_is_lost_and_what_arrives_add_up(delays, times):
    outages_of = [
        Outage("network", host, "blackhole", down, down + length)
        for host, (down, length) in zip(("robot", "base"), times, strict=False)
    ]
    down = min(outage.down_ns for outage in outages_of)
    one = pair([None if d is None else i * 100 + d for i, d in enumerate(delays)])
    got = told([one], sorted(outages_of, key=lambda outage: outage.down_ns))
    assert got.keys() >= set(names_of(MetricScope.OUTAGES))
    values = {name: one for name, one in got.items() if not isinstance(one, str)}
    lost = sum(d is None and i * 100 >= down for i, d in enumerate(delays))
    if "recovery_time" in values:
        parts = ("lost_in_outage", "lost_before_recovery", "lost_after_recovery")
        assert sum(values.get(name, 0) for name in parts) == lost
        assert got["recovery_time"] >= 0
    stalls = [got[name] for name in ("outage_stall", "stall_outside_outages") if name in values]
    arrived = sorted(t for t in one.taken_ns if 0 <= t < 1000)
    edges = [0, *arrived, 1000]
    assert max(stalls) == pytest.approx(max(b - a for a, b in pairwise(edges)))


def test_pairs_have_hosts_and_only_what_was_due_while_both_were_there():
    rows = [
        {"endpoint": 1, "kind": "publisher", "node": "talker", "host": "robot", "topic": "t"},
        {
            "endpoint": 2,
            "kind": "subscription",
            "node": "listener",
            "host": "base",
            "topic": "t",
            "joins_ns": 250,
        },
    ]
    sent = [message(i, i * 100) for i in range(10)]
    received = [{"seq": s, "taken_ns": s * 100 + 20} for s in (4, 5, 5)]
    (stream,) = pairs_of(Records(sent, received), rows, PAIR, WINDOW)
    assert stream.due_ns.tolist() == list(range(300, 1000, 100))
    assert stream.hosts == ("robot", "base")
    assert stream.arrived.tolist() == [False, True, True, False, False, False, False]
    assert stream.again_ns.tolist() == [520]
