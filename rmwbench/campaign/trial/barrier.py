"""The barrier before a trial's window: sessions open, endpoints are created, all are matched, every
reader has heard each of its writers, and no probe is under way any more.

`match` is sent together with `create`, so that each endpoint's time to match is measured by its
worker, even if another worker creates slowly; the time limit counts from when all were created.
Interfaces are read before the first session opens and once the graph is complete: the traffic
between is discovery.

A first probe may be lost, so probes are repeated. An earlier probe may only be slow, and would then
delay the window's first messages. So writers count the probes that they sent, and readers those
that they heard. A matched reader that hears nothing is a result and no failure: the window begins,
the ledger counts its messages, and the data of the other readers are kept.
"""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rmwbench.campaign.plan.profile import (
    Workers,
    beside_options,
    domain_id,
    open_fields,
    publish_mode_option,
)
from rmwbench.campaign.trial import timeouts
from rmwbench.campaign.trial.outcome import TrialOutcome, note, note_flag, step, take_events
from rmwbench.codes import Code, Reason
from rmwbench.lab.host import devices
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import Command, WorkerFailed
from rmwbench.suite.cells import Cell
from rmwbench.suite.workload.endpoints import Endpoint
from rmwbench.words.numbers import counted

Pair = tuple[int, int]
"""Reader and writer. A client is the writer of its own replies, counted by its requests."""


def hear_first_messages(outcome: TrialOutcome, processes: TrialProcesses) -> None:
    """Probe until every reader has heard each of its writers and no probe is under way; both phases
    end after `match_s`. Raises WorkerFailed if a worker ends or refuses."""
    cell = outcome.order.cell
    probes = _Probes(cell)
    pairs = {(reader, writer) for reader, writers in cell.pairs.items() for writer in writers}

    def missing() -> set[Pair]:
        take_events(outcome, processes)
        first_messages = (e for e in outcome.events if e["event"] == "first_message")
        return pairs - {(e["endpoint"], e["writer"]) for e in first_messages}

    begun = time.monotonic()
    deadline = begun + cell.timeline.match_s
    interval_s = timeouts.PROBE_INTERVAL_S
    while (silent := missing()) and time.monotonic() < deadline:
        takes_s = probes.send(processes, silent)
        # the last probe gets its time, too: the rest of it would delay the start
        next_probe = time.monotonic() + interval_s + 2 * takes_s
        interval_s = min(2 * interval_s, timeouts.PROBE_INTERVAL_MAX_S)
        while missing() and (rest_s := next_probe - time.monotonic()) > 0:
            processes.turn(rest_s)
    if silent and not cell.may_be_silent:
        note_flag(outcome, _not_heard(cell, silent, len(pairs)))
    _settle(outcome, processes, probes, pairs - silent, time.monotonic() - begun)


def _not_heard(cell: Cell, silent: Collection[Pair], of: int) -> Reason:
    reader, writer = min(silent)
    more_pairs = len(silent) - 1
    text = (
        f"not_heard: endpoint {reader} heard nothing from endpoint {writer} within "
        f"{cell.timeline.match_s:g} s, though both are matched"
    )
    text += f", and so with {more_pairs} more of {of} pairs" if more_pairs else ""
    return Reason(Code.NOT_HEARD, text)


