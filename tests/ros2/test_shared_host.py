"""rclcpp where trials share the host, as in an ordinary container: a live robot beside them, in its
RMWs' default domain and with Zenoh's default router, hears nothing of them.

The robot is sockets where ROS 2 listens as installed: the ports of domain 0 with multicast, Zenoh's
scouting, its router. Each proves before and after that it hears. What leaves by an interface other
than the loopback is heard by tests/campaign/test_shared_host.py's packet socket.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from rmwbench.lab.middleware import find_workers
from tests.campaign.test_shared_host import on_a_robots_computer
from tests.ros2 import sourced

pytestmark = [sourced.needed, pytest.mark.traffic, pytest.mark.own_host]

ROBOT = """
import json, socket, subprocess, sys, threading
heard = []
MINE = b"hello robot"

def datagrams(port, group=None):
    ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ear.bind(("0.0.0.0", port))
    if group:  # on the loopback: joining elsewhere is a frame that the packet socket hears
        joined = socket.inet_aton(group) + socket.inet_aton("127.0.0.1")
        ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, joined)
    def listen():
        while True:
            data, sender = ear.recvfrom(65536)
            heard.append([port, "mine" if data == MINE else repr(sender) + data[:16].hex()])
    threading.Thread(target=listen, daemon=True).start()

def router():
    ear = socket.socket()
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ear.bind(("0.0.0.0", 7447))
    ear.listen()
    def listen():
        while True:
            peer, sender = ear.accept()
            heard.append([7447, "mine" if peer.recv(64) == MINE else repr(sender)])
    threading.Thread(target=listen, daemon=True).start()

# RTPS 2.5, 9.6.2.3: multicast of discovery and data, then those of the first participants.
PORTS = [7400, 7401, *range(7410, 7430), 7446]
for port in PORTS:
    datagrams(port, {7400: "239.255.0.1", 7401: "239.255.0.1", 7446: "224.0.0.224"}.get(port))
router()

def proves():
    before = len(heard)
    for port in PORTS:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth:
            mouth.sendto(MINE, ("127.0.0.1", port))
    with socket.create_connection(("127.0.0.1", 7447)) as mouth:
        mouth.sendall(MINE)
    import time
    deadline = time.monotonic() + 30
    while {port for port, what in heard[before:] if what == "mine"} != {*PORTS, 7447}:
        assert time.monotonic() < deadline, "an ear is deaf"
        time.sleep(0.01)

proves()
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
proves()
others = [one for one in heard if one[1] != "mine"]
print(json.dumps({"code": done.returncode, "out": done.stdout + done.stderr, "heard": others}))
"""

SUITE = """
suite: beside-a-robot
title: every RMW of the sourced ROS 2 on the shared host
blocks: {{planned: 1, minimum: 1}}
timeline: {{warmup_s: 0.1, drain_s: 0.3}}
arms:
{arms}
workloads:
  - name: small
    message: Bytes(320)
    rate_hz: 100
    qos: {{reliability: reliable, durability: volatile, history: keep_last, depth: 10}}
    timeline: {{steady_s: 0.5}}
"""

ARMS = {
    "rmw_cyclonedds_cpp": ("untouched", "tuned", "shm"),
    "rmw_fastrtps_cpp": ("untouched", "data_sharing", "discovery_server"),
    "rmw_fastrtps_dynamic_cpp": ("untouched",),
    "rmw_zenoh_cpp": ("untouched",),
}


def arms(rmws: list[str]) -> str:
    found = find_workers([f"rclcpp/{rmw}" for rmw in rmws])
    return "\n".join(
        f"  - {{name: {rmw} {profile}, middleware: rclcpp/{rmw}, profile: {profile}}}"
        for rmw in rmws
        for profile in ARMS[rmw]
        if found[f"rclcpp/{rmw}"].has_profile(profile)
    )


def test_a_robot_in_the_default_domain_hears_nothing(tmp_path):
    if os.geteuid():
        pytest.skip("making an interface needs root")
    here = [rmw for rmw in ARMS if f"rclcpp/{rmw}" in find_workers()]
    assert here, "the worker is not built: rmwbench middlewares build rclcpp"
    suite, campaign = tmp_path / "suite.yaml", tmp_path / "campaign"
    suite.write_text(SUITE.format(arms=arms(here)))
    words = [sys.executable, "-m", "rmwbench", "run", str(suite), "--out", str(campaign)]
    found = on_a_robots_computer(sys.executable, "-c", ROBOT, *words, "--no-report", kind="shared")
    assert found["code"] == 0 and found["heard"] == [], found
    robot = json.loads(found["out"])
    assert robot["heard"] == [] and robot["code"] == 0, robot
    journal = [json.loads(line) for line in (campaign / "journal.jsonl").read_text().splitlines()]
    trials = [line for line in journal if line["type"] == "trial"]
    spoilt = [t for t in trials if t["status"] == "void" and t.get("cause") == "machine"]
    assert [t for t in trials if t["status"] != "done" and t not in spoilt] == [], robot["out"]
    plan = json.loads((campaign / "campaign.json").read_text())["plan"]
    refused = [one["reason"] for one in plan["unsupported"]]
    assert all("roudi" in reason or "/dev/shm" in reason for reason in refused), refused
    assert len(trials) + len(refused) >= len(here)
    assert not list(Path("/tmp").glob("rmwbench-rmw_*"))


def test_an_rmw_that_does_not_say_how_it_keeps_apart_is_refused():
    """Every RMW that this worker knows says it; another one has no such words."""
    for name, worker in find_workers().items():
        if name.startswith("rclcpp/") and name.removeprefix("rclcpp/") in ARMS:
            assert worker.description["shared_host"]["forced"], name
        elif name.startswith("rclcpp/"):
            assert "shared_host" not in worker.description, name
