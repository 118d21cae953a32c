"""What a machine of the cluster does for a campaign; it lives in the door's process on that machine.

Ray starts its processes 15 steps of niceness down and first in line for the kernel's out-of-memory killer, which every
worker of a trial would inherit. Both are put back to those of the machine's raylet, or the machine is not used: a
trial must not depend on whether Ray or a shell has started it.
"""

import contextlib
import gc
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rmwbench.campaign import preflight
from rmwbench.campaign.outcome import Order
from rmwbench.campaign.place import Places
from rmwbench.campaign.plan import Plan
from rmwbench.campaign.rehearse import rehearse
from rmwbench.campaign.trial import TrialResult, run_trial
from rmwbench.cluster.shipping import Program, Store, cache, unlike
from rmwbench.errors import UserError
from rmwbench.lab import machine
from rmwbench.lab.host import Host, Hosts
from rmwbench.lab.middleware import Worker, require_workers
from rmwbench.lab.middleware.find import VARIABLE

TARGET = "RMWBENCH_TARGET_DIR"
SAFE_NICENESS = "RAY_worker_niceness=0 ray start …"


class Machine:
    """Every answer is plain data. What a user can mend comes back as text or UserError and is not raised: Ray would
    wrap it into a traceback."""

    def __init__(self) -> None:
        self._store = Store(cache() / "programs")
        self._workers: dict[str, Worker] = {}
        self._host: Host | None = None

    def card(self) -> dict[str, Any]:
        """`machine` (the machine card), `boot` (equal for two nodes on one kernel) and `problem` (or None)."""
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return {"machine": machine.describe(), "boot": boot, "problem": _as_a_shell_would()}

    def lacks(self, wanted: Sequence[Program]) -> list[Program]:
        return self._store.lacks(wanted)

    def put(self, program: Program, content: bytes) -> None:
        self._store.put(program, content)

    def prepare(self, wanted: Sequence[Program], described: Mapping[str, Mapping[str, Any]], plan: Plan) -> str | None:
        """Why the campaign cannot run here; None where it can. `described`: middleware → what its worker says on the
        driver's machine."""
        os.environ[VARIABLE] = str(self._store.shelf(wanted))
        os.environ[TARGET] = str(self._store.directory / "none")  # nothing that was built here may take part
        try:
            self._workers = require_workers(list(described))
            for name, worker in self._workers.items():
                if found := unlike(described[name], worker.description):
                    return f"{worker.executable.name} describes itself otherwise here: {found}"
            preflight.check_memory(plan)
            preflight.check_lab().close()
        except UserError as error:
            return error.render()
        gc.collect()
        gc.freeze()  # the same as a campaign on one machine does before its first window
        return None

    def rehearse(self, cells: Sequence[Any], places: Places) -> dict[int, str] | UserError:
        try:
            return rehearse(cells, self._workers, places)
        except UserError as error:
            return error

    def state(self) -> dict[str, Any]:
        return machine.state()

    def run(self, order: Order, name: str) -> tuple[tuple[str, str | None, str | None], TrialResult]:
        """One trial: (status, reason, cause), which is small, and the result, which may stay here until it is asked
        for."""
        result = run_trial(order, self._workers, Hosts(f"{name}/{order.trial}", order.cell.hosts))
        return (result.status, result.reason, result.cause), result


def _as_a_shell_would() -> str | None:
    """Takes back what Ray did to this process; says what it could not."""
    raylet = int(os.environ.get("RAY_RAYLET_PID") or os.getppid())
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(Path(f"/proc/{raylet}/oom_score_adj").read_text())
    usual = os.getpriority(os.PRIO_PROCESS, raylet)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, usual)
    except PermissionError:
        own = os.getpriority(os.PRIO_PROCESS, 0)
        return f"Ray runs its processes at niceness {own} here, and only root may undo it: {SAFE_NICENESS}"
    return None
