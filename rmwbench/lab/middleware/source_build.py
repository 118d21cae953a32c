"""Builds the libraries of a newer version than the system's into the cache, at
`CACHE/newest/MIDDLEWARE/SOURCE_VERSION`; tells before where that is possible and what it costs.

Everything that can be missing is checked and downloaded before anything is compiled. The libraries
are compiled as Debian compiles its own, with the flags of its build system and of the package: the
newest version beside the system's compares versions, not settings of compilers. A directory is
complete once it has the file ORIGIN, which is written last.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rmwbench import home
from rmwbench.errors import UserError
from rmwbench.lab.middleware import workspace
from rmwbench.lab.middleware.catalogue import (
    CORES,
    BuildResult,
    Newest,
    Recipe,
    apt_command,
    recipes,
)
from rmwbench.lab.middleware.debian_archive import (
    KEYRING,
    RELEASE,
    AptArchive,
    BuildPlan,
    plan_build,
)
from rmwbench.lab.middleware.find import Worker, find_workers
from rmwbench.words.numbers import counted

ORIGIN = Path("share", "rmwbench", "origin")
"""The file below a prefix with the source packages that it was built from, a line for each, the
middleware's first. The crate's build script puts the first line into the worker's description."""


@dataclass(frozen=True)
class NewestPrefix:
    """A prefix with libraries, and the version of their source package."""

    prefix: Path
    version: str


def home_of(recipe: Recipe) -> Path:
    return home.cache() / "newest" / recipe.middleware


def prefix_of(recipe: Recipe, version: str) -> Path:
    """The prefix of a version, without a colon, which would end it in a list of paths."""
    return home_of(recipe) / f"{_newest(recipe).source}_{version}".replace(":", "-")


def newest_prefix(recipe: Recipe) -> NewestPrefix | None:
    """The prefix that was completed last; None where none is complete."""
    origins = [path for path in home_of(recipe).glob(f"*/{ORIGIN}") if path.is_file()]
    if not origins:
        return None
    origin = max(origins, key=lambda path: path.stat().st_mtime_ns)
    prefix = origin.parents[len(ORIGIN.parts) - 1]
    return NewestPrefix(prefix, prefix.name.partition("_")[2])


def remove_replaced(chosen: Iterable[Recipe], built_names: Container[str]) -> None:
    """Removes the prefixes that a newer one has replaced, once a worker is built with that."""
    for recipe in chosen:
        if recipe.prefix is not None and recipe.middleware in built_names:
            pattern = recipe.prefix.name.partition("_")[0] + "_*"
            for directory in recipe.prefix.parent.glob(pattern):
                if directory != recipe.prefix:
                    shutil.rmtree(directory)


def remove_orphan(recipe: Recipe) -> Path | None:
    """Removes a worker whose libraries are gone, because it would hide the worker with the system's
    libraries. Returns its path, None where there is none."""
    program = workspace.newest_directory() / "release" / recipe.crate
    if recipe.newest is None or newest_prefix(recipe) is not None or not program.is_file():
        return None
    program.unlink()
    return program


def recipe_of(recipe: Recipe, newest: NewestPrefix) -> Recipe:
    """The recipe of a worker that is built with the libraries of a prefix."""
    return replace(
        recipe,
        middleware=f"{recipe.middleware} {newest.version}",
        prefix=newest.prefix,
        target=workspace.newest_directory(),
    )


MEMORY_PER_JOB = 1.5e9
"""The bytes that a compiler may need."""
TOOLS = {"cmake": "cmake", "make": "make", "c++": "g++", "dpkg-source": "dpkg-dev"}
"""Program → the package that brings it."""
_EXPORT = re.compile(r"^export\s+(DEB_\w+)\s*:?=\s*([^$\n]*)$", re.MULTILINE)


def minutes(newest: Newest) -> float:
    """The minutes of a build on this machine's processors, at least one, from those on `CORES`
    processors."""
    return max(1.0, newest.minutes * CORES / _jobs())


def cost(recipe: Recipe) -> str:
    newest = _newest(recipe)
    processors = counted(_jobs(), "processor")
    return (
        f"about {minutes(newest):.0f} min on {processors}, and {newest.gigabytes:g} GB "
        f"in {home_of(recipe)} meanwhile"
    )


