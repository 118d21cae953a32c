"""The recorder in a trial: it starts when every reader has heard every writer, ends when the
trial's messages have been collected, and its bag is read before the host is gone.

A recorder that does not come up fails the trial; lost messages fail nothing, since they are the
question. The recorder subscribes after the probes, so that no probe is in its cache when the first
message comes.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rmwbench.beside.recorder.cell import (
    bag_bytes,
    host_of,
    recorded_bytes,
    recorded_publishers,
    recorder_of,
)
from rmwbench.beside.recorder.keys import NAME
from rmwbench.beside.recorder.process import (
    IN_DIRECTORY,
    PARTIAL,
    RecorderBroken,
    RecorderProcess,
    variables,
)
from rmwbench.beside.recorder.recording import Recording, read_bag, read_metadata
from rmwbench.campaign.plan.profile import Workers, address_environment, domain_id
from rmwbench.campaign.trial.outcome import Order, TrialOutcome, note, step
from rmwbench.lab.middleware import Worker
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.sampling.sampler import Samplers
from rmwbench.words.numbers import quantity

SETTLE_S = 0.5
"""The time from the last subscription to the first message: the RMWs' discovery has to match each
subscription with its writer."""
STOP_S, STOP_S_PER_GIB = 20.0, 60.0
"""The time that rosbag2 may take to write its cache and close the bag; on a slow disk a GiB takes a
minute."""

UNFINISHED = f"bag-*{PARTIAL}"


@dataclass(frozen=True)
class Running:
    """The recorder of one trial, from the match of its workers to their end."""

    process: RecorderProcess

    def start(
        self, outcome: TrialOutcome, processes: TrialProcesses, workers: Workers, sampler: Samplers
    ) -> None:
        """Start the recorder and wait for its discovery. Raises RecorderBroken."""
        process = self.process
        with step(outcome, "recorder"):
            process.start(_environment(outcome, processes, workers))
            process.wait()
            deadline = time.monotonic() + SETTLE_S
            while (rest := deadline - time.monotonic()) > 0:
                processes.turn(rest)
        sampler.watch([(NAME, process.inner_pid, NAME)], process.host)

    def take(self, outcome: TrialOutcome) -> None:
        """Stop the recorder and read its bag. A bag that cannot be read is a problem in the trial's
        events."""
        process, cell = self.process, outcome.order.cell
        if process.program is None:
            return
        recorder = recorder_of(cell)
        with step(outcome, "recorder_stop"):
            process.stop(STOP_S + STOP_S_PER_GIB * recorded_bytes(cell) / 2**30)
        with step(outcome, "bag"):
            try:
                directory = process.bag()
                contents = read_bag(directory, outcome.order.nonce)
                metadata = read_metadata(
                    directory, cached=recorder is not None and recorder.cache_mib > 0
                )
            except OSError as error:
                note(outcome, NAME, "problem", text=f"bag: it cannot be read: {error}")
                return
        status = process.program.wait_status
        recording = Recording(
            publishers=recorded_publishers(cell),
            contents=contents,
            metadata=metadata,
            log=process.log,
            stopped_s=process.stopped_s,
            exit_code=None
            if status is None or process.killed
            else os.waitstatus_to_exitcode(status),
        )
        outcome.beside.feature_records.append(recording)
        note(
            outcome, NAME, "recorder", value=contents.file_bytes, text=f"rosbag2 {process.version}"
        )
        for problem in recording.problems():
            note(outcome, NAME, "problem", text=problem)


@contextlib.contextmanager
def running(outcome: TrialOutcome, processes: TrialProcesses) -> Iterator[Running | None]:
    """Yield the trial's recorder, not started yet, or None if its cell has none. Its logs are
    stored in every case. Raises RecorderBroken if there is no room for its bag."""
    cell = outcome.order.cell
    recorder = recorder_of(cell)
    if recorder is None:
        yield None
        return
    directory = _make_directory(outcome.order) if recorder.place == "disk" else None
    process = RecorderProcess(processes, cell, directory)
    try:
        yield Running(process)
    finally:
        outcome.files |= process.logs()
        process.close()


def _make_directory(order: Order) -> Path:
    """Make the directory for the trial's bag on a disk. Raises RecorderBroken."""
    if order.directory is None:
        raise RecorderBroken(
            "recorder: a bag on a disk is put into a campaign's directory, and this trial has none"
        )
    path = bag_directory(order.directory, order.trial).with_suffix(PARTIAL)
    try:
        shutil.rmtree(path, ignore_errors=True)  # the bag of a trial that a signal ended
        path.mkdir()
        free = shutil.disk_usage(path).free
    except OSError as error:
        raise RecorderBroken(f"recorder: no directory for its bag: {error}") from None
    if free < (largest := bag_bytes(order.cell)):
        path.rmdir()
        raise RecorderBroken(
            f"recorder: {path.parent} has {quantity(free, 'bytes')} free, and its bag may take "
            f"{quantity(largest, 'bytes')}"
        )
    return path


def bag_directory(campaign: Path, trial: int) -> Path:
    """Return the directory of a bag that is kept."""
    return campaign / f"bag-{trial:06}"


def tidy(order: Order) -> None:
    """Remove a bag on a disk, or give it the name under which it is kept. The host is gone, so that
    nobody writes it any more."""
    recorder = recorder_of(order.cell)
    if recorder is None or recorder.place != "disk" or order.directory is None:
        return
    final = bag_directory(order.directory, order.trial)
    partial = final.with_suffix(PARTIAL)
    if recorder.keep and (partial / IN_DIRECTORY).is_dir():
        shutil.rmtree(final, ignore_errors=True)
        (partial / IN_DIRECTORY).rename(final)
    shutil.rmtree(partial, ignore_errors=True)


def _environment(
    outcome: TrialOutcome, processes: TrialProcesses, workers: Workers
) -> dict[str, str]:
    """Return the variables that the worker of the first process on the recorder's host reported,
    with those by which the message types of this worker are found."""
    cell = outcome.order.cell
    neighbour = next((process for process in cell.processes if process.host == host_of(cell)), None)
    if neighbour is None:
        raise RecorderBroken(f"recorder: no process of the workload is on its host {host_of(cell)}")
    worker = workers[cell.sides[neighbour.name].middleware]
    prefix = f"{neighbour.name}.configuration."
    configuration = next(
        (text for name, text in outcome.files.items() if name.startswith(prefix)), b""
    )
    environment = {
        **worker.environment,
        **address_environment(cell, neighbour.host),
        **variables(configuration.decode(errors="replace")),
    }
    environment["ROS_DOMAIN_ID"] = str(domain_id(cell, processes.hosts))
    environment["ROS_LOG_DIR"] = f"{processes.hosts[host_of(cell)].directory}/rosbag2-log"
    return environment | _with_messages(environment, worker)


def _with_messages(environment: dict[str, str], worker: Worker) -> dict[str, str]:
    """Return the variables by which the packages beside the worker are found."""
    prefix = worker.executable.parent.parent.parent
    if not (prefix / "share" / "ament_index").is_dir():
        return {}
    directories = {"AMENT_PREFIX_PATH": prefix, "LD_LIBRARY_PATH": prefix / "lib"}
    return {
        name: os.pathsep.join(filter(None, (str(path), environment.get(name))))
        for name, path in directories.items()
    }
