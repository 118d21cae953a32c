"""The programs beside a trial's workers: samplers, loads, sources of frames and recorders; and the
start and the end of the loads."""

import json
from dataclasses import dataclass
from typing import Any

from rmwbench.campaign.trial.outcome import TrialOutcome, note, step
from rmwbench.lab import machine
from rmwbench.lab.camera.frame_source import FrameSources
from rmwbench.lab.network import Emulation
from rmwbench.lab.sampling.background import Background
from rmwbench.lab.sampling.cross_traffic_load import CrossTrafficLoad
from rmwbench.lab.sampling.sampler import Samplers


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
