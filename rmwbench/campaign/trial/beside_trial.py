"""The programs beside a trial's workers: samplers, loads, sources of frames and recorders; the start
and the end of the loads and the sources.

A source of frames is judged by its own rate. One that does not keep it voids the trial: no
middleware can carry the missing frames, and the publisher then sends old ones. The machine may not
be the only cause (an arm may have taken the processors), so such a trial is not repeated. Messages
that arrived are not considered here.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rmwbench.campaign.trial.outcome import TrialOutcome, note, step
from rmwbench.codes import Code, Reason
from rmwbench.lab import machine
from rmwbench.lab.camera import frame_source
from rmwbench.lab.camera.frame_source import FrameSources
from rmwbench.lab.network import Emulation
from rmwbench.lab.sampling.loads import Background, CrossTrafficLoad
from rmwbench.lab.sampling.sampler import Samplers
from rmwbench.words.numbers import concise, counted, percent


@dataclass(frozen=True, kw_only=True)
class BesidePrograms:
    """The programs beside a trial. `background` and `traffic` may have nothing to do; `network` is
    None if the cell has none; `features` are those of rmwbench/beside that the cell has."""

    sampler: Samplers
    background: Background
    traffic: CrossTrafficLoad
    frames: FrameSources
    network: Emulation | None
    features: tuple[Any, ...]

    def disturb(self, outcome: TrialOutcome) -> None:
        """Start the loads of the cell's conditions. Raises NetworkBroken and WorkerFailed."""
        if self.background.kind_of_role:
            with step(outcome, "background"):
                self.background.start()
            for host in outcome.order.cell.hosts:
                self.sampler.watch(self.background.pids(host), host)
        if self.traffic:
            with step(outcome, "cross_traffic"):
                self.traffic.start()

    def end_disturbance(self, outcome: TrialOutcome) -> None:
        """End the loads and take their accounts. Raises as `disturb`."""
        if self.background.kind_of_role:
            with step(outcome, "background_end"):
                self.background.stop()
            outcome.network.background = self.background.own_flows
            outcome.probes = (
                machine.awake_as_idle(outcome.probes, self.background.awake)
                + self.background.probes()
            )
            for name, problem in self.background.problems.items():
                note(outcome, name, "problem", text=problem)
        if self.traffic:
            with step(outcome, "cross_traffic_end"):
                self.traffic.stop()
            outcome.network.cross_traffic = list(self.traffic.rows())
            outcome.network.cross_traffic_cpu_ns = self.traffic.cpu_ns
            outcome.files["cross_traffic.json"] = json.dumps(self.traffic.document()).encode()


LEAST_MADE, MOST_LATE, MOST_REPEATED = 0.98, 0.01, 0.01
"""The least share of frames that were made, below which a trial is void, and the shares of late and
of repeated frames above which it has a flag."""


def start_sources(outcome: TrialOutcome, sources: FrameSources, sampler: Samplers) -> None:
    """Start the frame sources, once the sampler runs. Raises SourceBroken."""
    if not sources:
        return
    with step(outcome, "sources"):
        try:
            sources.start()
            sources.wait()
        finally:
            outcome.files |= sources.logs()
    for process, pid, role, host in sources.pids:
        sampler.watch([(process, pid, role)], host)


def take_sources(outcome: TrialOutcome, sources: FrameSources) -> None:
    """Take the accounts of the frame sources over the window."""
    if not sources or outcome.times.window is None:
        return
    window = outcome.times.window
    outcome.beside.sources = sources.accounts(lambda host: window.on(outcome.clock_at(host)).steady)
    outcome.probes += frame_source.probes(outcome.beside.sources)
    for source in outcome.beside.sources:
        text = (
            f"{source.made} of {source.due} frames, {source.late} of them more than a period late"
        )
        text += f", the latest {concise(source.latest_ns / 1e6)} ms" if source.made else ""
        text += (
            f"; LZ4 makes them {concise(source.lz4_ratio)} times smaller"
            if source.lz4_ratio
            else ""
        )
        note(
            outcome,
            f"frames {source.endpoint}",
            "source",
            window.end_ns,
            endpoint=source.endpoint,
            text=text,
        )


def source_voids(outcome: TrialOutcome) -> Iterator[Reason]:
    for source in outcome.beside.sources:
        if source.ended is not None:
            yield _source_reason(
                f"the source of the frames of endpoint {source.endpoint} ended within the trial"
            )
        elif source.made_share < LEAST_MADE:
            yield _source_reason(
                f"the source made {source.made} of the {source.due} frames of endpoint {source.endpoint} "
                f"that were due in the window (limit {100 * LEAST_MADE:.0f} %): this machine has no "
                "more processor time for it"
            )


def source_flags(outcome: TrialOutcome) -> Iterator[Reason]:
    for source in outcome.beside.sources:
        late = (source.late + source.due - source.made) / source.due if source.due else 0.0
        if late > MOST_LATE:
            yield _source_reason(
                f"{percent(late)} of the frames of endpoint {source.endpoint} were more than a "
                "period late"
            )
        counters = _source_counters(outcome, source.endpoint)
        repeated = counters.get("frames_repeated", 0)
        messages = counters.get("frames_fresh", 0) + repeated
        if messages and repeated / messages > MOST_REPEATED:
            yield _source_reason(
                f"{percent(repeated / messages)} of the messages of endpoint {source.endpoint} "
                "repeated the frame before"
            )
        if torn := counters.get("frames_torn"):
            yield _source_reason(
                f"the source overwrote {counted(torn, 'frame')} of endpoint {source.endpoint} while "
                "the publisher copied"
            )


def _source_reason(text: str) -> Reason:
    return Reason(Code.SOURCE, f"source: {text}")


def _source_counters(outcome: TrialOutcome, endpoint: int) -> dict[str, int]:
    for reply in outcome.sampling.collected.values():
        if account := reply.get("endpoints", {}).get(str(endpoint)):
            counters: dict[str, int] = account.get("counters", {})
            return counters
    return {}
