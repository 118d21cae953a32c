"""What a wheel brought: found after what cargo built, and what its programs lack is said with what
changes that."""

import json
import platform
import sys
from pathlib import Path
from subprocess import CompletedProcess as Done

import pytest

from rmwbench.errors import UserError
from rmwbench.lab.middleware import build, catalogue, find, ros2, tool, workspace
from rmwbench.lab.middleware.find import status
from tests.lab import fake_worker
from tests.support.program import script


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """An installation without a checkout, whose wheel brought a directory of workers."""
    directory = tmp_path / "workers"
    directory.mkdir()
    monkeypatch.setattr(catalogue, "BROUGHT", directory)
    monkeypatch.setattr(workspace, "root", lambda: None)
    monkeypatch.setattr(find, "python_programs", lambda: ())
    monkeypatch.delenv("RMWBENCH_WORKERS", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    catalogue._needs.cache_clear()
    tool._places.cache_clear()
    yield directory
    catalogue._needs.cache_clear()
    tool._places.cache_clear()


def needs(wheel: Path, system: str) -> None:
    needs_document = {"system": system, "packages": {"libfastrtps.so.2.9": "libfastrtps2.9"}}
    (wheel / catalogue.NEEDS).write_text(json.dumps(needs_document))


def test_workers_and_tools_of_a_wheel_are_found(wheel):
    fake_worker.install(wheel, describe={"middleware": "floor"})
    script(
        wheel / "rmwbench-sampler", "echo '" + json.dumps({"tool": "sampler", "protocol": 1}) + "'"
    )
    assert list(find.find_workers()) == ["floor"]  # a tool is not a middleware
    assert "sampler" not in find.names_here()
    assert tool.find("sampler") == wheel / "rmwbench-sampler"


@pytest.mark.parametrize("here", [True, False])
def test_a_library_that_is_missing_is_named_with_its_package_where_that_exists(
    wheel, here, monkeypatch
):
    monkeypatch.setattr(catalogue, "system_name", lambda: "Debian 12" if here else "Debian 13")
    needs(wheel, "Debian 12")
    message = (
        "x: error while loading shared libraries: libfastrtps.so.2.9: cannot open shared "
        "object file"
    )
    script(wheel / "rmwbench-fastdds", f"echo '{message}' >&2; exit 127")
    worker = find.find_workers()["fastdds"]
    entry = status("fastdds", None, worker)
    if here:
        assert (
            entry["command"].endswith("libfastrtps2.9") and "libfastrtps.so.2.9" in entry["reason"]
        )
        assert find.why_not_ready("fastdds", {"fastdds": worker}).endswith(entry["command"])
    else:
        assert (
            entry["command"] is None
            and "Debian 12" in entry["reason"]
            and "checkout" in entry["reason"]
        )
    with pytest.raises(UserError) as error:
        find.require_workers(["fastdds"])
    assert "build fastdds" not in error.value.render()


def test_a_python_package_that_is_missing_is_named_with_what_installs_it(wheel, monkeypatch):
    monkeypatch.setenv("RMWBENCH_WORKERS", str(wheel))
    script(
        wheel / "rmwbench-own",
        "echo \"ModuleNotFoundError: No module named 'zenoh.ext'\" >&2; exit 1",
    )
    worker = find.find_workers()["own"]
    assert (
        worker.problem == "its Python package zenoh is not installed"
        and sys.executable in worker.fix
    )


def test_nothing_is_built_without_a_checkout_and_no_hint_says_so(wheel):
    with pytest.raises(UserError, match="built in a checkout") as error:
        build.choose(["zenoh"])
    assert error.value.fix == workspace.NOT_THERE == workspace.build_command("zenoh")
    with pytest.raises(UserError) as error:
        tool.find("sampler")
    assert "middlewares build" not in find.why_not_ready("zenoh", {})


def test_the_system_is_named_as_it_names_itself():
    assert catalogue.system_name() == platform.freedesktop_os_release().get("PRETTY_NAME")


def test_a_wheel_builds_the_worker_on_rclcpp_with_its_own_harness(wheel, tmp_path, monkeypatch):
    packages = tmp_path / "ros2"
    monkeypatch.setattr(catalogue, "BROUGHT_PACKAGES", packages)
    assert ros2.recipes() == {}
    packages.mkdir()
    (wheel / catalogue.LIBRARY).touch()
    assert [recipe.middleware for recipe in build.choose(["rclcpp"])] == ["rclcpp"]
    manifest = tmp_path / "jazzy" / "share" / "rclcpp" / "package.xml"
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "jazzy"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "middlewares build rclcpp" in find.why_not_ready("rclcpp/rmw_a", {})
    commands = []
    monkeypatch.setattr(ros2, "python", lambda environment: Path("/usr/bin/python3"))
    monkeypatch.setattr(
        ros2.subprocess, "run", lambda words, **_: commands.append(words) or Done(words, 0)
    )
    assert build.build(build.choose(["rclcpp"]), print)[0].problem is None
    words = [word for command in commands for word in command]
    assert "cargo" not in words and f"-DRMWBENCH_HARNESS={wheel / catalogue.LIBRARY}" in words
    assert f"-DRMWBENCH_NATIVE={packages / 'native'}" in words
    assert tmp_path / "cache" in ros2.worker_directory().parents
