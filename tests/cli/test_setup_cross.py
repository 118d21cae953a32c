"""setup/cross, `make wheel TARGET=…`: what is missing for another kind of machine is one error with
what to do, and what is there is built for that kind."""

import os
from pathlib import Path

import pytest

from tests.support.program import run_program, script

ROOT = Path(__file__).resolve().parents[2]
TARGET = "aarch64-unknown-linux-gnu"
COMPILERS = ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++")
CARGO = """echo "$@" >>"$CALLS"
echo "$CARGO_TARGET_DIR $CMAKE_TOOLCHAIN_FILE $CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER" >>"$CALLS"
"""
RUSTC = """case "$*" in
"--print target-libdir --target "*) echo "$PLACE/rustlib" ;;
*) echo "rustc 1.95.0 (stand-in)" ;;
esac
"""


@pytest.fixture
def place(tmp_path):
    """A machine of x86 that has all it takes, and whose cargo writes down what it is asked."""
    for directory in ("/usr/bin", "/bin"):
        for path in Path(directory).glob("*"):
            other = path.name.startswith("aarch64-") or path.name in ("cargo", "rustc", "rustup")
            if not other and not (tmp_path / path.name).exists():
                (tmp_path / path.name).symlink_to(path)
    script(tmp_path / "uname", "echo x86_64")
    script(tmp_path / "dpkg", "echo arm64")
    script(tmp_path / "dpkg-query", "echo install ok installed")
    script(tmp_path / "cargo", CARGO)
    script(tmp_path / "rustc", RUSTC)
    for name in COMPILERS:
        script(tmp_path / name)
    (tmp_path / "rustlib").mkdir()
    (tmp_path / "rustlib" / "libstd-0123.rlib").touch()
    (tmp_path / "target" / TARGET / "release").mkdir(parents=True)
    return tmp_path


def cross(place: Path, target: str = TARGET):
    environment = {
        "PATH": str(place),
        "HOME": str(place),
        "PLACE": str(place),
        "CALLS": str(place / "calls"),
        "RMWBENCH_TARGET_DIR": str(place / "target"),
    }
    return run_program(ROOT / "setup" / "cross", target, env=environment)


def refused(place: Path, what: str, fix: str, target: str = TARGET) -> None:
    done = cross(place, target)
    assert done.returncode == 2 and not (place / "calls").exists(), done.stdout
    problem, advice = done.stderr.splitlines()[-2:]
    assert target in problem and what in problem
    assert advice.startswith("  do: ") and fix in advice


def test_tools_and_then_workers_are_built_for_the_target(place):
    old = place / "target" / TARGET / "release" / "rmwbench-fastdds"
    old.touch()
    done = cross(place)
    assert done.returncode == 0 and not done.stderr, done.stderr
    tools, environment, workers, _ = (place / "calls").read_text().splitlines()
    assert f"--target {TARGET}" in tools and "rmwbench-worker" in tools and "-sampler" in tools
    for name in ("floor", "synthetic", "null", "iceoryx2", "zenoh", "cyclonedds", "fastdds"):
        assert f"-p rmwbench-{name} " in workers + " " and f"rmwbench-{name} " not in tools
    assert "--keep-going" in workers and "--keep-going" not in tools
    directory, toolchain, linker = environment.split()
    assert directory == str(place / "target") and linker == COMPILERS[0]
    text = Path(toolchain).read_text()
    assert all(name in text for name in COMPILERS)
    assert not old.exists()  # it would be packed in the place of what does not build


def test_an_unknown_target_and_the_machine_itself_are_refused(place):
    refused(place, "aarch64-unknown-linux-gnu alone", "make wheel", "riscv64gc-unknown-linux-gnu")
    script(place / "uname", "echo aarch64")
    refused(place, "of that kind itself", "make wheel")


def test_make_takes_the_target_from_its_command_line():
    asked = ["make", "--dry-run", "--no-print-directory", "wheel"]
    environment = os.environ | {"MAKEFLAGS": ""}
    environment.pop("TARGET", None)

    def shown(*variables: str) -> str:
        return run_program(*asked, *variables, cwd=ROOT, env=environment, check=True).stdout

    plain, other = shown(), shown(f"TARGET={TARGET}")
    assert "middlewares build" in plain and "setup/cross" not in plain
    assert 'target-dir)/release"' in plain
    assert "middlewares build" not in other and f"setup/cross {TARGET}" in other
    assert f'target-dir)/{TARGET}/release"' in other
