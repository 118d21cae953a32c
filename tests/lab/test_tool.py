"""Our own tools: found where workers are, never taken for middlewares, built with every build; and
processes of a trial that are not workers."""

import contextlib
import os
import time

import pytest

from rmwbench.errors import UserError
from rmwbench.lab.host import make
from rmwbench.lab.middleware import build, find, tool
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import WorkerFailed
from rmwbench.lab.sampling.sampler import Sampler
from rmwbench.suite.timeline import Sampling
from tests.lab import fake_worker, tools
from tests.support.program import script


@pytest.fixture
def workers(tmp_path, monkeypatch):
    directory = tmp_path / "workers"
    directory.mkdir()
    tools.place(directory)
    monkeypatch.setenv("RMWBENCH_WORKERS", str(directory))
    monkeypatch.setenv("RMWBENCH_TARGET_DIR", str(tmp_path / "target"))
    return directory


def test_a_tool_is_found_beside_workers_and_is_not_a_middleware(workers):
    fake_worker.install(workers)
    worker_of = find.find_workers()
    assert "fake" in worker_of and "sampler" not in worker_of
    sampler = tool.find("sampler")
    assert sampler == workers / "rmwbench-sampler"
    with pytest.raises(
        UserError, match=r"(?s)the emulator is not built.*rmwbench middlewares build"
    ):
        tool.find("emulator")


def test_every_build_builds_the_tools():
    crates = [recipe.crate for recipe in build.choose(["floor"])]
    assert crates[-1] == "rmwbench-floor" and "rmwbench-sampler" in crates
    everything = [recipe.crate for recipe in build.choose([])]
    assert "rmwbench-sampler" in everything and "rmwbench-zenoh" in everything
    assert [recipe.crate for recipe in build.choose(["sampler"])].count("rmwbench-sampler") == 1
    with pytest.raises(UserError, match=r"did you mean `sampler`"):
        build.choose(["sampller"])


def test_a_worker_and_a_daemon_may_have_one_name(tmp_path):
    path = fake_worker.install(tmp_path)
    fields = {"profile": {"name": "untouched"}}
    with make("names") as host, TrialProcesses(host) as processes:
        host.wait_ready()
        processes.spawn_daemon("sampler", path)
        processes.wait_hello(10)
        processes.ask_daemon("sampler", "open", fields, 10)
        with contextlib.closing(Sampler(processes)) as sampler:
            sampler.spawn()
            assert sampler.problem is None
            begin_ns = time.monotonic_ns() + 100_000_000
            sampler.watch([("sampler", processes.daemons["sampler"].inner_pid, "daemon")])
            sampler.start(Sampling(), begin_ns, begin_ns + 100_000_000)
            sampler.ask()
            sampler.read(10)
            assert sampler.problem is None
            end = sampler.document["snapshots"][1]["processes"]
            assert end["sampler"]["role"] == "daemon" and end["sampler#2"]["role"] == "harness"


def test_whoever_said_hello_is_known_by_its_number(tmp_path):
    """The host reports each process by a message of its own; none of them may be left for later."""
    path = fake_worker.install(tmp_path)
    with make("many") as host, TrialProcesses(host) as processes:
        host.wait_ready()
        for number in range(8):
            processes.spawn_daemon(f"d{number}", path)
        time.sleep(1.5)  # until all have said hello, so that one turn has everything to take
        processes.wait_hello(10)
        assert all(daemon.inner_pid and daemon.pid for daemon in processes.daemons.values())


def test_a_daemon_must_say_who_it_is(tmp_path):
    path = fake_worker.install(tmp_path, hello={"daemon": "somebody else"})
    with make("who") as host, TrialProcesses(host) as processes:
        host.wait_ready()
        processes.spawn_daemon("router", path)
        with pytest.raises(
            WorkerFailed, match="daemon router: says that it is the daemon 'somebody else'"
        ):
            processes.wait_hello(10)


def test_without_a_toolchain_it_says_why_no_place_is_known(tmp_path, monkeypatch):
    """As for a user for whom rustup has no toolchain: there is a rustc, and it ends with an error."""
    script(tmp_path / "rustc", "echo 'no default is configured' >&2\nexit 1")
    for name in ("RMWBENCH_WORKERS", "RMWBENCH_TARGET_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(tool, "_places", tool._places.__wrapped__)
    with pytest.raises(UserError, match=r"(?s)cannot tell where cargo builds.*no default.*rust"):
        tool.find("sampler")


def test_a_tool_that_changes_is_asked_again(workers):
    path = workers / "rmwbench-sampler"
    assert tool.find("sampler") == path
    script(path, 'echo \'{"tool": "other", "protocol": 1}\'')
    with pytest.raises(UserError, match="this sampler does not belong"):
        tool.find("sampler")
