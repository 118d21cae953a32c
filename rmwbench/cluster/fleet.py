"""The machines of one campaign: one group of like machines is chosen among those of the cluster,
equipped and tried.

A machine that cannot take part is left out with its reason. It is the user's error if no machine is
left, or if no machine can run a cell.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.campaign_json import MachineDocument
from rmwbench.bundle.schema import TABLES, table_from_columns, table_from_rows
from rmwbench.campaign.plan.plan import Plan
from rmwbench.campaign.plan.socket_buffers import Kernel, Kernels
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import TrialResult
from rmwbench.campaign.trial_lab import Lab, ResultsLost, StopSignals, TrialEnd
from rmwbench.cluster import machine_likeness, shipping
from rmwbench.cluster.batch_schedule import machine_budget_s
from rmwbench.cluster.cluster_machine import LOST
from rmwbench.cluster.connect import RESOURCE, connect, error_line, nodes
from rmwbench.cluster.filesystem import Copy
from rmwbench.cluster.machine_actor import actor_class
from rmwbench.cluster.shipping import ShippedProgram
from rmwbench.errors import UserError
from rmwbench.lab.host.hosts import NAMESPACES, HostKind
from rmwbench.lab.middleware import Worker, tool
from rmwbench.lab.sampling import loads, sampler
from rmwbench.suite.cells import Cell
from rmwbench.words.numbers import counted

CARD_TIMEOUT_S = 60.0
EQUIP_TIMEOUT_S = 600.0
WAIT_S = 1.0
"""The longest time until a signal is noticed."""
TOOLS = (sampler.NAME, loads.TOOL, "link")
SHARED = "RMWBENCH_CLUSTER_SHARED"
"""An environment variable for tests: several nodes on one kernel count as machines."""


@dataclass
class Remote:
    """A machine: its name and its node in Ray, its actor, its card
    (`rmwbench.cluster.cluster_machine`), and its address in Ray."""

    name: str
    node: str
    actor: Any
    card: dict[str, Any] = field(default_factory=dict)
    address: str = ""

    @property
    def facts(self) -> machine_likeness.Facts:
        return machine_likeness.facts(self.card["machine"])

    @property
    def members(self) -> "list[Remote]":
        """The machines that run a trial together: this one."""
        return [self]

    def ask(self, method: str, *arguments: Any, returns: int = 1) -> Any:
        """Call a method of `ClusterMachine` there; return the reference to its answer, or a list of
        references."""
        return self.actor.call.options(num_returns=returns).remote(method, *arguments)


@dataclass(frozen=True)
class NoAnswer:
    """Stands for the answer that a machine did not give."""

    reason: str


LATE = NoAnswer("no answer in time")


@dataclass(frozen=True)
class RunningTrial:
    """A trial under way, with the machine or gang that runs it and the reference to its result."""

    runner: Any
    order: Order
    result: Any


class Fleet(Lab):
    """The machines of a campaign. Use it as a context manager: leaving it ends the actors and the
    connection.

    `machines` are alike; `left_out` has the others with the reason; `runners` get the trials: they
    are the machines, or gangs of them (placed_fleet.py).
    """

    exclusive_actors = True
    """Whether an actor takes all of its machine's processors in Ray's books."""

    def __init__(self, address: str, like: Mapping[str, Any] | None, shared: bool):
        """`like`: the machine card of the campaign to resume. `shared`: nodes of one kernel count
        as machines. Raises UserError if no machine can be used."""
        self.ray, self.address = connect(address), address
        self.machines: list[Remote] = []
        self.left_out: list[tuple[str, str]] = []
        self.copy: Copy | None = None
        self._under_way: dict[Any, RunningTrial] = {}
        """Trials by the reference to their summary."""
        self._actors: list[Any] = []
        try:
            remotes = self._start_actors(self._candidates(nodes(self.ray)))
            self._choose(remotes if shared else self._one_per_kernel(remotes), like)
        except BaseException:
            self.close()
            raise
        self._release()
        self.here = self._here()

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for actor in self._actors:
            self.ray.kill(actor)
        self._actors.clear()
        self.ray.shutdown()

    @property
    def runners(self) -> list[Any]:
        return list(self.machines)

    def lose(self, name: str) -> str:
        """Remove a runner that is gone; return what became of it in words."""
        self.machines = [machine for machine in self.machines if machine.name != name]
        return ""

    def _runner(self, name: str) -> Any:
        return next(runner for runner in self.runners if runner.name == name)

    def answered(self, references: Iterable[Any], timeout_s: float) -> list[Any]:
        """Wait until a reference is answered or lost, and return it; return none if the time is
        over before."""
        ready: list[Any] = self.ray.wait(list(references), timeout=timeout_s)[0]
        return ready

    def get(self, reference: Any) -> Any:
        """Return the answer, or a list of answers. Raises ResultsLost if it is lost, and errors of
        our own code on the machine."""
        from ray.exceptions import RayError, RayTaskError

        try:
            return self.ray.get(reference)
        except RayTaskError:
            raise
        except RayError as error:
            raise ResultsLost(error_line(error)) from None

    def ask_all(self, timeout_s: float, method: str, *arguments: Any) -> dict[str, Any]:
        """Call a method on every machine, and return the answers as `answers` does."""
        references = {machine.name: machine.ask(method, *arguments) for machine in self.machines}
        return self.answers(references, timeout_s)

    def answers(self, references: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Return the answer to each reference, or NoAnswer if it does not come within the time that
        all have together."""
        deadline_s = time.monotonic() + timeout_s
        return {
            name: self._answer(reference, max(0.0, deadline_s - time.monotonic()))
            for name, reference in references.items()
        }

    # --- The methods of a Lab (rmwbench/campaign/trial_lab.py) before the campaign. ---

    def machine(self) -> None:
        """Return None, since the machine is another one: no plan is cut to its limits, and a budget
        that is too small for the suite is refused."""

    def machine_time_s(self, make: Callable[[float | None], Plan], budget_s: float) -> float:
        return machine_budget_s(make, len(self.machines), budget_s)

    def check(self, plan: Plan, workers: Mapping[str, Worker]) -> None:
        """Ship the programs that the machines lack, and try them there; a machine that fails is
        left out."""
        programs = shipping.programs(workers.values(), _tools())
        descriptions = {name: worker.description for name, worker in workers.items()}
        self._ship(programs)
        answers = self.ask_all(EQUIP_TIMEOUT_S, "prepare", list(programs), descriptions, plan)
        self._leave_out(answers)
        self._release()

    def lacking(
        self, cells: Sequence[Cell], workers: Mapping[str, Worker], kind: HostKind
    ) -> dict[int, str]:
        """Return cell -> why one of the machines cannot run it, since a trial may run on any. The
        machine is named if others can."""
        answers = self.ask_all(EQUIP_TIMEOUT_S, "lacking", list(cells))
        self._leave_out(answers)
        reasons_of_cell: dict[int, dict[str, str]] = {}
        for machine in self.machines:
            for cell, reason in answers[machine.name].items():
                reasons_of_cell.setdefault(cell, {})[machine.name] = reason
        lacking = {}
        for cell, reasons in reasons_of_cell.items():
            name, reason = next(iter(reasons.items()))
            on_all = len(reasons) == len(self.machines)
            lacking[cell] = reason if on_all else f"on machine {name}: {reason}"
        return lacking

    def rehearse(
        self, cells: Sequence[Cell], workers: Mapping[str, Worker], places: Places
    ) -> dict[int, str]:
        """Rehearse on the first machine, since the others run the same programs. Raises UserError
        if the machine is lost."""
        first = self.machines[0]
        try:
            reasons: dict[int, str] | UserError = self.get(
                first.ask("rehearse", list(cells), places)
            )
        except ResultsLost as lost:
            raise UserError(
                f"machine {first.name} was lost while it tried what the campaign asks for",
                where=f"--cluster {self.address}",
                actual=str(lost),
                fix="start the machine again, or take it out of the cluster",
            ) from None
        if isinstance(reasons, UserError):
            raise reasons
        return reasons

    def describe(self) -> dict[str, Any]:
        """Return the card of the first machine, with the number of machines in its summary."""
        card: dict[str, Any] = self.machines[0].card["machine"]
        count = len(self.machines)
        summary = card["summary"] if count == 1 else f"{count} machines like: {card['summary']}"
        warnings = list(card.get("warnings") or ())
        boots = len({machine.card["boot"] for machine in self.machines})
        if boots < count:
            warnings.append(
                f"these {count} are nodes on {counted(boots, 'kernel')}: their trials disturb each "
                "other"
            )
        return card | {"summary": summary, "warnings": warnings}

    def kernels(self) -> Kernels:
        """Return the kernel of the first machine: the settings of all are alike."""
        return Kernels(Kernel(self.machines[0].card["machine"]["sysctls"]))

    def calibration(self) -> dict[str, Any]:
        """Return the calibration if all trials run on one machine; it says nothing about another
        machine, however like it is."""
        return dict(self.machines[0].card["calibration"]) if len(self.machines) == 1 else {}

    def host(self) -> HostKind:
        """Return namespaces, which every machine must be able to make (cluster_machine.py)."""
        return NAMESPACES

    def document(self) -> dict[str, Any]:
        machines = [
            {"machine": m.name, "node": m.node, "summary": m.card["machine"]["summary"]}
            for m in self.machines
        ]
        facts = self.machines[0].facts
        return {
            "cluster": {
                "fingerprint": machine_likeness.fingerprint(facts),
                "facts": facts,
                "machines": machines,
                "left_out": [{"machine": name, "reason": reason} for name, reason in self.left_out],
                "copy_to": self.copy and self.copy.address,
            }
        }

    # --- The methods of a Lab while the campaign runs (rmwbench/campaign/run.py). ---

    def idle(self) -> list[str]:
        busy = {trial.runner.name for trial in self._under_way.values()}
        idle = [runner.name for runner in self.runners if runner.name not in busy]
        return sorted(idle, key=self.is_here)  # the others need not wait until tables are written

    def start(self, machine: str, name: str, order: Order, workers: Mapping[str, Worker]) -> None:
        runner = self._runner(machine)
        summary, result = runner.ask("run", order, name, returns=2)
        self._under_way[summary] = RunningTrial(runner, order, result)

    def wait(self, signals: StopSignals) -> list[TrialEnd]:
        # An exception of a signal handler within Ray's own code would become another error.
        references = self.answered(self._under_way, WAIT_S)
        with signals.interruptible():
            pass
        return [self._end(reference) for reference in references]

    def _end(self, reference: Any) -> TrialEnd:
        trial = self._under_way.pop(reference)
        try:
            status, reason, cause = self.get(reference)
        except ResultsLost as lost:
            status, reason, cause = LOST, str(lost), None
        return TrialEnd(
            trial.runner.name,
            trial.order,
            status,
            reason,
            cause,
            trial.result,
            lost=status == LOST,
        )

    def running(self) -> list[Order]:
        return [trial.order for trial in self._under_way.values()]

    def is_here(self, machine: str) -> bool:
        return self.here in [member.name for member in self._runner(machine).members]

    def measures_here(self) -> bool:
        under_way = {trial.runner.name for trial in self._under_way.values()}
        return any(
            runner.name in under_way and self.is_here(runner.name) for runner in self.runners
        )

    def fetch(self, ends: Sequence[TrialEnd]) -> list[TrialResult]:
        """Return the results, each with the machine of its trial. Raises ResultsLost."""
        results: list[TrialResult] = self.get([end.result for end in ends])
        for end, result in zip(ends, results, strict=True):
            table = result.tables.get("trials")
            if table is not None:  # it is None for an unsupported trial
                columns = {name: table.column(name) for name in TABLES["trials"].names}
                result.tables["trials"] = table_from_columns(
                    "trials", columns | {"machine": end.machine}
                )
        return results

    def write_machines(self, writer: BundleWriter, card: MachineDocument, *, at_end: bool) -> None:
        """Write a row per machine that takes part, with its state when it began; a lost machine has
        no state at the end."""
        states = self.ask_all(CARD_TIMEOUT_S, "state") if at_end and not self._under_way else {}
        rows = {row["machine"]: row for row in Bundle(writer.directory).rows("machine")}
        rows.pop(None, None)  # the row of the new campaign, which names no machine
        for remote in self.machines:
            facts = remote.card["machine"]
            row = {name: json.dumps(facts[name]) for name in ("hardware", "kernel", "sysctls")}
            row |= {"start": json.dumps(facts["state"]), "machine": remote.name}
            state = states.get(remote.name)
            end = None if state is None or isinstance(state, NoAnswer) else json.dumps(state)
            rows[remote.name] = rows.get(remote.name, row) | {"end": end}
        writer.write_whole_campaign({"machine": table_from_rows("machine", list(rows.values()))})

    # --- The choice of machines. ---

    def _start_actors(self, alive: Sequence[Mapping[str, Any]]) -> list[Remote]:
        """Start an actor on each node, and return the machines that answer. An actor takes all
        processors of its node, so that neither another campaign nor another job of Ray runs beside
        a trial."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        digest, archive = shipping.package()
        archive_reference = self.ray.put(archive)
        machine_actor = self.ray.remote(actor_class())
        names = [node["NodeName"] for node in alive]
        remotes = []
        for name, node in zip(names, alive, strict=True):
            amounts = node["Resources"] if self.exclusive_actors else {}
            actor = machine_actor.options(
                num_cpus=amounts.get("CPU", 0),
                resources={RESOURCE: amounts[RESOURCE]} if RESOURCE in amounts else None,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
                max_restarts=0,
            ).remote(digest, archive_reference)
            self._actors.append(actor)
            unique = name if names.count(name) == 1 else f"{name} {node['NodeID'][:8]}"
            remotes.append(
                Remote(unique, node["NodeID"], actor, address=node["NodeManagerAddress"])
            )
        cards = self.answers({r.name: r.ask("card") for r in remotes}, CARD_TIMEOUT_S)
        usable = []
        for remote in remotes:
            card = cards[remote.name]
            problem = card.reason if isinstance(card, NoAnswer) else card["problem"]
            if card is LATE and self.exclusive_actors:
                problem += ": another job of Ray, or another campaign, has its processors"
            if problem:
                self.left_out.append((remote.name, problem))
            else:
                remote.card = card
                usable.append(remote)
        return usable

    def _answer(self, ref: Any, timeout_s: float) -> Any:
        from ray.exceptions import GetTimeoutError, RayError

        try:
            return self.ray.get(ref, timeout=timeout_s)
        except GetTimeoutError:
            return LATE
        except RayError as error:
            return NoAnswer(error_line(error, last=True))

    def _candidates(self, alive: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        return alive

    def _one_per_kernel(self, remotes: Sequence[Remote]) -> list[Remote]:
        """Return the first node of each machine: two trials in containers on one kernel would
        disturb each other."""
        first_of_boot: dict[str, Remote] = {}
        for remote in remotes:
            first = first_of_boot.setdefault(remote.card["boot"], remote)
            if first is not remote:
                self.left_out.append(
                    (remote.name, f"the same machine as {first.name}: one trial at a time")
                )
        return list(first_of_boot.values())

    def _choose(self, remotes: Sequence[Remote], like: Mapping[str, Any] | None) -> None:
        """Choose the largest group of like machines, or the group of the campaign to resume."""
        facts = {remote.name: remote.facts for remote in remotes}
        required_facts = machine_likeness.facts(like) if like else None
        if required_facts:
            names = [n for n in facts if not machine_likeness.differences(required_facts, facts[n])]
        else:
            names = next(iter(machine_likeness.groups(facts.items())), [])
        expected = required_facts or (facts[names[0]] if names else {})
        others = "the machines that this campaign began on" if required_facts else "the others"
        for name, actual in facts.items():
            if name not in names:
                difference = machine_likeness.differences(expected, actual)
                self.left_out.append((name, f"unlike {others}: {difference}"))
        self.machines = [remote for remote in remotes if remote.name in names]
        self._check_machines()

    def _ship(self, programs: Mapping[ShippedProgram, Path]) -> None:
        """Send each program to the machines that lack it; it is put into Ray's object store
        once."""
        answers = self.ask_all(EQUIP_TIMEOUT_S, "lacks", list(programs))
        self._leave_out(answers)
        stored: dict[ShippedProgram, Any] = {}
        shipped = {}
        for machine in self.machines:
            lacking = answers[machine.name]
            for program in lacking:
                if program not in stored:
                    stored[program] = self.ray.put(programs[program].read_bytes())
            shipped[machine.name] = [machine.ask("put", p, stored[p]) for p in lacking]
        self._leave_out(self.answers(shipped, EQUIP_TIMEOUT_S))

    def _leave_out(self, answers: Mapping[str, Any]) -> None:
        """Leave out the machines that gave no answer, or a text that says why they cannot take
        part."""
        problems = problems_of(answers)
        self.left_out += [(name, " ".join(text.split())) for name, text in problems.items()]
        self.machines = [machine for machine in self.machines if machine.name not in problems]
        self._check_machines()

    def _release(self) -> None:
        """End the actors of machines that are not used."""
        used_actors = [machine.actor for machine in self.machines]
        for actor in [actor for actor in self._actors if actor not in used_actors]:
            self.ray.kill(actor)
            self._actors.remove(actor)

    def _check_machines(self) -> None:
        """Raises UserError if no machine is left."""
        if not self.machines:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.left_out)
            raise UserError(
                "no machine of this cluster can run the campaign",
                where=f"--cluster {self.address}",
                actual=reasons or "none is alive with processors for work",
            )

    def _here(self) -> str | None:
        """Return the name of the machine that this process runs on, None if it is not among
        them."""
        if self.address.startswith("ray://"):
            return None
        node = self.ray.get_runtime_context().get_node_id()
        return next((machine.name for machine in self.machines if machine.node == node), None)


def problems_of(answers: Mapping[str, Any]) -> dict[str, str]:
    """Return machine -> why it cannot take part: the reason why it gave no answer, or an answer
    that is a text. Machines with other answers have no entry."""
    reasons = {
        name: answer.reason if isinstance(answer, NoAnswer) else answer
        for name, answer in answers.items()
    }
    return {name: reason for name, reason in reasons.items() if isinstance(reason, str)}


def _tools() -> list[Path]:
    """Return the tools that trials may need, as far as they are built. The preflight has checked
    the tools that they do need."""
    executables = []
    for name in TOOLS:
        with suppress(UserError):
            executables.append(tool.find(name))
    return executables
