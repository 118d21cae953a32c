"""The conditions under which a recorder can run here, and the room that its bags need."""

from collections.abc import Iterator, Sequence

from rmwbench.beside.recorder import process
from rmwbench.beside.recorder.cell import bag_bytes, recorder_of
from rmwbench.campaign.plan.plan import Plan, Trial
from rmwbench.campaign.plan.profile import Workers
from rmwbench.errors import UserError
from rmwbench.lab.host import HostKind
from rmwbench.lab.host.host import tmpfs_bytes
from rmwbench.suite.cells import Cell
from rmwbench.words.numbers import quantity


def missing(cell: Cell, _workers: Workers, kind: HostKind) -> str | None:
    """Return why the cell's recorder cannot run here, None if it can or there is none."""
    if recorder_of(cell) is not None and kind.shared:
        return (
            "a recorder runs in namespaces alone, which cannot be made here: it would join "
            "other robots' domains"
        )
    return process.why_not(cell)


def disk_bytes(plan: Plan, trials: Sequence[Trial] | None = None) -> int:
    """Return the largest size of the bags of these trials, or of all, in the campaign's directory
    at a time: all bags to keep, and the largest one that is deleted after it has been read."""
    lasting_bytes, temporary_bytes = 0, 0
    for trial in plan.trials if trials is None else trials:
        recorder = recorder_of(cell := plan.cell(trial.cell))
        if recorder is None or recorder.place != "disk":
            continue
        if recorder.keep:
            lasting_bytes += bag_bytes(cell)
        else:
            temporary_bytes = max(temporary_bytes, bag_bytes(cell))
    return lasting_bytes + temporary_bytes


def check_memory(plan: Plan) -> None:
    """Raises UserError if a bag in memory does not fit into its host's /tmp."""
    in_memory = _in_memory(plan)
    if not in_memory:
        return
    largest, (_, tmp_bytes) = max(in_memory, key=bag_bytes), tmpfs_bytes()
    if bag_bytes(largest) > tmp_bytes:
        raise UserError(
            "the bag of one trial does not fit into memory",
            where=f"workload {largest.workload.name}",
            expected=f"{_size(bag_bytes(largest))} of /tmp in the trial's host",
            actual=f"{_size(tmp_bytes)}, a quarter of the available memory",
            fix="write it to a disk (`recorder: {place: disk}`), or shorten the steady state",
        )


def lines(plan: Plan) -> Iterator[str]:
    """Yield a sentence with the largest sizes of the bags, in all and in a trial, in memory and on
    the disk."""
    cells = [cell for cell in plan.cells if recorder_of(cell) is not None]
    if not cells:
        return
    written_bytes = sum(bag_bytes(plan.cell(trial.cell)) for trial in plan.trials)
    in_memory = max(map(bag_bytes, _in_memory(plan)), default=0)
    yield (
        f"Bags: recorders write up to {_size(written_bytes)} in all, "
        f"{_size(max(map(bag_bytes, cells)))} in a trial; at a time at most {_size(in_memory)} in "
        f"memory and {_size(disk_bytes(plan))} in the campaign's directory."
    )


def _size(size_bytes: int) -> str:
    return quantity(size_bytes, "bytes")


def _in_memory(plan: Plan) -> list[Cell]:
    recorders = ((cell, recorder_of(cell)) for cell in plan.supported)
    return [
        cell for cell, recorder in recorders if recorder is not None and recorder.place == "tmpfs"
    ]
