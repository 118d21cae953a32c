"""The sampler of one trial (docs/formats/sampler.md): started beside the workers, asked before and after the window,
read when all is over.

Whatever it does wrong costs the trial nothing but its numbers: nothing here raises, and `problem` has the reason. No
step waits for it but the last one, so that it adds nothing to the fixed cost of a trial.
"""

import json
import os
import time
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rmwbench.errors import UserError
from rmwbench.lab import tool
from rmwbench.lab.crew import Crew
from rmwbench.lab.worker import WorkerProcess
from rmwbench.suite.sampling import Sampling

NAME = "sampler"
CANARY_NS = 10_000_000


class Sampler:
    """The sampler in a trial's host. `document` is the parsed reply, once `read` found one, and `raw` its bytes."""

    def __init__(self, crew: Crew):
        self.problem: str | None = None
        self.document: dict[str, Any] | None = None
        self.raw = b""
        self._crew = crew
        self._process: WorkerProcess | None = None
        self._collect: int | None = None
        self._file = os.memfd_create("rmwbench-sampler", os.MFD_CLOEXEC)

    def spawn(self) -> None:
        """Starts it, best after the workers, which somebody waits for; that it is not there becomes its problem."""
        try:
            self._process = self._crew.spawn_tool(NAME, tool.find(NAME).executable, self._file)
        except UserError as error:
            self.problem = str(error)

    def close(self) -> None:
        """The file; the process ends with its host."""
        os.close(self._file)

    @property
    def inner_pid(self) -> int | None:
        return self._process.inner_pid if self._process else None

    def watch(self, processes: list[tuple[str, int | None, str]]) -> None:
        """(name, PID in the host, role) of each."""
        named = [{"process": name, "pid": pid, "role": role} for name, pid, role in processes if pid is not None]
        self._request("watch", {"processes": named})

    def start(self, sampling: Sampling, steady_ns: int, end_ns: int, canary_ns: int = CANARY_NS) -> None:
        """The window, in ns of CLOCK_MONOTONIC; `canary_ns` 0 is none."""
        fields = {"steady_ns": steady_ns, "end_ns": end_ns, "canary_ns": canary_ns}
        fields |= {"interval_ns": round(1e9 / sampling.series_hz) if sampling.series_hz else 0}
        fields |= {"threads": sampling.threads, "schedule": sampling.schedule, "memory": sampling.memory}
        self._request("start", fields)

    def ask(self) -> None:
        """Asks for the document, which `read` takes: whoever waits for workers meanwhile loses no time."""
        self._collect = self._request("collect", {})

    def read(self, timeout_s: float) -> None:
        """Waits for the answer to `ask`; then `document` or `problem` is set. Raises WorkerFailed where a worker ends
        meanwhile."""
        process, number = self._process, self._collect
        if process is None or number is None:
            self.problem = self.problem or (self._loss(process) if process else None)
            return
        deadline = time.monotonic() + timeout_s
        while number in process.pending and process.lost is None:
            rest_s = deadline - time.monotonic()
            if rest_s <= 0:
                self.problem = f"the sampler did not answer within {timeout_s:g} s"
                return
            self._crew.turn(rest_s)
        refusals = [reply["error"] for reply in process.replies.values() if "error" in reply]
        if process.lost is not None:
            self.problem = self._loss(process)
        elif refusals:
            self.problem = f"the sampler refused {refusals[0].get('object')}: {refusals[0].get('message')}"
        else:
            self._take(process.replies[number]["ok"].get("bytes", 0))

    def _loss(self, process: WorkerProcess) -> str | None:
        """How it was lost; its exit status, which travels another way, is known by now."""
        if process.lost is None:
            return None
        crashed = process.lost.kind == "crashed"
        return (process.failure("crashed", process.lost.message) if crashed else process.lost).reason()

    def _take(self, size: int) -> None:
        self.raw = os.pread(self._file, size, 0)
        try:
            self.document = parse(self.raw)
        except ValueError as error:
            self.problem = f"the sampler wrote something else than its document: {error}"

    def _request(self, cmd: str, fields: dict[str, Any]) -> int | None:
        if self._process is None or self._process.lost is not None:
            return None
        return self._process.request(cmd, fields)


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Process(_Part):
    role: str
    pid: int
    cpu_ns: int


class _Snapshot(_Part):
    at: str
    time_ns: int
    took_ns: int
    machine: dict[str, int] = {}
    processes: dict[str, _Process]
    interfaces: dict[str, dict[str, int]]
    udp: dict[str, int] = {}
    ip: dict[str, int] = {}
    tcp: dict[str, int] = {}
    softnet: dict[str, int] = {}
    sockets: list[dict[str, Any]]


class _Sample(_Part):
    time_ns: int
    machine: dict[str, int] = {}
    processes: dict[str, dict[str, int]]
    interfaces: dict[str, dict[str, int]]
    udp: dict[str, int] = {}
    ip: dict[str, int] = {}
    tcp: dict[str, int] = {}


class _Canary(_Part):
    period_ns: int
    count: int
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    processors: dict[str, dict[str, int]]


class _Own(_Part):
    cpu_ns: int
    window_cpu_ns: int
    rss_bytes: int


class _Document(_Part):
    snapshots: list[_Snapshot]
    series: list[_Sample] = []
    canary: _Canary | None = None
    memory: dict[str, dict[str, Any]]
    energy: dict[str, dict[str, float]] = {}
    no_data: dict[str, str]
    own: _Own


def parse(raw: bytes) -> dict[str, Any]:
    """The document, checked for what is relied on here. Raises ValueError with the place of the first fault."""
    document = json.loads(raw)
    try:
        _Document.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return document
