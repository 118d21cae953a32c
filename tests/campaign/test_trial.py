"""The life of a trial with a worker that behaves, and with workers that do not: a fault costs its
own trial and nothing else."""

import errno
import gc
import json
import os
import re

import pytest

from rmwbench.campaign.trial import timeouts
from rmwbench.campaign.trial import trial_life as the_trial
from rmwbench.campaign.trial.record_flags import Silence
from rmwbench.campaign.trial.trial_life import TrialResult, hosts_ahead, run_trial
from rmwbench.codes import Code, FailedBy, Reason
from rmwbench.lab import machine
from rmwbench.lab.host import HostBroken
from rmwbench.lab.middleware import Worker
from tests.campaign.cells import cell, order
from tests.campaign.ended import heard_in_window, left_behind, rows, well
from tests.lab import fake_worker

pytestmark = pytest.mark.usefixtures("any_machine")


def run(tmp_path, fault="", stage="", made=None) -> TrialResult:
    path = fake_worker.install(tmp_path, fault, stage)
    gc.collect()  # descriptors in the garbage of earlier tests would otherwise close in between
    before = len(os.listdir("/proc/self/fd"))
    result = run_trial(order(made), Worker("fake", path, fake_worker.DESCRIBE, None))
    assert len(os.listdir("/proc/self/fd")) == before, "descriptors leak"
    assert left_behind() == []
    return result


def test_a_good_trial_has_every_table_and_its_ledger_is_whole(tmp_path):
    made = cell(subscribers=2, steady_s=0.2)
    result = run(tmp_path, made=made)
    assert well(result)
    (trial,) = rows(result, "trials")
    assert trial["steady_end_ns"] - trial["start_ns"] == 250_000_000
    assert trial["nonce"] == "feedfacecafebeef"
    assert 0 < trial["setup_ns"] < trial["duration_ns"]
    sent, received = rows(result, "sent"), rows(result, "received")
    assert [row["seq"] for row in sent] == list(range(50))
    for reader in (2, 3):
        assert {row["seq"] for row in received if row["endpoint"] == reader} == set(range(50))
    assert all(row["cause_endpoint"] is None and row["cause_seq"] is None for row in sent)
    assert all(trial["start_ns"] <= row["intended_ns"] < trial["steady_end_ns"] for row in sent)
    warm_up = [row for row in sent if row["intended_ns"] < trial["steady_begin_ns"]]
    assert {row["flags"] & 4 for row in warm_up} == {4}
    events = {(row["event"], row["endpoint"]) for row in rows(result, "events")}
    assert {("matched", 1), ("first_message", 2), ("first_message", 3)} <= events
    assert {("finished", 1), ("created", 3)} <= events
    roles = {row["process"]: row["role"] for row in rows(result, "counters")}
    expected = {"talker": "publisher", "listener_1": "subscription", "local": "machine"}
    assert expected.items() <= roles.items()
    counters = {(row["process"], row["counter"], row["at"]) for row in rows(result, "counters")}
    assert {
        ("talker", "cpu", "steady_begin"),
        ("talker", "cpu", "steady_end"),
        ("talker", "own.mine", "end"),
    } <= counters
    assert ("local", "interface.lo.tx_bytes", "steady_begin") in counters
    if heard_in_window(result):
        assert rows(result, "attestations", path="udp", label="counted")
    probed = {row["probe"] for row in rows(result, "probes")}
    assert probed >= {"sleep_overshoot_max", "steal", "idle"}
    assert result.files["talker.stderr"] == b"the last words\n"
    assert all(row["granted"] for row in rows(result, "endpoints"))


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (HostBroken("all 50 numbers are taken"), "host: all 50 numbers are taken"),
        (OSError(errno.EMFILE, "x"), "host: start its init: Too many open files"),
    ],
)
def test_a_host_that_cannot_be_begun_costs_its_trial(tmp_path, monkeypatch, broken, reason):
    def not_now(*_, **__):
        raise broken

    monkeypatch.setattr(the_trial, "Hosts", not_now)
    assert hosts_ahead("test/1", cell()) is None
    result = run(tmp_path)
    assert (result.status, result.reason) == ("failed", reason)
    assert result.failed_by is FailedBy.HOST


