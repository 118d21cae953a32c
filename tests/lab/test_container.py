"""A process in a container of its own within a host: what is its own, what it shares, and that it
ends as any other."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from rmwbench.lab.host import Container, Exited, Host, Spawned, SpawnFailed

pytestmark = pytest.mark.own_host
SAME, OWN = Container(own_ipc=False), Container(own_ipc=True, shm_bytes=1 << 20)


@pytest.fixture
def host():
    with Host("test") as made:
        made.wait_ready()
        yield made


def start(host, script, container, token="t"):
    """A Python script in a container; (what was reported, the file of its output)."""
    out = os.memfd_create("out")
    host.spawn(
        token,
        Path(sys.executable),
        ["-I", "-S", "-c", script],
        {1: out, 2: out},
        {"PATH": os.defpath},
        container,
    )
    return host.receive(10), out


def run(host, script, container):
    """(exit status, output)."""
    spawned, out = start(host, script, container)
    assert isinstance(spawned, Spawned), spawned
    ended = host.receive(20)
    text = os.pread(out, 1 << 16, 0).decode()
    os.close(out)
    assert isinstance(ended, Exited) and ended.inner_pid == spawned.inner_pid
    return os.waitstatus_to_exitcode(ended.status), text.strip()


NAMES = (
    "import os; print(*(os.readlink('/proc/self/ns/' + name) for name in ('net', 'ipc', "
    "'pid')), os.getpid())"
)


@pytest.mark.parametrize(("container", "shares_ipc"), [(SAME, True), (OWN, False)])
def test_the_network_is_the_hosts_and_what_else_is_its_own(host, container, shares_ipc):
    net, ipc, pid, number = run(host, NAMES, None)[1].split()
    code, text = run(host, NAMES, container)
    own_net, own_ipc, own_pid, own_number = text.split()
    assert (code, own_net == net, own_ipc == ipc, own_pid == pid) == (0, True, shares_ipc, False)
    assert own_number == "1" and number != "1"


@pytest.mark.parametrize(("container", "seen"), [(SAME, "True False"), (OWN, "False False")])
def test_what_one_writes_into_shared_memory_another_sees_only_with_the_same_ipc(
    host, container, seen
):
    assert run(host, "open('/dev/shm/left', 'w'); open('/tmp/left', 'w')", container)[0] == 0
    script = "import os; print(os.path.exists('/dev/shm/left'), os.path.exists('/tmp/left'))"
    assert run(host, script, container)[1] == seen


def test_a_dev_shm_is_as_large_as_asked_for_or_takes_nothing(host):
    fill = "f = open('/dev/shm/x', 'wb'); f.write(bytes(%d)); f.flush(); print('kept')"
    assert run(host, fill % (1 << 19), OWN) == (0, "kept")
    assert run(host, fill % (1 << 21), OWN)[0] == 1
    code, text = run(host, fill % 1, Container(own_ipc=True, shm_bytes=0))
    assert code == 1 and "Read-only file system" in text


def test_it_ends_and_stops_as_any_other_process(host):
    assert run(host, "raise SystemExit(7)", SAME)[0] == 7
    assert run(host, "import ctypes; ctypes.string_at(0)", SAME)[0] == -signal.SIGSEGV
    spawned, out = start(host, "import time; time.sleep(1000)", OWN)
    host.signal(spawned.inner_pid, signal.SIGSTOP)
    state = Path(f"/proc/{spawned.pid}/stat")
    while state.read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.001)
    host.signal(spawned.inner_pid, signal.SIGKILL)
    assert os.WTERMSIG(host.receive(10).status) == signal.SIGKILL
    assert not Path(f"/proc/{spawned.pid}").exists()
    os.close(out)


def test_the_pids_that_are_reported_are_those_of_the_program(host):
    spawned, out = start(host, "import time; time.sleep(1000)", OWN)
    pids = Path(f"/proc/{spawned.pid}/status").read_text().split("NSpid:")[1].split("\n")[0].split()
    assert pids[-2:] == [str(spawned.inner_pid), "1"]
    after = run(host, NAMES, None)[1].split()
    assert (
        after[2] == os.readlink(f"/proc/{host._init.pid}/ns/pid_for_children") and after[3] != "1"
    )
    os.close(out)


def test_another_user_is_one(host):
    if os.geteuid() != 0:
        pytest.skip("only root can start a process as another user")
    spawned, out = start(
        host,
        "import os; print(os.getuid(), os.getgid(), os.getgroups())",
        Container(False, 0, 1000),
    )
    if isinstance(spawned, SpawnFailed):
        pytest.skip(f"no other user can be had here: {os.strerror(spawned.errno)}")
    assert host.receive(10).status == 0
    assert os.pread(out, 100, 0).decode().split("\n")[0] == "1000 1000 []"
    os.close(out)
