"""Processor time second by second and the growth of memory, from samples whose law is known."""

from typing import Any

import numpy as np
import pytest

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, aggregate, trial_value
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.latency import Messages
from rmwbench.analysis.metrics.sample import make_sample
from rmwbench.analysis.metrics.time_series import (
    CPU_BY_SECOND,
    NO_SECOND,
    NOT_SAMPLED,
    CpuReading,
    MemoryReading,
    cpu_by_second,
    memory_growth,
)
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.analysis.stats.estimate import AtLeast, Measured, NoData
from rmwbench.bundle import Bundle
from rmwbench.bundle.schema import table_from_rows
from tests.support import kept, topics_bundle
from tests.support.shown import show_document

METRICS = ("cpu_by_second_p50", "cpu_by_second_p95")
WINDOW = SteadyWindow(1_000_000_000, 11_000_000_000)
COUNTERS = [
    {"process": "talker", "role": "publisher", "counter": "cpu"},
    {"process": "router", "role": "daemon", "counter": "cpu"},
    {"process": "sampler", "role": "harness", "counter": "cpu"},
    {"process": "machine", "role": "machine", "counter": "cpu"},
]
ALONE = COUNTERS[:1]
BEFORE_NS = 7e9
"""What a process had used when the window began."""


def readings(
    process: str, cores, *, hz: float = 1.0, late_ms=lambda n: 0.2, until_s: float = 10.0
) -> list[CpuReading]:
    """Samples of a process that uses `cores(s)` cores in second s of the window."""
    used = np.concatenate([[0.0], np.cumsum([cores(s) for s in range(11)])])
    out: list[CpuReading] = []
    n = 0
    while n / hz < until_s:
        at_s = n / hz + late_ms(n) / 1e3
        cpu_s = float(np.interp(at_s, np.arange(12), used))
        out.append((WINDOW.begin_ns + round(at_s * 1e9), process, BEFORE_NS + cpu_s * 1e9))
        n += 1
    return out


def test_each_second_has_what_was_used_in_it_by_all_processes_of_the_middleware():
    samples = (
        readings("talker", lambda s: 0.1 * s)
        + readings("router", lambda s: 0.5)
        + readings("sampler", lambda s: 9)
    )
    cores, reason = cpu_by_second(samples, COUNTERS, WINDOW)
    assert reason is None
    # The last second's end is the window's, where the series has no sample.
    assert cores == pytest.approx([0.5 + 0.1 * s for s in range(9)], abs=1e-3)


@pytest.mark.parametrize("hz", [1, 2, 10, 50])
def test_how_often_was_sampled_does_not_matter(hz):
    cores, _ = cpu_by_second(
        readings("talker", lambda s: 0.2 + 0.6 * (s % 2), hz=hz), ALONE, WINDOW
    )
    assert cores[:9] == pytest.approx([0.2, 0.8, 0.2, 0.8, 0.2, 0.8, 0.2, 0.8, 0.2], abs=2e-3)


def test_a_late_sample_changes_nothing_and_a_missing_one_takes_its_two_seconds_with_it():
    late = readings("talker", lambda s: 0.3, late_ms=lambda n: 40.0 if n == 4 else 0.0)
    assert cpu_by_second(late, ALONE, WINDOW)[0] == pytest.approx([0.3] * 9)
    lost = [one for n, one in enumerate(readings("talker", lambda s: 0.1 * s)) if n != 4]
    assert cpu_by_second(lost, ALONE, WINDOW)[0] == pytest.approx(
        [0.0, 0.1, 0.2, 0.5, 0.6, 0.7, 0.8], abs=1e-3
    )
    both = lost + [(*one[:1], "router", *one[2:]) for one in readings("talker", lambda s: 0.1 * s)]
    assert len(cpu_by_second(both, COUNTERS, WINDOW)[0]) == 7, (
        "a second is of all processes or of none"
    )


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        ([], NOT_SAMPLED),
        (readings("talker", lambda s: 1.0), "CPU of router is in no sample"),
        (
            readings("talker", lambda s: 1.0, hz=0.4) + readings("router", lambda s: 1.0, hz=0.4),
            NO_SECOND,
        ),
        (
            readings("talker", lambda s: 1.0, until_s=1)
            + readings("router", lambda s: 1.0, until_s=1),
            NO_SECOND,
        ),
    ],
)
def test_without_samples_there_is_no_second(samples, reason):
    cores, told = cpu_by_second(samples, COUNTERS, WINDOW)
    assert not len(cores) and told == reason


