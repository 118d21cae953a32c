"""Workers that are compiled by one cargo."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from rmwbench.lab.middleware import recipes, together, workspace
from rmwbench.lab.process import tool


def artifact(crate: str, kind: str) -> str:
    return json.dumps(
        {
            "reason": "compiler-artifact",
            "package_id": f"path+file:///there/native/{crate}#rmwbench-{crate}@0.1.0",
            "target": {"kind": [kind], "name": f"rmwbench-{crate}"},
        }
    )


@pytest.mark.parametrize(
    ("line", "crate"),
    [
        (artifact("zenoh", "bin"), "rmwbench-zenoh"),
        (artifact("worker", "cdylib"), "rmwbench-worker"),
        (artifact("zenoh", "lib"), None),  # on the way to it
        ('{"reason": "build-finished", "success": true}', None),
        ("[1]", None),
        ("warning: half a line of something else", None),
    ],
)
def test_the_worker_itself_says_that_it_is_built(line, crate):
    assert together.finished(line) == crate


def test_what_is_built_together_takes_less_than_the_sum_and_no_less_than_the_longest(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: together.CORES)
    assert together.expected_minutes([4, 2, 4]) == pytest.approx(10 * together.SHARE)
    assert together.expected_minutes([9, 0.5]) == 9
    assert together.expected_minutes([]) == 0
    monkeypatch.setattr(os, "cpu_count", lambda: 2 * together.CORES)
    assert together.expected_minutes([9]) == 4.5


def test_one_that_fails_is_absent_and_stops_no_other(tmp_path):
    log = tmp_path / "log"
    good = artifact("good", "bin")
    cargo = tmp_path / "cargo"
    cargo.write_text(f"#!/bin/sh\necho \"$@\" > {log}\necho '{good}'\nexit 101\n")
    cargo.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    programs = [
        together.Program("bad", "rmwbench-bad", 5),
        together.Program("good", "rmwbench-good", 1),
    ]
    said: list[str] = []
    assert list(together.build(programs, tmp_path, environment, said.append)) == ["rmwbench-good"]
    assert "--keep-going" in log.read_text()
    assert said[0].startswith("building bad, good; about ") and said[0].endswith(" min left")
    assert said[1].startswith("[1/2] good is built; about ")


def test_a_worker_alone_is_made_of_what_all_together_are_made_of():
    """Where a feature of a shared crate differs, cargo compiles that crate and all that rests on it
    twice: minutes, of which nobody is told."""
    if workspace.root() is None or workspace.cargo() is None:
        pytest.skip("needs a checkout and a Rust toolchain")
    release = workspace.target_directory() / "release"
    crates = [
        recipe.crate
        for recipe in [*tool.recipes().values(), *recipes().values()]
        if recipe.first_set
    ]
    absent = [crate for crate in crates if not _built(release, crate)]
    if absent:
        pytest.skip(f"needs the workers of the first set (make workers), not there: {absent}")
    group = _artifacts(crates)
    for crate in crates:
        more = _artifacts([crate]) - group
        assert not more, (
            f"{crate} alone chooses other features than beside the others; native/shared/unified/"
            f"Cargo.toml lacks a line for the one that the others rest on, of {sorted(more)}"
        )


def _built(release: Path, crate: str) -> bool:
    library = release / f"lib{crate.replace('-', '_')}.so"
    return (release / crate).exists() or library.exists()


def _artifacts(crates: list[str]) -> set[tuple[str, str, str]]:
    """(package, features, file) of all that others wrote and these crates are made of; what of ours
    is asked for by name is copied to another place."""
    command = ["cargo", "build", "--release", "--locked", "--message-format", "json"]
    command += [word for crate in crates for word in ("-p", crate)]
    done = subprocess.run(
        command,
        cwd=workspace.root(),
        env=workspace.cargo_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        (line["package_id"].rpartition("#")[2], ",".join(line["features"]), file)
        for line in lines
        if line["reason"] == "compiler-artifact" and not line["package_id"].startswith("path+")
        for file in line["filenames"]
    }
