"""Finding workers, reading what crates say of themselves, and building: what is missing is named,
once, with its command."""

import json
import os
import shutil
from pathlib import Path

import pytest

from rmwbench.errors import UserError
from rmwbench.lab.middleware import build, catalogue, find, ros2, workspace
from rmwbench.lab.middleware.catalogue import Recipe
from rmwbench.lab.middleware.find import differences, status
from tests.lab import fake_worker
from tests.support.program import run_program, script


@pytest.fixture
def workers(tmp_path, monkeypatch):
    directory = tmp_path / "workers"
    directory.mkdir()
    monkeypatch.setenv("RMWBENCH_WORKERS", str(directory))
    monkeypatch.setenv("RMWBENCH_TARGET_DIR", str(tmp_path / "target"))
    # those of this environment do not belong to a test
    monkeypatch.setattr(find, "python_programs", lambda: ())
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    return directory


def test_a_worker_is_found_by_its_name_and_answers(workers):
    fake_worker.install(workers)
    script(workers / "rmwbench-not.a.name", "exit 0")
    (workers / "rmwbench-data").write_text("not executable")
    worker_of = find.find_workers()
    assert (
        list(worker_of) == ["fake"]
        and worker_of["fake"].description["version"] == "1.0"
        and worker_of["fake"].problem is None
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("echo no library >&2; exit 127", "status 127: no library"),
        ("echo hello", "does not follow the worker protocol"),
        ("echo '{\"protocol\": 1}'", "KeyError"),
        (r"printf 'caf\351\n' >&2; exit 1", "status 1: caf\N{REPLACEMENT CHARACTER}"),
        ("kill -SEGV $$", "status -11"),
        ("sleep 60", "did not end"),
    ],
)
def test_a_worker_that_does_not_answer_is_shown_with_its_reason(
    workers, text, complaint, monkeypatch
):
    monkeypatch.setattr(find, "DESCRIBE_TIMEOUT_S", 0.5)
    script(workers / "rmwbench-bad", text)
    worker = find.find_workers()["bad"]
    assert worker.description is None and complaint in worker.problem
    with pytest.raises(UserError, match=r"(?s)not ready.*bad: ") as caught:
        find.require_workers(["bad"])
    assert "build bad" not in caught.value.render()  # no crate of ours makes it


def test_a_worker_in_python_without_its_package_is_installed_and_not_built(workers):
    text = "echo \"ModuleNotFoundError: No module named 'zenoh'\" >&2; exit 1"
    script(workers / "rmwbench-zenoh-python", text)
    with pytest.raises(UserError, match="python-workers") as caught:
        find.require_workers(["zenoh-python"])
    assert "middlewares build" not in caught.value.render()


def test_a_rebuilt_worker_is_asked_again(workers):
    path = fake_worker.install(workers)
    assert find.find_workers()["fake"].description["version"] == "1.0"
    fake_worker.install(workers, describe={"version": "1.1"})
    os.utime(path, ns=(1, 1))
    assert find.find_workers()["fake"].description["version"] == "1.1"


def test_a_worker_under_another_name_is_refused(workers):
    fake_worker.install(workers).rename(workers / "rmwbench-zenoh")
    assert "says that it is 'fake'" in find.find_workers()["zenoh"].problem


def test_the_users_directory_comes_before_cargos(workers, tmp_path):
    release = tmp_path / "target" / "release"
    release.mkdir(parents=True)
    fake_worker.install(release, describe={"middleware": "floor", "version": "cargo"})
    fake_worker.install(release, describe={"middleware": "bench", "version": "x"})
    assert find.find_workers()["floor"].description["version"] == "cargo"
    # cargo's directory also holds programs that are not workers
    assert "bench" not in find.find_workers()
    fake_worker.install(workers, describe={"middleware": "floor", "version": "mine"})
    assert find.find_workers()["floor"].description["version"] == "mine"


def test_a_missing_directory_and_an_unknown_name_are_the_users_to_correct(workers, monkeypatch):
    with pytest.raises(UserError, match="did you mean 'zenoh'"):
        find.require_workers(["zenho"])
    with pytest.raises(
        UserError, match=r"floor: not built; zenoh: not built(?s:.*)build floor zenoh"
    ):
        find.require_workers(["floor", "zenoh"])
    monkeypatch.setenv("RMWBENCH_WORKERS", "/nonexistent")
    with pytest.raises(UserError, match="is not a directory"):
        find.find_workers()


def test_an_empty_variable_is_no_directory(workers, monkeypatch):
    fake_worker.install(workers)
    monkeypatch.chdir(workers)
    monkeypatch.setenv("RMWBENCH_WORKERS", "")
    assert "fake" not in find.find_workers()


def test_an_unknown_profile_suggests_the_nearest(workers):
    fake_worker.install(workers)
    with pytest.raises(UserError, match="did you mean 'untouched'"):
        find.find_workers()["fake"].profile("untuched")
    fake_worker.install(workers, describe={"middleware": "bare", "profiles": []})
    with pytest.raises(UserError) as caught:
        find.find_workers()["bare"].profile("tuned")
    assert caught.value.expected == "the path of a configuration file"


