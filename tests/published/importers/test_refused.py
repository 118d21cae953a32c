"""Impossible measurements are refused: a table of malformed data, and what the one error must
say."""

import pytest

from rmwbench.errors import UserError
from tests.published.importers.samples import SAMPLES
from tests.published.importers.test_malformed import encoded, read

MININET, WIFI, SUMMARY = "tsc-2020-mininet", "tsc-2020-wifi", "tsc-2020-mininet summary"
SUB = "x/cell/run01/sub_log"
GSCAM = "run/zenoh/low_2025-10-22_14-01-17.csv"
LATENCY_ALL = "fastrtps/mont/latency_all.txt"
GRID = "throughput/localhost/cyclonedds/results_all_x"
INTRA = "latency/intraprocess/cyclonedds/summary.csv"

# sample, file, old, new (the first place), what the error must say
EDITS = [
    # configuration against log
    (MININET, SUB, "mentation: rmw_cyclonedds_cpp", "mentation: rmw_fastrtps_cpp", ("sub_log", "RMW Implementation")),
    (MININET, SUB, "Topic name: Array1k", "Topic name: Array4k", ("sub_log", "Topic name", "Array1k")),
    (MININET, SUB, "Publishing rate: 30", "Publishing rate: 60", ("sub_log", "Publishing rate", "30")),
    (MININET, SUB, "Version: 4807992", "Version: 2.3.0", ("sub_log", "Performance Test Version", "4807992")),
    (MININET, SUB, "RELIABLE", "BEST_EFFORT", ("sub_log", "QOS", "best_effort")),
    (WIFI, "c-s-80-1.txt", "Version: 4807992", "Version: 2.3.0", ("c-s-80-1", "Performance Test Version")),
    (WIFI, "c-s-80-1.txt", "RELIABLE", "BEST_EFFORT", ("c-s-80-1", "QOS")),
    # values that no measurement has
    (MININET, SUB, ",\t\t30,\t\t0,", ",\t\t1e308,\t\t0,", ("sub_log:14", "received", "1e+308")),
    (MININET, SUB, "0.5,\t\t0.5,\t\t0.5", "-0.5,\t\t0.5,\t\t0.5", ("sub_log:14", "latency_min", "-0.5")),
    (MININET, SUB, "0.5,\t\t0.5,\t\t0.5", "0.5,\t\tnan,\t\t0.5", ("sub_log:14", "latency_max", "no value", "nan")),
    (MININET, SUB, "0.5,\t\t0.5,\t\t0.5", "0.5,\t\t0.5,\t\tinf", ("sub_log:14", "latency_mean", "no value", "inf")),
    (MININET, SUB, "0.5,\t\t0.5,\t\t0.5", "0.6,\t\t0.5,\t\t0.5", ("sub_log:14", "latency_min", "above")),
    (MININET, SUB, "0.1655", "4000", ("sub_log:14", "cpu_usage", "0 to 100")),
    (MININET, SUB, "0.1655", "-1", ("sub_log:14", "cpu_usage", "0 to 100")),
    (MININET, SUB, "31200,", "31200000,", ("sub_log", "more was received than sent")),
    (MININET, "x/cell/run01/experiment_config.json", '"loss": 10', '"loss": 250', ("config.json", "loss", "0 to 100")),
    (MININET, "x/cell/run01/experiment_config.json", '"delay": 0', '"delay": -5', ("config.json", "delay")),
    (WIFI, "c-s-80-1.txt", "31200,", "31200000,", ("c-s-80-1", "more was received than sent")),
    (WIFI, "c-s-80-1.txt", "0.1655", "101", ("c-s-80-1.txt:15", "cpu_usage")),
    ("perf-test", "a.txt", "0.1655", "4000", ("a.txt:14", "cpu_usage")),
    ("perf-test", "a.txt", "0.5,\t\t0.5,\t\t0.5", "0.5,\t\t0.5,\t\tnan", ("a.txt:14", "latency_mean", "no value")),
    ("perf-test", "c.json", '"cpu_info_cpu_usage": '
                            '0.1655', '"cpu_info_cpu_usage": 400', ("c.json", "cpu_usage")),
    (SUMMARY, "MininetResults.csv", ",10,0,30,", ",250,0,30,", ("Results.csv:2", "'loss'", "0 to 100")),
    ("tsc-2020-build-farm", "node_perf.csv", "3.5,", "400,", ("node_perf.csv:2", "cpu_usage", "0 to 100")),
    ("tsc-2020-build-farm", "perf.csv", "0.5,", "-0.5,", ("perf.csv:2", "latency", "impossible")),
    ("tsc-2021-build-farm raw", "raw/overhead_node_test_results_rmw_connextdds_sync.csv", "3.5,", "400,", ("2", "cpu")),
    ("cyclonedds-2021", "ubuntu-limited.csv", ",0.06,0.4,", ",0.5,0.4,", ("limited.csv:2", "latency_min", "above")),
    ("cyclonedds-2021", "ubuntu-limited.csv", "8198958", "-8198958", ("limited.csv:2", "data received")),
    ("cyclonedds-2021", "ubuntu-limited.csv", "CYCLONE BYDEF", "FAST BYDEF", ("limited.csv:4", "CPU WIN")),
    ("cyclonedds-2021", "ubuntu-limited.csv", "0.4,0.1,1e-07,", "0.4,0.1,2e-07,", ("limited.csv:2", "JITTER_MEAN WIN")),
    ("gscam", GSCAM, ",0.7,0.5,1.5", ",0.7,0.9,1.5", ("01-17.csv:2", "latency_min_ms", "above", "latency_avg_ms")),
    ("gscam", GSCAM, ",0.7,0.5,1.5", ",0.7,-0.5,1.5", ("01-17.csv:2", "latency_min_ms", "impossible")),
    ("gscam", GSCAM, "14,6.666", "14,250.666", ("01-17.csv:2", "frame_loss_pct", "250")),
    ("gscam", "run/summary.csv", ",0.0,6.67,", ",7.0,6.67,", ("summary.csv:2", "avg_frame_loss_pct", "above")),
    ("eprosima-2019", INTRA, "9,1,3,2", "9,10,3,2", ("summary.csv:2", "Min", "above", "Median")),
    ("eprosima-2019", GRID, "218760.8", "-218760.8", ("results_all_x:2", "rate", "impossible")),
    ("irobot", LATENCY_ALL, "152  43  52  2124", "152  43  200  2124", ("latency_all.txt:2", "min[us]", "above")),
    ("irobot", LATENCY_ALL, "600  1", "600  1000", ("latency_all.txt:2", "late[#]", "above", "received[#]")),
    ("irobot", "fastrtps/mont/latency_total.txt", "0.1111", "250", ("latency_total.txt:2", "late[%]", "0 to 100")),
    ("irobot", "fastrtps/mont/resources.txt", "500  29", "500  4000", ("resources.txt:3", "cpu[%]")),
    ("ddsperf", "sub.txt", "rate 1.00 kS/s 8.17", "rate 10000000.00 kS/s 8.17", ("sub.txt:3", "rate")),
    ("ddsperf", "pub.txt", "mean 59.157us", "mean 99.157us", ("pub.txt:4", "mean", "above", "max")),
    ("ddsperf", "sub.txt", "delta 998", "delta 9998", ("sub.txt:3", "delta", "above", "total")),
    ("github-csv", "b_pr.csv", "2020-10-01 11:00:00", "2020-09-01 11:00:00", ("b_pr.csv:2", "before it was opened")),
    ("github-csv", "b_pr.csv", "2020-10-02 10:00:00", "2099-10-02 10:00:00", ("b_pr.csv:3", "opened_on", "2099")),
    ("github-csv", "b_pr.csv", "3600.0", "3700.0", ("b_pr.csv:2", "contradicts", "3600")),
    ("github-csv", "b_issue.csv", "3600.0", "9e9", ("b_issue.csv:2", "future")),
    ("survey", "survey.csv", "research,7,", "research,70,", ("survey.csv:2", "networking_skill", "1 to 10")),
    # a quote that is not closed: the line in which its row begins
    ("github-csv", "b_pr.csv", ',three,', ',"three,', ("b_pr.csv:3", "quotes")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "file", "old", "new", "said"),
    EDITS,
    ids=[f"{e[0]} {e[3].strip()[:40]!r}" for e in EDITS],
)
def test_an_impossible_value_or_contradiction_is_one_error(name, file, old, new, said):
    kind, files = encoded(name)
    assert old.encode() in files[file], files[file].decode()
    files[file] = files[file].replace(old.encode(), new.encode(), 1)
    with pytest.raises(UserError) as raised:
        read(kind, files)
    text = raised.value.render()
    assert raised.value.where and raised.value.expected, text
    for words in said:
        assert words in text, text


