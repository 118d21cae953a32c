"""Builds workers: those with the system's libraries together, by one cargo.

Missing packages are known before anything is compiled, and one command names them all: nobody
should learn of the second one after waiting for the first build. One cargo compiles several
workers, so that every processor has work all the time; it makes the same files as `cargo build -p`
of each, because of the crate `unified`.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rmwbench.errors import UserError, not_one_of
from rmwbench.lab.middleware import ros2, workspace
from rmwbench.lab.middleware.catalogue import (
    CORES,
    Built,
    Recipe,
    apt_command,
    recipes,
    tool_recipes,
)
from rmwbench.lab.middleware.debian import source_build

PROGRAMS = ("bin", "cdylib")
"""Kinds of targets that are a worker; the others are on the way to one."""


def compile_together(
    chosen: Sequence[Recipe],
    root: Path,
    environment: Mapping[str, str],
    announce: Callable[[str], None],
) -> set[str]:
    """Builds the crates of these recipes, and returns those that could be built. The progress and
    the errors of cargo go to the terminal."""
    names = {recipe.crate: recipe.middleware for recipe in chosen}
    crate_arguments = ["--locked", *(word for crate in names for word in ("-p", crate))]
    release = Path(environment["CARGO_TARGET_DIR"], "release")
    unbuilt = [recipe for recipe in chosen if not is_there(release, recipe.crate)]
    expected_s = 60 * expected_minutes([recipe.build_minutes or 0.0 for recipe in unbuilt])
    announce(f"building {', '.join(names.values())}{_remaining_text(expected_s)}")
    progress = CargoProgress(expected_s, _needed(crate_arguments, root, environment))
    announced_s, begun = 0.0, time.monotonic()
    built_crates: set[str] = set()
    command = ["cargo", "build", "--release", "--keep-going"]
    with subprocess.Popen(
        [*command, "--message-format", "json-render-diagnostics", *crate_arguments],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as cargo:
        assert cargo.stdout is not None
        for line in cargo.stdout:
            if (artifact := artifact_of(line)) is None:
                continue
            progress.see(artifact)
            now_s = time.monotonic() - begun
            time_left = _remaining_text(progress.left_s(now_s))
            if artifact.is_program and artifact.crate in names.keys() - built_crates:
                built_crates.add(artifact.crate)
                time_left = time_left if len(built_crates) < len(names) else ""
                announce(
                    f"[{len(built_crates)}/{len(names)}] {names[artifact.crate]} is built{time_left}"
                )
            elif time_left and now_s >= announced_s + ANNOUNCED_EVERY_S:
                announce(f"{progress.text}{time_left}")
            else:
                continue
            announced_s = now_s
    return built_crates


ANNOUNCED_EVERY_S = 60.0


@dataclass(frozen=True)
class Artifact:
    """A file that cargo made, by a line of `cargo --message-format json`."""

    package: str
    """With its version and where it comes from, as cargo names it."""
    is_program: bool
    fresh: bool
    """Whether it was there before, so that nothing was compiled."""

    @property
    def crate(self) -> str:
        """`rmwbench-link` of path+file:///…/native/link#rmwbench-link@0.1.0."""
        return self.package.rpartition("#")[2].partition("@")[0]


class CargoProgress:
    """How far cargo is, by the crates that it has compiled. Before a tenth of the work is done, the
    time left follows from `expected_s`; from then on it is extrapolated from the time that this
    machine took so far: a machine of two processors took 16 minutes where 8 were expected."""

    def __init__(self, expected_s: float, needed: int) -> None:
        self._expected_s = expected_s
        self._needed = needed
        self._compiled: set[str] = set()
        self._fresh: set[str] = set()

    def see(self, artifact: Artifact) -> None:
        """A crate that is made twice, for the build and for the program, counts once."""
        (self._fresh if artifact.fresh else self._compiled).add(artifact.package)

    def left_s(self, elapsed_s: float) -> float:
        """The seconds that remain, `elapsed_s` after the beginning."""
        done_share = _work_done(len(self._compiled) / self._to_compile) if self._needed else 0.0
        if done_share < LEAST_DONE:
            return max(self._expected_s - elapsed_s, 0.0)
        return elapsed_s * (1 / done_share - 1)

    @property
    def text(self) -> str:
        of = f" of {self._to_compile}" if self._needed else ""
        return f"crates compiled: {len(self._compiled)}{of}"

    @property
    def _to_compile(self) -> int:
        return max(self._needed - len(self._fresh - self._compiled), len(self._compiled), 1)


LEAST_DONE = 0.1
WORK_DONE = {0.0: 0.0, 0.5: 0.26, 0.8: 0.43, 0.95: 0.54, 1.0: 1.0}
"""Share of the crates → share of the time: the largest come last. Of the first set, from nothing,
on two virtual processors (2026-11-26)."""


def _work_done(share: float) -> float:
    import numpy as np

    return float(np.interp(share, list(WORK_DONE), list(WORK_DONE.values())))


