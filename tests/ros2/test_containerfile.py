"""The Containerfile, as far as it can be tried without pulling an image: its steps are shell that
parses, and name programs that are here."""

import json
import os
import re
import shlex
from pathlib import Path

from tests.support.program import run_program

REPOSITORY = Path(__file__).parents[2]
LINES = (REPOSITORY / "Containerfile").read_text().splitlines()


def steps(instruction: str) -> list[str]:
    return [line.split(" ", 1)[1] for line in LINES if line.startswith(instruction + " ")]


def test_every_step_is_shell_that_parses():
    for step in steps("RUN"):
        done = run_program("sh", "-n", "-c", step)
        assert done.returncode == 0, (step, done.stderr)


def test_every_program_of_the_project_is_here():
    entry = json.loads(steps("ENTRYPOINT")[0])
    named = [path for step in steps("RUN") for path in re.findall(r"\bsetup/[\w-]+", step)]
    named += [path.removeprefix("/opt/rmwbench/") for path in entry if "/setup/" in path]
    assert len(named) >= 4
    for path in named:
        assert os.access(REPOSITORY / path, os.X_OK), path


def test_what_is_not_copied_is_what_a_build_makes():
    ignored = (REPOSITORY / ".dockerignore").read_text().split()
    tracked = run_program("git", "ls-files", *ignored, cwd=REPOSITORY)
    assert tracked.stdout == ""


def test_the_entry_point_sources_the_ros_2_of_the_distribution(tmp_path):
    entry = (REPOSITORY / "setup" / "beside-ros").read_text()
    place = "/opt/ros/$ROS_DISTRO/setup.sh"
    assert place in entry
    (tmp_path / "setup.sh").write_text("export SOURCED=yes\n")
    script = tmp_path / "beside-ros"
    script.write_text(entry.replace(place, shlex.quote(str(tmp_path / "setup.sh"))))
    done = run_program("sh", script, "sh", "-c", "echo $SOURCED $1; exit 3", "sh", "run")
    assert (done.returncode, done.stdout) == (3, "yes run\n")
