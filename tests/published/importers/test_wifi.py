"""WiFi: the report's table of both middlewares at three rates."""

import pytest

from tests.published.importers.original import bundle, figures

SOURCE = ("tsc-galactic-2020", "wifi")
# sent/s, received/s, received in all, lost by ids, empty seconds, runs with a stall of at least 5 s
TABLE = {
    ("rmw_cyclonedds_cpp", 80): (79.04, 74.44, 21588, 1446, 15, 1),
    ("rmw_fastrtps_cpp", 80): (79.03, 67.29, 19513, 440, 36, 2),
    ("rmw_cyclonedds_cpp", 100): (98.63, 74.60, 21635, 3293, 50, 3),
    ("rmw_fastrtps_cpp", 100): (99.06, 46.50, 13485, 4802, 136, 8),
    ("rmw_cyclonedds_cpp", 120): (114.60, 26.62, 7721, 8027, 178, 10),
    ("rmw_fastrtps_cpp", 120): (118.88, 14.56, 4222, 933, 231, 10),
}


@pytest.mark.parametrize("cell", TABLE, ids=str)
def test_the_table(cell):
    f = figures(*SOURCE)
    (rmw, rate), (sent, received, total, lost, empty, stalls) = cell, TABLE[cell]
    key = f"{rmw} {rate} Hz", rate
    assert round(f.published("wifi_mean_sent", *key), 2) == sent
    assert round(f.published("wifi_mean_received", *key), 2) == received
    assert f.published("wifi_total_received", *key) == total
    assert f.published("wifi_lost", *key) == lost
    assert f.published("wifi_empty_seconds", *key) == empty
    assert f.corrected("wifi_stalled_runs", *key) == stalls
    assert f.corrected("wifi_total_received", *key) > total, "cut rates count too few"


def test_a_total_stall_hides_in_the_ids():
    """Fast RTPS at 120 Hz: 933 by ids while 30 254 are missing."""
    f = figures(*SOURCE)
    assert f.corrected("wifi_lost", "rmw_fastrtps_cpp 120 Hz", 120) == 30254


def test_a_point_per_second_and_run():
    assert len(figures(*SOURCE).of("wifi_received")) == 6 * 10 * 29


def test_no_latency_is_imported_from_two_clocks():
    from rmwbench.bundle.sql import run

    _, rows = run(
        bundle(*SOURCE), "select count(*), count(value) from windows where metric = 'latency_mean'"
    )
    assert rows == [(60 * 29, 0)]
    assert all(p["as_corrected"] is None for p in figures(*SOURCE).of("wifi_latency"))
