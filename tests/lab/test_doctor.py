"""The check-up on a machine that really is what it complains of: in namespaces, limits and groups
made for the test."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rmwbench.lab import trial_view
from rmwbench.lab.machine import machine_facts, processes
from tests.badinput.conftest import private_mounts
from tests.support.command import COMMAND, rmwbench
from tests.support.program import cpu_group

ROOT = os.geteuid() == 0


def doctor(before="", isolated=True, prefix=()):
    """(exit status, check → finding) of `rmwbench doctor --json` after these shell commands, in
    mounts of its own."""
    if not (before or isolated or prefix):
        return findings(rmwbench("doctor", "--json"))
    words = shlex.join([*COMMAND, "doctor", "--json"])
    place = private_mounts() if isolated else []
    command = [*place, *prefix, "/bin/sh", "-ec", f"{before}\n{words}"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )
    return findings(done)


def findings(done):
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    return done.returncode, {finding["check"]: finding for finding in document["findings"]}


def test_small_shared_memory_and_what_dead_processes_left_in_it():
    """The file of a living process is not called a leftover, the other one is, and the command
    names it alone."""
    before = f"""
    head -c 100000 /dev/zero > /dev/shm/fastrtps_dead
    mkdir -p /tmp/iceoryx2/nodes && echo x > /tmp/iceoryx2/nodes/dead
    {shlex.quote(sys.executable)} -c "
