"""What features rest on, on real workers: allocations counted, a leak found, frozen readers,
daemons that return."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rmwbench.analysis.metrics.time_series import CPU_BY_SECOND, memory_growth
from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.campaign.trial.trial_life import TrialResult, run_trial
from rmwbench.errors import UserError
from rmwbench.suite.cells import Cell
from tests.campaign.cells import only_cell, order
from tests.campaign.ended import evidence_of, grown, rows, well
from tests.lab import tools

pytestmark = [pytest.mark.traffic, pytest.mark.usefixtures("any_machine")]

HEAD = """
timeline: {warmup_s: 0.3, drain_s: 0.5, grace_s: 0.5, match_s: 10, steady_s: 1.0}
"""


def cell(text: str) -> Cell:
    return only_cell(HEAD + text)


def run(middleware: str, text: str) -> TrialResult:
    result = run_trial(order(cell(text)), tools.worker(middleware))
    assert well(result)
    return result


ALLOCATIONS = """
sampling: {{allocations: true}}
arms: [{arm}]
workloads: [{{name: w, message: Bytes(1024), rate_hz: 400}}]
"""


def test_the_harness_allocates_nothing_per_message():
    """On both sides and with everything that a trial has running meanwhile: snapshots, events, the
    protocol."""
    result = run("floor", ALLOCATIONS.format(arm="{name: a, middleware: floor}"))
    assert len(rows(result, "received")) > 400
    counters = rows(result, "counters")
    for counter in ("allocations", "allocated"):
        of_each = grown(counters, counter)
        assert of_each["talker"] == of_each["listener"] == 0


@pytest.mark.timing  # what it measures, others change
def test_planted_allocations_are_counted_in_the_process_that_makes_them():
    planted = (
        "{name: a, middleware: synthetic, options: {memory_growth_bytes: publisher=64 reader=256}}"
    )
    result = run("synthetic", ALLOCATIONS.format(arm=planted))
    counters = rows(result, "counters")
    for process, bytes_each in (("talker", 64), ("listener", 256)):
        # besides one for each of the 400, the list that keeps them is made larger a few times
        assert 400 <= grown(counters, "allocations")[process] <= 420
        least = 400 * bytes_each
        assert least <= grown(counters, "allocated")[process] <= least + 40_000
        assert grown(counters, "frees")[process] <= 30  # the schedule's own, at its end


def test_a_trial_that_is_not_asked_counts_nothing():
    result = run(
        "floor", ALLOCATIONS.format(arm="{name: a, middleware: floor}").replace("true", "false")
    )
    assert not rows(result, "counters", counter="allocations")


SOAK = """
sampling: {{series_hz: 50, memory: true}}
arms: [{{name: a, middleware: synthetic, options: {{memory_growth_bytes: publisher=0 reader={leak}}}}}]
workloads: [{{name: w, message: Bytes(64), rate_hz: 500, timeline: {{steady_s: 4}}}}]
"""


@pytest.mark.timing  # what it measures, others change
@pytest.mark.parametrize("leak", [0, 512])
def test_a_planted_leak_is_found_on_its_side_and_none_is_invented(leak):
    result = run("synthetic", SOAK.format(leak=leak))
    (trial,) = rows(result, "trials")
    samples = [
        (row["time_ns"], row["process"], row["counter"], row["value"])
        for row in rows(result, "samples")
        if row["counter"] in ("pss", "file_pss")
    ]
    window = SteadyWindow(trial["steady_begin_ns"], trial["steady_end_ns"])
    values = memory_growth(
        samples, rows(result, "counters"), window, published=2000, heard=2000, delivered=2000
    )
    # what malloc adds to 512 B and the list that keeps them is less than as much again
    low, high = (0.8 * leak, 1.5 * leak) if leak else (-16, 16)
    assert low <= values["pss_growth_per_message_subscription"] <= high
    assert -16 <= values["pss_growth_per_message_publisher"] <= 16
    grown_bytes, leaked_bytes = values["pss_at_end"] - values["pss_at_begin"], 2000 * leak
    assert abs(grown_bytes - 0.9 * leaked_bytes) <= 0.5 * leaked_bytes + 64_000


BURN = """
sampling: {series_hz: 5}
arms: [{name: a, middleware: synthetic, options: {cpu_burn_ns: publisher=400000}}]
workloads: [{name: w, message: Bytes(64), rate_hz: 500, timeline: {steady_s: 4}}]
"""


@pytest.mark.timing  # what it measures, others change
def test_planted_processor_time_is_found_in_every_second():
    result = run("synthetic", BURN)
    evidence = evidence_of(result)
    evidence.counters = tuple(rows(result, "counters"))
    trial = measure_trial(evidence)
    cores = trial.messages.samples[CPU_BY_SECOND].values
    assert len(cores) == 3, "the window's last second has no sample at its end"
    assert all(cores >= 0.97 * 500 * 400e-6)
    assert cores.mean() == pytest.approx(trial.values["cpu_cores"], rel=0.15)


def test_memory_needs_a_series():
    with pytest.raises(UserError, match="every fifth sample of a series"):
        cell(SOAK.format(leak=0).replace("series_hz: 50, ", ""))


FROZEN = """
arms: [{{name: a, middleware: {middleware}, options: {options}}}]
workloads:
  - name: w
    message: Bytes(16384)
    rate_hz: 200
    qos: {{history: keep_all}}
    readers_freeze_s: {at_s}
    timeline: {{steady_s: 1.2}}
