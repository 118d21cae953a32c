"""The build farm: the reports' tables, and 2021's merged tables from the one-line files they came
from."""

import csv

import pytest

from tests.published.importers.original import figures, path, prints

Y2020 = ("tsc-galactic-2020", "build_farm")
RAW = ("tsc-humble-2021", "build_farm", "raw.tar.gz")
NODE = {  # CPU %: mean, median, p95; median RSS; reported and actual virtual memory
    "rmw_cyclonedds_cpp sync": (0.0300, 0.0163, 0.0937, 10.33, 150.64, 602.6),
    "rmw_fastrtps_cpp async": (0.0519, 0.0314, 0.1538, 17.31, 68.11, 272.4),
    "rmw_fastrtps_cpp sync": (0.0606, 0.0326, 0.1903, 17.27, 52.12, 208.5),
    "rmw_fastrtps_dynamic_cpp async": (0.0319, 0.0232, 0.0807, 17.38, 68.14, 272.6),
    "rmw_fastrtps_dynamic_cpp sync": (0.0511, 0.0313, 0.1500, 16.87, 52.13, 208.5),
    "rmw_connext_cpp async": (0.1566, 0.0763, 0.5854, 32.70, 304.74, 1218.9),
}
CYCLONE, SYNC, ASYNC = "rmw_cyclonedds_cpp sync", "rmw_fastrtps_cpp sync", "rmw_fastrtps_cpp async"
TWO = {  # received/s, latency ms, CPU %, to the printed digits
    ("Array1k", CYCLONE): ("998.6", "0.0363", "1.08"),
    ("Array1k", SYNC): ("998.4", "0.0326", "0.92"),
    ("Array1k", ASYNC): ("998.1", "0.0477", "0.99"),
    ("Array60k", CYCLONE): ("998.6", "0.0754", "1.93"),
    ("PointCloud512k", SYNC): ("989.5", "0.274", "5.49"),
    ("PointCloud512k", ASYNC): ("956.7", "0.300", "5.36"),
    ("Array1m", CYCLONE): ("997.9", "0.811", "17.4"),
    ("Array2m", CYCLONE): ("502.1", "2.05", "28.8"),
    ("Array2m", SYNC): ("929.5", "1.08", "20.1"),
    ("Array2m", ASYNC): ("418.4", "6.82", "16.8"),
    ("Array4m", ASYNC): ("92.1", "13.5", "8.2"),
    ("Array8m", CYCLONE): ("73.4", "10.9", "26.1"),
    ("Array8m", SYNC): ("116.1", "6.46", "19.4"),
    ("PointCloud8m", SYNC): ("136.6", "6.42", "20.3"),
}
FROM = (
    "rmw_connext_cpp async",
    CYCLONE,
    ASYNC,
    SYNC,
    "rmw_fastrtps_dynamic_cpp async",
    "rmw_fastrtps_dynamic_cpp sync",
)
ROUND_TRIP = {
    "rmw_connext_cpp": (0.833, 0.600, 0.584, 0.568, 0.655, 0.602),
    "rmw_cyclonedds_cpp": (0.616, 0.401, 0.419, 0.398, 0.426, 0.381),
    "rmw_fastrtps_cpp": (0.630, 0.437, 0.412, 0.388, 0.436, 0.407),
    "rmw_fastrtps_dynamic_cpp": (0.629, 0.433, 0.424, 0.343, 0.426, 0.391),
}


@pytest.mark.parametrize("arm", NODE)
def test_an_empty_node(arm):
    f = figures(*Y2020)
    mean, median, p95, rss, reported, actual = NODE[arm]
    assert round(f.published("spin_cpu_mean", arm, ""), 4) == mean
    assert prints(f.published("spin_cpu_median", arm, ""), f"{median:.4f}")
    assert round(f.published("spin_cpu_p95", arm, ""), 4) == p95
    assert f.corrected("spin_cpu_p95", arm, "") is None
    assert round(f.published("spin_physical_median", arm, ""), 2) == rss
    assert round(f.published("spin_virtual_median", arm, ""), 2) == reported
    assert round(f.corrected("spin_virtual_median", arm, ""), 1) == actual
    assert round(f.published("spin_cpu_bar_mean", arm, ""), 6) == round(mean, 2) * 100


