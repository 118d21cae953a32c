"""A directory that all hosts of a trial see. Each has a /tmp of its own, so what they must agree on,
as the keys of a trial with security, lies outside of it. It goes when its hosts go, however they
end.
"""

import contextlib
import shutil
import tempfile
from pathlib import Path

from rmwbench.lab.host import marker
from rmwbench.lab.host.host import HostBroken

VARIABLE = "RMWBENCH_COMMON_DIRECTORY"
"""What every process of such a host finds it by."""
PLACE = Path("/var/tmp")
PREFIX = "rmwbench-hosts-"
OWNER = "owner"
"""The file that says whose it is, for `stray_directories`."""


def make(name: str) -> Path:
    """For the hosts of that name. Raises HostBroken."""
    try:
        directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=PLACE))
        (directory / OWNER).write_text(marker.of_this_process(name).text())
    except OSError as error:
        raise HostBroken(f"make a directory in {PLACE}", error.errno) from None
    return directory


def remove(directory: Path) -> None:
    """Whether it is still there or not."""
    shutil.rmtree(directory, ignore_errors=True)


def stray_directories() -> list[Path]:
    """Those whose orchestrator is gone."""
    found = []
    for directory in sorted(PLACE.glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError):
            if marker.is_abandoned((directory / OWNER).read_text()):
                found.append(directory)
    return found
