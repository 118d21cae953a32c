"""setup/preflight: what a machine will do with both commands, said before anything is downloaded or
built, and changing nothing."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

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


@dataclass
class Place:
    """A machine made of stand-ins: all packages, Rust, namespaces and much disk."""

    path: Path

    def program(self, name: str, text: str) -> None:
        (self.path / name).unlink(missing_ok=True)
        (self.path / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.path / name).chmod(0o755)

    def free_mb(self, amount: int) -> None:
        self.program("df", f"echo heading; echo disk 1 1 {amount} 1% /")

    def run(self) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.path), "HOME": str(self.path / "home")}
        return subprocess.run(
            [SETUP / "preflight"], env=environment, capture_output=True, text=True, timeout=60
        )

    def line(self, name: str) -> str:
        return next(line for line in self.run().stdout.splitlines() if line.split()[:1] == [name])


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    (tmp_path / "home").mkdir()
    for name in TOOLS:
        (tmp_path / name).symlink_to(shutil.which(name))
    made.program("id", "echo 1000")
    made.program("unshare", "exit 0")
    made.program("dpkg-query", "echo install ok installed")
    made.program("rustc", "echo rustc 1.95.0")
    made.program("cargo", "echo cargo 1.95.0")
    made.free_mb(90_000)
    return made


def test_a_machine_that_has_everything_is_said_to_and_nothing_is_changed(place):
    done = place.run()
    assert done.returncode == 0 and not done.stderr
    for part in ("host of its own", "all are here", "rustc 1.95.0", "90000 MB free"):
        assert part in done.stdout
    assert not any((place.path / "home").iterdir())


def test_missing_packages_are_named_and_who_cannot_install_them_hears_that_it_goes_on_without(
    place,
):
    place.program("dpkg-query", 'case "$*" in *cmake*) exit 1 ;; esac; echo install ok installed')
    assert place.line("packages").endswith("this user cannot install them: cmake")
    place.program("sudo", "exit 1")
    assert place.line("packages").endswith("to be installed: cmake")


def test_too_little_disk_is_refused_before_the_build(place):
    place.free_mb(5000)
    done = place.run()
    assert (
        done.returncode == 2
        and "RMWBENCH_TARGET_DIR" in done.stderr
        and "5000 MB free" in done.stdout
    )


@pytest.mark.parametrize(("granted", "told"), [("4194304", True), ("16777216", False), ("", False)])
def test_a_receive_buffer_that_tuned_is_not_granted_is_said_before_the_build(place, granted, told):
    place.program("cat", f"case $1 in */rmem_max) echo {granted};; esac")
    done = place.run()
    assert done.returncode == 0 and not done.stderr
    assert ("sysctl -w net.core.rmem_max=33554432" in done.stdout) == told
