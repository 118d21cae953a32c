"""The placing of a workload's hosts on machines, by `--place` (named machines) or `--gang` (any like
machines), and the fleet whose trials run over several machines each: a gang, which is reserved as a
whole. Without one of these options all hosts of a suite are on one machine.

A gang is a placement group of Ray with a bundle per machine (STRICT_SPREAD), so two campaigns never
hold half of what each needs; the first host's machine leads it
(rmwbench/cluster/cluster_machine.py). `--place` names the machines of the only gang, however unlike
they are: all trials of the campaign run on it. `--gang` makes as many gangs as like machines allow,
and a new one of the machines that are left when one is lost.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rmwbench.campaign.plan.plan import Plan, duration_text
from rmwbench.campaign.plan.socket_buffers import Kernel, Kernels
from rmwbench.campaign.trial.outcome import Order
from rmwbench.cluster import machine_likeness
from rmwbench.cluster.batch_schedule import machine_budget_s
from rmwbench.cluster.connect import RESOURCE, nodes
from rmwbench.cluster.fleet import Fleet, Remote, problems_of
from rmwbench.errors import UserError, not_one_of
from rmwbench.lab.host.remote_host import Agent
from rmwbench.lab.middleware import Worker
from rmwbench.suite.cells import Cell
from rmwbench.suite.network.interfaces import Gang, MachineAddress

PLACE, GANG = "--place", "--gang"
_PLACED_HOST = re.compile(r"(?P<host>[^=@,\s]+)=(?P<machine>[^=@,\s]+)(@(?P<address>[^=@,\s]+))?")
RESERVE_TIMEOUT_S = 60.0
AGENT_TIMEOUT_S = 20.0
DOMAINS = range(40, 100)
"""The domains of gangs, one for each: no robot has one of them by default, and no port of theirs is
the kernel's own (above domain 101)."""
MOST_LOSSES = 5
"""Where gangs whose machines are all there have lost this number of trials, trying again is of no
use."""


