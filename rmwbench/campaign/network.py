"""The network between the hosts of a trial, in the trial's life: up and tried before anything else, ended after
everything else, and what it was not told as flag or void.

A trial on one host has none, and passes here without a word.
"""

import contextlib
from collections.abc import Callable, Iterator

from rmwbench.campaign import limits
from rmwbench.campaign.noting import note, step
from rmwbench.campaign.outcome import Outcome
from rmwbench.lab.crew import Crew
from rmwbench.lab.host import HostBroken, Hosts
from rmwbench.lab.machine.rules import MACHINE
from rmwbench.lab.network import Emulation, Finding, NetworkBroken
from rmwbench.lab.network.switch import log_records
from rmwbench.lab.worker import WorkerFailed

NETWORK = "network: "


@contextlib.contextmanager
def between(outcome: Outcome, crew: Crew, hosts: Hosts) -> Iterator[Emulation | None]:
    """The network of a trial with several hosts, else None."""
    links = outcome.order.cell.links
    if links is None:
        yield None
        return
    with contextlib.closing(Emulation(crew, hosts, links, _room(outcome))) as network:
        yield network


def up(outcome: Outcome, crew: Crew, network: Emulation | None) -> None:
    """Raises NetworkBroken where it is not what was asked for, WorkerFailed or HostBroken where the lab breaks,
    UserError where the link is not built."""
    if network is None:
        return
    with step(outcome, "network"):
        network.spawn()
        crew.wait_hello(limits.HELLO_TIMEOUT_S)
        network.up(outcome.order.seed)
    with step(outcome, "network_probe"):
        network.probe()
    for finding in network.findings:
        if finding.void:
            raise NetworkBroken((MACHINE if finding.machine else "") + NETWORK + finding.text)


def end(outcome: Outcome, network: Emulation | None) -> None:
    """Takes what it wrote down, also of a trial that failed: where messages stayed is then the question. Raises
    nothing: what breaks now is told where nothing broke before."""
    if network is None or not network.is_up:
        return
    window = outcome.window
    begin_ns, end_ns = (window.steady_ns, window.end_ns) if window else (0, 1 << 62)
    with step(outcome, "network_end"):
        try:
            network.end(begin_ns, end_ns, noted(outcome))
        except (NetworkBroken, HostBroken, WorkerFailed) as broken:
            if outcome.collected:
                outcome.network_broken = str(broken)
    outcome.probes += network.rows
    outcome.findings += network.findings
    outcome.frames = network.frames
    outcome.files |= network.files


def noted(outcome: Outcome) -> Callable[[str, str, int], None]:
    """Notes a change of a host's network as an event `network`."""
    return lambda host, what, done_ns: note(outcome, host, "network", done_ns, text=what)


def void_reasons(outcome: Outcome) -> Iterator[str]:
    """Of the findings that no result can bear."""
    for finding in outcome.findings:
        if finding.void:
            yield _told(finding)


def flags(outcome: Outcome) -> Iterator[str]:
    for finding in outcome.findings:
        if not finding.void:
            yield NETWORK + finding.text


def void_words(broken: str) -> tuple[str, str | None]:
    """Reason and cause of a trial that had no network."""
    reason = broken if broken.startswith((MACHINE, NETWORK)) else NETWORK + broken
    return reason, "machine" if reason.startswith(MACHINE) else None


def _told(finding: Finding) -> str:
    return (MACHINE if finding.machine else "") + NETWORK + finding.text


def _room(outcome: Outcome) -> int:
    cell = outcome.order.cell
    counts = [
        (e.capacity, e.type.payload_bytes + (e.reply_type.payload_bytes if e.reply_type else 0), len(e.peers))
        for e in cell.endpoints
        if e.writes
    ]
    return log_records(cell.links, counts, cell.timeline.duration_s)
