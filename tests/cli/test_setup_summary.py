"""What failed stands at the end: setup/every.py, by which `make test` goes on after a part that
failed, and setup/rust-test-summary, which ends as its command did."""

import sys
from pathlib import Path

import pytest

from tests.support.program import run_program

SETUP = Path(__file__).resolve().parents[2] / "setup"
MAKE = """\
#!/bin/sh
case $2 in
style) echo "x.py:1: E501 Line too long"; exit 2 ;;
built) exit "$BUILD" ;;
python)
    echo "FAILED tests/a.py::test_x[a b] - assert 1 == 2"
    echo "ERROR tests/b.py"
    echo "=== 1 failed, 20 passed, 3 skipped, 1 error, 1 rerun in 66.05s (0:01:06) ==="
    exit 1 ;;
rust)
    printf 'test floor: order ... FAILED (0.8 s)\\n    reader 2 lost 1\\n'
    echo "test result: FAILED. 2 passed; 1 failed; 0 run again on a starved machine"
    echo "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; finished in 0.01s"
    echo "What failed of the tests in Rust, once more:"
    printf 'failures:\\n    clock::tests::goes_on\\ntest result: FAILED. 2 passed; 1 failed; 0\\n'
    exit 1 ;;
quick) echo "==== 7 passed in 0.50s ====" ;;
esac
"""


def every(directory: Path, *words: str, build: int = 0):
    make = directory / "make"
    make.write_text(MAKE)
    make.chmod(0o755)
    environment = {"MAKE": str(make), "BUILD": str(build), "PATH": "/usr/bin:/bin"}
    return run_program(sys.executable, SETUP / "every.py", *words, env=environment)


def test_all_parts_run_and_the_last_lines_name_what_failed(tmp_path):
    done = every(tmp_path, "style", "built", "--needing", "built", "python", "rust", "quick")
    assert done.returncode == 1 and done.stderr == ""
    shown, last = done.stdout.split("\nmake style: failed\n")
    assert "E501" in shown and "20 passed" in shown
    assert last.splitlines() == [
        "make python: failed",
        "  tests/a.py::test_x[a b] - assert 1 == 2",
        "  tests/b.py",
        "make rust: failed",
        "  floor: order",
        "    reader 2 lost 1",
        "  clock::tests::goes_on",
        "parts: 5, of which failed: style, python, rust",
        "34 passed, 3 failed, 3 skipped",
    ]


def test_what_needs_a_part_that_failed_is_not_run_and_said(tmp_path):
    done = every(tmp_path, "built", "quick", "--needing", "built", "python", "rust", build=2)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-4:] == [
        "make built: failed",
        "not run, since they need `make built`: python, rust",
        "parts: 4, of which failed: built",
        "7 passed, 0 failed, 0 skipped",
    ]


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


def summary(*command: str, text: str = ""):
    return run_program(SETUP / "rust-test-summary", *command, input=text)


@pytest.mark.parametrize("status", [0, 3])
def test_skips_are_told_at_the_end_and_the_status_stays(status):
    ended = summary("sh", "-c", f"{SKIPS}; echo tests; exit {status}")
    assert ended.returncode == status
    assert ended.stdout.splitlines() == [
        "SKIPPED b: no TAP",
        "SKIPPED a: no namespaces",
        "tests",
        "Tests in Rust that were SKIPPED, though they count as passed above: 2",
        "SKIPPED a: no namespaces",
        "SKIPPED b: no TAP",
    ]


def test_a_failed_check_is_told_once_more_with_what_explains_it():
    ended = summary(
        "sh", "-c", "cat; exit 1", text=SUITE + "test zenoh untouched: services ... ok\n"
    )
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[-4:] == [
        "What failed of the tests in Rust, once more:",
        *SUITE.splitlines()[1:4],
    ]


def test_a_failed_test_of_libtest_is_told_once_more():
    ended = summary("sh", "-c", "cat; exit 101", text=LIBTEST)
    assert ended.returncode == 101
    again = ended.stdout.split("What failed of the tests in Rust, once more:\n")[1]
    assert again.startswith("failures:\n\n---- clock::tests::goes_on")
    assert again.endswith("finished in 0.01s\n")
