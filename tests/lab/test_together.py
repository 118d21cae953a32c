"""Workers that are compiled by one cargo."""

import json
import os
from pathlib import Path

import pytest

from rmwbench.lab.middleware import build
from rmwbench.lab.middleware.catalogue import Recipe
from tests.support.program import script


def artifact(crate: str, kind: str, fresh: bool = False) -> str:
    return json.dumps(
        {
            "reason": "compiler-artifact",
            "package_id": f"path+file:///there/native/{crate}#rmwbench-{crate}@0.1.0",
            "target": {"kind": [kind], "name": f"rmwbench-{crate}"},
            "fresh": fresh,
        }
    )


@pytest.mark.parametrize(
    ("line", "crate"),
    [
        (artifact("zenoh", "bin"), "rmwbench-zenoh"),
        (artifact("worker", "cdylib"), "rmwbench-worker"),
    ],
)
def test_the_worker_itself_says_that_it_is_built(line, crate):
    artifact = build.artifact_of(line)
    assert artifact is not None and artifact.is_program and artifact.crate == crate


def compiled(progress: build.CargoProgress, number: int, fresh: bool = False) -> None:
    for crate in range(number):
        progress.see(build.Artifact(f"{'old' if fresh else 'new'}-{crate}#0.1.0", False, fresh))


def test_the_time_left_is_what_this_machine_took_so_far_carried_on(monkeypatch):
    monkeypatch.setattr(build, "WORK_DONE", {0.0: 0.0, 0.5: 0.25, 1.0: 1.0})
    progress = build.CargoProgress(expected_s=480, needed=100)
    compiled(progress, 19)
    assert progress.left_s(100) == 380  # too early: as expected
    compiled(progress, 50)
    assert progress.left_s(300) == pytest.approx(900)  # a slow machine
    assert progress.text == "crates compiled: 50 of 100"
    compiled(progress, 75)
    assert progress.left_s(500) == pytest.approx(300)
    compiled(progress, 101)  # more than cargo named
    assert progress.left_s(800) == 0


def test_what_is_built_together_takes_less_than_the_sum_and_no_less_than_the_longest(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: build.CORES)
    assert build.expected_minutes([4, 2, 4]) == pytest.approx(10 * build.SHARE)
    assert build.expected_minutes([9, 0.5]) == 9
    assert build.expected_minutes([]) == 0
    monkeypatch.setattr(os, "cpu_count", lambda: 2 * build.CORES)
    assert build.expected_minutes([9]) == 4.5


def with_cargo(place: Path, text: str) -> dict[str, str]:
    """An environment whose cargo is this script."""
    script(place / "cargo", text)
    path = f"{place}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "CARGO_TARGET_DIR": str(place / "target")}


def recipe(name: str, minutes: float) -> Recipe:
    return Recipe(
        middleware=name,
        crate=f"rmwbench-{name}",
        summary="",
        first_set=False,
        build_minutes=minutes,
    )


def test_one_that_fails_is_told_and_stops_no_other(tmp_path, monkeypatch):
    log = tmp_path / "log"
    built = f"echo '{artifact('good', 'bin')}'"
    text = f'[ $1 = tree ] && exit 1\necho "$@" "$CARGO_TARGET_DIR" > {log}\n{built}\nexit 101'
    monkeypatch.setenv("PATH", with_cargo(tmp_path, text)["PATH"])
    monkeypatch.setenv("RMWBENCH_TARGET_DIR", "/elsewhere")
    said: list[str] = []
    bad, good = build.build([recipe("bad", 5), recipe("good", 1)], said.append)
    assert (bad.middleware, good.middleware, good.problem) == ("bad", "good", None)
    assert "cargo build --release --locked -p rmwbench-bad" in bad.problem
    words = log.read_text()
    assert "--keep-going" in words
    assert words.endswith("-p rmwbench-bad -p rmwbench-good /elsewhere\n")
    assert said[0].startswith("building bad, good; about ") and said[0].endswith(" min left")
    assert said[1].startswith("[1/2] good is built; about ")


def test_how_far_it_is_is_said_between_two_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "ANNOUNCED_EVERY_S", 0)
    lines = [artifact("part", "lib"), artifact("good", "bin")]
    printed = "\n".join(f"echo '{line}'" for line in lines)
    environment = with_cargo(tmp_path, f"[ $1 = tree ] && exec seq 100\n{printed}")
    said: list[str] = []
    chosen = [recipe("good", 5)]
    build.compile_together(chosen, tmp_path, environment, said.append)
    assert said[1].startswith("crates compiled: 1 of 100; about ")
    assert said[2] == "[1/1] good is built"
    environment = with_cargo(tmp_path, f"[ $1 = tree ] && exit 101\n{printed}")
    build.compile_together(chosen, tmp_path, environment, said.append)
    assert said[4].startswith("crates compiled: 1; about ")


@pytest.mark.parametrize(
    "line",
    [
        artifact("zenoh", "custom-build"),
        '{"reason": "build-finished", "success": true}',
        "[1]",
        "warning: half a line of something else",
    ],
)
def test_other_lines_are_no_artifacts(line):
    assert build.artifact_of(line) is None
