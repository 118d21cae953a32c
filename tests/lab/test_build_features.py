"""The harness and what it stands on have the same features in every worker: else each set of them
is a build of its own, which costs a build from nothing some two minutes of a processor
(native/harness/Cargo.toml)."""

import subprocess

import pytest

from rmwbench.lab.middleware import catalogue, workspace
from rmwbench.lab.process import tool

FIRST = [
    recipe.crate
    for recipe in (*tool.recipes().values(), *catalogue.recipes().values())
    if recipe.first_set
]


def features(crate: str, edges: str = "normal") -> dict[str, set[str]]:
    """`NAME VERSION` → its sets of features below a crate."""
    command = [
        "cargo",
        "tree",
        "--locked",
        "--offline",
        "-p",
        crate,
        "-e",
        edges,
        "--prefix",
        "none",
        "-f",
        "{p}|{f}",
    ]
    done = subprocess.run(
        command,
        cwd=workspace.root(),
        env=workspace.cargo_environment(),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"the crates are not here yet: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        package, _, names = line.removesuffix(" (*)").partition("|")
        found.setdefault(" ".join(package.split()[:2]), set()).add(names)
    return found


@pytest.mark.parametrize("crate", FIRST)
def test_no_worker_asks_the_harness_for_other_features(crate):
    harness = features("rmwbench-harness")
    there = features(crate)
    assert "rmwbench-harness v0.1.0" in there
    other = {name: there[name] for name, wanted in harness.items() if not wanted <= there[name]}
    assert not other, (
        f"name these in native/harness/Cargo.toml: {other}, where the harness has less"
    )
