"""When a finished trial is void: it ran, but not what was asked, or not on a machine that could run
it.

All rules in one list. None looks at a latency or a loss: a rule that sees results could be made to
say anything.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from rmwbench.campaign.plan.profile import PATH_OPTION
from rmwbench.campaign.trial import machines, trial_network, trial_sources
from rmwbench.campaign.trial.attest import ASKED, contradiction, reasons
from rmwbench.campaign.trial.outcome import SPOILT, TrialOutcome
from rmwbench.codes import Code, Reason
from rmwbench.lab import machine
from rmwbench.lab.process.records import KIND_NAMES

NOISE = frozenset((Code.STEAL, Code.CANARY, Code.THROTTLED))
"""What a machine that others use does to a trial; the other rules say that the trial did not get
what it asked for."""


def void_reasons(outcome: TrialOutcome, attested: list[dict[str, Any]]) -> list[Reason]:
    """Every reason; empty for a good trial."""
    rules: tuple[Callable[[], Iterable[Reason]], ...] = (
        lambda: _overflow(outcome),
        lambda: _granted(outcome),
        lambda: of_the_machine(outcome),
        lambda: (Reason(Code.WORKER_CLOCK, text) for text in strange_clocks(outcome)),
        lambda: trial_network.network_voids(outcome),
        lambda: trial_sources.source_voids(outcome),
        lambda: _path(outcome, attested),
    )
    return [reason for rule in rules for reason in rule()]


def of_the_machine(outcome: TrialOutcome) -> list[Reason]:
    """The rules of the machine that void the trial, as far as it came: what the user keeps
    (`excused_reasons`) is not among them, whether the trial is done or failed."""
    return [reason for reason in _broken(outcome) if not _is_kept(outcome, reason)]


def _broken(outcome: TrialOutcome) -> list[Reason]:
    late = [{"probe": "start_late", "at": "window", "value": max(0, outcome.times.started_late_ns)}]
    return [*machine.voids(late), *machines.reasons_by_machine(outcome.probes, machine.voids)]


def excused_reasons(outcome: TrialOutcome) -> list[Reason]:
    """Why a trial would be void that is kept by the user's choice."""
    excused = (reason for reason in _broken(outcome) if _is_kept(outcome, reason))
    return [replace(reason, text=f"{reason.text}; kept, as {SPOILT} asks") for reason in excused]


def _is_kept(outcome: TrialOutcome, reason: Reason) -> bool:
    return outcome.order.keeps_spoilt and reason.code in NOISE


def is_machines_fault(reasons: Sequence[Reason]) -> bool:
    """Whether the machine alone made the trial void, so that it may run again; what a middleware
    did stays as it is."""
    return bool(reasons) and all(reason.machine for reason in reasons)


def _overflow(outcome: TrialOutcome) -> Iterator[Reason]:
    for section in outcome.sections:
        if section.overflow:
            yield Reason(
                Code.RECORDS,
                f"records: endpoint {section.endpoint} had {section.claimed} "
                f"{KIND_NAMES[section.kind]} records and room for {section.capacity}",
            )


def strange_clocks(outcome: TrialOutcome) -> Iterator[str]:
    """A reason for each process whose clock is not its host's, since stamps of two clocks are
    subtracted only where both are known. The last command of a trial tells: the time that a worker
    notes while it answers `collect` lies between asking and having the answer, once it is told on
    our clock. One that is off by more than the answer takes (a millisecond or two) and by more than
    its clock is known to is of another clock."""
    if outcome.sampling.collecting_ns is None:
        return
    asked_ns, answered_ns = outcome.sampling.collecting_ns
    for process, reply in outcome.sampling.collected.items():
        for usage in reply.get("usage", []):
            if usage.get("at") != "now":
                continue
            clock = outcome.clock_of(process)
            time_ns, bound_ns = (
                int(clock.to_reference(usage["time_ns"])),
                int(clock.bound([answered_ns])[0]),
            )
            if asked_ns - bound_ns <= time_ns <= answered_ns + bound_ns:
                continue
            off_ns = time_ns - (answered_ns if time_ns > answered_ns else asked_ns)
            way = "ahead of" if off_ns > 0 else "behind"
            yield (
                f"clock: process {process} stamps with another clock, at least "
                f"{abs(off_ns) / 1e6:.3f} ms {way} its host's; stamps of two clocks are not "
                "subtracted"
            )


def _path(outcome: TrialOutcome, attested: list[dict[str, Any]]) -> Iterator[Reason]:
    if text := contradiction(_asked_path(outcome), attested, reasons(outcome)):
        yield Reason(Code.PATH, text)


def _asked_path(outcome: TrialOutcome) -> Any:
    """The path that is asked for, by the arm's option, else by its mode: a transport that a
    middleware left for another would be measured under a wrong name. Within a process
    (`intra_process`) there may be readers outside; of several sides each has modes of its own."""
    arm = outcome.order.cell.arm
    transport = None if arm.processes else arm.modes.get("transport")
    return arm.options.get(PATH_OPTION, transport if transport in ASKED else None)


def _granted(outcome: TrialOutcome) -> Iterator[Reason]:
    """Quality of service, modes and schedule as granted, against those asked; `default` asks for
    nothing."""
    for endpoint in outcome.order.cell.endpoints:
        if endpoint.endpoint in outcome.endpoints.not_joined:
            continue
        granted = outcome.endpoints.granted.get(endpoint.endpoint, {})
        settings = endpoint.wire(outcome.order.cell.arm, outcome.order.seed)
        pairs = [
            (name, value, granted.get("qos", {}).get(name))
            for name, value in settings["qos"].items()
        ]
        pairs = [
            pair
            for pair in pairs
            if not (pair[0] == "depth" and settings["qos"].get("history") == "keep_all")
        ]
        for name in ("publish_mode", "wait"):
            if settings.get(name, "default") != "default":
                pairs.append((name, settings[name], granted.get(name)))
        # Where an API lends, a message is lent whatever was asked; `typed` is never answered by
        # raw.
        if granted.get("take") not in {None, "lent", settings.get("take", "typed")}:
            pairs.append(("take", settings.get("take", "typed"), granted["take"]))
        if settings.get("hold_ns", 0) != granted.get("hold_ns", 0):
            pairs.append(("hold_ns", settings.get("hold_ns"), granted.get("hold_ns")))
        if "schedule" in granted:
            pairs.append(("schedule", outcome.order.cell.schedule, granted["schedule"]))
        for name, asked_level, granted_level in pairs:
            if granted_level != asked_level:
                yield Reason(
                    Code.GRANTED,
                    f"granted: endpoint {endpoint.endpoint} asked for {name} {asked_level}, was given "
                    f"{granted_level}",
                )
