"""A publisher that waits for the publish call of another one that shares its thread is flagged, and
owes only what it had to send."""

from types import SimpleNamespace

import numpy as np
import pytest

from rmwbench.analysis.metrics.context import Context
from rmwbench.campaign.record.tables import trial_tables
from rmwbench.campaign.trial import held_calls, record_flags
from rmwbench.campaign.trial.outcome import TrialWindow
from rmwbench.codes import UNFINISHED, WAITS, Code
from tests.campaign.cells import only_cell, outcome, section

MS = 1_000_000


def calls(endpoint, due_ns, begun_ns, return_ns):
    names = ("intended_ns", "begun_ns", "return_ns")
    each = zip(due_ns, begun_ns, return_ns, strict=True)
    return section(endpoint, *(dict(zip(names, one, strict=True)) for one in each), capacity=1000)


SUITE = """
arms: [{{name: a, middleware: fake}}]
timeline: {{steady_s: 1}}
workloads:
  - name: w
    message: Bytes(100)
    rate_hz: 100
    schedule: {schedule}
    nodes:
      - {{name: camera, process: {camera}, publishers: [{{topic: image}}]}}
      - {{name: control, process: {control}, publishers: [{{topic: command}}]}}
      - {{name: all, subscriptions: [{{topic: image}}, {{topic: command}}]}}
"""


def two_publishers(image, command, processes=("robot", "robot"), schedule="shared"):
    text = SUITE.format(camera=processes[0], control=processes[1], schedule=schedule)
    trial = outcome(only_cell(text))
    trial.sections = [image, command]
    return trial


def camera_and_control(call_ns, processes=("robot", "robot"), schedule="shared"):
    """Publish calls of an image of 30 Hz, and of a command of 1 kHz that is due in the middle of
    one of them."""
    due = np.arange(30) * 33 * MS
    command_due = np.arange(990) * MS + MS // 2
    begun = command_due.copy()
    for end_ns, begin_ns in zip(due + call_ns, due, strict=True):
        waits = (command_due > begin_ns) & (command_due < end_ns)
        begun[waits] = end_ns + np.arange(np.count_nonzero(waits)) * 1000
    image, command = calls(1, due, due, due + call_ns), calls(2, command_due, begun, begun + 500)
    return two_publishers(image, command, processes, schedule)


def test_a_long_call_makes_its_sibling_late_and_is_flagged():
    (flag,) = record_flags.late_by_sibling(camera_and_control(3 * MS))
    assert flag.code is Code.LATE_BY_SIBLING and "endpoint 2" in flag.text and "2.5 ms" in flag.text


@pytest.mark.parametrize(
    ("call_ns", "more"),
    [
        pytest.param(MS // 2, {}, id="the call is short"),
        pytest.param(3 * MS, {"processes": ("camera", "control")}, id="in another process"),
        # what looks so is the machine's, or a lock of the middleware's
        pytest.param(3 * MS, {"schedule": "own"}, id="a thread each"),
    ],
)
def test_nobody_waits_for_a_sibling_where(call_ns, more):
    assert list(record_flags.late_by_sibling(camera_and_control(call_ns, **more))) == []


def test_who_is_late_by_its_own_calls_does_not_wait_for_its_sibling():
    """Two publishers of 100 Hz: a call of the one takes 15 ms, of the other 1 µs."""
    due = np.arange(50) * 10 * MS
    begun = np.arange(50) * (15 * MS + 1000)
    image = calls(1, due, begun, begun + 15 * MS)
    command = calls(2, due, begun + 15 * MS, begun + 15 * MS + 1000)
    (flag,) = record_flags.late_by_sibling(two_publishers(image, command))
    assert "endpoint 2" in flag.text and "at most 15 ms" in flag.text
    assert "100 % of the messages" in flag.text


HELD_SUITE = """
arms: [{{name: a, middleware: fake}}]
timeline: {{steady_s: 2}}
workloads:
  - name: w
    message: Bytes(100)
    primary_metric: cpu_cores
    schedule: {schedule}
    nodes:
      - name: robot
        publishers:
          - {{topic: image, arrival: {{kind: periodic, rate_hz: 20, phase_ns: 0}}}}
          - {{topic: status, arrival: {{kind: periodic, rate_hz: 1, phase_ns: {phase_ns}}}}}
      - {{name: all, subscriptions: [{{topic: image}}, {{topic: status}}]}}
"""


@pytest.fixture
def held_trial(monkeypatch):
    """A trial of 2 s of which neither publisher told its end: each has sent so many messages, and
    every call took 1 ms."""

    def made(images, states, phase_ns=0, schedule="shared"):
        trial = outcome(only_cell(HELD_SUITE.format(schedule=schedule, phase_ns=phase_ns)))
        trial.times.window = TrialWindow(0, 0, 2000 * MS)
        trial.times.windows = {p.name: trial.times.window for p in trial.order.cell.processes}
        trial.endpoints.started = {1, 2}
        due = {1: 50 * MS * np.arange(images), 2: phase_ns + 1000 * MS * np.arange(states)}
        trial.sections = [
            section(
                number, *({"intended_ns": t, "call_ns": t + 1, "return_ns": t + MS} for t in times)
            )
            for number, times in due.items()
        ]
        rows = {one.endpoint: one.rows for one in trial.sections}
        monkeypatch.setattr(held_calls, "_sent", lambda outcome, files: rows)
        monkeypatch.setattr(held_calls.time, "monotonic_ns", lambda: 2500 * MS)
        return trial

    return made


def test_who_has_sent_all_owes_nothing_behind_the_call_of_a_sibling(held_trial):
    trial = held_trial(images=39, states=2)
    for one in held_calls.held_calls(trial, {}):
        held_calls.note_unfinished(trial, one)
    assert trial.endpoints.unfinished == {1: 38, 2: 1}
    unfinished, flag = trial.events
    assert (unfinished["endpoint"], unfinished["value"]) == (1, 550 * MS)
    assert flag["code"] == Code.HELD and "endpoint 2" not in flag["text"]
    rows = trial_tables(trial, "done", None, [])["sent"].to_pylist()
    never = [(row["endpoint"], row["seq"]) for row in rows if row["call_ns"] is None]
    assert never == [(1, 39)]


def test_the_call_is_of_the_publisher_whose_message_was_due_first(held_trial):
    trial = held_trial(images=8, states=0, phase_ns=450 * MS)
    caller, waiting = held_calls.held_calls(trial, {})
    assert (caller.endpoint.endpoint, caller.since_ns, caller.behind) == (1, 400 * MS, None)
    assert (waiting.since_ns, waiting.unsent, waiting.behind) == (450 * MS, 2, 1)
    held_calls.note_unfinished(trial, waiting)
    held_calls.note_unfinished(trial, caller)
    unfinished = [event for event in trial.events if event["event"] == UNFINISHED]
    context = Context(SimpleNamespace(events=unfinished), clocks=None)
    assert [event["code"] for event in unfinished] == [WAITS, None] and context.stuck == {1}
    assert trial.events[0]["text"] == (
        "a publish call of endpoint 1 had not returned after 2.05 s, and endpoint 2 waited for it on "
        "the same thread, and 2 messages of its schedule had not been sent"
    )


@pytest.mark.parametrize(
    ("images", "schedule"), [(40, "shared"), (39, "own")], ids=["shared", "own"]
)
def test_a_thread_that_sent_all_and_does_not_end_is_its_workers_fault(held_trial, images, schedule):
    assert held_calls.held_calls(held_trial(images, 2, schedule=schedule), {}) is None
