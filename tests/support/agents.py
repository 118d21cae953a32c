"""An agent on this machine, as its user starts it."""

import json
import subprocess
import sys
from typing import Any

from rmwbench.lab.host.remote_host import Agent

TOKEN = "a-word"


def start_agent(
    programs: dict[str, Any], *before: str, name: str = "here", address: str = "", **how: Any
) -> tuple[subprocess.Popen, Agent]:
    """The process and what others know of it; `before`: the command that runs it elsewhere. Without
    an address it listens on loopback."""
    command = [*before, sys.executable, "-m", "rmwbench.lab.agent"]
    ends = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **ends, **how)
    settings = {"token": TOKEN, "programs": programs} | ({"address": address} if address else {})
    process.stdin.write(json.dumps(settings) + "\n")
    process.stdin.flush()
    listening = json.loads(process.stdout.readline())
    return process, Agent(name, address or "127.0.0.1", token=TOKEN, **listening)
