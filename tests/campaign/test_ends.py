"""The table of docs/formats/bundle.md that says how a trial can end is the program's: every code is
there, with whose fault it is and what becomes of its data."""

import re
import signal
from pathlib import Path

import pytest

from rmwbench.analysis.verdicts.verdict import lost_by_its_arm
from rmwbench.bundle.bundle_reader import TrialLine
from rmwbench.campaign.trial.outcome import _CODE_OF_KIND, worker_failure
from rmwbench.codes import Code, FailedBy
from rmwbench.lab.machine import void_rules
from rmwbench.lab.process.worker import WorkerFailed

PAGE = Path(__file__).parents[2] / "docs/formats/bundle.md"


def table() -> dict[str, tuple[str, str, str]]:
    """Code → what the trial is, whose doing it is, its data."""
    part = PAGE.read_text().split("### How a trial ends")[1].split("Where a rule of the machine")[0]
    endings = {}
    for line in part.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 4:
            for code in re.findall(r"`(\w+)`", cells[0]):
                assert code not in endings, code
                endings[code] = (cells[1], cells[2], cells[3])
    return endings


def test_every_code_is_in_the_table_and_no_other():
    assert set(table()) == {str(code) for code in Code}


def test_rules_of_the_machine_void_and_flag_as_the_table_says():
    for rule in void_rules.RULES:
        is_, whose, _ = table()[rule.name]
        assert whose == "machine"
        assert ("void" if rule.kind == "void" else "with a flag") in is_, rule.name


@pytest.mark.parametrize("kind", [*_CODE_OF_KIND])
def test_a_failed_worker_is_at_fault_as_the_table_says(kind):
    failure = worker_failure(WorkerFailed(kind, "talker", "x"))
    is_, whose, data = table()[failure.reason.code]
    expected = {FailedBy.WORKER: "middleware", FailedBy.HOST: "host", FailedBy.MACHINE: "machine"}
    assert whose.startswith(expected[failure.by])
    assert ("void" if failure.by is FailedBy.MACHINE else "failed") in is_
    line = TrialLine(trial=1, cell=1, block=0, status="failed", failed_by=failure.by)
    assert data.startswith("lost block") == (lost_by_its_arm(line)), failure


def test_who_was_killed_from_outside_has_lost_no_block():
    failed = WorkerFailed("crashed", "talker", "x", wait_status=signal.SIGKILL)
    assert worker_failure(failed).by is FailedBy.HOST
    assert worker_failure(WorkerFailed("crashed", "link", "x", role="network")).by is FailedBy.HOST
    assert "host" in table()[Code.CRASHED][1]


def test_what_a_middleware_does_badly_is_done():
    for code in ("not_heard", "probes_outstanding", "delivered_nothing", "held", "frames_unlogged"):
        is_, whose, data = table()[code]
        assert is_.startswith("done, with a flag") and whose == "middleware"
        assert data.startswith("counts")