@dataclass
class _Probes:
    """The probes that were sent: publisher or client → the number that its middleware accepted."""

    cell: Cell
    sent: dict[int, int] = field(default_factory=dict)

    @cached_property
    def _endpoints(self) -> dict[int, Endpoint]:
        return {e.endpoint: e for e in self.cell.endpoints}

    def send(self, processes: TrialProcesses, silent: Iterable[Pair]) -> float:
        """Send a probe from each writer on which a silent pair depends; return their time on the
        slowest link in s."""
        by_process: dict[str, list[int]] = {}
        origins = sorted(set().union(*(self._origins(*pair) for pair in silent)))
        for number in origins:
            by_process.setdefault(self._endpoints[number].process, []).append(number)
        limit_s = timeouts.limit_of_all(timeouts.COMMAND_TIMEOUT_S, _present(self.cell))
        commands = {name: ("probe", {"endpoints": numbers}) for name, numbers in by_process.items()}
        for name, reply in processes.ask(commands, limit_s).items():
            # an older worker does not count them: it sent all, or refused
            all_sent = {number: self.sent.get(number, 0) + 1 for number in by_process[name]}
            self.sent |= {int(n): count for n, count in reply.get("sent", all_sent).items()}
        endpoints = map(self._endpoints.__getitem__, origins)
        size = sum(e.type.payload_bytes * max(1, len(e.peers)) for e in endpoints)
        return 8 * size / _slowest_bps(self.cell)

    def expected(self, reader: int, writer: int) -> int:
        """Return the number of probes that the reader hears from the writer, if none is lost."""
        source = self._source(reader, writer)
        relayed = self._endpoints[source].relay_from
        if relayed is None:
            return self.sent.get(source, 0)
        return sum(self.expected(relayed, w) for w in self.cell.pairs.get(relayed, ()))

    def counted_by(self, reader: int, writer: int) -> Pair:
        """Return the pair as `settle` names it."""
        return reader, self._source(reader, writer)

    def _source(self, reader: int, writer: int) -> int:
        """Return the endpoint whose probes the reader counts: a service answers each client."""
        return reader if self._endpoints[writer].kind == "service" else writer

    def _origins(self, reader: int, writer: int) -> set[int]:
        source = self._source(reader, writer)
        relayed = self._endpoints[source].relay_from
        if relayed is None:
            return {source}
        writers = self.cell.pairs.get(relayed, ())
        return set().union(*(self._origins(relayed, w) for w in writers))


@dataclass(frozen=True)
class _MissingProbes:
    """A pair whose reader has not heard all probes: the number that it heard, whether it heard the
    last one, and whether probes still came when its time was over."""

    heard: int
    has_last: bool
    coming: bool


def _settle(
    outcome: TrialOutcome,
    processes: TrialProcesses,
    probes: _Probes,
    pairs: Iterable[Pair],
    first_s: float,
) -> None:
    """Wait for the probes under way to readers that have heard something, and note those that are
    lost or may still be under way."""
    expect = {
        probes.counted_by(*pair): sent for pair in pairs if (sent := probes.expected(*pair)) > 1
    }
    if not expect:
        return
    try:
        incomplete = _incomplete(outcome, processes, expect, first_s)
    except WorkerFailed as failed:
        if (failed.error or {}).get("kind") != "unsupported":
            raise
        text = f"the worker of {failed.process} does not count probes, and several were sent"
        note_flag(outcome, Reason(Code.PROBES_OUTSTANDING, f"probes_outstanding: {text}"))
        return
    _note_incomplete(outcome, expect, incomplete)


def _incomplete(
    outcome: TrialOutcome, processes: TrialProcesses, expect: Mapping[Pair, int], first_s: float
) -> dict[Pair, _MissingProbes]:
    """Return the pairs that are incomplete when nothing came for longer than the first messages
    took, or, on a reliable stream, when nothing more is expected. If a later probe came, the one
    before it is lost."""
    deadline = time.monotonic() + outcome.order.cell.timeline.match_s
    quiet_s = max(timeouts.PROBES_QUIET_S, timeouts.DRAIN_QUIET_LATENCIES * first_s)
    incomplete = _heard(outcome, processes, expect, quiet_s, deadline)
    repeated = {
        pair: expect[pair]
        for pair, missing in incomplete.items()
        if _repeats(outcome, pair) and not missing.has_last
    }
    if not repeated:
        return incomplete
    names = outcome.order.cell.middlewares
    longest_s = max(timeouts.DRAIN_QUIET_S, *map(timeouts.heartbeat_s, names))
    still_incomplete = _heard(outcome, processes, repeated, longest_s, deadline)
    rest = {pair: missing for pair, missing in incomplete.items() if pair not in repeated}
    return rest | still_incomplete


def _note_incomplete(
    outcome: TrialOutcome, expect: Mapping[Pair, int], incomplete: Mapping[Pair, _MissingProbes]
) -> None:
    """Note the lost probes of each pair, and flag the probes that may still be under way."""
    outstanding: list[Pair] = []
    for pair, missing in sorted(incomplete.items()):
        if missing.coming or (_repeats(outcome, pair) and not missing.has_last):
            outstanding.append(pair)
        else:
            reader, writer = pair
            lost_probes = expect[pair] - missing.heard
            note(outcome, _process(outcome, reader), "probes_lost", endpoint=reader,
                 writer=writer, value=lost_probes)  # fmt: skip
    if not outstanding:
        return
    reader, writer = outstanding[0]
    behind = expect[reader, writer] - incomplete[reader, writer].heard
    text = (
        f"probes_outstanding: the window began though {counted(behind, 'probe')} from endpoint "
        f"{writer} to endpoint {reader} may still have been under way"
    )
    more_pairs = len(outstanding) - 1
    text += f", and so with {counted(more_pairs, 'more pair')}" if more_pairs else ""
    note_flag(outcome, Reason(Code.PROBES_OUTSTANDING, text))


