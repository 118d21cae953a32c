"""The formulas written here against the worker's own draws: two programs, one law."""

import json
import math
import subprocess

import numpy as np
import pytest

from rmwbench.campaign.calibrate import grid, synthetic_campaign
from tests.lab import tools

COUNT = 40_000
LAWS = [
    "constant ns=2000000",
    "uniform min_ns=1000000 max_ns=3000000",
    "normal mean_ns=4000000 sd_ns=1000000",
    "lognormal median_ns=2000000 sigma=0.5",
    "exponential offset_ns=500000 mean_ns=2000000",
    "pareto min_ns=1000000 alpha=1.5",
    "bimodal fast_ns=1000000 slow_ns=6000000 slow_p=0.25",
]


def truth(options, nonce="1"):
    settings = json.dumps(
        {key: synthetic_campaign.setting_value(value) for key, value in options.items()}
    )
    command = [tools.worker("synthetic").executable, "--truth", settings, "1", str(COUNT), nonce]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.long
@pytest.mark.parametrize("text", LAWS)
def test_draws_tend_to_the_law(text):
    drawn = np.array([fate["latency_ns"] for fate in truth({"latency": text})])
    for q in (0.5, 0.9):
        assert np.quantile(drawn, q, method="inverted_cdf") == pytest.approx(
            synthetic_campaign.quantile_ns(synthetic_campaign.setting_value(text), q), rel=0.03
        )


@pytest.mark.parametrize("quick", [True, False])
def test_every_law_of_the_grid_has_its_formula_and_every_arm_its_workload(quick):
    workloads = grid.truths(quick=quick)
    names = [arm.name for workload in workloads for arm in workload.arms]
    assert len(names) == len(set(names))
    for arm in (*workloads[0].arms, *workloads[1].arms):
        named = {"latency", "loss"} & arm.options.keys()
        of = {name: synthetic_campaign.setting_value(arm.options[name]) for name in named}
        if "latency" in of:
            assert math.isfinite(synthetic_campaign.quantile_ns(of["latency"], 0.9))
        if "loss" in of:
            assert 0 < synthetic_campaign.loss_rate(of["loss"]) < 1


def test_an_unknown_law_has_no_formula():
    with pytest.raises(ValueError, match="gamma"):
        synthetic_campaign.quantile_ns({"kind": "gamma"}, 0.5)
    with pytest.raises(ValueError, match="tidal"):
        synthetic_campaign.loss_rate({"kind": "tidal"})
