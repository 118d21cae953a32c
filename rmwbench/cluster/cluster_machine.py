"""The work of a machine of the cluster for a campaign, in the process of that machine's actor.

Ray starts its processes with a niceness of 15 and as the first victims of the kernel's
out-of-memory killer; every worker of a trial would inherit both. They are set back to those of the
machine's raylet, or the machine is not used: a trial must not depend on whether Ray or a shell
starts it.

In a trial over a gang, the first host is on this machine, in the machine's own network, and drives
the trial; each other host is reached through the agent of its machine. The clock of this machine is
the trial's reference, so only the offsets of the others are measured.
"""

import contextlib
import gc
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rmwbench.campaign import calibrations
from rmwbench.campaign.plan import preflight, unsupported_cells
from rmwbench.campaign.plan.plan import Plan
from rmwbench.campaign.plan.rehearsal import rehearse
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult, hosts_ahead, run_trial
from rmwbench.cluster.shipping import PACKAGE, ShippedProgram, Store, cache
from rmwbench.errors import UserError
from rmwbench.lab import machine
from rmwbench.lab.host import Host, HostBroken, Hosts, RemoteHost, check_own, devices
from rmwbench.lab.host.remote_host import Agent
from rmwbench.lab.middleware import Worker, require_workers
from rmwbench.lab.middleware.find import VARIABLE, differences
from rmwbench.suite.network.interfaces import Gang

TARGET = "RMWBENCH_TARGET_DIR"
LOST = "lost"
"""The status of a trial that is lost with a machine."""
SAFE_NICENESS = "RAY_worker_niceness=0 ray start …"


class ClusterMachine:
    """The methods that a fleet calls. Every answer is plain data. An error that a user can repair
    is returned as text or UserError and not raised, since Ray would wrap it into a traceback."""

    def __init__(self) -> None:
        self._store = Store(cache() / "programs")
        self._workers: dict[str, Worker] = {}
        self._agent: subprocess.Popen[str] | None = None
        self._agent_answer: dict[str, Any] = {}

    def card(self) -> dict[str, Any]:
        """Return `machine` (the machine card), `calibration` (by the user that Ray runs as), `boot`
        (equal for two nodes on one kernel) and `problem` (why the machine is not used, or None)."""
        card = machine.describe()
        return {
            "machine": card,
            "calibration": calibrations.for_campaign(card),
            "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            "problem": _undo_ray(),
        }

    def lacks(self, programs: Sequence[ShippedProgram]) -> list[ShippedProgram]:
        return self._store.lacks(programs)

    def put(self, program: ShippedProgram, content: bytes) -> None:
        self._store.put(program, content)

    def prepare(
        self,
        programs: Sequence[ShippedProgram],
        descriptions: Mapping[str, Mapping[str, Any]],
        plan: Plan,
    ) -> str | None:
        """Prepare the campaign; return why it cannot run here, None if it can. `descriptions`:
        middleware → the description of its worker on the driver's machine."""
        os.environ[VARIABLE] = str(self._store.link_directory(programs))
        # Workers that were built on this machine must not be found.
        os.environ[TARGET] = str(self._store.directory / "none")
        try:
            self._workers = require_workers(list(descriptions))
            for name, worker in self._workers.items():
                if difference := differences(descriptions[name], worker.description):
                    return f"{worker.executable.name} describes itself otherwise here: {difference}"
            preflight.check_memory(plan)
            check_own().close()  # trials of one campaign get one kind of host
        except UserError as error:
            return error.render()
        gc.collect()
        gc.freeze()  # as a campaign on one machine does before its first window
        return None

    def lacking(self, cells: Sequence[Any]) -> dict[int, str]:
        return unsupported_cells.machine_reasons(cells, self._workers)

    def rehearse(self, cells: Sequence[Any], places: Places) -> dict[int, str] | UserError:
        try:
            return rehearse(cells, self._workers, places)
        except UserError as error:
            return error

    def state(self) -> dict[str, Any]:
        return machine.state()

    def run(
        self, order: Order, name: str
    ) -> tuple[tuple[str, str | None, str | None], TrialResult]:
        """Run one trial; return (status, reason, cause), which is small, and the result, which may
        stay here until it is fetched."""
        hosts = hosts_ahead(f"{name}/{order.trial}", order.cell)
        result = run_trial(order, self._workers, hosts)
        return (result.status, result.reason, result.cause), result

    def agent(self, token: str, address: str) -> dict[str, Any] | str:
        """Return `port` and `certificate` of this machine's agent (rmwbench/lab/agent.py), or why
        it cannot run. It is started if none runs, and lives as long as this process."""
        if self._agent is None or self._agent.poll() is not None:
            self._agent = subprocess.Popen(
                [sys.executable, "-m", "rmwbench.lab.agent"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd="/",
                env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},  # this very rmwbench
            )
            settings = {"token": token, "address": address, "programs": self._programs()}
            stdin, stdout = self._agent.stdin, self._agent.stdout
            assert stdin is not None and stdout is not None
            with contextlib.suppress(BrokenPipeError):
                stdin.write(json.dumps(settings) + "\n")
                stdin.flush()
            answer = stdout.readline()
            if not answer:
                self._agent.communicate()
                return f"its agent ended with exit status {self._agent.returncode}"
            self._agent_answer = json.loads(answer)
        return self._agent_answer.get("problem") or self._agent_answer

    def _programs(self) -> dict[str, dict[str, Any]]:
        """Return the programs that the agent may run: the tools, and the workers of the
        campaign."""
        paths = [*Path(os.environ[VARIABLE]).iterdir()]
        paths += [worker.executable for worker in self._workers.values()]
        programs: dict[str, dict[str, Any]] = {
            path.name: {"path": str(path), "inherit": {}} for path in paths
        }
        for worker in self._workers.values():
            description = worker.description or {}
            names = description.get("inherit", ())
            programs[worker.executable.name]["inherit"] |= {
                **{name: os.environ[name] for name in names if name in os.environ},
                **description.get("environment", {}),
            }
        return programs

    def run_on_gang(
        self, order: Order, name: str, gang: Gang, agents: Mapping[str, Agent]
    ) -> tuple[Any, Any]:
        """Run one trial with the cell's other hosts on other machines, and return as `run` does. If
        one of those is lost, the status is LOST and the result None."""
        try:
            hosts, order = hosts_of(order, f"{name}/{order.trial}", gang, agents)
        except HostBroken as broken:
            return (LOST, str(broken), None), None
        result = run_trial(order, self._workers, hosts)
        lost = [host.lost for host in hosts.remote.values() if host.lost]
        if lost:
            return (LOST, "; ".join(lost), None), None
        return (result.status, result.reason, result.cause), result


