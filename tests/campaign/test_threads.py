"""Which threads send is granted by the worker, and one that has only one for all costs the trial."""

from rmwbench.campaign.trial.changes import start_fields, take_started
from rmwbench.campaign.trial.void import void_reasons
from rmwbench.codes import Code
from tests.campaign.cells import only_cell, outcome

SUITE = """
arms: [{{name: a, middleware: fake}}]
timeline: {{steady_s: 1}}
workloads:
  - name: w
    message: Bytes(100)
    rate_hz: 100
    schedule: {schedule}
    nodes:
      - {{name: talker, publishers: [{{topic: a}}, {{topic: b}}]}}
      - {{name: listener, subscriptions: [{{topic: a}}, {{topic: b}}]}}
"""


def started(schedule, reply):
    """A trial whose workers answered `start` so."""
    trial = outcome(only_cell(SUITE.format(schedule=schedule)))
    for endpoint in trial.order.cell.endpoints:
        trial.endpoints.granted[endpoint.endpoint] = {"qos": endpoint.qos.wire()}
    take_started(trial, {"talker": reply, "listener": reply})
    return trial


def schedules_refused(trial):
    reasons = void_reasons(trial, [])
    return [r.text for r in reasons if r.code is Code.GRANTED and "schedule" in r.text]


def test_what_was_asked_is_in_the_command_and_what_is_done_in_the_grants():
    trial = started("shared", {"schedule": "shared"})
    told = start_fields(trial.times.window, trial.order.cell)
    assert told["schedule"] == "shared" and told["grace_ns"] == 150_000_000
    granted = trial.endpoints.granted
    assert [granted[n].get("schedule") for n in (1, 2, 3, 4)] == ["shared", "shared", None, None]
    assert schedules_refused(trial) == []


def test_a_worker_that_sends_for_all_from_one_thread_was_not_given_what_was_asked():
    """One from before there was a choice does not say what it does."""
    refused = schedules_refused(started("own", {}))
    assert len(refused) == 2 and refused[0].endswith("asked for schedule own, was given shared")
    assert schedules_refused(started("own", {"schedule": "own"})) == []
    assert schedules_refused(started("shared", {})) == []
