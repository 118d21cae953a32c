"""The costs of a trial: CPU by role, context switches, faults, memory, bytes on the wire, energy;
times to match from events.

A counter that was not read is absent with its reason, and never zero. Publisher and subscription
processes have separate figures, because a middleware can move work from one to the other. The cost
of a middleware is that of its workers, its daemons and all other processes that it started; our own
processes (`harness`) have a figure of their own and are in no other.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from rmwbench.analysis.metrics.discovery import DAEMON_STEP, NO_DAEMON, never_matched, times
from rmwbench.analysis.metrics.glossary import METRICS
from rmwbench.analysis.records.columns import NO_WINDOW, Row
from rmwbench.analysis.stats.estimate import Measures, complete, total
from rmwbench.codes import FLAG, Code

Reasons = dict[str, str]
Counted = dict[tuple[str, str], float]
"""(counter, at) -> value, of one process"""
Table = dict[tuple[str, str], Counted]
"""(role, process) -> what it counted"""

WORKERS = ("publisher", "subscription", "client", "service", "both", "node")
MIDDLEWARE = (*WORKERS, "daemon", "other")
NOT_COUNTED = "allocations are only counted in untimed trials (sampling: {allocations: true})"
SHARED = "publisher and subscription share a process"
NOT_SAMPLED = "no sampler read this trial"
NO_MESSAGE = "no message to divide by"
UNREAD = "the counter was not read at both ends of the steady window"


def cost(
    counters: Iterable[Mapping[str, Any]],
    *,
    published: int,
    heard: int,
    delivered: int,
    window_ns: int | None,
    delivered_bytes: int | None = None,
    no_data: Mapping[str, str] | None = None,
) -> Measures:
    """The metrics of one trial from the rows of the bundle's `counters` (process, role, counter,
    at, value).

    `published`, `heard`, `delivered`: publishers' calls, first arrivals at subscriptions, and first
    arrivals at all readers, a client's replies included, within the steady window;
    `delivered_bytes`: the payload of the delivered messages. `no_data`: why the sampler could not
    read something (`unread_reasons`)."""
    readings = _Readings.of(counters, window_ns, dict(no_data or {}))
    divisors = Divisors(published, heard, delivered, delivered_bytes, window_ns)
    parts = (_processor, _kernel, _allocations, _memory, _wire, _energy)
    return {name: value for part in parts for name, value in part(readings, divisors).items()}


@dataclass(frozen=True)
class Divisors:
    """The divisors of the window's costs. `bytes`: the payload of the delivered messages."""

    published: int
    heard: int
    delivered: int
    bytes: int | None
    window_ns: int | None

    @property
    def sides(self) -> tuple[tuple[str, int], ...]:
        """Side -> the messages that are its own work."""
        return ("publisher", self.published), ("subscription", self.heard)

    @property
    def window_s(self) -> float | None:
        return None if self.window_ns is None else self.window_ns / 1e9


