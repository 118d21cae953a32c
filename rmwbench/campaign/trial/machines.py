"""A trial whose hosts are machines of their own. Each machine is probed, each can spoil the trial,
and the real network between them is described.

Rows of the table `probes` of another machine have `@HOST` behind the probe's name; those of the
first host's machine have the plain name. The rules are applied to each machine's rows separately.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from rmwbench.campaign.record import sampler_rows
from rmwbench.campaign.trial.outcome import TrialOutcome, note, note_flag
from rmwbench.codes import Code, Reason
from rmwbench.lab import machine
from rmwbench.lab.machine import EdgeReading, Ticks
from rmwbench.lab.machine.timekeeping import timekeeping
from rmwbench.lab.process.trial_processes import TrialProcesses

QuestionNumbers = dict[str, int]
"""Host → the number of the question that its machine was sent."""
AT = "@"
REAL = "real_network"
"""The event of a trial over a real network."""


def post(processes: TrialProcesses, question: str) -> QuestionNumbers:
    """Ask every other machine, without waiting for the answers."""
    return {
        host: remote_host.post(question) for host, remote_host in processes.hosts.remote.items()
    }


def idle_probes(processes: TrialProcesses) -> Iterator[dict[str, Any]]:
    for host, number in post(processes, "idle_probe").items():
        for row in processes.hosts.remote[host].answer(number) or ():
            yield _of_host(host, row)


def edge_probes(
    processes: TrialProcesses, begin: QuestionNumbers, end: QuestionNumbers
) -> Iterator[dict[str, Any]]:
    """Yield the probes of each machine's kernel counters between two `edge` questions."""
    for host, remote_host in processes.hosts.remote.items():
        edges = [remote_host.answer(numbers[host]) for numbers in (begin, end)]
        if None not in edges:
            first, last = (EdgeReading(Ticks(*ticks), *rest) for ticks, *rest in edges)
            for row in machine.edge_probes(first, last):
                yield _of_host(host, row)


def sampled_probes(outcome: TrialOutcome, processes: TrialProcesses) -> Iterator[dict[str, Any]]:
    """Yield the probes of each machine by its own sampler: the other machines' canaries, and the
    shares of processor time of this trial and of other processes."""
    for host, document in outcome.sampling.sampled_at.items():
        if outcome.times.window is None:
            return
        is_remote = host in processes.hosts.remote
        name = host if is_remote else ""
        rows = list(sampler_rows.canary_probes(document)) if is_remote else []
        window = [row for row in _stripped(outcome.probes, name) if row["at"] == "window"]
        length_ns = outcome.times.window.end_ns - outcome.times.window.steady_ns
        if edges := sampler_rows.edges_of(document):
            cpu_ns = sampler_rows.sampled_cpu_by_role(*edges)
            if is_remote:  # its `busy` has the spinners (`awake_as_idle`), so `own` has them, too
                cpu_ns = Counter(trial=cpu_ns.total())
            elif outcome.sampling.own_cpu_ns is not None:
                begin_ns, end_ns = outcome.sampling.own_cpu_ns
                cpu_ns[sampler_rows.HARNESS] += end_ns - begin_ns
            rows += sampler_rows.valid_probes(
                document, machine.attributed_probes(window, cpu_ns, length_ns)
            )
        for row in rows:
            yield _of_host(host, row) if is_remote else row


def reasons_by_machine(
    probes: Iterable[Mapping[str, Any]], rule: Callable[[list[dict[str, Any]]], Iterable[Reason]]
) -> Iterator[Reason]:
    """Yield the reasons of a rule on the rows of each machine, with the machine in their text."""
    rows = list(probes)
    for host in dict.fromkeys(row["probe"].partition(AT)[2] for row in rows) or {"": None}:
        on_machine = f" (on the machine of host {host})" if host else ""
        for reason in rule(_stripped(rows, host)):
            yield replace(reason, text=reason.text + on_machine)


def note_network(outcome: TrialOutcome, processes: TrialProcesses) -> None:
    """Describe a real network in the file `network.json`: the machines, their interfaces, the
    services that keep their clocks."""
    real = outcome.order.cell.real
    if real is None or real.gang is None:
        return
    numbers = post(processes, "timekeeping")
    clocks = {host: processes.hosts.remote[host].answer(number) for host, number in numbers.items()}
    hosts = {
        host: {
            "machine": machine.name,
            "interface": real.gang.interfaces.get(host),
            "timekeeping": clocks.get(host),
        }
        for host, machine in real.gang.machines.items()
    }
    first = next(iter(hosts))
    hosts[first]["timekeeping"] = timekeeping()
    document = {"network": real.definition(), "domain_id": real.gang.domain_id, "hosts": hosts}
    outcome.files["network.json"] = json.dumps(document).encode()
    note(outcome, "network", REAL, text="; ".join(real.lines()))
    for text in real.gang.notes:
        note_flag(outcome, Reason(Code.PLACEMENT, text))


def _of_host(host: str, row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "probe": f"{row['probe']}{AT}{host}"}


def _stripped(probes: Iterable[Mapping[str, Any]], host: str) -> list[dict[str, Any]]:
    parts = [(row, *row["probe"].partition(AT)) for row in probes]
    return [{**row, "probe": name} for row, name, _, owner in parts if owner == host]
