"""The harness's C header and library, opened by cffi: the header is read as it is, so nothing mirrors it by hand."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import cffi

NATIVE = Path(__file__).resolve().parents[2] / "native"
HEADER = NATIVE / "harness" / "include" / "rmwbench_worker.h"
LIBRARY = "librmwbench_worker.so"
LIBRARY_VARIABLE = "RMWBENCH_WORKER_LIBRARY"
"""Names the library where it is not where cargo puts it."""

ffi = cffi.FFI()


def declarations(text: str) -> str:
    """What cffi can read of a C header: everything but directives, comments and the `extern "C"` bracket. Numeric
    `#define`s are kept, without their suffix."""
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
    ffi.cdef(declarations(HEADER.read_text()))
    path = os.environ.get(LIBRARY_VARIABLE) or Path(_target_directory(), "release", LIBRARY)
    try:
        return ffi.dlopen(str(path))
    except OSError as error:
        raise OSError(f"{path}: {error}; build it: rmwbench middlewares build") from None


def _target_directory() -> str:
    return subprocess.run([NATIVE / "target-dir"], capture_output=True, text=True, check=True).stdout.strip()
