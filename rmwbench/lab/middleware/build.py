"""Builds workers one by one: one `cargo build -p` each, so that the features of one never rebuild
the dependencies of another.

What is missing is found before anything is compiled, and named in one command: nobody should learn
of the second missing package after waiting for the first build.
"""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rmwbench.errors import UserError, nearest
from rmwbench.lab.middleware import ros2, workspace
from rmwbench.lab.middleware.catalogue import Built, Recipe, apt_command, recipes
from rmwbench.lab.middleware.newest import place
from rmwbench.lab.process import tool

CORES = 2
"""Of the machine that `build_minutes` were measured on."""


@dataclass
class TimeLeft:
    """How long the rest of a build takes: what the crates say, times what was found so far. A
    program that is there is built again in no time, or nearly so; nothing is promised of it."""

    minutes: dict[tuple[str, Path | None], float]
    """Of those that are still to be built, from nothing, by crate and target."""
    pace: float
    """Of this machine: found ÷ said."""
    said_min: float = 0.0
    found_min: float = 0.0

    @staticmethod
    def of(chosen: Sequence[Recipe], release: Path) -> "TimeLeft":
        absent = {
            (r.crate, r.target): r.build_minutes or 0.0
            for r in chosen
            if not _there(r.target / "release" if r.target else release, r.crate)
        }
        return TimeLeft(absent, CORES / min(os.cpu_count() or CORES, 4 * CORES))

    def took(self, recipe: Recipe, seconds: float) -> None:
        """Half a minute says nothing of the pace: some of it is cargo's own."""
        said = self.minutes.pop((recipe.crate, recipe.target), 0.0)
        self.said_min, self.found_min = (
            self.said_min + said,
            self.found_min + (seconds / 60 if said else 0.0),
        )
        if self.said_min >= 0.5:
            self.pace = self.found_min / self.said_min

    def text(self) -> str:
        """`; about 9 min left`, or nothing where it is less than a minute."""
        left_min = sum(self.minutes.values()) * self.pace
        return f"; about {left_min:.0f} min left" if left_min >= 1 else ""


def with_newest(chosen: Sequence[Recipe], newer: Sequence[Recipe] = ()) -> list[Recipe]:
    """Behind each of them, and behind those of `newer`, the same with libraries that are newer than
    the system's, where those are built here: a worker that no longer fits this checkout would be as
    bad as none."""
    found: list[Recipe] = []
    for recipe in dict.fromkeys([*chosen, *newer]):
        found += [recipe] if recipe in chosen else []
        if recipe.newest is not None and (at := place.installed(recipe)):
            found.append(place.recipe_of(recipe, at))
    return found


def _own(recipe: Recipe) -> dict[str, str]:
    """Variables of a build with libraries of its own."""
    if recipe.prefix is None or recipe.prefix_env is None:
        return {}
    return {recipe.prefix_env: str(recipe.prefix), "CARGO_TARGET_DIR": str(recipe.target)}


def _there(release: Path, crate: str) -> bool:
    return (release / crate).exists() or (release / f"lib{crate.replace('-', '_')}.so").exists()


def choose(names: Sequence[str]) -> list[Recipe]:
    """The recipes of these names, or the first set; every tool besides, since no campaign runs
    without them. Raises UserError for an unknown name."""
    if workspace.root() is None:
        raise UserError(
            "workers are built in a checkout, and this is not one",
            where=str(Path(__file__).parents[2]),
            fix=workspace.NOT_THERE,
        )
    tools = tool.recipes()
    known = recipes() | ros2.recipes() | tools
    for name in names:
        if name not in known:
            suggestion = nearest(name, known)
            raise UserError(
                f"no middleware {name!r} can be built here",
                expected="one of " + ", ".join(known),
                actual=name,
                fix=f"did you mean {suggestion!r}?" if suggestion else None,
            )
    chosen = names or [name for name, recipe in known.items() if recipe.first_set]
    return [known[name] for name in dict.fromkeys([*tools, *chosen])]


def check(chosen: Sequence[Recipe]) -> None:
    """Raises one UserError with all that is missing, and one command for all packages."""
    if workspace.cargo() is None:
        raise UserError(
            "the workers need a Rust toolchain",
            expected="cargo on PATH, or what setup/rust gets",
            fix=workspace.RUST_FIX,
        )
    if any(recipe.middleware == ros2.NAME for recipe in chosen):
        ros2.check()
    missing = without_packages(chosen)
    if missing:
        wanted = [package for packages in missing.values() for package in packages]
        raise UserError(
            "packages are missing",
            actual="; ".join(
                f"{name} needs {', '.join(packages)}" for name, packages in missing.items()
            ),
            fix=apt_command(wanted),
        )


def without_packages(chosen: Sequence[Recipe]) -> dict[str, tuple[str, ...]]:
    """Middleware → the packages that it lacks; only those that lack some."""
    return {
        recipe.middleware: packages for recipe in chosen if (packages := recipe.missing_packages())
    }


def build(chosen: Sequence[Recipe], announce: Callable[[str], None]) -> list[Built]:
    """Builds each; cargo's own progress goes to the terminal. One that fails does not stop the
    others."""
    root, environment = workspace.root(), workspace.cargo_environment()
    left = TimeLeft.of(chosen, workspace.target_directory() / "release")
    done = []
    for number, recipe in enumerate(chosen, start=1):
        announce(
            f"[{number}/{len(chosen)}] {recipe.middleware}: "
            f"{recipe.summary or recipe.crate}{left.text()}"
        )
        begun = time.monotonic()
        if recipe.middleware == ros2.NAME:
            problem = ros2.build()
        else:
            command = ["cargo", "build", "--release", "--locked", "-p", recipe.crate]
            code = subprocess.run(
                command, cwd=root, env=environment | _own(recipe), stdin=subprocess.DEVNULL
            ).returncode
            problem = (
                None if code == 0 else f"`{' '.join(command)}` in {root} ended with status {code}"
            )
        done.append(Built(recipe.middleware, problem, time.monotonic() - begun))
        left.took(recipe, done[-1].seconds)
    return done
