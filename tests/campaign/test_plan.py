"""The plan's arithmetic, by hand."""

import json
import math
from collections import Counter

import pytest

from rmwbench.analysis.stats.resolution import resolvable_ratio
from rmwbench.campaign.plan.plan import (
    blocks_within,
    budget_text,
    duration_text,
    make_plan,
)
from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import load, parse

EIGHT = """
suite: eight
title: eight arms in three workloads
blocks: {minimum: 5, maximum: 6}
timeline: {warmup_s: 0.15, drain_s: 0.15}
arms:
  - {name: floor futex, middleware: floor, options: {transport: shm_ring}, wait: block}
  - {name: iceoryx2 event, middleware: iceoryx2, wait: block}
  - {name: zenoh untouched, middleware: zenoh, profile: untouched}
  - {name: zenoh tuned, middleware: zenoh, profile: tuned}
  - {name: cyclonedds untouched, middleware: cyclonedds, profile: untouched}
  - {name: cyclonedds tuned, middleware: cyclonedds, profile: tuned}
  - {name: fastdds untouched, middleware: fastdds, profile: untouched, publish_mode: sync}
  - {name: fastdds tuned, middleware: fastdds, profile: tuned, publish_mode: sync}
workloads:
  - {name: imu, message: Bytes(320), rate_hz: 1000, timeline: {steady_s: 1.1}}
  - {name: camera, message: Image1080p, rate_hz: 30, timeline: {steady_s: 1.0}}
  - {name: pointcloud, message: PointCloud512k, rate_hz: 10, timeline: {steady_s: 2.1}}
"""


def plan(name=None, **options):
    suite = load(name) if name else parse(EIGHT, where="eight.yaml")
    return make_plan(suite, cells(suite), **{"seed": 7, **options})


def test_quick_is_planned_by_the_clock_and_its_windows_hold_what_its_medians_need():
    made = plan("quick")
    assert made.looks == (5, 8, 12, 20) and made.estimated_s == made.within_s
    assert 240 <= made.within_s <= 330
    assert made.minimum_s <= made.within_s
    for comparison in made.comparisons:
        median, p90, *_ = comparison.percentiles
        assert median.per_trial and p90.pooled and comparison.steady_messages <= 20 * 15


def test_a_budget_of_a_suite_by_the_clock_is_its_clock_and_leaves_room_for_what_decided_arms_free():
    block_s = plan("quick").block_s
    made = plan("quick", budget_s=7 * block_s)
    assert (made.blocks, made.looks) == (28, (5, 8, 12, 18, 28))
    assert made.within_s == made.estimated_s == pytest.approx(7 * block_s)
    least = plan("quick", budget_s=5 * block_s)
    assert (least.blocks, least.looks) == (20, (5, 8, 12, 20))
    assert least.minimum_s == pytest.approx(least.within_s)
    assert plan("quick", budget_s=7 * block_s, most_blocks=8).blocks == 8
    assert plan(budget_s=7 * plan().block_s).blocks == 7  # a fixed design has nothing to free


def test_a_plan_takes_what_its_trials_take():
    made = plan()
    # eight arms × (1.1 + 1.0 + 2.1 steady, and three times warm-up, drain and fixed cost)
    assert made.block_s == pytest.approx(8 * (4.2 + 3 * (0.15 + 0.15 + 0.3)))
    assert made.blocks == 6
    assert made.estimated_s == pytest.approx(288)
    assert math.fsum(trial.estimated_s for trial in made.trials) == pytest.approx(made.estimated_s)


def test_every_block_runs_every_cell_once():
    made = plan()
    assert [trial.trial for trial in made.trials] == list(range(1, 145))
    for block in range(6):
        inside = [trial for trial in made.trials if trial.block == block]
        assert sorted(trial.cell for trial in inside) == list(range(1, 25))
        assert [trial.position for trial in inside] == list(range(24))
    assert [trial.block for trial in made.trials] == sorted(trial.block for trial in made.trials)


def test_the_arms_of_a_comparison_run_back_to_back():
    made = plan()
    for start in range(0, len(made.trials), 8):
        together = made.trials[start : start + 8]
        assert len({made.cell(trial.cell).comparison for trial in together}) == 1


def order(made, block):
    return [trial.cell for trial in made.trials if trial.block == block]


def test_order_follows_the_seed_and_nothing_else():
    assert plan(seed=1).trials == plan(seed=1).trials
    assert order(plan(seed=1), 0) != order(plan(seed=2), 0)
    assert order(plan(), 0) != order(plan(), 1)


