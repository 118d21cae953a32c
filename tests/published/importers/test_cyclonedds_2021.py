"""Cyclone DDS's tables of 2021: the ratios and wins as they stand, and what is behind them."""

from rmwbench.bundle.sql import run
from tests.published.importers.original import figures

SOURCE = ("tsc-humble-2021", "cyclonedds_report_tables")


def test_every_row_is_there():
    assert (
        len(figures(*SOURCE).bundle.trials()) == sum((222, 220, 222, 216, 78, 78, 78, 72)) - 6 * 8
    )
    assert sum(t.status == "failed" for t in figures(*SOURCE).bundle.trials()) == 67


def test_wins_are_those_of_the_spreadsheets_formulas():
    """COUNTIF of winner and winner by default, per table and column."""
    f = figures(*SOURCE)
    assert f.published("cyclone_wins_cpu", "ubuntu-limited (Ubuntu)", "CYCLONE") == 56
    assert f.corrected("cyclone_wins_cpu", "ubuntu-limited (Ubuntu)", "CYCLONE") == 53
    assert f.published("cyclone_wins_cpu", "windows-limited (Windows)", "FAST") == 9
    totals = {
        (p["series"], p["figure"]): 0.0 for p in f.rows if p["figure"].startswith("cyclone_wins")
    }
    for p in f.rows:
        if p["figure"].startswith("cyclone_wins"):
            totals[p["series"], p["figure"]] += p["as_published"]
            assert p["as_corrected"] <= p["as_published"] <= p["count"]
    assert set(totals.values()) == {108, 107, 105, 36, 33}


def test_a_ratio_of_millions_is_not_a_ratio():
    f = figures(*SOURCE)
    x = "Array16k, MultiProcess, 20 Hz, 1 subscribers"
    assert f.published("cyclone_ratio_cpu", "windows-limited", x) == 2692560.0000000005
    assert f.corrected("cyclone_ratio_cpu", "windows-limited", x) is None
    assert f.corrected("cyclone_cpu", "rmw_cyclonedds_cpp on Windows", x) is None
    assert f.published("cyclone_ratio_latency", "ubuntu-limited", x) == 1.3252415576763785


def test_messages_are_restored_from_bytes():
    """475 of 500 at 20 Hz in 25 s."""
    point = figures(*SOURCE)[
        "cyclone_received",
        "rmw_cyclonedds_cpp on Ubuntu",
        "Array16k, MultiProcess, 20 Hz, 1 subscribers",
    ]
    assert point["as_published"] == 475 and abs(point["as_corrected"] - 500) < 0.5


def test_a_megabyte_of_the_tables_is_1000_kib():
    """The first row of Ubuntu: 20.36 stands for 5090 pages of 4 KiB."""
    f = figures(*SOURCE)
    at = ("rmw_cyclonedds_cpp on Ubuntu", "Array16k, MultiProcess, 20 Hz, 1 subscribers")
    assert f.published("cyclone_ram", *at) == 20.36
    assert round(f.corrected("cyclone_ram", *at) * 1e6) == 5090 * 4096
    _, rows = run(f.bundle, "select value from windows where metric = 'peak_rss' and value > 0")
    pages = [value / 4096 for (value,) in rows]
    assert len(pages) == 1071
    assert max(abs(page - round(page)) for page in pages) < 1e-6
    assert 5090 in map(round, pages)


def test_failures_are_no_data():
    f = figures(*SOURCE)
    failed = [p for p in f.of("cyclone_latency_mean") if p["as_corrected"] is None]
    assert len(failed) == 67 and {p["note"] for p in failed} == {"no data: the run failed"}
    assert all(p["as_corrected"] is None for p in f.of("cyclone_ratio_jitter"))
