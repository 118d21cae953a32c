"""The worker of one process of a cell: at the start of a trial, or in the place of one that was
killed."""

from collections.abc import Mapping

from rmwbench.campaign.plan.profile import Workers, address_environment
from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.campaign.trial.real_time_check import scheduling
from rmwbench.lab.camera.frame_source import FrameSources
from rmwbench.lab.host import Container
from rmwbench.lab.process.crew import Crew
from rmwbench.lab.process.worker import WorkerProcess
from rmwbench.suite.cells import Cell
from rmwbench.suite.process_conditions import CONTAINERS, OTHER_UID


class Spawner:
    """Starts workers of one trial. `files`: process → its records file."""

    def __init__(
        self,
        outcome: TrialOutcome,
        crew: Crew,
        workers: Workers,
        files: Mapping[str, int],
        sources: FrameSources,
    ):
        self._outcome, self._crew, self._workers, self._files = outcome, crew, workers, files
        self._sources = sources

    def spawn(self, process: str) -> WorkerProcess:
        """Does not wait for its hello. Raises UserError where the program is gone."""
        cell = self._outcome.order.cell
        worker = self._workers[cell.sides[process].middleware]
        host = next(one.host for one in cell.processes if one.name == process)
        return self._crew.spawn(
            process,
            worker.executable,
            self._files[process],
            environment={**worker.environment, **address_environment(cell, host)},
            count_allocations=cell.sampling.allocations,
            host=host,
            container=container(cell, process),
            scheduling=scheduling(cell, process),
            **self._sources.given(process),
        )


def container(cell: Cell, process: str) -> Container | None:
    """What a process has for itself, as the workload's `containers` say; None where it is in
    none."""
    level = CONTAINERS[cell.workload.containers]
    if level is None:
        return None
    is_first = process == cell.processes[0].name
    return Container(
        level.own_ipc, level.shm_bytes, OTHER_UID if level.other_user and not is_first else 0
    )
