"""Growth of memory per message from readings whose law is known."""

import numpy as np
import pytest

from rmwbench.analysis.metrics.time_series import MemoryReading, memory_growth
from rmwbench.analysis.records.columns import SteadyWindow

WINDOW = SteadyWindow(1_000_000_000, 11_000_000_000)


def counted(process: str, role: str, counter: str = "cpu") -> dict[str, str]:
    return {"process": process, "role": role, "counter": counter}


COUNTERS = [
    counted("talker", "publisher"),
    counted("listener", "subscription"),
    counted("sampler", "harness"),
]


def readings(process: str, pss, *, files=0.0, every_s: float = 0.5) -> list[MemoryReading]:
    """`pss` of the seconds since the window began, plus `files`, which is told apart."""
    out: list[MemoryReading] = []
    for at_s in np.arange(0.0, 10.0, every_s):
        time_ns = WINDOW.begin_ns + round(at_s * 1e9)
        of_files = files(at_s) if callable(files) else files
        out.append((time_ns, process, "pss", pss(at_s) + of_files))
        out.append((time_ns, process, "file_pss", of_files))
    return out


def measured(samples, counters=COUNTERS, **changes):
    counts = {"published": 1000, "heard": 500, "delivered": 500} | changes
    return memory_growth(samples, counters, WINDOW, **counts)


def test_a_leak_is_told_per_message_of_its_side():
    samples = readings("talker", lambda s: 1e6) + readings("listener", lambda s: 2e6 + 6400 * s)
    got = measured(samples)
    # 64 000 bytes in the 10 s of the window, in which 500 messages were delivered
    assert got["pss_growth_per_message_subscription"] == pytest.approx(128)
    assert got["pss_growth_per_message_publisher"] == 0
    assert got["pss_growth_per_message_daemon"] == "no daemon ran"
    assert got["pss_at_begin"] == pytest.approx(3e6 + 6400 * 0.5, rel=1e-3)
    assert got["pss_at_end"] - got["pss_at_begin"] == pytest.approx(6400 * 8.75, rel=0.1)


def test_what_is_no_part_of_a_middleware_is_not_in_its_memory():
    counters = [
        *COUNTERS,
        counted("recorder", "recorder"),
        counted("background", "background"),
    ]
    samples = [
        reading
        for name in ("talker", "listener", "recorder", "background", "sampler")
        for reading in readings(name, lambda s: 1e6)
    ]
    assert measured(samples, counters)["pss_at_begin"] == 2e6


def test_without_a_process_that_was_not_read_no_sum_stands():
    """Of two publishers one was read; the messages are of both."""
    counters = [*COUNTERS, counted("talker 2", "publisher")]
    samples = readings("talker", lambda s: 1e6 + 6400 * s) + readings("listener", lambda s: 2e6)
    got = measured(samples, counters)
    assert "memory of talker 2 was read fewer than 5" in got["pss_growth_per_message_publisher"]
    assert got["pss_at_begin"] == "memory of talker 2 was not read at the window's begin"
    assert got["pss_growth_per_message_subscription"] == 0
    got = measured(samples + readings("talker 2", lambda s: 0), counters)
    assert got["pss_growth_per_message_publisher"] == pytest.approx(64)


def test_of_a_daemon_that_was_not_read_it_is_not_said_that_none_ran():
    counters = [*COUNTERS, counted("orchestrator", "machine", "step.daemon.roudi")]
    samples = readings("talker", lambda s: 1e6) + readings("listener", lambda s: 2e6)
    got = measured(samples, counters)
    assert "memory of roudi was read fewer than 5" in got["pss_growth_per_message_daemon"]
    assert got["pss_at_end"] == "memory of roudi was not read at the window's end"
    got = measured(samples + readings("roudi", lambda s: 4e6), counters)
    assert (got["pss_growth_per_message_daemon"], got["pss_at_end"]) == (0, 7e6)


def test_beside_a_process_that_does_both_neither_side_has_a_growth():
    """What it published is in the divisor, and what it took is in no side's memory."""
    counters = [*COUNTERS, counted("relay", "both")]
    names = ("talker", "listener", "relay")
    got = measured([one for name in names for one in readings(name, lambda s: 1e6 + s)], counters)
    for side in ("publisher", "subscription"):
        assert got[f"pss_growth_per_message_{side}"] == "publisher and subscription share a process"
    assert got["pss_at_begin"] == pytest.approx(3e6, rel=1e-3)


def test_what_fills_in_the_first_half_is_not_a_leak():
    got = measured(readings("listener", lambda s: 1e6 + min(s, 4.5) * 1e6))
    assert got["pss_growth_per_message_subscription"] == 0


def test_nothing_is_made_of_nothing():
    got = measured([])
    assert "series_hz" in got["pss_growth_per_message_publisher"]
    assert all(isinstance(one, str) for one in got.values())
    got = measured(readings("listener", lambda s: 1e6 + s, every_s=2.5))
    assert "fewer than 5" in got["pss_growth_per_message_subscription"]
    assert "memory of talker was read fewer than 5" in got["pss_growth_per_message_publisher"]
    got = measured(readings("listener", lambda s: 1e6), COUNTERS[1:])
    assert got["pss_growth_per_message_publisher"] == "no publisher process ran"
    got = measured(readings("listener", lambda s: 1e6), heard=0)
    assert got["pss_growth_per_message_subscription"] == "no message to divide by"
    got = measured(readings("all", lambda s: 1e6), [counted("all", "both")])
    assert got["pss_growth_per_message_publisher"] == "publisher and subscription share a process"
