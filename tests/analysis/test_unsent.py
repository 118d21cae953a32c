"""What did not arrive is told by its fate, and what was never sent by what kept it."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rmwbench.analysis.metrics import latency
from rmwbench.analysis.metrics.aggregate import (
    FATES,
    MeasuredTrial,
    counts_of,
    fraction_of,
    under_way_of,
)
from rmwbench.analysis.metrics.context import endpoints_of
from rmwbench.analysis.metrics.fates import FateCounts, Fates
from rmwbench.analysis.metrics.glossary import Fate
from rmwbench.analysis.metrics.latency import Messages, measure
from rmwbench.analysis.records.columns import EndpointRow, SteadyWindow
from rmwbench.analysis.records.ledger import ABSENT, Ledger, UnsentBy
from rmwbench.analysis.records.unsent import Calls, held_by
from tests.support.columns import Columns, received_columns, sent_columns

MS = 1_000_000
NOTHING = received_columns(np.empty(0), np.empty(0, np.int64))
PERIOD = 10 * MS


def calls(begin_ms, lasts_ms, due=100, period=PERIOD):
    """Messages due every period; calls at `begin_ms`, each so long; the others were never sent."""
    called = np.full(due, ABSENT)
    called[: len(begin_ms)] = np.array(begin_ms) * MS
    returned = np.where(called == ABSENT, ABSENT, called + int(lasts_ms * MS))
    return Calls(np.arange(due) * period, called, returned)


def in_time(due=20, sent=20):
    return calls(np.arange(sent) * 10, 0.1, due)


CAMERA = calls(np.arange(20) * 50, 49.5, 25, 40 * MS)
COMMANDS = calls(np.arange(20) * 50 + 49.6, 0.1)
"""The camera's calls fill the thread; commands come to be sent between two of them."""
STUCK = in_time(100, 30)
STUCK.returned_ns[29] = ABSENT


@pytest.mark.parametrize(
    ("own", "others", "by"),
    [
        # of 1 s it sends 71 of its hundred messages
        pytest.param(calls(np.arange(71) * 14, 14), [], UnsentBy.CALL, id="14 ms every 10 ms"),
        pytest.param(COMMANDS, [CAMERA], UnsentBy.SIBLING, id="another of its thread"),
        pytest.param(CAMERA, [COMMANDS], UnsentBy.CALL, id="whom the other waits for"),
        pytest.param(
            in_time(100, 10), [CAMERA], UnsentBy.MACHINE, id="calls that overlap are of two threads"
        ),
        pytest.param(in_time(100, 30), [], UnsentBy.MACHINE, id="a thread that did not run"),
        pytest.param(STUCK, [], UnsentBy.CALL, id="a call that never returned"),
        pytest.param(calls([], 1), [], UnsentBy.MACHINE, id="never called"),
    ],
)
def test_what_kept_a_publisher_from_sending(own, others, by):
    assert held_by(own, others) is by


def test_a_call_without_a_record_since_it_never_returned_holds_what_was_due_after_it():
    recorded = in_time(100, 30)
    assert held_by(recorded.with_open_call(), []) is UnsentBy.CALL
    first = calls([], 1)
    assert held_by(first.with_open_call(), []) is UnsentBy.CALL
    beside = calls(np.arange(30) * 10 + 5, 0.1)
    assert held_by(beside, [recorded.with_open_call()]) is UnsentBy.SIBLING
    sent = in_time()
    assert sent.with_open_call() is sent


def test_a_publisher_that_never_called():
    assert held_by(calls([], 1), []) is UnsentBy.MACHINE


LEDGER = Ledger(
    wanted=1000, delivered=600, vanished_middle=50, corrupt=10, after_drain=5, under_way=55,
    failed=30, not_attempted=250, held_by_call=200, held_by_sibling=40,
)  # fmt: skip


def test_the_three_fates_and_what_arrived_are_all_that_was_wanted():
    assert LEDGER.lost + LEDGER.late + LEDGER.never_sent + LEDGER.delivered == LEDGER.wanted
    by = {UnsentBy.CALL: 200, UnsentBy.SIBLING: 40, UnsentBy.MACHINE: 10, UnsentBy.REFUSED: 30}
    assert LEDGER.unsent_by == by and sum(by.values()) == LEDGER.never_sent
    assert (LEDGER + LEDGER).unsent_by == {one: 2 * count for one, count in by.items()}


def test_each_fate_is_a_metric_of_its_own():
    """What was never sent, or was late, is in no loss."""
    trial = MeasuredTrial(0, 0, Messages(ledger=LEDGER), 1)
    assert {name: fraction_of(name, trial) for name in (*FATES, "undelivered")} == {
        "loss": (60, 720),
        "late_share": (60, 720),
        "never_sent_share": (280, 1000),
        "undelivered": (345, 1000),
    }
    assert under_way_of("loss", trial) == (55, 720)
    assert under_way_of(FATES.never_sent, trial)[0] == 0
    assert counts_of("response_latency_p50", trial) == FateCounts.of(LEDGER)


def test_fates_say_what_most_of_it_was():
    fates = FateCounts.of(replace(LEDGER, after_drain=0)).fates(failed=1, trials=6)
    assert fates.main is Fate.NEVER_SENT and fates.held_by is UnsentBy.CALL
    assert fates.undelivered == pytest.approx((5 * 0.34 + 1) / 6)
    assert Fates().main is None and Fates(late=0.1).main is Fate.LATE
    assert Fates(lost=0.1, failed=1, trials=3).main is Fate.FAILED


