"""eProsima 2019: decimal commas put back, throughput tables and their maxima."""

import csv

import pytest

from rmwbench.published.importers.source.decimal_commas import restore
from tests.published.importers.original import figures, path

SOURCE = ("eprosima-benchmarking", "dds_vendors_comparisons")
LOCAL = {  # fastrtps on one host: mean, min, p50, p90, p99, p99.99, max
    16: (7.7, 7.04, 7.37, 7.59, 13.82, 27.49, 105.69),
    512: (8.09, 7.21, 7.51, 7.72, 22.76, 42.41, 101.19),
    4096: (9, 7.89, 8.29, 8.77, 23.86, 44.79, 110.32),
    16384: (13.76, 11.21, 11.58, 16.44, 27.38, 48.85, 125.21),
}
STATISTICS = ("mean", "min", "p50", "p90", "p99", "p99.99", "max")


@pytest.mark.parametrize("size", LOCAL)
def test_fast_rtps_on_one_host(size):
    f = figures(*SOURCE)
    assert (
        tuple(f.published(f"eprosima_latency_{s}", "fastrtps localhost", size) for s in STATISTICS)
        == LOCAL[size]
    )


def test_opensplice_in_halves_of_a_microsecond():
    """`27,26,5` is 27 and 26.5: every other row of the file has one decimal, so 27.26 and 5 is not
    a reading."""
    f = figures(*SOURCE)
    found = [
        tuple(
            f.published(f"eprosima_latency_{s}", "opensplice localhost", n) for s in ("mean", "min")
        )
        for n in (16, 32, 128)
    ]
    assert found == [(27.5, 26.5), (27, 26.5), (27.5, 26)]


def test_whole_numbers_and_points_are_as_they_stand():
    f = figures(*SOURCE)
    assert f.published("eprosima_latency_mean", "cyclonedds localhost", 16384) == 34
    assert f.published("eprosima_latency_p99.99", "cyclonedds intraprocess", 16) == 34.880
    assert f.published("eprosima_latency_max", "fastrtps dualhost", 16384) == 278.5


def test_all_rows_have_one_reading():
    assert not [
        p
        for p in figures(*SOURCE).rows
        if p["figure"].startswith("eprosima_latency") and p["as_published"] is None
    ]


@pytest.mark.parametrize("hosts", ["localhost", "dualhost"])
@pytest.mark.parametrize("vendor", ["fastrtps", "cyclonedds", "opensplice"])
def test_maxima_are_the_best_of_the_grid(hosts, vendor):
    f = figures(*SOURCE)
    (file,) = path(*SOURCE, "throughput", hosts, vendor).glob("results_max_*")
    with open(file) as opened:
        rows = list(csv.DictReader(opened))
    assert len(rows) == (11 if hosts == "localhost" else 13)
    for row in rows:
        point = f["eprosima_throughput_max", f"{vendor} {hosts}", row["Payload [Bytes]"]]
        assert point["as_published"] == float(row["Subscription throughput [Mbits/s]"])
        assert point["as_corrected"] == pytest.approx(point["as_published"], rel=0.02)


def test_the_grids_are_whole():
    points = figures(*SOURCE).of("eprosima_throughput")
    assert len(points) == 3 * (1089 + 1287)


def ordered(values):
    return values[1] <= values[0]


def test_a_row_with_two_readings_has_none():
    """Mean and minimum of `27,26,5`: 27 and 26.5, or 27.26 and 5. Without other rows nothing
    decides."""
    assert restore([["27", "26", "5"]], 2, ordered) == [None]
    assert restore([["27", "26", "5"], ["30", "5", "20", "5"]], 2, ordered) == [
        (27.0, 26.5),
        (30.5, 20.5),
    ]


def test_a_row_that_no_reading_fits_has_none():
    assert restore([["10", "20"]], 2, ordered) == [None]
