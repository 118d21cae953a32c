"""Whether a wrong clock was caught is told by its code, and never by a machine whose own clock ran
wrong."""

import pytest

from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.bundle.journal import TrialReason
from rmwbench.campaign.calibrate import skew
from rmwbench.codes import Code


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
