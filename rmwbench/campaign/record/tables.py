"""The tables of the bundle (docs/formats/bundle.md) from a trial's outcome, without any judgement,
input or output."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from rmwbench.bundle.schema import table_from_columns, table_from_rows
from rmwbench.campaign.record import sampler_rows
from rmwbench.campaign.record.due_times import never_sent_due_ns, scheduled_messages
from rmwbench.campaign.trial.attest.window_counts import own_interfaces, trial_edges, window_edges
from rmwbench.campaign.trial.held_calls import schedule_of
from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.codes import LOANED, WARMUP
from rmwbench.lab.network.switch import CLASSES, ENDED, FLAGS, NOWHERE, VERDICTS
from rmwbench.lab.process.records import RECEIVED, SENT, SPAN, RecordSection
from rmwbench.suite.timeline import to_ns

# Usage counters that are read at both ends of the window, with their units.
_USAGE = sampler_rows.USAGE | {
    "allocations": ("allocations", "count"),
    "allocated_bytes": ("allocated", "bytes"),
    "frees": ("frees", "count"),
}
_AT = {"steady_begin": "steady_begin", "steady_end": "steady_end", "now": "end"}


def trial_row(outcome: TrialOutcome, status: str, reason: str | None) -> dict[str, Any]:
    """Return the row of the table `trials`."""
    order, window = outcome.order, outcome.times.window
    return {
        "trial": order.trial,
        "cell": order.cell.number,
        "block": order.block,
        "position": order.position,
        "status": status,
        "reason": reason,
        "started_utc": outcome.times.started_utc,
        "seed": order.seed,
        "start_ns": window.start_ns if window else None,
        "steady_begin_ns": window.steady_ns if window else None,
        "steady_end_ns": window.end_ns if window else None,
        "drain_end_ns": outcome.times.drain_end_ns,
        "setup_ns": window.start_ns - outcome.times.begun_ns if window else None,
        "duration_ns": outcome.times.ended_ns - outcome.times.begun_ns
        if outcome.times.ended_ns is not None
        else None,
        "nonce": f"{order.nonce:016x}",
    }


def trial_tables(
    outcome: TrialOutcome, status: str, reason: str | None, attested: list[dict[str, Any]]
) -> dict[str, pa.Table]:
    """Return every table of a trial that has rows, by its name."""
    trial = outcome.order.trial
    small = {
        "trials": [trial_row(outcome, status, reason)],
        "endpoints": list(_endpoints(outcome)),
        "events": sorted(_events(outcome), key=lambda row: row["time_ns"]),
        "counters": [row for row in _counters(outcome) if row["value"] is not None],
        "probes": outcome.probes,
        "clock_map": list(outcome.times.clocks.rows()) if outcome.times.clocks else [],
        "attestations": attested,
        "leftovers": outcome.beside.leftovers,
    }
    small["counters"] += outcome.network.counters
    for feature_rows in outcome.beside.feature_records:
        small["counters"] += feature_rows.counters()
    tables = {
        name: table_from_rows(name, [{**row, "trial": trial} for row in rows])
        for name, rows in small.items()
        if rows
    }
    for name, columns in (
        ("samples", sampler_rows.samples(outcome.sampling.sampled)),
        ("schedule", sampler_rows.schedule(outcome.sampling.sampled)),
    ):
        if columns["time_ns"]:
            tables[name] = table_from_columns(name, {"trial": trial, **columns})
    recorded: dict[str, list[Mapping[str, np.ndarray]]] = {
        "sent": list(_sent(outcome)),
        "received": list(_received(outcome)),
        "spans": list(_spans(outcome)),
    }
    for name, all_parts in (recorded | _feature_tables(outcome)).items():
        parts = [part for part in all_parts if len(next(iter(part.values())))]
        if parts:
            columns = {
                key: np.ma.concatenate([part[key] for part in parts])  # type: ignore[no-untyped-call]
                for key in parts[0]
            }
            tables[name] = table_from_columns(name, {"trial": trial, **columns})
    if outcome.network.frames is not None and len(outcome.network.frames):
        columns = frames_columns(
            outcome.network.frames,
            outcome.order.cell.port_hosts,
            outcome.order.cell.port_interfaces,
        )
        tables["frames"] = table_from_columns("frames", {"trial": trial, **columns})
    return tables


def _endpoints(outcome: TrialOutcome) -> Iterator[dict[str, Any]]:
    cell, seed = outcome.order.cell, outcome.order.seed
    for endpoint in cell.endpoints:
        wire = endpoint.wire(cell.arm, seed)
        setting_names = ("qos", "touch", "loan", "publish_mode", "wait", "take", "arrival")
        settings = {key: wire[key] for key in setting_names if key in wire}
        life = endpoint.life
        granted = outcome.endpoints.granted.get(endpoint.endpoint)
        yield {
            "endpoint": endpoint.endpoint,
            "kind": endpoint.kind,
            "node": endpoint.node,
            "process": endpoint.process,
            "host": endpoint.host,
            "topic": endpoint.topic,
            "type": endpoint.type.name,
            "payload_bytes": endpoint.type.payload_bytes,
            "asked": json.dumps(settings),
            "granted": None if granted is None else json.dumps(granted),
            "matches": outcome.endpoints.matched.get(endpoint.endpoint),
            "peers": json.dumps(endpoint.peers),
            "reply_bytes": endpoint.reply_type.payload_bytes if endpoint.reply_type else None,
            "middleware": cell.sides[endpoint.process].middleware,
            "joins_ns": None if life.begin_s is None else to_ns(life.begin_s),
            "leaves_ns": None if life.end_s is None else to_ns(life.end_s),
        }


def _events(outcome: TrialOutcome) -> Iterator[dict[str, Any]]:
    for event in outcome.events:
        row = {"time_ns": event["time_ns"], "process": event["process"], "event": event["event"]}
        row |= {key: event.get(key) for key in ("endpoint", "writer", "value", "text", "code")}
        yield row
    yield from sampler_rows.events(outcome)
    yield from sampler_rows.canary_events(outcome.sampling.sampled)


def _counters(outcome: TrialOutcome) -> Iterator[dict[str, Any]]:
    yield from sampler_rows.counters(outcome)
    yield from outcome.network.cross_traffic
    for at, by_host in outcome.network.traffic.items():
        for host, interfaces in by_host.items():
            yield from sampler_rows.host_rows(host, own_interfaces(outcome, interfaces), at)
    for process, reply in outcome.sampling.collected.items():
        yield from _collected(outcome, process, reply)
    if outcome.sampling.sampled is None:
        first = next(iter(outcome.sampling.collected.values()), {})
        yield from _first_host(outcome, first.get("usage", []))
    for name, value in outcome.times.steps_ns.items():
        yield sampler_rows.counter_row(
            "orchestrator", sampler_rows.MACHINE, f"step.{name}", "ns", "end", value
        )
    process_of = {endpoint.endpoint: endpoint.process for endpoint in outcome.order.cell.endpoints}
    for section in outcome.sections:
        process = process_of[section.endpoint]
        role, unfinished = sampler_rows.role_of(outcome, process), section.unfinished
        yield sampler_rows.counter_row(
            process, role, "records_unfinished", "count", "end", unfinished, section.endpoint
        )


def _collected(
    outcome: TrialOutcome, process: str, reply: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a worker's counters of itself and of its endpoints."""
    role = sampler_rows.role_of(outcome, process)
    row = partial(sampler_rows.counter_row, process, role)
    follows = any(p.follows for p in outcome.order.cell.processes if p.name == process)
    for usage in reply.get("usage", []):
        at = _AT.get(usage["at"])
        if at is None:
            continue
        # A successor had used nothing when it began within the window, and its first snapshot is
        # from that moment.
        begins = follows and at == "steady_begin"
        for key, (counter, unit) in _USAGE.items():
            value = usage.get(key)
            count = 0 if begins and value is not None else value
            yield row(counter, unit, at, count)
        if at != "end" and not follows:
            yield row("snapshot_time", "ns", at, usage.get("time_ns"))
    memory = reply.get("memory", {})
    yield from sampler_rows.memory_rows(process, role, memory, memory.get("threads"))
    for endpoint, account in reply.get("endpoints", {}).items():
        for name in ("publish_failures", "reader_drops"):
            yield row(name, "count", "end", account.get(name), int(endpoint))
        for name, value in account.get("counters", {}).items():
            yield row(f"own.{name}", "count", "end", value, int(endpoint))


