"""Processes that are killed and come back, for real: records outlive them, nobody takes it for a
failure, and what they leave is listed. Needs the built floor worker and the sampler."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rmwbench.analysis.metrics.network.outage import outages
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.campaign.record.tables import trial_tables
from rmwbench.campaign.trial import held_calls, record_flags, spawn, void
from rmwbench.campaign.trial.changes import Changes
from rmwbench.campaign.trial.outcome import TrialWindow
from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from rmwbench.campaign.trial.window import _finish
from rmwbench.codes import UNFINISHED
from rmwbench.lab.process import records
from rmwbench.lab.process.records import RECEIVED, RecordSection, SectionPlan
from rmwbench.lab.process.worker import WorkerFailed
from tests.campaign.cells import only_cell, order, outcome, section
from tests.campaign.ended import costs, rows, well
from tests.lab import tools

SUITE = """
timeline: {{warmup_s: 0.1, steady_s: 1.6, drain_s: 0.5, grace_s: 0.2, match_s: 5}}
sampling: {{leftovers: true}}
arms:
  - {{name: floor, middleware: floor, modes: {{transport: unix}}}}
workloads:
  - name: w
    message: Bytes(320)
    arrival: {{kind: periodic, rate_hz: 10, phase_ns: 0}}
    primary_metric: recovery_time
    nodes:
      - {{name: driver, publishers: [{{topic: state}}]{driver}}}
      - {{name: logger, subscriptions: [{{topic: state}}]}}
      - {{name: planner, subscriptions: [{{topic: state, hold_ms: {hold_ms}}}]{planner}}}
