"""Mininet: the published numbers from the raw logs, the summary table and the errors between
them."""

import csv

import pytest

from rmwbench.bundle.sql import run
from tests.published.importers.original import bundle, figures, path, printed

RAW = ("tsc-galactic-2020", "mininet_experiments", "2020-10-23_10-47-36.tar.gz")
SUMMARY = ("tsc-galactic-2020", "mininet_experiments", "MininetResults.csv")
ARMS = ("rmw_cyclonedds_cpp sync", "rmw_fastrtps_cpp async", "rmw_fastrtps_cpp sync")

LOSS = {  # type, Mb/s, label: published loss % of the three arms, digits
    ("Array1k", 54, 0): ((0.82, 0.59, 0.82), 2),
    ("Array1k", 54, 10): ((4.30, 16.27, 12.68), 2),
    ("Array1k", 54, 20): ((33.4, 62.2, 62.9), 1),
    ("Array1k", 54, 30): ((93.2, 100, 96.2), 1),
    ("Array1k", 54, 40): ((98.9, 100, 100), 1),
    ("Array1k", 300, 0): ((0.71, 0.62, 0.76), 2),
    ("Array1k", 300, 10): ((2.36, 21.0, 16.9), 1),
    ("Array1k", 300, 20): ((29.0, 60.0, 61.3), 1),
    ("Array1k", 300, 30): ((91.1, 96.9, 96.3), 1),
    ("Array1k", 1000, 10): ((3.71, 14.9, 12.6), 1),
    ("Array1k", 1000, 20): ((33.6, 65.1, 68.9), 1),
    ("Array1k", 1000, 30): ((86.8, 98.7, 89.7), 1),
    ("Array1k", 1000, 40): ((100, 100, 100), 1),
    ("PointCloud512k", 54, 0): ((0.61, 57.8, 1.31), 1),
    ("PointCloud512k", 54, 10): ((99.5, 100, 100), 1),
    ("PointCloud512k", 300, 0): ((0.64, 1.30, 0.80), 1),
    ("PointCloud512k", 1000, 0): ((0.59, 0.92, 1.05), 1),
}
LATENCY = {  # published (zero-filled), of delivering runs by their rates only, how many those are
    ("Array1k", 54, 0): ((0.50, 0.64, 0.54), (0.50, 0.64, 0.54), (10, 10, 10), 2),
    ("Array1k", 54, 10): ((29.4, 136.5, 51.3), (29.4, 136.5, 51.3), (10, 10, 10), 1),
    ("Array1k", 54, 20): ((112.8, 140.1, 121.5), (112.8, 175.2, 151.8), (10, 8, 8), 1),
    ("Array1k", 54, 30): ((152.9, 0, 40.3), (254.8, None, 201.7), (6, 0, 2), 1),
    ("Array1k", 54, 40): ((67.0, 0, 0), (335.1, None, None), (2, 0, 0), 1),
    ("Array1k", 300, 20): ((109.9, 130.3, 96.2), (109.9, 186.2, 137.5), (10, 7, 7), 1),
    ("Array1k", 300, 30): ((118.0, 45.6, 51.1), (294.9, 227.9, 255.6), (4, 2, 2), 1),
    ("Array1k", 1000, 20): ((108.6, 126.4, 114.4), (108.6, 180.5, 163.4), (10, 7, 7), 1),
    ("Array1k", 1000, 30): ((133.9, 46.0, 116.4), (223.1, 230.2, 291.1), (6, 2, 4), 1),
    ("Array1k", 1000, 40): ((0, 0, 0), (None, None, None), (0, 0, 0), 1),
    ("PointCloud512k", 54, 0): ((99.2, 445.5, 110.3), (99.2, 445.5, 110.3), (10, 10, 10), 1),
    ("PointCloud512k", 300, 0): ((15.8, 15.7, 15.4), (15.8, 15.7, 15.4), (10, 10, 10), 1),
    ("PointCloud512k", 1000, 0): ((5.68, 5.95, 5.80), (5.68, 5.95, 5.80), (10, 10, 10), 2),
}
WITH_SINGLE = {  # corrected by the bytes, where a second had one message and so a rate of 0
    ("Array1k", 54, 10): (29.4, 136.5, 51.1),
    ("Array1k", 54, 20): (112.8, 172.9, 151.8),
    ("Array1k", 300, 20): (109.9, 183.9, 136.0),
    ("Array1k", 300, 30): (294.9, 233.4, 255.6),
    ("Array1k", 1000, 20): (108.6, 178.7, 163.4),
    ("Array1k", 1000, 30): (223.1, 230.2, 288.9),
}
FROM_FIRST = {  # loss % from the first reception, median second of it
    (54, 10): ((0.2, 10.2, 3.7), (1, 1.5, 1.5)),
    (54, 20): ((10.1, 25.0, 18.3), (2.5, 6.5, 7)),
    (300, 20): ((8.8, 21.2, 15.0), (3, 4, 6)),
    (1000, 20): ((8.9, 27.8, 16.4), (4, 4, 8)),
}


