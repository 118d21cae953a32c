"""gscam: the summaries of both runs from their seconds, and the maximum that was a minimum."""

import csv

import pytest

from rmwbench.published.importers.formats.gscam import _FORMULAS, _test
from rmwbench.published.importers.source.data_source import SourceFile
from tests.published.importers.original import figures, path

SOURCE = ("newslab-gscam-stress-2025",)
OCT13, OCT22 = "run_2025-10-13_00-01-58", "run_2025-10-22_14-00-01"
TABLE = {  # config: loss % / latency ms of 13 Oct Cyclone, Zenoh, 22 Oct Cyclone, Zenoh
    "low": ((0.00, 0.708), (0.00, 1.013), (0.00, 0.623), (0.00, 0.786)),
    "medium": ((0.86, 1.603), (0.00, 2.014), (0.00, 1.649), (0.00, 2.565)),
    "high": ((0.70, 3.442), (0.00, 4.225), (0.00, 5.100), (0.00, 4.339)),
    "1080p60": ((0.38, 3.282), (0.00, 3.907), (0.00, 5.012), (0.00, 4.435)),
    "2560x1440_60fps": ((0.19, 5.923), (0.03, 6.996), (0.00, 6.746), (0.03, 8.855)),
    "extreme": ((0.27, 16.886), (0.05, 22.125), (0.00, 13.180), (0.05, 28.272)),
    "3840x2160_45fps": ((0.65, 17.289), (0.04, 22.331), (0.00, 15.806), (1.64, 28.906)),
    "3840x2160_60fps": ((0.83, 18.435), (5.13, 27.099), (0.17, 16.701), (22.62, 27.348)),
}
SERIES = [
    f"{rmw} {run}" for run in (OCT13, OCT22) for rmw in ("rmw_cyclonedds_cpp", "rmw_zenoh_cpp")
]


@pytest.mark.parametrize("config", TABLE)
def test_the_table(config):
    f = figures(*SOURCE)
    for series, (loss, latency) in zip(SERIES, TABLE[config], strict=True):
        assert abs(f.published("gscam_loss", series, config)) == loss
        assert f.published("gscam_latency_mean", series, config) == latency
        assert f.corrected("gscam_loss", series, config) is None


def test_every_cell_of_both_summaries_follows_from_the_seconds():
    for run in (OCT13, OCT22):
        with open(path(*SOURCE, run, "summary.csv")) as file:
            found = list(csv.DictReader(file))
        assert len(found) == 28
        for row in found:
            name = f"{run}/{row['rmw_type']}/{row['config']}_{row['timestamp']}.csv"
            test = _test(SourceFile(name, name, path(*SOURCE, name).read_bytes()))
            assert {column: formula(test) for column, formula in _FORMULAS} == {
                c: row[c] for c, _ in _FORMULAS
            }


@pytest.mark.parametrize(
    ("series", "published", "true"),
    [(SERIES[2], 43.5, 41.3), (SERIES[3], 26.2, 42.4), (SERIES[0], 14.0, 43.3)],
)
def test_the_maximum_was_a_minimum(series, published, true):
    point = figures(*SOURCE)["gscam_latency_max", series, "3840x2160_60fps"]
    assert (round(point["as_published"], 1), round(point["as_corrected"], 1)) == (published, true)


def test_what_start_up_held_back_is_in_no_corrected_value():
    """Cyclone DDS's second second has 70 frames of a camera that makes 60, up to 183 ms late."""
    f = figures(*SOURCE)
    at = SERIES[2], "3840x2160_60fps"
    assert f.corrected("gscam_message_rate", *at) == pytest.approx(60.0, abs=0.01)
    assert f.corrected("gscam_latency_mean", *at) == pytest.approx(14.006, abs=0.001)
    assert f.corrected("gscam_latency_max", *at) == pytest.approx(41.253, abs=0.001)


def test_every_second_is_a_window():
    from rmwbench.bundle.sql import run

    f = figures(*SOURCE)
    _, rows = run(f.bundle, "select count(*) from windows where metric = 'received_rate'")
    assert rows == [(1733 + 1708,)]
