"""setup/wheel_workers.py, what `make wheel` packs: the name of the wheel is read from the programs,
which may be of another kind of machine than this one."""

import importlib.util
import json
import platform
import re
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rmwbench.lab.middleware import ros2
from tests.support.program import script

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
