"""The sampler of a trial (docs/formats/sampler.md): it starts beside the workers, takes snapshots
before and after the window, and is read at the end.

The failure of a sampler costs the trial only the sampler's numbers. A sampler's own failure raises
nothing, and `problem` has the reason; `read` raises if another process fails. Only the last step
waits for the sampler, so that it adds nothing to the fixed cost of a trial.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from rmwbench.errors import UserError
from rmwbench.lab.middleware import tool
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import Command, WorkerFailed, WorkerProcess, message_problem
from rmwbench.suite.timeline import Sampling

NAME = "sampler"
OTHER = "other"
"""The role of a process that a middleware started."""
CANARY_NS = 10_000_000


class Sampler:
    """The sampler in a host of a trial, in the first one where none is named. After `read`,
    `document` is the parsed reply and `raw` its bytes, or `problem` tells why there is none."""

    def __init__(self, processes: TrialProcesses, host: str | None = None):
        self._host = host
        self.name = NAME if host is None else f"{NAME}@{host}"
        self.problem: str | None = None
        self.document: dict[str, Any] | None = None
        self.raw = b""
        self._processes = processes
        self._process: WorkerProcess | None = None
        self._commands: list[Command] = []
        """Those that were sent; the last is `collect` once `ask` was called."""
        self._file = os.memfd_create("rmwbench-sampler", os.MFD_CLOEXEC)

    def spawn(self) -> None:
        """Starts the sampler; a missing program becomes its problem."""
        try:
            self._process = self._processes.spawn_tool(
                self.name, tool.find(NAME), self._file, self._host
            )
        except UserError as error:
            self.problem = str(error)

    def close(self) -> None:
        """Closes the file; the process ends with its host."""
        os.close(self._file)

    @property
    def inner_pid(self) -> int | None:
        return self._process.inner_pid if self._process else None

    def watch(self, processes: list[tuple[str, int | None, str]]) -> None:
        """Names the processes to watch: (name, PID in the host, role) of each."""
        watched = [
            {"process": name, "pid": pid, "role": role}
            for name, pid, role in processes
            if pid is not None
        ]
        self._request("watch", {"processes": watched})

    def start(
        self, sampling: Sampling, steady_ns: int, end_ns: int, canary_ns: int = CANARY_NS
    ) -> None:
        """Names the window, in ns of CLOCK_MONOTONIC. A `canary_ns` of 0 starts no canary."""
        fields = {"steady_ns": steady_ns, "end_ns": end_ns, "canary_ns": canary_ns}
        fields |= {"interval_ns": round(1e9 / sampling.series_hz) if sampling.series_hz else 0}
        fields |= {
            "threads": sampling.threads,
            "schedule": sampling.schedule,
            "memory": sampling.memory,
        }
        self._request("start", fields)

    def ask(self) -> None:
        """Requests the document, for which `read` waits."""
        self._request("collect", {})

    def read(self, timeout_s: float) -> None:
        """Waits for the answer, and sets `document` or `problem`. Raises WorkerFailed."""
        process = self._process
        if process is None:
            return  # `spawn` has told the problem
        in_time = self._processes.turn_until(
            lambda: all(command.is_over for command in self._commands), timeout_s
        )
        refusals = [
            command.reply["error"] for command in self._commands if "error" in command.reply
        ]
        if process.lost is not None:
            self.problem = _loss_reason(process, process.lost)
        elif not in_time:
            self.problem = f"the sampler did not answer within {timeout_s:g} s"
        elif refusals:
            self.problem = (
                f"the sampler refused {refusals[0].get('object')}: {refusals[0].get('message')}"
            )
        else:
            self._read_document(self._commands[-1].take().get("bytes", 0))

    def _read_document(self, size: int) -> None:
        self.raw = os.pread(self._file, size, 0)
        try:
            self.document = parse(self.raw)
        except ValueError as error:
            self.problem = f"the document of the sampler is malformed: {error}"

    def _request(self, cmd: str, fields: dict[str, Any]) -> None:
        if self._process is not None and self._process.lost is None:
            self._commands.append(self._process.request(cmd, fields))


def _loss_reason(process: WorkerProcess, lost: WorkerFailed) -> str:
    """The reason why a sampler was lost, with the exit status that is known by now."""
    return (process.failure("crashed", lost.message) if lost.kind == "crashed" else lost).reason()


class Samplers:
    """A sampler in each host of a trial. `document` and `problem` are those of all samplers, as if
    there were only one; `by_host` has the document of each host. The first sampler measures the
    machine as a whole."""

    def __init__(self, processes: TrialProcesses, hosts: Sequence[str]):
        self._processes = processes
        self._by_host = {
            host: Sampler(processes, host if index else None) for index, host in enumerate(hosts)
        }

    @property
    def document(self) -> dict[str, Any] | None:
        documents = self.by_host
        if len(documents) < len(self._by_host):
            return None
        return merge(documents) if len(documents) > 1 else next(iter(documents.values()))

    @property
    def by_host(self) -> dict[str, dict[str, Any]]:
        """The documents of the samplers that answered, by their hosts."""
        return {
            host: sampler.document
            for host, sampler in self._by_host.items()
            if sampler.document is not None
        }

    @property
    def problem(self) -> str | None:
        problems = [
            (sampler.name, sampler.problem) for sampler in self._by_host.values() if sampler.problem
        ]
        if len(self._by_host) == 1:
            return problems[0][1] if problems else None
        return "; ".join(f"{name}: {text}" for name, text in problems) or None

    @property
    def files(self) -> dict[str, bytes]:
        return {
            f"{sampler.name}.json": sampler.raw for sampler in self._by_host.values() if sampler.raw
        }

    def spawn(self) -> None:
        for sampler in self._by_host.values():
            sampler.spawn()

    def close(self) -> None:
        for sampler in self._by_host.values():
            sampler.close()

    def watch(self, processes: list[tuple[str, int | None, str]], host: str | None = None) -> None:
        """Names the processes of a host, or of the first one: (name, PID in the host, role)."""
        self._by_host[host or next(iter(self._by_host))].watch(processes)

    def start(self, sampling: Sampling, window: Mapping[str, tuple[int, int]]) -> None:
        """Tells each sampler its window. Each machine has one canary."""
        for index, (host, sampler) in enumerate(self._by_host.items()):
            has_canary = index == 0 or host in self._processes.hosts.remote
            sampler.start(sampling, *window[host], CANARY_NS if has_canary else 0)

    def ask(self) -> None:
        for sampler in self._by_host.values():
            sampler.ask()

    def name_successor(self, process: str, pid: int | None, host: str) -> None:
        """Names a worker that was started within the window; call it after `read`."""
        sampler = self._by_host[host]
        if sampler.document is not None:
            sampler.document = with_successor(sampler.document, process, pid)

    def read(self, timeout_s: float) -> None:
        for sampler in self._by_host.values():
            sampler.read(timeout_s)


def merge(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The documents of several hosts as one, with the processes, sockets and threads of all. If two
    hosts have a process of the same name, that of the later host has its host behind the name.
    Interfaces and protocols are those of the first host, since each host has its own. The samples
    of the series, and the reasons of further hosts, name their host."""
    (first_host, first), *other_documents = documents.items()
    used_names = {name for snapshot in first["snapshots"] for name in snapshot["processes"]}
    later = [
        (host, _with_unique_names(document, host, used_names)) for host, document in other_documents
    ]
    all_of_them = [(first_host, first), *later]
    merged_document = dict(first)
    merged_document["snapshots"] = [
        _merged_snapshot(at, [document for _, document in all_of_them])
        for at in range(len(first["snapshots"]))
    ]
    for key in ("memory", "threads"):
        merged_document[key] = {
            name: row
            for _, document in all_of_them
            for name, row in (document.get(key) or {}).items()
        }
    series = [
        {**sample, "host": host} | ({} if host == first_host else {"machine": {}})
        for host, document in all_of_them
        for sample in document.get("series") or []
    ]
    merged_document["series"] = sorted(series, key=lambda sample: sample["time_ns"])
    schedules = [schedule for _, document in all_of_them if (schedule := document.get("schedule"))]
    if schedules:
        merged_document["schedule"] = {
            "lost": sum(schedule["lost"] for schedule in schedules),
            "events": [event for schedule in schedules for event in schedule["events"]],
        }
    merged_document["no_data"] = first["no_data"] | {
        f"{quantity}@{host}": why
        for host, document in later
        for quantity, why in document["no_data"].items()
        if quantity not in first["no_data"] and why != "not asked"
    }
    return merged_document


