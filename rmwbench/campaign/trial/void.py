"""The rules that void a finished trial: it did not run as the suite asks, or the machine could not
run it.

All rules are in one list. None depends on a latency or a loss: a rule that depends on results could
select them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rmwbench.campaign.plan.profile import PATH_OPTION
from rmwbench.campaign.trial import beside_trial, machines, trial_network
from rmwbench.campaign.trial.attest.path import ASKED, contradiction, path_reasons
from rmwbench.campaign.trial.outcome import SPOILT, TrialOutcome
from rmwbench.codes import Code, Reason
from rmwbench.lab import machine
from rmwbench.lab.process.records import KIND_NAMES

NOISE = frozenset((Code.STEAL, Code.CANARY, Code.THROTTLED))
"""The disturbances by other users of the machine. The other codes mean that the trial did not have
what it asked for."""


def void_reasons(outcome: TrialOutcome, attested: list[dict[str, Any]]) -> list[Reason]:
    """Return all reasons; empty for a good trial."""
    return [
        *_overflow(outcome),
        *_granted(outcome),
        *machine_reasons(outcome),
        *(Reason(Code.WORKER_CLOCK, text) for text in wrong_clocks(outcome)),
        *trial_network.network_voids(outcome),
        *beside_trial.source_voids(outcome),
        *_path(outcome, attested),
    ]


def machine_reasons(outcome: TrialOutcome) -> list[Reason]:
    """Return the reasons by which the machine voids the trial, done or failed, without those that
    the user excuses (`excused_reasons`)."""
    return [reason for reason in _all_machine_reasons(outcome) if not _is_kept(outcome, reason)]


def _all_machine_reasons(outcome: TrialOutcome) -> list[Reason]:
    late = [{"probe": "start_late", "at": "window", "value": max(0, outcome.times.started_late_ns)}]
    return [*machine.voids(late), *machines.reasons_by_machine(outcome.probes, machine.voids)]


def excused_reasons(outcome: TrialOutcome) -> list[Reason]:
    """Return the reasons by which a trial would be void if the user did not keep it."""
    excused = (reason for reason in _all_machine_reasons(outcome) if _is_kept(outcome, reason))
    return [replace(reason, text=f"{reason.text}; kept, as {SPOILT} asks") for reason in excused]


def _is_kept(outcome: TrialOutcome, reason: Reason) -> bool:
    return outcome.order.keeps_spoilt and reason.code in NOISE


def is_machines_fault(reasons: Sequence[Reason]) -> bool:
    """Whether the machine alone made the trial void, so that it may run again."""
    return bool(reasons) and all(reason.machine for reason in reasons)


def _overflow(outcome: TrialOutcome) -> Iterator[Reason]:
    for section in outcome.sections:
        if section.overflow:
            yield Reason(
                Code.RECORDS,
                f"records: endpoint {section.endpoint} had {section.claimed} "
                f"{KIND_NAMES[section.kind]} records and room for {section.capacity}",
            )


def wrong_clocks(outcome: TrialOutcome) -> Iterator[str]:
    """Yield a reason for each process whose clock is not its host's, since stamps of two clocks are
    subtracted only if both are known. A worker notes a time while it answers `collect`, the last
    command of a trial. On our clock, this time must lie between the request and the answer (a
    millisecond or two), within the bound of the worker's clock."""
    if outcome.sampling.collecting_ns is None:
        return
    asked_ns, answered_ns = outcome.sampling.collecting_ns
    for process, reply in outcome.sampling.collected.items():
        for usage in reply.get("usage", []):
            if usage.get("at") != "now":
                continue
            clock = outcome.clock_of(process)
            time_ns = int(clock.to_reference(usage["time_ns"]))
            bound_ns = int(clock.bound([answered_ns])[0])
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
    if text := contradiction(_asked_path(outcome), attested, path_reasons(outcome)):
        yield Reason(Code.PATH, text)


def _asked_path(outcome: TrialOutcome) -> Any:
    """Return the path that the arm asks for by its option, else by its mode: another transport
    would be measured under a wrong name. The mode `intra_process` names no path, since readers may
    be in other processes; nor do the modes of an arm with several sides."""
    arm = outcome.order.cell.arm
    transport = None if arm.processes else arm.modes.get("transport")
    return arm.options.get(PATH_OPTION, transport if transport in ASKED else None)


def _granted(outcome: TrialOutcome) -> Iterator[Reason]:
    """Yield the deviations of the granted quality of service, modes and schedule from those asked;
    `default` asks for nothing."""
    for endpoint in outcome.order.cell.endpoints:
        if endpoint.endpoint in outcome.endpoints.not_joined:
            continue
        granted = outcome.endpoints.granted.get(endpoint.endpoint, {})
        settings = endpoint.wire(outcome.order.cell.arm, outcome.order.seed)
        keep_all = settings["qos"].get("history") == "keep_all"
        pairs = [
            (name, value, granted.get("qos", {}).get(name))
            for name, value in settings["qos"].items()
            if not (name == "depth" and keep_all)
        ]
        for name in ("publish_mode", "wait"):
            if settings.get(name, "default") != "default":
                pairs.append((name, settings[name], granted.get(name)))
        # An API that lends may lend for any `take`, but never answers `typed` by `raw`.
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