def series(arm: str, kind: str, bandwidth: int) -> str:
    return f"{arm}, {kind}, {bandwidth} Mb/s"


@pytest.mark.parametrize("source", [RAW, SUMMARY], ids=["raw", "summary"])
@pytest.mark.parametrize("cell", LOSS, ids=str)
def test_the_published_loss(source, cell):
    (kind, bandwidth, label), (wanted, digits) = cell, LOSS[cell]
    f = figures(*source)
    found = [
        printed(f.published("mininet_loss", series(arm, kind, bandwidth), label), digits)
        for arm in ARMS
    ]
    assert found == [round(w, digits) for w in wanted]


@pytest.mark.parametrize("source", [RAW, SUMMARY], ids=["raw", "summary"])
@pytest.mark.parametrize("cell", LATENCY, ids=str)
def test_the_published_latency_and_that_of_runs_that_delivered(source, cell):
    (kind, bandwidth, label), (shown, right, runs, digits) = cell, LATENCY[cell]
    f = figures(*source)
    points = [f["mininet_latency", series(arm, kind, bandwidth), label] for arm in ARMS]
    assert [round(p["as_published"], digits) for p in points] == list(shown)
    if source == RAW:
        right = WITH_SINGLE.get(cell, right)
    assert [printed(p["as_corrected"], digits) for p in points] == list(right)
    assert [p["count"] for p in points] == list(runs)
    assert all(p["note"].startswith("no data") for p in points if p["as_corrected"] is None)


@pytest.mark.parametrize("cell", FROM_FIRST, ids=str)
def test_loss_from_the_first_reception_on(cell):
    (bandwidth, label), (loss, first) = cell, FROM_FIRST[cell]
    f = figures(*RAW)
    arms = [series(arm, "Array1k", bandwidth) for arm in ARMS]
    assert [round(f.corrected("mininet_loss", s, label), 1) for s in arms] == list(loss)
    assert [f.corrected("mininet_first_reception", s, label) for s in arms] == list(first)


def test_cells_without_loss_lose_nothing_and_no_loss_is_negative():
    """15 cells at 0 % over links that carry them: 0.0 to 0.3 %, where the cut rates left 0.3 to 1.0
    %; the two cells of blocked publishers were below 0.
    """
    f = figures(*RAW)
    blocked = series(ARMS[1], "PointCloud512k", 54)
    clean = [p for p in f.of("mininet_loss") if p["x"] == "0" and p["series"] != blocked]
    assert len(clean) == 17 and all(0 <= p["as_corrected"] < 0.3 for p in clean)
    assert all(p["as_corrected"] >= 0 for name in ("mininet_run_loss", "mininet_loss_min") for p in f.of(name)
               if p["as_corrected"] is not None)  # fmt: skip
    known = [p for p in f.of("mininet_loss") if p["as_corrected"] is not None]
    for p in known:
        least, most = (
            f.corrected(f"mininet_loss_at_{end}", p["series"], p["x"]) for end in ("least", "most")
        )
        assert least <= p["as_corrected"] <= most and most - least < 1.6
        assert f"{least:.2f} to {most:.2f} %" in p["note"]


def test_a_correction_raises_only_the_loss_of_runs_that_stopped():
    """Published loss holds discovery: it is higher, but where the only messages came at first and
    none thereafter."""
    f = figures(*RAW)
    raised = [
        p for p in f.of("mininet_run_loss") if (p["as_corrected"] or 0) > p["as_published"] + 1e-9
    ]
    assert len(raised) == 12 and all(
        "PointCloud512k" in p["series"] and p["as_published"] > 98.9 for p in raised
    )