@dataclass(frozen=True)
class _Readings:
    """Counters by process. `unseen`: daemons without counters; `ended`: processes that had ended
    when the window ended; `why`: why the sampler could not read something."""

    table: Table
    unseen: tuple[str, ...]
    ended: frozenset[tuple[str, str]]
    why: Reasons

    @classmethod
    def of(
        cls, counters: Iterable[Mapping[str, Any]], window_ns: int | None, why: Reasons
    ) -> "_Readings":
        table: Table = {}
        recorded: set[tuple[str, str]] = set()
        rows = [row for row in counters if row["value"] is not None]
        for row in rows:
            process = row["role"], row["process"]
            if row.get("endpoint") is None:
                table.setdefault(process, {})[row["counter"], row["at"]] = row["value"]
            else:
                recorded.add(process)
        for counted in table.values():
            if window_ns and (SNAPSHOT, "steady_end") in counted:
                counted[WINDOW, "window"] = window_ns
        unseen = sorted(
            name
            for role, name in middleware_processes(rows)
            if role == "daemon" and (role, name) not in table
        )
        table |= {("daemon", name): {} for name in unseen}
        # Older bundles have no counters of a killed worker, only its records.
        killed = {key for key in recorded - table.keys() if _reason(why, f"processes.{key[1]}")}
        table |= {key: {} for key in killed}
        ended = killed | {key for key, counted in table.items() if _ended(counted)}
        return cls(table, tuple(unseen), frozenset(ended), why)

    def of_roles(self, *roles: str) -> list[Counted]:
        return [counted for (role, _), counted in self.table.items() if role in roles]

    def of_side(self, side: str) -> list[Counted]:
        """Empty where one process is both sides."""
        return [] if self.of_roles("both") else self.of_roles(side)

    @property
    def machines(self) -> dict[str, Counted]:
        """Host, or "" for the first host -> the counters of its machine, with or without a power
        sensor."""
        return {
            process.partition("@")[2]: counted
            for (role, process), counted in self.table.items()
            if role == "machine" and any(name.startswith(OF_A_MACHINE) for name, _ in counted)
        }

    @property
    def samplers(self) -> list[Counted]:
        """`sampler`, or `sampler#2` beside a worker `sampler`, and `sampler@base` on a further
        host."""
        return [
            counted
            for (role, name), counted in self.table.items()
            if role == "harness" and re.split("[#@]", name)[0] == "sampler"
        ]

    @property
    def unsampled(self) -> str:
        """Why a process that no sampler read has no figures."""
        return self.why.get("", NOT_SAMPLED)

    @property
    def missing(self) -> str:
        """Why a counter has no growth over the window: without a daemon, or a process that ended,
        every sum over the middleware would be too small."""
        if self.unseen:
            unread = _reason(self.why, f"processes.{self.unseen[0]}") or UNREAD
            reason = unread if self.samplers else self.unsampled
            return f"daemon {self.unseen[0]} was not read: {reason}"
        if dead := sorted(name for role, name in self.ended if role in MIDDLEWARE):
            return f"{dead[0]} was not read: {_reason(self.why, f'processes.{dead[0]}') or UNREAD}"
        return UNREAD

    @property
    def missing_to_sampler(self) -> str:
        """Why a counter that the sampler alone reads has no growth."""
        return self.missing if self.samplers else self.unsampled

    @property
    def no_daemon(self) -> str:
        """Why daemons have no figures."""
        if self.of_roles("daemon"):
            return self.missing
        return NO_DAEMON if self.samplers else self.unsampled


def _reason(why: Reasons, quantity: str) -> str | None:
    """Why a quantity could not be read; behind one of a further host stands `@` and that host."""
    of_quantity = (why[key] for key in why if key == quantity or key.startswith(f"{quantity}@"))
    return next(of_quantity, None)


def _per(amount: float | None, divisor: float | None, reason: str) -> float | str:
    """A quotient; `reason`: why there is no amount."""
    if amount is None:
        return reason
    if divisor is None:
        return NO_WINDOW
    return amount / divisor if divisor else NO_MESSAGE


def _processor(readings: _Readings, divisors: Divisors) -> Measures:
    window_ns, samplers = divisors.window_ns, readings.samplers
    missing, unsampled = readings.missing, readings.missing_to_sampler
    cpu = _steady(readings.of_roles(*MIDDLEWARE), "cpu")
    gigabytes = None if divisors.bytes is None else divisors.bytes / 1e9
    seconds = None if cpu is None or gigabytes is None else cpu / 1e9
    daemon = _steady(readings.of_roles("daemon"), "cpu")
    other = readings.of_roles("other")
    other_cpu = _steady(other, "cpu") if other or not samplers else 0.0
    harness = _steady(readings.of_roles("harness"), "cpu") if samplers else None
    own = _steady(samplers, "cpu")
    measures: Measures = {
        "cpu_per_message": _per(cpu, divisors.delivered, missing),
        "cpu_per_gigabyte": _per(seconds, gigabytes, missing),
        "cpu_cores": _per(cpu, window_ns, missing),
        "cpu_cores_daemon": _per(daemon, window_ns, readings.no_daemon),
        "cpu_cores_other": _per(other_cpu, window_ns, unsampled),
        "cpu_cores_harness": _per(harness, window_ns, unsampled),
        "cpu_cores_sampler": _per(own, window_ns, readings.unsampled),
    }
    for side, messages in divisors.sides:
        why = reason_without_side(readings.table, side) or missing
        amount = _steady(readings.of_side(side), "cpu")
        measures[f"cpu_per_message_{side}"] = _per(amount, messages, why)
    return measures


