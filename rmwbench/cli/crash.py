"""The end of a verb by an exception that nobody foresaw: one line, and a file with what is needed
to repair it.

It is never an answer, so its exit code is 2: a script must not take a crash for "no".
"""

import os
import platform
import sys
import tempfile
import time
import traceback
from pathlib import Path

from rmwbench import home
from rmwbench.errors import UserError

MOST_KEPT = 20


def told(error: BaseException) -> str:
    """What to print: the exception in one line, and where its details are."""
    details = _details(error)
    place = _kept(details)
    if place is None:
        return f"a mistake in rmwbench, and its details can be written nowhere\n\n{details}"
    kind = type(error).__name__
    words = " ".join(str(error).split())[:200]
    return (
        f"a mistake in rmwbench ended this command: {kind}{': ' if words else ''}{words}\n"
        f"  do: report it with the details in {place}"
    )


def directory() -> Path:
    """Where the details go: the user's state directory, beside the calibrations."""
    return home.state() / "mistakes"


def _details(error: BaseException) -> str:
    from importlib.metadata import version

    lines = [
        f"rmwbench {version('rmwbench')}, Python {platform.python_version()}, "
        f"{platform.platform()}",
        f"at {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}, in {os.getcwd()}",
        "arguments: " + " ".join(map(repr, sys.argv[1:])),
        "",
        *traceback.format_exception(error),
    ]
    return "\n".join(lines)


def _kept(details: str) -> Path | None:
    """The file that has them now: in the state directory, or where that is not possible in that of
    temporary files."""
    stamp = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for place in (directory, lambda: Path(tempfile.gettempdir())):
        try:
            path = place() / (stamp if place is directory else f"rmwbench-mistake-{stamp}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(details, encoding="utf-8", errors="backslashreplace")
            if place is directory:
                for old in sorted(path.parent.glob("*.txt"))[:-MOST_KEPT]:
                    old.unlink(missing_ok=True)
            return path
        except (OSError, UserError):  # no home
            continue
    return None
