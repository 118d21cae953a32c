"""From what workers recorded to the tables of the bundle."""

import itertools
import statistics

import pytest

from rmwbench.campaign.record.due_times import (
    due_offsets_ns,
    never_sent_due_ns,
    scheduled_messages,
)
from rmwbench.campaign.record.tables import trial_tables
from rmwbench.campaign.trial.changes import Changes
from rmwbench.campaign.trial.outcome import TrialWindow
from rmwbench.codes import FAILED, LOANED
from rmwbench.suite.cells import Change
from tests.campaign.cells import cell, outcome, section

CALL, RETURN, FILL = 5_000_000, 8_000_000, 2_000_000


def sent(*rows):
    trial = outcome()
    trial.sections = [section(1, *rows)]
    return trial_tables(trial, "done", None, [])["sent"].to_pylist()


def test_how_long_a_loan_was_written_is_told_of_sources_and_relays_alike():
    same = {"call_ns": CALL, "return_ns": RETURN}
    loaned, cause = same | {"flags": LOANED}, {"cause_endpoint": 9, "cause_seq": 42}
    refused = {"flags": LOANED | FAILED}
    rows = sent(
        same | {"begun_ns": CALL - 100},
        loaned | {"begun_ns": CALL - 100, "cause_seq": FILL},
        loaned | cause | {"begun_ns": FILL},
        loaned | cause | {"begun_ns": 0} | refused,
        same | cause | {"begun_ns": CALL - 100},
        # of workers from before: when it was begun, and no call where a loan was refused
        loaned | cause | {"begun_ns": CALL - 100},
        loaned | cause | {"begun_ns": CALL - 100, "call_ns": 0} | refused,
    )
    assert [row["fill_ns"] for row in rows] == [None, FILL, FILL, None, None, None, None]
    begun = [CALL - 100, CALL - 100, CALL, CALL, *[CALL - 100] * 3]
    assert [row["begun_ns"] for row in rows] == begun
    assert [row["cause_seq"] for row in rows] == [None, None, *[42] * 5]


MS, SECOND = 1_000_000, 1_000_000_000
JOINED = 4 * SECOND


def joined(monkeypatch):
    """A trial from 0 to 11 s, steady from 1 s on, in which a publisher of 100 Hz joins at 4 s and
    sends 50 messages."""
    trial = outcome(cell(schedule="arrival: {kind: periodic, rate_hz: 100, phase_ns: 0}"))
    trial.times.window = TrialWindow(0, SECOND, 11 * SECOND)
    trial.times.windows = {p.name: trial.times.window for p in trial.order.cell.processes}
    posted = []
    changes = Changes(trial, None, None, trial.times.window)
    monkeypatch.setattr(changes, "_post", lambda *command: posted.append(command[2]))
    monkeypatch.setattr("rmwbench.campaign.trial.changes.take_created", lambda *_: None)
    monkeypatch.setattr("rmwbench.campaign.trial.timeouts.JOIN_LEAD_NS", 0)
    monkeypatch.setattr("time.monotonic_ns", lambda: JOINED)
    publisher = next(e for e in trial.order.cell.endpoints if e.kind == "publisher")
    changes._created(None, Change(3.0, True, publisher.process, publisher.node, (1,)))
    assert [(fields["at_ns"], fields["endpoints"]) for fields in posted] == [(JOINED, [1])]
    due = [JOINED + 10 * MS * n for n in range(50)]
    trial.sections = [section(1, *({"intended_ns": t, "call_ns": t} for t in due))]
    return trial


def never(trial):
    rows = trial_tables(trial, "done", None, [])["sent"].to_pylist()
    return [(row["intended_ns"], row["flags"]) for row in rows if row["call_ns"] is None]


def test_what_a_late_publisher_never_sent_was_due_by_its_own_schedule(monkeypatch):
    trial = joined(monkeypatch)
    trial.endpoints.finished[1] = {"never_sent": 30}
    assert never(trial) == [(JOINED + 10 * MS * n, 0) for n in range(50, 80)]


def test_of_a_late_publisher_that_is_stuck_only_what_it_had_to_send_is_never_sent(monkeypatch):
    trial = joined(monkeypatch)
    trial.endpoints.unfinished = {1: None}
    assert never(trial) == [(JOINED + 10 * MS * n, 0) for n in range(50, 700)]


def first(how_many: int, /, **arrival) -> list[int]:
    return list(itertools.islice(due_offsets_ns(arrival), how_many))


def test_arrivals_are_what_they_say():
    assert first(3, kind="periodic", period_ns=10, phase_ns=3) == [3, 13, 23]
    assert first(5, kind="burst", period_ns=10, count=2, phase_ns=0) == [0, 0, 10, 10, 20]
    assert first(5, kind="trace", offsets_ns=[1, 5]) == [1, 5]
    assert first(5, kind="relay") == [] and first(5, kind="saturation", limit=9) == []


def test_poisson_has_its_rate_and_its_seed():
    drawn = first(20_000, kind="poisson", rate_hz=1000.0, seed=7)
    assert drawn == sorted(drawn)
    assert drawn[-1] / len(drawn) == pytest.approx(1e6, rel=0.03)
    gaps = [b - a for a, b in itertools.pairwise(drawn)]
    # of an exponential law the standard deviation is the mean
    assert statistics.pstdev(gaps) == pytest.approx(statistics.mean(gaps), rel=0.05)
    again, other = (first(10, kind="poisson", rate_hz=1000.0, seed=seed) for seed in (7, 8))
    assert again == drawn[:10] != other


def test_a_schedule_has_what_is_due_before_its_end():
    assert scheduled_messages({"kind": "periodic", "period_ns": 10, "phase_ns": 3}, 23) == 2
    assert scheduled_messages({"kind": "burst", "period_ns": 10, "count": 2}, 20) == 4
    assert scheduled_messages({"kind": "relay"}, 10**9) == 0


def test_what_was_never_sent_continues_after_the_attempts():
    assert never_sent_due_ns({"kind": "periodic", "period_ns": 10}, 1000, 3, 2) == [1030, 1040]
    assert never_sent_due_ns({"kind": "trace", "offsets_ns": [0, 7, 9]}, 100, 2, 5) == [109]
    assert never_sent_due_ns({"kind": "saturation", "limit": 9}, 100, 2, 5) == []
