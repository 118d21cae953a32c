"""One process of `rmwbench-load` (docs/formats/load.md) in a host of a trial, with which it
ends."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.lab.middleware import tool
from rmwbench.lab.process.crew import Crew
from rmwbench.lab.process.worker import WorkerProcess

TOOL = "load"
TIMEOUT_S = 10.0

Snapshot = Mapping[str, Any]


class LoadProcess:
    """`in_force` are the settings of its kind on this machine, once it was started; `snapshots` are
    its account, and `edges` those of the window's begin and end, once it was stopped; `problem` is
    its first failure, for which nothing here raises. Making it raises UserError where the tool is
    not built."""

    def __init__(self, crew: Crew, name: str, host: str):
        executable = tool.find(TOOL).executable
        # every tool is given one; a load needs none
        file = os.memfd_create("rmwbench-load", os.MFD_CLOEXEC)
        try:
            self.process: WorkerProcess = crew.spawn_tool(name, executable, file, host)
        finally:
            os.close(file)
        self.name, self.host = name, host
        self.in_force: dict[str, Any] = {}
        self.snapshots: Sequence[Snapshot] = ()
        self.edges: tuple[Snapshot, Snapshot] | None = None
        self.problem: str | None = None
        self._crew = crew

    def request(self, cmd: str, fields: Mapping[str, Any]) -> int:
        """Sends a request; returns its number, which `answer` takes."""
        with contextlib.suppress(OSError):
            return self.process.request(cmd, fields)
        return 0

    def answer(self, number: int) -> dict[str, Any] | None:
        """The `ok` of a request, or None with the problem noted. Raises WorkerFailed where a worker
        ends meanwhile."""
        if not self._crew.turn_until(lambda: not self.process.awaits(number), TIMEOUT_S):
            self._failed(f"the load did not answer within {TIMEOUT_S:g} s")
            return None
        reply = self.process.replies.pop(number, None)
        if reply is None:
            self._failed(self.process.lost.reason() if self.process.lost else "the load is gone")
            return None
        if error := reply.get("error"):
            self._failed(f"{error.get('object')}: {error.get('message')}")
            return None
        answer: dict[str, Any] = reply["ok"]
        self.in_force = answer.get("asked", self.in_force)
        return answer

    def stop(self, number: int) -> dict[str, Any] | None:
        """Ends it, and takes its account from the answer to the request `collect`, which is
        returned; None with the problem noted where there is none. Raises as `answer`."""
        answer = self.answer(number)
        self.request("exit", {})
        if answer is None:
            return None
        self.snapshots = answer["snapshots"]
        by_edge = {snapshot["at"]: snapshot for snapshot in self.snapshots}
        if not {"steady_begin", "steady_end"} <= by_edge.keys():
            self._failed("the load gave no account of the window")
            return None
        self.edges = by_edge["steady_begin"], by_edge["steady_end"]
        return answer

    def grown(self, name: str) -> int:
        """The growth of one of its counters in the window."""
        assert self.edges is not None
        return int(self.edges[1][name] - self.edges[0][name])

    def _failed(self, text: str) -> None:
        self.problem = self.problem or text
