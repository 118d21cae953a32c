"""The period of each publisher and each subscription, from records made by hand."""

import numpy as np
import pytest

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, aggregate
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.judged_topics import POOLED
from rmwbench.analysis.metrics.latency import measure
from rmwbench.analysis.metrics.periods import STEMS
from rmwbench.analysis.records.columns import EndpointRow, SteadyWindow
from rmwbench.analysis.records.joining import ReaderLife
from rmwbench.analysis.records.ledger import ABSENT
from rmwbench.analysis.stats.estimate import NoData
from rmwbench.codes import LATE
from tests.support.columns import Columns

MS = 1_000_000
SECOND = SteadyWindow(10**11, 10**11 + 1000 * MS)
ENDS = [
    *(EndpointRow(1, "publisher", "a"), EndpointRow(2, "publisher", "b")),
    *(EndpointRow(11, "subscription", "a"), EndpointRow(12, "subscription", "b")),
]


def at(*times_ms):
    """Stamps, in ms since the window began; None where there is none."""
    return [ABSENT if t is None else SECOND.begin_ns + int(t * MS) for t in times_ms]


def table(names, rows):
    """Columns of these names, and of the others what does not matter."""
    columns = {name: np.array([row[n] for row in rows], np.int64) for n, name in enumerate(names)}
    none = np.zeros(len(rows), np.int64)
    return columns | {"seq": columns["seq"].astype(np.uint64), "flags": none, "bytes": none + 100}


def trial(calls, arrivals=None, *, ends=ENDS, lives=None, flags=None):
    """Of the calls of each publisher, due when they were made, and the arrivals of each (reader,
    writer) by sequence number, in ms since the window began."""
    sent = [(w, n, t) for w, times in calls.items() for n, t in enumerate(at(*times))]
    got = [
        (r, w, n, t)
        for (r, w), times in (arrivals or {}).items()
        for n, t in enumerate(at(*times))
        if t != ABSENT
    ]
    called = table(("endpoint", "seq", "call_ns"), sent)
    called["intended_ns"] = called["return_ns"] = called["call_ns"]
    taken = table(("endpoint", "writer", "seq", "taken_ns"), got)
    taken["consumed_ns"] = taken["taken_ns"]
    if flags is not None:
        taken["flags"] = np.array(flags, np.int64)
    messages = measure(Columns(called, taken), ends, SECOND, lives or {})
    return MeasuredTrial(1, 0, messages, SECOND.length_ns)


def every(period_ms, begin_ms=0.0, end_ms=1000.0):
    return np.arange(begin_ms, end_ms, period_ms).tolist()


def test_a_slow_publisher_is_not_hidden_by_a_fast_one():
    """100 and 50 Hz are together as many as 75 Hz twice, which is a period of 13.3 ms."""
    measured = trial({1: every(10), 2: every(20)})
    assert measured.values["publisher_period_longest"] == 20 * MS
    assert measured.values["sent_rate"] == 150
    sample = measured.messages.samples["publisher_period"]
    assert (sample.count, sample.exact[0.5]) == (99 + 49, 10 * MS)


def test_a_publisher_that_was_held_back_and_catches_up_keeps_its_mean_and_not_its_99th_percentile():
    held = every(10)
    held[50:55] = [540, 540.1, 540.2, 540.3, 540.4]
    measured = trial({1: held, 2: every(10)})
    assert measured.values["publisher_period_longest"] == pytest.approx(10 * MS)
    ones = measured.messages.samples["publisher_period"].values
    assert ones[-1] == 50 * MS and ones[0] == pytest.approx(0.1 * MS)
    single = aggregate(GLOSSARY["publisher_period_p50"], [measured])
    assert single.value == 10 * MS


def test_one_that_stops_halfway_has_no_short_period():
    measured = trial({1: every(10, end_ms=500), 2: every(10)})
    assert measured.messages.samples["publisher_period"].values[-1] == 510 * MS
    assert measured.values["publisher_period_longest"] == (490 + 510) / 50 * MS


def test_one_that_never_hears_its_writer_again_after_a_restart_has_no_short_period():
    """The writer is away for 100 ms; nothing of the 700 ms after it arrives."""
    lives = {1: ReaderLife(end_ns=SECOND.begin_ns + 200 * MS)}
    again = EndpointRow(3, "publisher", "a")
    lives[3] = ReaderLife(begin_ns=SECOND.begin_ns + 300 * MS)
    before = every(10, end_ms=200)
    calls = {1: before, 2: every(10), 3: every(10, begin_ms=300)}
    got = {(11, 1): before, (12, 2): every(10)}
    measured = trial(calls, got, ends=[*ENDS, again], lives=lives)
    assert measured.values["subscription_period_longest"] == pytest.approx((190 + 700) / 20 * MS)