def test_what_came_too_late_to_a_best_effort_reader_is_undelivered():
    """As verdicts count it: it was left out, and an arm was advised that they call undelivered."""
    fates = (FateCounts.of(LEDGER) + FateCounts.of(LEDGER)).fates(trials=2)
    assert fates.undelivered == pytest.approx(LEDGER.undelivered / LEDGER.wanted)
    assert fates.late == pytest.approx(60 / 720)
    late = FateCounts.of(Ledger(wanted=100, delivered=80, after_drain=20)).fates(trials=1)
    assert late.undelivered == pytest.approx(0.2) and late.main is Fate.LATE
    slow = FateCounts.of(Ledger(wanted=100, delivered=80, under_way=20)).fates(trials=1)
    assert slow.undelivered == 0


def test_what_is_undelivered_is_known_without_a_number_of_trials():
    assert Fates(lost=0.1, never_sent=0.5).undelivered == pytest.approx(0.55)
    assert FateCounts(wanted=10, lost=1).fates().undelivered == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("fates", "verbs", "short"),
    [
        (Fates(), "", ""),
        (Fates(lost=0.28), "loses 28 % of its messages", "lost 28 %"),
        (
            Fates(never_sent=0.28, held_by=UnsentBy.CALL),
            "never sends 28 % of its messages (its publish call was held)",
            "never sent 28 %",
        ),
        (
            Fates(late=0.28),
            "has 28 % of its messages still under way when the trials end",
            "late 28 %",
        ),
        (
            Fates(lost=0.778, failed=1, trials=5),
            "loses 78 % of its messages and fails in 1 of 5 trials",
            "lost 78 %, 1 of 5 trials failed",
        ),
        (
            Fates(lost=0.1, never_sent=0.3, late=0.02),
            "loses 10 % of what it sends, never sends 30 % of its messages and has 2 % of what it "
            "sends still under way when the trials end",
            "lost 10 %, never sent 30 %, late 2 %",
        ),
    ],
)
def test_the_words_never_give_one_fate_for_another(fates, verbs, short):
    assert (fates.verbs(), fates.short()) == (verbs, short)
    assert ("lose" in verbs) == (fates.lost > 0)


def columns_of(writer, recorded):
    return sent_columns(
        recorded.intended_ns,
        endpoint=np.full(len(recorded.intended_ns), writer),
        call_ns=recorded.called_ns,
        return_ns=recorded.returned_ns,
    )


def test_whom_a_publisher_waited_for_may_be_of_another_topic():
    """Commands alone are measured: the camera beside them held the thread of both."""
    of_each = columns_of(1, CAMERA), columns_of(2, COMMANDS)
    sent = {name: np.concatenate([one[name] for one in of_each]) for name in of_each[0]}
    columns = Columns(sent, NOTHING)
    talker = [EndpointRow(1, "publisher", "camera", process="talker")]
    control = [
        EndpointRow(2, "publisher", "control", process="talker"),
        EndpointRow(3, "subscription", "control", process="listener"),
    ]
    window = SteadyWindow(0, 1000 * MS)
    ledger = measure(columns, control, window, beside=[*talker, *control]).ledger
    assert ledger.not_attempted == 80 and ledger.unsent_by == {UnsentBy.SIBLING: 80}
    alone = measure(columns, control, window).ledger
    assert alone.unsent_by == {UnsentBy.MACHINE: 80}


def test_the_records_are_sorted_by_writer_once_however_many_of_a_process_fall_behind(monkeypatch):
    """Each asked for the calls of each other anew, a pass over all records for every two."""
    passes = []
    selector = latency._selector
    monkeypatch.setattr(latency, "_selector", lambda of: passes.append(1) or selector(of))
    writers, due, sent = 8, 20, 5
    number = np.repeat(np.arange(1, writers + 1), due)
    intended = np.tile(np.arange(due) * PERIOD, writers)
    call = np.where(np.tile(np.arange(due), writers) < sent, intended + number * MS, ABSENT)
    back = np.where(call == ABSENT, ABSENT, call + MS)
    seq = np.tile(np.arange(due), writers)
    records = sent_columns(intended, endpoint=number, seq=seq, call_ns=call, return_ns=back)
    ends = [
        EndpointRow(e, kind, f"t{e % 10}", process="robot")
        for kind, first in (("publisher", 0), ("subscription", 10))
        for e in range(first + 1, first + writers + 1)
    ]
    ledger = measure(Columns(records, NOTHING), ends, SteadyWindow(0, due * PERIOD)).ledger
    assert (ledger.wanted, ledger.not_attempted) == (writers * due, writers * (due - sent))
    assert len(passes) == 2


def test_a_writer_whose_last_call_never_returned_is_held_by_it():
    recorded = in_time(100, 30)
    columns = Columns(columns_of(1, recorded), NOTHING)
    ends = [
        EndpointRow(1, "publisher", "t", process="talker"),
        EndpointRow(2, "subscription", "t", process="listener"),
    ]
    window = SteadyWindow(0, 1000 * MS)
    for stuck, by in (((), UnsentBy.MACHINE), ({1}, UnsentBy.CALL)):
        assert measure(columns, ends, window, stuck=stuck).ledger.unsent_by == {by: 70}


@pytest.mark.parametrize(
    ("granted", "process"), [({"schedule": "own"}, None), ({"schedule": "shared"}, "p"), ({}, "p")]
)
def test_who_has_a_thread_of_its_own_waits_for_no_sibling(granted, process):
    """What was recorded before there was a choice had one thread."""
    row = {
        "endpoint": 1,
        "kind": "publisher",
        "topic": "t",
        "process": "p",
        "asked": json.dumps({"arrival": {"kind": "periodic"}}),
        "granted": json.dumps(granted),
    }
    (end,) = endpoints_of(SimpleNamespace(endpoints=[row]))
    assert end.process == process
