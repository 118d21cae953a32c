"""The pictures of a search, from answers made by hand."""

from dataclasses import replace

from rmwbench.report.capacity import capacity_charts
from rmwbench.results.capacity.capacity_model import Searched
from rmwbench.results.model import Estimate
from tests.support.typed import typed


def searched(*capacities):
    """An arm for each (low, value, high)."""
    metrics = {
        "response_latency_p50": {"unit": "ns", "value": 1e5},
        "response_latency_p99": {"unit": "ns", "value": 2e5},
    }
    levels = [{"level": level, "metrics": metrics} for level in (10.0, 100.0)]
    arms = [
        {
            "arm": f"arm {n}",
            "middleware": "synthetic",
            "profile": "untouched",
            "capacity": {
                "state": "bracketed",
                "unit": "hz",
                "low": low,
                "value": value,
                "high": high,
            },
            "levels": levels,
        }
        for n, (low, value, high) in enumerate(capacities)
    ]
    curve = ("response_latency_p50", "response_latency_p99")
    search = {"unit": "hz", "title": "rate", "curve": curve}
    return typed(Searched, {"search": search, "arms": arms})


def test_an_interval_that_is_open_below_or_above_runs_off_the_picture():
    answer = searched((0.0, 50.0, 80.0), (40.0, 60.0, float("inf")))
    for rows in (
        capacity_charts.capacities(answer)["datasets"]["rows"],
        capacity_charts.curve(answer)["datasets"]["parts"],
    ):
        below, above = sorted(rows, key=lambda row: row["arm"])
        assert 0 < below["low"] < 40 and below["high"] == 80
        assert above["low"] == 40 and above["high"] > 80


def test_a_point_of_a_curve_says_its_percentile_and_value():
    points = capacity_charts.curve(searched((40.0, 50.0, 80.0)))["datasets"]["points"]
    assert {row["shown"] for row in points} == {"median 100 µs", "p99 200 µs"}


def lossy(*shares):
    answer = searched((40.0, 50.0, 80.0))
    (arm,) = answer.arms
    levels = tuple(
        replace(
            level,
            metrics=level.metrics
            | {"loss": Estimate(unit="fraction", value=share, count=500, no_data=why)},
        )
        for level, (share, why) in zip(arm.levels, shares, strict=True)
    )
    return replace(answer, arms=(replace(arm, levels=levels),))


def test_where_nothing_was_lost_that_is_said_and_no_data_is_something_else():
    for answer, told in (
        (
            lossy((0.0, None), (0.0, None)),
            "None of the 1\u202f000 messages sent was lost at any level.",
        ),
        (lossy((None, "x"), (None, "x")), "No data."),
        (lossy((0.0, None), (0.1, None)), "Share of the messages sent that were lost."),
    ):
        (picture,) = (one for one in capacity_charts.figures(answer) if one.key == "loss")
        assert picture.reading == told and (picture.spec is None) == ("Share" not in told)


def test_a_latency_of_zero_is_a_point_of_the_curve():
    answer = searched((40.0, 50.0, 80.0))
    zero = {name: replace(one, value=0.0) for name, one in answer.arms[0].levels[0].metrics.items()}
    first, second = answer.arms[0].levels
    answer = replace(
        answer, arms=(replace(answer.arms[0], levels=(replace(first, metrics=zero), second)),)
    )
    points = capacity_charts.curve(answer)["datasets"]["points"]
    assert len(points) == 4 and 0 < min(row["value"] for row in points) < 1e5
