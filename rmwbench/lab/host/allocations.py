"""The library that counts what a worker allocates (native/sampler/allocations/), handed to it at
its start.

It travels in the sampler's program and reaches a worker as an inherited memory file that the
dynamic linker loads before the C library: no file has to be where a host's own /tmp hides ours, and
nothing is left behind.
"""

import os
import subprocess
from functools import cache
from pathlib import Path

from rmwbench.errors import UserError
from rmwbench.lab.middleware import tool

SAMPLER = "sampler"
FD = 5
"""In the worker."""
ENVIRONMENT = {"LD_PRELOAD": f"/proc/self/fd/{FD}"}
TIMEOUT_S = 10.0


def library() -> int:
    """A descriptor of the library, ours to keep. Raises UserError where there is no sampler, or one
    too old to have it."""
    path = tool.find(SAMPLER).executable
    return _loaded(path, path.stat().st_mtime_ns)


@cache
def _loaded(path: Path, _changed_ns: int) -> int:
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
