"""What a trial cost: CPU by role, context switches, faults, memory, bytes on the wire, energy;
times to match from events.

A counter that was not read is absent with its reason; it is never taken as zero. Publisher and
subscription processes stand apart, because a middleware can move work from one to the other. What a
middleware costs is what its workers, its daemons and whatever else it started used; our own
processes (`harness`) stand apart and are in no other figure.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from rmwbench.analysis.metrics.discovery import DAEMON_STEP, NO_DAEMON, never_matched, times
from rmwbench.analysis.metrics.glossary import METRICS
from rmwbench.analysis.records.columns import NO_WINDOW, Row
from rmwbench.analysis.stats.missing import Measures, complete, total
from rmwbench.codes import FLAG, Code

Reasons = dict[str, str]
Table = dict[tuple[str, str], dict[tuple[str, str], float]]
"""(role, process) -> (counter, at) -> value"""

WORKERS = ("publisher", "subscription", "client", "service", "both", "node")
MIDDLEWARE = (*WORKERS, "daemon", "other")
NOT_COUNTED = "allocations are counted in untimed trials alone (sampling: {allocations: true})"
SHARED = "publisher and subscription share a process"
NOT_SAMPLED = "no sampler read this trial"
NO_MESSAGE = "no message to divide by"


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
    """Metrics of one trial from the rows of the bundle's `counters` (process, role, counter, at,
    value).

    `published`, `heard`, `delivered`: what happened while the steady window lasted, as the counters
    counted (publishers' calls; first arrivals at subscriptions; those at all readers, a client's
    replies included); `delivered_bytes`: the payload of the last. `no_data`: what the sampler could
    not read, and why (`unread`).
    """
    messages = Divisors(published, heard, delivered, delivered_bytes)
    spent = _Spent(_Readings.of(counters, window_ns, dict(no_data or {})), messages, window_ns)
    spent.processor()
    spent.kernel()
    spent.allocations()
    spent.memory()
    spent.wire()
    spent.energy()
    return spent.measures


@dataclass(frozen=True)
class Divisors:
    """What costs of the window are divided by. `bytes`: of the payload of the delivered ones."""

    published: int
    heard: int
    delivered: int
    bytes: int | None


@dataclass(frozen=True)
class _Readings:
    """Counters by process. `unseen`: daemons without one; `ended`: processes that were not there
    any more when the window ended; `why`: what the sampler could not read."""

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
        killed = {key for key in recorded - table.keys() if f"processes.{key[1]}" in why}
        table |= {key: {} for key in killed}
        ended = killed | {key for key, counted in table.items() if _ended(counted)}
        return cls(table, tuple(unseen), frozenset(ended), why)

    @property
    def sampler(self) -> str | None:
        """The process; a worker of that name would make it `sampler#2`."""
        ours = (name for role, name in self.table if role == "harness")
        return next((name for name in ours if name.partition("#")[0] == "sampler"), None)

    @property
    def unsampled(self) -> str:
        """Why nothing of a process is known where no sampler read it."""
        return self.why.get("", NOT_SAMPLED)

    @property
    def missing(self) -> str:
        """Why a counter has no growth over the window: without a daemon, or a process that ended,
        every sum over the middleware would be too small."""
        unread = "the counter was not read at both ends of the steady window"
        if self.unseen:
            of_daemon = f"processes.{self.unseen[0]}"
            lost = self.why.get(of_daemon, unread) if self.sampler else self.unsampled
            return f"daemon {self.unseen[0]} was not read: {lost}"
        if dead := sorted(name for role, name in self.ended if role in MIDDLEWARE):
            return f"{dead[0]} was not read: {self.why.get(f'processes.{dead[0]}', unread)}"
        return unread

    @property
    def no_daemon(self) -> str:
        """Why daemons have no figure."""
        if any(role == "daemon" for role, _ in self.table):
            return self.missing
        return NO_DAEMON if self.sampler else self.unsampled


class _Spent:
    """The costs of one trial."""

    def __init__(self, readings: _Readings, messages: Divisors, window_ns: int | None):
        self.readings, self.table, self.why = readings, readings.table, readings.why
        self.messages, self.window_ns = messages, window_ns
        self.sides_are_separate = all(role != "both" for role, _ in readings.table)
        self.sampled = readings.sampler is not None
        self.unsampled, self.missing = readings.unsampled, readings.missing
        self.measures: Measures = {}

    def put(self, name: str, amount: float | None, per: float | None, reason: str) -> None:
        if amount is None:
            self.measures[name] = reason
        elif per is None:
            self.measures[name] = NO_WINDOW
        else:
            self.measures[name] = amount / per if per else NO_MESSAGE

    def steady(self, roles: tuple[str, ...], counter: str) -> float | None:
        return _steady(self.table, roles, counter)

    def of_side(self, side: str, counter: str) -> float | None:
        """None where one process is both sides."""
        return self.steady((side,), counter) if self.sides_are_separate else None

    def processor(self) -> None:
        cpu, of = self.steady(MIDDLEWARE, "cpu"), self.messages
        self.put("cpu_per_message", cpu, of.delivered, self.missing)
        gigabytes = None if of.bytes is None else of.bytes / 1e9
        seconds = None if cpu is None or gigabytes is None else cpu / 1e9
        self.put("cpu_per_gigabyte", seconds, gigabytes, self.missing)
        for side, messages in (("publisher", of.published), ("subscription", of.heard)):
            why = reason_without_side(self.table, side) or self.missing
            self.put(f"cpu_per_message_{side}", self.of_side(side, "cpu"), messages, why)
        self.put("cpu_cores", cpu, self.window_ns, self.missing)
        daemon = self.steady(("daemon",), "cpu")
        self.put("cpu_cores_daemon", daemon, self.window_ns, self.readings.no_daemon)
        other = self.steady(("other",), "cpu")
        if other is None and self.sampled and not any(role == "other" for role, _ in self.table):
            other = 0.0
        unread = self.missing if self.sampled else self.unsampled
        self.put("cpu_cores_other", other, self.window_ns, unread)
        harness = self.steady(("harness",), "cpu") if self.sampled else None
        self.put("cpu_cores_harness", harness, self.window_ns, unread)
        sampler = (
            _steady(self.table, ("harness",), "cpu", self.readings.sampler)
            if self.sampled
            else None
        )
        self.put("cpu_cores_sampler", sampler, self.window_ns, self.unsampled)

    def kernel(self) -> None:
        """What the kernel counts of them besides processor time."""
        softirq = self.steady(("machine",), "processor.softirq")
        why = self.why.get("machine", self.unsampled)
        self.put("softirq_cores", softirq, self.window_ns, why)
        for name, counters in (
            ("context_switches_per_message", ("voluntary_switches", "involuntary_switches")),
            ("page_faults_per_message", ("minor_faults", "major_faults")),
        ):
            amount = total([self.steady(MIDDLEWARE, counter) for counter in counters])
            self.put(name, amount, self.messages.delivered, self.missing)
        wake_ups = self.steady(MIDDLEWARE, "voluntary_switches")
        seconds = None if self.window_ns is None else self.window_ns / 1e9
        self.put("wake_ups", wake_ups, seconds, self.missing)
        waited = self.steady(MIDDLEWARE, "run_delay")
        unread = self.missing if self.sampled else self.unsampled
        why = self.why.get("run_delay_ns", unread)
        self.put("processor_wait_per_message", waited, self.messages.delivered, why)

    def allocations(self) -> None:
        """Allocations by side; only workers count them, and only in trials that ask for it."""
        of = self.messages
        for side, messages in (("publisher", of.published), ("subscription", of.heard)):
            why = reason_without_side(self.table, side) or NOT_COUNTED
            for metric, counter in (
                ("allocations", "allocations"),
                ("allocated_bytes", "allocated"),
            ):
                name = f"{metric}_per_message_{side}"
                self.put(name, self.of_side(side, counter), messages, why)

    def memory(self) -> None:
        ended = self.readings.ended
        alive = {key: counted for key, counted in self.table.items() if key not in ended}
        for metric in (m for m in METRICS if m.counter):
            whole = not self.readings.unseen and not ended
            why = f"the counter {metric.counter} was not read" if whole else self.missing
            # After the window a process that ended has nothing any more, but its peak is not known.
            processes = self.table if metric.counter == "peak_rss" else alive
            self.put(metric.name, _at_end(processes, MIDDLEWARE, metric.counter), 1, why)
        for side in ("publisher", "subscription"):
            amount = _at_end(alive, (side,), "pss") if self.sides_are_separate else None
            why = reason_without_side(self.table, side) or "the counter pss was not read"
            self.put(f"pss_{side}", amount, 1, why)
        self.put("pss_daemon", _at_end(alive, ("daemon",), "pss"), 1, self.readings.no_daemon)

    def wire(self) -> None:
        """What interfaces sent for each payload byte delivered: all of them, and each of the host's
        own."""
        missing = "the interfaces' counters were not read at both ends of the steady window"
        names = {
            counter.split(".")[1]
            for row in self.table.values()
            for counter, _ in row
            if counter.startswith(OF_INTERFACES) and counter.endswith(".tx_bytes")
        }
        sent, packets = (
            {name: self.steady(("machine",), f"interface.{name}.{kind}") for name in sorted(names)}
            for kind in ("tx_bytes", "tx_packets")
        )
        of = self.messages
        every = total(sent.values()) if sent else None
        self.put("wire_bytes_per_payload_byte", every, of.bytes, missing)
        for name, why in (("lo", missing), ("eth0", self.why.get("interfaces", missing))):
            self.put(f"wire_bytes_per_payload_byte_{name}", sent.get(name), of.bytes, why)
        amount = total(packets.values()) if packets else None
        self.put("packets_per_message", amount, of.delivered, missing)

    def energy(self) -> None:
        """The energy of all machines that the trial ran on; no data where one of them has none."""
        machines = {
            process.partition("@")[2]: row
            for (role, process), row in self.table.items()
            if role == "machine" and any(name.startswith(OF_A_MACHINE) for name, _ in row)
        }
        used = {
            host: _joules(row, self.why.get(f"energy@{host}" if host else "energy"))
            for host, row in machines.items()
        }
        amount = total(joules for joules, _ in used.values()) if used else None
        reason = self.why.get("energy", self.unsampled)
        for host, (joules, lack) in used.items():
            if joules is None:
                of = f"the machine of {host or 'the first host'}: " if len(used) > 1 else ""
                reason = of + (lack or self.unsampled)
                break
        seconds = None if self.window_ns is None else self.window_ns / 1e9
        self.put("power", amount, seconds, reason)
        self.put("energy_per_message", amount, self.messages.delivered, reason)


def _ended(counted: Mapping[tuple[str, str], float]) -> bool:
    """Whether a process was there when the window began and not when it ended."""
    return ("cpu", "steady_begin") in counted and ("cpu", "steady_end") not in counted


def reason_without_side(processes: Collection[tuple[str, str]], side: str) -> str | None:
    """Why the processes of one side can have no figure: there are none by themselves, as where a
    service is called. `processes`: (role, process) of all; `side`: publisher, subscription,
    daemon."""
    roles = {role for role, _ in processes}
    if side == "daemon":
        return None if side in roles else NO_DAEMON
    if "both" in roles:
        return SHARED
    return None if side in roles or roles.isdisjoint(WORKERS) else f"no {side} process ran"


def middleware_processes(counters: Iterable[Row]) -> list[tuple[str, str]]:
    """(role, process) of each process of the middleware, also of daemons that the trial started (it
    timed their start) and that no counter is of."""
    rows = list(counters)
    counted = [(row["role"], row["process"]) for row in rows if row["role"] in MIDDLEWARE]
    started = [
        ("daemon", row["counter"].removeprefix(DAEMON_STEP))
        for row in rows
        if row["counter"].startswith(DAEMON_STEP)
    ]
    return list(dict.fromkeys([*counted, *started]))


def unread(events: Iterable[Mapping[str, Any]]) -> Reasons:
    """What the sampler could not read and why, from the rows of the bundle's `events`; under the
    key "" why nothing at all could be read."""
    reasons: Reasons = {}
    for row in events:
        if row["event"] == "no_data":
            name, colon, reason = (row.get("text") or "").partition(": ")
            is_name = bool(colon) and " " not in name
            reasons[name if is_name else ""] = reason if is_name else row.get("text") or NOT_SAMPLED
    return reasons


OF_A_PART = re.compile(r"hwmon:(amdgpu|radeon|nouveau|xe|i915|nvme|BAT\d*)/.*")
"""Sensors of a graphics card or of a drive, and of what a battery gives or gets: no board's
input."""
OF_A_MACHINE = ("energy.", "processor.")
"""Counters by which a machine is known, whether or not it has a power sensor."""
PARTS_ALONE = "only parts of the machine have a power sensor here ({})"


def _joules(
    row: Mapping[tuple[str, str], float], unread: str | None
) -> tuple[float | None, str | None]:
    """What a machine used in the window, or why nobody knows, where that is known. Of the processor
    packages and their memory where RAPL counts; else of the board's largest consumer, which is its
    input. Where RAPL counts and may not be read (`unread`), no other sensor stands for it."""
    joules = {
        counter.removeprefix("energy."): value
        for (counter, _), value in row.items()
        if counter.startswith("energy.")
    }
    packages = [
        v for name, v in joules.items() if name.startswith("rapl:package") and "/" not in name
    ]
    memory = [
        v for name, v in joules.items() if name.startswith("rapl:") and name.endswith("/dram")
    ]
    boards = {
        name: v
        for name, v in joules.items()
        if name.startswith("hwmon:") and not OF_A_PART.fullmatch(name) and unread is None
    }
    parts = ", ".join(sorted(name.removeprefix("hwmon:") for name in joules))
    amount = sum(packages) + sum(memory) if packages else max(boards.values(), default=None)
    return amount, unread or (PARTS_ALONE.format(parts) if joules else None)


def setup(events: Iterable[Mapping[str, Any]]) -> Measures:
    """`match_time` and `first_message_time` in ns from the rows of the bundle's `events`, counted
    from the last `created`; the former only where every endpoint that was created has matched, the
    latter +inf where a reader heard nothing in the time of the barrier.
    """
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


def _steady(
    table: Table, roles: tuple[str, ...], counter: str, process: str | None = None
) -> float | None:
    """What the counter grew by in the steady window, over all processes of these roles that have
    it; None where one of them lacks an end."""
    if roles == ("machine",):
        parts = [v for (r, p), v in table.items() if r in roles and (counter, "steady_begin") in v]
    else:
        parts = [v for (r, p), v in table.items() if r in roles and process in (None, p)]
    if not parts or any(
        (counter, at) not in v for v in parts for at in ("steady_begin", "steady_end")
    ):
        return None
    return sum(_grown(v, counter) for v in parts)


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
"""What a worker counts itself, and what a host's interfaces count, are read at two moments beside
the window's edges: on a busy machine some ms after them."""


def _grown(row: Mapping[tuple[str, str], float], counter: str) -> float:
    """What the counter grew by over the window: the growth between the two snapshots, by the ratio
    of the two lengths."""
    grown = row[counter, "steady_end"] - row[counter, "steady_begin"]
    edges = complete(row.get((SNAPSHOT, at)) for at in ("steady_begin", "steady_end"))
    window_ns = row.get((WINDOW, "window"))
    scaled = counter in OWN_COUNTERS or counter.startswith(OF_INTERFACES)
    if not scaled or edges is None or not window_ns or edges[1] <= edges[0]:
        return grown
    return grown * window_ns / (edges[1] - edges[0])


def _at_end(table: Table, roles: tuple[str, ...], counter: str) -> float | None:
    parts = [v for (r, _), v in table.items() if r in roles]
    values = [
        next((v[counter, at] for at in ("end", "steady_end") if (counter, at) in v), None)
        for v in parts
    ]
    return total(values) if values else None
