"""What a machine of the cluster does for a campaign, in the process of that machine's actor.

Ray starts its processes 15 steps of niceness down and first in line for the kernel's out-of-memory
killer, which every worker of a trial would inherit. Both are put back to those of the machine's
raylet, or the machine is not used: a trial must not depend on whether Ray or a shell has started
it.

Of a trial over a gang, the first host is here, in this machine's own network, and drives it; each
other one is reached through its machine's agent. The leader's clock is the trial's reference, so
the first host's offset is exact and only the others' are measured.
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
from rmwbench.campaign.plan import preflight, unsupported
from rmwbench.campaign.plan.plan import Plan
from rmwbench.campaign.plan.rehearse import rehearse
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult, hosts_ahead, run_trial
from rmwbench.cluster.shipping import PACKAGE, ShippedProgram, Store, cache
from rmwbench.errors import UserError
from rmwbench.lab import machine
from rmwbench.lab.host import Host, HostBroken, Hosts, RemoteHost, check_own, devices
from rmwbench.lab.host.remote import Agent
from rmwbench.lab.middleware import Worker, require_workers
from rmwbench.lab.middleware.find import VARIABLE, unlike
from rmwbench.suite.network.interfaces import Gang

TARGET = "RMWBENCH_TARGET_DIR"
LOST = "lost"
"""The status of a trial that another machine took along with itself."""
SAFE_NICENESS = "RAY_worker_niceness=0 ray start …"


class ClusterMachine:
    """Every answer is plain data. What a user can repair comes back as text or UserError and is not
    raised: Ray would wrap it into a traceback."""

    def __init__(self) -> None:
        self._store = Store(cache() / "programs")
        self._workers: dict[str, Worker] = {}
        self._agent: subprocess.Popen[str] | None = None
        self._listening: dict[str, Any] = {}

    def card(self) -> dict[str, Any]:
        """`machine` (the machine card), `calibration` (of `calibrations.for_campaign`: by the user
        that Ray runs as), `boot` (equal for two nodes on one kernel) and `problem` (or None)."""
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        card = machine.describe()
        calibration = calibrations.for_campaign(card)
        return {
            "machine": card,
            "calibration": calibration,
            "boot": boot,
            "problem": _as_a_shell_would(),
        }

    def lacks(self, programs: Sequence[ShippedProgram]) -> list[ShippedProgram]:
        return self._store.lacks(programs)

    def put(self, program: ShippedProgram, content: bytes) -> None:
        self._store.put(program, content)

    def prepare(
        self,
        programs: Sequence[ShippedProgram],
        described: Mapping[str, Mapping[str, Any]],
        plan: Plan,
    ) -> str | None:
        """Why the campaign cannot run here; None where it can. `described`: middleware → what its
        worker says on the driver's machine."""
        os.environ[VARIABLE] = str(self._store.link_directory(programs))
        # nothing that was built here may take part
        os.environ[TARGET] = str(self._store.directory / "none")
        try:
            self._workers = require_workers(list(described))
            for name, worker in self._workers.items():
                if difference := unlike(described[name], worker.description):
                    return f"{worker.executable.name} describes itself otherwise here: {difference}"
            preflight.check_memory(plan)
            check_own().close()  # trials of one campaign get one kind of host
        except UserError as error:
            return error.render()
        gc.collect()
        gc.freeze()  # the same as a campaign on one machine does before its first window
        return None

    def lacking(self, cells: Sequence[Any]) -> dict[int, str]:
        return unsupported.machine_reasons(cells, self._workers)

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
        """Runs one trial: (status, reason, cause), which is small, and the result, which may stay
        here until it is asked for."""
        hosts = hosts_ahead(f"{name}/{order.trial}", order.cell)
        result = run_trial(order, self._workers, hosts)
        return (result.status, result.reason, result.cause), result

    def agent(self, token: str, address: str) -> dict[str, Any] | str:
        """`port` and `certificate` of this machine's agent (rmwbench/lab/agent.py), which
        lives as long as this process; started where none runs. Or why there is none."""
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
            stdin.write(json.dumps(settings) + "\n")
            stdin.flush()
            self._listening = json.loads(stdout.readline())
        return self._listening.get("problem") or self._listening

    def _programs(self) -> dict[str, dict[str, Any]]:
        """The programs that the agent may run: the tools, and the workers of the campaign."""
        paths = [*Path(os.environ[VARIABLE]).iterdir()]
        paths += [worker.executable for worker in self._workers.values()]
        programs: dict[str, dict[str, Any]] = {
            path.name: {"path": str(path), "inherit": {}} for path in paths
        }
        for worker in self._workers.values():
            described = worker.description or {}
            names = [name for name in described.get("inherit", ()) if name in os.environ]
            programs[worker.executable.name]["inherit"] |= {
                **{name: os.environ[name] for name in names},
                **described.get("environment", {}),
            }
        return programs

    def run_on_gang(
        self, order: Order, name: str, gang: Gang, agents: Mapping[str, Agent]
    ) -> tuple[Any, Any]:
        """Runs one trial with the cell's other hosts on other machines. Where one of those is lost
        there is no result, and the status is LOST."""
        try:
            hosts, order = hosts_of(order, f"{name}/{order.trial}", gang, agents)
        except HostBroken as broken:
            return (LOST, str(broken), None), None
        result = run_trial(order, self._workers, hosts)
        lost = [host.lost for host in hosts.remote.values() if host.lost]
        if lost:
            return (LOST, "; ".join(lost), None), None
        return (result.status, result.reason, result.cause), result


def _as_a_shell_would() -> str | None:
    """Takes back what Ray did to this process; gives what it could not take back."""
    raylet = int(os.environ.get("RAY_RAYLET_PID") or os.getppid())
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(
            Path(f"/proc/{raylet}/oom_score_adj").read_text()
        )
    usual = os.getpriority(os.PRIO_PROCESS, raylet)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, usual)
    except PermissionError:
        own = os.getpriority(os.PRIO_PROCESS, 0)
        return (
            f"Ray runs its processes at niceness {own} here, and only root may undo it: "
            f"{SAFE_NICENESS}"
        )
    return None


def hosts_of(
    order: Order, name: str, gang: Gang, agents: Mapping[str, Agent]
) -> tuple[Hosts, Order]:
    """The hosts of a cell over several machines, and its order with the gang, which has what each
    machine says of its interface. `agents`: host → its machine's agent, of all but the first.
    Raises HostBroken where a machine cannot be reached, or lacks the address that it was to
    have."""
    assert order.cell.real is not None
    first, *others = order.cell.hosts
    hosts: dict[str, Host | RemoteHost] = {}
    try:
        hosts[first] = Host(f"{name}/{first}", shared=True)
        cards = {first: devices.interface_of(gang.spots[first].address)}
        remotes: dict[str, RemoteHost] = {}
        for host in others:
            hosts[host] = remotes[host] = RemoteHost(f"{name}/{host}", agents[host])
        for host, remote in remotes.items():
            cards[host] = remote.interface_of(gang.spots[host].address)
        for host, card in cards.items():
            if card["device"] is None:
                spot = gang.spots[host]
                raise HostBroken(
                    f"machine {spot.machine} has no interface with the address {spot.address}"
                )
    except BaseException:
        Hosts.of(hosts).close()
        raise
    real = replace(order.cell.real, gang=replace(gang, cards=cards))
    return Hosts.of(hosts), replace(order, cell=replace(order.cell, real=real))