def test_without_a_daemon_that_no_counter_is_of_there_is_none():
    started = {"process": "orchestrator", "role": "machine", "counter": "step.daemon.roudi"}
    cores, told = cpu_by_second(readings("talker", lambda s: 1.0), [*ALONE, started], WINDOW)
    assert (len(cores), told) == (0, "CPU of roudi is in no sample")


def test_a_window_below_a_second_has_none():
    samples = readings("talker", lambda s: 1.0, hz=10)
    assert cpu_by_second(samples, ALONE, SteadyWindow(1_000_000_000, 1_900_000_000))[1] == NO_SECOND
    assert cpu_by_second(samples, ALONE, None)[1] == NOT_SAMPLED
    assert cpu_by_second(samples, COUNTERS[2:], WINDOW)[1] == NOT_SAMPLED, (
        "no process of the middleware, which is not 0"
    )


def trials(*seconds, reasons=()):
    made = []
    for number, of_trial in enumerate(seconds):
        messages = Messages(samples={CPU_BY_SECOND: make_sample([np.array(of_trial, float)])})
        made.append(MeasuredTrial(number, number, messages, 27_000_000_000, reasons=dict(reasons)))
    return made


def test_a_percentile_is_printed_where_enough_seconds_lie_beyond_it():
    """As one of messages (rule 5): the median from 20 seconds, p95 from 200 of all trials
    together."""
    p50, p95 = (GLOSSARY[name] for name in METRICS)
    assert (p50.unit, p95.unit) == ("cores", "cores")
    rng = np.random.default_rng(4)
    few, many = (trials(*rng.normal(0.3, 0.01, (n, 26))) for n in (5, 8))
    median = aggregate(p50, few)
    assert isinstance(median, Measured) and median.value == pytest.approx(0.3, rel=0.02)
    assert (median.count, median.trials) == (130, 5) and trial_value(p50, few[0]) is not None
    bound = aggregate(p95, few)
    assert isinstance(bound, AtLeast) and "p95 needs 200 seconds, there are 130" in bound.interval
    percentile = aggregate(p95, many)
    assert isinstance(percentile, Measured)
    assert percentile.low <= 0.3 + 1.645 * 0.01 <= percentile.high
    assert "of the seconds pooled" in percentile.interval
    short = aggregate(p50, trials([0.3, 0.3]))
    assert isinstance(short, NoData) and short.no_data == "p50 needs 20 seconds, there are 2"
    none = aggregate(p50, trials([], reasons=[(METRICS[0], NOT_SAMPLED)]))
    assert isinstance(none, NoData) and none.no_data == NOT_SAMPLED


USED = {"imu": 0.1, "navigation": 0.2}
"""Cores of each process."""


def tables(trial: int) -> dict[str, Any]:
    """Of a trial whose processes were sampled once per second."""
    base = {"trial": trial, "counter": "cpu", "unit": "ns"}
    roles = {"imu": "publisher", "navigation": "subscription"}
    edges = {"steady_begin": 0, "steady_end": topics_bundle.STEADY_NS}
    counters = [
        base | {"process": name, "role": roles[name], "at": at, "value": cores * ns}
        for name, cores in USED.items()
        for at, ns in edges.items()
    ]
    samples = [
        base
        | {"process": name, "time_ns": topics_bundle.BEGIN_NS + n * 10**9, "value": cores * n * 1e9}
        for name, cores in USED.items()
        for n in range(3)
    ]
    memory = [{**one, "counter": "rss", "unit": "bytes", "value": 9e6} for one in samples[::3]]
    return {
        "counters": table_from_rows("counters", counters),
        "samples": table_from_rows("samples", samples + memory),
    }