import mmap, time
file = open('/dev/shm/fastrtps_alive', 'w+b'); file.truncate(4096)
kept = mmap.mmap(file.fileno(), 4096); file.close(); time.sleep(60)" & alive=$!
    trap "kill $alive" EXIT
    until test -s /dev/shm/fastrtps_alive; do kill -0 $alive; sleep 0.01; done
    touch /dev/shm/somebody_elses
    """
    # what a trial sees: 64 MiB of memory for itself, and a /tmp with this checkout at most
    status, findings = doctor(before, isolated=False, prefix=trial_view.view())
    assert (
        status == 1
        and findings["/dev/shm"]["level"] == "red"
        and "64 MiB" in findings["/dev/shm"]["found"]
    )
    leftovers = findings["leftover segments"]
    assert leftovers["level"] == "yellow" and leftovers["found"].startswith(
        "2 of Fast DDS, iceoryx2"
    )
    assert leftovers["fix"] == "rm -r -- /dev/shm/fastrtps_dead /tmp/iceoryx2"


def test_limits_of_the_shell_are_found():
    _, findings = doctor("ulimit -n 200; ulimit -u 400 || true", isolated=False)
    assert (
        findings["process limits"]["level"] == "red"
        and "200 open files" in findings["process limits"]["found"]
    )


@pytest.mark.own_host
def test_a_network_without_loopback_has_neither_route_nor_multicast():
    """Trials have a network of their own, so theirs works all the same."""
    command = ["unshare", "--net"] if ROOT else ["unshare", "--user", "--map-root-user", "--net"]
    _, findings = doctor(isolated=False, prefix=command)
    assert "unreachable" in findings["multicast route"]["found"]
    assert findings["multicast on lo"]["level"] == "yellow"
    assert findings["multicast in trials"]["level"] == "green"
    assert findings["interfaces"]["found"] == "none but lo"


@pytest.mark.timing
@pytest.mark.smoke
def test_whoever_uses_the_processor_is_named():
    spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        _, findings = doctor(isolated=False)
    finally:
        spinner.kill()
        spinner.wait()
    assert findings["load"]["level"] in ("yellow", "red")
    assert f"({spinner.pid})" in findings["load"]["found"]


@pytest.mark.long
def test_a_running_node_and_a_daemon_are_told_apart(tmp_path):
    """By what they are started with; nothing of ROS is needed for that."""
    daemon = tmp_path / "iox-roudi"
    shutil.copy("/bin/sleep", daemon)
    running = [subprocess.Popen([daemon, "60"])]
    try:
        _, findings = doctor(isolated=False)
        assert f"iox-roudi ({running[0].pid}, a daemon)" in findings["running robots"]["found"]
        node = [
            sys.executable,
            "-c",
            "import time; time.sleep(60)",
            "--ros-args",
            "-r",
            "__node:=talker",
        ]
        running.append(subprocess.Popen(node))
        status, findings = doctor(isolated=False)
        assert status == 1 and findings["running robots"]["level"] == "red"
        assert f"({running[1].pid}, a ROS 2 node)" in findings["running robots"]["found"]
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_our_own_workers_are_nobodys_robot(tmp_path):
    worker = tmp_path / "rmwbench-cyclonedds"
    shutil.copy("/bin/sleep", worker)
    running = subprocess.Popen([worker, "60", "--ros-args"])
    try:
        assert running.pid not in [program["pid"] for program in processes.walk().programs]
    finally:
        running.kill()
        running.wait()


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["/usr/bin/python3", "-W", "ignore", "/opt/talker.py", ""], "talker.py"),
        (["python3.12", "talker.py", "-c", "conf.yaml"], "talker.py"),
        (["python3", "talker.py", "-m", "fastdds"], "talker.py"),
        (["python3", "-Im", "zenohd"], "zenohd"),
        (["bash", "-lc", "source setup.bash && ros2 launch robot"], ""),
        (["/opt/ros/noetic/lib/nodelet/nodelet", "manager"], ""),
    ],
)
def test_the_script_is_what_the_interpreter_runs_and_no_argument_of_it(words, script):
    assert processes._script(words) == script


def test_a_file_that_is_closed_meanwhile_hides_no_other(monkeypatch, tmp_path):
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="rmwbench-test-") as segment:
        (tmp_path / "fd").mkdir()
        (tmp_path / "fd" / "4").symlink_to(segment.name)
        monkeypatch.setattr(processes.os, "listdir", lambda path: ["3", "4"])
        status = os.stat(segment.name)
        assert list(processes._open_files(tmp_path)) == [(status.st_dev, status.st_ino)]


def test_a_cpu_quota_is_red():
    with cpu_group(90_000) as group:
        status, findings = doctor(f"echo $$ > {group}/cgroup.procs", isolated=False)
        assert (
            status == 1
            and findings["CPU quota"]["level"] == "red"
            and "0.9 cores" in findings["CPU quota"]["found"]
        )


def test_the_terminal_shows_the_worst_first_and_the_good_in_one_paragraph():
    done = rmwbench("doctor", env={**os.environ, "COLUMNS": "80"})
    assert done.returncode in (0, 1) and done.stderr == ""
    lines = done.stdout.splitlines()
    levels = [
        line.split()[0]
        for line in lines
        if line.split()[:1] and line.split()[0] in ("red", "yellow", "unknown", "green")
    ]
    assert levels == sorted(levels, key=["red", "yellow", "unknown", "green"].index)
    assert levels.count("green") == 1 and (done.returncode == 1) == ("red" in levels)
    assert all(
        len(line) <= 80 for line in lines if not line.strip().startswith(("do:", "for good:"))
    )


@pytest.mark.own_host
def test_what_is_tried_leaves_nothing_behind():
    def traces():
        groups = [
            str(path)
            for root in ("unified", "cpuacct", "")
            for path in Path("/sys/fs/cgroup", root).glob("rmwbench-*")
        ]
        return (
            sorted(groups),
            sorted(os.listdir("/sys/class/net")),
            len(os.listdir("/proc/self/fd")),
        )

    before = traces()
    results = [
        machine_facts.try_user_namespace(),
        machine_facts.try_tap_device(),
        machine_facts.try_latency_device(),
    ]
    results += [
        machine_facts.try_real_time(),
        machine_facts.try_perf_events(),
        machine_facts.try_multicast_lo(),
        machine_facts.try_multicast_route(),
        machine_facts.try_multicast_host(),
    ]
    assert all(isinstance(result, str) for result in results)
    assert traces() == before
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
