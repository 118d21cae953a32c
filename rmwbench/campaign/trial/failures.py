"""The reason for a failed trial, and who is at fault, from typed facts and never from a text.

A failure by the worker is a block that its arm lost. So a failure by the tool, the host or the
machine must never be counted as one.
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
    Code.SPAWN: FailedBy.HOST,  # the program cannot be executed
    Code.HOST: FailedBy.HOST,
    Code.WORKER_CLOCK: FailedBy.MACHINE,  # a host's clock was stepped
}


def worker_failure(failed: WorkerFailed, code: Code | None = None) -> Failure:
    """Return the failure for a WorkerFailed. The barrier may give a more specific `code`."""
    code = code or _CODES[failed.kind]
    failed_by = _NOT_THE_WORKER.get(code, FailedBy.WORKER)
    if failed.role not in ("worker", "daemon"):
        failed_by = FailedBy.HOST
    elif code is Code.CRASHED and failed.signal_name == "SIGKILL":
        # a process does not do this itself: the kernel killed it for its memory, or a person did
        failed_by = FailedBy.HOST
    return Failure(Reason(code, failed.reason()), failed_by)


def host_failure(code: Code, text: str) -> Failure:
    """Return a failure by the orchestrator, its hosts or its tools."""
    return Failure(Reason(code, text), FailedBy.HOST)