def test_the_summary_table_run_by_run_from_the_raw_logs():
    """900 runs: the original's own table against what its formulas give here, to the last digit but
    rounding."""
    f, runs, single = figures(*RAW), 0, 0
    with open(path(*SUMMARY)) as file:
        for row in csv.DictReader(file):
            runs += 1
            latency = f["mininet_run_latency", row["experiment"], row["run"]]
            assert latency["as_published"] == pytest.approx(
                float(row["sub_effective_latency"]), rel=1e-12
            )
            loss = f.published("mininet_run_loss", row["experiment"], row["run"])
            assert loss == pytest.approx(float(row["lost_prct"]), rel=1e-12, abs=1e-12)
            received = float(row["sub_sum_recv"]) > 0
            single += latency["as_corrected"] is not None and not received
            assert latency["as_corrected"] is not None or not received
    assert (runs, single) == (900, 10), "ten runs received single messages and no more"


def test_both_sources_publish_the_same():
    raw, summary = figures(*RAW), figures(*SUMMARY)
    for name in (
        "mininet_loss",
        "mininet_latency",
        "mininet_latency_max",
        "mininet_sent",
        "mininet_received",
    ):
        for point in summary.of(name):
            found = raw.published(name, point["series"], point["x"])
            assert found == pytest.approx(point["as_published"], rel=1e-9, abs=1e-9)


def test_counts_are_restored():
    """437 sent where 450 were; 433.6 received where 450.1 were, over all unblocked runs without
    loss."""
    f = figures(*RAW)
    good = [
        (arm, kind, b)
        for arm in ARMS
        for kind, bs in (("Array1k", (54, 300, 1000)), ("PointCloud512k", (300, 1000)))
        for b in bs
    ]
    sent = [f["mininet_sent", series(*cell), 0] for cell in good]
    assert {round(p["as_published"]) for p in sent} == {437}
    assert all(449.5 <= p["as_corrected"] <= 452.5 for p in sent)
    received = [f["mininet_received", series(*cell), 0] for cell in good]
    assert round(sum(p["as_published"] for p in received) / len(received), 1) == 433.6
    assert round(sum(p["as_corrected"] for p in received) / len(received), 1) == 450.1


def test_blocked_publishers():
    f = figures(*RAW)
    cells = [series(arm, "PointCloud512k", 54) for arm in ARMS]
    assert [round(f.published("mininet_sent", c, 0), 1) for c in cells] == [164.0, 419.6, 175.3]
    assert [round(f.published("mininet_received", c, 0), 1) for c in cells] == [163.0, 176.8, 173.0]


def test_twenty_one_seconds_with_a_delivery_were_printed_as_none():
    _, rows = run(
        bundle(*RAW),
        "select count(*) from windows r join windows d using (trial, endpoint, end_ns) "
        "where r.metric = 'received_rate_cut' and r.value = 0 and d.metric = 'data_received' and "
        "d.value > 0",
    )
    assert rows == [(21,)]


def test_the_async_bars_are_rows_of_fast_rtps_sync():
    """The 0.72 % at 54 Mb/s, 10 %, Array1k is Fast RTPS sync at 1000 Mb/s, 0 %, 512k."""
    f = figures(*SUMMARY)
    point = f["mininet_cpu publisher", series(ARMS[1], "Array1k", 54), 10]
    source = f["mininet_cpu publisher", series(ARMS[2], "PointCloud512k", 1000), 0]
    assert round(point["as_published"], 2) == 0.72
    assert point["as_published"] == source["as_published"] == source["as_corrected"]
    assert "PointCloud512k, 1000 Mb/s, 0 %" in point["note"]
    assert point["as_corrected"] != point["as_published"]


def test_the_links_loss_is_applied_twice():
    points = figures(*RAW).of("mininet_link_loss")
    assert [(p["as_published"], round(p["as_corrected"])) for p in points] == [
        (0, 0),
        (10, 19),
        (20, 36),
        (30, 51),
        (40, 64),
    ]


def test_poor_conditions_and_who_was_fastest_in_them():
    f = figures(*RAW)
    selected = f.of("mininet_selected")
    assert sum(p["as_published"] for p in selected) == 25 and len(selected) == 30
    by_bandwidth = {
        b: sum(p["as_published"] for p in selected if p["series"].endswith(f" {b} Mb/s"))
        for b in (54, 300, 1000)
    }
    assert by_bandwidth == {54: 9, 300: 8, 1000: 8}
    fastest = f["mininet_cyclone_fastest", "Cyclone sync", "degraded for all"]
    assert (fastest["as_published"], fastest["as_corrected"], fastest["count"]) == (0.6, 0.8, 10)


