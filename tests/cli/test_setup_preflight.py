"""setup/preflight: what a machine will do with both commands, said before anything is downloaded or
built, and changing nothing."""

import shutil
from pathlib import Path

import pytest

from tests.support.program import run_program, script

SETUP = Path(__file__).resolve().parents[2] / "setup"
TOOLS = (
    "sh",
    "dirname",
    "awk",
    "head",
    "cut",
    "find",
    "sed",
    "env",
    "cat",
    "ls",
    "mkdir",
    "rm",
    "grep",
)


def with_free_mb(place: Path, amount: int) -> None:
    script(place / "df", f"echo heading; echo disk 1 1 {amount} 1% /")


def preflight(place: Path):
    environment = {"PATH": str(place), "HOME": str(place / "home")}
    return run_program(SETUP / "preflight", env=environment, timeout=60)


def line(place: Path, name: str) -> str:
    return next(x for x in preflight(place).stdout.splitlines() if x.split()[:1] == [name])


@pytest.fixture
def place(tmp_path):
    """A machine made of stand-ins: all packages, Rust, namespaces and much disk."""
    (tmp_path / "home").mkdir()
    for name in TOOLS:
        (tmp_path / name).symlink_to(shutil.which(name))
    script(tmp_path / "id", "echo 1000")
    script(tmp_path / "unshare")
    script(tmp_path / "dpkg-query", "echo install ok installed")
    script(tmp_path / "rustc", "echo rustc 1.95.0")
    script(tmp_path / "cargo", "echo cargo 1.95.0")
    with_free_mb(tmp_path, 90_000)
    return tmp_path


def test_a_machine_that_has_everything_is_said_to_and_nothing_is_changed(place):
    done = preflight(place)
    assert done.returncode == 0 and not done.stderr
    for part in ("host of its own", "all are here", "rustc 1.95.0", "90000 MB free"):
        assert part in done.stdout
    assert not any((place / "home").iterdir())


def test_missing_packages_are_named_and_who_cannot_install_them_hears_that_it_goes_on_without(
    place,
):
    script(place / "dpkg-query", 'case "$*" in *cmake*) exit 1 ;; esac; echo install ok installed')
    assert line(place, "packages").endswith("this user cannot install them: cmake")
    script(place / "sudo", "exit 1")
    assert line(place, "packages").endswith("to be installed: cmake")


def test_too_little_disk_is_refused_before_the_build(place):
    with_free_mb(place, 5000)
    done = preflight(place)
    assert done.returncode == 2 and "RMWBENCH_TARGET_DIR" in done.stderr
    assert "5000 MB free" in done.stdout


@pytest.mark.parametrize(("granted", "told"), [("4194304", True), ("16777216", False), ("", False)])
def test_a_receive_buffer_that_tuned_is_not_granted_is_said_before_the_build(place, granted, told):
    script(place / "cat", f"case $1 in */rmem_max) echo {granted};; esac")
    done = preflight(place)
    assert done.returncode == 0 and not done.stderr
    assert ("sysctl -w net.core.rmem_max=33554432" in done.stdout) == told
