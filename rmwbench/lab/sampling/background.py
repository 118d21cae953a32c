"""The background of a trial, as a factor: a load of a known kind, and processors kept awake.

Each load is a process of `rmwbench-load` (docs/formats/load.md) in a host of the trial, so that it
ends with the host. The hosts of a machine share its processors: a load that computes or copies runs
once per machine, a load that sends over `lo` once per host. The actual load is read back, and a
missing load voids the trial (`machine/void_rules.py`); otherwise `loaded` and `idle` would be one
cell under two names. The failure of a load raises nothing: it becomes a probe, and `problems` has
its text.

    # starts the processes, if any
    background = Background(processes, cell.conditions, cell.background_hosts)
    background.start()                                 # after matching: the loads begin
    background.window({host: (steady_ns, end_ns)})
    …the window, the drain…
    background.stop()   # ends the loads; awake, own_flows and probes() are known
    background.close()  # after the end of the host: removes the control group
"""

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rmwbench.errors import UserError
from rmwbench.lab import probe_row
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.sampling.cgroup import ControlGroup
from rmwbench.lab.sampling.load_process import LoadProcess

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
        self._group: ControlGroup | None = None
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
            if (
                load.role == BACKGROUND
                and load.process.pid is not None
                and not self._is_remote(load.host)
            ):
                self._move_to_group(load.process.pid)

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
                self.awake = load.grown("cpu_ns") / (
                    max(1, load.grown("time_ns")) * len(os.sched_getaffinity(0))
                )
            if bursts := answer.get("bursts"):
                size = load.in_force["datagram_bytes"] + DATAGRAM_HEADER_BYTES
                sent_by = tuple((time_ns, sent) for time_ns, sent in bursts)
                self.own_flows[load.host] = LoadFlow(sent_by, size)

    def close(self) -> None:
        """Removes the control group; call it once the host is closed."""
        if self._group is not None:
            self._group.close()
            self._group = None

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

    def _move_to_group(self, pid: int) -> None:
        with suppress(OSError):
            self._group = self._group or ControlGroup("load")
            self._group.add(pid)

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
            share_of_all = self.grown("cpu_ns") / (length_ns * processors)
            rows.append(probe_row("background_cpu", share_of_all))
        if share := self.in_force.get("share"):
            has_waits = all("wait_ns" in edge for edge in self.edges)
            runnable_ns = self.grown("cpu_ns") + (self.grown("wait_ns") if has_waits else 0)
            achieved = runnable_ns / (share * self.in_force["processors"] * length_ns)
            if self.in_force.get("memory_bytes"):
                copied = self.grown("copied_bytes")
                rows.append(probe_row("background_rate", copied / length_ns * 1e9, "bytes/s"))
                achieved = achieved if copied else 0.0
        else:
            datagrams, size = self.grown("datagrams_sent"), self.in_force["datagram_bytes"]
            achieved = datagrams / (self.in_force["datagrams_per_s"] * length_ns / 1e9)
            rows.append(probe_row("background_rate", datagrams * size / length_ns * 1e9, "bytes/s"))
        return [probe_row("background_achieved", min(1.0, achieved)), *rows]


def _one_per_machine(processes: TrialProcesses, hosts: Sequence[str]) -> list[str]:
    """The first of these hosts that is on this machine, and all that are on other machines."""
    local_hosts = [host for host in hosts if host not in processes.hosts.remote]
    return [*local_hosts[:1], *(host for host in hosts if host in processes.hosts.remote)]
