"""When the limits of a robot are settled, and how often what is settled is false."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from rmwbench.analysis.stats.intervals import clustered_fraction, log_t
from rmwbench.analysis.verdicts import sequential
from rmwbench.analysis.verdicts.limit_outcomes import (
    AtMost,
    NothingArrives,
    Outcome,
    PrintedInterval,
    Tried,
    of_arm,
)
from rmwbench.campaign.looks import LimitsJudge, is_settled
from rmwbench.results.model import Estimate
from rmwbench.results.show_model import ArmInCondition
from tests.support import synthetic_bundle
from tests.support.edited import limit_median

LIMIT = 100.0
P50 = AtMost(metric="response_latency_p50", at_most=LIMIT)
CPU = AtMost(metric="cpu_cores", at_most=1.0)
NOTHING = NothingArrives(metric="undelivered", at_least=0.95)


def latency(value=None, low=None, high=None, trials=5, **bound):
    return Estimate(unit="ns", value=value, low=low, high=high, trials=trials, **bound)


def settled(shown_metrics, share, *, limits=(P50,), blocks=5, **tried):
    """Return the outcome of an arm at a look with this share of the error; None if it is open."""
    metrics = shown_metrics if isinstance(shown_metrics, dict) else {P50.metric: shown_metrics}
    arm = Tried(done=blocks, metrics=metrics, **tried)
    judged = of_arm(limits, NOTHING, arm, 5, share)
    shown = ArmInCondition(
        arm="a",
        outcome=judged.outcome,
        why=judged.why,
        metric=judged.metric,
        topic=None,
        reason="",
        brief="",
    )
    return judged.outcome if is_settled(shown) else None


@pytest.mark.parametrize(
    ("metric", "share", "outcome"),
    [
        (latency(50, 40, 60), 0.02, Outcome.MEETS),
        (latency(50, 10, 98), 0.02, None),  # within, but not for a look of this share
        (latency(50, 10, 98), 0.05, Outcome.MEETS),
        (latency(200, 150, 250), 0.02, Outcome.MISSES),
        (latency(200, 101, 299), 0.02, None),
        (latency(math.inf, 150, math.inf), 0.02, Outcome.MISSES),
        (latency(at_least=150.0), 0.02, Outcome.MISSES),
        (latency(50, 40, 60), 0.0, None),  # between looks nothing is
        (latency(90, 40, 160), 0.05, None),
        (latency(no_data="none"), 0.05, None),
    ],
)
def test_settled_is_what_more_blocks_would_not_change(metric, share, outcome):
    assert settled(metric, share) == outcome


def test_an_arm_without_data_or_on_a_busy_machine_is_not_waited_for():
    assert settled(latency(50, 40, 60), 0.05, blocks=4) is None
    assert settled(latency(190, 140, 260), 0.05, machine_bound=5) is Outcome.OPEN
    assert settled({}, 0.05, blocks=0) is Outcome.UNKNOWN


def test_every_limit_is_judged_by_the_wider_interval():
    """Not the one with the least room alone: the interval of another may be wider."""
    cpu = Estimate(unit="cores", value=0.95, low=0.94, high=0.96, trials=5)
    metrics = {CPU.metric: cpu, P50.metric: latency(30, 12, 90)}
    assert settled(metrics, 0.05, limits=(CPU, P50)) is Outcome.MEETS
    assert settled(metrics, 0.02, limits=(CPU,)) is Outcome.MEETS
    assert settled(metrics, 0.02, limits=(CPU, P50)) is None


def test_only_the_workloads_that_the_suite_decides_are_waited_for(tmp_path):
    """All miss the limit with the camera; with the IMU it cuts through the scatter of two arms."""
    workloads = ("imu", "camera")
    arms = synthetic_bundle.ARMS[1:4]
    path = synthetic_bundle.write(tmp_path / "c", blocks=6, workloads=workloads, arms=arms)
    limit_median(path, 50_000)

    def look(*decide):
        plan = SimpleNamespace(
            judged_after=(5, 12),
            suite=SimpleNamespace(blocks=SimpleNamespace(decide=decide)),
            comparisons=[SimpleNamespace(key=name, workload=name) for name in workloads],
        )
        return LimitsJudge(plan, path)(5, 1.0, ended=False)

    every, camera = look(), look("camera")
    assert every.of == 6 and every.open and {one.comparison for one in every.open} == {"imu"}
    assert (camera.decided, camera.open) == (3, ())
    assert camera.leaving == every.leaving  # what is settled leaves, whoever waits for it


@pytest.mark.parametrize("lost", [0, 1000])
def test_a_bound_where_nothing_was_seen_is_the_one_of_the_share_itself(lost):
    counts, totals = np.full(5, lost), np.full(5, 1000)
    (value, low, high), _ = clustered_fraction(counts, totals)
    printed = Estimate(unit="fraction", value=value, low=low, high=high, trials=5)
    (_, *wider), _ = clustered_fraction(counts, totals, 0.98)
    shown_interval = PrintedInterval.of(printed, 0.02)
    assert (shown_interval.low, shown_interval.high) == pytest.approx(wider)


@pytest.mark.parametrize("blocks", [(5, 8), (5, 20)])
def test_looking_early_hardly_adds_to_false_answers(blocks):
    """Each answer about an arm that lies exactly at its limit is false. With a 95 % interval at the
    end alone 2.5 % are said to meet it; with the same interval at each look twice as many are."""
    rng, looks = np.random.default_rng(5), sequential.planned_looks(*blocks)
    meets, runs = 0, 4000
    for _ in range(runs):
        values = LIMIT * np.exp(rng.normal(0, 0.2, looks[-1]))
        for look in looks:
            value, low, high = log_t(values[:look])
            share = 0.05 if look == looks[-1] else sequential.alpha_at(looks, look)
            outcome = settled(latency(value, low, high, look), share, blocks=look)
            if outcome is not None:
                meets += outcome is Outcome.MEETS
                break
    spent = sum(sequential.alpha_at(looks, look) for look in looks[:-1])
    assert meets / runs < 0.025 + spent / 2 + 3 * math.sqrt(0.03 / runs)