@pytest.mark.parametrize(
    "stage", ["hello", "open", "create", "match", "start", "window", "drain", "collect"]
)
def test_a_crash_at_any_moment_fails_the_trial_with_its_signal(tmp_path, stage):
    result = run(tmp_path, "segfault", stage)
    assert result.status == "failed" and "SIGSEGV" in result.reason
    assert "the last words" in result.reason
    assert rows(result, "trials")[0]["reason"] == result.reason
    assert (result.reasons[0].code, result.failed_by) == (Code.CRASHED, FailedBy.WORKER)


def test_what_was_recorded_before_a_crash_survives(tmp_path):
    result = run(tmp_path, "segfault", "window", cell(steady_s=0.3))
    assert result.status == "failed"
    assert [row["seq"] for row in rows(result, "sent")][:5] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("stage", ["match", "drain", "collect"])
def test_a_hang_ends_at_its_deadline(tmp_path, stage, monkeypatch):
    """Only the step that hangs has a short limit: a busy machine may delay the other steps."""
    if stage == "match":
        monkeypatch.setattr(timeouts, "MATCH_MARGIN_S", 0.2)
    step = the_trial.step

    def short(outcome, name):
        if name == stage:
            monkeypatch.setattr(timeouts, "COMMAND_TIMEOUT_S", 0.5)
        return step(outcome, name)

    monkeypatch.setattr(the_trial, "step", short)
    result = run(tmp_path, "hang", stage, cell(match_s=0.5 if stage == "match" else 20))
    assert result.status == "failed" and stage in result.reason
    assert (result.reasons[0].code, result.failed_by) == (Code.HUNG, FailedBy.WORKER)


def test_an_unmatched_reader_is_named(tmp_path):
    result = run(tmp_path, "refuse", "match")
    assert result.status == "failed" and "refused match" in result.reason


def flags(result: TrialResult) -> dict[str, str]:
    return {row["code"]: row["text"] for row in rows(result, "events", event="flag")}


def test_a_reader_that_hears_nothing_is_a_result_and_costs_no_other_reader_its_data(tmp_path):
    result = run(tmp_path, "one_deaf", "match", cell(subscribers=2, match_s=0.3))
    assert well(result)
    assert flags(result)[Code.NOT_HEARD] == (
        "not_heard: endpoint 2 heard nothing from endpoint 1 within 0.3 s, though both are matched"
    )
    assert {row["endpoint"] for row in rows(result, "received")} == {3}
    assert len(rows(result, "received")) == len(rows(result, "sent")) == 50


def test_nothing_delivered_after_the_barrier_is_a_result_with_its_evidence(tmp_path):
    result = run(tmp_path, "deafened", "match")
    assert well(result)
    assert re.search(
        r"none of \d+ published messages arrived at any of 1 reader, ",
        flags(result)[Code.DELIVERED_NOTHING],
    )
    assert len(rows(result, "sent")) == 50 and "received" not in result.tables


def test_that_evidence_is_in_whole_words_whatever_is_known():
    alone = Silence(published=1, readers=1, wake_ups=None, segments=()).text()
    assert "none of 1 published message arrived at any of 1 reader, " in alone
    assert "; how often processes with readers woke is not known; " in alone
    woken = Silence(published=9, readers=2, wake_ups=1, segments=()).text()
    assert "none of 9 published messages arrived at any of 2 readers, " in woken
    assert "; processes with readers woke 1 time in the window; " in woken