def with_newest_source(chosen: Sequence[Recipe]) -> list[Recipe]:
    """The recipes of which a newer version can be built. Raises UserError where there is none."""
    buildable = [recipe for recipe in chosen if recipe.newest is not None]
    if buildable:
        return buildable
    buildable_names = [name for name, recipe in recipes().items() if recipe.newest is not None]
    raise UserError(
        "--newest is for middlewares whose system packages are old",
        expected="one of " + ", ".join(buildable_names),
        fix="leave out --newest: the others are of the version that rmwbench names",
    )


def build_all(
    newer: Sequence[Recipe], partly: bool, announce: Callable[[str], None]
) -> list[BuildResult]:
    """Builds the newest version of each recipe; all are prepared before the first is built. With
    `partly`, a middleware that has a newer version already is skipped, and a problem is announced
    and not raised, since the system's version is built in any case."""
    to_build = [recipe for recipe in newer if not (partly and newest_prefix(recipe))]
    plans: list[tuple[Recipe, BuildPlan]] = []
    results: list[BuildResult] = []

    @contextmanager
    def announced_if_partly(recipe: Recipe) -> Iterator[None]:
        try:
            yield
        except UserError as error:
            if not partly:
                raise
            announce(f"{recipe.middleware}: without its newest version: {error}")

    for recipe in to_build:
        with announced_if_partly(recipe):
            plans.append((recipe, prepare(recipe, announce)))
    for recipe, plan in plans:
        with announced_if_partly(recipe):
            results.append(build(recipe, plan, announce))
    return results


def prepare(recipe: Recipe, announce: Callable[[str], None]) -> BuildPlan:
    """Plans the build with the lists of Debian's archive, and announces the plan and its duration.
    Raises one UserError where the build is impossible."""
    newest = _newest(recipe)
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if missing:
        raise _missing_packages_error(recipe, missing)
    archive = _archive(recipe)
    announce(f"{recipe.middleware}: asking Debian's archive for its newest source package")
    archive.update()
    plan = plan_build(newest, archive)
    for line in plan_lines(recipe, plan):
        announce(line)
    if not is_built(recipe, plan):
        # `apt` also names the system's own libraries, which are not needed here
        apt = tuple(name for name in recipe.apt if not name.startswith("lib"))
        missing = [*plan.missing, *replace(recipe, apt=apt, probe_headers=()).missing_packages()]
        if missing:
            raise _missing_packages_error(recipe, missing)
        _require_space(recipe)
    return plan


def is_built(recipe: Recipe, plan: BuildPlan) -> bool:
    """Whether the newest prefix has the version of the plan."""
    prefix = newest_prefix(recipe)
    return prefix is not None and prefix.version == plan.source.version


def plan_lines(recipe: Recipe, plan: BuildPlan) -> list[str]:
    """The lines that tell which packages a plan builds and which it uses."""
    lines = [
        f"{recipe.middleware}: {plan.source.name} {plan.source.version}, Debian's newest source "
        f"package ({RELEASE})"
    ]
    lines += [
        f"  built first: {source.name} {source.version}: {why}" for source, why in plan.build[:-1]
    ]
    if plan.system:
        used = ", ".join(f"{name} {version}" for name, version in plan.system.items())
        lines.append(f"  of the system: {used}")
    if is_built(recipe, plan):
        return [*lines, f"  it is there: {prefix_of(recipe, plan.source.version)}"]
    return [*lines, f"  {cost(recipe)}"]


def build(recipe: Recipe, plan: BuildPlan, announce: Callable[[str], None]) -> BuildResult:
    """Downloads the sources, compiles and installs them; the progress of the compilers goes to the
    terminal. Raises UserError where the sources cannot be downloaded."""
    version = plan.source.version
    name = f"{recipe.middleware} {version}"
    if is_built(recipe, plan):
        return BuildResult(name, None)
    prefix, work = prefix_of(recipe, version), home_of(recipe) / "work"
    for old_directory in (work, prefix):
        shutil.rmtree(old_directory, ignore_errors=True)
    trees = [_archive(recipe).get(source, work) for source, _ in plan.build]
    for number, ((source, _), tree) in enumerate(zip(plan.build, trees, strict=True), start=1):
        last = number == len(trees)
        duration = f"; about {minutes(_newest(recipe)):.0f} min" if last else ""
        announce(f"[{number}/{len(trees)}] {source.name} {source.version}{duration}")
        problem = _compile(tree, prefix, _newest(recipe).cmake if last else ())
        if problem:
            return BuildResult(name, f"{source.name}: {problem}")
    _finish(plan, prefix)
    shutil.rmtree(work)
    return BuildResult(name, None)


