"""A Ray cluster of several nodes on this one machine: each raylet in a network namespace of its
own, on a bridge that has no address outside them.

Everything is removed by what it is: processes are those of these namespaces, directories and
devices those of this object.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.program import run_program

RAY = Path(sys.executable).with_name("ray")
STORE_BYTES = 80_000_000  # Ray's least is 75 MiB
START_TIMEOUT_S = 90.0


def why_not() -> str | None:
    """Why there can be no such cluster here; None where there can."""
    if not RAY.exists():
        return "Ray is not installed: uv sync --extra cluster (`make test-all` does)"
    if os.geteuid() != 0:
        return "making network namespaces needs root"
    return (
        None
        if shutil.which("ip")
        else "there is no `ip` (iproute2) to make network namespaces with"
    )


@dataclass(frozen=True)
class Node:
    name: str
    namespace: str
    address: str


class Nodes:
    """`count` nodes, the first of them the head; the driver runs in its namespace. Use as a context
    manager: leaving it raises AssertionError where something is left."""

    def __init__(self, count: int):
        key = f"rb{os.getpid() % 100_000}"
        self._bridge = f"{key}b"
        self.nodes = [
            Node(f"10.98.0.{n}", f"{key}n{n}", f"10.98.0.{n}") for n in range(1, count + 1)
        ]
        self.address = f"{self.nodes[0].address}:6379"
        # a socket's path has at most 107 bytes
        self._directory = tempfile.mkdtemp(prefix="rb", dir="/tmp")

    def __enter__(self) -> "Nodes":
        try:
            ip(f"link add {self._bridge} type bridge")
            ip(f"link set {self._bridge} up")
            for node in self.nodes:
                self._network(node)
            options = [
                "--head",
                "--port=6379",
                "--include-dashboard=false",
                "--no-monitor",
                f"--temp-dir={self._directory}",
            ]
            for node in self.nodes:
                self._start(
                    node, options if node is self.nodes[0] else [f"--address={self.address}"]
                )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for _ in range(50):
            pids = [pid for node in self.nodes for pid in self.pids(node)]
            if not pids:
                break
            for pid in pids:
                _kill(pid)
            time.sleep(0.1)
        for node in self.nodes:
            subprocess.run(["ip", "netns", "del", node.namespace], capture_output=True)
        subprocess.run(["ip", "link", "del", self._bridge], capture_output=True)
        shutil.rmtree(self._directory, ignore_errors=True)
        assert not pids, f"processes are left: {pids}"

    def command(self, *arguments: object, node: Node | None = None) -> list[str]:
        """The command line to run a program on a node, the head if none is named."""
        return ["ip", "netns", "exec", (node or self.nodes[0]).namespace, *map(str, arguments)]

    def pids(self, node: Node) -> list[int]:
        return pids_in(node.namespace)

    def raylet(self, node: Node) -> int:
        """Its PID."""
        for pid in self.pids(node):
            if Path(f"/proc/{pid}/comm").read_text().strip() == "raylet":
                return pid
        raise AssertionError(f"no raylet on {node.name}")

    def _network(self, node: Node) -> None:
        port = f"{node.namespace}v"
        ip(f"netns add {node.namespace}")
        ip(f"link add {port} type veth peer name eth0 netns {node.namespace}")
        ip(f"link set {port} master {self._bridge} up")
        ip(f"-n {node.namespace} addr add {node.address}/24 dev eth0")
        ip(f"-n {node.namespace} link set eth0 up")
        ip(f"-n {node.namespace} link set lo up")

    def _start(self, node: Node, options: list[str]) -> None:
        """One after the other, and twice where need be: Ray gives a node 30 s to come up, whatever
        else runs here."""
        command = [RAY, "start", *options, f"--node-ip-address={node.address}", "--num-cpus=1"]
        command += [
            f"--object-store-memory={STORE_BYTES}",
            "--disable-usage-stats",
            "--include-log-monitor=false",
        ]
        # nothing is there yet
        environment = {**os.environ, "XDG_CACHE_HOME": f"{self._directory}/cache"}
        for _ in range(2):
            with open(self._log(node), "w") as log:
                how = {
                    "stdout": log,
                    "stderr": log,
                    "stdin": subprocess.DEVNULL,
                    "env": environment,
                }
                process = subprocess.Popen(
                    self.command(*command, node=node), start_new_session=True, **how
                )
            if process.wait(START_TIMEOUT_S) == 0:
                return
            for pid in self.pids(node):
                _kill(pid)
        raise AssertionError(self._log(node).read_text())

    def _log(self, node: Node) -> Path:
        return Path(self._directory) / f"start-{node.name}.log"


def ip(words: str) -> None:
    run_program("ip", *words.split(), check=True)


def pids_in(namespace: str) -> list[int]:
    """Of processes in that network namespace."""
    return [int(word) for word in run_program("ip", "netns", "pids", namespace).stdout.split()]


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