def _needed(crate_arguments: Sequence[str], root: Path, environment: Mapping[str, str]) -> int:
    """The number of crates that these programs are made of, by `cargo tree`, which downloads them;
    0 where it fails."""
    command = ["cargo", "tree", "--edges", "normal,build", "--prefix", "none", "--no-dedupe"]
    completed = subprocess.run(
        [*command, "--format", "{p}", *crate_arguments],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    return len(set(completed.stdout.splitlines())) if completed.returncode == 0 else 0


SHARE = 0.8
"""The time of a build together, as a share of the sum of the times alone: 7.5 of 9.7 minutes for
the first set, on two virtual processors with nothing else running (2026-11-25)."""


def expected_minutes(alone: Sequence[float]) -> float:
    """The minutes that all take together, by the minutes that each takes alone on `CORES`
    processors."""
    processors = min(os.cpu_count() or CORES, 4 * CORES)
    return max(SHARE * sum(alone), max(alone, default=0.0)) * CORES / processors


def artifact_of(line: str) -> Artifact | None:
    """The artifact that a line names; None where a line of `cargo --message-format json` is about
    something else, such as a crate's build script, which comes before the crate."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    if not isinstance(message, dict) or message.get("reason") != "compiler-artifact":
        return None
    kinds = set(message.get("target", {}).get("kind", ()))
    if "custom-build" in kinds:
        return None
    package = str(message.get("package_id", ""))
    return Artifact(package, not kinds.isdisjoint(PROGRAMS), message.get("fresh") is True)


def _remaining_text(seconds: float) -> str:
    return f"; about {seconds / 60:.0f} min left" if seconds >= 60 else ""


def with_newest(chosen: Sequence[Recipe], newer: Sequence[Recipe] = ()) -> list[Recipe]:
    """The recipes, and behind each, and behind those of `newer`, the same with libraries that are
    newer than the system's, where those are built here: a worker that no longer fits this checkout
    would be as bad as none."""
    with_newer: list[Recipe] = []
    for recipe in dict.fromkeys([*chosen, *newer]):
        with_newer += [recipe] if recipe in chosen else []
        if recipe.newest is not None and (at := source_build.installed(recipe)):
            with_newer.append(source_build.recipe_of(recipe, at))
    return with_newer


def _build_variables(recipe: Recipe) -> dict[str, str]:
    """The variables of a build with libraries of its own."""
    if recipe.prefix is None or recipe.prefix_env is None:
        return {}
    return {recipe.prefix_env: str(recipe.prefix), "CARGO_TARGET_DIR": str(recipe.target)}


def is_there(release: Path, crate: str) -> bool:
    """Whether cargo built the crate's worker into `release` before."""
    return (release / crate).exists() or (release / f"lib{crate.replace('-', '_')}.so").exists()


def choose(names: Sequence[str]) -> list[Recipe]:
    """The recipes of these names, or the first set, and every tool, since no campaign runs without
    them. Raises UserError for an unknown name."""
    tools = tool_recipes()
    recipe_of = recipes() | ros2.recipes() | tools
    if workspace.root() is None and not (names and recipe_of.keys() >= set(names)):
        raise UserError(
            "workers are built in a checkout, and this is not one",
            where=str(Path(__file__).parents[2]),
            fix=workspace.NOT_THERE,
        )
    for name in names:
        if name not in recipe_of:
            raise not_one_of(f"no middleware {name!r} can be built here", name, recipe_of)
    chosen = names or [name for name, recipe in recipe_of.items() if recipe.first_set]
    return [recipe_of[name] for name in dict.fromkeys([*tools, *chosen])]


def check(chosen: Sequence[Recipe]) -> None:
    """Raises one UserError with everything that is missing, and one command for all packages."""
    if workspace.root() and workspace.cargo() is None:
        raise UserError(
            "the workers need a Rust toolchain",
            expected="cargo on PATH, or what setup/rust gets",
            fix=workspace.RUST_FIX,
        )
    if any(recipe.middleware == ros2.NAME for recipe in chosen):
        ros2.check()
    missing = without_packages(chosen)
    if missing:
        packages_needed = [package for packages in missing.values() for package in packages]
        raise UserError(
            "packages are missing",
            actual="; ".join(
                f"{name} needs {', '.join(packages)}" for name, packages in missing.items()
            ),
            fix=apt_command(packages_needed),
        )


def without_packages(chosen: Sequence[Recipe]) -> dict[str, tuple[str, ...]]:
    """Middleware → the packages that it lacks; only those that lack some."""
    return {
        recipe.middleware: packages for recipe in chosen if (packages := recipe.missing_packages())
    }


def build(chosen: Sequence[Recipe], announce: Callable[[str], None]) -> list[Built]:
    """Builds all of them, in the order of `chosen`; the compilers write their own progress and
    errors to the terminal. A failure does not stop the others."""
    crate_recipes = [recipe for recipe in chosen if recipe.middleware != ros2.NAME]
    results: dict[str, Built] = {}
    for target in dict.fromkeys(recipe.target for recipe in crate_recipes):
        root, environment = workspace.root(), workspace.cargo_environment()
        assert root is not None, "`choose` requires it"
        of_target = [recipe for recipe in crate_recipes if recipe.target == target]
        variables = environment | _build_variables(of_target[0])
        built_crates = compile_together(of_target, root, variables, announce)
        for recipe in of_target:
            command = f"cargo build --release --locked -p {recipe.crate}"
            problem = f"not built; alone: `{command}` in {root}"
            results[recipe.middleware] = Built(
                recipe.middleware, None if recipe.crate in built_crates else problem
            )
    for recipe in chosen:
        if recipe.middleware == ros2.NAME:
            announce(f"building {ros2.NAME}: {recipe.summary}")
            results[ros2.NAME] = Built(ros2.NAME, ros2.build())
    return [results[recipe.middleware] for recipe in chosen]
