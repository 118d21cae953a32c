"""Discovery or delivery: every lost message is in one of the parts, and trials that waited for the
match have none."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmwbench import codes
from rmwbench.analysis.metrics.latency import measure
from rmwbench.analysis.metrics.network.network_metrics import bin_edges_ns, counts_per_bin
from rmwbench.analysis.metrics.network.streams import (
    AFTER_FIRST,
    DELIVERY,
    DISCOVERY,
    TAIL,
    UNMATCHED,
    joiner_losses,
    pairs_of,
)
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.analysis.records.joining import ReaderLife, passes
from tests.analysis.test_outage import pair
from tests.analysis.test_under_way import MESSAGES, WARMUP, recorded
from tests.analysis.test_wire import PATIENT

LATE = ((0, np.inf), (0, np.inf))
WRITER_LATE = ((0, np.inf), (-np.inf, np.inf))


def matched(at_ns):
    return [{"event": "matched", "endpoint": 2, "time_ns": at_ns}]


def test_a_slow_match_is_not_a_loss_of_the_stream():
    taken = [None, None, None, None, 405, 505, None, 705, 805, None]
    got = joiner_losses([pair(taken, lives=LATE)], matched(250))
    assert got == {
        DISCOVERY: (4, 10),
        UNMATCHED: (3, 10),
        DELIVERY: (1, 10),
        TAIL: (1, 10),
        AFTER_FIRST: (2, 6),
    }


def test_nothing_delivered_is_all_discovery_and_no_stream():
    got = joiner_losses([pair([None] * 5, lives=LATE)], [])
    assert got[DISCOVERY] == got[UNMATCHED] == (5, 5)
    assert got[AFTER_FIRST] == (0, 0)


def test_what_came_before_the_match_was_noticed_is_not_lost():
    got = joiner_losses([pair([5, 105, 205], lives=LATE)], matched(150))
    assert got[DISCOVERY] == got[UNMATCHED] == (0, 3)


def test_only_readers_tell_when_they_matched():
    got = joiner_losses([pair([None, 105], lives=WRITER_LATE)], [])
    assert got[DISCOVERY] == (1, 2)
    assert "only readers" in got[UNMATCHED]


def test_a_late_client_is_not_asked_when_it_matched():
    call = pair([None, 105], lives=LATE)
    call = replace(call, reader=replace(call.reader, endpoint=call.writer.endpoint))
    got = joiner_losses([call], [])
    assert got[DISCOVERY] == (1, 2)
    assert "only readers" in got[UNMATCHED]
    got = joiner_losses([call, pair([None, 105, 205], lives=LATE)], matched(50))
    assert got[UNMATCHED] == (1, 3)


JOINED = [
    {"endpoint": n, "kind": kind, "node": kind, "host": "robot", "topic": "t", "joins_ns": 0}
    for n, kind in ((1, "publisher"), (2, "subscription"))
]


@pytest.mark.parametrize(("reliable", "lost", "waiting"), [(True, 0, 7), (False, 7, 0)])
def test_what_is_under_way_is_not_lost(reliable, lost, waiting):
    """The stream of the ledger's own test, which loses nothing where it is reliable and only slow:
    the trial stopped waiting before the last seven of thirty could come."""
    columns, ends, window = recorded(400, 0.15, reliable=reliable)
    (stream,) = pairs_of(columns, JOINED, ends, window)
    assert np.count_nonzero(stream.late) == waiting
    got = joiner_losses([stream], matched(window.begin_ns))
    assert got[TAIL] == (lost, 30) and got[AFTER_FIRST] == (lost, 30)
    assert got[DISCOVERY] == got[DELIVERY] == (0, 30)


@pytest.mark.parametrize("reliable", [True, False])
def test_what_comes_after_the_drain_is_late_and_not_lost(reliable):
    """The same stream, whose last seven come while their reader is taken down."""
    columns, ends, window = recorded(400, 0.5, reliable=reliable)
    drained_ns = window.end_ns + 150_000_000
    columns.received("flags")[columns.received("taken_ns") >= drained_ns] = codes.LATE
    ledger = measure(columns, ends, replace(window, drain_end_ns=drained_ns)).ledger
    assert (ledger.lost, ledger.late) == (0, 7)
    (stream,) = pairs_of(columns, JOINED, ends, replace(window, drain_end_ns=drained_ns))
    got = joiner_losses([stream], matched(window.begin_ns))
    assert got[TAIL] == got[AFTER_FIRST] == (0, 30)


def test_what_was_overtaken_is_lost_however_much_is_under_way():
    columns, ends, window = recorded(400, 0.15, lost=(WARMUP + 5,))
    got = joiner_losses(pairs_of(columns, JOINED, ends, window), [])
    assert got[DELIVERY] == (1, 30) and got[TAIL] == (0, 30)


def test_what_a_content_filter_keeps_back_was_not_published_for_the_reader():
    passed = passes(np.arange(MESSAGES), 50)
    columns, ends, window = recorded(5, 5.0, lost=np.flatnonzero(~passed))
    filtered = {2: ReaderLife(begin_ns=window.begin_ns + 10**8, percent=50)}
    (stream,) = pairs_of(columns, JOINED, ends, window, filtered)
    wanted = int(np.count_nonzero(passed[WARMUP:]))
    assert 0 < wanted < 30
    got = joiner_losses([stream], matched(window.begin_ns))
    assert got[DISCOVERY] == got[DELIVERY] == got[TAIL] == (0, wanted)


@PATIENT
@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.integers(1, 50)), min_size=1, max_size=12),
        min_size=1,
        max_size=4,
    )
)
def test_the_parts_add_up_to_what_is_missing(streams):
    pairs = [
        pair([None if d is None else i * 100 + d for i, d in enumerate(s)], lives=LATE)
        for s in streams
    ]
    got = joiner_losses(pairs, matched(120))
    missing = sum(d is None for s in streams for d in s)
    assert sum(got[name][0] for name in (DISCOVERY, DELIVERY, TAIL)) == missing
    assert got[UNMATCHED][0] <= got[DISCOVERY][0]
    assert got[AFTER_FIRST][0] == got[DELIVERY][0] + got[TAIL][0]
    assert {got[name][1] for name in (DISCOVERY, DELIVERY, TAIL)} == {sum(map(len, streams))}


@PATIENT
@given(st.lists(st.integers(-5, 130)), st.integers(1, 40))
def test_every_time_within_the_window_is_in_one_bin(times, bin_ns):
    edges = bin_edges_ns(SteadyWindow(0, 100), bin_ns)
    counts = counts_per_bin([np.array(times, np.int64)], edges)
    assert counts.sum() == sum(0 <= t < 100 for t in times)
    assert (np.diff(edges) > 0).all()
