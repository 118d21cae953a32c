"""The pictures of a search, from answers made by hand."""

from rmwbench.report.capacity import capacity_charts
from rmwbench.results.capacity.capacity_model import Searched
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
    found = searched((0.0, 50.0, 80.0), (40.0, 60.0, float("inf")))
    for rows in (
        capacity_charts.capacities(found)["datasets"]["rows"],
        capacity_charts.curve(found)["datasets"]["parts"],
    ):
        below, above = sorted(rows, key=lambda row: row["arm"])
        assert 0 < below["low"] < 40 and below["high"] == 80
        assert above["low"] == 40 and above["high"] > 80


def test_a_point_of_a_curve_says_its_percentile_and_value():
    points = capacity_charts.curve(searched((40.0, 50.0, 80.0)))["datasets"]["points"]
    assert {row["shown"] for row in points} == {"median 100 µs", "p99 200 µs"}
