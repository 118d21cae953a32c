"""The verb as a user types it: wrong wishes, a small search against the fake worker, and Ctrl-C
during one."""

import json
import os
import signal
import subprocess

import pytest

from rmwbench.bundle import Bundle
from tests.badinput.conftest import user as user
from tests.support.command import COMMAND

LIMIT = "p50 response < 500 ms"
SEARCH = ("capacity", "mini.yaml", "--workload", "small", "--limit")


@pytest.mark.parametrize(
    "arguments, complaint, advice",
    [
        (("p50 < 5",), "a time needs a unit", "did you mean `p50 < 5 ms`?"),
        (("p50 < 5 ms", "--along", "sise"), "unknown axis", "did you mean `size`?"),
        (("p50 < 5 ms", "--from", "5 kHz", "--to", "10"), "range is empty", "--from below --to"),
        (("p50 < 5 ms", "--to", "3MHz"), "out of range", "to 2 MHz"),
        (("p50 < 5 ms", "--resolution", "5"), "not a valid resolution", "did you mean `5%`?"),
        (("p50 < 5 ms", "--resolution", "1"), "not a valid resolution", "did you mean `1%`?"),
        (
            ("p99.9 < 5 ms", "--budget", "30s"),
            "the budget cannot test this limit",
            "needs 10000 messages",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused_before_anything_is_written(
    user, arguments, complaint, advice
):
    error = user.is_refused(*SEARCH, *arguments)
    assert complaint in error and advice in error


def test_an_unknown_workload_gets_a_suggestion(user):
    error = user.is_refused("capacity", "mini.yaml", "--workload", "smal", "--limit", LIMIT)
    assert "no workload `smal`" in error and "did you mean `small`?" in error


@pytest.mark.traffic
def test_a_small_search_ends_in_a_bundle_that_show_and_report_know(user):
    done = user.types(
        *SEARCH, LIMIT, "--from", "100", "--to", "400", "--budget", "25s", "--out", "c", "--json"
    )
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "rmwbench/capacity" and document["campaign"]["finished"]
    assert document["arms"][0]["capacity"]["trials"] >= 3
    shown = user.types("show", "c", "--json")
    assert json.loads(shown.stdout)["arms"] == document["arms"]
    assert "Up to which rate" in user.types("show", "c").stdout
    assert user.types("report", "c").returncode == 0 and (user.path / "c" / "report.html").exists()
    assert user.types("report", "c", "--format", "markdown").returncode == 0
    refused = user.types("resume", "c")
    assert refused.returncode == 2 and "not made by `rmwbench run`" in refused.stderr


@pytest.mark.traffic
def test_a_search_that_is_stopped_leaves_a_valid_bundle(user):
    # A limit that no busy machine breaks: an arm that fails at once would end the search before it
    # is stopped.
    command = [*COMMAND, *SEARCH, "p50 < 10 s", "--out", "c"]
    search = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=user.path,
        env=user._environ(),
    )
    for line in search.stderr:
        if "one" in line:  # the first probe is done, the second under way
            break
    os.kill(search.pid, signal.SIGINT)
    out, err = search.communicate(timeout=300)
    assert search.returncode == 130, err
    bundle = Bundle(user.path / "c")
    bundle.check()
    assert bundle.trials() and not bundle.journal.finished and not bundle.journal.left_behind()
    assert "stopped by SIGINT" in err and "Not finished." in out
