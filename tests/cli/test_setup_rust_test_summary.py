"""setup/rust-test-summary: tests in Rust that could not run and that failed are told at the end; the
command ends as it did."""

from pathlib import Path

import pytest

from tests.support.program import run_program

PROGRAM = Path(__file__).resolve().parents[2] / "setup" / "rust-test-summary"
SKIPS = 'echo "SKIPPED b: no TAP" >&2; echo "SKIPPED a: no namespaces" >&2'
SUITE = """\
test floor untouched: order per writer ... ok (0.9 s)
test floor untouched: late joiner ... FAILED (0.8 s; a sleeping thread woke up 7 ms late)
    reader 2 lost 1 of 3 messages
    of writer 1
test floor untouched: reader leaves ... ok (1.2 s)

test result: FAILED. 2 passed; 1 failed; 0 declared as lacking; 0 run again on a starved machine
"""
LIBTEST = """\
running 2 tests
.F
failures:

---- clock::tests::goes_on stdout ----
assertion failed: later > earlier


failures:
    clock::tests::goes_on

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

error: test failed, to rerun pass `-p rmwbench-harness --lib`
"""


def run(*command: str, text: str = ""):
    return run_program(PROGRAM, *command, input=text)


@pytest.mark.parametrize("status", [0, 3])
def test_skips_are_told_at_the_end_and_the_status_stays(status):
    ended = run("sh", "-c", f"{SKIPS}; echo tests; exit {status}")
    assert ended.returncode == status
    assert ended.stdout.splitlines() == [
        "SKIPPED b: no TAP",
        "SKIPPED a: no namespaces",
        "tests",
        "2 tests in Rust were SKIPPED; above they count as passed:",
        "SKIPPED a: no namespaces",
        "SKIPPED b: no TAP",
    ]


def test_a_failed_check_is_told_once_more_with_what_explains_it():
    ended = run("sh", "-c", "cat; exit 1", text=SUITE + "test zenoh untouched: services ... ok\n")
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[-4:] == [
        "What failed of the tests in Rust, once more:",
        *SUITE.splitlines()[1:4],
    ]


def test_a_failed_test_of_libtest_is_told_once_more():
    ended = run("sh", "-c", "cat; exit 101", text=LIBTEST)
    assert ended.returncode == 101
    again = ended.stdout.split("What failed of the tests in Rust, once more:\n")[1]
    assert again.startswith("failures:\n\n---- clock::tests::goes_on")
    assert again.endswith("finished in 0.01s\n")
