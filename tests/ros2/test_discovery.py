"""What rmw_zenoh's sessions and routers are told of each other on each host.

No ROS 2 is needed to build this part of the worker.
"""

import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "ros2" / "rmwbench_rclcpp" / "src" / "program"

MAIN = """
#include <cstdio>
#include <cstring>

#include <rmwbench_fault.hpp>
#include "zenoh_discovery.hpp"

// Two words: session LEVEL, or router NAME. Peers hold their number until the line on stdin ends.
int main(int, char **words) {
  const std::string what = words[1], name = words[2];
  using namespace rmwbench;
  const auto pairs = what == "session" ? session_discovery(name) : router_discovery(name);
  for (const auto &[key, value] : pairs) {
    std::printf("%s=%s\\n", key.c_str(), value.c_str());
  }
  std::fflush(stdout);
  char line[8];
  return name == "peers" && std::fgets(line, sizeof line, stdin) != nullptr ? 1 : 0;
}
"""
LISTEN, CONNECT = "listen/endpoints", "connect/endpoints"


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ here: the discovery of the rclcpp worker is C++")
    directory = tmp_path_factory.mktemp("discovery")
    source, made = directory / "main.cpp", directory / "discovery"
    source.write_text(MAIN)
    headers = (PROGRAM, PROGRAM.parent, ROOT / "native" / "harness" / "include")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", *(f"-I{path}" for path in headers)]
    parts = ("hosts.cpp", "shared_host.cpp", "zenoh_discovery.cpp")
    sources = [source, *(PROGRAM / part for part in parts)]
    subprocess.run([compiler, *flags, "-o", made, *sources], check=True)
    return made


def on_host(own: str, peers: str = "", daemon: str = "10.77.0.1") -> dict[str, str]:
    bare = {name: value for name, value in os.environ.items() if not name.startswith("RMWBENCH_")}
    if not own:
        return bare
    several = {"RMWBENCH_ADDRESS": own, "RMWBENCH_PEERS": peers}
    return bare | several | {"RMWBENCH_DAEMON_ADDRESS": daemon}


def told(program: Path, what: str, name: str, environment: dict[str, str]) -> dict[str, str]:
    printed = subprocess.check_output([program, what, name], env=environment, text=True, input="")
    return dict(line.split("=", 1) for line in printed.splitlines())


@pytest.mark.parametrize("level", ["", "routers"])
def test_sessions_with_a_router_on_their_host_are_as_installed(program, level):
    assert told(program, "session", level, on_host("10.77.0.2", "10.77.0.1")) == {}


def test_of_two_routers_the_one_with_the_higher_address_connects(program):
    assert told(program, "router", "router", on_host("10.77.0.1", "10.77.0.2 10.77.0.2")) == {}
    assert told(program, "router", "router", on_host("10.77.0.2", "10.77.0.1 10.77.0.1")) == {
        CONNECT: '["tcp/10.77.0.1:7447"]'
    }
    third = on_host("10.77.0.10", "10.77.0.9 10.77.0.2 10.77.0.11")
    found = json.loads(told(program, "router", "router", third)[CONNECT])
    assert found == ["tcp/10.77.0.9:7447", "tcp/10.77.0.2:7447"], "as numbers, not as text"


def test_a_router_of_one_host_and_the_one_that_all_share_connect_to_nobody(program):
    assert told(program, "router", "router", on_host("")) == {}
    assert told(program, "router", "central_router", on_host("10.77.0.2", "10.77.0.1")) == {}


def test_a_visitor_is_a_client_of_the_other_hosts_router(program):
    assert told(program, "session", "client", on_host("10.77.0.2", "10.77.0.1")) == {
        "mode": '"client"',
        CONNECT: '["tcp/10.77.0.1:7447"]',
    }
    assert told(program, "session", "client", on_host("10.77.0.1", "10.77.0.2")) == {}
    assert told(program, "session", "client", on_host(""))["mode"] == '"client"'