def test_the_window_waits_for_probes_that_are_under_way_or_says_that_it_did_not(tmp_path):
    result = run(tmp_path, "one_of_two_probes", "probe")
    assert well(result)
    assert flags(result)[Code.PROBES_OUTSTANDING] == (
        "probes_outstanding: the window began though 1 probe from endpoint 1 to endpoint 2 may "
        "still have been under way"
    )


def test_a_publisher_that_its_call_holds_is_a_result(tmp_path, monkeypatch):
    monkeypatch.setattr(timeouts, "FINISH_MARGIN_S", 0.3)
    result = run(tmp_path, "hang", "window")
    assert well(result)
    sent = rows(result, "sent")
    assert [row["seq"] for row in sent] == list(range(50))
    through = [row for row in sent if row["return_ns"] is not None]
    never = [row for row in sent if row["call_ns"] is None]
    assert len(through) + len(never) == 50 and len(never) >= 30
    (held,) = rows(result, "events", event="unfinished")
    (trial,) = rows(result, "trials")
    since_ns = max(through[-1]["return_ns"], never[0]["intended_ns"])
    assert held["endpoint"] == 1 and held["value"] == held["time_ns"] - since_ns
    assert held["time_ns"] > trial["steady_end_ns"]
    assert f"{len(never)} messages of its schedule had not been sent" in flags(result)[Code.HELD]
    received = {row["seq"] for row in rows(result, "received")}
    assert received == {row["seq"] for row in through}, "the drain waits for what was sent"


def test_a_machine_that_breaks_a_rule_excuses_a_failure(tmp_path, monkeypatch):
    """Then nobody can tell whose fault it was: the trial is void, and may run again."""
    monkeypatch.delenv("RMWBENCH_SPOILT")
    stolen = [Reason(Code.STEAL, "machine: steal: x", machine=True)]
    monkeypatch.setattr(
        machine, "voids", lambda probes: stolen if any(p["probe"] == "busy" for p in probes) else []
    )
    result = run(tmp_path, "segfault", "collect")
    assert (result.status, result.cause, result.failed_by) == ("void", "machine", FailedBy.MACHINE)
    assert [reason.code for reason in result.reasons] == [Code.STEAL, Code.CRASHED]


def test_overflow_voids_the_trial(tmp_path):
    result = run(tmp_path, "scribble", "collect")
    assert (result.status, result.reasons[0].code) == ("void", Code.RECORDS)


def test_a_damaged_records_file_fails_the_trial(tmp_path):
    result = run(tmp_path, "damage", "collect")
    assert result.status == "failed" and "damaged its records file" in result.reason


def test_a_granted_qos_that_is_not_the_one_asked_for_voids_the_trial(tmp_path):
    result = run(tmp_path, "downgrade", "create")
    assert result.status == "void"
    assert "endpoint 1 asked for reliability reliable, was given best_effort" in result.reason


def test_a_path_other_than_the_one_asked_for_voids_the_trial(tmp_path):
    assert well(run(tmp_path, made=cell(options="path: udp")))
    result = run(tmp_path, made=cell(options="path: shm"))
    if heard_in_window(result):
        assert result.status == "void" and "asked for shm" in result.reason
        assert "lo 100 % (counted)" in result.reason


def test_what_a_blocked_publisher_never_sent_is_in_the_ledger(tmp_path):
    result = run(tmp_path, "block", "window", cell(steady_s=0.2))
    assert well(result)
    (trial,) = rows(result, "trials")
    sent = rows(result, "sent")
    assert [row["seq"] for row in sent] == list(range(50))
    never = [row for row in sent if row["call_ns"] is None]
    assert 10 < len(never) < 50
    assert all(row["begun_ns"] is None and row["bytes"] is None for row in never)
    (publisher,) = rows(result, "endpoints", kind="publisher")
    arrival = json.loads(publisher["asked"])["arrival"]
    assert 0 < arrival["phase_ns"] < 5_000_000
    due = [row["intended_ns"] - trial["start_ns"] - arrival["phase_ns"] for row in sent]
    assert due == [k * 5_000_000 for k in range(50)]
