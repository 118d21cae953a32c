"""Hosts: isolated, connected enough for discovery, unprivileged too, and gone without a trace,
however their owner ends."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rmwbench.errors import UserError
from rmwbench.lab.host import (
    Container,
    Exited,
    Host,
    HostBroken,
    Hosts,
    Spawned,
    SpawnFailed,
    check_own,
    marker,
)
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.profile_file.host_setup import HostSetup, set_up
from tests.lab.fake_worker import INTERPRETER
from tests.support.namespaces import Held
from tests.support.program import run_as_nobody, until

REPOSITORY = Path(__file__).parents[2]
pytestmark = pytest.mark.own_host


def run(
    script: str,
    in_host: Host,
    executable: str = "/bin/sh",
    flag: str = "-c",
    container: Container | None = None,
) -> tuple[int, str]:
    """Runs a script in the host; its exit code and output."""
    out = os.memfd_create("out")
    try:
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        words = [flag, textwrap.dedent(script)]
        in_host.spawn("t", Path(executable), words, {1: out, 2: out}, env, container)
        spawned, ended = in_host.receive(10), in_host.receive(10)
        assert isinstance(spawned, Spawned) and isinstance(ended, Exited), (spawned, ended)
        return os.waitstatus_to_exitcode(ended.status), os.pread(out, 1 << 20, 0).decode()
    finally:
        os.close(out)


@pytest.fixture
def a_host():
    with Host("test") as made:
        made.wait_ready()
        yield made


def namespaces_of(pid: int) -> dict[str, str]:
    return {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in ("net", "mnt", "pid", "ipc")}


def test_a_host_shares_no_namespace_with_us_and_dies_when_closed():
    with Host("test") as made:
        made.wait_ready()
        made.spawn("sleeper", Path("/bin/sleep"), ["1000"], {}, {})
        spawned = made.receive(5)
        assert isinstance(spawned, Spawned) and spawned.token == "sleeper"
        inside, outside = namespaces_of(spawned.pid), namespaces_of(os.getpid())
        assert all(inside[name] != outside[name] for name in outside)
        assert Path(f"/proc/{spawned.pid}/comm").read_text().strip()
        held = Held([spawned.pid], "pid")
    assert not Path(f"/proc/{spawned.pid}").exists()
    with held as within:
        assert not within.processes()


def test_the_namespaces_of_an_ended_host_are_not_taken_for_those_of_the_next():
    with Host("first") as first:
        first.wait_ready()
        within = Held([first._init.pid])
        assert first._init.pid in within.processes()
    with within, Host("next") as following:
        following.wait_ready()
        assert not within.processes()


def test_shared_memory_and_temporary_files_are_private_and_limited(a_host):
    name = f"rmwbench-test-{os.getpid()}"
    code, output = run(
        f"echo x > /dev/shm/{name} && echo x > /tmp/{name} && ls /dev/shm && df -k --output=size "
        "/dev/shm",
        a_host,
    )
    assert code == 0 and name in output
    assert not Path("/dev/shm", name).exists() and not Path("/tmp", name).exists()
    kilobytes = int(output.split()[-1])
    (total,) = (
        int(x.split()[1])
        for x in Path("/proc/meminfo").read_text().splitlines()
        if x.startswith("MemTotal:")
    )
    assert 0 < kilobytes <= total // 2, "half of what was available when the host was made"


MULTICAST = """
import socket, struct
for group, port in (("239.255.0.1", 7400), ("224.0.0.224", 7446)):
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    receiver.bind(("", port))
    receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + struct.pack("=I", 0))
    receiver.settimeout(2)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.sendto(b"hello", (group, port))
    data, source = receiver.recvfrom(100)
    assert data == b"hello" and source[0] == "10.77.0.1", source
    receiver.settimeout(0.1)
    try:
        receiver.recvfrom(100)
        raise SystemExit("the same datagram came twice")
    except TimeoutError:
        pass
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
probe.connect(("198.51.100.1", 9))  # the default route leads somewhere
print(probe.getsockname()[0])
"""


def test_multicast_reaches_a_member_once_and_there_is_a_default_route(a_host):
    code, output = run(MULTICAST, a_host, INTERPRETER)
    assert (code, output.strip()) == (0, "10.77.0.1"), output


def test_two_hosts_do_not_see_each_other(a_host):
    with Host("other") as other:
        other.wait_ready()
        assert run("echo x > /dev/shm/mine", other)[0] == 0
        assert run("test -e /dev/shm/mine", a_host)[0] == 1


def test_a_program_that_cannot_run_is_reported(a_host, tmp_path):
    nonsense = tmp_path / "nonsense"
    nonsense.write_bytes(b"\x7fELF not really")
    nonsense.chmod(0o755)
    a_host.spawn("bad", nonsense, [], {}, {})
    reports = [a_host.receive(5) for _ in range(3)]
    assert any(isinstance(report, SpawnFailed) and report.token == "bad" for report in reports)
    with pytest.raises(UserError, match="cannot run this program"):
        a_host.spawn("missing", tmp_path / "missing", [], {}, {})
    assert run("true", a_host)[0] == 0


def test_a_program_below_our_tmp_runs_although_the_host_has_its_own(a_host, tmp_path):
    copy = tmp_path / "copy-of-true"
    shutil.copy(shutil.which("true"), copy)
    a_host.spawn("t", copy, [], {}, {})
    assert isinstance(a_host.receive(5), Spawned)
    assert a_host.receive(5).status == 0


def test_descriptors_arrive_under_the_numbers_asked_for_even_crosswise(a_host):
    files = [os.memfd_create(str(i)) for i in range(4)]
    try:
        targets = {1 + i: fd for i, fd in enumerate(files)}
        a_host.spawn(
            "t",
            Path("/bin/sh"),
            ["-c", 'for i in 1 2 3 4; do eval "echo $i >&$i"; done'],
            targets,
            {},
        )
        assert isinstance(a_host.receive(5), Spawned) and a_host.receive(5).status == 0
        assert [os.pread(fd, 10, 0) for fd in files] == [b"1\n", b"2\n", b"3\n", b"4\n"]
    finally:
        for fd in files:
            os.close(fd)


def test_a_killed_init_is_noticed(a_host):
    a_host._init.kill()
    with pytest.raises(HostBroken, match="ended by itself"):
        a_host.receive(5)


OWNER = """
import sys, time
from pathlib import Path
from rmwbench.lab.host import Host
host = Host("owner")
host.wait_ready()
stubborn = "trap '' TERM INT HUP; echo x > /dev/shm/x; sleep 1000 & sleep 1000"
host.spawn("stubborn", Path("/bin/sh"), ["-c", stubborn], {}, {})
print(host.receive(5).pid, flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_survives_the_orchestrator_however_it_ends(how):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    pid = int(owner.stdout.readline())
    inside = namespaces_of(pid)
    mounts_before = Path("/proc/self/mountinfo").read_text()
    with Held([pid], "pid") as within:
        assert pid in within.processes()
        owner.send_signal(how)
        owner.wait()
        owner.stdout.close()
        until(lambda: not within.processes(), timeout_s=300)
    # No process and no mount holds the network namespace: its identity occurs nowhere any more.
    identity = inside["net"].split("[")[1].rstrip("]")
    assert identity not in Path("/proc/self/mountinfo").read_text()
    assert Path("/proc/self/mountinfo").read_text() == mounts_before
    assert not Path("/dev/shm/x").exists()
    until(lambda: owner.pid not in [stray.marker.pid for stray in marker.strays()], timeout_s=300)


def test_a_stray_init_is_found_by_its_marker_and_a_living_one_is_not():
    with Host("living") as living:
        living.wait_ready()
        dead = subprocess.Popen([sys.executable, "-c", "pass"])
        dead.wait()
        text = marker.own_marker("stray:with:colons")._replace(pid=dead.pid, started_ticks=1).text()
        stray = subprocess.Popen(["/bin/sleep", "1000"], env={marker.VARIABLE: text})
        try:
            # Popen returns within the exec, a moment before the kernel shows the new environment.
            until(Path(f"/proc/{stray.pid}/environ").read_bytes)
            found = [s for s in marker.strays() if s.pid in (stray.pid, living._init.pid)]
            assert [(s.pid, s.marker.name) for s in found] == [(stray.pid, "stray:with:colons")]
        finally:
            stray.kill()
            stray.wait()


def test_two_devices_whose_names_begin_alike_are_made():
    """As the kernel names two adapters of one maker by their addresses."""
    setup = HostSetup(interfaces=("enx001122334455", "enx001122334456"))
    with Host("alike") as host, TrialProcesses(host) as processes:
        host.wait_ready()
        set_up(processes, {host.name: setup})
        _, devices = run("cat /proc/net/dev", host)
    assert all(name in devices for name in setup.interfaces)


NOBODY = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from rmwbench.lab.host import Host
with Host("nobody") as host:
    host.wait_ready()
    assert host.user_namespace is True
    out = os.memfd_create("out")
    host.spawn("t", Path(os.path.realpath(sys.executable)), ["-c", sys.stdin.read()], {1: out, 2: out}, {})
    host.receive(5)
    status = host.receive(10).status
    print(os.waitstatus_to_exitcode(status), os.pread(out, 100000, 0).decode())
"""


def test_a_user_without_any_capability_gets_the_same_host():
    done = run_as_nobody(NOBODY, input=MULTICAST)
    if "HostBroken" in done.stderr and "Operation not permitted" in done.stderr:
        pytest.skip("this machine forbids user namespaces")
    assert done.stdout.split() == ["0", "10.77.0.1"], done.stdout + done.stderr


def test_where_hosts_are_forbidden_the_error_names_what_is_missing(monkeypatch):
    def refuse(self, timeout_s=0):
        raise HostBroken("unshare with a user namespace", 1)

    monkeypatch.setattr(Host, "wait_ready", refuse)
    with pytest.raises(UserError) as error:
        check_own()
    assert "CAP_SYS_ADMIN" in str(error.value) and "sysctl" in str(error.value)


def test_hosts_among_several_are_different_machines():
    """Fast DDS 3 takes two hosts with one machine id for one."""
    here = Path("/etc/machine-id")
    if not here.exists():
        pytest.skip("this machine has no machine id")
    with Hosts("test", ["a", "b"]) as hosts:
        hosts.wait_ready()
        ids = {hosts[name].outside_path(str(here)).read_text() for name in hosts}
    assert len(ids | {here.read_text()}) == 3


def test_the_networks_process_may_have_a_descriptor_for_each_of_many_traces():
    """Eight robots with a trace of their own for each direction: beyond its bound, a number was
    that of the executable."""
    out, trace = os.memfd_create("out"), os.memfd_create("trace")
    os.write(trace, b"a trace")
    try:
        with Hosts("test", ["a", "b"]) as hosts:
            hosts.wait_ready()
            network = hosts.network
            network.spawn("t", Path("/bin/cat"), ["/proc/self/fd/22"], {1: out, 22: trace}, {})
            assert isinstance(network.receive(10), Spawned)
            ended = network.receive(10)
            assert isinstance(ended, Exited) and ended.status == 0, ended
        assert os.pread(out, 100, 0) == b"a trace"
    finally:
        os.close(out)
        os.close(trace)