def recipe(**changes) -> Recipe:
    fields = {"middleware": "m", "crate": "rmwbench-m", "summary": "", "first_set": True}
    return Recipe(**(fields | {"build_minutes": None} | changes))


def target_dir(native: Path, **environment: str):
    clean = {
        k: v for k, v in os.environ.items() if k not in ("RMWBENCH_TARGET_DIR", "XDG_CACHE_HOME")
    }
    return run_program(native / "target-dir", env=clean | environment)


def test_the_target_directory_lies_outside_the_clone_and_can_be_chosen(tmp_path):
    native = workspace.root()
    assert target_dir(native, RMWBENCH_TARGET_DIR="/else where").stdout == "/else where\n"
    assert (
        "rustup" in target_dir(native, PATH="/usr/bin:/bin", HOME=str(tmp_path)).stderr
        or target_dir(native).returncode == 0
    )
    completed = target_dir(native, XDG_CACHE_HOME=str(tmp_path))
    if completed.returncode:
        pytest.skip("no Rust toolchain here")
    path = Path(completed.stdout.strip())
    assert path.parent == tmp_path / "rmwbench" and len(path.name) == len("target-") + 12


def test_two_checkouts_share_nothing_that_they_build(tmp_path):
    """Cargo, told to build both in one directory, would give each what the other one built: it
    compares the times of files alone."""
    directories = []
    for name in ("one", "other", "one"):
        native = tmp_path / name / "native"
        native.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "setup").mkdir(exist_ok=True)
        shutil.copy(workspace.root() / "target-dir", native)
        shutil.copy(workspace.root().parent / "setup" / "rust-here", tmp_path / name / "setup")
        done = target_dir(native)
        if done.returncode:
            pytest.skip("no Rust toolchain here")
        directories.append(done.stdout)
    assert directories[0] == directories[2] != directories[1]


ROS = fake_worker.DESCRIBE | {"inherit": ["HERE"]}


def describing(path: Path, document: object) -> Path:
    return script(path, f"echo '{json.dumps(document)}'")


def test_one_program_may_be_several_middlewares_each_with_its_environment(workers):
    each = [
        fake_worker.DESCRIBE
        | {
            "middleware": f"ros/{rmw}",
            "environment": {"RMW_IMPLEMENTATION": rmw},
            "inherit": ["HERE"],
        }
        for rmw in ("rmw_a", "rmw_b")
    ]
    for one in each:
        del one["protocol"]
    describing(workers / "rmwbench-ros", {"protocol": 1, "middlewares": each})
    worker_of = find.find_workers()
    assert list(worker_of) == ["ros/rmw_a", "ros/rmw_b"]
    assert len({worker.executable for worker in worker_of.values()}) == 1
    assert worker_of["ros/rmw_b"].environment == {"RMW_IMPLEMENTATION": "rmw_b"}
    with pytest.raises(UserError, match="ros/rmw_c"):
        find.require_workers(["ros/rmw_c"])


def test_only_variables_that_a_description_names_are_inherited(monkeypatch):
    monkeypatch.setenv("HERE", "yes")
    monkeypatch.setenv("ROS_DOMAIN_ID", "42")
    described = fake_worker.DESCRIBE | {"inherit": ["HERE", "GONE"], "environment": {"SET": "1"}}
    assert find.Worker("fake", Path("x"), described, None).environment == {
        "HERE": "yes",
        "SET": "1",
    }
    assert find.Worker("fake", Path("x"), fake_worker.DESCRIBE, None).environment == {}


def test_libraries_of_a_sourced_ros_reach_only_who_asks_for_them_or_cannot_start(
    workers, monkeypatch
):
    def program(name: str, check: str, **more: object) -> None:
        printed = json.dumps(fake_worker.DESCRIBE | {"middleware": name, **more})
        script(workers / f"rmwbench-{name}", f"{check}\ncat <<'end'\n{printed}\nend\n")

    program("native", '[ -z "$LD_LIBRARY_PATH" ] || exit 1')
    program("ros", "", inherit=["LD_LIBRARY_PATH"])
    program("unfound", '[ -n "$LD_LIBRARY_PATH" ] || exit 127', inherit=["HERE"])
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/ros/jazzy/lib")
    monkeypatch.setenv("HERE", "yes")
    worker_of = find.find_workers(["native", "ros", "unfound"])
    assert {
        name: (worker.problem, worker.environment.get("LD_LIBRARY_PATH"))
        for name, worker in worker_of.items()
    } == {
        "native": (None, None),
        "ros": (None, "/opt/ros/jazzy/lib"),
        "unfound": (None, "/opt/ros/jazzy/lib"),
    }
    assert worker_of["unfound"].environment["HERE"] == "yes"