def _kernel(readings: _Readings, divisors: Divisors) -> Measures:
    """The kernel's counters of processes and machines besides processor time."""
    why, own = readings.why, readings.of_roles(*MIDDLEWARE)
    unread = UNREAD if readings.samplers else readings.unsampled
    softirq = _steady(readings.machines.values(), "processor.softirq")
    of_machine = _reason(why, "machine") or unread
    measures: Measures = {"softirq_cores": _per(softirq, divisors.window_ns, of_machine)}
    for name, counters in (
        ("context_switches_per_message", ("voluntary_switches", "involuntary_switches")),
        ("page_faults_per_message", ("minor_faults", "major_faults")),
    ):
        amount = total(_steady(own, counter) for counter in counters)
        measures[name] = _per(amount, divisors.delivered, readings.missing)
    wake_ups = _steady(own, "voluntary_switches")
    measures["wake_ups"] = _per(wake_ups, divisors.window_s, readings.missing)
    measures["processor_wait_per_message"] = _per(
        _steady(own, "run_delay"),
        divisors.delivered,
        _reason(why, "run_delay_ns") or readings.missing_to_sampler,
    )
    return measures


def _allocations(readings: _Readings, divisors: Divisors) -> Measures:
    """Allocations by side; only workers count them, and only in trials that ask for it."""
    return {
        f"{metric}_per_message_{side}": _per(
            _steady(readings.of_side(side), counter),
            messages,
            reason_without_side(readings.table, side) or NOT_COUNTED,
        )
        for side, messages in divisors.sides
        for metric, counter in (("allocations", "allocations"), ("allocated_bytes", "allocated"))
    }


def _memory(readings: _Readings, _divisors: Divisors) -> Measures:
    ended = readings.ended
    alive = {key: counted for key, counted in readings.table.items() if key not in ended}
    measures: Measures = {}
    for metric in (m for m in METRICS if m.counter):
        whole = not readings.unseen and not ended
        why = f"the counter {metric.counter} was not read" if whole else readings.missing
        # After the window a process that ended has no memory any more, but its peak is not known.
        processes = readings.table if metric.counter == "peak_rss" else alive
        measures[metric.name] = _per(_at_end(processes, MIDDLEWARE, metric.counter), 1, why)
    for side in ("publisher", "subscription"):
        amount = None if readings.of_roles("both") else _at_end(alive, (side,), "pss")
        why = reason_without_side(readings.table, side) or "the counter pss was not read"
        measures[f"pss_{side}"] = _per(amount, 1, why)
    measures["pss_daemon"] = _per(_at_end(alive, ("daemon",), "pss"), 1, readings.no_daemon)
    return measures


def _wire(readings: _Readings, divisors: Divisors) -> Measures:
    """The bytes that interfaces sent for each delivered payload byte, over all interfaces and over
    each of the host's own."""
    missing = "the interfaces' counters were not read at both ends of the steady window"
    interfaces = {
        counter.removeprefix(OF_INTERFACES).removesuffix(".tx_bytes")
        for counted in readings.table.values()
        for counter, _ in counted
        if counter.startswith(OF_INTERFACES) and counter.endswith(".tx_bytes")
    }

    def sent(interface: str, kind: str) -> float | None:
        """The count of the interfaces with this name on all hosts that have one."""
        counter = f"{OF_INTERFACES}{interface}.{kind}"
        hosts = [own for own in readings.table.values() if any(name == counter for name, _ in own)]
        return _steady(hosts, counter)

    sent_bytes = {name: sent(name, "tx_bytes") for name in interfaces}
    packets = total(sent(name, "tx_packets") for name in interfaces) if interfaces else None
    every = total(sent_bytes.values()) if interfaces else None
    of_eth0 = _reason(readings.why, "interfaces") or missing
    return {
        "wire_bytes_per_payload_byte": _per(every, divisors.bytes, missing),
        "wire_bytes_per_payload_byte_lo": _per(sent_bytes.get("lo"), divisors.bytes, missing),
        "wire_bytes_per_payload_byte_eth0": _per(sent_bytes.get("eth0"), divisors.bytes, of_eth0),
        "packets_per_message": _per(packets, divisors.delivered, missing),
    }


