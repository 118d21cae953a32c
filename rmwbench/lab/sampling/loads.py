"""The loads that a trial puts on its machine and its network, each a process of `rmwbench-load`
(docs/formats/load.md) in a host of the trial, so that it ends with the host.

The background is a factor: a load of a known kind, and processors kept awake. The hosts of a machine
share its processors: a load that computes or copies runs once per machine, a load that sends over
`lo` once per host. The actual load is read back, and a missing load voids the trial
(`machine/void_rules.py`); otherwise `loaded` and `idle` would be one cell under two names. The
failure of a load raises nothing: it becomes a probe, and `problems` has its text.

    # starts the processes, if any
    background = Background(processes, cell.conditions, cell.background_hosts)
    background.start()                                 # after matching: the loads begin
    background.window({host: (steady_ns, end_ns)})
    …the window, the drain…
    background.stop()   # ends the loads; awake, own_flows and probes() are known

The cross traffic (rmwbench/suite/network/cross_traffic.py) has a receiver and a sender for each
entry, in hosts of their own. It fails closed: a trial without the cross traffic of its suite is
void.

    traffic = CrossTrafficLoad(processes, cell.links)  # starts the processes, if any
    traffic.start()                               # every flow is connected and sends
    traffic.window({host: (steady_ns, end_ns)})
    …the window, the drain…
    traffic.stop()                                # ends all flows; the accounts are known
"""

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.errors import UserError
from rmwbench.lab import probe_row
from rmwbench.lab.middleware import tool
from rmwbench.lab.network import addresses
from rmwbench.lab.network.host_network import NetworkBroken
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import Command, WorkerProcess
from rmwbench.suite.network.cross_traffic import CrossTraffic
from rmwbench.suite.network.network import Links

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

    def growth(self, name: str) -> int:
        """The growth of a counter in the window."""
        assert self.edges is not None
        return int(self.edges[1][name] - self.edges[0][name])

    def _note_failure(self, text: str) -> None:
        self.problem = self.problem or text


BACKGROUND, AWAKE = "background", "awake"
IDLE, AS_FOUND = "idle", "as_found"
PER_HOST = ("traffic",)
"""The kinds of load that use a host's own interface, and not the shared processors."""
DATAGRAM_HEADER_BYTES = 28
"""The headers of a datagram that the loopback interface counts: IPv4 20, UDP 8."""


@dataclass(frozen=True)
class LoadFlow:
    """The datagrams that a background load sent over `lo`, which are not a middleware's. `bursts`
    are (time_ns, datagrams sent by then) near the window's edges; `datagram_bytes` is the size of a
    datagram as the interface counts it."""

    bursts: tuple[tuple[int, int], ...] = ()
    datagram_bytes: int = 0

    def datagrams(self, begin_ns: int, end_ns: int) -> int:
        """The number of datagrams that were sent between two times near the edges."""
        return self._sent_by(end_ns) - self._sent_by(begin_ns)

    def _sent_by(self, time_ns: int) -> int:
        index = bisect_right(self.bursts, time_ns, key=lambda burst: burst[0])
        return self.bursts[max(0, index - 1)][1] if self.bursts else 0


def load_kinds(conditions: Mapping[str, str]) -> dict[str, str]:
    """Role → kind of load, for each condition that demands a load."""
    roles = {BACKGROUND: conditions["background"], AWAKE: conditions["host_idle"]}
    return {role: kind for role, kind in roles.items() if kind not in (IDLE, AS_FOUND)}


