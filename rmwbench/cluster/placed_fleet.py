"""A fleet whose trials run over several machines each: gangs of them, reserved whole.

A gang is a placement group of Ray with a bundle per machine (STRICT_SPREAD), so two campaigns never
hold half of what each needs; the first host's machine leads it (rmwbench/cluster/cluster_machine.py).
`--place` names the machines of the one gang, however unlike they are: what is compared then is
compared on this gang alone. `--gang` makes as many as like machines allow, and a new one of those
that are left when one is lost.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rmwbench.campaign.plan.plan import Plan, duration_text
from rmwbench.campaign.plan.socket_buffers import Kernel, Kernels
from rmwbench.campaign.trial.outcome import Order
from rmwbench.cluster import machine_likeness
from rmwbench.cluster.batch_schedule import machine_budget_s
from rmwbench.cluster.connect import RESOURCE, nodes
from rmwbench.cluster.fleet import Fleet, NoAnswer, Remote
from rmwbench.cluster.placing import PLACE, Placing
from rmwbench.errors import UserError
from rmwbench.lab.host.remote import Agent
from rmwbench.lab.middleware import Worker
from rmwbench.suite.network.interfaces import Gang, Spot

RESERVE_TIMEOUT_S = 60.0
AGENT_TIMEOUT_S = 20.0
FIRST_DOMAIN, LAST_DOMAIN = 40, 99
"""A gang's domain: none that a robot has by default, none whose ports are the kernel's own (above
101)."""
MOST_LOSSES = 5
"""Trials that machines lost though all of them are there: then something is wrong that trying again
does not repair."""


@dataclass
class GangRunner:
    """Machines that run one trial at a time together; as a Remote to whoever gives out trials.
    `addresses` are where the others reach each."""

    name: str
    members: list[Remote]
    addresses: list[str]
    agents: list[Agent]
    domain_id: int
    placing: Placing
    notes: tuple[str, ...]
    reserved: Any = None

    def ask(self, method: str, *arguments: Any, returns: int = 1) -> Any:
        """Asks as a Remote does. Only `run` is a gang's; a cell of one host runs on the gang's
        first machine."""
        assert method == "run"
        order: Order = arguments[0]
        if order.cell.real is None:
            return self.members[0].ask(method, *arguments, returns=returns)
        index = self.placing.index(order.cell)
        spots = {
            host: Spot(self.members[at].name, self.addresses[at]) for host, at in index.items()
        }
        first, *others = index
        agents = {host: self.agents[index[host]] for host in others}
        gang = Gang(spots, self.domain_id, notes=self.notes)
        return self.members[index[first]].ask(
            "run_on_gang", *arguments, gang, agents, returns=returns
        )


class PlacedFleet(Fleet):
    """`runners` are gangs, once `check` has seen the plan."""

    exclusive_actors = False  # the placement groups reserve the machines

    def __init__(
        self,
        address: str,
        placing: Placing,
        like: Mapping[str, Any] | None,
        shared: bool,
        before: Mapping[str, machine_likeness.Facts],
    ):
        """`before`: host → the facts of its machine when the campaign to resume began; the others
        are Fleet's."""
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

    # --- what a campaign asks of its lab ---

    def machine_time_s(self, make: Any, budget_s: float) -> float:
        size = self.placing.size(make(None).cells)
        return machine_budget_s(make, max(1, len(self.machines) // size), budget_s)

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
        """The kernel of each host: machines that are placed by name may be unlike. The first runs
        cells of one host."""
        if not self.placing.hosts:
            return super().kernels()
        of_hosts = {
            host: Kernel(machine.card["machine"]["sysctls"], machine.name)
            for host, machine in zip(self.placing.hosts, self.machines, strict=True)
        }
        return Kernels(next(iter(of_hosts.values())), of_hosts)

    def document(self) -> dict[str, Any]:
        document = super().document()
        placement = self.placing.document()
        for host, machine in zip(self.placing.hosts, self.machines, strict=False):
            placement["hosts"][host]["facts"] = machine.facts
        document["cluster"] |= {"placement": placement, "machines_per_trial": self._size}
        return document

    # --- gangs ---

    def lose(self, name: str) -> str:
        """Takes the gang apart and makes another of what is left; in words, what became of it."""
        gang = self._runner(name)
        self._free(gang)
        self._gangs.remove(gang)
        agents = self._ask_agents(gang.members)
        gone = [m for m in gang.members if isinstance(agents[m.name], NoAnswer)]
        self.machines = [machine for machine in self.machines if machine not in gone]
        self._losses += not gone
        if self._losses >= MOST_LOSSES:
            return (
                f"lost {MOST_LOSSES} trials though no machine is gone: its gang is not used "
                "any more"
            )
        before = len(self._gangs)
        if not (gone and self.placing.hosts):
            self._form()
        text = (
            f"machine {', '.join(m.name for m in gone)} is gone"
            if gone
            else "all of its machines are still there"
        )
        added = self._gangs[before:]
        return text + (f"; {', '.join(gang.name for gang in added)} goes on" if added else "")

    def _ask_agents(self, members: Sequence[Remote]) -> dict[str, Any]:
        """The answer of each machine about its agent, which it starts where none runs; NoAnswer
        also where it says why none can run."""
        references = {m.name: m.ask("agent", self._token, m.address) for m in members}
        answers = self.answers(references, AGENT_TIMEOUT_S)
        return {
            name: NoAnswer(answer) if isinstance(answer, str) else answer
            for name, answer in answers.items()
        }

    def _form(self) -> None:
        """Makes gangs of the machines that are in none."""
        taken = {machine.name for gang in self._gangs for machine in gang.members}
        free = [machine for machine in self.machines if machine.name not in taken]
        while len(free) >= self._size:
            members, free = free[: self._size], free[self._size :]
            self._gangs.append(self._gang(members))

    def _gang(self, members: Sequence[Remote]) -> GangRunner:
        answers = self._ask_agents(members)
        for name, answer in answers.items():
            if isinstance(answer, NoAnswer):
                raise UserError(
                    f"machine {name} runs no agent",
                    where=f"--cluster {self.address}",
                    actual=answer.reason,
                )
        agents = [Agent(m.name, m.address, token=self._token, **answers[m.name]) for m in members]
        own = [address for _, address in self.placing.hosts.values()] or [None] * len(members)
        addresses = [given or m.address for given, m in zip(own, members, strict=True)]
        taken = {gang.domain_id for gang in self._gangs}
        domain = next(
            number for number in range(FIRST_DOMAIN, LAST_DOMAIN + 1) if number not in taken
        )
        name = " + ".join(m.name for m in members)
        reserved = self._reserve(members)
        return GangRunner(
            name,
            list(members),
            addresses,
            agents,
            domain,
            self.placing,
            tuple(self._notes(members)),
            reserved,
        )

    def _reserve(self, members: Sequence[Remote]) -> Any:
        from ray.util.placement_group import placement_group, remove_placement_group

        by_node = {node["NodeID"]: node["Resources"] for node in nodes(self.ray)}
        bundles = [_whole(by_node.get(m.node, {}), m.address) for m in members]
        group = placement_group(bundles, strategy="STRICT_SPREAD")
        if not group.wait(RESERVE_TIMEOUT_S):
            remove_placement_group(group)
            names = ", ".join(m.name for m in members)
            raise UserError(
                "cannot have these machines for one trial at a time",
                where=f"--cluster {self.address} {self.placing.option}",
                expected=f"all processors of {names} free in Ray's books within "
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
        """How the machines of one trial differ, which every such trial is flagged with."""
        expected = members[0].facts
        notes = []
        for machine in members[1:]:
            if text := machine_likeness.differences(expected, machine.facts):
                notes.append(
                    f"unlike machines in one trial: {machine.name} has {text} of {members[0].name}"
                )
        return notes

    # --- which machines ---

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
                known = ", ".join(sorted({node["NodeName"] for node in alive}))
                raise UserError(
                    f"the cluster has no machine `{name}` for host `{host}`"
                    if not matching
                    else f"the cluster has {len(matching)} machines `{name}`",
                    where=PLACE,
                    expected=f"one of {known}"
                    if not matching
                    else "its address, or Ray's id of the node",
                    actual=name,
                )
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

    def _keep(self, problems: Mapping[str, str | None]) -> None:
        super()._keep(problems)
        self._check_all_used()

    def _check_all_used(self) -> None:
        """Raises UserError where a machine that was named cannot take part."""
        if self.placing.hosts and self.left_out:
            name, why = self.left_out[0]
            raise UserError(f"machine {name} cannot take part", where=PLACE, actual=why)


def _whole(resources: Mapping[str, float], address: str) -> dict[str, float]:
    """The bundle that is this machine, wholly."""
    here = f"node:{address}"
    bundle = {name: resources[name] for name in ("CPU", RESOURCE) if resources.get(name)}
    return bundle | ({here: 0.001} if here in resources else {})
