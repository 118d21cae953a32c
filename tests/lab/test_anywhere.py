"""A checkout runs wherever it is put: below /tmp, which every trial has for itself, under a path
with blanks and letters of any language, where nothing can be written, and two at once."""

import marshal
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from unittest.mock import ANY

import pytest

from rmwbench.bundle import Bundle
from rmwbench.campaign.trial import leftovers
from rmwbench.lab import trial_view
from rmwbench.lab.host import Container, Exited, Host, Spawned
from rmwbench.lab.middleware import find_workers
from tests.badinput.conftest import private_mounts
from tests.lab import fake_worker, tools
from tests.lab.test_host import run

REPOSITORY = Path(__file__).parents[2]
PARTS = ("rmwbench", "workers", "suites", "limits", "setup", "native", "pyproject.toml")
PROGRAMS = ("floor", "fastdds", "sampler")
SUITE = """
suite: anywhere
title: a worker of each kind
blocks: {planned: 1, minimum: 1}
timeline: {warmup_s: 0.1, drain_s: 0.5, steady_s: 0.2}
arms:
  - {name: Rust, middleware: floor}
  - {name: a shim in C++, middleware: fastdds}
  - {name: Python, middleware: zenoh-python}
  - {name: of a ROS 2, middleware: fake}
workloads:
  - {name: small, message: Bytes(100), rate_hz: 100}
"""


@pytest.fixture
def below_tmp():
    with tempfile.TemporaryDirectory(prefix="anywhere-", dir="/tmp") as directory:
        yield Path(directory)


def clone(place: Path) -> Path:
    """The tracked files as they are now with an environment of their own, as `uv sync` makes it;
    the packages of others in it are those of this one."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *PARTS]
    names = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, check=True).stdout
    for name in map(os.fsdecode, filter(None, names.split(b"\0"))):
        if (REPOSITORY / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, place / name)
    environment = place / ".venv"
    made = [sys.executable, "-m", "venv", "--without-pip", environment]
    subprocess.run(made, check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    paths = place, place / "workers", sysconfig.get_path("purelib"), sysconfig.get_path("platlib")
    (packages / "clone.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    # A line with `#!` has no room for blanks; uv writes what sh and Python both read.
    text = f"""#!/bin/sh
