"""The report of a crash: one printed line, and a file with the details that a developer needs."""

import os
import platform
import sys
import tempfile
import time
import traceback
from importlib.metadata import version
from pathlib import Path

from rmwbench import home
from rmwbench.errors import UserError

MOST_REPORTS = 20


def crash_message(error: BaseException) -> str:
    """Return the message to print: the exception in one line and the file with its details, or the
    details themselves if they can be written nowhere. Raises nothing."""
    details = _details(error)
    path = _write_report(details)
    if path is None:
        return f"a mistake in rmwbench, and its details can be written nowhere\n\n{details}"
    kind = type(error).__name__
    text = " ".join(str(error).split())[:200]
    return (
        f"a mistake in rmwbench ended this command: {kind}{': ' if text else ''}{text}\n"
        f"  do: report it with the details in {path}"
    )


def reports_directory() -> Path:
    """Return the directory of the reports, in the user's state directory. Raises UserError if the
    user has no home."""
    return home.state() / "mistakes"


def _details(error: BaseException) -> str:
    lines = [
        f"rmwbench {version('rmwbench')}, Python {platform.python_version()}, "
        f"{platform.platform()}",
        f"at {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}, in {_working_directory()}",
        "arguments: " + " ".join(map(repr, sys.argv[1:])),
        "",
        *traceback.format_exception(error),
    ]
    return "\n".join(lines)


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:  # somebody has deleted it
        return f"a working directory that cannot be read: {error.strerror}"


def _write_report(details: str) -> Path | None:
    """Write the details into the state directory, or else into the directory of temporary files.
    Return the file, or None if both are impossible."""
    stamp = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for directory in (reports_directory, lambda: Path(tempfile.gettempdir())):
        is_own = directory is reports_directory
        try:
            path = directory() / (stamp if is_own else f"rmwbench-mistake-{stamp}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(details, encoding="utf-8", errors="backslashreplace")
            if is_own:
                for old_report in sorted(path.parent.glob("*.txt"))[:-MOST_REPORTS]:
                    old_report.unlink(missing_ok=True)
            return path
        except (OSError, UserError):  # no home
            continue
    return None
