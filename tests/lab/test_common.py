"""The directory that all hosts of a trial see."""

import subprocess
import sys

from rmwbench.lab.host import common, sweep
from tests.paths import REPOSITORY

MAKE = "from rmwbench.lab.host import common; print(common.make('gone'))"


def test_a_directory_whose_orchestrator_is_gone_is_swept_and_no_other():
    made = subprocess.run(
        [sys.executable, "-c", MAKE], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    ours = common.make("here")
    (ours / "keys").mkdir()
    try:
        assert [str(one) for one in sweep.remove_directories(dry_run=True)].count(
            made.stdout.strip()
        ) == 1
        removed = [str(one) for one in sweep.remove_directories()]
        assert made.stdout.strip() in removed and str(ours) not in removed
        assert ours.is_dir()
    finally:
        common.remove(ours)
    assert not ours.exists()
    assert made.stdout.strip() not in map(str, common.PLACE.iterdir())