class Background:
    """The loads of a trial. After `stop`, `awake` is the spinners' share of the usable processor
    time in the window, and `own_flows` are the datagrams of the loads, by host."""

    def __init__(
        self,
        processes: TrialProcesses,
        conditions: Mapping[str, str],
        hosts: Sequence[str] | None = None,
    ):
        """Starts the demanded loads on `hosts`; `awake` runs on every machine."""
        self.problems: dict[str, str] = {}
        self.own_flows: dict[str, LoadFlow] = {}
        self.awake = 0.0
        self._processes = processes
        self._loads: dict[str, _Load] = {}
        self._role_of_load: dict[str | None, dict[str, str]] = {}
        """Machine (None for this one) → name of each load, also of failed ones → role."""
        self.kind_of_role = load_kinds(conditions)
        for role, kind in self.kind_of_role.items():
            load_hosts = list(processes.hosts) if role == AWAKE or hosts is None else list(hosts)
            for index, host in enumerate(
                load_hosts if kind in PER_HOST else _one_per_machine(processes, load_hosts)
            ):
                name = role if index == 0 else f"{role}@{host}"
                machine = host if self._is_remote(host) else None
                self._role_of_load.setdefault(machine, {})[name] = role
                try:
                    self._loads[name] = _Load(processes, name, role, kind, host)
                except UserError as error:
                    self.problems[name] = str(error)

    def pids(self, host: str) -> list[tuple[str, int | None, str]]:
        """A host's processes for the sampler, after `start`: (process, PID in the host, role)."""
        host_loads = {name: load for name, load in self._loads.items() if load.host == host}
        loads = [(name, load.process.inner_pid, load.role) for name, load in host_loads.items()]
        helpers = [(name, load.role, load.in_force.get("pid")) for name, load in host_loads.items()]
        return loads + [
            (f"{name} spinners", pid, role) for name, role, pid in helpers if pid is not None
        ]

    def start(self) -> None:
        """Starts the loads and waits until they run. Raises WorkerFailed."""
        starts = {
            name: load.request("start", {"kind": load.kind}) for name, load in self._loads.items()
        }
        for name, load in self._loads.items():
            load.answer(starts[name])
            self._note_problem(name)

    def window(self, steady: Mapping[str, tuple[int, int]]) -> None:
        """Names the window: host → begin and end in ns of its CLOCK_MONOTONIC. Does not wait."""
        for load in self._loads.values():
            load.window(*steady[load.host])

    def stop(self) -> None:
        """Takes the accounts, and ends the loads. Raises WorkerFailed."""
        collects = {name: load.request("collect", {}) for name, load in self._loads.items()}
        for name, load in self._loads.items():
            answer = load.stop(collects[name])
            self._note_problem(name)
            if answer is None:
                continue
            if load.role == AWAKE and not self._is_remote(load.host):
                self.awake = load.growth("cpu_ns") / (
                    max(1, load.growth("time_ns")) * len(os.sched_getaffinity(0))
                )
            if bursts := answer.get("bursts"):
                size = load.in_force["datagram_bytes"] + DATAGRAM_HEADER_BYTES
                sent_by = tuple((time_ns, sent) for time_ns, sent in bursts)
                self.own_flows[load.host] = LoadFlow(sent_by, size)

    def probes(self) -> list[dict[str, Any]]:
        """Rows of the table `probes`, `at` = `window`: the share of the load that was achieved, 0
        where it is missing, and the cost of the load; no rows where no load is demanded. Of several
        hosts of this machine, the smallest share counts, and the other values are summed; a row of
        another machine has its host behind its name."""
        return [
            row if machine is None else {**row, "probe": f"{row['probe']}@{machine}"}
            for machine, role_of_load in self._role_of_load.items()
            for row in self._machine_probes(role_of_load, is_remote=machine is not None)
        ]

    def _machine_probes(
        self, role_of_load: Mapping[str, str], *, is_remote: bool
    ) -> Iterator[dict[str, Any]]:
        failed = {role for name, role in role_of_load.items() if name in self.problems}
        roles = set(role_of_load.values())
        if BACKGROUND in roles:
            loads = [
                load for name, load in self._loads.items() if role_of_load.get(name) == BACKGROUND
            ]
            if BACKGROUND in failed or any(load.edges is None for load in loads):
                yield probe_row("background_achieved", 0.0)
            else:
                accounts = [
                    {row["probe"]: row for row in load.account(is_remote=is_remote)}
                    for load in loads
                ]
                for probe, first in accounts[0].items():
                    combine = min if probe == "background_achieved" else sum
                    yield {
                        **first,
                        "value": combine(
                            account[probe]["value"] for account in accounts if probe in account
                        ),
                    }
        if AWAKE in roles:
            yield probe_row("host_awake", 0.0 if AWAKE in failed else 1.0)

    def _is_remote(self, host: str) -> bool:
        return host in self._processes.hosts.remote

    def _note_problem(self, name: str) -> None:
        if (problem := self._loads[name].problem) is not None:
            self.problems.setdefault(name, problem)