@dataclass(frozen=True)
class Placing:
    """`hosts`: host → the name of its machine as the user typed it, and its address for the other
    hosts (None: its address in Ray). Without an entry, hosts are on any like machines."""

    hosts: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)

    @property
    def option(self) -> str:
        return PLACE if self.hosts else GANG

    def document(self) -> dict[str, Any]:
        """Return the placement for campaign.json."""
        return {
            "hosts": {
                host: {"machine": m, "address": address}
                for host, (m, address) in self.hosts.items()
            }
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "Placing":
        hosts = document["hosts"].items()
        return cls({host: (place["machine"], place["address"]) for host, place in hosts})

    def size(self, cells: Sequence[Cell]) -> int:
        """Return how many machines one trial takes."""
        return len(self.hosts) or max(len(cell.hosts) for cell in cells)

    def index(self, cell: Cell) -> dict[str, int]:
        """Return host → the position of its machine in a gang."""
        order = list(self.hosts or cell.hosts)
        return {host: order.index(host) for host in cell.hosts}

    def check(self, plan: Plan) -> None:
        """Raises UserError if a workload has a host without a machine, or if no workload has a host
        that is placed."""
        if not self.hosts:
            return
        workload_of = {
            host: cell.workload.name for cell in plan.cells if cell.real for host in cell.hosts
        }
        for host, workload in workload_of.items():
            if host not in self.hosts:
                raise UserError(
                    f"host `{host}` of workload `{workload}` has no machine",
                    where=PLACE,
                    expected=",".join(f"{name}=MACHINE" for name in workload_of),
                    actual=", ".join(self.hosts),
                )
        for host in self.hosts:
            if host not in workload_of:
                raise not_one_of(
                    f"no workload over several hosts has a host `{host}`",
                    host,
                    workload_of,
                    where=PLACE,
                )


def parse_place(text: str) -> Placing:
    """Parse `robot=MACHINE,base=MACHINE@ADDRESS`. Raises UserError."""
    hosts: dict[str, tuple[str, str | None]] = {}
    for word in text.split(","):
        match = _PLACED_HOST.fullmatch(word.strip())
        if match is None:
            raise UserError(
                f"`{word.strip()}` is not HOST=MACHINE",
                where=PLACE,
                expected="HOST=MACHINE,HOST=MACHINE; a machine by the name or address that `ray "
                "status -v` shows, with @ADDRESS behind it where the others reach it at another "
                "one",
                actual=word.strip() or "nothing",
            )
        host, machine = match["host"], match["machine"]
        if host in hosts or machine in [other for other, _ in hosts.values()]:
            twice = f"host `{host}`" if host in hosts else f"machine `{machine}`"
            raise _placed_twice(twice, text)
        hosts[host] = machine, match["address"]
    if len(hosts) < 2:
        raise UserError(
            f"{PLACE} needs at least two hosts",
            where=PLACE,
            expected="two hosts or more",
            actual=text,
        )
    return Placing(hosts)


def _placed_twice(place: str, actual: str) -> UserError:
    return UserError(
        f"{place} is placed twice",
        where=PLACE,
        expected="one machine for each host",
        actual=actual,
    )


@dataclass
class GangRunner:
    """Machines that run one trial at a time together. It gets trials as a Remote does. `addresses`:
    the address of each machine for the others."""

    name: str
    members: list[Remote]
    addresses: list[str]
    agents: list[Agent]
    domain_id: int
    placing: Placing
    notes: tuple[str, ...]
    reserved: Any = None

    def ask(self, method: str, *arguments: Any, returns: int = 1) -> Any:
        """Call a method as Remote does. A gang has the method `run` alone; a cell of one host runs
        on its first machine."""
        assert method == "run"
        order: Order = arguments[0]
        if order.cell.real is None:
            return self.members[0].ask(method, *arguments, returns=returns)
        index = self.placing.index(order.cell)
        machines = {
            host: MachineAddress(self.members[at].name, self.addresses[at])
            for host, at in index.items()
        }
        first, *others = index
        agents = {host: self.agents[index[host]] for host in others}
        gang = Gang(machines, self.domain_id, notes=self.notes)
        return self.members[index[first]].ask(
            "run_on_gang", *arguments, gang, agents, returns=returns
        )


class PlacedFleet(Fleet):
    """A fleet whose `runners` are gangs, which `check` forms for the plan."""

    exclusive_actors = False  # the placement groups reserve the machines

    def __init__(
        self,
        address: str,
        placing: Placing,
        like: Mapping[str, Any] | None,
        shared: bool,
        before: Mapping[str, machine_likeness.Facts],
    ):
        """`before`: host → the facts of its machine when the campaign to resume began; `like` and
        `shared`: see Fleet."""
        self.placing, self._before = placing, before
        self._gangs: list[GangRunner] = []
        self._token = secrets.token_hex(16)
        self._losses = 0
        self._size = len(placing.hosts)
        super().__init__(address, like, shared)

    @property
    def runners(self) -> list[GangRunner]:
        return self._gangs

    def close(self) -> None:
        for gang in self._gangs:
            self._free(gang)
        super().close()

    # --- The methods of a Lab (rmwbench/campaign/trial_lab.py). ---

    def machine_time_s(self, make: Any, budget_s: float) -> float:
        size = self.placing.size(make(None).cells)
        return machine_budget_s(make, len(self.machines), budget_s, size)

    def check(self, plan: Plan, workers: Mapping[str, Worker]) -> None:
        self.placing.check(plan)
        super().check(plan, workers)
        self._size = self.placing.size(plan.cells)
        if len(self.machines) < self._size:
            left_out = [f"{name} is not used: {why}" for name, why in self.left_out]
            raise UserError(
                f"one trial takes {self._size} machines, and there are not as many",
                where=f"--cluster {self.address} {self.placing.option}",
                expected=f"{self._size} like machines",
                actual="; ".join([", ".join(m.name for m in self.machines), *left_out]),
            )
        self._form()

    def describe(self) -> dict[str, Any]:
        card = super().describe()
        if not self.placing.hosts:
            return card | {"summary": f"{self._size} hosts per trial on {card['summary']}"}
        summary = "; ".join(
            f"{host}: {machine.card['machine']['summary']}"
            for host, machine in zip(self.placing.hosts, self.machines, strict=True)
        )
        warnings = [*card["warnings"], *self._notes(self.machines)]
        return card | {"summary": summary, "warnings": warnings}

    def kernels(self) -> Kernels:
        """Return the kernel of each host, since machines that are placed by name may be unlike. The
        first one also runs cells of one host."""
        if not self.placing.hosts:
            return super().kernels()
        kernel_of_host = {
            host: Kernel(machine.card["machine"]["sysctls"], machine.name)
            for host, machine in zip(self.placing.hosts, self.machines, strict=True)
        }
        return Kernels(next(iter(kernel_of_host.values())), kernel_of_host)

    def document(self) -> dict[str, Any]:
        document = super().document()
        placement = self.placing.document()
        for host, machine in zip(self.placing.hosts, self.machines, strict=False):
            placement["hosts"][host]["facts"] = machine.facts
        document["cluster"] |= {"placement": placement, "machines_per_trial": self._size}
        return document

    # --- Gangs. ---

    def lose(self, name: str) -> str:
        """Dissolve a gang, form another of the machines that are left, and return what became of it
        in words."""
        gang = self._runner(name)
        self._free(gang)
        self._gangs.remove(gang)
        problems = problems_of(self._ask_agents(gang.members))
        gone = [machine for machine in gang.members if machine.name in problems]
        self.machines = [machine for machine in self.machines if machine not in gone]
        self._losses += not gone
        given_up = self._losses >= MOST_LOSSES
        if given_up and not gone:
            return (
                f"lost {MOST_LOSSES} trials though no machine is gone: its gang is not used "
                "any more"
            )
        text = "all of its machines are still there"
        if gone:
            text = f"machine {', '.join(machine.name for machine in gone)} is gone"
        count = len(self._gangs)
        if not (given_up or (gone and self.placing.hosts)):
            try:
                self._form()
            except UserError as error:  # the other gangs go on
                text += f"; {error.what}: {error.actual}"
        new_gangs = self._gangs[count:]
        return text + (f"; {', '.join(g.name for g in new_gangs)} goes on" if new_gangs else "")

    def _ask_agents(self, members: Sequence[Remote]) -> dict[str, Any]:
        """Ask each machine about its agent, which it starts if none runs; return the answers, a
        text if none can run."""
        references = {m.name: m.ask("agent", self._token, m.address) for m in members}
        return self.answers(references, AGENT_TIMEOUT_S)

    def _form(self) -> None:
        """Form gangs of the machines that are in none."""
        in_gangs = {machine.name for gang in self._gangs for machine in gang.members}
        free = [machine for machine in self.machines if machine.name not in in_gangs]
        while len(free) >= self._size and len(self._gangs) < len(DOMAINS):
            members, free = free[: self._size], free[self._size :]
            self._gangs.append(self._gang(members))

    def _gang(self, members: Sequence[Remote]) -> GangRunner:
        """Return a gang of these machines. Raises UserError if one of them can run no agent."""
        answers = self._ask_agents(members)
        for name, reason in problems_of(answers).items():
            raise UserError(
                f"machine {name} runs no agent", where=f"--cluster {self.address}", actual=reason
            )
        hosts = self.placing.hosts.values()
        user_addresses = [address for _, address in hosts] or [None] * len(members)
        used_domains = {gang.domain_id for gang in self._gangs}
        return GangRunner(
            " + ".join(m.name for m in members),
            list(members),
            addresses=[a or m.address for a, m in zip(user_addresses, members, strict=True)],
            agents=[
                Agent(m.name, m.address, token=self._token, **answers[m.name]) for m in members
            ],
            domain_id=next(domain for domain in DOMAINS if domain not in used_domains),
            placing=self.placing,
            notes=tuple(self._notes(members)),
            reserved=self._reserve(members),
        )

    def _reserve(self, members: Sequence[Remote]) -> Any:
        """Return the placement group of these machines. Raises UserError if one is not free."""
        from ray.util.placement_group import placement_group, remove_placement_group

        by_node = {node["NodeID"]: node["Resources"] for node in nodes(self.ray)}
        bundles = [_whole(by_node.get(m.node, {}), m.address) for m in members]
        group = placement_group(bundles, strategy="STRICT_SPREAD")
        if not group.wait(RESERVE_TIMEOUT_S):
            remove_placement_group(group)
            names = ", ".join(m.name for m in members)
            raise UserError(
                "the machines of one trial cannot be reserved",
                where=f"--cluster {self.address} {self.placing.option}",
                expected=f"all processors of {names} free for Ray within "
                f"{duration_text(RESERVE_TIMEOUT_S)}",
                actual="another job of Ray, or another campaign, has some of them",
            )
        return group

    def _free(self, gang: GangRunner) -> None:
        if gang.reserved is not None:
            from ray.util.placement_group import remove_placement_group

            remove_placement_group(gang.reserved)
            gang.reserved = None

    def _notes(self, members: Sequence[Remote]) -> list[str]:
        """Return how the machines of one trial differ; every such trial is flagged with it."""
        expected = members[0].facts
        notes = []
        for machine in members[1:]:
            if text := machine_likeness.differences(expected, machine.facts):
                notes.append(
                    f"unlike machines in one trial: {machine.name} has {text} of {members[0].name}"
                )
        return notes

    # --- The choice of machines. ---

    def _candidates(self, alive: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        if not self.placing.hosts:
            return alive
        chosen: list[Mapping[str, Any]] = []
        for host, (name, _) in self.placing.hosts.items():
            matching = [
                node
                for node in alive
                if name in (node["NodeName"], node["NodeManagerAddress"], node["NodeID"])
            ]
            if len(matching) != 1:
                names = ", ".join(sorted({node["NodeName"] for node in alive}))
                raise UserError(
                    f"the cluster has no machine `{name}` for host `{host}`"
                    if not matching
                    else f"the cluster has {len(matching)} machines `{name}`",
                    where=PLACE,
                    expected=f"one of {names}"
                    if not matching
                    else "its address, or Ray's id of the node",
                    actual=name,
                )
            if matching[0] in chosen:
                places = (f"{host}={machine}" for host, (machine, _) in self.placing.hosts.items())
                raise _placed_twice(f"machine `{name}`", ",".join(places))
            chosen += matching
        return chosen

    def _choose(self, remotes: Sequence[Remote], like: Mapping[str, Any] | None) -> None:
        if not self.placing.hosts:
            super()._choose(remotes, like)
            return
        self._check_all_used()
        self.machines = list(remotes)
        for host, machine in zip(self.placing.hosts, self.machines, strict=True):
            before = self._before.get(host)
            if before and (text := machine_likeness.differences(before, machine.facts)):
                raise UserError(
                    "this is another machine than the campaign began on",
                    where=f"{PLACE}, host {host}, machine {machine.name}",
                    actual=text,
                )

    def _leave_out(self, answers: Mapping[str, Any]) -> None:
        super()._leave_out(answers)
        self._check_all_used()

    def _check_all_used(self) -> None:
        """Raises UserError if a named machine cannot take part."""
        if self.placing.hosts and self.left_out:
            name, why = self.left_out[0]
            raise UserError(f"machine {name} cannot take part", where=PLACE, actual=why)


def _whole(resources: Mapping[str, float], address: str) -> dict[str, float]:
    """Return the bundle of a placement group that takes this machine as a whole."""
    here = f"node:{address}"
    bundle = {name: resources[name] for name in ("CPU", RESOURCE) if resources.get(name)}
    return bundle | ({here: 0.001} if here in resources else {})