def _energy(readings: _Readings, divisors: Divisors) -> Measures:
    """The energy of all machines on which the trial ran; no data where a machine has none."""
    used = {
        host: _joules(counted, _unread_sensors(readings.why, host))
        for host, counted in readings.machines.items()
    }
    amount = total(joules for joules, _ in used.values()) if used else None
    reason = readings.why.get("energy", readings.unsampled)
    for host, (joules, lack) in used.items():
        if joules is None:
            of = f"the machine of {host or 'the first host'}: " if len(used) > 1 else ""
            reason = of + (lack or readings.unsampled)
            break
    return {
        "power": _per(amount, divisors.window_s, reason),
        "energy_per_message": _per(amount, divisors.delivered, reason),
    }


def _ended(counted: Counted) -> bool:
    """Whether a process was there when the window began and not when it ended."""
    return ("cpu", "steady_begin") in counted and ("cpu", "steady_end") not in counted


def reason_without_side(processes: Collection[tuple[str, str]], side: str) -> str | None:
    """Why one side can have no figure: it has no processes of its own, as where a service is
    called. `processes`: (role, process) of all processes; `side`: publisher, subscription,
    daemon."""
    roles = {role for role, _ in processes}
    if side == "daemon":
        return None if side in roles else NO_DAEMON
    if "both" in roles:
        return SHARED
    return None if side in roles or roles.isdisjoint(WORKERS) else f"no {side} process ran"


def middleware_processes(counters: Iterable[Row]) -> list[tuple[str, str]]:
    """(role, process) of each process of the middleware, with the daemons whose start the trial
    timed and that have no counter."""
    rows = list(counters)
    counted = [(row["role"], row["process"]) for row in rows if row["role"] in MIDDLEWARE]
    started = [
        ("daemon", row["counter"].removeprefix(DAEMON_STEP))
        for row in rows
        if row["counter"].startswith(DAEMON_STEP)
    ]
    return list(dict.fromkeys([*counted, *started]))


def unread_reasons(events: Iterable[Mapping[str, Any]]) -> Reasons:
    """Counter or process -> why the sampler could not read it, from the rows of the bundle's
    `events`; under the key "" why nothing at all could be read."""
    reasons: Reasons = {}
    for row in events:
        if row["event"] == "no_data":
            name, colon, reason = (row.get("text") or "").partition(": ")
            # A daemon has its host in its name: `processes.router base`.
            is_name = bool(colon) and (" " not in name or name.startswith("processes."))
            reasons[name if is_name else ""] = reason if is_name else row.get("text") or NOT_SAMPLED
    return reasons


OF_RAPL = re.compile(r"rapl:(package[^/]*|.*/dram)")
"""RAPL's counters of processor packages and their memory, which are added; the other counters are
of parts of these."""
OF_A_PART = re.compile(r"hwmon:(amdgpu|radeon|nouveau|xe|i915|nvme|BAT\d*)/.*")
"""Sensors of a graphics card, a drive or a battery, none of which is a board's input."""
OF_A_MACHINE = ("energy.", "processor.")
"""How the counters of a machine begin."""
PARTS_ALONE = "only parts of the machine have a power sensor here ({})"


def _unread_sensors(why: Reasons, host: str) -> Reasons:
    """Sensor of a machine -> why its energy is not known; under the key "" why no sensor's energy
    is known, as where RAPL may not be read."""
    reasons = {}
    for key, reason in why.items():
        quantity, _, machine = key.partition("@")
        name, _, sensor = quantity.partition(".")
        if machine == host and name == "energy":
            reasons[sensor] = reason
    return reasons