"""


@pytest.mark.parametrize(
    ("middleware", "options"),
    [
        ("cyclonedds", "{max_blocking_ms: 150, max_samples: 20}"),
        ("fastdds", "{max_blocking_time_ms: 150, max_samples: 20}"),
    ],
)
def test_a_full_history_keeps_its_caller_for_max_blocking_time_and_refuses_then(
    middleware, options
):
    result = run(middleware, FROZEN.format(middleware=middleware, options=options, at_s=0.2))
    for event in ("frozen", "thawed"):
        assert [row["process"] for row in rows(result, "events", event=event)] == ["listener"]
    called = [row for row in rows(result, "sent") if row["call_ns"] is not None]
    calls = [row["return_ns"] - row["call_ns"] for row in called]
    (failed,) = rows(result, "counters", counter="publish_failures")
    assert max(calls) >= 149e6 and failed["value"] >= 1
    # most of the second is spent in calls of that length, and none of them waits until the reader
    # is back
    assert sorted(calls)[-2] < 800e6


def test_readers_cannot_freeze_after_the_window():
    with pytest.raises(UserError, match="the readers freeze after the steady state"):
        cell(FROZEN.format(middleware="cyclonedds", options="{}", at_s=2))


def test_who_sends_does_not_freeze():
    text = FROZEN.format(middleware="cyclonedds", options="{}", at_s=0.2) + "    processes: one\n"
    with pytest.raises(UserError, match="no process only reads"):
        cell(text)


RETURN = """
arms: [{{name: a, middleware: {middleware}, profile: {profile}, options: {options}}}]
workloads:
  - name: w
    message: Bytes(64)
    rate_hz: 50
    daemons_end_s: 0.3
    {how}
    nodes:
      - {{name: talker, publishers: [{{topic: x}}]}}
      - {{name: listener, subscriptions: [{{topic: x}}]}}
      - {{name: joiner, subscriptions: [{{topic: x}}], joins_s: 1.0}}
    timeline: {{steady_s: 5}}
"""


def joined(result: TrialResult) -> bool:
    """Whether the node that came after the accident heard anything."""
    (endpoint,) = (row["endpoint"] for row in rows(result, "endpoints", process="joiner"))
    return bool(rows(result, "received", endpoint=endpoint))


def fastdds(how: str, options: str = "{}") -> TrialResult:
    return run(
        "fastdds",
        RETURN.format(middleware="fastdds", profile="discovery_server", options=options, how=how),
    )


def zenoh(profile: str, how: str) -> str:
    return RETURN.format(middleware="zenoh", profile=profile, options="{}", how=how)


def test_a_router_that_returns_serves_those_who_come_later():
    result = run("zenoh", zenoh("rmw_zenoh", "daemons_return_s: 0.6"))
    events = [(row["event"], row["process"]) for row in rows(result, "events")]
    assert ("killed", "router") in events and ("returned", "router again") in events
    assert joined(result)


@contextmanager
def declared_fault(series: str, words: str) -> Iterator[None]:
    """Expect a fault of the releases of Fast DDS that begin with `series`
    (docs/middlewares/fastdds.md#surprises): a test that fails with these words shows it."""
    try:
        yield
    except AssertionError as failed:
        version = tools.worker("fastdds").description["version"]
        if version.startswith(series) and words in str(failed):
            pytest.xfail(f"declared fault of Fast DDS {version}: {words}")
        raise


SILENT = "the node that came later heard nothing"


def test_a_discovery_server_with_a_backup_knows_its_clients_when_it_returns():
    with declared_fault("3.1.", "OutputTrafficManager"), declared_fault("3.6.", SILENT):
        assert joined(fastdds("daemons_return_s: 0.6", "{server_persistence: true}")), SILENT


@pytest.mark.parametrize("by", ["set_qos", "file"])
def test_a_server_added_while_nodes_run_is_found_by_all_of_them(by):
    options = f"{{server_added_s: 0.1, server_added_by: {by}, daemons: server server-1}}"
    result = fastdds("daemons_end: first", options)
    assert [row["process"] for row in rows(result, "events", event="killed")] == ["server"]
    with declared_fault("3.1.", SILENT):
        assert joined(result), SILENT


def test_without_the_addition_nobody_finds_who_comes_later():
    assert not joined(fastdds("daemons_end: first", "{daemons: server server-1}"))


def test_daemons_cannot_return_before_they_end():
    with pytest.raises(UserError, match="the daemons return before they end"):
        cell(zenoh("router", "daemons_return_s: 0.2"))
