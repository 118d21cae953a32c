"""The recorder in the life of a trial: started when every reader has heard every writer, ended when the trial's messages
have been collected, and its bag read before the host with it is gone.

A recorder that does not come up fails the trial; what it loses fails nothing, since that is the question. It subscribes
after the probes, so that none of them is in its cache when the first message comes.
"""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rmwbench.campaign.plan.profile import Workers, address_environment, domain_id
from rmwbench.campaign.trial.noting import note, step
from rmwbench.campaign.trial.outcome import Outcome
from rmwbench.errors import UserError
from rmwbench.lab.middleware import Worker
from rmwbench.lab.process.crew import Crew
from rmwbench.lab.recording import bag
from rmwbench.lab.recording.account import NAME, ROLE, Recording
from rmwbench.lab.recording.recorder import RecorderBroken, RecorderProcess, variables
from rmwbench.lab.sampling.sampler import Samplers

SETTLE_S = 0.5
"""From the last subscription to the first message: the RMWs' discovery has to match each with its writer."""
STOP_S, STOP_S_PER_GIB = 20.0, 60.0
"""How long rosbag2 may take to write what its cache holds and close the bag; on a slow disk a GiB takes a minute."""


@contextlib.contextmanager
def recorder(outcome: Outcome, crew: Crew) -> Iterator[RecorderProcess | None]:
    """The trial's recorder, not started yet; None where its cell has none. What it printed and a bag in the campaign's
    directory are seen to at the end, whatever happened."""
    cell = outcome.order.cell
    if cell.workload.recorder is None:
        yield None
        return
    directory = _directory(outcome) if cell.workload.recorder.place == "disk" else None
    process = RecorderProcess(crew, cell, directory)
    try:
        yield process
    finally:
        outcome.files |= process.logs()
        process.close()
        if directory is not None and not cell.workload.recorder.keep:
            shutil.rmtree(directory, ignore_errors=True)


def _directory(outcome: Outcome) -> Path:
    """Where the trial's bag is put on a disk: in the campaign's directory, or the user's for temporary files where a
    trial is run without a campaign."""
    trial = f"bag-{outcome.order.trial:06}"
    if outcome.order.directory is None:
        return Path(tempfile.mkdtemp(prefix=f"rmwbench-{trial}-", dir="/var/tmp"))
    found = outcome.order.directory / trial
    shutil.rmtree(found, ignore_errors=True)  # of a trial that a signal took away
    found.mkdir()
    return found


def start(
    outcome: Outcome, crew: Crew, workers: Workers, process: RecorderProcess | None, sampler: Samplers
) -> None:
    """Raises RecorderBroken."""
    if process is None:
        return
    with step(outcome, "recorder"):
        process.start(environment(outcome, crew, workers))
        process.wait()
        deadline = time.monotonic() + SETTLE_S
        while (rest := deadline - time.monotonic()) > 0:
            crew.turn(rest)
    sampler.watch([(NAME, process.inner_pid, ROLE)], process.host_name)


def environment(outcome: Outcome, crew: Crew, workers: Workers) -> dict[str, str]:
    """That of the first process on the recorder's host, which its worker has told when it opened, with what finds the
    message types that came with that worker."""
    cell = outcome.order.cell
    beside = next((one for one in cell.processes if one.host == cell.recorder_host), None)
    if beside is None:
        raise RecorderBroken(f"recorder: no process of the workload is on its host {cell.recorder_host}")
    worker = workers[cell.sides[beside.name].middleware]
    told = next(
        (text for name, text in outcome.files.items() if name.startswith(f"{beside.name}.configuration.")), b""
    )
    found = {**worker.environment, **address_environment(cell, beside.host), **variables(told.decode(errors="replace"))}
    found |= {"ROS_DOMAIN_ID": str(domain_id(cell, crew.hosts)), "ROS_LOG_DIR": f"{crew.hosts.first.directory}/rosbag2-log"}
    return found | _with_messages(found, worker)


def _with_messages(found: dict[str, str], worker: Worker) -> dict[str, str]:
    """The variables by which the packages that are installed beside the worker are found."""
    prefix = worker.executable.parents[2]
    if not (prefix / "share" / "ament_index").is_dir():
        return {}
    added = {"AMENT_PREFIX_PATH": prefix, "LD_LIBRARY_PATH": prefix / "lib"}
    return {name: os.pathsep.join(filter(None, (str(path), found.get(name)))) for name, path in added.items()}


def take(outcome: Outcome, process: RecorderProcess | None) -> None:
    """Ends it and reads its bag. What cannot be read is a problem of the trial's record."""
    if process is None:
        return
    cell = outcome.order.cell
    with step(outcome, "recorder_stop"):
        process.stop(STOP_S + STOP_S_PER_GIB * cell.recorded_bytes / 2**30)
    if process.program is None:
        return
    with step(outcome, "bag"):
        try:
            directory = process.bag()
            kept = bag.read(directory, outcome.order.nonce)
            metadata = bag.metadata(directory, cached=bool(cell.workload.recorder and cell.workload.recorder.cache_mib))
        except (OSError, UserError) as error:
            note(outcome, NAME, "problem", text=f"bag: it cannot be read: {error}")
            return
    status = process.program.wait_status
    code = None if status is None or process.killed else os.waitstatus_to_exitcode(status)
    version = ".".join(map(str, process.rosbag2.version)) if process.rosbag2 else ""
    outcome.recording = Recording(
        version=version,
        kept=kept,
        metadata=metadata,
        said=process.said,
        stopped_s=process.stopped_s,
        exit_code=code,
    )
    note(outcome, NAME, "recorder", value=kept.file_bytes, text=f"rosbag2 {version}")
    for problem in outcome.recording.problems():
        note(outcome, NAME, "problem", text=problem)