def _heard(
    outcome: TrialOutcome,
    processes: TrialProcesses,
    expect: Mapping[Pair, int],
    quiet_s: float,
    deadline: float,
) -> dict[Pair, _MissingProbes]:
    """Return the pairs that are incomplete when their readers have heard nothing for `quiet_s`, or
    time is over."""
    by_process: dict[str, dict[str, dict[str, int]]] = {}
    for (reader, writer), sent in expect.items():
        of_process = by_process.setdefault(_process(outcome, reader), {})
        of_process.setdefault(str(reader), {})[str(writer)] = sent
    rest_s = max(0.0, deadline - time.monotonic())
    fields = {"timeout_ns": round(rest_s * 1e9), "quiet_ns": round(quiet_s * 1e9)}
    commands = {
        name: ("settle", {"expect": expected, **fields}) for name, expected in by_process.items()
    }
    incomplete = {}
    limit_s = timeouts.limit_of_all(timeouts.COMMAND_TIMEOUT_S, _present(outcome.order.cell))
    for name, reply in processes.ask(commands, rest_s + limit_s).items():
        for reader, writers in reply["heard"].items():
            for writer, probes in writers.items():
                pair = int(reader), int(writer)
                if pair not in expect:
                    raise processes.workers[name].failure(
                        "protocol",
                        f"answered settle for reader {reader} and writer {writer}, which it was not "
                        "asked about",
                    )
                if probes["count"] < expect[pair]:
                    has_last = probes["seen"] >= expect[pair]
                    incomplete[pair] = _MissingProbes(probes["count"], has_last, not reply["quiet"])
    return incomplete


def _slowest_bps(cell: Cell) -> float:
    """Return the rate in bit/s of the slowest link between hosts, at most that within a host."""
    rates = [timeouts.HOST_RATE_BPS]
    if cell.links is not None:
        media = cell.links.network.media
        for port in cell.links.ports:
            for spec in (cell.links.port_spec(port, way) for way in ("up", "down")):
                if spec.medium is not None:
                    rates.append(media[spec.medium].rate_mbps * 1e6)
                elif spec.rate_bps:
                    rates.append(spec.rate_bps)
    return min(rates)


def _present(cell: Cell) -> int:
    """Return the number of processes that have been started."""
    return sum(process.opens_s is None for process in cell.processes)


def _repeats(outcome: TrialOutcome, pair: Pair) -> bool:
    """Whether lost messages of the pair are sent again."""
    reader = next(e for e in outcome.order.cell.endpoints if e.endpoint == pair[0])
    return bool(reader.qos.wire()["reliability"] == "reliable")


def _process(outcome: TrialOutcome, reader: int) -> str:
    return next(e.process for e in outcome.order.cell.endpoints if e.endpoint == reader)


BEFORE_OPEN, COMPLETE = "before_open", "complete"


def open_and_match(outcome: TrialOutcome, processes: TrialProcesses, workers: Workers) -> None:
    """Open sessions, create endpoints, match them and wait for first messages. Raises WorkerFailed;
    then `outcome.barrier` says whether a match was missing. In a cell that may be silent (because
    of ROS variables), a missing match is an answer and no error."""
    present = [process.name for process in outcome.order.cell.processes if process.opens_s is None]
    answer_s = timeouts.limit_of_all(timeouts.COMMAND_TIMEOUT_S, len(present))
    _read_traffic(outcome, processes, BEFORE_OPEN)
    with step(outcome, "open"):
        opened = {
            name: processes.post(name, "open", fields_of(outcome, processes, workers, name))
            for name in present
        }
        processes.gather(
            opened.values(), answer_s, take=lambda opening: take_opened(outcome, opening)
        )
    timeout_s = outcome.order.cell.timeline.match_s
    with step(outcome, "create"):
        created, matching = [], {}
        for name in present:
            nodes = outcome.order.cell.create_command(name, outcome.order.seed)
            created.append(processes.post(name, "create", {"nodes": nodes}))
            matching[name] = processes.post(name, "match", {"timeout_ns": round(timeout_s * 1e9)})
        processes.gather(created, answer_s, take=lambda creating: take_created(outcome, creating))
    try:
        with step(outcome, "match"):
            _match(outcome, processes, matching, time.monotonic() + timeout_s)
        _read_traffic(outcome, processes, COMPLETE)
        with step(outcome, "first_message"):
            hear_first_messages(outcome, processes)
    except WorkerFailed:
        if outcome.barrier is None or not outcome.order.cell.may_be_silent:
            raise
        # such a trial publishes all the same: its question is whether anything is heard
        outcome.barrier = None
    finally:
        take_events(outcome, processes)