def _joules(counted: Counted, unread: Reasons) -> tuple[float | None, str | None]:
    """The energy of a machine in the window, or the reason why it is not known, if there is one. It
    is the energy of the processor packages and their memory where RAPL counts, else that of the
    board's largest consumer, which is its input. Where one of these sensors was not read
    (`unread`), there is no sum."""
    joules = {
        counter.removeprefix("energy."): value
        for (counter, _), value in counted.items()
        if counter.startswith("energy.")
    }
    packages = [value for name, value in joules.items() if OF_RAPL.fullmatch(name)]
    boards = [value for name, value in joules.items() if _is_board(name)]
    for name, reason in unread.items():
        if not name or OF_RAPL.fullmatch(name) or (not packages and _is_board(name)):
            return None, f"{name}: {reason}" if name else reason
    if packages or boards:
        return (sum(packages) if packages else max(boards)), None
    parts = ", ".join(sorted(name.removeprefix("hwmon:") for name in joules))
    return None, PARTS_ALONE.format(parts) if joules else None


def _is_board(sensor: str) -> bool:
    return sensor.startswith("hwmon:") and not OF_A_PART.fullmatch(sensor)


def setup(events: Iterable[Mapping[str, Any]]) -> Measures:
    """`match_time` and `first_message_time` in ns, counted from the last `created`, from the rows
    of the bundle's `events`; the former only where every created endpoint has matched, the latter
    +inf where a reader heard nothing in the time of the barrier."""
    rows = list(events)
    last: dict[str, int] = {}
    for row in rows:
        if row["time_ns"] is not None:
            last[row["event"]] = max(last.get(row["event"], row["time_ns"]), row["time_ns"])
    lack = never_matched(times(rows, "created"), times(rows, "matched"))
    deaf = any(row["event"] == FLAG and row.get("code") == Code.NOT_HEARD for row in rows)
    measures: Measures = {}
    for metric, event in (("match_time", "matched"), ("first_message_time", "first_message")):
        absent = next((name for name in ("created", event) if name not in last), None)
        if metric == "first_message_time" and deaf:
            measures[metric] = inf
        elif absent:
            measures[metric] = f"the trial has no event {absent}"
        elif metric == "match_time" and lack:
            measures[metric] = lack
        else:
            # Discovery may finish while the last endpoint's creation is still being answered.
            measures[metric] = float(max(last[event] - last["created"], 0))
    return measures


def _steady(processes: Collection[Counted], counter: str) -> float | None:
    """The growth of the counter in the steady window, over all these processes; None without a
    process, or where a process lacks a reading at either edge."""
    edges = [(counter, at) for at in ("steady_begin", "steady_end")]
    if not processes or any(edge not in own for own in processes for edge in edges):
        return None
    return sum(_grown(own, counter) for own in processes)


SNAPSHOT, WINDOW = "snapshot_time", "window_length"
OWN_COUNTERS = frozenset(
    (
        "cpu",
        "voluntary_switches",
        "involuntary_switches",
        "minor_faults",
        "major_faults",
        "allocations",
        "allocated",
    )
)
OF_INTERFACES = "interface."
"""A worker's own counters, and those of a host's interfaces, are read a little after the window's
edges: on a busy machine some ms later."""


def _grown(row: Counted, counter: str) -> float:
    """The growth of the counter over the window: the growth between the two snapshots, scaled to
    the length of the window."""
    grown = row[counter, "steady_end"] - row[counter, "steady_begin"]
    edges = complete(row.get((SNAPSHOT, at)) for at in ("steady_begin", "steady_end"))
    window_ns = row.get((WINDOW, "window"))
    scaled = counter in OWN_COUNTERS or counter.startswith(OF_INTERFACES)
    if not scaled or edges is None or not window_ns or edges[1] <= edges[0]:
        return grown
    return grown * window_ns / (edges[1] - edges[0])


def _at_end(table: Table, roles: tuple[str, ...], counter: str) -> float | None:
    """The sum of the counter over the processes of these roles, after the window."""
    values = [
        counted.get((counter, "end"), counted.get((counter, "steady_end")))
        for (role, _), counted in table.items()
        if role in roles
    ]
    return total(values) if values else None