def _merged_snapshot(at: int, documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The snapshot of that index of the first document, with the processes and sockets of all."""
    parts = [part for document in documents for part in document["snapshots"][at : at + 1]]
    return {
        **parts[0],
        "processes": {name: row for part in parts for name, row in part["processes"].items()},
        "sockets": [row for part in parts for row in part["sockets"]],
    }


def _with_unique_names(
    document: Mapping[str, Any], host: str, used_names: set[str]
) -> dict[str, Any]:
    """The document with `@HOST` behind each name of `used_names`, which it extends, and behind that
    of each process that a middleware started: nothing else says whose clock its samples have."""
    roles = {
        name: row.get("role")
        for snapshot in document["snapshots"]
        for name, row in snapshot["processes"].items()
    }
    names = {*roles, *document["memory"]}
    further = used_names | {name for name, role in roles.items() if role == OTHER}
    new_names = {name: f"{name}@{host}" if name in further else name for name in names}
    used_names |= set(new_names.values())
    return _with_names(document, new_names)


def with_successor(document: Mapping[str, Any], process: str, pid: int | None) -> dict[str, Any]:
    """The document with the name of the worker that has this PID in the host. The sampler gave it
    another name, because it was started within the window."""
    new_names = {
        name: process
        for snapshot in document["snapshots"]
        for name, process_row in snapshot["processes"].items()
        if process_row["pid"] == pid and name != process
    }
    renamed = _with_names(document, new_names)
    for snapshot in renamed["snapshots"] if new_names else ():
        processes = snapshot["processes"]
        if process in processes:
            processes[process] = {**processes[process], "role": "worker"}
    return renamed


def _with_names(document: Mapping[str, Any], new_names: Mapping[str, str]) -> dict[str, Any]:
    """The document with other names of its processes."""

    def keys(values: Mapping[str, Any]) -> dict[str, Any]:
        return {new_names.get(name, name): value for name, value in values.items()}

    def socket(row: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: new_names.get(value, value) if key.endswith("process") else value
            for key, value in row.items()
        }

    changed = dict(document)
    changed["snapshots"] = [
        {
            **snapshot,
            "processes": keys(snapshot["processes"]),
            "sockets": [socket(row) for row in snapshot["sockets"]],
        }
        for snapshot in document["snapshots"]
    ]
    changed["series"] = [
        {**sample, "processes": keys(sample["processes"])}
        for sample in document.get("series") or []
    ]
    for key in ("memory", "threads"):
        if document.get(key):
            changed[key] = keys(document[key])
    if schedule := document.get("schedule"):
        changed["schedule"] = schedule | {
            "events": [
                [time_ns, new_names.get(name, name), *rest]
                for time_ns, name, *rest in schedule["events"]
            ]
        }
    return changed


class _SamplerPart(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _Process(_SamplerPart):
    role: str
    pid: int
    cpu_ns: int


class _Snapshot(_SamplerPart):
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


class _Sample(_SamplerPart):
    time_ns: int
    machine: dict[str, int] = {}
    processes: dict[str, dict[str, int]]
    interfaces: dict[str, dict[str, int]]
    udp: dict[str, int] = {}
    ip: dict[str, int] = {}
    tcp: dict[str, int] = {}


class _Canary(_SamplerPart):
    period_ns: int
    count: int
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    processors: dict[str, dict[str, int]]


class _SamplerUsage(_SamplerPart):
    cpu_ns: int
    window_cpu_ns: int
    rss_bytes: int


class _Document(_SamplerPart):
    snapshots: list[_Snapshot]
    series: list[_Sample] = []
    canary: _Canary | None = None
    memory: dict[str, dict[str, Any]]
    energy: dict[str, dict[str, float]] = {}
    no_data: dict[str, str]
    own: _SamplerUsage


def parse(raw: bytes) -> dict[str, Any]:
    """Parses the document. Raises ValueError with the place of the first fault."""
    document: dict[str, Any] = json.loads(raw)
    if problem := message_problem(_Document, document):
        raise ValueError(problem)
    return document
