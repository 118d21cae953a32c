"""What an arm ran with, taken home and given back: the same configuration is in force."""

import json
import subprocess
from pathlib import Path

import pytest

from rmwbench.campaign.plan.rehearsal import in_force
from rmwbench.errors import UserError
from rmwbench.lab.middleware import Worker
from rmwbench.robot.deployment import ENV, SYSCTL, write
from rmwbench.suite.arm import Arm
from rmwbench.suite.file.candidate_list import Choice
from rmwbench.suite.file.candidates_file import CANDIDATES_VARIABLE
from rmwbench.suite.file.load import parse
from tests.lab import fake_worker, tools

SUITE = """
suite: s
title: t
arms: [{name: a, middleware: floor}]
workloads: [{name: w, message: Array1k, rate_hz: 100}]
"""


def shipped(middleware: str, profile: str) -> Arm:
    definition = {"name": "shipped", "middleware": middleware, "profile": profile}
    return Arm.model_validate(definition)


@pytest.mark.own_host
@pytest.mark.parametrize(
    ("middleware", "profile", "variable"),
    [
        ("cyclonedds", "tuned", "CYCLONEDDS_URI"),
        ("fastdds", "tuned", None),  # the name is its version's
        ("zenoh", "tuned", "ZENOH_CONFIG"),
        ("zenoh", "rmw_zenoh", "ZENOH_CONFIG"),
        ("iceoryx2", "untouched", None),
    ],
)
def test_given_back_it_is_the_same_configuration(tmp_path, middleware, profile, variable):
    worker = tools.worker(middleware)
    native, env, sysctl = write(middleware, profile, worker, tmp_path / "robot")
    assert (env.name, sysctl.name, native.stem) == (ENV, SYSCTL, profile)
    choice = Choice(profiles=(f"{middleware}={tmp_path / 'robot'}",))
    back = parse(SUITE, where="s.yaml", choice=choice).arms[-1]
    assert back.profile.text is not None
    assert in_force(back, worker) == in_force(shipped(middleware, profile), worker)
    if variable is not None:
        command = f'. {env}; printf %s "${variable}"'
        shell = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        read = Path(shell.stdout.removeprefix("file://"))
        assert read.samefile(native)


def described() -> Worker:
    buffer = '<SocketReceiveBufferSize max="8MB"/>'
    text = f"<CycloneDDS><Domain><Internal>{buffer}</Internal></Domain></CycloneDDS>"
    profile = {"name": "tuned", "format": "xml", "text": text, "daemons": ["roudi"]}
    return Worker("cyclonedds", None, fake_worker.DESCRIBE | {"profiles": [profile]}, None)


@pytest.mark.parametrize(
    ("rmw", "form", "variable"),
    [
        ("rmw_fastrtps_cpp", "xml", "FASTRTPS_DEFAULT_PROFILES_FILE"),
        ("rmw_fastrtps_cpp", "xml", "FASTDDS_DEFAULT_PROFILES_FILE"),
        ("rmw_zenoh_cpp", "json5", "ZENOH_SESSION_CONFIG_URI"),
    ],
)
def test_the_file_of_an_rmw_is_read_through_the_variable_that_its_worker_names(
    tmp_path, rmw, form, variable
):
    """Jazzy's Fast DDS is 2.14, which no version of rclcpp says: the newer name does nothing."""
    profile = {"name": "tuned", "format": form, "text": "<a/>", "daemons": []}
    build = {"version": f"28.1.21 {rmw} 8.4.3", "build": {"profile_variable": variable}}
    described = fake_worker.DESCRIBE | build | {"profiles": [profile]}
    write(f"rclcpp/{rmw}", "tuned", Worker(f"rclcpp/{rmw}", None, described, None), tmp_path)
    assert f'export {variable}="$here/tuned.{form}"' in (tmp_path / ENV).read_text()


def test_a_profile_that_sets_nothing_is_an_empty_file_of_its_own_middleware(tmp_path):
    """An RMW on Fast DDS was given Cyclone DDS's."""
    profile = {"name": "untouched", "format": "xml", "text": "", "daemons": []}
    middleware = "rclcpp/rmw_fastrtps_cpp"
    worker = Worker(middleware, None, fake_worker.DESCRIBE | {"profiles": [profile]}, None)
    native, *_ = write(middleware, "untouched", worker, tmp_path)
    assert "<profiles" in native.read_text()


def test_what_it_asks_of_the_kernel_and_which_daemon_it_needs_are_written(tmp_path):
    write("cyclonedds", "tuned", described(), tmp_path)
    lines = (tmp_path / SYSCTL).read_text().splitlines()
    settings = [line for line in lines if not line.startswith("#")]
    assert settings == [f"net.core.rmem_max={8 << 20}"]
    assert "iox-roudi" in (tmp_path / ENV).read_text()


def test_it_is_written_beside_nothing_else_and_only_of_what_there_is(tmp_path):
    with pytest.raises(UserError, match="no profile and no candidate"):
        write("cyclonedds", "turned", described(), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="has other files"):
        write("cyclonedds", "tuned", described(), tmp_path)


@pytest.mark.own_host
def test_endpoints_of_the_trials_own_are_not_taken_home(tmp_path):
    with pytest.raises(UserError, match="a robot does not have"):
        write("zenoh", "tcp", tools.worker("zenoh"), tmp_path)


def test_a_file_with_any_name_is_read_and_runs_nothing(tmp_path, monkeypatch):
    own = tmp_path / 'my "$(touch ran)".xml'
    own.write_text("<CycloneDDS/>")
    candidate = {"name": "odd", "middleware": "cyclonedds", "profile": str(own)}
    candidate["options"] = {"path": "lo\ntouch ran"}
    candidates = tmp_path / "candidates.yaml"
    candidates.write_text(json.dumps({"candidates": [candidate]}))
    monkeypatch.setenv(CANDIDATES_VARIABLE, str(candidates))
    native, env, _ = write("cyclonedds", "odd", described(), tmp_path / "robot")
    shell = subprocess.run(
        ["bash", "-c", f'. {env}; printf %s "$CYCLONEDDS_URI"'],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert Path(shell.stdout.removeprefix("file://")).samefile(native)
    assert not (tmp_path / "ran").exists()
