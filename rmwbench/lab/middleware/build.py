"""Builds workers: those with the system's libraries together, by one cargo.

Missing packages are found before anything is compiled, and one command installs them all, so that
no build stops for a second one. One cargo compiles several workers, so that every processor has
work all the time; it makes the same files as `cargo build -p` for each, because of the crate
`unified`.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rmwbench.errors import UserError, not_one_of
from rmwbench.lab.middleware import ros2, source_build, workspace
from rmwbench.lab.middleware.catalogue import (
    CORES,
    BuildResult,
    Recipe,
    apt_command,
    recipes,
    tool_recipes,
)

PROGRAMS = ("bin", "cdylib")
"""The kinds of cargo's targets that are a worker; the others are parts of one."""


def compile_together(
    chosen: Sequence[Recipe],
    root: Path,
    environment: Mapping[str, str],
    announce: Callable[[str], None],
) -> set[str]:
    """Builds crates with one cargo, in the terminal. Returns those that could be built."""
    names = {recipe.crate: recipe.middleware for recipe in chosen}
    crate_arguments = ["--locked", *(word for crate in names for word in ("-p", crate))]
    release = Path(environment["CARGO_TARGET_DIR"], "release")
    unbuilt = [recipe for recipe in chosen if not is_built(release, recipe.crate)]
    expected_s = 60 * expected_minutes([recipe.build_minutes or 0.0 for recipe in unbuilt])
    announce(f"building {', '.join(names.values())}{_remaining_text(expected_s)}")
    progress = CargoProgress(expected_s, _crate_count(crate_arguments, root, environment))
    announced_s, begin_s = 0.0, time.monotonic()
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
            now_s = time.monotonic() - begin_s
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
    """A file that cargo made, by a line of `cargo --message-format json`. `package` is cargo's name
    with version and origin; `fresh`: the file existed before, so that nothing was compiled."""

    package: str
    is_program: bool
    fresh: bool

    @property
    def crate(self) -> str:
        """The name of the crate, such as `rmwbench-link` in
        path+file:///…/native/link#rmwbench-link@0.1.0."""
        return self.package.rpartition("#")[2].partition("@")[0]


class CargoProgress:
    """The progress of cargo, by the crates that it has compiled. Before a tenth of the work is
    done, the remaining time follows from `expected_s`; from then on it is extrapolated from the
    time that this machine took so far: a machine of two processors took 16 minutes instead of the
    expected 8."""

    def __init__(self, expected_s: float, needed: int) -> None:
        self._expected_s = expected_s
        self._needed = needed
        self._compiled: set[str] = set()
        self._fresh: set[str] = set()

    def see(self, artifact: Artifact) -> None:
        """Counts a crate, once even if it is made twice, for the build and for the program."""
        (self._fresh if artifact.fresh else self._compiled).add(artifact.package)

    def left_s(self, elapsed_s: float) -> float:
        """The remaining seconds, `elapsed_s` after the beginning."""
        done_share = _work_done(len(self._compiled) / self._to_compile) if self._needed else 0.0
        if done_share < LEAST_DONE:
            return max(self._expected_s - elapsed_s, 0.0)
        return elapsed_s * (1 / done_share - 1)

    @property
    def text(self) -> str:
        total = f" of {self._to_compile}" if self._needed else ""
        return f"crates compiled: {len(self._compiled)}{total}"

    @property
    def _to_compile(self) -> int:
        return max(self._needed - len(self._fresh - self._compiled), len(self._compiled), 1)


LEAST_DONE = 0.1
WORK_DONE = {0.0: 0.0, 0.5: 0.26, 0.8: 0.43, 0.95: 0.54, 1.0: 1.0}
"""Share of the crates → share of the time: the largest crates come last. It was measured with the
first set, from nothing, on two virtual processors (2026-11-26)."""


def _work_done(share: float) -> float:
    import numpy as np

    return float(np.interp(share, list(WORK_DONE), list(WORK_DONE.values())))


def _crate_count(crate_arguments: Sequence[str], root: Path, environment: Mapping[str, str]) -> int:
    """The number of crates to build, by `cargo tree`, which downloads them; 0 if it fails."""
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
"""The time of a joint build, as a share of the sum of the single builds' times: 7.5 of 9.7 minutes
for the first set, on two virtual processors with nothing else running (2026-11-25)."""