def flags(tree: Path) -> dict[str, str]:
    """The compilers' variables in Debian's own build, without debug symbols."""
    rules = (tree / "debian" / "rules").read_text(encoding="utf-8", errors="replace")
    environment_of_rules = {name: value.strip() for name, value in _EXPORT.findall(rules)}
    names = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS")
    environment_of_rules |= {f"DEB_{name}_STRIP": "-g" for name in names[:2]}
    environment = {**os.environ, **environment_of_rules}
    values = {
        name: subprocess.run(
            ["dpkg-buildflags", "--get", name], cwd=tree, env=environment, capture_output=True,
            text=True, check=True,
        ).stdout.strip()
        for name in names
    }  # fmt: skip
    cpp = values.pop("CPPFLAGS")  # CMake knows no such variable
    return values | {name: f"{values[name]} {cpp}".strip() for name in names[:2]}


def _compile(tree: Path, prefix: Path, arguments: tuple[str, ...]) -> str | None:
    """Compiles and installs a tree. Returns the problem; None where there is none."""
    out = tree.with_name(f"{tree.name}-build")
    configure = ["cmake", "-S", str(tree), "-B", str(out), "-DCMAKE_BUILD_TYPE=None"]
    configure += [f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DCMAKE_PREFIX_PATH={prefix}"]
    configure += ["-DBUILD_SHARED_LIBS=ON", *arguments]
    make = ["cmake", "--build", str(out), "--parallel", str(_jobs()), "--target", "install"]
    environment = {**os.environ, **flags(tree)}
    for command in (configure, make):
        code = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL).returncode
        if code:
            return f"`{' '.join(command)}` ended with status {code}"
    shutil.rmtree(out)
    return None


def _finish(plan: BuildPlan, prefix: Path) -> None:
    """Writes the file ORIGIN, which completes the prefix."""
    origin = prefix / ORIGIN
    origin.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"Debian {plan.source.version} of {RELEASE}, built here"]
    lines += [f"{source.name} {source.version}" for source, _ in plan.build[:-1]]
    origin.write_text("\n".join(lines) + "\n")


def _require_space(recipe: Recipe) -> None:
    directory, needed_gb = home_of(recipe), _newest(recipe).gigabytes
    directory.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(directory).free / 1e9
    if free < needed_gb:
        raise UserError(
            f"there is not enough space to build {recipe.middleware}'s newest version",
            where=str(directory),
            expected=f"{needed_gb:g} GB free meanwhile",
            actual=f"{free:.1f} GB",
            fix="free some, or let XDG_CACHE_HOME name a directory with enough space",
        )


def _missing_packages_error(recipe: Recipe, missing: list[str]) -> UserError:
    return UserError(
        "packages are missing",
        actual=f"{recipe.middleware}'s newest version needs {', '.join(missing)}",
        fix=apt_command(missing),
    )


def _archive(recipe: Recipe) -> AptArchive:
    return AptArchive(home_of(recipe) / "apt")


def _newest(recipe: Recipe) -> Newest:
    assert recipe.newest is not None, "only recipes with an entry `newest` come here"
    return recipe.newest


def _jobs() -> int:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), int(memory / MEMORY_PER_JOB)))


def offers(chosen: Sequence[Recipe]) -> Iterator[str]:
    """Yields the offer of a newer build for each of these recipes that has one."""
    buildable = [recipe for recipe in chosen if recipe.newest is not None and recipe.prefix is None]
    workers = find_workers(recipe.middleware for recipe in buildable) if buildable else {}
    for recipe in buildable:
        if text := offer(recipe, workers.get(recipe.middleware)):
            yield text


def offer(recipe: Recipe, worker: Worker | None) -> str | None:
    """A sentence that offers a newer build; None where this version is not old by the crate's
    entry, where a newer version is built already, or where it cannot be built."""
    description = worker.description if worker else None
    if recipe.newest is None or description is None or newest_prefix(recipe) is not None:
        return None
    if shutil.which("apt-get") is None or not KEYRING.is_file():
        return None  # this is not a Debian; users can name an installation of their own
    version = description["version"]
    if numbers(version) >= numbers(recipe.newest.below):
        return None
    released = description["release_date"]
    dated = f" of {released[:7]}" if released else ""
    return (
        f"{recipe.middleware}: this is {version}{dated}, which the system has. Debian's newest "
        f"source package `{recipe.newest.source}` can be built beside it, in {cost(recipe)}: "
        f"rmwbench middlewares build {recipe.middleware} --newest"
    )


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, such as (2, 9, 1) for `2.9.1`."""
    parts: list[int] = []
    for part in version.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts)
