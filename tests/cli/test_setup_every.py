"""setup/every.py: `make test` goes on after a part that failed, and its last lines name all that
did."""

import sys
from pathlib import Path

from tests.support.program import run_program

PROGRAM = Path(__file__).resolve().parents[2] / "setup" / "every.py"
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


def run(directory: Path, *words: str, build: int = 0):
    make = directory / "make"
    make.write_text(MAKE)
    make.chmod(0o755)
    environment = {"MAKE": str(make), "BUILD": str(build), "PATH": "/usr/bin:/bin"}
    return run_program(sys.executable, PROGRAM, *words, env=environment)


def test_all_parts_run_and_the_last_lines_name_what_failed(tmp_path):
    done = run(tmp_path, "style", "built", "--needing", "built", "python", "rust", "quick")
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
    done = run(tmp_path, "built", "quick", "--needing", "built", "python", "rust", build=2)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-4:] == [
        "make built: failed",
        "not run, since they need `make built`: python, rust",
        "parts: 4, of which failed: built",
        "7 passed, 0 failed, 0 skipped",
    ]