def test_every_arm_gets_every_place_about_equally_often():
    """200 blocks of eight arms: each of the first places is expected 25 times, and 5 standard
    deviations are 23."""
    made = plan(budget_s=200 * 48)
    first = Counter(
        made.cell(trial.cell).arm.name
        for trial in made.trials
        if made.cell(trial.cell).workload.name == "imu" and trial.position % 8 == 0
    )
    assert sum(first.values()) == 200
    assert len(first) == 8
    assert all(2 <= times <= 48 for times in first.values())


def test_arms_of_a_block_share_their_schedule():
    made = plan()
    seeds = {}
    for trial in made.trials:
        seeds.setdefault((trial.block, made.cell(trial.cell).comparison), set()).add(trial.seed)
    assert all(len(shared) == 1 for shared in seeds.values())
    assert len({next(iter(shared)) for shared in seeds.values()}) == 18


@pytest.mark.parametrize(
    ("budget_s", "blocks"), [(240, 5), (287.9, 5), (288, 6), (300, 6), (1200, 25)]
)
def test_a_budget_buys_whole_blocks(budget_s, blocks):
    made = plan(budget_s=budget_s)
    assert made.blocks == blocks
    assert made.estimated_s <= budget_s + 1e-6


def test_a_percentile_that_needs_blocks_pooled_is_promised_of_those_until_the_first_look():
    """30 images per trial: 100 for the p90 take four blocks, 1000 for the p99 34."""
    camera = next(c for c in plan(budget_s=40 * 48).comparisons if c.key == "camera")
    pooled = {p.quantile: p.pooled for p in camera.percentiles}
    assert pooled == {0.5: True, 0.9: True, 0.99: False, 0.999: False}


def test_a_budget_below_the_minimum_says_what_is_needed():
    with pytest.raises(UserError) as caught:
        plan(budget_s=239)
    assert "4 min" in caught.value.expected
    assert "--budget 4m" in caught.value.fix


def test_a_block_that_fits_exactly_is_not_lost_to_rounding():
    assert blocks_within(0.1 * 3, 0.1, 2, "s") == 3
    assert blocks_within(0.3, 0.1, 2, "s") == 3


def test_resolution_is_that_of_the_design():
    """Seven contenders in each of three workloads: 6 × 21 one-sided tests at the first step."""
    for comparison in plan().comparisons:
        assert comparison.resolvable == tuple(
            (sd, resolvable_ratio(6, 126, sd)) for sd in (0.1, 0.6)
        )


def test_percentiles_follow_the_rule_per_trial_and_pooled():
    per_trial, pooled = (
        {
            comparison.key: [p.quantile for p in comparison.percentiles if getattr(p, where)]
            for comparison in plan().comparisons
        }
        for where in ("per_trial", "pooled")
    )
    assert per_trial == {"imu": [0.5, 0.9, 0.99], "camera": [0.5], "pointcloud": [0.5]}
    assert pooled == {"imu": [0.5, 0.9, 0.99], "camera": [0.5, 0.9], "pointcloud": [0.5, 0.9]}


def test_the_document_is_json_and_agrees_with_the_plan():
    made = plan(budget_s=300)
    document = json.loads(json.dumps(made.document(), allow_nan=False))
    assert (document["schema"], document["version"]) == ("rmwbench/plan", 1)
    six = {
        "count": 6,
        "planned": None,
        "minimum": 5,
        "maximum": 6,
        "within_s": None,
        "looks": [6],
        "decide": [],
    }
    assert document["blocks"] == six
    assert len(document["trials"]) == 144
    assert [cell["cell"] for cell in document["cells"]] == list(range(1, 25))
    assert {cell for comparison in document["comparisons"] for cell in comparison["cells"]} == set(
        range(1, 25)
    )
    assert {comparison["contenders"] for comparison in document["comparisons"]} == {7}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(48, "48s"), (48.2, "49s"), (240, "4m"), (241, "5m"), (5400, "1.5h"), (1507660, "418.8h")],
)
def test_a_budget_that_is_suggested_can_be_typed_and_is_enough(seconds, text):
    from rmwbench.cli.options import parse_duration_s

    assert budget_text(seconds) == text
    assert parse_duration_s(text) >= seconds


def test_a_long_time_has_no_exponent_and_one_block_no_plural():
    assert duration_text(5e6) == "1\N{NARROW NO-BREAK SPACE}389 h"
    with pytest.raises(UserError) as error:
        blocks_within(1.0, 3.0, 1, "s")
    assert error.value.expected == "at least 3 s: 1 block of 3 s"


def test_what_a_budget_lacks_never_reads_like_the_budget():
    """At least 10 min, and given were 10 min."""
    with pytest.raises(UserError) as error:
        blocks_within(600.0, 120.08, 5, "s")
    assert (error.value.expected, error.value.actual) == (
        "at least 10.01 min: 5 blocks of 2 min",
        "10 min",
    )