def test_runs_that_received_nothing():
    f = figures(*RAW)
    empty = {arm: 0 for arm in ARMS}
    for p in f.of("mininet_delivering_runs"):
        empty[p["series"].partition(",")[0]] += p["count"] - int(p["as_corrected"])
    assert [empty[arm] for arm in ARMS] == [138, 184, 180]


def test_where_something_came_there_are_runs_that_delivered_and_a_latency():
    f = figures(*RAW)
    for p in f.of("mininet_received"):
        at, came = (p["series"], p["x"]), p["as_corrected"] > 0
        assert (f.corrected("mininet_delivering_runs", *at) > 0) == came, at
        assert (f.corrected("mininet_latency", *at) is not None) == came, at
    for p in f.of("mininet_second_received"):
        at, came = (p["series"], p["x"]), p["as_corrected"] > 0
        for name in ("latency", "latency_variance"):
            assert (f.corrected(f"mininet_second_{name}", *at) is not None) == came, at


def test_a_single_message_in_a_second_has_its_latency():
    """Cyclone DDS, 512 kB at 1000 Mb/s and 10 %: four runs received one message each."""
    f = figures(*RAW)
    cell = series(ARMS[0], "PointCloud512k", 1000)
    point = f["mininet_latency", cell, 10]
    assert (point["as_published"], point["count"]) == (0.0, 4)
    assert point["as_corrected"] == pytest.approx(254.3)
    assert point["note"] == "published with 0 ms for 10 of 10 runs"
    second = f["mininet_second_latency", f"{cell}, 10 %", 1]
    assert (second["as_published"], second["count"]) == (None, 3)
    assert second["as_corrected"] == pytest.approx((239.5 + 180.6 + 282) / 3)


def test_resources():
    f = figures(*RAW)
    cyclone, fast = (
        [
            f.corrected("mininet_rss publisher", series(arm, "Array1k", b), 0)
            for b in (54, 300, 1000)
        ]
        for arm in (ARMS[0], ARMS[2])
    )
    assert all(18.5 < x < 20.5 for x in cyclone) and all(27 < x < 29.5 for x in fast)
    assert max(p["as_corrected"] for p in f.of("mininet_cpu publisher")) < 1.5


def lines(f, name, arm, kind, bandwidth, loss):
    """The fifteen seconds of a line of the appendix as published."""
    return [
        f.published(f"mininet_second_{name}", f"{series(arm, kind, bandwidth)}, {loss} %", s)
        for s in range(1, 16)
    ]


def test_the_lines_of_the_appendix_have_the_means_of_their_legends():
    """Printed in the legends of its pictures: the mean over the fifteen seconds."""
    f = figures(*RAW)
    shown = {
        name: lines(f, name, ARMS[0], "Array1k", 54, 10)
        for name in ("sent", "received", "latency", "publisher_rss")
    }
    assert printed(sum(shown["sent"]) / 15, 1) == 29.1
    assert printed(sum(shown["received"]) / 15, 1) == 27.9
    assert printed(sum(shown["publisher_rss"]) / 15, 0) == 19582
    missing = [second for second, x in enumerate(shown["latency"], start=1) if x is None]
    assert missing == [1, 2, 9], (
        "the picture's line has the twelve seconds in which all ten runs got something"
    )
    large = lines(f, "latency", ARMS[0], "PointCloud512k", 54, 0)
    assert printed(sum(large) / 15, 1) == 99.2
    corrected = f.corrected("mininet_second_latency", f"{series(ARMS[0], 'Array1k', 54)}, 10 %", 2)
    assert corrected is not None, "nine runs had messages by then"


def test_seconds_are_restored_from_bytes():
    f = figures(*RAW)
    name = f"{series(ARMS[0], 'Array1k', 54)}, 0 %"
    second = f["mininet_second_received", name, 8]
    assert 29 <= second["as_published"] < 30
    assert second["as_corrected"] == pytest.approx(30, abs=0.6)
    assert f.published("mininet_second_sent", name, 8) == 29
    assert f.corrected("mininet_second_sent", name, 8) == pytest.approx(30, abs=0.1)