class _Load(LoadProcess):
    """A background load with its role and its kind."""

    def __init__(self, processes: TrialProcesses, name: str, role: str, kind: str, host: str):
        super().__init__(processes, name, host)
        self.role, self.kind = role, kind

    def account(self, *, is_remote: bool) -> list[dict[str, Any]]:
        """The probes of the load. The achieved share of a computing load includes the time in which
        it waited for a processor: a load beside busy workers is complete. The number of a remote
        machine's processors is known only for loads that compute."""
        assert self.edges is not None
        begin_ns, end_ns = (edge["time_ns"] for edge in self.edges)
        # Before a late first account, the load is not known to have run.
        length_ns = end_ns - min(begin_ns, self.steady_ns or begin_ns)
        if length_ns <= 0:
            return [probe_row("background_achieved", 0.0)]
        processors = self.in_force["processors"] if is_remote else len(os.sched_getaffinity(0))
        rows = []
        if processors:
            share_of_all = self.growth("cpu_ns") / (length_ns * processors)
            rows.append(probe_row("background_cpu", share_of_all))
        if share := self.in_force.get("share"):
            has_waits = all("wait_ns" in edge for edge in self.edges)
            runnable_ns = self.growth("cpu_ns") + (self.growth("wait_ns") if has_waits else 0)
            achieved = runnable_ns / (share * self.in_force["processors"] * length_ns)
            if self.in_force.get("memory_bytes"):
                copied = self.growth("copied_bytes")
                rows.append(probe_row("background_rate", copied / length_ns * 1e9, "bytes/s"))
                achieved = achieved if copied else 0.0
        else:
            datagrams, size = self.growth("datagrams_sent"), self.in_force["datagram_bytes"]
            achieved = datagrams / (self.in_force["datagrams_per_s"] * length_ns / 1e9)
            rows.append(probe_row("background_rate", datagrams * size / length_ns * 1e9, "bytes/s"))
        return [probe_row("background_achieved", min(1.0, achieved)), *rows]


def _one_per_machine(processes: TrialProcesses, hosts: Sequence[str]) -> list[str]:
    """The first of these hosts that is on this machine, and all that are on other machines."""
    local_hosts = [host for host in hosts if host not in processes.hosts.remote]
    return [*local_hosts[:1], *(host for host in hosts if host in processes.hosts.remote)]


CROSS_TRAFFIC = "cross traffic"
"""The role of its processes in the bundle's `counters`."""


class CrossTrafficLoad:
    """All cross traffic of a trial. After `stop`, `cpu_ns` is the CPU time of its processes in the
    window, `rows()` are those of the bundle's `counters`, and `document()` has the accounts."""

    def __init__(self, processes: TrialProcesses, links: Links | None):
        self._flows = (
            [_TrafficEntry(processes, links, entry) for entry in links.network.cross_traffic]
            if links is not None
            else []
        )

    def __bool__(self) -> bool:
        return bool(self._flows)

    def start(self) -> None:
        """Returns once all flows are connected. Raises NetworkBroken where a flow is not what was
        asked for, and WorkerFailed where a worker ends meanwhile."""
        listening = [
            (flow, flow.receiver.request("start", {"kind": "tcp_receive"})) for flow in self._flows
        ]
        for flow, command in listening:
            _require(flow.receiver, flow.receiver.answer(command))
        sending = [(flow, flow.sender.request("start", flow.fields())) for flow in self._flows]
        for flow, command in sending:
            _require(flow.sender, flow.sender.answer(command))
            flow.check_congestion_control()

    def window(self, steady: Mapping[str, tuple[int, int]]) -> None:
        """Names the window: host → begin and end in ns of its CLOCK_MONOTONIC. Does not wait."""
        for flow in self._flows:
            for load in flow.ends:
                load.window(*steady[load.host])

    def stop(self) -> None:
        """Takes the accounts, and ends all flows. Raises as `start` does."""
        pending = [
            (load, load.request("collect", {})) for flow in self._flows for load in flow.ends
        ]
        for load, command in pending:
            _require(load, load.stop(command))
        for flow in self._flows:
            flow.check_open()

    @property
    def cpu_ns(self) -> int:
        return sum(load.growth("cpu_ns") for flow in self._flows for load in flow.ends)

    def rows(self) -> Iterator[dict[str, Any]]:
        for flow in self._flows:
            yield from flow.rows()

    def document(self) -> dict[str, Any]:
        """Name of an entry → its settings, and all snapshots of both ends."""
        return {
            flow.entry.name: {
                "asked": flow.entry.definition(),
                "congestion_control": flow.sender.in_force.get("congestion_control"),
                "snapshots": {load.name: load.snapshots for load in flow.ends},
            }
            for flow in self._flows
        }