def fields_of(
    outcome: TrialOutcome, processes: TrialProcesses, workers: Workers, process: str
) -> dict[str, Any]:
    """Return the fields of a process's `open`."""
    cell = outcome.order.cell
    side = cell.sides[process]
    fields = open_fields(
        side, workers[side.middleware], outcome.order.nonce, domain_id(cell, processes.hosts)
    )
    fields["options"] |= beside_options(cell, process) | publish_mode_option(cell, side)
    return fields


def take_opened(outcome: TrialOutcome, command: Command) -> None:
    """Note that a session is open, and keep its configuration."""
    process, answered_ns, reply = command.worker.process, command.answered_ns, command.take()
    note(outcome, process, "opened", reply.get("time_ns", answered_ns))
    if configuration := reply.get("configuration"):
        outcome.files[f"{process}.configuration.{configuration['format']}"] = configuration[
            "text"
        ].encode()


def take_created(outcome: TrialOutcome, command: Command) -> None:
    process, answered_ns, reply = command.worker.process, command.answered_ns, command.take()
    time_ns = reply.get("time_ns", answered_ns)  # the time of the creation, or of the answer
    for endpoint, granted in reply.get("endpoints", {}).items():
        outcome.endpoints.granted[int(endpoint)] = granted
        note(outcome, process, "created", time_ns, endpoint=int(endpoint))


def take_matched(outcome: TrialOutcome, command: Command) -> None:
    process, reply = command.worker.process, command.take()
    for endpoint, match in reply.get("endpoints", {}).items():
        outcome.endpoints.matched[int(endpoint)] = match["matched"]
        note(
            outcome,
            process,
            "matched",
            match["time_ns"],
            endpoint=int(endpoint),
            value=match["matched"],
        )


def _match(
    outcome: TrialOutcome, processes: TrialProcesses, matching: dict[str, Command], deadline: float
) -> None:
    """Take the matches. A worker whose time was over before all were created is asked again for the
    rest of the time. Raises WorkerFailed."""
    while matching:
        processes.await_answers(
            matching.values(), deadline - time.monotonic() + timeouts.MATCH_MARGIN_S
        )
        retries, unmatched = {}, None
        for name, command in matching.items():
            try:
                take_matched(outcome, command)
            except WorkerFailed as failed:
                rest_s = deadline - time.monotonic()
                timed_out = failed.error is not None and failed.error.get("kind") == "failed"
                if not timed_out:
                    outcome.barrier = None
                    raise
                if rest_s < timeouts.PROBE_INTERVAL_S:
                    outcome.barrier = Code.NO_MATCH
                    # matches of the other workers are still to be noted
                    unmatched = unmatched or failed
                else:
                    retries[name] = rest_s
        if unmatched is not None:
            raise unmatched
        matching = {
            name: processes.post(name, "match", {"timeout_ns": round(rest_s * 1e9)})
            for name, rest_s in retries.items()
        }


def _read_traffic(outcome: TrialOutcome, processes: TrialProcesses, at: str) -> None:
    for host, remote_host in processes.hosts.remote.items():
        if traffic := remote_host.answer(remote_host.post("traffic")):
            outcome.network.traffic.setdefault(at, {})[host] = traffic
    for host in processes.hosts:
        host_workers = (
            worker for worker in processes.workers.values() if worker.host is processes.hosts[host]
        )
        pid = next((worker.pid for worker in host_workers if worker.pid is not None), None)
        traffic = devices.traffic_counters(pid) if pid is not None else None
        if traffic is not None:
            outcome.network.traffic.setdefault(at, {})[host] = traffic
