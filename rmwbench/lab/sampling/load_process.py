"""A process of `rmwbench-load` (docs/formats/load.md) in a host of a trial."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.lab.middleware import tool
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import Command, WorkerProcess

TOOL = "load"
TIMEOUT_S = 10.0

Snapshot = Mapping[str, Any]


class LoadProcess:
    """A load and its account. After its start, `in_force` are the settings of its kind on this
    machine; after its end, `snapshots` are its account, and `edges` those at the begin and the end
    of the window. A failure raises nothing: `problem` is the first one."""

    def __init__(self, processes: TrialProcesses, name: str, host: str):
        """Starts the process. Raises UserError where the tool is not built."""
        executable = tool.find(TOOL)
        # every tool is given a file; a load needs none
        file = os.memfd_create("rmwbench-load", os.MFD_CLOEXEC)
        try:
            self.process: WorkerProcess = processes.spawn_tool(name, executable, file, host)
        finally:
            os.close(file)
        self.name, self.host = name, host
        self.in_force: dict[str, Any] = {}
        self.snapshots: Sequence[Snapshot] = ()
        self.edges: tuple[Snapshot, Snapshot] | None = None
        self.problem: str | None = None
        self.steady_ns: int | None = None
        self._processes = processes

    def request(self, cmd: str, fields: Mapping[str, Any]) -> Command:
        """Sends a command and does not wait."""
        return self.process.request(cmd, fields)

    def window(self, steady_ns: int, end_ns: int) -> None:
        """Names the window, in ns of the host's CLOCK_MONOTONIC. Does not wait."""
        self.steady_ns = steady_ns
        self.request("window", {"steady_ns": steady_ns, "end_ns": end_ns})

    def answer(self, command: Command) -> dict[str, Any] | None:
        """Waits for the `ok` of a command; None where there is none, which becomes `problem`.
        Raises WorkerFailed where a worker ends meanwhile."""
        if not self._processes.turn_until(lambda: command.is_over, TIMEOUT_S):
            self._note_failure(f"the load did not answer within {TIMEOUT_S:g} s")
            return None
        if self.process.lost is not None and not command.answered:
            self._note_failure(self.process.lost.reason())
            return None
        if error := command.reply.get("error"):
            self._note_failure(f"{error.get('object')}: {error.get('message')}")
            return None
        answer = command.take()
        self.in_force = answer.get("asked", self.in_force)
        return answer

    def stop(self, collecting: Command) -> dict[str, Any] | None:
        """Ends the process, and takes its account from the answer to the command `collect`. Returns
        the answer; None where there is none. Raises as `answer` does."""
        answer = self.answer(collecting)
        self.request("exit", {})
        if answer is None:
            return None
        self.snapshots = answer["snapshots"]
        by_edge = {snapshot["at"]: snapshot for snapshot in self.snapshots}
        if not {"steady_begin", "steady_end"} <= by_edge.keys():
            self._note_failure("the load gave no account of the window")
            return None
        self.edges = by_edge["steady_begin"], by_edge["steady_end"]
        return answer

    def grown(self, name: str) -> int:
        """The growth of a counter in the window."""
        assert self.edges is not None
        return int(self.edges[1][name] - self.edges[0][name])

    def _note_failure(self, text: str) -> None:
        self.problem = self.problem or text
