"""The directory that all hosts of a trial see."""

import shutil
import subprocess
import sys
from pathlib import Path

from rmwbench.lab.host import hosts

REPOSITORY = Path(__file__).parents[2]
MAKE = "from rmwbench.lab.host import hosts; print(hosts.make_common('gone'))"


def test_a_directory_whose_orchestrator_is_gone_is_swept_and_no_other():
    made = subprocess.run(
        [sys.executable, "-c", MAKE], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    ours = hosts.make_common("here")
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
