"""Puts the built workers, stripped, into the wheel if RMWBENCH_WHEEL names the directory in which
cargo built them (as `make wheel` does). Every other wheel and an editable install stay unchanged.

The wheel is then for one kind of processor, and for a C library not older than the workers need; its
name says both. They are read from the workers, which need not be of this machine's kind.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "RMWBENCH_WHEEL"
INSIDE, ROS2 = "rmwbench/workers", "rmwbench/ros2"
MACHINES = {62: "x86_64", 183: "aarch64"}
"""ELF's number of a kind of machine → the name that `uname -m` and wheels have for it."""
LIBRARY, HEADER = "librmwbench_worker.so", "harness/include/rmwbench_worker.h"
EVERYWHERE = re.compile(r"(ld-linux.*|linux-vdso|libc|libm|libgcc_s|libpthread|libdl|librt)\.so.*")
"""Libraries that every system with the C library has."""


class Workers(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict) -> None:
        built = os.environ.get(VARIABLE)
        if not built or version == "editable":
            return
        self._stage = tempfile.TemporaryDirectory(prefix="rmwbench-wheel-")
        stage = Path(self._stage.name)
        sources = list(_built(Path(self.root, "native"), Path(built)))
        machine = _machine(sources)
        files = [_stripped(path, stage, machine) for path in sources]
        headers = "".join(_headers(path, machine) for path in files)
        needs = json.dumps(_needs(headers, machine), indent=1, sort_keys=True)
        (stage / "needs.json").write_text(needs + "\n")
        native = Path(self.root, "native")
        shutil.copy(native / HEADER, stage)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{_libc(headers)}_{machine}"
        build_data["force_include"] |= {
            str(path): f"{INSIDE}/{path.name}" for path in stage.iterdir()
        } | {str(path): f"{ROS2}/{inside}" for path, inside in _ros2(native)}

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        if hasattr(self, "_stage"):
            self._stage.cleanup()


def _built(native: Path, built: Path) -> Iterator[Path]:
    """Yield the tools, the workers of the first set and the library. End the build if a tool is
    missing; a worker that is not built is left out with a message."""
    programs = [(LIBRARY, True)]
    for crate in sorted([*native.glob("*/Cargo.toml"), *native.glob("middlewares/*/Cargo.toml")]):
        package = tomllib.loads(crate.read_text()).get("package", {})
        table = package.get("metadata", {}).get("rmwbench", {})
        if "tool" in table and table["tool"] != "worker-library":
            programs.append((package["name"], True))
        elif crate.parent.parent.name == "middlewares":
            programs.append((package["name"], False))
    for name, needed in programs:
        if (built / name).is_file():
            yield built / name
        elif needed:
            sys.exit(f"{built / name}: not built\n  do: make workers")
        else:
            print(f"left out of the wheel: {name} is not built", file=sys.stderr)


def _ros2(native: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the sources of the worker on rclcpp, each with its path in the wheel
    (rmwbench/lab/middleware/catalogue.py)."""
    for package in ("rmwbench_msgs", "rmwbench_rclcpp"):
        yield native.parent / "ros2" / package, Path(package)
    profiles = (f"middlewares/{name}/profiles/tuned.xml" for name in ("cyclonedds", "fastdds"))
    for name in ("harness/include", *profiles):
        yield native / name, Path("native", name)


def _machine(files: list[Path]) -> str:
    """Return the kind of machine that all of them are for, from their ELF headers, as `uname -m`
    calls it."""
    kinds = [MACHINES.get(int.from_bytes(path.read_bytes()[18:20], "little")) for path in files]
    for path, machine in zip(files, kinds, strict=True):
        if machine is None or machine != kinds[0]:
            sys.exit(
                f"{path}: a program for {machine or 'another kind of machine'}\n"
                f"  expected: {kinds[0] or ' or '.join(MACHINES.values())}, like all that is packed\n"
                f"  do: remove {path.parent} and build again"
            )
    assert kinds[0], "the library is always packed"
    return kinds[0]


def _stripped(built: Path, stage: Path, machine: str) -> Path:
    path = stage / built.name
    subprocess.run([_tool("strip", machine), "--strip-all", "-o", path, built], check=True)
    path.chmod(0o755)
    return path


def _headers(path: Path, machine: str) -> str:
    return subprocess.run(
        [_tool("objdump", machine), "-p", path], check=True, capture_output=True, text=True
    ).stdout


def _tool(name: str, machine: str) -> str:
    """Return the program of the binutils for this kind of machine, since those of another kind do not
    read its programs."""
    other = "" if machine == platform.machine() else f"{machine}-linux-gnu"
    program = f"{other}-{name}" if other else name
    if shutil.which(program) is None:
        package = f"binutils-{other.replace('_', '-')}" if other else "binutils"
        sys.exit(f"{program}: not on the PATH\n  do: as root: apt-get install -y {package}")
    return program


def _libc(headers: str) -> str:
    """Return the newest version of the C library that a symbol needs, as a wheel's name has it."""
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", headers)
    return "{}_{}".format(*max((int(major), int(minor)) for major, minor in versions))


def _needs(headers: str, machine: str) -> dict[str, object]:
    """Return the needs of the workers in the format of rmwbench/lab/middleware/catalogue.py."""
    libraries = set(re.findall(r"NEEDED\s+(\S+)", headers))
    packages = {}
    for library in sorted(name for name in libraries if not EVERYWHERE.fullmatch(name)):
        path = Path("/usr/lib", f"{machine}-linux-gnu", library)
        command = ["dpkg-query", "--search", path] if shutil.which("dpkg-query") else ["false"]
        owner = subprocess.run(command, capture_output=True, text=True).stdout.partition(":")[0]
        if owner:
            packages[library] = owner
    return {"system": platform.freedesktop_os_release().get("PRETTY_NAME"), "packages": packages}