def only_arm(monkeypatch, directory, tables_of):
    """Of a campaign whose trials have these tables besides their records."""
    made = topics_bundle._trial
    monkeypatch.delenv(kept.VARIABLE)  # what is written depends on more than what is asked for
    monkeypatch.setattr(
        topics_bundle, "_trial", lambda trial, *rest: made(trial, *rest) | tables_of(trial)
    )
    flows = {"imu": topics_bundle.FLOWS["imu"]}
    carriers = {"zenoh": topics_bundle.CARRIERS["zenoh"]}
    bundle = Bundle(topics_bundle.write(directory, flows=flows, carriers=carriers, blocks=10))
    (arm,) = show_document(bundle)["workloads"][0]["arms"]
    return arm


@pytest.mark.parametrize("sampled", [True, False])
def test_a_campaign_has_it_where_a_series_was_asked_for(tmp_path, monkeypatch, sampled):
    parts = ("counters", "samples") if sampled else ("counters",)
    arm = only_arm(
        monkeypatch, tmp_path / "c", lambda trial: {part: tables(trial)[part] for part in parts}
    )
    median, high = (arm["metrics"][name] for name in METRICS)
    assert arm["metrics"]["cpu_cores"]["value"] == pytest.approx(0.3)
    if sampled:
        assert (median["value"], median["count"], median["trials"]) == (pytest.approx(0.3), 20, 10)
        assert high["at_least"] == pytest.approx(0.3) and "needs 200 seconds" in high["interval"]
    else:
        assert median["no_data"] == high["no_data"] == NOT_SAMPLED


def test_a_process_that_ended_within_the_first_second_is_why_there_is_none(tmp_path, monkeypatch):
    """No second was sampled at both ends then, and a faster series would not change that."""

    def ended(trial):
        made = tables(trial)
        counters, samples = made["counters"].to_pylist(), made["samples"].to_pylist()
        alive = [r for r in counters if (r["process"], r["at"]) != ("imu", "steady_end")]
        early = [
            row
            for row in samples
            if row["process"] != "imu" or row["time_ns"] == topics_bundle.BEGIN_NS
        ]
        return {
            "counters": table_from_rows("counters", alive),
            "samples": table_from_rows("samples", early),
        }

    metrics = only_arm(monkeypatch, tmp_path / "c", ended)["metrics"]
    assert metrics["cpu_cores"]["no_data"].startswith("imu was not read")
    assert metrics[METRICS[0]]["no_data"] == metrics["cpu_cores"]["no_data"]


def counted(process: str, role: str, counter: str = "cpu") -> dict[str, str]:
    return {"process": process, "role": role, "counter": counter}


MEMORY_COUNTERS = [
    counted("talker", "publisher"),
    counted("listener", "subscription"),
    counted("sampler", "harness"),
]


def memory_readings(process: str, pss, *, files=0.0, every_s: float = 0.5) -> list[MemoryReading]:
    """`pss` of the seconds since the window began, plus `files`, which is told apart."""
    out: list[MemoryReading] = []
    for at_s in np.arange(0.0, 10.0, every_s):
        time_ns = WINDOW.begin_ns + round(at_s * 1e9)
        of_files = files(at_s) if callable(files) else files
        out.append((time_ns, process, "pss", pss(at_s) + of_files))
        out.append((time_ns, process, "file_pss", of_files))
    return out


def memory_of(samples, counters=MEMORY_COUNTERS, **changes):
    counts = {"published": 1000, "heard": 500, "delivered": 500} | changes
    return memory_growth(samples, counters, WINDOW, **counts)


def test_a_leak_is_told_per_message_of_its_side():
    samples = memory_readings("talker", lambda s: 1e6) + memory_readings(
        "listener", lambda s: 2e6 + 6400 * s
    )
    got = memory_of(samples)
    # 64 000 bytes in the 10 s of the window, in which 500 messages were delivered
    assert got["pss_growth_per_message_subscription"] == pytest.approx(128)
    assert got["pss_growth_per_message_publisher"] == 0
    assert got["pss_growth_per_message_daemon"] == "no daemon ran"
    assert got["pss_at_begin"] == pytest.approx(3e6 + 6400 * 0.5, rel=1e-3)
    assert got["pss_at_end"] - got["pss_at_begin"] == pytest.approx(6400 * 8.75, rel=0.1)


