"""Workers that are compiled by one cargo."""

import json
import os

import pytest

from rmwbench.lab.middleware import together


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