def expected_minutes(alone: Sequence[float]) -> float:
    """The minutes of a joint build, from those of each crate alone on `CORES` processors."""
    processors = min(os.cpu_count() or CORES, 4 * CORES)
    return max(SHARE * sum(alone), max(alone, default=0.0)) * CORES / processors


def artifact_of(line: str) -> Artifact | None:
    """The artifact in a line of `cargo --message-format json`; None for other lines, such as that
    of a crate's build script, which comes before the crate."""
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
    """The chosen recipes, each followed by its newer version if that is built here, and the newer
    versions of `newer`. They are built again too, because an old worker may not fit this
    checkout."""
    all_recipes: list[Recipe] = []
    for recipe in dict.fromkeys([*chosen, *newer]):
        all_recipes += [recipe] if recipe in chosen else []
        if recipe.newest is not None and (prefix := source_build.newest_prefix(recipe)):
            all_recipes.append(source_build.recipe_of(recipe, prefix))
    return all_recipes


def _build_variables(recipe: Recipe) -> dict[str, str]:
    """The variables of a build with libraries of its own."""
    if recipe.prefix is None or recipe.prefix_env is None:
        return {}
    return {recipe.prefix_env: str(recipe.prefix), "CARGO_TARGET_DIR": str(recipe.target)}


def is_built(release: Path, crate: str) -> bool:
    """Whether cargo has built the worker of a crate into `release`."""
    return (release / crate).exists() or (release / f"lib{crate.replace('-', '_')}.so").exists()


def choose(names: Sequence[str]) -> list[Recipe]:
    """The recipes of these names, or of the first set, and those of every tool, since no campaign
    runs without tools. Raises UserError for an unknown name."""
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
    """Checks that all is installed that the builds need. Raises one UserError."""
    if workspace.root() and workspace.cargo() is None:
        raise UserError(
            "the workers need a Rust toolchain",
            expected="cargo on PATH, or what setup/rust gets",
            fix=workspace.RUST_FIX,
        )
    if any(recipe.middleware == ros2.NAME for recipe in chosen):
        ros2.check()
    missing = missing_packages(chosen)
    if missing:
        packages_needed = [package for packages in missing.values() for package in packages]
        raise UserError(
            "packages are missing",
            actual="; ".join(
                f"{name} needs {', '.join(packages)}" for name, packages in missing.items()
            ),
            fix=apt_command(packages_needed),
        )


def missing_packages(chosen: Sequence[Recipe]) -> dict[str, tuple[str, ...]]:
    """Middleware → its missing packages, for each middleware that lacks some."""
    return {
        recipe.middleware: packages for recipe in chosen if (packages := recipe.missing_packages())
    }


def build(chosen: Sequence[Recipe], announce: Callable[[str], None]) -> list[BuildResult]:
    """Builds all recipes; the compilers write their own progress and errors to the terminal. A
    failure does not stop the others. The results are in the order of `chosen`."""
    crate_recipes = [recipe for recipe in chosen if recipe.middleware != ros2.NAME]
    results: dict[str, BuildResult] = {}
    for target in dict.fromkeys(recipe.target for recipe in crate_recipes):
        root, environment = workspace.root(), workspace.cargo_environment()
        assert root is not None, "`choose` requires it"
        target_recipes = [recipe for recipe in crate_recipes if recipe.target == target]
        for recipe in target_recipes:
            environment |= _build_variables(recipe)
        built_crates = compile_together(target_recipes, root, environment, announce)
        for recipe in target_recipes:
            command = f"cargo build --release --locked -p {recipe.crate}"
            problem = f"not built; alone: `{command}` in {root}"
            results[recipe.middleware] = BuildResult(
                recipe.middleware, None if recipe.crate in built_crates else problem
            )
    for recipe in chosen:
        if recipe.middleware == ros2.NAME:
            announce(f"building {ros2.NAME}: {recipe.summary}")
            results[ros2.NAME] = BuildResult(ros2.NAME, ros2.build())
    return [results[recipe.middleware] for recipe in chosen]
