"""Builds workers: those of the system's libraries together, by one cargo.

What is missing is found before anything is compiled, and named in one command: nobody should learn
of the second missing package after waiting for the first build.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rmwbench.errors import UserError, nearest
from rmwbench.lab.middleware import ros2, together, tool, workspace
from rmwbench.lab.middleware.catalogue import Built, Recipe, apt_command, recipes
from rmwbench.lab.middleware.newest import place


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


def is_there(release: Path, crate: str) -> bool:
    """Whether cargo built the crate's worker into `release` before."""
    return (release / crate).exists() or (release / f"lib{crate.replace('-', '_')}.so").exists()


def choose(names: Sequence[str]) -> list[Recipe]:
    """The recipes of these names, or the first set; every tool besides, since no campaign runs
    without them. Raises UserError for an unknown name."""
    tools = tool.recipes()
    known = recipes() | ros2.recipes() | tools
    if workspace.root() is None and not (names and known.keys() >= set(names)):
        raise UserError(
            "workers are built in a checkout, and this is not one",
            where=str(Path(__file__).parents[2]),
            fix=workspace.NOT_THERE,
        )
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
    """Builds all of them, in the order of `chosen`; what compiles them writes its own progress and
    its errors to the terminal. One that fails does not stop the others."""
    ours = [recipe for recipe in chosen if recipe.middleware != ros2.NAME]
    found: dict[str, Built] = {}
    for target in dict.fromkeys(recipe.target for recipe in ours):
        root, environment = workspace.root(), workspace.cargo_environment()
        assert root is not None, "`choose` found it"
        of_target = [recipe for recipe in ours if recipe.target == target]
        variables = environment | _own(of_target[0])
        programs = [_program(recipe, variables) for recipe in of_target]
        built = together.build(programs, root, variables, announce)
        for recipe in of_target:
            command = f"cargo build --release --locked -p {recipe.crate}"
            problem = f"not built; alone: `{command}` in {root}"
            found[recipe.middleware] = Built(
                recipe.middleware, None if recipe.crate in built else problem
            )
    for recipe in chosen:
        if recipe.middleware == ros2.NAME:
            announce(f"building {ros2.NAME}: {recipe.summary}")
            found[ros2.NAME] = Built(ros2.NAME, ros2.build())
    return [found[recipe.middleware] for recipe in chosen]


def _program(recipe: Recipe, variables: Mapping[str, str]) -> together.CrateProgram:
    there = is_there(Path(variables["CARGO_TARGET_DIR"]) / "release", recipe.crate)
    return together.CrateProgram(
        recipe.middleware, recipe.crate, 0.0 if there else recipe.build_minutes or 0.0
    )
