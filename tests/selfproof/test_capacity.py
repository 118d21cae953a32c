"""A capacity that is known comes out of the whole command: real workers, real clocks, the real
search.

A publish call of b seconds cannot be made more than 1/b times a second, so no level above 1/b
holds: exact on any machine. How far below 1/b a level still holds is the machine's part, since
whatever takes the processor away makes a call longer: what came through at the levels above says
how much it left, and the interval must reach up to that.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from rmwbench.bundle import Bundle
from rmwbench.results.capacity.capacity_document import summarise
from tests.support.command import COMMAND

pytestmark = pytest.mark.timing

STEP = 1.11
GROWS = 1.02
"""A queue that grows by 1 % of the messages due does not count as growing yet, and the clock rounds
the period."""


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    out = tmp_path_factory.mktemp("capacity") / "out"
    suite = Path(__file__).with_name("capacity.yaml")
    command = [*COMMAND, "capacity", str(suite), "--out", str(out), "--json"]
    command += ["--workload", "stream", "--limit", "p50 response < 40 ms, loss < 5 %"]
    command += ["--resolution", "10%", "--from", "50", "--to", "4kHz", "--budget", "70s"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, env=os.environ)
    assert done.returncode in (0, 1), done.stderr
    return Bundle(out), summarise(Bundle(out))


def arm(document, name):
    return next(one for one in document.arms if one.arm == name)


def saturated_hz(one):
    """Return the achieved rate at each level whose queue grew: the capacity that the machine left at
    that time."""
    rates = [level.metrics["achieved_rate"].value for level in one.levels if level.unstable]
    return np.array([float(rate) for rate in rates if rate is not None])


@pytest.mark.parametrize("name, block_s", [("calls 4 ms", 0.004), ("calls 1 ms", 0.001)])
def test_the_interval_holds_the_known_capacity(searched, name, block_s):
    _, document = searched
    shown, truth = arm(document, name), 1 / block_s
    assert shown.trials.failed == 0
    for level in shown.levels:
        if level.level > GROWS * truth:
            assert level.held == 0, f"nothing can hold {level.level} Hz"
    assert (saturated_hz(shown) <= GROWS * truth).all()
    capacity = shown.capacity
    if capacity.state != "bracketed" or shown.trials.done < 8 or not len(saturated_hz(shown)):
        pytest.skip(f"the machine left {shown.trials.done} trials: {shown.answer}")
    assert capacity.low <= GROWS * truth and capacity.value <= STEP * truth
    assert capacity.high * STEP >= min(np.median(saturated_hz(shown)), truth)


def test_how_it_fails_is_told_apart(searched):
    _, document = searched
    blocked = arm(document, "calls 1 ms")
    above = [level for level in blocked.levels if level.level > 1300]
    if not above:
        pytest.skip(f"the machine kept the search below that: {blocked.answer}")
    assert all(set(level.kinds) == {"unstable"} for level in above)
    assert all("could not keep the schedule" in cause for level in above for cause in level.causes)
    for level in above:
        growth, expected = level.queue_growth_hz, level.level - 1000
        assert growth is None or growth >= 0.7 * expected
        assert all(level.metrics[name].value is None for name in document.search.curve)


def test_a_constant_latency_is_slow_and_not_unstable(searched):
    _, document = searched
    slow = arm(document, "slow")
    assert slow.capacity.state in ("below", "bracketed")
    assert not any(level.held for level in slow.levels)
    quiet = [probe for probe in slow.probes if probe.kind in ("slow", "lossy")]
    assert len(quiet) >= len([p for p in slow.probes if p.kind == "unstable"])
    for level in slow.levels:
        value = level.metrics["response_latency_p50"].value
        assert value is None or value >= 60e6