def _undo_ray() -> str | None:
    """Undo what Ray did to this process; return why that is not possible, None if it is done."""
    raylet = int(os.environ.get("RAY_RAYLET_PID") or os.getppid())
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(
            Path(f"/proc/{raylet}/oom_score_adj").read_text()
        )
    niceness = os.getpriority(os.PRIO_PROCESS, raylet)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
    except PermissionError:
        current = os.getpriority(os.PRIO_PROCESS, 0)
        return (
            f"Ray runs its processes at niceness {current} here, and only root may undo it: "
            f"{SAFE_NICENESS}"
        )
    return None


def hosts_of(
    order: Order, name: str, gang: Gang, agents: Mapping[str, Agent]
) -> tuple[Hosts, Order]:
    """Return the hosts of a cell over several machines, and its order with the gang and the
    interface of each machine. `agents`: host → its machine's agent, for all but the first.
    Raises HostBroken if a machine cannot be reached or lacks its address."""
    assert order.cell.real is not None
    first, *others = order.cell.hosts
    hosts: dict[str, Host | RemoteHost] = {}
    try:
        hosts[first] = Host(f"{name}/{first}", shared=True)
        interfaces = {first: devices.interface_of(gang.machines[first].address)}
        remotes: dict[str, RemoteHost] = {}
        for host in others:
            hosts[host] = remotes[host] = RemoteHost(f"{name}/{host}", agents[host])
        for host, remote in remotes.items():
            interfaces[host] = remote.interface_of(gang.machines[host].address)
        for host, interface in interfaces.items():
            if interface["device"] is None:
                address = gang.machines[host]
                raise HostBroken(
                    f"machine {address.name} has no interface with the address {address.address}"
                )
    except BaseException:
        Hosts.of(hosts).close()
        raise
    real = replace(order.cell.real, gang=replace(gang, interfaces=interfaces))
    return Hosts.of(hosts), replace(order, cell=replace(order.cell, real=real))
