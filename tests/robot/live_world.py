"""A running system in namespaces of its own, for tests of `rmwbench doctor --live`: processes that
have in memory, open and in their environment what those of a middleware have.

    python -m tests.robot.live_world SPECIFICATION [OPTION…]     starts them, runs the doctor, ends them
    python -m tests.robot.live_world --node NODE                 is one of them

A node is `{env, libraries, udp, listens, connects, shm, buffer, flooded, uid, own_shm, own_net,
cwd}`: names of files that it maps; UDP ports; TCP ports at which it listens and to which it
connects on this host; files in /dev/shm with their mode; the receive buffer of its UDP sockets; to
how many datagrams it does not listen; its working directory.
"""

import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = 4096


def world(nodes, options):
    """The doctor's exit code; what it prints goes to stdout."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    running = []
    try:
        for node in nodes:
            running.append(_start(node))
        command = [sys.executable, "-c", "from rmwbench.cli.main import main; main()"]
        return subprocess.run([*command, "doctor", "--live", "--json", *options]).returncode
    finally:
        for process in running:
            process.kill()
            process.wait()


def _start(node):
    command = [sys.executable, "-m", "tests.robot.live_world", "--node", json.dumps(node)]
    if node.get("own_net"):
        command = ["unshare", "--net", *command]
    if node.get("own_shm"):
        mounted = 'mount -t tmpfs shm /dev/shm; exec "$@"'
        command = ["unshare", "--mount", "--ipc", "sh", "-ec", mounted, "sh", *command]
    environment = {**os.environ, **node.get("env", {})}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def be_node(node):
    resources = []
    place = Path(tempfile.mkdtemp())
    for name in node.get("libraries", ()):
        resources.append(_mapped(place / name))
    for name, mode in node.get("shm", {}).items():
        path = Path("/dev/shm", name)
        resources.append(_mapped(path))
        path.chmod(mode)
        if "uid" in node:
            os.chown(path, node["uid"], node["uid"])
    for port in node.get("udp", ()):
        resources.append(_bound(socket.SOCK_DGRAM, port, node.get("buffer")))
    for port in node.get("listens", ()):
        resources.append(_bound(socket.SOCK_STREAM, port))
        resources[-1].listen()
    for port in node.get("connects", ()):
        resources.append(socket.create_connection(("127.0.0.1", port)))
    if node.get("flooded"):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for _ in range(node["flooded"]):
            sender.sendto(bytes(8000), ("127.0.0.1", node["udp"][0]))
    if "uid" in node:
        os.setgroups([])
        os.setgid(node["uid"])
        os.setuid(node["uid"])
    os.chdir(node.get("cwd", "."))
    print("ready", flush=True)
    signal.pause()


def _mapped(path):
    with open(path, "w+b") as file:
        file.truncate(PAGE)
        return mmap.mmap(file.fileno(), PAGE)


def _bound(kind, port, buffer=None):
    bound = socket.socket(socket.AF_INET, kind)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if buffer:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    bound.bind(("0.0.0.0", port))
    return bound


if __name__ == "__main__":
    if sys.argv[1] == "--node":
        be_node(json.loads(sys.argv[2]))
    else:
        sys.exit(world(json.loads(sys.argv[1]), sys.argv[2:]))