def repeat_row(files, file, lines=slice(1, 2)):
    """Repeat a row of a table at its end."""
    rows = files[file].rstrip(b"\n").split(b"\n")
    files[file] = b"\n".join([*rows, *rows[lines]]) + b"\n"


def copy(files, file, other):
    files[other] = files[file]


TWICE = [
    ("a run under a second name", MININET, lambda f: [copy(f, n, n.replace("run01", "run09")) for n in list(f)
                                                      if "run01" in n], "the same log twice"),
    ("one log as another run's", MININET, lambda f: copy(f, SUB, SUB.replace("run01", "run02")), "the same log twice"),
    ("a row of the summary", SUMMARY, lambda f: repeat_row(f, "MininetResults.csv"), "the same run twice"),
    ("the summary", SUMMARY, lambda f: copy(f, "MininetResults.csv", "b/MininetResults.csv"),
     "a summary beside another"),
    ("a WiFi run as another", WIFI, lambda f: [copy(f, n, n.replace("-1.txt", "-2.txt")) for n in list(f)],
     "the same log twice"),
    ("a second of gscam", "gscam", lambda f: repeat_row(f, GSCAM, slice(2, 3)), "the time does not grow"),
    ("a row of gscam's summary", "gscam", lambda f: repeat_row(f, "run/summary.csv"), "the same test twice"),
    ("a response", "survey", lambda f: repeat_row(f, "survey.csv"), "the same response twice"),
    ("a pair of tests", "cyclonedds-2021", lambda f: _pair_again(f), "the same test twice"),
    ("a setting of throughput", "eprosima-2019", lambda f: repeat_row(f, GRID), "the same setting"),
    ("a size", "eprosima-2019", lambda f: repeat_row(f, INTRA), "the same setting"),
    ("a subscription", "irobot", lambda f: repeat_row(f, LATENCY_ALL), "the same subscription twice"),
    ("an output of ddsperf", "ddsperf", lambda f: copy(f, "sub.txt", "sub2.txt"), "the same output twice"),
    ("a log of perf_test", "perf-test", lambda f: copy(f, "a.txt", "a2.txt"), "the same log twice"),
    ("a row of the build farm", "tsc-2020-build-farm", lambda f: repeat_row(f, "node_perf.csv"), "the same run twice"),
    ("a pull request", "github-csv", lambda f: repeat_row(f, "b_pr.csv"), "the same number twice"),
]  # fmt: skip


