"""The real thing, small: trials of the floor's worker through host, protocol, records and tables.
Needs the built worker."""

import pytest

from rmwbench.campaign.plan.profile import resolved_profile
from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from rmwbench.codes import Code
from tests.campaign.cells import only_cell, order
from tests.campaign.ended import rows, well
from tests.lab import tools

pytestmark = pytest.mark.traffic

SUITE = """
timeline: {{warmup_s: 0.1, drain_s: 0.5, grace_s: 0.2, match_s: 5}}
arms:
  - {{name: floor, middleware: floor, options: {{transport: {transport}, path: {path}}}}}
workloads:
  - {{name: w, message: Bytes({size}), {schedule}, subscribers: {subscribers}, timeline: {{steady_s: 0.4}}}}
"""


def run(
    transport="shm_ring", path="shm", size=320, schedule="rate_hz: 500", subscribers=1
) -> TrialResult:
    text = SUITE.format(
        transport=transport, path=path, size=size, schedule=schedule, subscribers=subscribers
    )
    cell, worker = only_cell(text), tools.worker("floor")
    assert resolved_profile(cell.arm.profile, worker)["name"] == "untouched"
    return run_trial(order(cell), worker)


@pytest.mark.parametrize(
    ("transport", "path"), [("shm_ring", "shm"), ("tcp", "tcp"), ("unix", "unix")]
)
@pytest.mark.parametrize("size", [320, 1_000_000])
def test_every_message_is_in_both_records_and_its_path_is_attested(transport, path, size):
    result = run(transport, path, size, "rate_hz: 100")
    assert well(result)
    sent = {row["seq"]: row for row in rows(result, "sent")}
    received = {row["seq"]: row for row in rows(result, "received")}
    assert list(sent) == list(range(50)) and received.keys() == sent.keys()
    for seq, row in sent.items():
        other = received[seq]
        assert other["intended_ns"] == row["intended_ns"] and other["writer"] == row["endpoint"]
        assert other["bytes"] == row["bytes"] == size
        stamps = [row[name] for name in ("intended_ns", "begun_ns", "call_ns")]
        stamps += [other[name] for name in ("taken_ns", "callback_ns", "consumed_ns")]
        assert stamps == sorted(stamps)
    assert sum(result.tables["attestations"]["fraction"].to_pylist()) == pytest.approx(1.0)


def test_a_schedule_is_computed_here_as_the_worker_computes_it():
    """The due times of messages that were never sent come from our own copy of the schedule: here
    is where the two must agree."""
    from rmwbench.campaign.record.due_times import never_sent_due_ns

    for schedule in (
        "arrival: {kind: poisson, rate_hz: 300}",
        "arrival: {kind: burst, rate_hz: 20, count: 5}",
        "arrival: {kind: periodic, rate_hz: 333, phase_ns: 777}",
    ):
        result = run(schedule=schedule)
        assert well(result)
        cell, (trial,) = result.order.cell, rows(result, "trials")
        arrival = cell.endpoints[0].wire(cell.arm, result.order.seed)["arrival"]
        intended = result.tables["sent"]["intended_ns"].to_pylist()
        assert len(intended) > 30
        ours = never_sent_due_ns(arrival, trial["start_ns"], 0, len(intended))
        # The logarithms of two libraries may differ in the last bit, which can move a Poisson draw
        # by a nanosecond.
        assert max(abs(a - b) for a, b in zip(ours, intended, strict=True)) <= 2


def test_a_path_that_was_not_taken_voids_the_trial():
    result = run("tcp", "shm", schedule="rate_hz: 100")
    assert result.status == "void" and Code.PATH in {reason.code for reason in result.reasons}


def test_a_fan_out_reaches_every_reader():
    result = run(subscribers=3, schedule="rate_hz: 100")
    assert well(result)
    readers = result.tables["received"]["endpoint"].to_pylist()
    assert {endpoint: readers.count(endpoint) for endpoint in readers} == {2: 50, 3: 50, 4: 50}
