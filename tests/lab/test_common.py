"""The directory that all hosts of a trial see."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from rmwbench.lab.host import hosts, marker

REPOSITORY = Path(__file__).parents[2]
MAKE = """
from rmwbench.lab.host import hosts, marker
directory = marker.new_path(hosts.COMMON_PARENT, hosts.COMMON_PREFIX)
hosts.make_common(directory, 'gone')
print(directory)
"""
KILLED = """
import os, signal
from rmwbench.lab.host import hosts
hosts.Host = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
hosts.Hosts("killed", ["a", "b"])
"""


def test_a_directory_whose_orchestrator_is_gone_is_swept_and_no_other():
    made = subprocess.run(
        [sys.executable, "-c", MAKE], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    ours = marker.new_path(hosts.COMMON_PARENT, hosts.COMMON_PREFIX)
    hosts.make_common(ours, "here")
    (ours / "keys").mkdir()
    try:
        gone = Path(made.stdout.strip())
        assert gone in hosts.remove_directories(dry_run=True) and gone.is_dir()
        removed = hosts.remove_directories()
        assert gone in removed and not gone.exists() and ours not in removed
        assert ours.is_dir()
    finally:
        shutil.rmtree(ours)
    assert not ours.exists()


def test_there_is_none_before_a_host_is_there_that_removes_it():
    tool = subprocess.Popen([sys.executable, "-c", KILLED], cwd=REPOSITORY)
    assert tool.wait(60) == -signal.SIGKILL
    owners = [
        path.read_text() for path in hosts.COMMON_PARENT.glob(f"{hosts.COMMON_PREFIX}*/owner")
    ]
    assert not [owner for owner in owners if owner.startswith(f"{tool.pid}:")]


def test_a_process_may_have_any_bytes_as_its_name():
    """The kernel cuts a name after 15 bytes, also within a letter."""
    rename = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'gr) \\xc3', 0, 0, 0)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{rename}; print(flush=True); time.sleep(60)"],
        stdout=subprocess.PIPE,
    )
    try:
        process.stdout.readline()
        assert marker.started_ticks(process.pid) > 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
