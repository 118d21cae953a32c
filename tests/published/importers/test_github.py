"""GitHub engagement: the counts and medians of four repositories, pull requests and issues told
apart."""

import numpy as np
import pytest

from rmwbench.published.importers.formats.github_csv import kaplan_meier
from tests.published.importers.original import figures

SOURCE = ("tsc-galactic-2020", "git_metrics")
# PR open, closed, unmerged, median merged, with open = 180 d, share ≤ 7 d; "issues" open, closed;
# true; median; commits
TABLE = {
    "eProsima/Fast-DDS": (24, 232, 16, 1.359, 3.001, 63.7, 41, 290, 75, 15.65, 180),
    "ros2/rmw_fastrtps": (4, 75, 3, 1.169, 1.771, 79.7, 11, 82, 14, 1.33, 120),
    "eclipse-cyclonedds/cyclonedds": (19, 80, 8, 0.908, 2.086, 66.7, 32, 89, 22, 4.38, 240),
    "ros2/rmw_cyclonedds": (3, 71, 8, 2.195, 3.835, 70.3, 11, 85, 22, 1.43, 120),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_table(name):
    f = figures(*SOURCE)
    opened, closed, unmerged, merged, filled, week, i_open, i_closed, true, median, commits = TABLE[
        name
    ]
    assert f.published("github_pull_requests", name, "open") == opened
    assert f.published("github_pull_requests", name, "closed") == closed
    assert f.corrected("github_closed_unmerged", name, "") == unmerged
    assert round(f.published("github_pull_request_median_of_closed", name, ""), 3) == merged
    assert round(f.published("github_pull_request_median", name, ""), 3) == filled
    assert round(f.published("github_pull_request_closed_within", name, 7), 1) == week
    assert f.published("github_issues", name, "open") == i_open
    assert f.published("github_issues", name, "closed") == i_closed
    assert sum(f.corrected("github_issues", name, state) for state in ("open", "closed")) == true
    assert round(f.corrected("github_issue_median_of_closed", name, ""), 2) == median
    assert f.published("github_commits", name, "") == commits
    assert f.corrected("github_commits", name, "") is None


def test_a_curve_without_censoring_is_the_empirical_one():
    times = np.array([1.0, 2.0, 2.0, 5.0])
    assert kaplan_meier(times, np.ones(4, bool)) == [(1.0, 0.75), (2.0, 0.25), (5.0, 0.0)]


def test_a_textbook_curve_with_censoring():
    """At risk 5, 4, 2: what is censored leaves without an event."""
    times = np.array([1.0, 2.0, 2.5, 3.0, 4.0])
    happened = np.array([True, True, False, True, False])
    found = kaplan_meier(times, happened)
    assert [t for t, _ in found] == [1.0, 2.0, 3.0]
    assert [s for _, s in found] == pytest.approx([0.8, 0.6, 0.3])


def test_open_items_do_not_count_as_180_days():
    f = figures(*SOURCE)
    for name in TABLE:
        assert f.corrected("github_pull_request_median", name, "") <= f.published(
            "github_pull_request_median", name, ""
        )


def test_the_issues_curve_is_published_with_pull_requests_in_it():
    """Of 331 `issues` of Fast-DDS 256 are pull requests: the published curve is mostly theirs."""
    f, name = figures(*SOURCE), "eProsima/Fast-DDS"
    shares = [f["github_issue_closed_within", name, days] for days in (7, 80)]
    assert [p["count"] for p in shares] == [75, 75]
    assert all(p["as_published"] > p["as_corrected"] + 10 for p in shares)
    assert f.published("github_issue_median", name, "") < f.corrected(
        "github_issue_median", name, ""
    )


def test_the_curves_end_where_the_shares_within_80_days_are():
    f = figures(*SOURCE)
    for kind in ("pull_request", "issue"):
        for name in TABLE:
            curve = [p for p in f.of(f"github_{kind}_curve") if p["series"] == name]
            last, within = curve[-1], f[f"github_{kind}_closed_within", name, 80]
            assert float(last["x"]) == pytest.approx(80, abs=1.1)
            for value in ("as_published", "as_corrected"):
                steps = [p[value] for p in curve]
                assert steps == sorted(steps)
                assert 100 * last[value] == pytest.approx(within[value], abs=2)
