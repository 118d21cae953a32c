"""setup/count-skipped: tests in Rust that could not run are shown and counted; the command ends as
it did."""

import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "setup" / "count-skipped"
SKIPS = (
    'echo "SKIPPED b: no TAP" >>"$RMWBENCH_SKIPPED"; echo "SKIPPED a: no namespaces" '
    '>>"$RMWBENCH_SKIPPED"'
)


def run(script: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [PROGRAM, "sh", "-c", script], capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("status", [0, 3])
def test_skips_are_told_at_the_end_and_the_status_stays(status):
    ended = run(f"{SKIPS}; echo tests; exit {status}")
    assert ended.returncode == status
    assert ended.stdout.splitlines() == [
        "tests",
        "2 tests in Rust were SKIPPED; above they count as passed:",
        "SKIPPED a: no namespaces",
        "SKIPPED b: no TAP",
    ]


def test_nothing_is_said_where_nothing_was_skipped():
    assert run("echo tests").stdout == "tests\n"
