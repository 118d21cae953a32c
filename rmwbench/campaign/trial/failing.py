"""Why a trial failed, and who is at fault: taken from typed facts, never from a text.

A failure by the worker is a block that its arm lost. So nothing of ours, of the host or of the
machine may pass for one.
"""

from rmwbench.campaign.trial.outcome import Failure
from rmwbench.codes import Code, FailedBy, Reason
from rmwbench.lab.process.worker import WorkerFailed

_CODES = {
    "crashed": Code.CRASHED,
    "timeout": Code.HUNG,
    "protocol": Code.PROTOCOL,
    "refused": Code.REFUSED,
    "spawn": Code.SPAWN,
    "clock": Code.WORKER_CLOCK,
    "host": Code.HOST,
}
_NOT_THE_WORKER = {
    Code.SPAWN: FailedBy.HOST,  # the program cannot be executed: it never ran
    Code.HOST: FailedBy.HOST,
    Code.WORKER_CLOCK: FailedBy.MACHINE,  # a host's clock was stepped
}


def of_worker(failed: WorkerFailed, code: Code | None = None) -> Failure:
    """`code` says more than the kind of the failure does, where the barrier knows more."""
    code = code or _CODES[failed.kind]
    failed_by = _NOT_THE_WORKER.get(code, FailedBy.WORKER)
    if failed.role not in ("worker", "daemon"):
        failed_by = FailedBy.HOST
    elif code is Code.CRASHED and failed.signal_name == "SIGKILL":
        # no process kills itself so: the kernel took it for its memory, or a person did
        failed_by = FailedBy.HOST
    return Failure(Reason(code, failed.reason()), failed_by)


def of_ours(code: Code, text: str) -> Failure:
    """What the orchestrator, its hosts or its tools broke."""
    return Failure(Reason(code, text), FailedBy.HOST)
