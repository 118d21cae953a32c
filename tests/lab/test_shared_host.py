"""The shared host: what it starts dies with it however it ends, it leaves nothing, takes nothing of
others', and draws what nobody else has. Needs no namespace and no worker."""

import errno
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rmwbench.errors import UserError
from rmwbench.lab.host import (
    Exited,
    Host,
    HostBroken,
    SharedHost,
    Spawned,
    hosts,
    shared_files,
    shared_host,
)

REPOSITORY = Path(__file__).parents[2]
SH = Path("/bin/sh")


@pytest.fixture
def a_host():
    with SharedHost("test") as made:
        made.wait_ready()
        yield made


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone_in_time(*pids: int, timeout_s: float = 60.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while any(map(lives, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(lives, pids))


def run(script: str, host: Host) -> tuple[int, str]:
    out = os.memfd_create("out")
    try:
        host.spawn(
            "t",
            SH,
            ["-c", script],
            {1: out, 2: out},
            {"PATH": os.defpath, "TMPDIR": host.directory},
        )
        spawned, ended = host.receive(10), host.receive(10)
        assert isinstance(spawned, Spawned) and isinstance(ended, Exited), (spawned, ended)
        return os.waitstatus_to_exitcode(ended.status), os.pread(out, 1 << 16, 0).decode()
    finally:
        os.close(out)


def test_a_process_is_told_its_host_and_begins_in_its_directory(a_host):
    code, output = run("echo $RMWBENCH_SHARED_HOST $RMWBENCH_FIRST_PORT; pwd; touch left", a_host)
    name, port, place = output.split()
    assert code == 0 and place == a_host.directory == f"/tmp/{name}"
    assert int(port) == a_host.place.first_port and 1 <= a_host.domain_id <= 50
    a_host.close()
    assert not Path(place).exists()


def test_whatever_was_started_dies_with_its_host_also_what_left_its_group(a_host):
    a_host.spawn(
        "t",
        SH,
        ["-c", "setsid sh -c 'trap \"\" TERM; echo $$ > pid; sleep 1000' & sleep 1000"],
        {},
        {},
    )
    spawned = a_host.receive(10)
    while not (pid := _text(Path(a_host.directory, "pid"))):
        time.sleep(0.01)
    assert lives(spawned.pid) and lives(int(pid))
    a_host.close()
    assert not lives(spawned.pid) and not lives(int(pid))


def _text(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


OWNER = """
import sys, time
from pathlib import Path
from rmwbench.lab.host import SharedHost
host = SharedHost("owner")
host.wait_ready()
hold = (
    "exec 9> /dev/shm/$RMWBENCH_SHARED_HOST.held; echo x > /dev/shm/${RMWBENCH_SHARED_HOST}_named; "
    "(setsid sleep 1000 &); echo ready > ready; trap '' TERM INT HUP; sleep 1000"
)
host.spawn("stubborn", Path("/bin/sh"), ["-c", hold], {}, {"PATH": "/usr/bin:/bin"})
pid = host.receive(5).pid
while not Path(host.directory, "ready").exists():
    time.sleep(0.01)
print(pid, host._init.pid, host.directory, flush=True)
time.sleep(1000)
"""


@pytest.fixture
def owner():
    """A process with a shared host: itself, the PIDs of the host's process and init, the
    directory."""
    started = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    pid, init, directory = started.stdout.readline().split()
    yield started, int(pid), int(init), Path(directory)
    started.kill()
    started.wait()
    started.stdout.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_survives_the_orchestrator_however_it_ends(owner, how):
    started, pid, init, directory = owner
    held, named = Path(f"/dev/shm/{directory.name}.held"), Path(f"/dev/shm/{directory.name}_named")
    while len(below := shared_files.descendants(init)) < 3:  # the shell forks after it is ready
        time.sleep(0.01)
    assert pid in below and held.exists() and named.exists()
    started.send_signal(how)
    assert gone_in_time(started.pid, init, *below)
    assert not directory.exists() and not held.exists() and not named.exists()


def test_the_processes_of_a_killed_init_die_and_clean_removes_what_stays(owner):
    started, pid, init, directory = owner
    named = Path(f"/dev/shm/{directory.name}_named")
    os.kill(init, signal.SIGKILL)
    assert gone_in_time(pid)
    started.kill()
    started.wait()
    assert directory in hosts.remove_directories(dry_run=True) and directory.exists()
    hosts.remove_strays()
    assert directory in hosts.remove_directories()
    assert not directory.exists() and not named.exists()
    Path(f"/dev/shm/{directory.name}.held").unlink()  # nobody can know any more whose this was


def test_the_port_files_of_fast_dds_in_its_domain_go_and_those_of_other_domains_stay(a_host):
    """Some it leaves whatever happens: the semaphore of a port that was tried and not taken is held
    by nobody."""
    first = 7400 + 250 * a_host.domain_id
    own = [
        Path(f"/dev/shm/{name}")
        for name in (
            f"sem.fastrtps_port{first + 10}_mutex",
            f"fastrtps_port{first + 249}",
            f"sem.fastdds_port{first + 11}_mutex",  # of 3.x
        )
    ]
    other = Path(f"/dev/shm/fastrtps_port{first + 250}")
    for path in (*own, other):
        path.touch()
    a_host.close()
    assert not any(path.exists() for path in own) and other.exists()
    other.unlink()


def test_a_segment_that_somebody_else_holds_stays():
    """Also one that a process of the host held: a robot's, if a user's own worker opened it."""
    path = Path(f"/dev/shm/test-{os.getpid()}")
    with path.open("w"):
        with SharedHost("test") as made:
            made.wait_ready()
            made.spawn(
                "t",
                SH,
                ["-c", f"exec 9< {path}; echo > ready; sleep 1000"],
                {},
                {"PATH": os.defpath},
            )
            made.receive(5)
            while not Path(made.directory, "ready").exists():
                time.sleep(0.01)
        assert path.exists()
    path.unlink()


def test_hosts_at_the_same_time_have_nothing_in_common():
    hosts = []
    try:
        for _ in range(5):
            hosts.append(SharedHost("test"))
        for made in hosts:
            made.wait_ready()
        assert (
            len({made.domain_id for made in hosts}) == len({made.directory for made in hosts}) == 5
        )
        ports = [set(shared_host._ports(made.domain_id)) for made in hosts]
        assert sum(map(len, ports)) == len(set.union(*ports))
    finally:
        for made in hosts:
            made.close()


def test_a_disk_that_is_full_is_named_and_nothing_is_left(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "no space")

    before = set(Path("/tmp").glob(f"{shared_host.PREFIX}*"))
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(HostBroken, match="make a directory in /tmp") as broken:
        shared_host.claim("x")
    assert broken.value.errno == errno.ENOSPC
    assert set(Path("/tmp").glob(f"{shared_host.PREFIX}*")) == before


def test_a_number_whose_domain_or_ports_are_in_use_is_not_drawn(monkeypatch):
    """A robot in domain 7, and a server on a port of number 8: of the three numbers only 9 is
    left."""
    monkeypatch.setattr(shared_host, "NUMBERS", range(7, 10))
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as robot,
        socket.socket(socket.AF_INET) as server,
    ):
        robot.bind(("127.0.0.1", 7400 + 250 * 7 + 10))
        server.bind(("127.0.0.1", shared_host.FIRST_PORT + shared_host.PORTS * 7 + 3))
        server.listen()
        place = shared_host.claim("x")
        try:
            assert place.number == 9
            with pytest.raises(HostBroken, match="all 3 numbers"):
                shared_host.claim("x")
        finally:
            shared_files.remove(str(place.directory))
            place.lock.close()


def test_a_domain_with_shared_memory_of_another_container_is_not_drawn(monkeypatch):
    """Its sockets are out of sight, its /dev/shm is not."""
    monkeypatch.setattr(shared_host, "NUMBERS", range(11, 12))
    port_file = Path(f"/dev/shm/fastrtps_port{7400 + 250 * 11 + 11}")
    port_file.touch()
    try:
        with pytest.raises(HostBroken, match="numbers"):
            shared_host.claim("x")
    finally:
        port_file.unlink()


def test_an_init_that_is_killed_is_noticed_and_its_directory_goes_with_the_host(a_host):
    a_host._init.kill()
    with pytest.raises(HostBroken, match="ended by itself"):
        a_host.receive(5)
    a_host.close()
    assert not Path(a_host.directory).exists()


def test_the_kind_is_chosen_by_trying_or_by_the_variable(monkeypatch):
    denied = HostBroken("unshare with a user namespace", 1)
    monkeypatch.delenv(hosts.KIND_VARIABLE, raising=False)
    monkeypatch.setattr(hosts, "why_not_own", lambda: denied)
    assert hosts.host_kind() == hosts.HostKind("shared", str(denied))
    assert "Operation not permitted" in hosts.host_kind().text()
    monkeypatch.setattr(hosts, "why_not_own", lambda: None)
    assert hosts.host_kind() == hosts.NAMESPACES
    monkeypatch.setattr(hosts, "why_not_own", lambda: HostBroken("the init did not answer"))
    # a fault that must be seen, not a place that forbids namespaces
    assert hosts.host_kind() == hosts.NAMESPACES
    monkeypatch.setenv(hosts.KIND_VARIABLE, "shared")
    with hosts.make("x") as made:
        assert hosts.host_kind().shared and isinstance(made, SharedHost)
    monkeypatch.setenv(hosts.KIND_VARIABLE, "shard")
    with pytest.raises(UserError, match="did you mean"):
        hosts.host_kind()


def test_a_signal_for_a_number_that_the_host_did_not_start_reaches_nobody(a_host):
    """The number of a process that has ended may be a stranger's by the time of the signal."""
    stranger = subprocess.Popen(["/bin/sleep", "1000"])
    try:
        a_host.signal(stranger.pid, signal.SIGKILL)
        assert run("true", a_host)[0] == 0  # the host has taken the signal by now
        assert lives(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()


def test_a_signal_for_a_host_whose_init_is_gone_says_so(a_host):
    a_host._init.kill()
    a_host._init.wait()
    with pytest.raises(HostBroken, match="is gone"):
        a_host.signal(1000, signal.SIGKILL)


def test_the_end_of_a_killed_init_spares_another_host_of_the_same_name(a_host):
    with SharedHost("test") as other:
        other.wait_ready()
        a_host._init.kill()
        a_host.close()
        assert run("true", other)[0] == 0


def test_one_that_forks_while_the_processes_of_a_killed_init_are_killed_dies_too(
    a_host, monkeypatch
):
    leaver = "setsid sh -c 'echo $$ > %s; while :; do sleep 1000; done' &"
    a_host.spawn("t", SH, ["-c", f"{leaver % 'early'} {leaver % 'forked'} sleep 1000"], {}, {})
    for name in ("early", "forked"):
        while not _text(Path(a_host.directory, name)):
            time.sleep(0.01)
    forked = int(_text(Path(a_host.directory, "forked")))
    listed, calls = shared_files.processes, itertools.count()

    def processes() -> list[int]:
        return [pid for pid in listed() if pid != forked or next(calls) > 0]

    a_host._init.kill()
    monkeypatch.setattr(shared_files, "processes", processes)
    a_host.close()
    assert gone_in_time(forked, timeout_s=5)


END_WITH_A_STALE_LIST = """
import sys
sys.path.insert(0, sys.argv[1])
import shared_init
shared_init.shared_files.descendants = lambda _: [int(sys.argv[2])]
shared_init.end_all(set())
"""


def test_what_took_the_number_of_an_ended_process_survives_the_end_of_a_host():
    stranger = subprocess.Popen(["/bin/sleep", "1000"])
    try:
        folder = REPOSITORY / "rmwbench/lab/host"
        words = [sys.executable, "-c", END_WITH_A_STALE_LIST, str(folder), str(stranger.pid)]
        subprocess.run(words, check=True)
        assert lives(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()
