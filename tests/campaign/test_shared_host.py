"""Trials on the shared host: nothing of them leaves by another interface, nothing of them stays,
and what cannot be run there is said beforehand.

The first two run the whole tool in a network namespace that stands for a robot's computer: beside
`lo` it has an interface `robot0` with an address, a default route and multicast, and whatever is
sent there is heard by a packet socket.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from rmwbench.campaign.plan import unsupported_cells
from rmwbench.errors import UserError
from rmwbench.lab.host.hosts import NAMESPACES, HostKind
from rmwbench.lab.middleware import Worker, find_workers
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse
from tests.support.program import run_program

REPOSITORY = Path(__file__).parents[2]
SUITE = Path(__file__).with_name("shared_suite.yaml")
SHARED = HostKind("shared", "a test says so")
FIRST_SET = ("floor", "iceoryx2", "zenoh", "cyclonedds", "fastdds", "sampler")

# Everything that `robot0` sends, but for our own datagram that proves that it would be heard: it
# must come back first and last.
COMPUTER = """
import ctypes, os, socket, subprocess, sys, json
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x40000000) == 0, os.strerror(ctypes.get_errno())
open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w").write("1")
for words in (
    "link set lo up",
    "link add robot0 type veth peer name nowhere",
    "address add 10.9.9.1/24 dev robot0",
    "link set nowhere up",
    "link set robot0 up",
    "route add default dev robot0",
):
    subprocess.run(["ip", *words.split()], check=True)
ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
ear.bind(("nowhere", 0))
ear.setblocking(False)


def heard():
    frames = []
    while True:
        try:
            frames.append(ear.recv(2000))
        except BlockingIOError:
            return frames


def say():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
        mouth.sendto(b"hello robot", ("239.255.0.1", 7400))


say()
assert any(b"hello robot" in frame for frame in heard()), "the ear is deaf"
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
frames = heard()
say()
assert any(b"hello robot" in frame for frame in heard()), "the ear became deaf"
print(json.dumps({"code": done.returncode, "out": done.stdout + done.stderr, "heard": [f.hex() for f in frames]}))
"""


def on_a_robots_computer(*words: str, kind: str) -> dict:
    environment = os.environ | {"RMWBENCH_HOST_KIND": kind}
    done = run_program(sys.executable, "-c", COMPUTER, *words, cwd=REPOSITORY, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def segments() -> set[str]:
    return set(os.listdir("/dev/shm")) | {
        name for name in os.listdir("/tmp") if name.startswith("rmwbench-")
    }


@pytest.fixture
def needs_the_first_set():
    workers = find_workers([name for name in FIRST_SET if name != "sampler"])
    if missing := [name for name in FIRST_SET[:-1] if name not in workers or workers[name].problem]:
        pytest.skip(f"not built: {', '.join(missing)}")
    if os.geteuid():
        pytest.skip("making an interface needs root")


@pytest.mark.traffic
@pytest.mark.own_host
def test_no_trial_is_heard_on_another_interface_and_nothing_stays(tmp_path, needs_the_first_set):
    before = segments()
    campaign = tmp_path / "campaign"
    words = [
        str(Path(sys.executable).with_name("rmwbench")),
        "run",
        str(SUITE),
        "--out",
        str(campaign),
        "--no-report",
    ]
    ran = on_a_robots_computer(*words, kind="shared")
    assert ran["code"] == 0, ran["out"]
    assert ran["heard"] == []
    journal = [json.loads(line) for line in (campaign / "journal.jsonl").read_text().splitlines()]
    trials = [line for line in journal if line["type"] == "trial"]
    assert len(trials) == 14, ran["out"]
    # A busy machine spoils a trial, which has run all the same: it was listened to.
    spoilt = [
        line for line in trials if line["status"] == "void" and line.get("cause") == "machine"
    ]
    failed = [line for line in trials if line["status"] != "done" and line not in spoilt]
    if find_workers(["fastdds"])["fastdds"].description["version"].startswith("3.1."):
        # A declared fault (docs/middlewares/fastdds.md#surprises): best effort over TCP.
        over_tcp = [line for line in failed if "heard nothing" in line["reason"]]
        failures = [f"trial {line['trial']}, small: fastdds tcp failed" for line in over_tcp]
        assert all(words in ran["out"] for words in failures), ran["out"]
        failed = [line for line in failed if line not in over_tcp]
    assert failed == [], ran["out"]
    plan = json.loads((campaign / "campaign.json").read_text())["plan"]
    assert plan["host"]["kind"] == "shared"
    assert len(plan["unsupported"]) == 1 and "one RouDi" in plan["unsupported"][0]["reason"]
    left = {name for name in segments() - before if not name.startswith("rmwbench-tests-")}
    assert not left


@pytest.mark.traffic
@pytest.mark.own_host
def test_the_same_listener_hears_a_middleware_that_is_not_kept(tmp_path, needs_the_first_set):
    """Without it the test above could not fail: Cyclone DDS as installed, in the network that is
    there."""
    talker = tmp_path / "talk.py"
    worker = find_workers(["cyclonedds"])["cyclonedds"]
    talker.write_text(TALK.format(executable=str(worker.executable)))
    ran = on_a_robots_computer(sys.executable, str(talker), kind="own")
    assert ran["code"] == 0, ran["out"]
    assert any(b"RTPS".hex() in frame for frame in ran["heard"]), ran["out"]


TALK = """
import json, os, socket, subprocess, time
from rmwbench.lab.process import records
ours, theirs = socket.socketpair()
fd = records.make([], 1)
words = [{executable!r}, "--control-fd", str(theirs.fileno()), "--records-fd", str(fd)]
worker = subprocess.Popen(words, pass_fds=[theirs.fileno(), fd])
profile = dict(name="untouched", format="xml", text="<CycloneDDS/>")
fields = dict(id=1, cmd="open", trial_nonce="1", domain_id=0, profile=profile, options=dict(), modes=dict())
ours.sendall(json.dumps(fields).encode() + b"\\n")
heard = b""
while heard.count(b"\\n") < 2:
    heard += ours.recv(65536)
