"""Times to close on GitHub: an item that was closed at an unknown time is neither open nor left
out."""

import pytest

from rmwbench.bundle import Bundle
from rmwbench.published.importers import import_published
from tests.published.importers.samples import SAMPLES, put

FILES = SAMPLES["github-csv"][1]
UNMERGED = "2,closed,2020-10-01 10:00:00,,,2,6,four,https://api.github.com/repos/a/b/pulls/6,\n"
ITS_ISSUE = (
    "3,2020-10-01 12:00:00,2020-10-01 10:00:00,[],3,6,closed,four,"
    "https://api.github.com/repos/a/b/issues/6,,0,7200.0\n"
)


def pull_figures(tmp_path, files):
    done = import_published(put(tmp_path / "in", files), tmp_path / "out")
    return [
        row
        for row in Bundle(done.directory).rows("figures")
        if row["figure"].startswith("github_pull_request_")
    ]


def test_closed_without_merge_and_without_the_issues_table_is_no_data(tmp_path):
    """It counted as open until the newest time in the data."""
    rows = pull_figures(tmp_path, {"b_pr.csv": FILES["b_pr.csv"] + UNMERGED})
    assert {row["figure"] for row in rows} == {
        "github_pull_request_median",
        "github_pull_request_median_of_closed",
    }
    for row in rows:
        assert row["as_published"] is not None and row["as_corrected"] is None
        assert row["note"].startswith("no data: when some of the closed were closed")


def test_the_issues_table_tells_when_it_was_closed(tmp_path):
    files = {
        "b_pr.csv": FILES["b_pr.csv"] + UNMERGED,
        "b_issue.csv": FILES["b_issue.csv"] + ITS_ISSUE,
    }
    rows = {row["figure"]: row for row in pull_figures(tmp_path, files)}
    median_of_closed = rows["github_pull_request_median_of_closed"]
    assert median_of_closed["as_corrected"] == pytest.approx(1.5 / 24)
    assert rows["github_pull_request_median"]["as_corrected"] == pytest.approx(2 / 24)
