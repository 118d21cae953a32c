"""Building the worker on rclcpp: what is refused without a ROS 2, and that each install has a build
of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rmwbench.errors import UserError
from rmwbench.lab.middleware import build, ros2, workspace
from rmwbench.lab.middleware.find import find_workers, require_workers
from tests.support.program import script


@pytest.fixture
def target(tmp_path, monkeypatch):
    monkeypatch.setenv("RMWBENCH_TARGET_DIR", str(tmp_path / "target"))
    monkeypatch.delenv("RMWBENCH_WORKERS", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    return tmp_path / "target"


def install(prefix: Path, version: str, monkeypatch) -> None:
    """As much of a ROS 2 as is looked at."""
    package = prefix / "share" / "rclcpp" / "package.xml"
    package.parent.mkdir(parents=True, exist_ok=True)
    package.write_text(f"<package><name>rclcpp</name><version>{version}</version></package>")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))


def test_without_a_ros_2_the_build_says_to_source_one(target):
    with pytest.raises(UserError) as caught:
        build.check(build.choose(["rclcpp"]))
    assert "no ROS 2 is sourced" in str(caught.value) and "setup.sh" in caught.value.render()
    assert ros2.worker_directory() is None


def test_every_install_has_a_build_of_its_own(target, tmp_path, monkeypatch):
    install(tmp_path / "jazzy", "28.1.0", monkeypatch)
    first = ros2.worker_directory()
    install(tmp_path / "jazzy", "28.1.9", monkeypatch)
    upgraded = ros2.worker_directory()
    install(tmp_path / "humble", "28.1.9", monkeypatch)
    other = ros2.worker_directory()
    assert len({first, upgraded, other}) == 3 and all(
        target in path.parents for path in (first, upgraded, other)
    )


def test_what_was_built_is_found_once_per_rmw_and_only_in_its_ros_2(target, tmp_path, monkeypatch):
    install(tmp_path / "jazzy", "28.1.0", monkeypatch)
    directory = ros2.worker_directory()
    directory.mkdir(parents=True)
    common = {
        "layer": "rclcpp",
        "version": "1",
        "release_date": "",
        "build": {},
        "capabilities": {},
        "profiles": [],
    }
    described = [
        {
            "middleware": f"rclcpp/{rmw}",
            "environment": {"RMW_IMPLEMENTATION": rmw},
            "protocol": 1,
            **common,
        }
        for rmw in ("rmw_a", "rmw_b")
    ]
    document = json.dumps({"middlewares": described})
    program = script(directory / "rmwbench-rclcpp", f"cat <<'END'\n{document}\nEND")
    worker_of = {
        name: worker for name, worker in find_workers().items() if name.startswith("rclcpp")
    }
    assert sorted(worker_of) == ["rclcpp/rmw_a", "rclcpp/rmw_b"]
    assert worker_of["rclcpp/rmw_b"].environment["RMW_IMPLEMENTATION"] == "rmw_b"
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    assert not any(name.startswith("rclcpp") for name in find_workers())
    with pytest.raises(UserError) as caught:
        require_workers(["rclcpp/rmw_a"])
    assert "no ROS 2 is sourced" in caught.value.render()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "jazzy"))
    monkeypatch.setattr(ros2.shutil, "which", lambda name: f"/usr/bin/{name}")
    program.unlink()
    with pytest.raises(UserError) as caught:
        require_workers(["rclcpp/rmw_a"])
    assert "rmwbench middlewares build rclcpp" in caught.value.render()


def test_ros_generators_do_not_run_in_our_own_environment():
    own = str(Path(sys.prefix) / "bin")
    base = {"PATH": os.pathsep.join([own, "/usr/bin"]), "VIRTUAL_ENV": sys.prefix}
    assert ros2._environment(base) == {"PATH": "/usr/bin"}
    foreign = {"PATH": "/opt/venv/bin:/usr/bin", "VIRTUAL_ENV": "/opt/venv"}
    assert ros2._environment(foreign) == foreign


def pythons(tmp_path, monkeypatch, **modules: str | None) -> str:
    """A PATH of directories with a python3 each that has those modules, or that does not run; of
    this interpreter itself only the standard library is seen."""
    for name, has in modules.items():
        place = tmp_path / name
        runs = f'PYTHONPATH={place} exec {sys.executable} -S "$@"'
        script(place / "python3", "exit 1" if has is None else runs)
        for module in (has or "").split():
            (place / f"{module}.py").touch()
    path = os.pathsep.join(str(tmp_path / name) for name in modules)
    monkeypatch.setenv("PATH", path)
    return path


def test_the_generators_run_in_the_first_python_that_has_what_they_import(tmp_path, monkeypatch):
    needed = " ".join(ros2.GENERATORS_NEED)
    have = {"gone": None, "pyenv": "numpy", "broken": needed, "system": needed, "later": needed}
    path = pythons(tmp_path, monkeypatch, **have)
    (tmp_path / "folder" / "python3").mkdir(parents=True)  # as /usr/lib has one
    path = f"{tmp_path / 'folder'}{os.pathsep}{path}"
    (tmp_path / "broken" / "numpy.py").write_text("raise OSError('built for another Python')")
    assert ros2.python({"PATH": path}) == tmp_path / "system" / "python3"


def test_what_another_clone_configured_is_made_anew(tmp_path):
    """CMake refuses to go on with it, and clones share one place for what they build."""
    source, tree = tmp_path / "clone" / "package", tmp_path / "target" / "package"
    assert not ros2.is_configured_from(source, tree)
    tree.mkdir(parents=True)
    cache = f"CMAKE_CACHEFILE_DIR:INTERNAL={tree}\nCMAKE_HOME_DIRECTORY:INTERNAL={source}\n"
    (tree / "CMakeCache.txt").write_text(cache)
    assert ros2.is_configured_from(source, tree)
    assert not ros2.is_configured_from(tmp_path / "other" / "package", tree)
    moved = tmp_path / "moved"
    tree.rename(moved)
    assert not ros2.is_configured_from(source, moved)


def test_the_first_step_that_fails_is_named_and_the_last(target, tmp_path, monkeypatch):
    install(tmp_path / "jazzy", "28.1.0", monkeypatch)
    monkeypatch.setenv("CMAKE_PREFIX_PATH", f"/fastcdr{os.pathsep}{tmp_path / 'jazzy'}")
    commands, paths = [], []

    def run(command, *, env, **_):
        commands.append(command)
        paths.append(env["CMAKE_PREFIX_PATH"].split(os.pathsep))
        return subprocess.CompletedProcess(command, 3 if command[0] == "cmake" else 0, stdout="")

    monkeypatch.setattr(ros2.subprocess, "run", run)
    monkeypatch.setattr(workspace, "target_directory", lambda: target)
    problem = ros2.build()
    steps = [command for command in commands if "-c" not in command]
    assert [command[0] for command in steps] == ["cargo", "cmake"]
    assert any(part.startswith("-DPython3_EXECUTABLE=/") for part in steps[1])
    assert "rmwbench_msgs" in problem and "status 3" in problem
    assert str(tmp_path / "jazzy") not in problem, "its prefixes are many, and in the environment"
    ours, *others = paths[-1]
    assert ours.startswith(str(target)) and others == [str(tmp_path / "jazzy"), "/fastcdr"]


def test_what_the_generators_lack_is_said_with_what_to_install(target, tmp_path, monkeypatch):
    install(tmp_path / "jazzy", "28.1.0", monkeypatch)
    pythons(tmp_path, monkeypatch, pyenv="em", system="numpy lark")
    monkeypatch.setattr(ros2.shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(UserError) as caught:
        ros2.check()
    said = caught.value.render()
    assert f"{tmp_path}/system/python3 lacks em, catkin_pkg" in said
    assert "apt-get install -y python3-empy python3-catkin-pkg\n" in said + "\n"


def test_a_user_who_is_not_root_is_told_to_use_sudo(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    assert ros2.install_command("rmw_x").startswith("sudo apt-get install -y ros-jazzy-rmw-x, ")