def _pair_again(files):
    name = "ubuntu-limited.csv"
    rows = files[name].split(b"\n")
    files[name] = b"\n".join([*rows[:3], *rows[1:3], *rows[3:]])


@pytest.mark.parametrize(("what", "name", "change", "said"), TWICE, ids=[t[0] for t in TWICE])
def test_what_is_there_twice_is_one_error(what, name, change, said):
    kind, files = encoded(name)
    change(files)
    with pytest.raises(UserError) as raised:
        read(kind, files)
    assert said in raised.value.render()
    assert raised.value.where


HEADERS = [
    (name, file)
    for name, (_, files) in SAMPLES.items()
    for file in files
    if name
    not in ("ddsperf", "perf-test", "hop-chain-2026", WIFI, MININET, "tsc-2021-build-farm raw")
    and "findings" not in file
]


@pytest.mark.parametrize(("name", "file"), HEADERS, ids=[f"{n}: {f}" for n, f in HEADERS])
def test_a_table_of_a_header_only_is_one_error(name, file):
    kind, files = encoded(name)
    files[file] = files[file].split(b"\n")[0] + b"\n"
    with pytest.raises(UserError, match=r"without rows|no responses|no seconds for this row"):
        read(kind, files)


def test_a_summary_without_the_column_of_its_index_is_read():
    """Other columns may stand anywhere, but `json_fname` was asked to be the second."""
    kind, files = encoded(SUMMARY)
    (table,) = files.values()
    rows = [row.partition(b",")[2] for row in table.split(b"\n")]
    read(kind, {"MininetResults.csv": b"\n".join(rows)})
