"""Hints that work when pasted, and a build that leaves out what cannot be built."""

import pytest

from rmwbench.cli.main import main
from rmwbench.errors import COMMAND, UserError, as_typed
from rmwbench.lab import tool
from rmwbench.lab.middleware import build
from rmwbench.lab.middleware.catalogue import recipes


def test_a_hint_names_the_program_as_it_is_typed_here(monkeypatch):
    error = UserError("x", where="/a/rmwbench/b", fix="rmwbench run quick, or `rmwbench doctor`")
    assert "do: rmwbench run quick" in error.render()
    monkeypatch.setenv(COMMAND, ".venv/bin/rmwbench")
    assert "do: .venv/bin/rmwbench run quick, or `.venv/bin/rmwbench doctor`" in error.render()
    for text in ("/a/rmwbench/b", "rmwbench-floor is a worker", "this rmwbench", ".venv/bin/rmwbench run quick"):
        assert as_typed(text) == text


def built(monkeypatch, capsys, *failing: str, options=("--partly",)) -> tuple[int, str]:
    """Exit code and output of a build of floor and fastdds in which these fail."""

    def fake(chosen, announce):
        return [build.Built(r.middleware, "it broke" if r.middleware in failing else None, 0.1) for r in chosen]

    monkeypatch.setattr(build, "build", fake)
    monkeypatch.setattr(build, "check", lambda chosen: None)
    monkeypatch.setattr(build, "without_packages", lambda chosen: {})
    with pytest.raises(SystemExit) as ended:
        main(["middlewares", "build", "floor", "fastdds", *options])
    return ended.value.code, capsys.readouterr().out


def test_a_worker_that_does_not_build_costs_its_own_arms_only(monkeypatch, capsys):
    assert {"floor", "fastdds"} <= recipes().keys()
    code, output = built(monkeypatch, capsys, "fastdds")
    assert (
        code == 0 and "fastdds: its arms are left out until it is built: rmwbench middlewares build fastdds" in output
    )
    assert built(monkeypatch, capsys, "fastdds", options=())[0] == 1
    assert built(monkeypatch, capsys, "fastdds", "floor")[0] == 1
    assert built(monkeypatch, capsys, next(iter(tool.recipes())))[0] == 1


def test_what_lacks_its_packages_is_left_out_before_the_build(monkeypatch, capsys):
    monkeypatch.setattr(build, "check", lambda chosen: None)
    monkeypatch.setattr(build, "build", lambda chosen, announce: [build.Built(r.middleware, None, 0.1) for r in chosen])
    monkeypatch.setattr(build, "without_packages", lambda chosen: {"fastdds": ("libfastrtps-dev",)})
    with pytest.raises(SystemExit) as ended:
        main(["middlewares", "build", "floor", "fastdds", "--partly"])
    output = capsys.readouterr().out
    assert ended.value.code == 0 and "fastdds: left out, it needs libfastrtps-dev: " in output
    assert "fastdds: built" not in output and "floor: built" in output
