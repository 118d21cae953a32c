"""A worker that stamps with another clock than its host's makes its trial void, whichever way it is
off; and a host may have another clock than ours. Of two hosts over an emulated network one may have
a clock 1000 s ahead, as on another machine: a real middleware's one-way latencies are what the link
makes them, in both directions, and nonsense without the map."""

from dataclasses import replace

import pytest

from rmwbench.analysis.metrics.aggregate import aggregate
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.records.clocks import on_one_clock
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.campaign.trial.void import void_reasons, wrong_clocks
from rmwbench.errors import UserError
from rmwbench.lab.host import Host, HostBroken, Hosts
from rmwbench.lab.middleware import Worker, find_workers, tool
from tests.campaign.cells import cell, only_cell, order
from tests.campaign.cells import outcome as made
from tests.campaign.ended import TableEvidence, evidence_of, well
from tests.lab import fake_worker


def collected_at(*times_ns, between=(1_000_000, 3_000_000)):
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
    assert list(wrong_clocks(collected_at(time_ns))) == []


@pytest.mark.parametrize(
    ("time_ns", "text"), [(3_500_000, "0.500 ms ahead of"), (-1_000_000, "2.000 ms behind")]
)
def test_another_clock_is_named_with_the_least_it_is_off(time_ns, text):
    (reason,) = wrong_clocks(collected_at(2_000_000, time_ns))
    assert reason.startswith("clock: process process1") and text in reason
    assert reason in [other.text for other in void_reasons(collected_at(2_000_000, time_ns), [])]


def test_a_trial_that_never_came_to_collect_is_not_judged():
    assert list(wrong_clocks(collected_at(between=None))) == []


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
    # Sent when the window said so, and the workers' own times are on our clock, whatever their
    # clock shows.
    our_evidence, clocks = on_one_clock(evidence)
    bound = clocks.slack_ns(SteadyWindow(row["steady_begin_ns"], row["steady_end_ns"]))
    due = our_evidence.records.sent("intended_ns")
    assert abs(int(due[0]) - row["start_ns"]) <= bound
    assert row["steady_begin_ns"] < row["steady_end_ns"] <= row["drain_end_ns"] + bound
    first = next(e for e in our_evidence.events if e["event"] == "first_message")
    assert first["time_ns"] < row["start_ns"]
    raw = next(e for e in rows["events"] if e["event"] == "first_message")
    assert abs(raw["time_ns"] - first["time_ns"] - ahead_s * 10**9) <= bound
    # Both of a message's stamps are of one host, so even a naive analysis has its latency; not so
    # its time of day.
    naive = measure_trial(replace(evidence, clock_map=[]))
    assert (naive.values["achieved_rate"] > 0) == (ahead_s == 0)


AHEAD_S = 1000
LINK_NS = 2_000_000
"""What no message can be faster than: 1 ms up and 1 ms down."""
CANDIDATES = ("zenoh", "cyclonedds")

SUITE = """
timeline: {{warmup_s: 0.1, steady_s: 1, match_s: 20}}
arms:
  - {{name: a, middleware: {middleware}}}
networks:
  thin: {{links: {{all: {{both: {{delay_ms: 1}}}}}}}}
workloads:
  - name: w
    message: Bytes(100)
    rate_hz: 100
    network: thin
    nodes:
      - {{name: away, host: robot, publishers: [{{topic: there}}], subscriptions: [{{topic: back}}]}}
      - {{name: home, host: base, publishers: [{{topic: back}}], subscriptions: [{{topic: there}}]}}
"""


@pytest.fixture(scope="module")
def evidence() -> TableEvidence:
    workers = find_workers(CANDIDATES)
    worker = next((workers[name] for name in CANDIDATES if name in workers), None)
    if worker is None:
        pytest.skip(f"none of {', '.join(CANDIDATES)} is built")
    try:
        tool.find("link")
    except UserError as error:
        pytest.skip(str(error))
    cell = only_cell(SUITE.format(middleware=worker.middleware))
    hosts = Hosts("clocks", cell.hosts, {"base": AHEAD_S})
    try:
        hosts.wait_ready()
    except HostBroken as broken:
        hosts.close()
        pytest.skip(f"no such hosts here: {broken}")
    result = run_trial(order(cell), worker, hosts)
    # A busy machine may break the network's promise: that voids the trial, and none of its stamps.
    assert result.status in ("done", "void") and "clock" not in (result.reason or ""), result.reason
    assert "received" in result.tables, result.reason
    return evidence_of(result)


def one_way_ns(evidence, host):
    """A trial of the messages that were sent from that host alone, and their latencies."""
    publishers = [end for end in evidence.endpoints if end["kind"] == "publisher"]
    (writer,) = (end["endpoint"] for end in publishers if end["host"] == host)
    others = [end for end in publishers if end["endpoint"] != writer]
    of_writer = {
        "endpoints": [end for end in evidence.endpoints if end not in others],
        "sent": [row for row in evidence.rows["sent"] if row["endpoint"] == writer],
        "received": [row for row in evidence.rows["received"] if row["writer"] == writer],
    }
    trial = measure_trial(replace(evidence, rows=evidence.rows | of_writer))
    return trial, trial.messages.samples["response_latency"].values


@pytest.mark.timing
@pytest.mark.parametrize("sender", ["robot", "base"])
@pytest.mark.smoke
def test_a_one_way_latency_is_what_the_link_makes_it(evidence, sender):
    trial, latency = one_way_ns(evidence, sender)
    bound = trial.clock_bounds["response_latency"]
    assert 0 < bound < 10_000_000 and len(latency) >= 50
    assert LINK_NS - bound <= latency[0] < 10**9
    metric = aggregate(GLOSSARY["response_latency_p50"], [trial])
    assert "clocks of two hosts" in metric.interval and metric.low >= LINK_NS - 2 * bound


def test_a_naive_analysis_of_the_same_trial_is_nonsense(evidence):
    _, away = one_way_ns(replace(evidence, clock_map=[]), "robot")
    _, home = one_way_ns(replace(evidence, clock_map=[]), "base")
    assert away[0] > 0.99 * AHEAD_S * 10**9
    # Its steady state is 1000 s after the window: what is left of its messages came before they
    # were sent.
    assert not len(home) or home[0] < -0.99 * AHEAD_S * 10**9


def test_the_map_holds_the_truth_before_in_and_after_the_window(evidence):
    rows = {
        host: [row for row in evidence.clock_map if row["host"] == host]
        for host in ("robot", "base")
    }
    (robot,) = rows["robot"]
    assert (robot["offset_ns"], robot["bound_ns"]) == (0, 0)
    assert all(abs(row["offset_ns"] - AHEAD_S * 10**9) <= row["bound_ns"] for row in rows["base"])
    begin, end = evidence.row["steady_begin_ns"], evidence.row["steady_end_ns"]
    assert any(row["t_ns"] < begin for row in rows["base"])
    assert any(row["t_ns"] > end for row in rows["base"])