def test_with_one_router_for_all_sessions_listen_where_other_hosts_reach_them(program):
    assert told(program, "session", "server", on_host("10.77.0.2", "10.77.0.1")) == {
        LISTEN: '["tcp/10.77.0.2:0"]',
        CONNECT: '["tcp/10.77.0.1:7447"]',
    }
    assert told(program, "session", "server", on_host("")) == {}, "on one host as installed"


def test_by_multicast_sessions_of_several_hosts_listen_where_they_are_reached(program):
    found = told(program, "session", "multicast", on_host("10.77.0.2", "10.77.0.1"))
    assert (found[LISTEN], found[CONNECT]) == ('["tcp/10.77.0.2:0"]', "[]")
    assert LISTEN not in told(program, "session", "multicast", on_host(""))


def test_of_any_two_peers_exactly_one_connects_and_a_free_place_is_taken_again(program):
    """Two processes on each of two hosts, and one that takes the place of a dead one."""
    hosts = {"10.77.0.1": "10.77.0.2 10.77.0.2", "10.77.0.2": "10.77.0.1 10.77.0.1"}
    running: list[subprocess.Popen[str]] = []

    def start(own: str) -> tuple[str, list[str]]:
        asked = {"env": on_host(own, hosts[own]), "text": True}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        one = subprocess.Popen([program, "session", "peers"], **asked, **pipes)
        running.append(one)
        assert one.stdout is not None
        found = dict(one.stdout.readline().rstrip().split("=", 1) for _ in range(5))
        (listens,) = json.loads(found[LISTEN])
        return listens, json.loads(found[CONNECT])

    try:
        connects = dict(start(own) for own in ("10.77.0.1", "10.77.0.2", "10.77.0.2", "10.77.0.1"))
        assert len(connects) == 4
        for one, other in itertools.combinations(connects, 2):
            assert (other in connects[one]) + (one in connects[other]) == 1, (one, other)
        assert {address for listed in connects.values() for address in listed} <= connects.keys()
        (dead, *_) = connects
        running[0].kill()
        running[0].wait()
        assert start("10.77.0.1") == (dead, connects[dead]), "its peers find it where it was"
    finally:
        for process in running:
            process.kill()
            process.communicate()


def test_rclpys_routers_connect_as_rclcpps_do(program, monkeypatch):
    from rmwbench_workers.rclpy_worker import router_environment

    for own, peers in (
        ("10.77.0.1", "10.77.0.2"),
        ("10.77.0.10", "10.77.0.9 10.77.0.9 10.77.0.11"),
    ):
        monkeypatch.setenv("RMWBENCH_ADDRESS", own)
        monkeypatch.setenv("RMWBENCH_PEERS", peers)
        expected = told(program, "router", "router", on_host(own, peers))
        override = router_environment().get("ZENOH_CONFIG_OVERRIDE", "")
        found = dict([override.replace(" ", "").split("=", 1)]) if override else {}
        assert found == expected
    monkeypatch.delenv("RMWBENCH_ADDRESS")
    assert router_environment() == {}, "one host"


SHARED = {"RMWBENCH_SHARED_HOST": "rmwbench-7-x", "RMWBENCH_FIRST_PORT": "20800"}


@pytest.mark.parametrize("level", ["", "routers", "server", "client"])
def test_on_a_shared_host_sessions_know_the_trials_router_on_the_loopback(program, level):
    found = told(program, "session", level, on_host("") | SHARED)
    assert found[CONNECT] == '["tcp/127.0.0.1:20800"]'
    assert found.get(LISTEN) == (None if level == "client" else '["tcp/127.0.0.1:0"]')
    assert found["scouting/multicast/enabled"] == "false"


def test_on_a_shared_host_a_router_listens_there_and_connects_to_nobody(program):
    found = told(program, "router", "router", on_host("") | SHARED)
    assert (found[LISTEN], found[CONNECT]) == ('["tcp/127.0.0.1:20800"]', "[]")


def test_on_a_shared_host_peers_listen_at_its_ports_and_nothing_is_sought_by_multicast(program):
    found = told(program, "session", "peers", on_host("") | SHARED)
    assert found[LISTEN] == '["tcp/127.0.0.1:20830"]'
    with pytest.raises(subprocess.CalledProcessError):
        told(program, "session", "multicast", on_host("") | SHARED)
