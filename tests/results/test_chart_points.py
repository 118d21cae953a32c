"""What the charts of a workload draw of its trials."""

import numpy as np
import pytest

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.latency import Messages
from rmwbench.results.workload.chart_points import RESPONSE, series

DRAWN = (np.array([0.0]), np.array([1e6]))
INF = float("inf")


@pytest.mark.parametrize(
    ("metric_by_trial", "drawn"),
    [
        ({1: 5.0, 2: 7.0, 3: 6.0}, 3),
        ({3: 5.0}, 3),
        ({2: 6.0, 3: 5.0}, 3),
        ({1: INF, 2: INF, 3: 5.0}, 1),
        ({}, 2),
    ],
)
def test_the_trial_drawn_is_the_middle_one_of_those_that_have_the_metric(metric_by_trial, drawn):
    trials = [MeasuredTrial(number, 0, Messages(series=DRAWN), 1) for number in (1, 2, 3)]
    assert series("arm", trials, metric_by_trial, RESPONSE).trial == drawn