class _TrafficEntry:
    """An entry of the network's cross traffic, with its two processes."""

    def __init__(self, processes: TrialProcesses, links: Links, entry: CrossTraffic):
        self.entry = entry
        self.receiver = LoadProcess(processes, f"{entry.name}, receiver", entry.to)
        self.sender = LoadProcess(processes, f"{entry.name}, sender", entry.from_)
        self.ends = (self.receiver, self.sender)
        self._control = entry.congestion_control or links.network.congestion_control
        self._address = addresses.text(addresses.ipv4(links.hosts.index(entry.to) + 1))

    def fields(self) -> dict[str, Any]:
        """The fields of the sender's `start`; call it once the receiver listens."""
        to = f"{self._address}:{self.receiver.in_force['port']}"
        tcp = {"to": to, "flows": self.entry.flows, "congestion_control": self._control}
        if self.entry.piece is not None:
            tcp["piece"] = self.entry.piece
        return {"kind": "tcp_send", "tcp": tcp}

    def check_congestion_control(self) -> None:
        in_force = self.sender.in_force.get("congestion_control")
        if in_force != self._control:
            text = (
                f"cross traffic from {self.entry.name} has congestion control {in_force}, asked "
                f"for {self._control}"
            )
            raise NetworkBroken(text)

    def check_open(self) -> None:
        for edge, moment in zip(_edges(self.sender), ("began", "ended"), strict=True):
            open_flows = edge["tcp_flows_open"]
            if open_flows < self.entry.flows:
                raise NetworkBroken(
                    f"cross traffic: {open_flows} of {self.entry.flows} flows from "
                    f"{self.entry.name} were open as the window {moment}"
                )

    def rows(self) -> Iterator[dict[str, Any]]:
        """The receiver's bytes at the window's edges and seconds, and both ends' CPU time."""
        seconds = 0
        for snapshot in self.receiver.snapshots:
            at = snapshot["at"]
            if at == "second":
                seconds += 1
                at = f"second_{seconds}"
            elif at not in ("steady_begin", "steady_end"):
                continue
            yield _row(self.receiver, "tcp.received", "bytes", at, snapshot["tcp_bytes_received"])
            yield _row(self.receiver, "snapshot_time", "ns", at, snapshot["time_ns"])
        for load in self.ends:
            for edge in _edges(load):
                yield _row(load, "cpu", "ns", edge["at"], edge["cpu_ns"])
        still_open = _edges(self.sender)[1]["tcp_flows_open"]
        yield _row(self.sender, "tcp.flows_open", "count", "steady_end", still_open)


def _require(load: LoadProcess, answer: Mapping[str, Any] | None) -> None:
    if answer is None:
        raise NetworkBroken(f"cross traffic from {load.name}: {load.problem}")


def _edges(load: LoadProcess) -> tuple[Snapshot, Snapshot]:
    assert load.edges is not None
    return load.edges


def _row(load: LoadProcess, counter: str, unit: str, at: str, value: float) -> dict[str, Any]:
    return {
        "process": load.name,
        "role": CROSS_TRAFFIC,
        "endpoint": None,
        "counter": counter,
        "unit": unit,
        "at": at,
        "value": float(value),
    }
