"""The crates of workers, by their files: `setup/crates`, by which `make` and `setup/apt` know the
workers, says what the catalogue reads of the same files.

What workers share has the same features in each of them, alone and together: else each set of
them is a build of its own, which costs a build from nothing minutes of a processor
(native/harness/Cargo.toml, and native/shared/unified/Cargo.toml for what only some share)."""

import json
import subprocess
from functools import cache
from pathlib import Path

import pytest

from rmwbench.lab.middleware import build, catalogue, workspace
from tests.support.program import run_program

SETUP = Path(__file__).parents[2] / "setup"
FIRST = [
    recipe.crate
    for recipe in (*catalogue.tool_recipes().values(), *catalogue.recipes().values())
    if recipe.first_set
]


environment = cache(workspace.cargo_environment)


def cargo(*words: str):
    return run_program("cargo", *words, cwd=workspace.root(), env=environment(), timeout=None)


@cache
def features(crate: str, edges: str = "normal") -> dict[str, set[str]]:
    """`NAME VERSION` → its sets of features below a crate."""
    how = ("--locked", "--offline", "-e", edges, "--prefix", "none", "-f", "{p}|{f}")
    done = cargo("tree", "-p", crate, *how)
    if done.returncode:
        pytest.skip(f"the crates are not here yet: {done.stderr.strip().splitlines()[-1]}")
    features_of: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        package, _, names = line.removesuffix(" (*)").partition("|")
        features_of.setdefault(" ".join(package.split()[:2]), set()).add(names)
    return features_of


@pytest.mark.parametrize("crate", FIRST)
def test_no_worker_asks_the_harness_for_other_features(crate):
    harness = features("rmwbench-harness")
    there = features(crate)
    assert "rmwbench-harness v0.1.0" in there
    other = {name: there[name] for name, wanted in harness.items() if not wanted <= there[name]}
    assert not other, (
        f"name these in native/harness/Cargo.toml: {other}, where the harness has less"
    )


def artifacts(crates: list[str]) -> set[tuple[str, str, str]]:
    """(package, features, file) of all that others wrote and these crates are made of; what of ours
    is asked for by name is copied to another place."""
    selected = (word for crate in crates for word in ("-p", crate))
    done = cargo("build", "--release", "--locked", "--message-format", "json", *selected)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        (line["package_id"].rpartition("#")[2], ",".join(line["features"]), file)
        for line in lines
        if line["reason"] == "compiler-artifact" and not line["package_id"].startswith("path+")
        for file in line["filenames"]
    }


def test_a_worker_alone_is_made_of_what_all_together_are_made_of():
    """Where a feature of a shared crate differs, cargo compiles that crate and all that rests on it
    twice: minutes, of which nobody is told."""
    if workspace.root() is None or workspace.cargo() is None:
        pytest.skip("needs a checkout and a Rust toolchain")
    release = workspace.target_directory() / "release"
    absent = [crate for crate in FIRST if not build.is_built(release, crate)]
    if absent:
        pytest.skip(f"needs the workers of the first set (make workers), not there: {absent}")
    group = artifacts(FIRST)
    for crate in FIRST:
        more = artifacts([crate]) - group
        assert not more, (
            f"{crate} alone chooses other features than beside the others; native/shared/unified/"
            f"Cargo.toml lacks a line for the one that the others rest on, of {sorted(more)}"
        )


def said(what: str) -> list[str]:
    return subprocess.check_output([SETUP / "crates", what], text=True).splitlines()


@pytest.mark.parametrize(("what", "first_set"), [("first", True), ("rare", False)])
def test_a_worker_is_in_the_set_of_its_folder(what, first_set):
    crates = [
        recipe.crate.removeprefix("rmwbench-")
        for recipe in catalogue.recipes().values()
        if recipe.first_set is first_set
    ]
    assert sorted(said(what)) == sorted(crates) and crates


def test_the_packages_of_the_rare_workers_are_each_named_once():
    needed = {
        package
        for recipe in catalogue.recipes().values()
        if not recipe.first_set
        for package in recipe.apt
    }
    assert sorted(said("packages")) == sorted(f"rare {package}" for package in needed)
