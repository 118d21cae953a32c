"""Until a trial can start: sessions open, endpoints are created, all are matched, and every reader
has heard each of its writers (`first_messages.py`).

`match` is asked together with `create`, so that each endpoint's time to match is what its worker
saw, however slowly another one creates; the time limit counts from when all were created.
Interfaces are read before the first session opens and once the graph is complete: what lies between
is discovery.
"""

import time
from typing import Any

from rmwbench.campaign.plan.profile import (
    Workers,
    beside_options,
    domain_id,
    open_fields,
    publish_mode_option,
)
from rmwbench.campaign.trial import timeouts
from rmwbench.campaign.trial.first_messages import hear_first_messages
from rmwbench.campaign.trial.noting import note, step, take_events
from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.codes import Code
from rmwbench.lab.host import devices
from rmwbench.lab.process.crew import Crew, Posted
from rmwbench.lab.process.worker import WorkerFailed

BEFORE_OPEN, COMPLETE = "before_open", "complete"


def open_and_match(outcome: TrialOutcome, crew: Crew, workers: Workers) -> None:
    """Raises WorkerFailed; `outcome.barrier` then says whether a match was missing. Where ROS
    variables may demand just that, it is an answer and nothing is raised for it."""
    present = [process.name for process in outcome.order.cell.processes if process.opens_s is None]
    answer_s = timeouts.of_all(timeouts.COMMAND_TIMEOUT_S, len(present))
    _read_traffic(outcome, crew, BEFORE_OPEN)
    with step(outcome, "open"):
        opened = {
            name: crew.post(name, "open", fields_of(outcome, crew, workers, name))
            for name in present
        }
        crew.gather(opened.values(), answer_s, take=lambda one: take_opened(outcome, one))
    timeout_s = outcome.order.cell.timeline.match_s
    with step(outcome, "create"):
        created, matching = [], {}
        for name in present:
            created.append(crew.post(name, "create", {"nodes": _nodes(outcome, name)}))
            matching[name] = crew.post(name, "match", {"timeout_ns": round(timeout_s * 1e9)})
        crew.gather(created, answer_s, take=lambda one: take_created(outcome, one))
    try:
        with step(outcome, "match"):
            _match(outcome, crew, matching, time.monotonic() + timeout_s)
        _read_traffic(outcome, crew, COMPLETE)
        with step(outcome, "first_message"):
            hear_first_messages(outcome, crew)
    except WorkerFailed:
        if outcome.barrier is None or not outcome.order.cell.may_be_silent:
            raise
        # whether anything is heard is what such a trial asks: it publishes all the same
        outcome.barrier = None
    finally:
        take_events(outcome, crew)


def fields_of(outcome: TrialOutcome, crew: Crew, workers: Workers, process: str) -> dict[str, Any]:
    """The `open` of a process."""
    cell = outcome.order.cell
    side = cell.sides[process]
    fields = open_fields(
        side, workers[side.middleware], outcome.order.nonce, domain_id(cell, crew.hosts)
    )
    fields["options"] |= beside_options(cell, process) | publish_mode_option(cell, side)
    return fields


def take_opened(outcome: TrialOutcome, posted: Posted) -> None:
    """Notes it, and keeps the configuration in force."""
    process, answered_ns, reply = posted.worker.process, posted.answered_ns, posted.take()
    note(outcome, process, "opened", reply.get("time_ns", answered_ns))
    if configuration := reply.get("configuration"):
        outcome.files[f"{process}.configuration.{configuration['format']}"] = configuration[
            "text"
        ].encode()


def take_created(outcome: TrialOutcome, posted: Posted) -> None:
    process, answered_ns, reply = posted.worker.process, posted.answered_ns, posted.take()
    time_ns = reply.get("time_ns", answered_ns)  # when it was done, or when we read that it was
    for endpoint, granted in reply.get("endpoints", {}).items():
        outcome.endpoints.granted[int(endpoint)] = granted
        note(outcome, process, "created", time_ns, endpoint=int(endpoint))


def take_matched(outcome: TrialOutcome, posted: Posted) -> None:
    process, reply = posted.worker.process, posted.take()
    for endpoint, found in reply.get("endpoints", {}).items():
        outcome.endpoints.matched[int(endpoint)] = found["matched"]
        note(
            outcome,
            process,
            "matched",
            found["time_ns"],
            endpoint=int(endpoint),
            value=found["matched"],
        )


def _nodes(outcome: TrialOutcome, process: str) -> list[dict[str, Any]]:
    return outcome.order.cell.create_command(process, outcome.order.seed)


def _match(outcome: TrialOutcome, crew: Crew, matching: dict[str, Posted], deadline: float) -> None:
    """One whose time was up before all were created is asked again for the rest of it."""
    while matching:
        crew.await_answers(matching.values(), deadline - time.monotonic() + timeouts.MATCH_MARGIN_S)
        again, unmatched = {}, None
        for name, posted in matching.items():
            try:
                take_matched(outcome, posted)
            except WorkerFailed as failed:
                rest_s = deadline - time.monotonic()
                timed_out = failed.error is not None and failed.error.get("kind") == "failed"
                if not timed_out:
                    outcome.barrier = None
                    raise
                if rest_s < timeouts.PROBE_INTERVAL_S:
                    outcome.barrier = Code.NO_MATCH
                    # who is matched on the other side is still to be noted
                    unmatched = unmatched or failed
                else:
                    again[name] = rest_s
        if unmatched is not None:
            raise unmatched
        matching = {
            name: crew.post(name, "match", {"timeout_ns": round(rest_s * 1e9)})
            for name, rest_s in again.items()
        }


def _read_traffic(outcome: TrialOutcome, crew: Crew, at: str) -> None:
    for host, far in crew.hosts.remote.items():
        if found := far.answer(far.post("traffic")):
            outcome.network.traffic.setdefault(at, {})[host] = found
    for host in crew.hosts:
        here = (worker for worker in crew.workers.values() if worker.host is crew.hosts[host])
        pid = next((worker.pid for worker in here if worker.pid is not None), None)
        found = devices.carried(pid) if pid is not None else None
        if found is not None:
            outcome.network.traffic.setdefault(at, {})[host] = found
