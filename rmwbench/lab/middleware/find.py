"""Finds the workers that are built: programs called `rmwbench-NAME` that answer `--describe`.

The search covers RMWBENCH_WORKERS (a directory), the directory in which cargo builds, the workers
of a wheel, the directory of this Python (workers in Python), and a sourced ROS 2
(AMENT_PREFIX_PATH). A worker that does not answer is reported with its reason, because its user
expects it in the list. One program may be several middlewares: a worker on rclcpp is one with each
RMW.

A middleware may be installed in several versions. The worker that is found first has the bare name,
and another one has a name with its series: `fastdds`, and beside it `fastdds-2.9`. The name with
the series also finds a worker that has the bare name.

`status` tells people and scripts that a middleware is built, or why it is not and which command
builds it.
"""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError, nearest
from rmwbench.lab import trial_view
from rmwbench.lab.middleware import catalogue, ros2, workspace
from rmwbench.lab.middleware.catalogue import Recipe, apt_command, recipes
from rmwbench.suite.arm import INSTALLED, SERIES, bare
from rmwbench.suite.file.suite_files import PREFIX, python_programs, shipped_middlewares

VARIABLE = trial_view.WORKERS
PROTOCOL = 1
"""The version of the workers' protocol (docs/formats/worker-protocol.md)."""
LIBRARIES = "LD_LIBRARY_PATH"
DESCRIBE_TIMEOUT_S = 10.0
NOT_BROUGHT = (
    "its worker did not come with this installation, and there is no checkout here to build it from"
)
NOT_BUILT = "not built"
UNKNOWN = "nothing of that name is here"
NO_MIDDLEWARE = "it is a tool and not a middleware"
_LIBRARY = re.compile(r"error while loading shared libraries: ([^\s:]+):")
_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([^'.]+)", re.MULTILINE)
_PROGRAM = re.compile(PREFIX + r"[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True)
class _Answer:
    """The answer to `--describe`: descriptions, or a problem, and the command that solves it."""

    descriptions: list[dict[str, Any]]
    problem: str | None = None
    fix: str | None = None


_answers: dict[tuple[Path, int, int], _Answer] = {}


@dataclass(frozen=True)
class Worker:
    """The program of a worker. `description` is its answer to `--describe`; where it is None,
    `problem` tells why, and `fix` is the command that solves it, if a build does not."""

    middleware: str
    executable: Path
    description: dict[str, Any] | None
    problem: str | None
    fix: str | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the worker: those that it inherits, and those that it sets."""
        description = self.description or {}
        inherited = {
            name: os.environ[name] for name in description.get("inherit", ()) if name in os.environ
        }
        own_variables: dict[str, str] = description.get("environment", {})
        return inherited | own_variables

    def has_profile(self, name: str) -> bool:
        return any(
            profile["name"] == name for profile in (self.description or {}).get("profiles", [])
        )

    def profile(self, name: str) -> dict[str, Any]:
        """The embedded profile of that name. Raises UserError with the nearest name."""
        profiles: list[dict[str, Any]] = (self.description or {}).get("profiles", [])
        for profile in profiles:
            if profile["name"] == name:
                return profile
        names = [profile["name"] for profile in profiles]
        suggestion = nearest(name, names)
        raise UserError(
            f"{self.middleware} has no profile {name!r}",
            expected=(f"one of {', '.join(names)}, or " if names else "")
            + "the path of a configuration file",
            actual=name,
            fix=f"did you mean {suggestion!r}?" if suggestion else None,
        )


def program_of(middleware: str) -> str:
    """The name of a middleware's program: the part before a slash (`rclcpp/rmw_cyclonedds_cpp`),
    with dashes for dots, which a crate's binary cannot have in its name."""
    return PREFIX + middleware.partition("/")[0].replace(".", "-")


def names_here() -> list[str]:
    """The middlewares whose programs are here. Only a user's own programs are run, which takes half
    a second for some: the middleware of another program follows from its name."""
    names, known_recipes = [], recipes()
    for directory, only in _places():
        for path in _programs(directory, only):
            is_users = only is None and directory == Path(os.environ.get(VARIABLE, ""))
            names += [d["middleware"] for d in _answer(path).descriptions] if is_users else []
            names.append(_middleware_of(path.name, known_recipes))
    return list(dict.fromkeys(names))


def find_workers(names: Iterable[str] | None = None) -> dict[str, Worker]:
    """Middleware → worker, for every worker that is here, or for those that may have one of these
    names. Of several programs with one name, the first that is found counts."""
    wanted_names = None if names is None else list(names)
    programs = (
        None
        if wanted_names is None
        else {program_of(form) for name in wanted_names for form in (name, bare(name))}
    )
    paths = [path for directory, only in _places() for path in _programs(directory, only)]
    paths = [path for path in paths if programs is None or path.name in programs]
    with ThreadPoolExecutor(max_workers=4) as pool:  # some programs first load a large library
        answers = list(pool.map(_answer, paths))
    workers: dict[str, Worker] = {}
    taken_programs: set[str] = set()  # the first program of a name gives all its middlewares
    series_workers: list[Worker] = []
    for path, answer in zip(paths, answers, strict=True):
        series_workers += _series_worker(path, answer)
        if path.name in taken_programs or answer.problem == NO_MIDDLEWARE:
            continue
        taken_programs.add(path.name)
        for description in answer.descriptions:
            workers.setdefault(
                description["middleware"],
                Worker(description["middleware"], path, description, None),
            )
        if answer.problem is not None:
            name = _middleware_of(path.name, recipes())
            workers.setdefault(name, Worker(name, path, None, answer.problem, answer.fix))
    for worker in series_workers:
        first = workers.get(bare(worker.middleware))
        hidden = first is not None and _series(first.description) != _series(worker.description)
        if hidden or worker.middleware in (wanted_names or ()):
            workers.setdefault(worker.middleware, worker)
    return workers


def _series(description: dict[str, Any] | None) -> str | None:
    """The series of a version, such as `2.9` of 2.9.1; None without a description."""
    return ".".join(description["version"].split(".")[:2]) if description else None


def _series_worker(path: Path, answer: _Answer) -> Iterator[Worker]:
    """Yields the middleware of a program under the name of its series, if it has only one."""
    if len(answer.descriptions) == 1 and not answer.problem:
        [description] = answer.descriptions
        name = f"{description['middleware']}-{_series(description)}"
        if SERIES.fullmatch(name) and "/" not in name:
            yield Worker(name, path, description | {"middleware": name}, None)


def _programs(directory: Path, only: set[str] | None) -> Iterator[Path]:
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        is_program = _PROGRAM.fullmatch(path.name) and (only is None or path.name in only)
        if is_program and path.is_file() and os.access(path, os.X_OK):
            yield path


def _middleware_of(program: str, middlewares: Iterable[str]) -> str:
    """The middleware of a program, by its name alone, among known middlewares."""
    return next(
        (name for name in middlewares if program_of(name) == program), program.removeprefix(PREFIX)
    )


def _places() -> list[tuple[Path, set[str] | None]]:
    """The directories of the search, each with the names of its programs. None stands for every
    program; the other directories also have programs that are not workers."""
    places: list[tuple[Path, set[str] | None]] = []
    if users_directory := os.environ.get(VARIABLE):
        directory = Path(users_directory)
        if not directory.is_dir():
            raise UserError(
                f"{VARIABLE} is not a directory",
                where=str(directory),
                fix="correct or unset the variable",
            )
        places.append((directory, None))
    # Without a toolchain, cargo has built nothing; `require_workers` explains that where it matters.
    with contextlib.suppress(UserError):
        target, known_recipes = workspace.target_directory(), recipes()
        newest = {program_of(name) for name, recipe in known_recipes.items() if recipe.newest}
        places.append((workspace.newest_directory() / "release", newest))
        places.append((target / "release", {program_of(name) for name in known_recipes}))
    with contextlib.suppress(UserError):
        if sourced := ros2.worker_directory():
            places.append((sourced, None))
    if wheel := catalogue.brought_directory():
        places.append((wheel, {program_of(name) for name in shipped_middlewares()}))
    places.append((Path(sys.executable).parent, set(python_programs())))
    for prefix in ros2.prefixes():
        places += [(directory, None) for directory in sorted(prefix.glob("lib/rmwbench_*"))]
    return places


def _answer(path: Path) -> _Answer:
    """The answer of a program to `--describe`, which is run once until the file changes."""
    status = path.stat()
    key = (path, status.st_mtime_ns, status.st_size)
    if key not in _answers:
        _answers[key] = _describe_as_in_trials(path)
    return _answers[key]


def _describe_as_in_trials(path: Path) -> _Answer:
    """Runs `--describe` as trials run the worker: without the shell's search path for libraries.
    With a sourced ROS 2, a native worker would load ROS's library of the same name (iceoryx's has
    one) and measure that. Only a worker that demands the variable, or cannot start without it, gets
    it."""
    environment = {name: value for name, value in os.environ.items() if name != LIBRARIES}
    answer = _describe(path, environment)
    inherits = any(
        LIBRARIES in description.get("inherit", ()) for description in answer.descriptions
    )
    if (
        LIBRARIES not in os.environ
        or answer.problem == NO_MIDDLEWARE
        or not (inherits or answer.problem)
    ):
        return answer
    answer = _describe(path, dict(os.environ))
    for description in answer.descriptions:
        description["inherit"] = sorted({LIBRARIES, *description.get("inherit", ())})
    return answer


def _describe(path: Path, environment: dict[str, str]) -> _Answer:
    command: list[str | Path] = [*trial_view.view_if_different(path), path, "--describe"]
    try:
        completed = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DESCRIBE_TIMEOUT_S,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return _Answer([], f"--describe did not end within {DESCRIBE_TIMEOUT_S:g} s")
    except OSError as error:
        return _Answer([], f"cannot be executed: {error.strerror}")
    if completed.returncode:
        if match := _LIBRARY.search(completed.stderr):
            return _Answer([], *catalogue.lacking_library(match[1]))
        if match := _MODULE.search(completed.stderr):
            return _Answer([], f"its Python package {match[1]} is not installed", _python_fix())
        last_line = completed.stderr.strip().splitlines()[-1:] or ["no message"]
        return _Answer([], f"--describe ended with status {completed.returncode}: {last_line[0]}")
    return _parse(completed.stdout, path.name)


def _parse(text: str, program: str) -> _Answer:
    """The answer in the output of `--describe`. Several descriptions share one protocol."""
    try:
        document = json.loads(text)
        if "tool" in document and "middleware" not in document:
            return _Answer([], NO_MIDDLEWARE)
        shared = {"protocol": document["protocol"]} if "protocol" in document else {}
        descriptions = [shared | entry for entry in document.get("middlewares", [document])]
        if not descriptions:
            return _Answer([], str(document.get("reason", "it has no middleware here")))
        for description in descriptions:
            if (protocol := description["protocol"]) != PROTOCOL:
                problem = f"speaks protocol {protocol!r}, this rmwbench speaks {PROTOCOL}"
                return _Answer([], f"{problem}: build it again")
            _check(description)
            description["release_date"] = description["release_date"] or None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return _Answer(
            [], f"the output of --describe does not follow the worker protocol: {error!r}"
        )
    for description in descriptions:
        if program_of(description["middleware"]) != program:
            return _Answer([], f"says that it is {description['middleware']!r}")
    return _Answer(descriptions)


def _python_fix() -> str:
    """The command that installs what workers in Python need."""
    if workspace.root():
        return "$(setup/uv) sync --frozen --extra python-workers"
    python = shlex.quote(sys.executable)
    into = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{into} 'rmwbench[python-workers]'"


def _check(description: dict[str, Any]) -> None:
    """Checks a description. Raises KeyError, TypeError or ValueError."""
    texts = [description[name] for name in ("middleware", "layer", "version")]
    texts += [description["release_date"] or ""]
    texts += [
        profile[name] for profile in description["profiles"] for name in ("name", "format", "text")
    ]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a name, a version or a profile is not a text")
    if "build" not in description:
        raise KeyError("build")
    maps = {name: description.get(name, {}) for name in ("capabilities", "modes", "environment")}
    maps["capabilities"] = description["capabilities"]
    for name, values in maps.items():
        if not all(isinstance(text, str) for text in values.values()):
            raise ValueError(f"{name} has values that are not texts")
    if not all(isinstance(name, str) for name in description.get("inherit", [])):
        raise ValueError("inherit names no variables")


@dataclass(frozen=True)
class NotReady:
    """The reason why a middleware cannot be run here, and the command that helps."""

    reason: str
    command: str | None = None

    @property
    def text(self) -> str:
        return f"{self.reason}: {self.command}" if self.command else self.reason


def not_ready(name: str, workers: dict[str, Worker]) -> NotReady | None:
    """The reason why a middleware cannot be run; None where it can."""
    worker = workers.get(name)
    if worker is not None and not worker.problem:
        return None
    command = _build_command(name) if name in recipes() else None
    if worker is not None and worker.problem:
        return NotReady(worker.problem, worker.fix or command)
    if command is not None:
        return NotReady(NOT_BUILT, command)
    if name in shipped_middlewares():
        return NotReady(NOT_BROUGHT)
    return _without_crate(name, workers) or NotReady(UNKNOWN)


def _build_command(name: str) -> str:
    return f"rmwbench middlewares build {name}"


def why_not_ready(name: str, workers: dict[str, Worker]) -> str | None:
    """The reason of `not_ready` in one line; None where the middleware can be run."""
    lack = not_ready(name, workers)
    if lack is None:
        return None
    if lack.reason == ros2.NOT_SOURCED:  # the reason is the same for all names
        return lack.text
    return f"{name} is {lack.text}" if lack.reason == NOT_BUILT else f"{name}: {lack.text}"


def require_workers(names: list[str]) -> dict[str, Worker]:
    """The workers of these middlewares. Raises one UserError for all that are missing."""
    workers = find_workers(names)
    lack_of = {name: lack for name in names if (lack := not_ready(name, workers))}
    if not lack_of:
        return {name: workers[name] for name in names}
    if unknown := [name for name, lack in lack_of.items() if lack.reason == UNKNOWN]:
        known_names = list(dict.fromkeys([*recipes(), *names_here()]))
        suggestion = nearest(unknown[0], known_names)
        raise UserError(
            f"unknown middleware {', '.join(unknown)}",
            expected="one of " + ", ".join(known_names),
            fix=f"did you mean {suggestion!r}?" if suggestion else None,
        )
    to_build = [name for name, lack in lack_of.items() if lack.command == _build_command(name)]
    reasons = [
        f"{name}: {lack.reason if name in to_build else lack.text}"
        for name, lack in lack_of.items()
    ]
    raise UserError(
        "middlewares of this suite are not ready",
        actual="; ".join(reasons),
        fix="rmwbench middlewares build " + " ".join(to_build)
        if to_build
        else "`rmwbench middlewares` lists those that are",
    )


def _without_crate(name: str, workers: dict[str, Worker]) -> NotReady | None:
    """The reason why a middleware that no crate builds is missing; None for an unknown name."""
    plain = bare(name)
    if plain != name and plain in {*recipes(), *workers}:
        description = workers[plain].description if plain in workers else None
        if description is None:
            return NotReady(NOT_BUILT, _build_command(plain))
        return NotReady(f"{plain} is {description['version']} here")
    base, slash, rmw = name.partition("/")
    if slash and base in workers and (problem := workers[base].problem):
        return NotReady(problem, _build_command(base) if base in ros2.recipes() else None)
    if slash and any(sibling.startswith(f"{base}/") for sibling in workers):
        siblings = ", ".join(sibling for sibling in workers if sibling.startswith(f"{base}/"))
        return NotReady(f"the sourced ROS 2 has {siblings}", ros2.install_command(rmw))
    if base == ros2.NAME and ros2.recipes():
        if (reason := ros2.why_not()) is None:
            return NotReady("not built for the sourced ROS 2", _build_command(ros2.NAME))
        return NotReady(reason, ros2.SOURCE_FIX if reason == ros2.NOT_SOURCED else None)
    if name.startswith(INSTALLED):
        return NotReady(f"no {program_of(name)} here", "source the ROS 2 that it was built in")
    return (
        NotReady(f"{program_of(name)} is not installed")
        if program_of(name) in python_programs()
        else None
    )


def status(name: str, recipe: Recipe | None, worker: Worker | None) -> dict[str, Any]:
    """The entry of a middleware (docs/formats/middlewares.md); an unknown value is None."""
    description = worker.description if worker else None
    reason, command = (None, None) if description else _why_not_built(name, recipe, worker)
    fields = ("layer", "version", "release_date", "build", "capabilities", "profiles", "modes")
    entry = {
        "middleware": name,
        "summary": recipe.summary if recipe else "",
        "first_set": recipe.first_set if recipe else False,
        "built": description is not None,
        "executable": str(worker.executable) if worker else None,
        **{field: description.get(field) if description else None for field in fields},
        "reason": reason,
        "command": command,
    }
    if description:
        entry["profiles"] = [{"summary": "", **profile} for profile in description["profiles"]]
    return entry


def _why_not_built(
    name: str, recipe: Recipe | None, worker: Worker | None
) -> tuple[str, str | None]:
    build = _build_command(name)
    if recipe is None:
        problem, command = (worker.problem or "", worker.fix) if worker else ("", None)
        return problem or "it does not answer", command
    if workspace.root() and workspace.cargo() is None:
        return "there is no Rust toolchain", workspace.RUST_FIX
    if recipe.middleware == ros2.NAME and (reason := ros2.why_not()):
        return reason, ros2.SOURCE_FIX if reason == ros2.NOT_SOURCED else None
    if missing := recipe.missing_packages():
        return f"packages are missing: {', '.join(missing)}", f"{apt_command(missing)} && {build}"
    if worker is not None:
        return worker.problem or "it does not answer", worker.fix or build
    return "not built yet", build


SHOWN_CHARACTERS = 40
"""Characters of a value in a sentence."""


def differences(
    first: Mapping[str, object] | None, second: Mapping[str, object] | None
) -> str | None:
    """The fields that differ between two descriptions, with both values; None without any."""
    first, second = first or {}, second or {}
    names = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    return (
        ", ".join(
            f"{name} {_short(second.get(name))} instead of {_short(first.get(name))}"
            for name in names
        )
        or None
    )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
