"""A failure is excused by a machine that is proved to have starved the test, and by nothing
else."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ONCE = """
import pytest
from pathlib import Path

@pytest.mark.timing
def test_fails_the_first_time():
    tries = Path(__file__).with_name("tries")
    tries.open("a").write("x")
    {meanwhile}
    assert tries.read_text() != "x"
"""
STOPPED = """import os, subprocess
    subprocess.Popen(["sh", "-c", f"kill -STOP {os.getpid()}; sleep 0.4; kill -CONT {os.getpid()}"])
    import time
    time.sleep(0.6)"""


def run(folder: Path, meanwhile: str) -> tuple[str, str]:
    """The output of pytest, and one letter for each time that the test ran."""
    test = folder / "test_once.py"
    test.write_text(ONCE.format(meanwhile=meanwhile))
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", f"--rootdir={folder}", "-rR"]
    settings = ["-c", str(ROOT / "pyproject.toml"), str(test)]
    done = subprocess.run(command + settings, cwd=ROOT, capture_output=True, text=True)
    return done.stdout, (folder / "tries").read_text()


def test_what_fails_on_a_machine_that_ran_it_is_not_run_again(tmp_path):
    output, tries = run(tmp_path, "pass")
    assert tries == "x", output
    assert "1 failed" in output and "a sleeping thread woke up" in output


def test_what_a_stopped_machine_spoiled_is_run_again_and_says_so(tmp_path):
    output, tries = run(tmp_path, STOPPED)
    assert tries == "xx", output
    assert "1 passed, 1 rerun" in output