def test_a_sourced_ros_is_looked_through(workers, tmp_path, monkeypatch):
    place = tmp_path / "ros" / "lib" / "rmwbench_ros"
    place.mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nonexistent:{tmp_path / 'ros'}")
    describing(
        place / "rmwbench-ros", {"protocol": 1, "middlewares": [ROS | {"middleware": "ros/x"}]}
    )
    assert list(find.find_workers()) == ["ros/x"]
    describing(
        workers / "rmwbench-ros",
        {"protocol": 1, "middlewares": [fake_worker.DESCRIBE | {"middleware": "ros/y"}]},
    )
    # the first place gives all the middlewares of a program
    assert list(find.find_workers()) == ["ros/y"]


def test_why_something_is_not_ready_says_what_changes_that(workers):
    script(workers / "rmwbench-bad", "exit 3")
    worker_of = find.find_workers()
    assert "build zenoh" in find.why_not_ready("zenoh", worker_of)
    assert "status 3" in find.why_not_ready("bad", worker_of)
    assert "source your ROS 2" in find.why_not_ready("rclcpp/rmw_zenoh_cpp", worker_of)
    with pytest.raises(UserError, match=r"rclcpp/rmw_x: .*source your ROS 2"):
        find.require_workers(["rclcpp/rmw_x"])


def test_what_is_described_otherwise_is_named():
    same = {"version": "1.0", "modes": {"a": "yes"}}
    assert differences(same, dict(same)) is None
    assert differences(same, {**same, "version": "1.1"}) == "version 1.1 instead of 1.0"
    assert differences(same, {"version": "1.0"}) == "modes None instead of {'a': 'yes'}"


def test_all_that_is_missing_is_one_command(monkeypatch):
    monkeypatch.setattr(catalogue, "_is_installed", lambda package: False)
    with pytest.raises(UserError) as error:
        build.check([recipe(apt=("a", "b")), recipe(middleware="n", apt=("b", "c"))])
    assert error.value.fix.endswith("apt-get install -y --no-install-recommends a b c")
    assert "m needs a, b; n needs b, c" in error.value.actual


def test_a_package_of_two_architectures_is_installed(monkeypatch, tmp_path):
    """It was missing, after `make wheel TARGET=…` had brought the second."""
    text = "case $2 in *n) printf 'installed\ninstalled\n' ;; *) printf installedinstalled ;; esac"
    script(tmp_path / "dpkg-query", text)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert catalogue._is_installed("libacl1-dev")


def test_without_rust_the_reason_is_rust(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(UserError, match="Rust toolchain"):
        build.check([recipe()])
    entry = status("m", recipe(), None)
    assert entry["reason"] == "there is no Rust toolchain" and Path(entry["command"]).is_file()
    cargo = tmp_path / "rmwbench" / "rust" / "cargo" / "bin" / "cargo"
    script(cargo)
    # what setup/rust puts there is used, with the PATH as it was
    assert workspace.cargo() == str(cargo)
    assert status("m", recipe(), None)["reason"] == "not built yet"


def test_the_worker_on_rclcpp_of_a_wheel_needs_no_rust(monkeypatch):
    monkeypatch.setattr(workspace, "root", lambda: None)
    monkeypatch.setattr(workspace, "cargo", lambda: None)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    entry = status("rclcpp", recipe(middleware="rclcpp"), None)
    assert (entry["reason"], entry["command"]) == (ros2.NOT_SOURCED, ros2.SOURCE_FIX)


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (
            {"protocol": 1, "middlewares": [], "reason": "no ROS 2 is sourced"},
            "no ROS 2 is sourced",
        ),
        ({"protocol": 1, "middlewares": []}, "it has no middleware here"),
        ({"protocol": 1, "middlewares": [{"middleware": "ros/x"}]}, "KeyError"),
        ({"protocol": 1, "middlewares": 3}, "TypeError"),
        (
            fake_worker.DESCRIBE | {"middleware": "ros", "environment": {"A": 1}},
            "environment has values that are not texts",
        ),
        (
            fake_worker.DESCRIBE | {"middleware": "ros", "inherit": [1]},
            "inherit names no variables",
        ),
        (
            fake_worker.DESCRIBE | {"middleware": "ros", "modes": {"transport": ["udp"]}},
            "modes has values",
        ),
        (fake_worker.DESCRIBE | {"middleware": "ros", "version": 1.0}, "is not a text"),
        (fake_worker.DESCRIBE | {"middleware": 5}, "is not a text"),
        ({"protocol": 2, "middleware": "ros"}, "protocol 2"),
        (
            {
                "protocol": 2,
                "middlewares": [{**fake_worker.DESCRIBE, "middleware": "ros/x", "protocol": 2}],
            },
            "protocol 2",
        ),
    ],
)
def test_a_strange_description_is_told_and_not_believed(workers, document, complaint):
    describing(workers / "rmwbench-ros", document)
    worker_of = find.find_workers()
    assert list(worker_of) == ["ros"] and complaint in worker_of["ros"].problem
