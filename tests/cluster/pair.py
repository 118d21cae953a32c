"""Two machines on this one: network namespaces joined by a veth, an agent in the second, whose
clock is 1000 s ahead, and trials driven from within the first, as a cluster's leader does. No
Ray."""

import os
import pickle
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from rmwbench.lab.host.remote_host import Agent
from rmwbench.lab.middleware import Worker
from rmwbench.suite.network.interfaces import Gang, MachineAddress
from tests.cluster.nodes import ip, pids_in
from tests.support.agents import start_agent
from tests.support.program import run_program

AHEAD_S = 1000
DRIVER = """
import pickle, sys
from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.cluster.cluster_machine import hosts_of
order, workers, agents, gang = pickle.load(sys.stdin.buffer)
hosts, order = hosts_of(order, "pair", gang, agents)
result = run_trial(order, workers, hosts)
pickle.dump((result, [host.lost for host in hosts.remote.values()]), sys.stdout.buffer)
"""


@cache
def why_not() -> str | None:
    """Why there can be no such machines here; None where there can."""
    if os.geteuid() != 0:
        return "making network namespaces needs root"
    for program, package in (("ip", "iproute2"), ("unshare", "util-linux")):
        if not shutil.which(program):
            return f"there is no `{program}` ({package}) to make namespaces with"
    name = f"rmwbench-try-{os.getpid()}"
    try:
        for command, what in (
            (["unshare", "--time", "--monotonic", "5", "--fork", "true"], "time namespaces"),
            (["ip", "netns", "add", name], "named network namespaces"),
            (["ip", "netns", "exec", name, "true"], "processes in them"),  # not in a plain chroot
        ):
            done = run_program(*command)
            if done.returncode:
                return f"no {what} here: {done.stderr.strip()}"
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return None


class Pair:
    """Use as a context manager: leaving it raises AssertionError where something is left."""

    def __init__(self) -> None:
        key = f"rp{os.getpid() % 100_000}"
        self.namespaces = {"robot": f"{key}r", "base": f"{key}b"}
        self.addresses = {"robot": "10.96.0.1", "base": "10.96.0.2"}
        self.agents: dict[str, Agent] = {}
        self.agent: subprocess.Popen | None = None

    def __enter__(self) -> "Pair":
        robot, base = self.namespaces.values()
        try:
            for namespace in (robot, base):
                ip(f"netns add {namespace}")
            ip(f"link add eth0 netns {robot} type veth peer name eth0 netns {base}")
            for host, namespace in self.namespaces.items():
                ip(f"-n {namespace} addr add {self.addresses[host]}/24 dev eth0")
                for device in ("lo", "eth0"):
                    ip(f"-n {namespace} link set {device} up")
                ip(f"-n {namespace} route add default dev eth0")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.agent is not None:
            self.agent.stdin.close()
            self.agent.wait(10)
            self.agent.stdout.close()
        left = {host: self.pids(host) for host in self.namespaces}
        for namespace in self.namespaces.values():
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True)
        assert not any(left.values()), f"processes are left: {left}"

    def start_agent(self, workers: dict[str, Worker], tools: list[Path]) -> None:
        paths = [*(worker.executable for worker in workers.values()), *tools]
        programs = {path.name: {"path": str(path), "inherit": {}} for path in paths}
        ahead = f"unshare --time --monotonic {AHEAD_S} --fork --kill-child"
        there = f"ip netns exec {self.namespaces['base']} {ahead}".split()
        self.agent, agent = start_agent(
            programs, *there, name="second", address=self.addresses["base"]
        )
        self.agents = {"base": agent}

    def start(self, order, workers) -> subprocess.Popen:
        """A trial, driven from within the robot's machine; `result` has what came of it."""
        gang = Gang(
            {
                host: MachineAddress(f"machine of {host}", address)
                for host, address in self.addresses.items()
            },
            42,
        )
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.namespaces["robot"], sys.executable, "-c", DRIVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        process.stdin.write(pickle.dumps((order, workers, self.agents, gang)))
        process.stdin.close()
        return process

    def result(self, process: subprocess.Popen):
        """(TrialResult, why each other machine was lost)."""
        with process:
            return pickle.loads(process.stdout.read())

    def pids(self, host: str) -> list[int]:
        """Of processes on a machine."""
        return pids_in(self.namespaces[host])
