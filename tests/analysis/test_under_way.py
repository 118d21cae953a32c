"""Slow is not lost: what a reliable stream had not delivered yet when the trial stopped waiting has
its own fate."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rmwbench.analysis.capacity.limit import judge, parse_limit
from rmwbench.analysis.causes.tail import explain, pairs
from rmwbench.analysis.metrics.aggregate import (
    MeasuredTrial,
    fraction_of,
    under_way_of,
)
from rmwbench.analysis.metrics.glossary import GLOSSARY, MetricScope, names_of
from rmwbench.analysis.metrics.latency import Messages, measure
from rmwbench.analysis.metrics.network.streams import AFTER_FIRST
from rmwbench.analysis.metrics.stability import Stability
from rmwbench.analysis.records.columns import EndpointRow, SteadyWindow
from rmwbench.analysis.records.joining import ReaderLife
from rmwbench.analysis.records.ledger import (
    Arrivals,
    Ledger,
    Pace,
    WriterPlaces,
    arrange,
    late_messages,
)
from rmwbench.codes import LATE
from tests.support.columns import Columns, received_columns, sent_columns

SECOND = 1_000_000_000
BEGIN_NS = 10 * SECOND
MESSAGES, WARMUP = 35, 5


def recorded(
    latency_ms, drain_s, *, reliable=True, lost=(), depth=None, stays_s=0.0
) -> tuple[Columns, list, SteadyWindow]:
    """A camera of 30 Hz in a window of a second; every message arrives after its latency, but for
    the `lost`. The reader stays for `stays_s` after the drain."""
    place = np.arange(MESSAGES)
    due = BEGIN_NS - WARMUP * SECOND // 30 + place * SECOND // 30
    taken = due + (np.broadcast_to(latency_ms, MESSAGES) * 1e6).astype(np.int64)
    end_ns = BEGIN_NS + SECOND + int(drain_s * SECOND)
    came = (taken < end_ns + int(stays_s * SECOND)) & ~np.isin(place, lost)
    flags = np.where(due >= BEGIN_NS, 0, 4)
    size = np.full(MESSAGES, 6_220_800)
    sent = sent_columns(due, call_ns=due + 1, return_ns=due + 2, flags=flags, bytes=size)
    received = received_columns(
        place[came],
        taken[came],
        consumed_ns=taken[came] + 1,
        flags=(flags | np.where(taken < end_ns, 0, LATE))[came],
        bytes=size[came],
    )
    ends = [
        EndpointRow(1, "publisher", "t", reliable, depth),
        EndpointRow(2, "subscription", "t", reliable, depth),
    ]
    window = SteadyWindow(BEGIN_NS, BEGIN_NS + SECOND, drain_end_ns=end_ns)
    return Columns(sent, received), ends, window


def trial(latency_ms, drain_s, **more) -> tuple[Ledger, dict]:
    """Its ledger and its samples."""
    messages = measure(*recorded(latency_ms, drain_s, **more))
    return messages.ledger, messages.samples


def test_a_reliable_stream_that_is_only_slow_loses_nothing():
    """Each message comes after 400 ms; the drain of 150 ms ends while a quarter of the window is
    still on its way."""
    ledger, samples = trial(400, 0.15)
    assert ledger.wanted == 30 and ledger.delivered + ledger.under_way == 30
    assert ledger.under_way == 7
    assert (ledger.vanished, ledger.lost, ledger.undelivered) == (0, 0, 0)
    response = samples["response_latency"]
    assert response.exact[0.5] == pytest.approx(400e6) and math.isinf(response.values[-1])
    assert samples["response_latency"].count == 30


@pytest.mark.parametrize(("latency_ms", "delivered"), [(1000, 2), (1100, 0), (1190, 0)])
def test_a_stream_whose_latency_exceeds_the_window_is_slow_too(latency_ms, delivered):
    """Messages of the warm-up arrive until the drain ends: the stream moves, though none of the
    steady ones has come."""
    ledger, _ = trial(latency_ms, 0.05)
    assert (ledger.delivered, ledger.under_way) == (delivered, 30 - delivered)
    assert (ledger.lost, ledger.undelivered) == (0, 0)
    messages = measure(*recorded(latency_ms, 0.05))
    assert messages.undelivered_in_a_row == 0
    measured = MeasuredTrial(1, 0, messages, SECOND)
    finding = judge(parse_limit("loss < 1 %"), measured, Stability(0.0, 0.0, 0, 30, 1.0))
    assert finding.kind == "slow"


@pytest.mark.parametrize(("latency_ms", "reliable", "lost"), [(1250, True, 0), (1250, False, 28)])
def test_a_stream_that_began_to_arrive_after_the_drain_was_moving(latency_ms, reliable, lost):
    """Four messages of its warm-up came then, and two others."""
    ledger, _ = trial(latency_ms, 0.05, reliable=reliable, stays_s=0.25)
    assert (ledger.wanted, ledger.delivered, ledger.late) == (30, 0, 30 - lost)
    assert (ledger.lost, ledger.undelivered) == (lost, 0 if reliable else 30)


@pytest.mark.parametrize(("depth", "gone"), [(None, 0), (2, 0), (1, 1)])
def test_what_is_missing_at_the_end_of_a_stream_that_went_on_after_the_drain_was_under_way(
    depth, gone
):
    """After 5 s of silence one of the last three came, sent again: so may the others that its
    writer still keeps."""
    latency_ms = np.where(np.arange(MESSAGES) == MESSAGES - 3, 5_200.0, 5.0)
    lost = (MESSAGES - 2, MESSAGES - 1)
    ledger, _ = trial(latency_ms, 5.0, lost=lost, depth=depth, stays_s=0.2)
    assert (ledger.delivered, ledger.under_way, ledger.lost) == (27, 3 - gone, gone)


def test_a_stream_that_stopped_in_warm_up_has_lost_all():
    ledger, _ = trial(5, 0.05, lost=range(WARMUP, MESSAGES))
    assert (ledger.under_way, ledger.vanished_start, ledger.undelivered) == (0, 30, 30)


def test_a_best_effort_stream_as_slow_as_that_has_lost_all():
    ledger, _ = trial(1100, 0.05, reliable=False)
    assert (ledger.under_way, ledger.vanished_start) == (0, 30)


def test_of_a_stream_silent_since_warm_up_no_more_is_under_way_than_its_writer_keeps():
    """Its warm-up came 1 s late, and then nothing for 1.5 s: what ten messages of history hold may
    be sent again, the twenty before are lost."""
    ledger, _ = trial(1000, 1.5, lost=range(WARMUP, MESSAGES), depth=10)
    assert (ledger.under_way, ledger.vanished_start, ledger.vanished_end) == (10, 20, 0)


def test_a_best_effort_stream_loses_what_did_not_come():
    ledger, _ = trial(400, 0.15, reliable=False)
    assert (ledger.under_way, ledger.vanished_end, ledger.undelivered) == (0, 7, 7)


def test_a_reliable_stream_that_has_come_to_its_end_has_lost_what_is_missing():
    """Nothing came for 5 s, and the longest latency was 5 ms: what is missing will never come."""
    ledger, _ = trial(5, 5.0, lost=(20, 33, 34))
    assert (ledger.under_way, ledger.vanished_middle, ledger.vanished_end) == (0, 1, 2)


def test_of_a_silent_stream_no_more_is_under_way_than_its_writer_keeps():
    """One message was sent again and came 2 s late; then nothing came for 1.8 s, which is less than
    three times as long. What its history of ten has let go is never sent again."""
    latency_ms = np.full(MESSAGES, 5.0)
    latency_ms[WARMUP + 4] = 2000.0
    lost = range(WARMUP + 5, MESSAGES)
    ledger, _ = trial(latency_ms, 2.9, lost=lost, depth=10)
    assert (ledger.wanted, ledger.delivered, ledger.under_way) == (30, 5, 10)
    assert (ledger.vanished_end, ledger.undelivered) == (15, 15)
    for whole in (trial(latency_ms, 2.9, lost=lost), trial(latency_ms, 1.5, lost=lost, depth=10)):
        # Nobody knows what it keeps; it has been silent for less than a second.
        assert whole[0].under_way == 25


def test_what_was_sent_after_a_reader_left_is_no_history_of_its():
    """It left at half of the messages, silent since the twentieth: the ten before it left were
    held for it."""
    half = np.arange(100) < 50
    sent = WriterPlaces(0, half, np.ones(100, bool), np.zeros(100, bool), depth=10)
    came = Arrivals(np.arange(20).astype(np.uint64), np.arange(20) + 1, np.zeros(20, np.int64))
    waiting = late_messages(sent, arrange(sent, came), Pace.SILENT)
    assert np.flatnonzero(waiting).tolist() == list(range(40, 50))


def test_what_was_overtaken_is_lost_however_much_is_under_way():
    ledger, _ = trial(400, 0.15, lost=(10,))
    assert (ledger.under_way, ledger.vanished_middle, ledger.undelivered) == (7, 1, 1)


def test_what_came_after_the_drain_of_a_reliable_stream_was_under_way():
    ledger = Ledger(wanted=10, delivered=7, after_drain=1, vanished_end=2)
    assert ledger.still_under_way(1) == Ledger(wanted=10, delivered=7, under_way=1, vanished_end=2)
    assert ledger.still_under_way(3) == Ledger(wanted=10, delivered=7, under_way=3)


def test_a_limit_on_what_late_nodes_lost_has_room_for_what_is_under_way():
    ledger = Ledger(wanted=100, delivered=60, under_way=40)
    late = MeasuredTrial(1, 0, Messages(ledger=ledger), SECOND, fractions={AFTER_FIRST: (0, 100)})
    for name in names_of(MetricScope.JOINERS):
        assert GLOSSARY[name].without_under_way
    assert fraction_of(AFTER_FIRST, late) == (0, 100)
    assert under_way_of(AFTER_FIRST, late) == (40, 100)


def late_reader(*, history) -> tuple[Columns, SteadyWindow, dict]:
    """10 Hz for 10 s; a reader comes after 5 s, is given the 50 messages before where it has a
    `history`, then each message after 2 ms, and nothing from the eighth second on. The drain lasts
    5 s."""
    due = BEGIN_NS + np.arange(100) * SECOND // 10
    joins = BEGIN_NS + 5 * SECOND
    live = (due >= joins) & (due < BEGIN_NS + 8 * SECOND)
    taken = np.where(live, due + 2_000_000, joins + 3_000_000)
    came = live | (history & (due < joins))
    came = np.flatnonzero(came)[np.argsort(taken[came], kind="stable")]
    sent = sent_columns(due, call_ns=due + 1, return_ns=due + 2)
    received = received_columns(came, taken[came], consumed_ns=taken[came] + 1)
    lives = {2: ReaderLife(joins, created_ns=joins - 1, history=50 if history else 0)}
    window = SteadyWindow(BEGIN_NS, BEGIN_NS + 10 * SECOND, drain_end_ns=BEGIN_NS + 15 * SECOND)
    return Columns(sent, received), window, lives


ENDS = [EndpointRow(1, "publisher", "t", True), EndpointRow(2, "subscription", "t", True)]


@pytest.mark.parametrize("history", [False, True])
def test_how_old_the_history_is_makes_no_stream_slow(history):
    """The oldest message of it was 5 s old: three times that is longer than any drain."""
    columns, window, lives = late_reader(history=history)
    ledger = measure(columns, ENDS, window, lives).ledger
    assert (ledger.wanted, ledger.delivered) == (50, 30)
    assert (ledger.vanished_end, ledger.under_way) == (20, 0)


def test_what_waits_behind_a_history_that_still_arrives_is_under_way():
    """A thin link: of 50 messages before it came, a late reader has got one each 150 ms, the last
    when the drain ended; those that it came for are behind them."""
    columns, window, lives = late_reader(history=False)
    place = np.arange(50)
    taken = BEGIN_NS + 5 * SECOND + (place + 1) * 150_000_000
    received = received_columns(place, taken, consumed_ns=taken + 1)
    window = replace(window, drain_end_ns=int(taken[-1]) + 1)
    ledger = measure(Columns(columns._sent, received), ENDS, window, lives).ledger
    assert (ledger.wanted, ledger.under_way, ledger.lost) == (50, 50, 0)
    stopped = replace(window, drain_end_ns=int(taken[-1]) + 2 * SECOND)
    ledger = measure(Columns(columns._sent, received), ENDS, stopped, lives).ledger
    assert (ledger.under_way, ledger.vanished_start) == (0, 50)


def test_the_history_of_a_late_reader_is_no_tail():
    columns, window, lives = late_reader(history=True)
    ((*_, pair),) = pairs(columns, ENDS, window, lives)
    tail = explain(pair)
    assert (tail.of, tail.median_ns, len(tail.messages)) == (30, 2e6, 0)


@pytest.mark.parametrize(("latency_ms", "under_way"), [(150, 4), (1, 0)])
def test_what_was_on_its_way_to_a_reader_that_leaves_is_not_lost(latency_ms, under_way):
    """The drain waits long after it left, so its stream seemed to have ended: four or five messages
    of a camera with 150 ms were lost in every trial, and none of a fast one."""
    columns, ends, window = recorded(latency_ms, 3.0)
    left_ns = BEGIN_NS + SECOND // 2
    came = columns.received("taken_ns") < left_ns
    names = ("endpoint", "writer", "seq", "taken_ns", "consumed_ns", "flags", "bytes")
    sent = ("endpoint", "seq", "intended_ns", "begun_ns", "call_ns", "return_ns", "flags", "bytes")
    cut = Columns(
        {name: columns.sent(name) for name in sent},
        {name: columns.received(name)[came] for name in names},
    )
    life = ReaderLife(begin_ns=BEGIN_NS, end_ns=left_ns)
    ledger = measure(cut, ends, window, {2: life}).ledger
    assert (ledger.vanished, ledger.under_way) == (0, under_way)
    assert ledger.wanted == 15
