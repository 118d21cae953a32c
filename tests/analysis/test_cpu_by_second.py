"""Processor time second by second from samples whose law is known, and what of it is printed."""

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
    cpu_by_second,
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
def test_nothing_is_made_of_nothing(samples, reason):
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
