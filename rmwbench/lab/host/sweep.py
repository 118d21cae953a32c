"""Removes processes of hosts whose orchestrator is gone, and what is left of shared hosts and of
several hosts' common directories; what lived in namespaces, the kernel removes."""

import os
import signal
import time
from pathlib import Path

from rmwbench.lab.host import common, shared_files
from rmwbench.lab.host.marker import Stray, strays
from rmwbench.lab.host.shared import stray_directories

GONE_TIMEOUT_S = 5.0


def remove_strays(dry_run: bool = False) -> list[Stray]:
    """The strays that were found and, unless `dry_run`, killed. Waits until they are gone."""
    found = strays()
    if dry_run:
        return found
    for stray in found:
        try:
            # A pidfd names the process and not the number: between finding and killing it may have
            # become somebody else's.
            descriptor = os.pidfd_open(stray.pid)
        except ProcessLookupError:
            continue
        try:
            if stray in strays():
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        except ProcessLookupError:
            pass
        finally:
            os.close(descriptor)
    deadline = time.monotonic() + GONE_TIMEOUT_S
    while any(stray in found for stray in strays()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def remove_directories(dry_run: bool = False) -> list[Path]:
    """Directories of hosts whose orchestrator is gone, and the segments that carry the names of
    shared ones."""
    shared, of_several = stray_directories(), common.stray_directories()
    if not dry_run:
        for directory in shared:
            shared_files.remove(str(directory))
        for directory in of_several:
            common.remove(directory)
    return shared + of_several
