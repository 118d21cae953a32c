"""The ledger's verdicts are those of the original data, wherever importers give the figures."""

import pytest

from rmwbench.evaluations.claims.model import Check, Data
from rmwbench.evaluations.claims.original_data import settled
from tests.claims.shipped import FILES
from tests.importers.original import figures

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
"""Where the text contradicts itself, the data is against one of the two."""
WITH_DATA = [claim for file in FILES.values() for claim in file.items if claim.data]


@pytest.mark.parametrize("claim", [pytest.param(claim, id=claim.id) for claim in WITH_DATA])
def test_a_verdict_is_what_the_data_says(claim):
    # The bars of memory and CPU are drawn by a table's row order, which only the summary has.
    bars = any(
        check.figure.startswith(("mininet_rss", "mininet_cpu")) for check in claim.data.checks
    )
    found = figures(*(SUMMARY if bars else WHERE[claim.data.kind]))
    points = {(row["figure"], row["series"], row["x"]): row for row in found.rows}
    absent = [
        p
        for c in claim.data.checks
        for p in (c.of, c.than)
        if not isinstance(p, float) and (c.figure, *p) not in points
    ]
    assert absent == [], "no such point"
    written = {column: getattr(claim, column).verdict for column in ("published", "corrected")}
    computed = {column: settled(claim.data, points, f"as_{column}") for column in written}
    assert {c: v for c, v in written.items() if computed[c] not in SAME.get(v, {v})} == {}, computed


def _data(*checks):
    return Data(kind="x", checks=[Check(**check) for check in checks])


def _points(**values):
    return {
        ("f", name, ""): {"as_published": pair[0], "as_corrected": pair[1]}
        for name, pair in values.items()
    }


def test_all_some_none_and_no_data():
    points = _points(a=(1.0, 3.0), b=(2.0, 2.0), c=(5.0, None))
    less = {"figure": "f", "of": ("a", ""), "relation": "less", "than": ("b", "")}
    above = {"figure": "f", "of": ("c", ""), "relation": "greater", "than": 4.0}
    assert settled(_data(less), points, "as_published") == "supported"
    assert settled(_data(less), points, "as_corrected") == "contradicted"
    assert settled(_data(less, above), points, "as_corrected") == "no data"
    low = {**above, "than": 6.0}
    assert settled(_data(less, low), points, "as_published") == "partly supported"


@pytest.mark.parametrize(("factor", "holds"), [(1.9, False), (2.1, True)])
def test_within_is_symmetric(factor, holds):
    points = _points(a=(1.0, 1.0), b=(2.0, 2.0))
    for of, than in (("a", "b"), ("b", "a")):
        check = {
            "figure": "f",
            "of": (of, ""),
            "relation": "within",
            "than": (than, ""),
            "factor": factor,
        }
        assert (settled(_data(check), points, "as_published") == "supported") is holds
