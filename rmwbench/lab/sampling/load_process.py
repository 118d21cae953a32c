"""One process of `rmwbench-load` (docs/formats/load.md) in a host of a trial, with which it
ends."""

import contextlib
import os
import time
from collections.abc import Mapping
from typing import Any

from rmwbench.lab.middleware import tool
from rmwbench.lab.process.crew import Crew
from rmwbench.lab.process.worker import WorkerProcess

TOOL = "load"
TIMEOUT_S = 10.0


class LoadProcess:
    """`asked` is what it says that its kind means here, once it was started, and `problem` the
    first thing that went wrong with it: nothing here raises for that. Making it raises UserError
    where the tool is not built."""

    def __init__(self, crew: Crew, name: str, host: str):
        executable = tool.find(TOOL).executable
        # every tool is given one; a load needs none
        file = os.memfd_create("rmwbench-load", os.MFD_CLOEXEC)
        try:
            self.process: WorkerProcess = crew.spawn_tool(name, executable, file, host)
        finally:
            os.close(file)
        self.name, self.host = name, host
        self.asked: dict[str, Any] = {}
        self.problem: str | None = None
        self._crew = crew

    def request(self, cmd: str, fields: Mapping[str, Any]) -> int:
        """Sends; the number is what `answer` takes."""
        with contextlib.suppress(OSError):
            return self.process.request(cmd, fields)
        return 0

    def answer(self, number: int) -> dict[str, Any] | None:
        """The `ok` of a request, or None with the problem noted. Raises WorkerFailed where a worker
        ends meanwhile."""
        deadline = time.monotonic() + TIMEOUT_S
        while number in self.process.pending and self.process.lost is None:
            rest_s = deadline - time.monotonic()
            if rest_s <= 0:
                self._failed(f"the load did not answer within {TIMEOUT_S:g} s")
                return None
            self._crew.turn(rest_s)
        reply = self.process.replies.pop(number, None)
        if reply is None:
            self._failed(self.process.lost.reason() if self.process.lost else "the load is gone")
            return None
        if error := reply.get("error"):
            self._failed(f"{error.get('object')}: {error.get('message')}")
            return None
        answered: dict[str, Any] = reply["ok"]
        self.asked = answered.get("asked", self.asked)
        return answered

    def _failed(self, text: str) -> None:
        self.problem = self.problem or text
