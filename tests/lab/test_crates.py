"""`setup/crates`, by which `make` and `setup/apt` know the workers, says what the catalogue reads
of the same files."""

import subprocess
from pathlib import Path

import pytest

from rmwbench.lab.middleware.catalogue import recipes

ROOT = Path(__file__).parents[2]


def said(what: str) -> list[str]:
    return subprocess.check_output([ROOT / "setup" / "crates", what], text=True).splitlines()


@pytest.mark.parametrize(("what", "first_set"), [("first", True), ("rare", False)])
def test_a_worker_is_in_the_set_of_its_folder(what, first_set):
    crates = [
        recipe.crate.removeprefix("rmwbench-")
        for recipe in recipes().values()
        if recipe.first_set is first_set
    ]
    assert sorted(said(what)) == sorted(crates) and crates


def test_the_packages_of_the_rare_workers_are_each_named_once():
    needed = {
        package for recipe in recipes().values() if not recipe.first_set for package in recipe.apt
    }
    assert sorted(said("packages")) == sorted(f"rare {package}" for package in needed)
