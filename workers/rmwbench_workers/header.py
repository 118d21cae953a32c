"""The harness's C header and library, opened by cffi: the header is read as it is, so nothing
mirrors it by hand."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import cffi

NATIVE = Path(__file__).resolve().parents[2] / "native"
BROUGHT = Path(__file__).resolve().parents[1] / "rmwbench" / "workers"
"""Beside this package where a wheel brought both."""
_HEADER = "rmwbench_worker.h"
LIBRARY = "librmwbench_worker.so"
LIBRARY_VARIABLE = "RMWBENCH_WORKER_LIBRARY"
"""Names the library where it is not where cargo puts it."""

ffi = cffi.FFI()


def declarations(text: str) -> str:
    """What cffi can read of a C header: everything but directives, comments and the `extern "C"`
    bracket. Numeric `#define`s are kept, without their suffix."""
    text = text.replace("\\\n", " ")  # a directive goes on behind a backslash
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.DOTALL)
    kept = []
    for line in text.splitlines():
        number = re.fullmatch(r"#define (\w+) (\d+)u?\s*", line)
        if number:
            kept.append(f"#define {number[1]} {number[2]}")
        elif not line.startswith("#"):
            kept.append(line)
    return "\n".join(kept)


@cache
def library() -> Any:
    """The harness. OSError where it was not built, with the command that builds it."""
    path = library_path()
    if not Path(path).is_file():
        raise OSError(f"{path} is not there: build it with `rmwbench middlewares build`")
    header = BROUGHT / _HEADER if BROUGHT.is_dir() else NATIVE / "harness" / "include" / _HEADER
    ffi.cdef(declarations(header.read_text()))
    return ffi.dlopen(path)


@cache
def library_path() -> str:
    """Where the library is, or would be after a build."""
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        return named
    if BROUGHT.is_dir():
        return str(BROUGHT / LIBRARY)
    found = subprocess.run([NATIVE / "target-dir"], capture_output=True, text=True, check=True)
    return str(Path(found.stdout.strip(), "release", LIBRARY))
