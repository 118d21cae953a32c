"""Puts the built workers into the wheel, stripped, where RMWBENCH_WHEEL names the directory that
cargo built them in (`make wheel` does). Every other wheel and an editable install are left as they
are.

The wheel is then of one processor and of a C library not older than the workers ask for, which its
name says.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "RMWBENCH_WHEEL"
INSIDE = "rmwbench/workers"
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
        files = list(_stripped(Path(self.root, "native"), Path(built), stage))
        libc = max(_libc_versions(files))
        (stage / "needs.json").write_text(
            json.dumps(_needs(files), indent=1, sort_keys=True) + "\n"
        )
        shutil.copy(Path(self.root, "native", HEADER), stage)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{libc[0]}_{libc[1]}_{platform.machine()}"
        build_data["force_include"] |= {
            str(path): f"{INSIDE}/{path.name}" for path in stage.iterdir()
        }

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        if hasattr(self, "_stage"):
            self._stage.cleanup()


def _stripped(native: Path, built: Path, stage: Path) -> Iterator[Path]:
    """The tools, the workers of the first set and the library. Ends the build where a tool is
    missing; a worker that is not built is left out, and said."""
    wanted = [(LIBRARY, True)]
    for crate in sorted([*native.glob("*/Cargo.toml"), *native.glob("middlewares/*/Cargo.toml")]):
        package = tomllib.loads(crate.read_text()).get("package", {})
        table = package.get("metadata", {}).get("rmwbench", {})
        if "tool" in table and table["tool"] != "worker-library":
            wanted.append((package["name"], True))
        elif table.get("first_set"):
            wanted.append((package["name"], False))
    for name, needed in wanted:
        if not (built / name).is_file():
            if needed:
                sys.exit(f"{built / name}: not built\n  do: make workers")
            print(f"left out of the wheel: {name} is not built", file=sys.stderr)
            continue
        path = stage / name
        subprocess.run(["strip", "--strip-all", "-o", path, built / name], check=True)
        path.chmod(0o755)
        yield path


def _headers(path: Path) -> str:
    return subprocess.run(
        ["objdump", "-p", path], check=True, capture_output=True, text=True
    ).stdout


def _libc_versions(files: list[Path]) -> Iterator[tuple[int, int]]:
    for path in files:
        for major, minor in re.findall(r"\bGLIBC_(\d+)\.(\d+)", _headers(path)):
            yield int(major), int(minor)


def _needs(files: list[Path]) -> dict[str, object]:
    """The format of rmwbench/lab/middleware/brought.py."""
    libraries = {name for path in files for name in re.findall(r"NEEDED\s+(\S+)", _headers(path))}
    packages = {}
    for library in sorted(name for name in libraries if not EVERYWHERE.fullmatch(name)):
        path = Path("/usr/lib", sysconfig.get_config_var("MULTIARCH") or "", library)
        asked = ["dpkg-query", "--search", path] if shutil.which("dpkg-query") else ["false"]
        owner = subprocess.run(asked, capture_output=True, text=True).stdout.partition(":")[0]
        if owner:
            packages[library] = owner
    return {"system": platform.freedesktop_os_release().get("PRETTY_NAME"), "packages": packages}