def _first_host(
    outcome: TrialOutcome, usages: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one worker's counters of its host, for a trial without a sampler."""
    host = outcome.order.cell.hosts[0]
    at = {_AT[usage["at"]]: usage for usage in usages if usage["at"] in _AT}
    if edges := window_edges(usages):
        edges = trial_edges(outcome, host, *edges)
        at |= zip(("steady_begin", "steady_end"), edges, strict=True)
    for name, usage in at.items():
        yield from sampler_rows.host_rows(host, own_interfaces(outcome, usage), name)


def _sent(outcome: TrialOutcome) -> Iterator[dict[str, np.ndarray]]:
    """Yield the recorded messages of each writer, then those that were due and never sent: the
    ledger has every message of the schedule."""
    by_endpoint = {endpoint.endpoint: endpoint for endpoint in outcome.order.cell.endpoints}
    for section in (s for s in outcome.sections if s.kind == SENT):
        yield _recorded_sent(section)
        finished = outcome.endpoints.finished.get(section.endpoint)
        is_unfinished = section.endpoint in outcome.endpoints.unfinished
        never_sent = finished["never_sent"] if finished else 0
        if outcome.times.window and (is_unfinished or never_sent):
            endpoint = by_endpoint[section.endpoint]
            arrival = endpoint.wire(outcome.order.cell.arm, outcome.order.seed).get("arrival")
            if arrival is None:
                continue  # a service has no schedule: it answers its clients' requests
            own_window = schedule_of(outcome, endpoint)
            # A writer that has not finished never reported a number: the rest of its schedule was not sent.
            unsent = (
                scheduled_messages(arrival, own_window.end_ns - own_window.start_ns)
                - len(section.rows)
                if is_unfinished
                else never_sent
            )
            yield _never_sent(section, arrival, unsent, own_window.start_ns, own_window.steady_ns)


def _recorded_sent(section: RecordSection) -> dict[str, np.ndarray]:
    rows = section.rows
    columns = {name: rows[name] for name in ("seq", "intended_ns", "bytes", "flags")}
    columns |= {name: np.ma.masked_equal(rows[name], 0) for name in ("call_ns", "return_ns")}
    caused = rows["cause_endpoint"] != 0
    columns["cause_endpoint"] = np.ma.masked_array(rows["cause_endpoint"], mask=~caused)
    columns["cause_seq"] = np.ma.masked_array(rows["cause_seq"], mask=~caused)
    # The time in which the payload of a loaned message was written stands in `cause_seq` or, if
    # the message has a cause, in `begun_ns`; its call then began it (docs/formats/records.md). An
    # older worker has a moment in `begun_ns`, which is no duration within the call.
    loaned = (rows["flags"] & LOANED) != 0
    within = (rows["call_ns"] != 0) & (rows["begun_ns"] <= rows["return_ns"] - rows["call_ns"])
    relayed = loaned & caused & within
    fill_ns = np.where(relayed, rows["begun_ns"], rows["cause_seq"].astype(np.int64))
    filled = (relayed | (loaned & ~caused)) & (fill_ns != 0)
    columns["fill_ns"] = np.ma.masked_array(fill_ns, mask=~filled)
    columns["begun_ns"] = np.ma.masked_equal(
        np.where(relayed, rows["call_ns"], rows["begun_ns"]), 0
    )
    return {"endpoint": np.full(len(rows), section.endpoint, np.uint32), **columns}


def _never_sent(
    section: RecordSection,
    arrival: Mapping[str, Any],
    never_sent: int,
    start_ns: int,
    steady_ns: int,
) -> dict[str, np.ndarray]:
    attempted = len(section.rows)
    due = np.array(never_sent_due_ns(arrival, start_ns, attempted, never_sent), np.int64)
    first = int(section.rows["seq"].max()) + 1 if attempted else 0
    absent = {
        name: np.ma.masked_all(len(due), section.rows.dtype[name])  # type: ignore[no-untyped-call]
        for name in ("begun_ns", "call_ns", "return_ns", "bytes", "cause_endpoint", "cause_seq")
    }
    absent["fill_ns"] = np.ma.masked_all(len(due), np.int64)  # type: ignore[no-untyped-call]
    return {
        "endpoint": np.full(len(due), section.endpoint, np.uint32),
        "seq": np.arange(first, first + len(due), dtype=np.uint64),
        "intended_ns": due,
        "flags": np.where(due < steady_ns, WARMUP, 0).astype(np.uint32),
        **absent,
    }


def _received(outcome: TrialOutcome) -> Iterator[dict[str, np.ndarray]]:
    for section in (s for s in outcome.sections if s.kind == RECEIVED):
        rows = section.rows
        columns = {name: rows[name] for name in ("writer", "seq", "bytes", "flags")}
        stamps = ("notified_ns", "taken_ns", "callback_ns", "consumed_ns", "intended_ns")
        columns |= {name: np.ma.masked_equal(rows[name], 0) for name in stamps}
        yield {"endpoint": np.full(len(rows), section.endpoint, np.uint32), **columns}


def _feature_tables(outcome: TrialOutcome) -> dict[str, list[Mapping[str, np.ndarray]]]:
    """Return table → the columns that each feature beside the trial left."""
    parts_of_table: dict[str, list[Mapping[str, np.ndarray]]] = {}
    for feature_rows in outcome.beside.feature_records:
        for table, columns in feature_rows.columns():
            parts_of_table.setdefault(table, []).append(columns)
    return parts_of_table


def _spans(outcome: TrialOutcome) -> Iterator[dict[str, np.ndarray]]:
    for section in (s for s in outcome.sections if s.kind == SPAN):
        columns = {name: section.rows[name] for name in ("writer", "seq", "layer", "time_ns")}
        yield {"endpoint": np.full(len(section.rows), section.endpoint, np.uint32), **columns}


def frames_columns(
    frames: np.ndarray, hosts: Sequence[str], interfaces: Sequence[str]
) -> dict[str, Any]:
    """Return the columns of the table `frames`, each of shape (frames,), from records of
    `switch.RECORD`. `hosts` and `interfaces` have one entry per port; a frame stays in the network
    of its interface. Absent times and destinations (0 and 65535 in the log) are masked."""
    columns: dict[str, Any] = {
        name: frames[name] for name in ("index", "in_ns", "frame_bytes", "payload_bytes")
    }
    columns |= {name: np.ma.masked_equal(frames[name], 0) for name in ("due_ns", "out_ns")}
    columns["from_host"] = _words(frames["from_port"], hosts)
    columns["to_host"] = _words(frames["to_port"], hosts, absent=frames["to_port"] == NOWHERE)
    columns["interface"] = _words(frames["from_port"], interfaces)
    columns["verdict"] = _words(frames["verdict"], VERDICTS)
    columns["class"] = _words(frames["class"], CLASSES)
    columns |= {name: (frames["flags"] & bit) != 0 for name, bit in FLAGS.items()}
    up, down = ((frames["flags"] & ENDED[way]) != 0 for way in ("up", "down"))
    columns["direction"] = _words(down, ("up", "down"), absent=~(up | down))
    return columns | {"attempts": frames["attempts"]}


def _words(numbers: np.ndarray, words: Sequence[str], absent: np.ndarray | None = None) -> pa.Array:
    codes = pa.array(np.minimum(numbers, len(words) - 1).astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(codes, pa.array(words, pa.string()))
