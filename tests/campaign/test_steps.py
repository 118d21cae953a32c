"""What a manager of lifecycle nodes reports, on its way from the worker to the bundle's events."""

from collections import deque
from types import SimpleNamespace

from rmwbench.bundle.schema import table_from_rows
from rmwbench.campaign.trial.outcome import EndpointFacts, take_events
from rmwbench.lab.process.worker import event_model, message_problem

STEP = {
    "event": "step",
    "node": "amcl",
    "step": "configure",
    "outcome": "timed_out",
    "asked_ns": 1500,
    "time_ns": 3001,
}


def test_a_step_keeps_its_node_how_it_ended_and_both_times():
    outcome = SimpleNamespace(events=[], endpoints=EndpointFacts())
    processes = SimpleNamespace(
        workers={"manager": SimpleNamespace(events=deque([STEP]))}, daemons={}
    )
    take_events(outcome, processes)
    (row,) = table_from_rows("events", outcome.events).to_pylist()
    fields = {name: value for name, value in row.items() if value is not None}
    assert fields == {
        "time_ns": 3001,
        "process": "manager",
        "event": "step",
        "value": 1500,
        "text": "amcl",
        "code": "configure.timed_out",
    }


def test_a_step_that_nobody_knows_is_the_workers_mistake():
    model = event_model(STEP)
    assert message_problem(model, STEP) is None
    assert "step" in message_problem(model, {**STEP, "step": "shutdown"})
    without = {name: value for name, value in STEP.items() if name != "asked_ns"}
    assert "asked_ns" in message_problem(model, without)