def test_anonymous_memory_is_all_resident_pages():
    f = figures(*Y2020)
    for arm in NODE:
        assert f.corrected("spin_anonymous_median", arm, "") == pytest.approx(
            f.published("spin_physical_median", arm, ""), rel=1e-4
        )


@pytest.mark.parametrize("cell", TWO, ids=str)
def test_two_processes(cell):
    f = figures(*Y2020)
    (kind, arm), (received, latency, cpu) = cell, TWO[cell]
    for name, text in (("received", received), ("latency_mean", latency), ("cpu_mean", cpu)):
        assert prints(f.published(f"two_process_{name}", arm, kind), text)


def test_received_is_restored_from_bytes():
    """Cutting a rate to a whole number takes half a message per second on average."""
    f = figures(*Y2020)
    for kind in ("Array1k", "Array4k", "Array16k", "Array32k"):
        for arm in (CYCLONE, SYNC, ASYNC):
            point = f["two_process_received", arm, kind]
            assert 0.35 < point["as_corrected"] - point["as_published"] < 0.7


def test_what_no_log_has_is_no_data():
    f = figures(*Y2020)
    for p in f.of("two_process_sent"):
        assert (p["as_published"], p["as_corrected"]) == (0, None) and p["note"].startswith(
            "no data"
        )
    assert all(p["as_corrected"] is None for p in f.of("two_process_latency_p95"))
    assert all(p["as_corrected"] is None for p in f.of("interop_relay_latency_mean"))


@pytest.mark.parametrize("to", ROUND_TRIP)
def test_round_trips(to):
    f = figures(*Y2020)
    assert [round(f.published("interop_latency_mean", arm, to), 3) for arm in FROM] == list(
        ROUND_TRIP[to]
    )


def test_the_top_5_percent_is_21_times_the_mean():
    f = figures(*Y2020)
    factors = [
        p["as_published"] / f.published("interop_latency_mean", p["series"], p["x"])
        for p in f.of("interop_latency_top5")
    ]
    assert len(factors) == 24 and sum(21.3 < x < 21.6 for x in factors) == 19, (
        "the others have fewer than 25 rows"
    )
    assert all(p["as_corrected"] is None for p in f.of("interop_latency_top5"))


def test_interop_rates_and_the_relays_busy_loop():
    f = figures(*Y2020)
    assert round(sum(p["as_published"] for p in f.of("interop_sent")) / 24, 4) == 4.4856
    assert {p["as_published"] for p in f.of("interop_lost")} == {0.0}
    cpu = f.of("interop_relay_cpu_mean")
    assert round(sum(p["as_published"] for p in cpu) / len(cpu), 1) == 24.9
    assert all(p["as_corrected"] is None for p in cpu)


@pytest.mark.parametrize(
    "kind",
    [
        "node_perf",
        "perf_network_results",
        "two_process_perf_network_results",
        "pub_perf",
        "sub_perf",
    ],
)
def test_merged_tables_equal_the_one_line_files(kind):
    """2021: every value of every merged table, exactly, from the 270 raw files."""
    raw, merged = figures(*RAW), figures("tsc-humble-2021", "build_farm", f"{kind}.csv")
    with open(path("tsc-humble-2021", "build_farm", f"{kind}.csv")) as file:
        rows = len(list(csv.DictReader(file)))
    assert len(merged.bundle.trials()) == rows
    assert merged.rows
    for p in merged.rows:
        found = raw[p["figure"], p["series"], p["x"]]
        assert found["as_published"] == pytest.approx(p["as_published"], rel=1e-14, abs=1e-300)
        assert (found["as_corrected"] is None) == (p["as_corrected"] is None)


def test_the_merged_tables_miss_no_raw_file():
    assert len(figures(*RAW).bundle.trials()) == 7 + 108 + 99 + 28 + 28
