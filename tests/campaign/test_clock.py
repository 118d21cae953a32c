"""A worker that stamps with another clock than its host's makes its trial void, whichever way it is
off; and a host may have another clock than ours."""

from dataclasses import replace

import pytest

from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.records.clocks import on_one_clock
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.campaign.trial.void import void_reasons, wrong_clocks
from rmwbench.lab.host import Host, HostBroken, Hosts
from rmwbench.lab.middleware import Worker
from tests.campaign.cells import cell, order
from tests.campaign.cells import outcome as made
from tests.campaign.ended import TableEvidence, well
from tests.lab import fake_worker


def asked(*times_ns, between=(1_000_000, 3_000_000)):
    outcome = made()
    outcome.sampling.collecting_ns = between
    outcome.sampling.collected = {
        f"process{n}": {
            "usage": [{"at": "steady_end", "time_ns": 5}, {"at": "now", "time_ns": time_ns}]
        }
        for n, time_ns in enumerate(times_ns)
    }
    return outcome


@pytest.mark.parametrize("time_ns", [1_000_000, 2_000_000, 3_000_000])
def test_our_clock_lies_between_asking_and_having_the_answer(time_ns):
    assert list(wrong_clocks(asked(time_ns))) == []


@pytest.mark.parametrize(
    ("time_ns", "text"), [(3_500_000, "0.500 ms ahead of"), (-1_000_000, "2.000 ms behind")]
)
def test_another_clock_is_named_with_the_least_it_is_off(time_ns, text):
    (reason,) = wrong_clocks(asked(2_000_000, time_ns))
    assert reason.startswith("clock: process process1") and text in reason
    assert reason in [other.text for other in void_reasons(asked(2_000_000, time_ns), [])]


def test_a_trial_that_never_came_to_collect_is_not_judged():
    assert list(wrong_clocks(asked(between=None))) == []


@pytest.mark.timing
@pytest.mark.parametrize("ahead_s", [0, 1000])
def test_a_trial_on_a_host_with_another_clock_is_the_same_trial(tmp_path, ahead_s):
    """Schedule, window, ledger and latencies: what a time namespace shifts, the map shifts back."""
    host = Host("shifted", clock_offset_s=ahead_s)
    try:
        host.wait_ready()
    except HostBroken as broken:
        host.close()
        pytest.skip(f"this kernel makes no time namespace: {broken}")
    worker = Worker("fake", fake_worker.install(tmp_path), fake_worker.DESCRIBE, None)
    in_phase = "arrival: {kind: periodic, rate_hz: 200, phase_ns: 0}"
    made_order = order(cell(schedule=in_phase, steady_s=0.3))
    result = run_trial(made_order, worker, Hosts.of({made_order.cell.hosts[0]: host}))
    # A busy machine may void it; the stamps are the same.
    assert well(result)
    rows = {name: table.to_pylist() for name, table in result.tables.items()}
    (row,) = rows["trials"]
    assert ("clock_map" in rows) == bool(ahead_s)
    evidence = TableEvidence(rows)
    trial = measure_trial(evidence)
    ledger = trial.messages.ledger
    assert ledger.wanted == 60 and ledger.delivered > 30
    latency = trial.messages.samples["response_latency"]
    assert latency.values[0] > 0 and latency.values[-1] < 10**9
    # Sent when the window said so, and the workers' own times told on our clock, whatever their
    # clock shows.
    told, known = on_one_clock(evidence)
    bound = known.slack_ns(SteadyWindow(row["steady_begin_ns"], row["steady_end_ns"]))
    due = told.records.sent("intended_ns")
    assert abs(int(due[0]) - row["start_ns"]) <= bound
    assert row["steady_begin_ns"] < row["steady_end_ns"] <= row["drain_end_ns"] + bound
    first = next(e for e in told.events if e["event"] == "first_message")
    assert first["time_ns"] < row["start_ns"]
    raw = next(e for e in rows["events"] if e["event"] == "first_message")
    assert abs(raw["time_ns"] - first["time_ns"] - ahead_s * 10**9) <= bound
    # Both of a message's stamps are of one host, so even a naive analysis has its latency; not so
    # its time of day.
    naive = measure_trial(replace(evidence, clock_map=[]))
    assert (naive.values["achieved_rate"] > 0) == (ahead_s == 0)
