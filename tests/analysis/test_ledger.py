"""The ledger against a naive dictionary, over records as hostile as a middleware can make them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmwbench.analysis.records.ledger import (
    Arrivals,
    Ledger,
    Pace,
    WriterPlaces,
    arrange,
    is_steady,
    late_messages,
    longest_run,
    place_order,
    reconcile,
)
from rmwbench.codes import CORRUPT, FOREIGN, LATE

FIRST_SEQ = 3


@st.composite
def cases(draw):
    n = draw(st.integers(0, 12))
    flag = st.lists(st.booleans(), min_size=n, max_size=n)
    writer = WriterPlaces(FIRST_SEQ, *(np.array(draw(flag), bool) for _ in range(3)))
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, n + 6),
                st.integers(0, 30),
                st.sampled_from([0, 0, 0, 0, CORRUPT, LATE, LATE | CORRUPT, FOREIGN, 2]),
            ),
            max_size=25,
        )
    )
    seq, taken, flags = (
        np.array([r[i] for r in rows], t) for i, t in enumerate((np.uint64, np.int64, np.uint32))
    )
    return writer, Arrivals(seq, taken, flags)


def naive(writer: WriterPlaces, arrivals: Arrivals) -> tuple[dict, list[int]]:
    """The same by dictionaries and loops, written from the definitions."""
    n = len(writer.steady)
    rows = sorted(range(len(arrivals.seq)), key=lambda i: (arrivals.taken_ns[i], i))
    count = dict.fromkeys(Ledger.__dataclass_fields__, 0)
    first, late, corrupt, highest = {}, set(), set(), -1
    for i in rows:
        flags, place = int(arrivals.flags[i]), int(arrivals.seq[i]) - FIRST_SEQ
        if flags & FOREIGN:
            count["foreign"] += 1
            continue
        if not 0 <= place < n:
            count["unrecorded"] += 1
            continue
        steady = bool(writer.steady[place])
        if flags & CORRUPT:
            corrupt.add(place)
            count["corrupt_copies"] += steady
        elif flags & LATE:
            late.add(place)
        elif place in first:
            count["duplicates"] += steady
        else:
            first[place] = i
            count["reordered"] += steady and place < highest
            highest = max(highest, place)
    fates = {}
    for place in range(n):
        if not writer.steady[place]:
            continue
        count["wanted"] += 1
        if place in first:
            fates[place] = "delivered"
        elif not writer.attempted[place]:
            fates[place] = "not_attempted"
        elif writer.failed[place]:
            fates[place] = "failed"
        elif place in late:
            fates[place] = "after_drain"
        elif place in corrupt:
            fates[place] = "corrupt"
        else:
            fates[place] = "vanished"
    delivered = [p for p, fate in fates.items() if fate == "delivered"]
    for place, fate in fates.items():
        if fate == "vanished":
            fate = (
                "vanished_start"
                if not delivered or place < delivered[0]
                else "vanished_end"
                if place > delivered[-1]
                else "vanished_middle"
            )
        count[fate] += 1
    return count, [first.get(p, -1) for p in range(n)]


@settings(max_examples=600, deadline=None)
@given(cases())
def test_same_as_a_dictionary(case):
    writer, arrivals = case
    expected, first = naive(writer, arrivals)
    in_order_of_arrival = arrange(writer, arrivals)
    ledger, got, rows = (
        reconcile(writer, in_order_of_arrival),
        in_order_of_arrival.first,
        in_order_of_arrival.rows,
    )
    assert ledger == Ledger(**expected)
    assert got.tolist() == first
    sound = [
        i for i in range(len(arrivals.seq)) if not arrivals.flags[i] & (CORRUPT | LATE | FOREIGN)
    ]
    sound = [i for i in sound if 0 <= int(arrivals.seq[i]) - FIRST_SEQ < len(writer.steady)]
    in_order = list(range(len(arrivals.seq))) if rows is None else rows.tolist()
    assert in_order == sorted(sound, key=lambda i: (arrivals.taken_ns[i], i))


@settings(max_examples=200, deadline=None)
@given(cases())
def test_every_wanted_message_has_exactly_one_fate(case):
    writer, arrivals = case
    ledger = reconcile(writer, arrange(writer, arrivals))
    not_delivered = ledger.vanished + ledger.after_drain + ledger.corrupt
    not_sent = ledger.failed + ledger.not_attempted
    assert ledger.wanted == ledger.delivered + not_delivered + not_sent
    assert ledger.undelivered == ledger.lost + ledger.after_drain + ledger.never_sent


@settings(max_examples=300, deadline=None)
@given(cases(), st.sampled_from(Pace), st.none() | st.integers(1, 5))
def test_messages_under_way_are_those_that_came_late_and_some_of_those_behind_the_last_delivery(
    case, pace, kept
):
    writer, arrivals = case
    writer = replace(writer, depth=kept)
    known = arrange(writer, arrivals)
    waiting = int(np.count_nonzero(late_messages(writer, known, pace)))
    ledger = reconcile(writer, known)
    behind = replace(writer, steady=writer.steady & (np.arange(len(known.first)) > last(known)))
    vanished = reconcile(behind, known).vanished if pace is not Pace.ENDED else 0
    most = ledger.after_drain + vanished
    assert ledger.after_drain <= waiting <= most
    if pace is Pace.MOVING or kept is None:
        assert waiting == most
    if pace is Pace.SILENT and kept is not None:
        assert waiting - ledger.after_drain <= kept
    after = ledger.still_under_way(waiting)
    assert (after.under_way, after.after_drain, after.wanted) == (waiting, 0, ledger.wanted)
    assert after.vanished_middle == ledger.vanished_middle
    assert min(after.vanished_start, after.vanished_end) >= 0
    parts = after.delivered + after.under_way + after.lost + after.never_sent
    assert after.wanted == parts


def test_a_silent_stream_that_only_warmed_up_has_nothing_late():
    """A relay may send in the warm-up and never again: no steady message of it can be late."""
    none = np.zeros(3, bool)
    writer = WriterPlaces(first_seq=0, steady=none, attempted=~none, failed=none, depth=1)
    nothing = Arrivals(*(np.empty(0, kind) for kind in (np.uint64, np.int64, np.uint32)))
    assert not late_messages(writer, arrange(writer, nothing), Pace.SILENT).any()


def last(known) -> int:
    """The last place of which anything arrived, steady or not; −1 where nothing did."""
    return int(np.flatnonzero(known.first >= 0).max(initial=-1))


@given(st.text("x.", max_size=20))
def test_the_longest_run_is_that_of_a_split_text(text):
    missing = np.array([letter == "x" for letter in text], bool)
    assert longest_run(missing) == max(map(len, text.split(".")))


@given(st.permutations(range(7)))
def test_rows_of_a_pool_are_put_in_place(order):
    seq = np.array(order, np.uint64) + np.uint64(5)
    got = place_order(seq)
    assert (seq if got is None else seq[got]).tolist() == list(range(5, 12))


@pytest.mark.parametrize("seq", [[0, 1, 3], [0, 1, 1, 2], [2, 0]])
def test_a_gap_in_the_senders_numbers_is_refused(seq):
    with pytest.raises(ValueError, match="not dense"):
        place_order(np.array(seq, np.uint64))


def test_warm_up_is_told_by_flag_or_by_time():
    flags, intended = np.array([4, 0, 0], np.uint32), np.array([5, 5, 10])
    assert is_steady(flags, intended, 10).tolist() == [False, False, True]
    assert is_steady(flags, intended, None).tolist() == [False, True, True]
