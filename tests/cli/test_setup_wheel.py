"""`make wheel`: what setup/wheel_workers.py packs, whose name is read from the programs, which may be
of another kind of machine than this one; and what setup/cross builds for such a machine."""

import importlib.util
import json
import os
import platform
import re
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rmwbench.lab.middleware import ros2
from tests.support.program import run_program, script

ROOT = Path(__file__).resolve().parents[2]
OBJDUMP = """cat <<'END'
  NEEDED               libacl.so.1
  NEEDED               libc.so.6
  NEEDED               ld-linux-aarch64.so.1
    0x06969194 0x00 04 GLIBC_2.34
    0x06969197 0x00 05 GLIBC_2.9
END
"""
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[platform.machine()]
NUMBER = {"x86_64": 62, "aarch64": 183}


class Interface:
    """What the module takes of hatchling, which only a build of a wheel has."""

    def __init__(self, root: Path) -> None:
        self.root = root


@pytest.fixture
def hook(monkeypatch):
    of = "hatchling.builders.hooks.plugin.interface"
    monkeypatch.setitem(sys.modules, of, SimpleNamespace(BuildHookInterface=Interface))
    path = ROOT / "setup" / "wheel_workers.py"
    spec = importlib.util.spec_from_file_location("wheel_workers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def built(tmp_path, monkeypatch):
    """All that a wheel takes, for another kind of machine, and stand-ins of the binutils for it."""
    directory = tmp_path / "release"
    directory.mkdir()
    names = ["rmwbench-link", "rmwbench-load", "rmwbench-sampler", "librmwbench_worker.so"]
    for name in [*names, "rmwbench-floor", "rmwbench-zenoh"]:
        elf(directory / name, NUMBER[OTHER])
    binutils = tmp_path / "bin"
    binutils.mkdir()
    # strip --strip-all -o TO FROM
    script(binutils / f"{OTHER}-linux-gnu-strip", 'cp "$4" "$3"')
    script(binutils / f"{OTHER}-linux-gnu-objdump", OBJDUMP)
    script(binutils / "dpkg-query", 'echo "libacl1:other: $2"; echo "$2" >>"$ASKED"')
    for name in ("strip", "objdump"):
        script(binutils / name, "exit 1")
    monkeypatch.setenv("PATH", f"{binutils}:/usr/bin:/bin")
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    monkeypatch.setenv("RMWBENCH_WHEEL", str(directory))
    return directory


def elf(path: Path, machine: int) -> None:
    path.write_bytes(b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HH", 3, machine))


def build(hook) -> dict:
    data = {"force_include": {}}
    workers = hook.Workers(ROOT)
    workers.initialize("standard", data)
    data["needs"] = next(
        json.loads(Path(path).read_text())
        for path, inside in data["force_include"].items()
        if inside.endswith("needs.json")
    )
    workers.finalize("standard", data, "")
    return data


def test_the_name_has_the_programs_machine_and_c_library(hook, built, tmp_path, capsys):
    data = build(hook)
    assert data["tag"] == f"py3-none-manylinux_2_34_{OTHER}" and data["pure_python"] is False
    assert "rmwbench/workers/rmwbench-zenoh" in data["force_include"].values()
    assert data["needs"]["packages"] == {"libacl.so.1": "libacl1"}
    assert (tmp_path / "asked").read_text() == f"/usr/lib/{OTHER}-linux-gnu/libacl.so.1\n"
    assert "left out of the wheel: rmwbench-fastdds is not built" in capsys.readouterr().err


def test_programs_of_two_kinds_are_no_wheel(hook, built):
    elf(built / "rmwbench-zenoh", NUMBER[platform.machine()])
    with pytest.raises(SystemExit, match=rf"rmwbench-zenoh: a program for {platform.machine()}\n"):
        build(hook)


def test_a_kind_that_no_wheel_is_made_for_is_refused(hook, built):
    for path in built.iterdir():
        elf(path, 243)
    with pytest.raises(SystemExit, match="another kind of machine\n  expected: x86_64 or aarch64"):
        build(hook)


def test_what_the_worker_on_rclcpp_is_built_from_is_inside(hook, built):
    brought = [Path(path) for path in build(hook)["force_include"].values()]
    inside = {path.relative_to("rmwbench/ros2") for path in brought if "ros2" in path.parts}
    cmake = (ROOT / "ros2" / ros2.PACKAGES[1] / "CMakeLists.txt").read_text()
    named = {Path("native", path) for path in re.findall(r"\$\{RMWBENCH_NATIVE\}/([\w./]+)", cmake)}
    assert len(named) >= 3 and inside == {*map(Path, ros2.PACKAGES), *named}


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
    command = ["make", "--dry-run", "--no-print-directory", "wheel"]
    environment = os.environ | {"MAKEFLAGS": ""}
    environment.pop("TARGET", None)

    def shown(*variables: str) -> str:
        return run_program(*command, *variables, cwd=ROOT, env=environment, check=True).stdout

    plain, other = shown(), shown(f"TARGET={TARGET}")
    assert "middlewares build" in plain and "setup/cross" not in plain
    assert 'target-dir)/release"' in plain
    assert "middlewares build" not in other and f"setup/cross {TARGET}" in other
    assert f'target-dir)/{TARGET}/release"' in other
