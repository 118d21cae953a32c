"""The rehearsal: each arm's worker opens its session once, before anything is written. Only the
worker knows which options and profile texts it accepts, and the user must learn of a misspelt one
before the campaign.

A refusal as invalid or unsupported is the user's mistake, except for a mode: a level that a
middleware does not have makes its cells not supported. A worker that fails or crashes here will
lose its own trials only, so that is no error. But a user's own file with which no session opens
here will open none in a trial either.
"""

import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from rmwbench.campaign.plan.file_faults import renaming_fix
from rmwbench.campaign.plan.profile import (
    DAEMONS_OPTION,
    NO_SETUP,
    SideDaemon,
    Workers,
    file_domain,
    on_one_host,
    open_fields,
    setups,
    side_daemons,
)
from rmwbench.campaign.plan.source_lines import Places
from rmwbench.errors import UserError, did_you_mean
from rmwbench.lab.host import HostBroken, host_kind, make
from rmwbench.lab.middleware import Worker
from rmwbench.lab.process import records
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import WorkerFailed, WorkerProcess
from rmwbench.lab.profile_file.host_setup import HostSetup, set_up
from rmwbench.suite.arm import Side
from rmwbench.suite.cells import Cell, Process

TIMEOUT_S = 10.0
MODE = "mode "
"""The prefix of an error's object that is a mode: the middleware does not have its level, and the
user has made no mistake."""
REFUSED = ("invalid", "unsupported")
AT_A_TIME = 4
"""The number of concurrent rehearsals: a worker mostly waits while it loads its middleware. On a
shared host there is one at a time, since two daemons would meet there."""
_KNOWN_OPTIONS = "known options: "


class SessionQuestion(NamedTuple):
    """A session that a worker is to open, with these fields and beside these daemons. `own`: the
    profile is the user's own file; `setup` is its host's setup for that."""

    middleware: str
    fields: dict[str, Any]
    daemons: list[SideDaemon]
    setup: HostSetup
    own: bool = False

    @property
    def decisive(self) -> tuple[str, ...]:
        """The kinds of an error that is not left to the trials."""
        return (*REFUSED, "failed") if self.own else REFUSED


def rehearse(cells: Iterable[Cell], workers: Workers, places: Places) -> dict[int, str]:
    """Return cell → the mode that its middleware does not support, and why. Raises UserError at the
    line of the option or profile that a worker refuses. It takes about 50 ms per side of an arm,
    more with a daemon."""
    sides = [
        (cell, process.name, _question(cell, process, workers))
        for cell in cells
        for process in cell.processes
    ]
    questions: list[SessionQuestion] = []
    for _, _, question in sides:
        if question not in questions:
            questions.append(question)
    with ThreadPoolExecutor(1 if host_kind().shared else AT_A_TIME) as pool:
        answers = list(pool.map(lambda question: _refusal(question, workers), questions))
    refusals: dict[int, str] = {}
    for cell, process, question in sides:
        error = answers[questions.index(question)]
        if error is None:
            continue
        if error.get("kind") != "unsupported" or not str(error.get("object")).startswith(MODE):
            raise _explained(cell, process, error, places)
        refusals.setdefault(
            cell.number, f"{question.middleware}: {error.get('object')}: {error.get('message')}"
        )
    return refusals


def _question(cell: Cell, process: Process, workers: Workers) -> SessionQuestion:
    side = cell.sides[process.name]
    worker = workers[side.middleware]
    fields = open_fields(side, worker, nonce=1, domain_id=file_domain(cell) or 0)
    setup = setups(cell).get(process.host, NO_SETUP)
    return SessionQuestion(
        side.middleware,
        fields,
        side_daemons(side, worker, fields["domain_id"]),
        on_one_host(setup, side),
        own=side.profile.text is not None and cell.real is None,
    )


def in_force(side: Side, worker: Worker) -> str | None:
    """Return the configuration of an opened session of this side, in the middleware's own format;
    None if its worker does not report it. Raises UserError if no session opens."""
    question = SessionQuestion(
        side.middleware,
        open_fields(side, worker, nonce=1),
        side_daemons(side, worker),
        NO_SETUP,
        own=True,
    )
    try:
        reply = _opened(question, {side.middleware: worker})
    except (WorkerFailed, HostBroken) as failed:
        raise UserError(f"no session opens: {failed}", where=side.middleware) from None
    if error := reply.get("error"):
        raise UserError(f"{error.get('object')}: {error.get('message')}", where=side.middleware)
    configuration = (reply.get("ok") or {}).get("configuration") or {}
    text = configuration.get("text")
    return None if text is None else str(text)


def _refusal(question: SessionQuestion, workers: Workers) -> dict[str, Any] | None:
    """Return the decisive `error` of the worker, or of a daemon that it needs; None without one."""
    try:
        error = _opened(question, workers).get("error")
    except (WorkerFailed, HostBroken):
        return None
    return error if error and error.get("kind") in question.decisive else None


def _opened(question: SessionQuestion, workers: Workers) -> dict[str, Any]:
    """Return the reply to `open` of the worker, or of the first daemon with a decisive error.
    Raises WorkerFailed, HostBroken."""
    worker, name = workers[question.middleware], "rehearsal"
    with (
        make(name) as host,
        TrialProcesses(host) as processes,
        records.open_records([], nonce=1) as fd,
    ):
        host.wait_ready()
        domain = {"domain_id": host.domain_id or question.fields["domain_id"]}
        set_up(processes, {host.name: question.setup} if question.setup != NO_SETUP else {})
        for daemon in question.daemons:
            environment = {**worker.environment, **daemon.environment}
            process = processes.spawn_daemon(daemon.name, worker.executable, environment)
            reply = _answer(processes, process, daemon.fields | domain)
            if (reply.get("error") or {}).get("kind") in question.decisive:
                return reply
        process = processes.spawn(name, worker.executable, fd, environment=worker.environment)
        return _answer(processes, process, question.fields | domain)


def _answer(
    processes: TrialProcesses, process: WorkerProcess, fields: Mapping[str, Any]
) -> dict[str, Any]:
    processes.wait_hello(TIMEOUT_S)
    command = process.request("open", fields)
    processes.wait(lambda: command.answered, TIMEOUT_S, "answer to open")
    return command.reply


def _explained(cell: Cell, process: str, error: Mapping[str, Any], places: Places) -> UserError:
    side = cell.sides[process]
    refused, why = str(error.get("object")), str(error.get("message"))
    kind, _, name = refused.partition(" ")
    if kind == "daemon":
        name = DAEMONS_OPTION
    is_option = kind in ("option", "daemon") and name in side.options
    keys = ("options", name) if is_option else ("modes", name) if kind == "mode" else ()
    message = f"arm `{cell.arm.name}`: {side.middleware} refuses {refused}"
    if why.startswith(_KNOWN_OPTIONS):
        choices = why.removeprefix(_KNOWN_OPTIONS).split(", ")
        wrong, expected = name, "one of " + ", ".join(choices)
    else:  # the worker's own text is often "unknown `a`, expected one of `b`, `c`"
        wrong, *choices = re.findall(r"`([^`]+)`", why) or [name]
        message, expected = f"{message}: {why}", None
    otherwise = None if keys else "correct the profile, or use one that comes with the worker"
    return UserError(
        message,
        where=places.side(cell, process, *(keys or ("profile",))),
        expected=expected,
        actual=f"{name}: {side.options[name]}" if is_option else None,
        fix=renaming_fix(side, why) or did_you_mean(wrong, choices) or otherwise,
    )
