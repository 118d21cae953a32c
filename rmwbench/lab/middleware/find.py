"""Workers that are built: programs called `rmwbench-NAME` that answer `--describe`.

They are looked for in RMWBENCH_WORKERS (a directory) and then where cargo builds. A worker that does not answer is
reported with its reason and not hidden: somebody built it and expects to see it.
"""

import contextlib
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError, nearest
from rmwbench.lab.middleware import workspace
from rmwbench.lab.middleware.catalogue import recipes
from rmwbench.lab.worker import PROTOCOL

VARIABLE = "RMWBENCH_WORKERS"
DESCRIBE_TIMEOUT_S = 10.0
NO_MIDDLEWARE = "it is a tool and no middleware"
_NAME = re.compile(r"rmwbench-([a-z0-9][a-z0-9_]*)")
_described: dict[tuple[Path, int, int], tuple[dict[str, Any] | None, str | None]] = {}


@dataclass(frozen=True)
class Worker:
    """A program that was found. `description` is what `--describe` printed, or None and `problem` says why."""

    middleware: str
    executable: Path
    description: dict[str, Any] | None
    problem: str | None

    def profile(self, name: str) -> dict[str, Any]:
        """The embedded profile of that name. Raises UserError with the nearest."""
        profiles = (self.description or {}).get("profiles", [])
        for profile in profiles:
            if profile["name"] == name:
                return profile
        known = [profile["name"] for profile in profiles]
        suggestion = nearest(name, known)
        raise UserError(
            f"{self.middleware} has no profile {name!r}",
            expected="one of " + ", ".join(known) + ", or the path of a configuration file",
            actual=name,
            fix=f"did you mean {suggestion!r}?" if suggestion else None,
        )


def find_workers() -> dict[str, Worker]:
    """Middleware → worker, for every worker found; the first place wins."""
    found: dict[str, Worker] = {}
    for directory, only in _places():
        if not directory.is_dir():
            continue
        for path in sorted(directory.iterdir()):
            match = _NAME.fullmatch(path.name)
            if match and (only is None or match[1] in only) and path.is_file() and os.access(path, os.X_OK):
                worker = _worker(match[1], path)
                if worker.problem != NO_MIDDLEWARE:
                    found.setdefault(match[1], worker)
    return found


def _places() -> list[tuple[Path, set[str] | None]]:
    """Directories with the names to look for there; None is every name: cargo's directory also holds programs that are
    no workers."""
    places: list[tuple[Path, set[str] | None]] = []
    if VARIABLE in os.environ:
        directory = Path(os.environ[VARIABLE])
        if not directory.is_dir():
            raise UserError(f"{VARIABLE} is no directory", where=str(directory), fix="correct or unset the variable")
        places.append((directory, None))
    # Without a toolchain there is nothing that cargo built; `require_workers` explains it where it matters.
    with contextlib.suppress(UserError):
        places.append((workspace.target_directory() / "release", set(recipes())))
    return places


def _worker(middleware: str, path: Path) -> Worker:
    status = path.stat()
    key = (path, status.st_mtime_ns, status.st_size)
    if key not in _described:
        _described[key] = _describe(middleware, path)
    description, problem = _described[key]
    return Worker(middleware, path, description, problem)


def _describe(middleware: str, path: Path) -> tuple[dict[str, Any] | None, str | None]:
    try:
        done = subprocess.run(
            [path, "--describe"], stdin=subprocess.DEVNULL, capture_output=True, timeout=DESCRIBE_TIMEOUT_S, text=True
        )
    except subprocess.TimeoutExpired:
        return None, f"--describe did not end within {DESCRIBE_TIMEOUT_S:g} s"
    except OSError as error:
        return None, f"cannot be executed: {error.strerror}"
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return None, f"--describe ended with status {done.returncode}: {last[0]}"
    try:
        description = json.loads(done.stdout)
        if "tool" in description and "middleware" not in description:
            return None, NO_MIDDLEWARE
        profiles, found = description["profiles"], description["middleware"]
        [description[name] for name in ("layer", "version", "release_date", "capabilities", "build")]
        [(profile["name"], profile["format"], profile["text"]) for profile in profiles]
        protocol = description["protocol"]
    except (ValueError, KeyError, TypeError) as error:
        return None, f"--describe does not print what the worker protocol asks for: {error!r}"
    if protocol != PROTOCOL:
        return None, f"speaks protocol {protocol!r}, this rmwbench speaks {PROTOCOL}: build it again"
    if found != middleware:
        return None, f"says that it is {found!r}"
    return description, None


def require_workers(names: list[str]) -> dict[str, Worker]:
    """The workers of these middlewares. Raises one UserError that names all that are missing and the command that
    builds them."""
    found = find_workers()
    broken = {name: found[name].problem for name in names if name in found and found[name].problem}
    missing = [name for name in dict.fromkeys(names) if name not in found]
    if not missing and not broken:
        return {name: found[name] for name in names}
    buildable = recipes()
    unknown = [name for name in missing if name not in buildable]
    reasons = [f"{name}: {problem}" for name, problem in broken.items()] + [f"{name}: not built" for name in missing]
    if unknown:
        suggestion = nearest(unknown[0], [*buildable, *found])
        raise UserError(
            f"unknown middleware {', '.join(unknown)}",
            expected="one of " + ", ".join(dict.fromkeys([*buildable, *found])),
            fix=f"did you mean {suggestion!r}?" if suggestion else None,
        )
    raise UserError(
        "middlewares of this suite are not ready",
        actual="; ".join(reasons),
        fix="rmwbench middlewares build " + " ".join([*missing, *broken]),
    )
