"""The network between the hosts of a trial, in the trial's life: it is set up and probed before
anything else and ended after everything else. A deviation from the suite's network is a flag, or
voids the trial. A trial on one host has no network.
"""

import contextlib
from collections.abc import Iterator
from functools import partial

from rmwbench.analysis.records import frames
from rmwbench.campaign.trial import timeouts
from rmwbench.campaign.trial.outcome import TrialOutcome, note, step
from rmwbench.codes import Code, Reason
from rmwbench.lab.host import HostBroken, Hosts
from rmwbench.lab.network import Emulation, NetworkBroken
from rmwbench.lab.network.switch import log_records
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import WorkerFailed
from rmwbench.suite.network.network import Links
from rmwbench.words.numbers import counted


@contextlib.contextmanager
def network_between(
    outcome: TrialOutcome, processes: TrialProcesses, hosts: Hosts
) -> Iterator[Emulation | None]:
    """Yield the network of a trial with several hosts, else None."""
    links = outcome.order.cell.links
    if links is None:
        yield None
        return
    with contextlib.closing(
        Emulation(processes, hosts, links, _log_room(outcome, links))
    ) as network:
        yield network


def network_up(outcome: TrialOutcome, processes: TrialProcesses, network: Emulation | None) -> None:
    """Set the network up and probe it. Raises NetworkBroken if it differs from the suite's,
    WorkerFailed or HostBroken if the lab breaks, UserError if the link is not built."""
    if network is None:
        return
    with step(outcome, "network"):
        network.spawn()
        processes.wait_hello(timeouts.HELLO_TIMEOUT_S)
        network.up(outcome.order.seed)
    with step(outcome, "network_probe"):
        network.probe()
    for finding in network.findings:
        if finding.void:
            raise NetworkBroken(finding.text, machine=finding.machine)


def network_end(outcome: TrialOutcome, network: Emulation | None) -> None:
    """Take the network's log and counters. A trial that failed needs them, too: they show where
    messages were lost. Raises nothing. A failure here voids the trial only if the workers' accounts
    were collected; otherwise the trial has failed already."""
    if network is None or not network.is_up:
        return
    window = outcome.times.window
    begin_ns, end_ns = (window.steady_ns, window.end_ns) if window else (0, 1 << 62)
    with step(outcome, "network_end"):
        try:
            network.end(begin_ns, end_ns, partial(note_change, outcome))
        except (NetworkBroken, HostBroken, WorkerFailed) as broken:
            if outcome.sampling.collected:
                outcome.network.broken = broken_reason(broken)
    outcome.probes += network.rows
    outcome.network.findings += network.findings
    outcome.network.frames = network.frames
    outcome.network.counters = network.counters
    if network.unlogged and network.document is not None:
        outcome.network.unlogged = network.unlogged
        periods = network.document["periods"]
        outcome.network.counters += frames.counter_rows(periods, network.unlogged)
    outcome.files |= network.files


def note_change(outcome: TrialOutcome, host: str, change: str, done_ns: int) -> None:
    """Note a change of a host's network as an event `network`."""
    note(outcome, host, "network", done_ns, text=change)


def network_voids(outcome: TrialOutcome) -> Iterator[Reason]:
    """Yield the findings on the network that void a trial."""
    for finding in outcome.network.findings:
        if finding.void:
            yield _network_reason(finding.text, finding.machine)


def network_flags(outcome: TrialOutcome) -> Iterator[Reason]:
    for finding in outcome.network.findings:
        if not finding.void:
            yield Reason(Code.NETWORK, f"network: {finding.text}", machine=finding.machine)
    if unlogged := outcome.network.unlogged:
        text = f"the log had no room for {counted(unlogged, 'frame')}, which only counts include"
        yield Reason(Code.FRAMES_UNLOGGED, f"frames_unlogged: {text}")


def broken_reason(broken: NetworkBroken | HostBroken | WorkerFailed) -> Reason:
    """Return the reason that voids a trial whose network, or its worker or host, broke."""
    if isinstance(broken, WorkerFailed):
        return _network_reason(broken.reason(), machine=False)
    return _network_reason(str(broken), isinstance(broken, NetworkBroken) and broken.machine)


def _network_reason(text: str, machine: bool) -> Reason:
    return Reason(Code.NETWORK, ("machine: " if machine else "") + f"network: {text}", machine)


def _log_room(outcome: TrialOutcome, links: Links) -> int:
    cell = outcome.order.cell
    counts = [
        (
            e.capacity,
            e.type.payload_bytes + (e.reply_type.payload_bytes if e.reply_type else 0),
            len(e.peers),
        )
        for e in cell.endpoints
        if e.writes
    ]
    return log_records(links, counts, cell.timeline.duration_s)
