"""Gives a worker the library that counts its allocations (native/sampler/allocations/).

The program of the sampler contains the library. A worker inherits it as a memory file, which the
dynamic linker loads before the C library: no file has to lie where the /tmp of a host hides the
machine's, and nothing is left behind.
"""

import os
import subprocess
from functools import cache
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.lab.middleware import tool

SAMPLER = "sampler"
FD = 5
"""The descriptor of the library in the worker."""
ENVIRONMENT = {"LD_PRELOAD": f"/proc/self/fd/{FD}"}
TIMEOUT_S = 10.0


def library() -> int:
    """A descriptor of the library, which stays open for as long as this process runs. Raises
    UserError where there is no sampler, or where it is too old to contain the library."""
    path = tool.find(SAMPLER)
    return _memory_file(path, path.stat().st_mtime_ns)


@cache
def _memory_file(path: Path, _changed_ns: int) -> int:
    content, problem = b"", ""
    try:
        result = subprocess.run(
            [path, "--allocations-library"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
        )
        content, problem = result.stdout, result.stderr.decode(errors="replace").strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = repr(error)
    if not content.startswith(b"\x7fELF"):
        raise UserError(
            "the sampler has no library that counts allocations",
            where=str(path),
            actual=problem.partition("\n")[0] or "no library on its output",
            fix=tool.BUILD,
        )
    fd = os.memfd_create("rmwbench-allocations", os.MFD_CLOEXEC)
    os.write(fd, content)
    return fd