assert b'"ok"' in heard, heard
time.sleep(0.5)
ours.close()
worker.kill()
worker.wait()
"""


# --- what is said beforehand ---


def worker(**more) -> Worker:
    description = {
        "capabilities": {},
        "modes": {},
        "profiles": [{"name": "untouched", "format": "", "text": ""}],
    }
    return Worker("floor", Path("/bin/true"), description | more, None)


def cells_of(
    arms: str = "[{name: a, middleware: floor}]", message: str = "Bytes(320)", more: str = ""
):
    text = f"""
suite: one
title: one host
blocks: {{planned: 1, minimum: 1}}
arms: {arms}
workloads:
  - {{name: near, message: {message}, rate_hz: 10, qos: {{depth: 10}}{more}}}
"""
    return cells(parse(text, where="x", directory=Path(), middlewares=["floor"]))


def test_a_suite_over_several_hosts_is_refused_in_one_sentence():
    far = cells_of(more=", hosts: [robot, base]")
    with pytest.raises(UserError, match="needs several hosts, which are namespaces") as refused:
        unsupported_cells.check_hosts(far, SHARED, "two.yaml")
    assert refused.value.actual == SHARED.reason and "--cap-add SYS_ADMIN" in refused.value.fix
    unsupported_cells.check_hosts(far, NAMESPACES, "two.yaml")
    unsupported_cells.check_hosts([*far, *cells_of()], SHARED, "mixed.yaml")
    assert "several hosts" in unsupported_cells.shared_host_reason(far[0], {}, SHARED)


FORCED = {"shared_host": {"forced": "files of its own"}}


def test_a_worker_that_does_not_say_how_it_keeps_apart_is_left_out():
    (cell,) = cells_of()
    assert unsupported_cells.unsupported_reasons([cell], {"floor": worker(**FORCED)}, SHARED) == {}
    assert unsupported_cells.unsupported_reasons([cell], {"floor": worker()}, NAMESPACES) == {}
    left_out = unsupported_cells.unsupported_reasons([cell], {"floor": worker()}, SHARED)
    assert "does not keep to" in left_out[cell.number]


def test_a_daemon_with_one_name_per_machine_is_refused():
    (cell,) = cells_of("[{name: a, middleware: floor, options: {daemons: roudi}}]")
    statement = {"shared_host": {"forced": "f", "without": [["roudi", "its name is fixed"]]}}
    reason = unsupported_cells.shared_host_reason(cell, {"floor": worker(**statement)}, SHARED)
    assert reason.endswith("no daemon roudi on a shared host: its name is fixed")


def test_a_profile_that_no_worker_has_is_left_to_the_check_that_names_its_line():
    (cell,) = cells_of("[{name: a, middleware: floor, profile: untuched}]")
    assert unsupported_cells.shared_host_reason(cell, {"floor": worker(**FORCED)}, SHARED) is None


def test_shared_memory_that_does_not_fit_is_said_and_leaves_the_arm_out(monkeypatch):
    """Two processes of 24 MiB, and in one of them a history of 10 and two more of 1 MiB: 60 MiB."""
    (cell,) = cells_of(message="Array1m")
    memory = {"process_bytes": 24 << 20, "histories": True}
    profiles = [{"name": "untouched", "format": "", "text": "", "shared_memory": memory}]
    workers = {"floor": worker(**FORCED, profiles=profiles)}
    assert unsupported_cells.shared_memory_bytes(cell, workers) >> 20 == 60
    monkeypatch.setattr(unsupported_cells, "free_bytes", lambda: 61 << 20)
    assert unsupported_cells.shared_host_reason(cell, workers, SHARED) is None
    monkeypatch.setattr(unsupported_cells, "free_bytes", lambda: 59 << 20)
    assert unsupported_cells.shared_host_reason(cell, workers, SHARED) == (
        "it takes about 60 MiB of /dev/shm, where 59 MiB are free"
    )
    assert unsupported_cells.shared_host_reason(cell, workers, NAMESPACES) is None
    (socket_cell,) = cells_of("[{name: a, middleware: floor, modes: {transport: udp}}]", "Array1m")
    assert unsupported_cells.shared_host_reason(socket_cell, workers, SHARED) is None
