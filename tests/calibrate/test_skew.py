"""Whether a wrong clock was caught is told by its code, and never by a machine whose own clock ran
wrong."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.journal import TrialReason
from rmwbench.campaign.calibrate import skew
from rmwbench.codes import Code
from rmwbench.lab.middleware import Worker


def line(trial, status="void", cause=None, codes=(Code.WORKER_CLOCK,), reason="clock: process b"):
    reasons = tuple(TrialReason(code=str(code)) for code in codes)
    return TrialLine(
        trial=trial, cell=1, block=trial, status=status, reason=reason, cause=cause, reasons=reasons
    )


SLEWED = "machine: clock: the clock was slewed by 0.2 %"
OF_THE_MACHINE = line(1, cause="machine", codes=(Code.CLOCK,), reason=SLEWED)
MISSED = line(2, "done", codes=(), reason=None)


@pytest.mark.parametrize(
    ("lines", "outcome", "told"),
    [
        ([line(1), line(2)], "recovered", "2 of 2 void: clock: process b"),
        ([OF_THE_MACHINE, line(2)], "recovered", "1 of 1 void: clock: process b"),
        ([line(1), MISSED], "failed", "1 of 2 void: done"),
        ([OF_THE_MACHINE, MISSED], "failed", "0 of 1 void: done"),
        ([line(1, codes=(Code.RECORDS,))], "failed", "0 of 1 void: clock: process b"),
        ([OF_THE_MACHINE, OF_THE_MACHINE], "could not tell", f"0 of 0 void: {SLEWED}"),
        ([], "failed", "0 of 0 void: no trial"),
    ],
)
def test_only_a_trial_that_is_void_for_the_workers_clock_caught_it(lines, outcome, told):
    truth = skew.judge(lines, lambda: {"workloads": []})
    assert (truth.outcome, truth.checks[0].found) == (outcome, told)


def test_where_no_time_namespace_could_be_made_nothing_is_judged():
    why = skew.judge([line(1, "failed", reason="unshare: not permitted\nmore")], dict)
    assert why == "unshare: not permitted"


def test_a_worker_whose_path_has_a_blank_is_started(tmp_path):
    """It was not found, and the truth had failed."""
    worker = Worker("synthetic", Path("/home/my code/worker"), None, None)
    campaign = SimpleNamespace(workers={})
    skew.skew_clock(campaign, worker, tmp_path / "skewed-worker")
    text = (tmp_path / "skewed-worker").read_text()
    assert text.count(" '/home/my code/worker' ") == 2
    assert campaign.workers["synthetic"].executable == tmp_path / "skewed-worker"