def test_what_the_edge_cuts_off_an_ordinary_period_is_none():
    measured = trial({1: every(10, begin_ms=7, end_ms=999)})
    assert set(measured.messages.samples["publisher_period"].values) == {10 * MS}


def test_who_does_nothing_is_the_slowest_also_where_nobody_does_more():
    """Else the trials in which an arm was silent would leave its mean, and it would look fast."""
    for silent in ([None] * 5, [500.0]):
        beside = trial({1: silent, 2: every(10)})
        assert beside.values["publisher_period_longest"] == 1000 * MS
    deaf = trial(
        {1: every(10), 2: every(10)}, {(11, 1): [t + 1 for t in every(10)], (12, 2): [None] * 100}
    )
    assert deaf.values["subscription_period_longest"] == 1000 * MS
    for calls in ([None] * 5, [-20.0, -10.0], [500.0]):
        alone = trial({1: calls})
        assert alone.values["publisher_period_longest"] == 1000 * MS
        none = aggregate(GLOSSARY["publisher_period_p50"], [alone])
        assert isinstance(none, NoData)
        assert none.no_data == "no publisher made two calls within the steady window"


def test_a_subscription_has_a_longer_period_where_messages_are_lost():
    """The second hears every other message; what came late is no arrival."""
    sent = every(10)
    lost = [t + 1 if n % 2 == 0 else None for n, t in enumerate(sent)]
    measured = trial({1: sent, 2: sent}, {(11, 1): [t + 1 for t in sent], (12, 2): lost})
    assert measured.values["subscription_period_longest"] == 20 * MS
    assert measured.values["publisher_period_longest"] == 10 * MS
    flags = [LATE if n % 2 else 0 for n in range(len(sent))]
    late = trial({1: sent}, {(11, 1): [t + 1 for t in sent]}, ends=[ENDS[0], ENDS[2]], flags=flags)
    assert late.values["subscription_period_longest"] == 20 * MS


def test_a_subscription_hears_all_its_writers_together():
    ends = [EndpointRow(1, "publisher", "a"), EndpointRow(2, "publisher", "a"), ENDS[2]]
    sent = {1: every(10), 2: every(10, begin_ms=5)}
    measured = trial(sent, {(11, 1): sent[1], (11, 2): sent[2]}, ends=ends)
    assert measured.values["subscription_period_longest"] == 5 * MS
    assert measured.values["publisher_period_longest"] == 10 * MS


def test_nobody_waits_for_one_that_has_left():
    sent = every(10, end_ms=500)
    lives = {1: ReaderLife(end_ns=SECOND.begin_ns + 500 * MS)}
    measured = trial({1: sent}, {(11, 1): sent}, ends=[ENDS[0], ENDS[2]], lives=lives)
    assert measured.values["publisher_period_longest"] == 10 * MS
    assert measured.values["subscription_period_longest"] == 10 * MS


def test_no_period_spans_the_time_between_a_writer_that_left_and_the_next():
    ends = [EndpointRow(1, "publisher", "a"), EndpointRow(2, "publisher", "a"), ENDS[2]]
    first, second = every(10, end_ms=300), every(10, begin_ms=600)
    lives = {
        1: ReaderLife(end_ns=SECOND.begin_ns + 300 * MS),
        2: ReaderLife(begin_ns=SECOND.begin_ns + 600 * MS),
    }
    measured = trial(
        {1: first, 2: second}, {(11, 1): first, (11, 2): second}, ends=ends, lives=lives
    )
    assert measured.messages.samples["subscription_period"].values[-1] == 10 * MS
    assert measured.values["subscription_period_longest"] == 10 * MS


def test_percentiles_of_periods_say_how_many_periods_there_are():
    short = aggregate(GLOSSARY["publisher_period_p99"], [trial({1: every(10)})])
    assert short.interval.endswith("p99 needs 1000 periods, there are 99")


def test_unlike_topics_have_no_period_together():
    assert {f"{stem}_{of}" for stem in STEMS for of in ("p50", "p99", "longest")} <= POOLED
