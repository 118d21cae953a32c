"""When a declaration was written: from git, line by line, where the file lies in a repository; else
as told.

A file's own time says when it was copied, so it is never used.
"""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from rmwbench.published.community.rep2004.declaration import Dates

TIMEOUT_S = 30


def of(path: Path) -> tuple[str | None, str, Dates]:
    """(date of the document, where it comes from, the dates of its lines)."""
    committed = _git(path, "log", "-1", "--format=%cI", "--", path.name)
    if not committed:
        return None, "", lambda lines: None
    by_line = _blame(path)
    return (
        committed.strip()[:10],
        "git",
        lambda lines: max((by_line[line] for line in lines if line in by_line), default=None),
    )


def _blame(path: Path) -> dict[int, str]:
    """Line → the date of the commit that last changed it; lines that are not committed yet have
    none."""
    text = _git(path, "blame", "--line-porcelain", "--", path.name) or ""
    found: dict[int, str] = {}
    line = time = 0
    commit = ""
    for row in text.split("\n"):
        words = row.split(" ")
        if row.startswith("\t"):
            if set(commit) != {"0"}:
                found[line] = datetime.fromtimestamp(time, UTC).date().isoformat()
        elif len(words) >= 3 and len(words[0]) >= 40 and words[2].isdigit():
            commit, line = words[0], int(words[2])
        elif words[0] == "committer-time":
            time = int(words[1])
    return found


def _git(path: Path, *arguments: str) -> str | None:
    """What git says, None where the file is in no repository or there is no git."""
    command = ["git", "-C", str(path.resolve().parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None
