"""The clean-up of a campaign whose orchestrator died: its resources are recorded as removed and its
unfinished files are deleted. Finished trials are never touched.
"""

import shutil
from pathlib import Path

from rmwbench.beside import parts
from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.journal import ResourceRemoved
from rmwbench.errors import UserError
from rmwbench.lab.host import marker


def settle(directory: Path, dry_run: bool) -> list[str]:
    """Clean up; return a text for each item that was (or, in a dry run, would be) removed. Raises
    UserError for a campaign that still runs."""
    bundle = Bundle(directory)
    open_ends = bundle.journal.left_behind()
    files = bundle.unnamed()
    patterns = (part.UNFINISHED for part in parts("trial"))
    bags = sorted(path for pattern in patterns for path in directory.glob(pattern))
    for line in open_ends:
        if marker.lives(str(line.resource.get("marker", ""))):
            raise UserError(
                "this campaign still runs",
                where=str(directory),
                fix="wait for it, or stop it with Ctrl-C",
            )
    leftovers = [f"{path}, which no journal line names" for path in files]
    leftovers += [f"{path}, a bag that was being recorded" for path in bags]
    leftovers += [
        f"an entry of the journal that was not closed: {line.resource.get('kind', 'a resource')}"
        for line in open_ends
    ]
    if leftovers and not dry_run:
        # Only the lock shows a process in another container.
        with BundleWriter.reopen(directory) as writer:  # removes the unnamed files
            for path in bags:
                shutil.rmtree(path, ignore_errors=True)
            for line in open_ends:
                writer.append(ResourceRemoved(resource=line.resource))
    return leftovers