"""
DIES = ", killed_s: 0.35, restarts_s: 0.7"


def cell(driver="", planner="", hold_ms=0):
    return only_cell(SUITE.format(driver=driver, planner=planner, hold_ms=hold_ms))


def run(**how) -> TrialResult:
    return run_trial(order(cell(**how)), tools.worker("floor"))


def events(result: TrialResult, name: str) -> list[dict]:
    return rows(result, "events", event=name)


def ran(result: TrialResult) -> TrialResult:
    """Done, or void for what the machine did."""
    assert well(result)
    return result


@pytest.mark.traffic
def test_a_reader_that_dies_holding_a_message_comes_back_as_a_new_process():
    result = ran(run(planner=DIES, hold_ms=90))
    (event,) = events(result, "killed")
    assert event["process"] == "planner" and event["text"] in (
        "killed_s while holding 1 message",
        # a machine that kept the message away for 50 ms; it is flagged then
        "killed_s while holding 0 messages",
    )
    held = event["text"].split()[3] == "1"
    assert held or events(result, "flag")
    by_process = {row["process"]: row["endpoint"] for row in rows(result, "endpoints")}
    received = {
        process: rows(result, "received", endpoint=endpoint)
        for process, endpoint in by_process.items()
    }
    assert [row["consumed_ns"] is None for row in received["planner"]].count(True) == held
    again = received["planner again"]
    assert len(again) >= 3 and all(row["consumed_ns"] - row["taken_ns"] >= 90e6 for row in again)
    pids = {row["process"]: row["value"] for row in events(result, "hello")}
    assert pids["planner again"] not in (pids["planner"], None)
    assert len(received["logger"]) >= 14
    (left,) = events(result, "leftovers")
    assert json.loads(left["text"])["socket"] == 1  # the dead reader's; the others removed theirs
    (path,) = [row["path"] for row in rows(result, "leftovers", kind="socket")]
    # in the host's own /tmp; on a shared host in its directory there
    assert path.startswith("/tmp/rmwbench-") and "/rmwbench-floor" in path


@pytest.mark.traffic
def test_a_publisher_that_is_killed_begins_anew_and_its_records_survive():
    result = ran(run(driver=DIES))
    assert events(result, "killed")[0]["text"] == "killed_s"  # nobody was to hold anything
    endpoints = rows(result, "endpoints")
    first, second = (
        {row["seq"] for row in rows(result, "sent", endpoint=end["endpoint"])}
        for name in ("driver", "driver again")
        for end in rows(result, "endpoints", process=name)
    )
    assert first >= {0, 1, 2, 3} and min(second) == 0
    begin = rows(result, "trials")[0]["steady_begin_ns"]
    window = SteadyWindow(begin, begin + 1_600_000_000)
    (outage,) = outages(rows(result, "events"), endpoints, window)
    assert (outage.kind, outage.who, outage.what) == ("restart", "driver", "killed")
    assert (outage.down_ns - begin, outage.up_ns - begin) == (350_000_000, 700_000_000)


@pytest.mark.traffic
def test_a_successor_that_cannot_come_up_is_a_finding_and_no_failure(monkeypatch):
    spawned = spawn.Spawner.spawn

    def with_other_records(self, process):
        if process.endswith(" again"):
            other = records.make([SectionPlan(RECEIVED, 9, 10)], order().nonce + 1)
            self = replace(self, files={**self.files, process: other})
        return spawned(self, process)

    monkeypatch.setattr(spawn.Spawner, "spawn", with_other_records)
    result = ran(run(planner=DIES))
    assert "trial_nonce" in events(result, "not_joined")[0]["text"]
    assert events(result, "not_joined")[0]["process"] == "planner again"


def test_held_messages_are_counted_in_the_records_of_the_dead():
    trial = outcome(cell(planner=DIES, hold_ms=90))
    planner = next(e.endpoint for e in trial.order.cell.endpoints if e.process == "planner")
    slots = np.zeros(3, [("consumed_ns", "<i8")])
    slots["consumed_ns"] = [100, 0, 0]
    killed = {"event": "killed", "text": record_flags.KILLED, "process": "planner", "time_ns": 5}
    trial.sections = [
        RecordSection(RECEIVED, planner, 9, 3, 0, slots),
        RecordSection(RECEIVED, planner + 5, 9, 3, 0, slots),
    ]
    trial.events = [dict(killed)]
    record_flags.note_held_messages(trial)
    assert [e["text"] for e in trial.events] == ["killed_s while holding 2 messages"]
    trial.events, trial.sections = [dict(killed)], []
    record_flags.note_held_messages(trial)
    assert trial.events[0]["text"] == "killed_s while holding 0 messages"
    assert trial.events[1]["event"] == "flag" and "held no message" in trial.events[1]["text"]


def test_a_successor_is_charged_with_what_it_used_and_not_for_the_time_before_it():
    trial = outcome(cell(planner=DIES))
    second = 1_000_000_000
    trial.times.window = TrialWindow(0, 0, 10 * second)
    usage = lambda time_ns, cpu_ns: {"time_ns": time_ns, "cpu_ns": cpu_ns}  # noqa: E731
    for process, edges in (
        ("logger", (usage(100_000, second), usage(10 * second + 100_000, 2 * second))),
        ("planner again", (usage(8 * second, second // 20), usage(10 * second, second // 4))),
    ):
        at = zip(("steady_begin", "steady_end"), edges, strict=True)
        trial.sampling.collected[process] = {"usage": [{"at": a, **edge} for a, edge in at]}
    counters = trial_tables(trial, "done", None, [])["counters"].to_pylist()
    alone = [row for row in counters if row["process"] == "planner again"]
    assert costs(alone, 100, 10 * second)["cpu_cores"] == pytest.approx(0.025)
    assert costs(counters, 100, 10 * second)["cpu_cores"] == pytest.approx(0.125)


def stuck(what, timeout_s, *_):
    raise WorkerFailed("timeout", "driver", f"no end of the schedule within {timeout_s} s")


def begun(monkeypatch, sent, **life):
    """A trial of 1.7 s at 10 Hz whose only publisher sent so many and does not end."""
    trial = outcome(cell(**life))
    trial.times.window = TrialWindow(1_000_000_000, 1_100_000_000, 2_700_000_000)
    trial.times.windows = {"driver": trial.times.window}
    trial.endpoints.started = {1}
    due_ns = 1_000_000_000 + 100_000_000 * np.arange(sent)
    trial.sections = [
        section(1, *({"intended_ns": one, "return_ns": one + 5000} for one in due_ns))
    ]
    monkeypatch.setattr(held_calls, "_sent", lambda outcome, files: {1: trial.sections[0].rows})
    monkeypatch.setattr(held_calls.time, "monotonic_ns", lambda: 3_000_000_000)
    return trial, SimpleNamespace(wait=stuck, workers={"driver": None})


@pytest.mark.parametrize("life", [{"planner": ", killed_s: 0.35"}, {}])
def test_a_writer_that_is_held_is_a_finding_and_what_it_left_is_never_sent(monkeypatch, life):
    trial, processes = begun(monkeypatch, 5, **life)
    _finish(trial, processes, 0.2, {})
    assert trial.endpoints.unfinished == {1: 4}
    unfinished, flag = trial.events
    assert (unfinished["event"], unfinished["endpoint"]) == (UNFINISHED, 1)
    assert unfinished["value"] == 1_500_000_000, "since the sixth message was due"
    assert flag["code"] == "held" and "12 messages of its schedule" in flag["text"]
    sent = trial_tables(trial, "done", None, [])["sent"].to_pylist()
    assert [row["seq"] for row in sent] == list(range(17))  # 0.1 s of warm-up and 1.6 s at 10 Hz
    assert [row["call_ns"] for row in sent[5:]] == [None] * 12
    assert sent[-1]["intended_ns"] == 2_600_000_000


def test_a_schedule_that_sent_all_and_does_not_end_is_its_workers_fault(monkeypatch):
    trial, processes = begun(monkeypatch, 17)
    with pytest.raises(WorkerFailed):
        _finish(trial, processes, 0.2, {})
    assert not trial.events and not trial.endpoints.unfinished


@pytest.mark.parametrize(("owed", "joined"), [("create", False), ("start", True)])
def test_a_node_that_was_killed_before_it_was_up_has_not_joined_and_voids_nothing(owed, joined):
    trial = outcome(cell(planner=", joins_s: 0.1, killed_s: 0.35"))
    trial.times.window = TrialWindow(0, 0, 2_000_000_000)
    planner = next(e.endpoint for e in trial.order.cell.endpoints if e.process == "planner")
    if not joined:
        del trial.endpoints.granted[planner]
    worker = SimpleNamespace(killed=False, pid=7)
    processes = SimpleNamespace(workers={"planner": worker}, kill=lambda process: None)
    changes = Changes(trial, processes, None, trial.times.window)
    changes._commands = [(SimpleNamespace(worker=worker, cmd=owed, answered=False), None)]
    changes._kill(next(one for one in trial.order.cell.changes if one.killed))
    assert changes._commands == [] and planner in changes.absent_endpoints
    assert trial.endpoints.not_joined == (set() if joined else {planner})
    assert [e["event"] for e in trial.events] == ["killed", *["not_joined"] * (not joined)]
    assert not [one for one in void.void_reasons(trial, []) if f"endpoint {planner} " in one.text]


def test_only_processes_that_live_are_frozen():
    """The successor of a reader that will be killed is not there yet, and had no signal to get."""
    trial, signalled = outcome(cell(planner=DIES)), []
    processes = SimpleNamespace(
        living={"driver": None, "logger": None, "planner": None},
        signal=lambda process, number: signalled.append(process),
    )
    Changes(trial, processes, None, trial.times.window)._freeze()
    assert signalled == ["logger", "planner"]
    assert [event["event"] for event in trial.events] == ["frozen", "frozen"]