'''exec' '{environment}/bin/python' "$0" "$@"
' '''
from rmwbench_workers.zenoh_python import main
raise SystemExit(main())
"""
    program(environment / "bin" / "rmwbench-zenoh-python", text)
    return place


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def a_ros2(prefix: Path) -> None:
    """A prefix with an interpreter and one worker, which it runs, as a workspace has them."""
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin" / "python").symlink_to(fake_worker.INTERPRETER)
    place = prefix / "lib" / "rmwbench_fake"
    place.mkdir(parents=True)
    text = fake_worker.install(place).read_text()
    program(place / "rmwbench-fake", text.replace(fake_worker.INTERPRETER, f"{prefix}/bin/python"))


@pytest.mark.own_host
@pytest.mark.parametrize("private", trial_view.PRIVATE)
def test_what_programs_are_made_of_is_seen_and_nothing_beside_it(private, monkeypatch):
    """Also by a container in the host, which has directories of its own once more."""
    with tempfile.TemporaryDirectory(prefix="anywhere-", dir=private) as directory:
        place = Path(directory)
        (place / "wörkers of mine").mkdir()
        (place / "robot").mkdir()
        for name in ("wörkers of mine/program", "robot/socket", "licence"):
            (place / name).write_text("seen")
        monkeypatch.setenv("RMWBENCH_WORKERS", str(place / "wörkers of mine"))
        monkeypatch.setenv("RTI_LICENSE_FILE", str(place / "licence"))
        script, seen = f"cat {place}/*/* {place}/licence; ls {place}", "licence\nwörkers of mine\n"
        with Host("test") as host:
            host.wait_ready()
            assert run(script, host) == (0, f"seenseen{seen}")
            for shm_bytes in (0, 1 << 20):
                container = Container(own_ipc=True, shm_bytes=shm_bytes)
                assert run(script, host, container=container) == (0, f"seenseen{seen}")


def test_places_are_seen_by_their_names_and_by_what_they_are(below_tmp, monkeypatch):
    (below_tmp / "real").mkdir()
    (below_tmp / "inside").mkdir()
    (below_tmp / "link").symlink_to(below_tmp / "real")
    (below_tmp / "file").write_text("")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{below_tmp}/link:/tmp:/usr/lib:{below_tmp}/no")
    monkeypatch.setenv("RTI_LICENSE_FILE", f"{below_tmp}/file")
    found = {place for place in trial_view.roots() if place.startswith(str(below_tmp))}
    assert found == {f"{below_tmp}/{name}" for name in ("link", "real", "file")}
    assert trial_view.is_seen(below_tmp / "real" / "x") and trial_view.is_seen(Path("/usr/x"))
    assert not trial_view.is_seen(below_tmp / "inside") and not trial_view.is_seen(
        below_tmp / "real2"
    )


@pytest.mark.own_host
def test_a_worker_that_a_trial_cannot_start_is_not_called_ready(below_tmp, monkeypatch):
    """Its interpreter lies where nobody says that anything is."""
    (below_tmp / "workers").mkdir()
    worker = fake_worker.install(below_tmp / "workers")
    monkeypatch.setenv("RMWBENCH_WORKERS", str(worker.parent))
    assert find_workers(["fake"])["fake"].problem is None
    (below_tmp / "python").symlink_to(fake_worker.INTERPRETER)
    program(worker, worker.read_text().replace(fake_worker.INTERPRETER, f"{below_tmp}/python"))
    problem = find_workers(["fake"])["fake"].problem
    assert problem is not None and "in a trial, which has a /tmp of its own: No such" in problem


@pytest.mark.own_host
def test_what_a_trial_sees_is_nothing_that_it_left_behind(below_tmp, monkeypatch):
    (below_tmp / "deep" / "workers").mkdir(parents=True)
    (below_tmp / "deep" / "workers" / "program").write_text("")
    monkeypatch.setenv("RMWBENCH_WORKERS", str(below_tmp / "deep" / "workers"))
    listing = leftovers.PROGRAM.replace("os.write(4,", "os.write(1,")
    found = os.memfd_create("found")
    with Host("test") as host:
        host.wait_ready()
        run(f"touch {below_tmp}/deep/left", host)
        host.interpret("l", listing, [*leftovers.PLACES, "", *trial_view.roots()], {1: found})
        assert isinstance(host.receive(10), Spawned) and host.receive(10) == Exited(ANY, 0)
    rows = marshal.loads(os.pread(found, 1 << 20, 0))
    os.close(found)
    assert rows == [(f"{below_tmp}/deep/left", "file", 0)]


@pytest.mark.own_host
@pytest.mark.traffic
def test_a_clone_below_tmp_runs_every_kind_of_worker_in_its_trials(below_tmp):
    """Two clones at once: one that nothing can be written to, and one with a name that shells,
    interpreters and locales make different things of. All that they need is below /tmp, too."""
    built = below_tmp / "built"
    (built / "release").mkdir(parents=True)
    for name in (*map("rmwbench-{}".format, PROGRAMS), "librmwbench_worker.so"):
        shutil.copy2(tools.built("sampler").with_name(name), built / "release" / name)
    a_ros2(below_tmp / "ros2")
    suite = below_tmp / "anywhere.yaml"
    suite.write_text(SUITE)
    clones = [clone(below_tmp / name) for name in ("plain", "eine Größe, ひと つ")]
    running = []
    for number, place in enumerate(clones):
        out = below_tmp / f"out {number}"
        words = [place / ".venv/bin/python", "-m", "rmwbench", "run", suite, "--out", out]
        at = below_tmp / f"home {number}"
        at.mkdir()
        environment = {"PATH": f"{place}/.venv/bin:{os.environ['PATH']}", "HOME": str(at)}
        environment |= {"XDG_CACHE_HOME": str(at / "c"), "AMENT_PREFIX_PATH": f"{below_tmp}/ros2"}
        environment |= {"RMWBENCH_TARGET_DIR": str(built), "RMWBENCH_SPOILT": "keep"}
        if number == 0:
            read_only = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
            words = [*private_mounts(), "sh", "-ec", read_only, place, *words]
        running.append(
            (out, subprocess.Popen(words, env=environment, cwd=at, stderr=subprocess.PIPE))
        )
    # both have ended before the first is judged: their directory goes with a failure
    ended = [(out, process.communicate(timeout=300)[1]) for out, process in running]
    for out, said in ended:
        assert Bundle(out).journal.finished, said
        # what the machine spoilt runs again
        found = [(one.status, one.reason) for one in Bundle(out).trials() if one.cause != "machine"]
        assert found == [("done", None)] * 4
