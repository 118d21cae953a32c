"""Every imported original gives the values that its source prints, and their corrections.

`published_values.csv` has single points, which were compared with the sources' own tables;
`published_totals.csv` has for every figure the number of its points and their sums.
"""

import csv
import math
from pathlib import Path

import pytest

from rmwbench.bundle.schema import TABLES
from rmwbench.bundle.sql import ask
from rmwbench.published.importers.data_source import SourceFile
from rmwbench.published.importers.formats.eprosima_2019 import restore
from rmwbench.published.importers.formats.gscam import _FORMULAS, _test
from tests.published.importers.original import bundle, figures, path
from tests.published.importers.test_malformed import encoded, read

MININET = ("tsc-galactic-2020", "mininet_experiments")
HUMBLE = ("tsc-humble-2021", "build_farm")
GSCAM = "newslab-gscam-stress-2025"
SURVEY = ("tsc-galactic-2020", "user_survey")


def table(name: str) -> list[dict[str, str]]:
    with open(Path(__file__).with_name(name), newline="") as file:
        return list(csv.DictReader(file))


POINTS, TOTALS = table("published_values.csv"), table("published_totals.csv")
SOURCES = sorted({row["source"] for row in TOTALS})


def number(text: str) -> object:
    return pytest.approx(float(text), rel=1e-7, abs=1e-9) if text else None


@pytest.mark.parametrize("source", SOURCES)
def test_points_are_as_published_and_as_corrected(source):
    points = figures(*source.split("/"))
    for row in (row for row in POINTS if row["source"] == source):
        point = points[row["figure"], row["series"], row["x"]]
        wanted = (number(row["published"]), number(row["corrected"]))
        assert (point["as_published"], point["as_corrected"]) == wanted, row


@pytest.mark.parametrize("source", SOURCES)
def test_figures_have_all_their_points(source):
    of_source = figures(*source.split("/"))
    totals = [row for row in TOTALS if row["source"] == source]
    assert {row["figure"] for row in totals} == {row["figure"] for row in of_source.rows}
    for row in totals:
        points = of_source.of(row["figure"])
        assert len(points) == int(row["points"]), row
        for kind in ("published", "corrected"):
            values = [p[f"as_{kind}"] for p in points if p[f"as_{kind}"] is not None]
            assert len(values) == int(row[kind]), row
            assert math.fsum(values) == number(row[f"{kind}_sum"]), row
        assert all(p["note"] for p in points if p["as_corrected"] is None), row


def test_a_tie_is_no_win():
    """In three tests of macOS both kept 20.656 MB, and the table counts them for Fast DDS."""
    points = figures("tsc-humble-2021", "cyclonedds_report_tables").of("cyclone_ratio_ram")
    ties = [point for point in points if point["as_corrected"] == 1]
    assert len(ties) == 3
    assert {point["note"] for point in ties} == {"a tie; winner as published: FAST"}


def test_the_summary_table_run_by_run_from_the_raw_logs():
    """For 900 runs, the formulas give here the values of the original's own table, to the last
    digit except for rounding."""
    from_logs = figures(*MININET, "2020-10-23_10-47-36.tar.gz")
    with open(path(*MININET, "MininetResults.csv")) as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 900
    for row in rows:
        for figure, column in (
            ("mininet_run_latency", "sub_effective_latency"),
            ("mininet_run_loss", "lost_prct"),
        ):
            value = from_logs.published(figure, row["experiment"], row["run"])
            assert value == pytest.approx(float(row[column]), rel=1e-12, abs=1e-12)


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
    raw, merged = figures(*HUMBLE, "raw.tar.gz"), figures(*HUMBLE, f"{kind}.csv")
    assert merged.rows
    for one in merged.rows:
        other = raw[one["figure"], one["series"], one["x"]]
        assert other["as_published"] == pytest.approx(one["as_published"], rel=1e-14, abs=1e-300)
        assert (other["as_corrected"] is None) == (one["as_corrected"] is None)


@pytest.mark.parametrize("ran", ["run_2025-10-13_00-01-58", "run_2025-10-22_14-00-01"])
def test_every_cell_of_the_camera_summaries_follows_from_the_seconds(ran):
    with open(path(GSCAM, ran, "summary.csv")) as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 28
    for row in rows:
        name = f"{ran}/{row['rmw_type']}/{row['config']}_{row['timestamp']}.csv"
        seconds = _test(SourceFile(name, name, path(GSCAM, name).read_bytes()))
        made = {column: formula(seconds) for column, formula in _FORMULAS}
        assert made == {column: row[column] for column, _ in _FORMULAS}


def test_nothing_that_a_single_person_wrote_reaches_the_bundle():
    imported = bundle(*SURVEY)
    assert [name for name in TABLES if imported.paths(name)] == ["figures"]
    assert not list((imported.directory / "files").iterdir())
    for row in imported.rows("figures"):
        if row["figure"] in ("survey_application", "survey_domain") and row["x"] != "other":
            assert row["as_published"] > 1
        assert len(row["x"]) < 100


def test_no_latency_is_imported_from_two_clocks():
    rows = ask(
        bundle("tsc-galactic-2020", "wifi"),
        "select count(*), count(value) from windows where metric = 'latency_mean'",
    ).rows
    assert rows == [(60 * 29, 0)]


@pytest.mark.parametrize(
    ("rows", "restored"),
    [
        ([["27", "26", "5"]], [None]),
        ([["27", "26", "5"], ["30", "5", "20", "5"]], [(27.0, 26.5), (30.5, 20.5)]),
        ([["10", "20"]], [None]),
    ],
)
def test_decimal_commas_are_restored_where_one_reading_fits(rows, restored):
    assert restore(rows, 2, lambda values: values[1] <= values[0]) == restored


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (
            "16,100,0,0,218760.80,28.00\n16,200,0,0,227900.20,29.20\n",
            "best without loss of 2 settings",
        ),
        (
            "16,100,0,3,218760.80,28.00\n16,200,0,1,227900.20,29.20\n",
            "no setting of this size was without loss",
        ),
        ("32,200,0,0,227900.20,29.20\n", "the grid has no setting of this size"),
        (None, "the grid is not here"),
    ],
)
def test_a_maximum_says_of_which_settings_it_is(rows, reason):
    place = "throughput/localhost/cyclonedds"
    _, files = encoded("eprosima-2019")
    header, *_ = files[f"{place}/results_all_x"].decode().splitlines(keepends=True)
    grid = rows and f"{header}{rows}32,100,0,0,1000,0.3\n"
    files = {
        f"{place}/results_max_x": f"{header}16,200,0,0,227900.20,29.20\n".encode(),
        **({f"{place}/results_all_x": grid.encode()} if grid else {}),
    }
    (point,) = (
        p for p in read("eprosima-2019", files).figures if p["figure"] == "eprosima_throughput_max"
    )
    assert reason in point["note"]
    assert (point["as_corrected"] is None) == point["note"].startswith("no data")
