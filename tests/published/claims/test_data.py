"""The ledger's verdicts are those of the original data, for all sources whose figures importers
give."""

import csv

import pytest
from scipy.stats import mannwhitneyu

from rmwbench.published.claims.claims_file import Data, OriginalCheck
from tests.published.claims.original_data import fisher, verdict_of
from tests.published.claims.shipped import FILES
from tests.published.importers import original
from tests.published.importers.original import figures

TSC = "tsc-galactic-2020"
WHERE = {
    "tsc-2020-build-farm": (TSC, "build_farm"),
    "tsc-2020-mininet": (TSC, "mininet_experiments", "2020-10-23_10-47-36.tar.gz"),
    "tsc-2020-wifi": (TSC, "wifi"),
    "github-csv": (TSC, "git_metrics"),
    "survey": (TSC, "user_survey"),
    "gscam": ("newslab-gscam-stress-2025",),
}
SUMMARY = (TSC, "mininet_experiments", "MininetResults.csv")
SAME = {"contradicted within the source": {"contradicted", "partly supported"}}
"""The verdicts of the data that agree with a claimed verdict: if the text contradicts itself, the
data is against one of its two statements."""
WITH_DATA = [claim for file in FILES.values() for claim in file.items if claim.data]


def points_of(*parts):
    return {(row["figure"], row["series"], row["x"]): row for row in figures(*parts).rows}


@pytest.mark.parametrize("claim", [pytest.param(claim, id=claim.id) for claim in WITH_DATA])
def test_a_verdict_is_what_the_data_says(claim):
    # The bars of memory and CPU are drawn by a table's row order, which only the summary has.
    bars = any(
        check.figure.startswith(("mininet_rss", "mininet_cpu")) for check in claim.data.checks
    )
    points = points_of(*(SUMMARY if bars else WHERE[claim.data.kind]))
    absent = [
        p
        for c in claim.data.checks
        for p in (c.of, c.than)
        if not isinstance(p, float) and (c.figure, *p) not in points
    ]
    assert absent == [], "no such point"
    written = {column: getattr(claim, column).verdict for column in ("published", "corrected")}
    computed = {column: verdict_of(claim.data, points, f"as_{column}") for column in written}
    assert {c: v for c, v in written.items() if computed[c] not in SAME.get(v, {v})} == {}, computed


RUNS = {
    "ga-222-one-latency": [(300, 20, "fastrtps_cpp_sync")],
    "ga-223-third": [(1000, 30, "fastrtps_cpp_sync"), (1000, 30, "fastrtps_cpp_async")],
    "ga-231-sixty": [(300, 20, "fastrtps_cpp_sync"), (1000, 30, "fastrtps_cpp_sync")],
}
"""Claim -> rate, loss and side of the latencies of 1 KB that its corrected verdict rests on, beside
Cyclone DDS's. The latencies of 0 ms are those of runs that received nothing."""


@pytest.mark.parametrize("name", RUNS)
def test_what_ten_runs_do_not_tell_contradicts_nobody(name):
    with open(original.path(*SUMMARY), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    def latencies(side, rate, loss):
        marks = (f"rmw_{side}_Array1k@", f"_{rate}bw_{loss}loss_")
        runs = [row for row in rows if all(mark in row["experiment"] for mark in marks)]
        assert len(runs) == 10
        return [x for row in runs if (x := float(row["sub_effective_latency"])) > 0]

    p_values = [
        mannwhitneyu(latencies("cyclonedds_cpp_sync", *at), latencies(side, *at)).pvalue
        for *at, side in RUNS[name]
    ]
    (claim,) = (claim for claim in FILES["galactic-2020"].items if claim.id == name)
    assert min(p_values) > 0.05 and claim.corrected.verdict == "undecided"
    assert min(p_values) == pytest.approx(claim.corrected.p, abs=0.005)


def test_two_counts_of_ten_runs_are_told_by_fishers_test():
    points = points_of(TSC, "wifi")
    sides = [(f"rmw_{name}_cpp 100 Hz", "100") for name in ("cyclonedds", "fastrtps")]
    check = OriginalCheck(
        figure="wifi_stalled_runs", of=sides[0], than=sides[1], relation="less", counts=True
    )
    p = fisher(check, points, "as_corrected")
    (claim,) = (claim for claim in FILES["galactic-2020"].items if claim.id == "ga-sum-wifi-tie")
    assert p == pytest.approx(claim.corrected.p, abs=0.005)
    told = verdict_of(Data(kind="tsc-2020-wifi", checks=[check]), points, "as_corrected")
    assert told == claim.corrected.verdict == claim.published.verdict == "undecided"
