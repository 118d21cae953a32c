"""setup/apt for those who may not install: what is missing is said with the command, and the rest
goes on."""

from pathlib import Path

import pytest

from tests.support.program import run_program, script

SETUP = Path(__file__).resolve().parents[2] / "setup"


@pytest.fixture
def place(tmp_path):
    """A PATH on which no package is installed and nobody is root."""
    for name in ("sh", "dirname", "grep", "env", "echo", "cat", "awk"):
        (tmp_path / name).symlink_to(Path("/usr/bin", name))
    script(tmp_path / "dpkg-query", "exit 1")
    script(tmp_path / "id", "echo 1000")
    script(tmp_path / "cc")
    return tmp_path


def apt(place: Path):
    return run_program(SETUP / "apt", "run", env={"PATH": str(place)})


def test_without_sudo_the_rest_goes_on(place):
    script(place / "apt-get", "echo called; exit 0")
    done = apt(place)
    assert done.returncode == 0 and "called" not in done.stdout
    assert "no sudo" in done.stderr and "do: " in done.stderr and "cmake" in done.stderr


def test_a_sudo_that_refuses_does_not_end_the_demo(place):
    script(place / "apt-get")
    script(place / "sudo", "echo 'a password is required' >&2; exit 1")
    done = apt(place)
    assert done.returncode == 0 and "Not installed:" in done.stderr


def test_without_a_compiler_it_ends_here(place):
    (place / "cc").unlink()
    done = apt(place)
    assert done.returncode == 2 and "C compiler" in done.stderr


def test_with_sudo_it_is_shown_and_done(place):
    script(place / "apt-get", f"echo $DEBIAN_FRONTEND $@ >>{place}/calls")
    script(place / "sudo", 'exec "$@"')
    done = apt(place)
    assert done.returncode == 0 and "+ sudo apt-get update && sudo apt-get install" in done.stdout
    update, install = (place / "calls").read_text().splitlines()
    assert update == "update -qq" and install.startswith("noninteractive install -y -qq")
    assert " cmake " in install