def test_what_is_no_part_of_a_middleware_is_not_in_its_memory():
    counters = [
        *MEMORY_COUNTERS,
        counted("recorder", "recorder"),
        counted("background", "background"),
    ]
    samples = [
        reading
        for name in ("talker", "listener", "recorder", "background", "sampler")
        for reading in memory_readings(name, lambda s: 1e6)
    ]
    assert memory_of(samples, counters)["pss_at_begin"] == 2e6


def test_without_a_process_that_was_not_read_no_sum_stands():
    """Of two publishers one was read; the messages are of both."""
    counters = [*MEMORY_COUNTERS, counted("talker 2", "publisher")]
    samples = memory_readings("talker", lambda s: 1e6 + 6400 * s) + memory_readings(
        "listener", lambda s: 2e6
    )
    got = memory_of(samples, counters)
    assert "memory of talker 2 was read fewer than 5" in got["pss_growth_per_message_publisher"]
    assert got["pss_at_begin"] == "memory of talker 2 was not read at the window's begin"
    assert got["pss_growth_per_message_subscription"] == 0
    got = memory_of(samples + memory_readings("talker 2", lambda s: 0), counters)
    assert got["pss_growth_per_message_publisher"] == pytest.approx(64)


def test_of_a_daemon_that_was_not_read_it_is_not_said_that_none_ran():
    counters = [*MEMORY_COUNTERS, counted("orchestrator", "machine", "step.daemon.roudi")]
    samples = memory_readings("talker", lambda s: 1e6) + memory_readings("listener", lambda s: 2e6)
    got = memory_of(samples, counters)
    assert "memory of roudi was read fewer than 5" in got["pss_growth_per_message_daemon"]
    assert got["pss_at_end"] == "memory of roudi was not read at the window's end"
    got = memory_of(samples + memory_readings("roudi", lambda s: 4e6), counters)
    assert (got["pss_growth_per_message_daemon"], got["pss_at_end"]) == (0, 7e6)


def test_beside_a_process_that_does_both_neither_side_has_a_growth():
    """What it published is in the divisor, and what it took is in no side's memory."""
    counters = [*MEMORY_COUNTERS, counted("relay", "both")]
    names = ("talker", "listener", "relay")
    got = memory_of(
        [one for name in names for one in memory_readings(name, lambda s: 1e6 + s)], counters
    )
    for side in ("publisher", "subscription"):
        assert got[f"pss_growth_per_message_{side}"] == "publisher and subscription share a process"
    assert got["pss_at_begin"] == pytest.approx(3e6, rel=1e-3)


def test_what_fills_in_the_first_half_is_not_a_leak():
    got = memory_of(memory_readings("listener", lambda s: 1e6 + min(s, 4.5) * 1e6))
    assert got["pss_growth_per_message_subscription"] == 0


def test_without_readings_there_is_no_figure_of_memory():
    got = memory_of([])
    assert "series_hz" in got["pss_growth_per_message_publisher"]
    assert all(isinstance(one, str) for one in got.values())
    got = memory_of(memory_readings("listener", lambda s: 1e6 + s, every_s=2.5))
    assert "fewer than 5" in got["pss_growth_per_message_subscription"]
    assert "memory of talker was read fewer than 5" in got["pss_growth_per_message_publisher"]
    got = memory_of(memory_readings("listener", lambda s: 1e6), MEMORY_COUNTERS[1:])
    assert got["pss_growth_per_message_publisher"] == "no publisher process ran"
    got = memory_of(memory_readings("listener", lambda s: 1e6), heard=0)
    assert got["pss_growth_per_message_subscription"] == "no message to divide by"
    got = memory_of(memory_readings("all", lambda s: 1e6), [counted("all", "both")])
    assert got["pss_growth_per_message_publisher"] == "publisher and subscription share a process"
