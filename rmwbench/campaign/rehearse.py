"""Asks each arm's worker to open its session once, before anything is written: only the worker knows which options and
profile texts it accepts, and a misspelt one must not be learnt from a finished campaign.

Only what a worker refuses as invalid or unsupported is the user's mistake. One that fails or crashes here is left to
its trials, which it costs without costing those of the others.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rmwbench.campaign.place import Places
from rmwbench.campaign.plan import Plan
from rmwbench.campaign.profile import DAEMONS_OPTION, daemons, open_fields
from rmwbench.errors import UserError, did_you_mean
from rmwbench.lab import records
from rmwbench.lab.host import Host, HostBroken
from rmwbench.lab.middleware import Worker
from rmwbench.lab.worker import Crew, WorkerFailed, WorkerProcess
from rmwbench.suite.cells import Cell

TIMEOUT_S = 10.0
_KNOWN_OPTIONS = "known options: "


def rehearse(plan: Plan, workers: Mapping[str, Worker], places: Places) -> None:
    """Raises UserError at the line of the arm's option or profile that its worker refuses. About 50 ms per arm, more
    where a daemon has to serve first."""
    tried: list[tuple[str, dict[str, Any], list[str]]] = []
    for cell in plan.cells:
        worker = workers[cell.arm.middleware]
        fields = open_fields(cell, worker, nonce=1)
        needed = daemons(cell, worker)
        if (worker.middleware, fields, needed) not in tried:
            tried.append((worker.middleware, fields, needed))
            if error := _refusal(worker, fields, needed):
                raise _explained(cell, error, places)


def _refusal(worker: Worker, fields: Mapping[str, Any], needed: Sequence[str]) -> dict[str, Any] | None:
    """The worker's `error` to `open`, or that of a daemon that it needs, where that is invalid or unsupported."""
    name = "rehearsal"
    try:
        with Host(name) as host, Crew(host) as crew, records.made([], nonce=1) as fd:
            host.wait_ready()
            for daemon in needed:
                if error := _answer(crew, crew.spawn_daemon(daemon, worker.executable), fields):
                    return error
            return _answer(crew, crew.spawn(name, worker.executable, fd), fields)
    except (WorkerFailed, HostBroken):
        return None


def _answer(crew: Crew, process: WorkerProcess, fields: Mapping[str, Any]) -> dict[str, Any] | None:
    crew.wait_hello(TIMEOUT_S)
    number = process.request("open", fields)
    crew.wait(lambda: number in process.replies, TIMEOUT_S, "an answer to open")
    error = process.replies[number].get("error")
    return error if error and error.get("kind") in ("invalid", "unsupported") else None


def _explained(cell: Cell, error: Mapping[str, Any], places: Places) -> UserError:
    refused, why = str(error.get("object")), str(error.get("message"))
    kind, _, name = refused.partition(" ")
    if kind == "daemon":
        name = DAEMONS_OPTION
    is_option = kind in ("option", "daemon") and name in cell.arm.options
    what = f"arm `{cell.arm.name}`: {cell.arm.middleware} refuses {refused}"
    if why.startswith(_KNOWN_OPTIONS):
        known = why.removeprefix(_KNOWN_OPTIONS).split(", ")
        wrong, expected = name, "one of " + ", ".join(known)
    else:  # the worker's own words; they often say "unknown `a`, expected one of `b`, `c`"
        wrong, *known = re.findall(r"`([^`]+)`", why) or [name]
        what, expected = f"{what}: {why}", None
    otherwise = None if is_option else "correct the profile, or use one that comes with the worker"
    return UserError(
        what,
        where=places.arm(cell, *(("options", name) if is_option else ("profile",))),
        expected=expected,
        actual=f"{name}: {cell.arm.options[name]}" if is_option else None,
        fix=did_you_mean(wrong, known) or otherwise,
    )
