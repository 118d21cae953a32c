"""What a trial cost: CPU by role, context switches, faults, memory, bytes on the wire, energy;
times to match from events.

A counter that was not read is absent with its reason; it is never taken as zero. Publisher and
subscription processes stand apart, because a middleware can move work from one to the other. What a
middleware costs is what its workers, its daemons and whatever else it started used; our own
processes (`harness`) stand apart and are in no other figure.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rmwbench.analysis.metrics.discovery import DAEMON_STEP, never_matched, times
from rmwbench.analysis.metrics.glossary import METRICS
from rmwbench.analysis.stats.missing import complete, total

Values = dict[str, float]
Reasons = dict[str, str]
Table = dict[tuple[str, str], dict[tuple[str, str], float]]
"""(role, process) -> (counter, at) -> value"""

WORKERS = ("publisher", "subscription", "client", "service", "both", "node")
MIDDLEWARE = (*WORKERS, "daemon", "other")
NOT_COUNTED = "allocations are counted in untimed trials alone (sampling: {allocations: true})"
SHARED = "publisher and subscription share a process"
NOT_SAMPLED = "no sampler read this trial"


def cost(
    counters: Iterable[Mapping[str, Any]],
    *,
    published: int,
    heard: int,
    delivered: int,
    window_ns: int | None,
    delivered_bytes: int | None = None,
    no_data: Mapping[str, str] | None = None,
) -> tuple[Values, Reasons]:
    """Metrics of one trial from the rows of the bundle's `counters` (process, role, counter, at,
    value).

    `published`, `heard`, `delivered`: what happened while the steady window lasted, as the counters
    counted (publishers' calls; first arrivals at subscriptions; those at all readers, a client's
    replies included); `delivered_bytes`: the payload of the last. `no_data`: what the sampler could
    not read, and why (`unread`).
    """
    table: Table = {}
    recorded: set[tuple[str, str]] = set()
    for row in counters:
        if row["value"] is None:
            continue
        if row.get("endpoint") is None:
            table.setdefault((row["role"], row["process"]), {})[row["counter"], row["at"]] = row[
                "value"
            ]
        else:
            recorded.add((row["role"], row["process"]))
    for counted in table.values():
        if window_ns and (SNAPSHOT, "steady_end") in counted:
            counted[WINDOW, "window"] = window_ns
    why = dict(no_data or {})
    values: Values = {}
    reasons: Reasons = {}

    def put(name: str, amount: float | None, per: float | None, reason: str) -> None:
        if amount is None:
            reasons[name] = reason
        elif per == 0 or per is None:
            reasons[name] = (
                "no message to divide by" if per == 0 else "the trial recorded no steady window"
            )
        else:
            values[name] = amount / per

    unseen = _unseen_daemons(table)
    table |= {("daemon", name): {} for name in unseen}
    # Of workers that were killed older bundles have their records alone.
    ended = {key for key in recorded - table.keys() if f"processes.{key[1]}" in why}
    table |= {key: {} for key in ended}
    ended |= {key for key, counted in table.items() if _ended(counted)}
    apart = not _share_a_process(table)
    missing = "the counter was not read at both ends of the steady window"
    # A worker of that name would make it `sampler#2`.
    sampler = next(
        (p for role, p in table if role == "harness" and p.partition("#")[0] == "sampler"), None
    )
    sampled = sampler is not None
    unsampled = why.get("", NOT_SAMPLED)
    if unseen:  # without them every sum over the middleware would be too small
        lost = why.get(f"processes.{unseen[0]}", missing) if sampled else unsampled
        missing = f"daemon {unseen[0]} was not read: {lost}"
    elif dead := sorted(name for role, name in ended if role in MIDDLEWARE):
        lost = why.get(f"processes.{dead[0]}", missing)
        missing = f"{dead[0]} was not read: {lost}"
    sides = {side: _why_none(table, side, missing) for side in ("publisher", "subscription")}

    cpu = _steady(table, MIDDLEWARE, "cpu")
    put("cpu_per_message", cpu, delivered, missing)
    gigabytes = None if delivered_bytes is None else delivered_bytes / 1e9
    put(
        "cpu_per_gigabyte",
        None if cpu is None or gigabytes is None else cpu / 1e9,
        gigabytes,
        missing,
    )
    put(
        "cpu_per_message_publisher",
        _steady(table, ("publisher",), "cpu") if apart else None,
        published,
        sides["publisher"],
    )
    put(
        "cpu_per_message_subscription",
        _steady(table, ("subscription",), "cpu") if apart else None,
        heard,
        sides["subscription"],
    )
    put("cpu_cores", cpu, window_ns, missing)
    has_daemon = any(role == "daemon" for role, _ in table)
    daemon = missing if has_daemon else "no daemon ran" if sampled else unsampled
    put("cpu_cores_daemon", _steady(table, ("daemon",), "cpu"), window_ns, daemon)
    other = _steady(table, ("other",), "cpu")
    if other is None and sampled and not any(role == "other" for role, _ in table):
        other = 0.0
    put("cpu_cores_other", other, window_ns, missing if sampled else unsampled)
    harness = _steady(table, ("harness",), "cpu") if sampled else None
    put("cpu_cores_harness", harness, window_ns, missing if sampled else unsampled)
    put(
        "cpu_cores_sampler",
        _steady(table, ("harness",), "cpu", sampler) if sampled else None,
        window_ns,
        unsampled,
    )
    softirq = _steady(table, ("machine",), "processor.softirq")
    put("softirq_cores", softirq, window_ns, why.get("machine", unsampled))

    switches = [
        _steady(table, MIDDLEWARE, c) for c in ("voluntary_switches", "involuntary_switches")
    ]
    put(
        "context_switches_per_message",
        total(switches),
        delivered,
        missing,
    )
    faults = [_steady(table, MIDDLEWARE, c) for c in ("minor_faults", "major_faults")]
    put("page_faults_per_message", total(faults), delivered, missing)
    _allocations(table, put, published, heard)
    wake_ups = _steady(table, MIDDLEWARE, "voluntary_switches")
    put("wake_ups", wake_ups, None if window_ns is None else window_ns / 1e9, missing)
    waited = _steady(table, MIDDLEWARE, "run_delay")
    put(
        "processor_wait_per_message",
        waited,
        delivered,
        why.get("run_delay_ns", missing if sampled else unsampled),
    )

    alive = {key: counted for key, counted in table.items() if key not in ended}
    for metric, counter in ((m.name, m.counter) for m in METRICS if m.counter):
        unread_text = missing if unseen or ended else f"the counter {counter} was not read"
        # After the window it has nothing any more, but its peak is not known.
        there = table if counter == "peak_rss" else alive
        put(metric, _at_end(there, MIDDLEWARE, counter), 1, unread_text)
    for role in sides:
        amount = _at_end(alive, (role,), "pss") if apart else None
        put(f"pss_{role}", amount, 1, _why_none(table, role, "the counter pss was not read"))
    put("pss_daemon", _at_end(alive, ("daemon",), "pss"), 1, daemon)

    _wire(table, put, delivered, delivered_bytes, why)
    _energy(table, put, delivered, window_ns, why, unsampled)
    return values, reasons


def _ended(counted: Mapping[tuple[str, str], float]) -> bool:
    """Whether a process was there when the window began and not when it ended."""
    return ("cpu", "steady_begin") in counted and ("cpu", "steady_end") not in counted


def _why_none(table: Table, side: str, unread: str) -> str:
    """Why the publishing or the receiving processes have no figure: there are none by themselves,
    as where a service is called, or it was `unread`."""
    if _share_a_process(table):
        return SHARED
    roles = {role for role, _ in table} & set(WORKERS)
    return unread if side in roles or not roles else f"no {side} process ran"


def _share_a_process(table: Table) -> bool:
    """Whether what publisher and subscription cost cannot be told apart."""
    return any(role == "both" for role, _ in table)


def _allocations(table: Table, put: Any, published: int, heard: int) -> None:
    """By side; only workers are counted, and only in trials that ask for it."""
    apart = not _share_a_process(table)
    for side, messages in (("publisher", published), ("subscription", heard)):
        for metric, counter in (("allocations", "allocations"), ("allocated_bytes", "allocated")):
            amount = _steady(table, (side,), counter) if apart else None
            why = _why_none(table, side, NOT_COUNTED)
            put(f"{metric}_per_message_{side}", amount, messages, why)


def _unseen_daemons(table: Table) -> list[str]:
    """Daemons that the trial started (it timed their start) and that no counter is of."""
    started = {
        name for row in table.values() for c, _ in row if (name := c.removeprefix(DAEMON_STEP)) != c
    }
    return sorted(started - {process for role, process in table if role == "daemon"})


def unread(events: Iterable[Mapping[str, Any]]) -> Reasons:
    """What the sampler could not read and why, from the rows of the bundle's `events`; "" for
    everything."""
    found: Reasons = {}
    for row in events:
        if row["event"] == "no_data":
            what, colon, reason = (row.get("text") or "").partition(": ")
            is_name = bool(colon) and " " not in what
            found[what if is_name else ""] = reason if is_name else row.get("text") or NOT_SAMPLED
    return found


def _wire(
    table: Table,
    put: Any,
    delivered: int,
    delivered_bytes: int | None,
    why: Mapping[str, str],
) -> None:
    """What interfaces sent for each payload byte delivered: all of them, and each of the host's
    own."""
    missing = "the interfaces' counters were not read at both ends of the steady window"
    names = {
        counter.split(".")[1]
        for row in table.values()
        for counter, _ in row
        if counter.startswith("interface.") and counter.endswith(".tx_bytes")
    }
    sent = {
        name: _steady(table, ("machine",), f"interface.{name}.tx_bytes") for name in sorted(names)
    }
    packets = [
        _steady(table, ("machine",), f"interface.{name}.tx_packets") for name in sorted(names)
    ]
    every = total(sent.values()) if sent else None
    put("wire_bytes_per_payload_byte", every, delivered_bytes, missing)
    for name, reason in (("lo", missing), ("eth0", why.get("interfaces", missing))):
        put(f"wire_bytes_per_payload_byte_{name}", sent.get(name), delivered_bytes, reason)
    put("packets_per_message", total(packets) if packets else None, delivered, missing)


OF_A_PART = re.compile(r"hwmon:(amdgpu|radeon|nouveau|xe|i915|nvme|BAT\d*)/.*")
"""Sensors of a graphics card or of a drive, and of what a battery gives or gets: no board's
input."""
OF_A_MACHINE = ("energy.", "processor.")
"""Counters by which a machine is known, whether or not it has a power sensor."""
PARTS_ALONE = "only parts of the machine have a power sensor here ({})"


def _energy(
    table: Table,
    put: Any,
    delivered: int,
    window_ns: int | None,
    why: Mapping[str, str],
    unsampled: str,
) -> None:
    """Of all machines that the trial ran on; no data where one of them has none."""
    found = {
        process.partition("@")[2]: row
        for (role, process), row in table.items()
        if role == "machine" and any(name.startswith(OF_A_MACHINE) for name, _ in row)
    }
    used = {
        host: _joules(row, why.get(f"energy@{host}" if host else "energy"))
        for host, row in found.items()
    }
    amount = total(joules for joules, _ in used.values()) if used else None
    reason = why.get("energy", unsampled)
    for host, (joules, lack) in used.items():
        if joules is None:
            of = f"the machine of {host or 'the first host'}: " if len(used) > 1 else ""
            reason = of + (lack or unsampled)
            break
    put("power", amount, None if window_ns is None else window_ns / 1e9, reason)
    put("energy_per_message", amount, delivered, reason)


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


def setup(events: Iterable[Mapping[str, Any]]) -> tuple[Values, Reasons]:
    """`match_time` and `first_message_time` in ns from the rows of the bundle's `events`, counted
    from the last `created`; the former only where every endpoint that was created has matched.
    """
    rows = list(events)
    last: dict[str, int] = {}
    for row in rows:
        if row["time_ns"] is not None:
            last[row["event"]] = max(last.get(row["event"], row["time_ns"]), row["time_ns"])
    lack = never_matched(times(rows, "created"), times(rows, "matched"))
    values: Values = {}
    reasons: Reasons = {}
    for metric, event in (("match_time", "matched"), ("first_message_time", "first_message")):
        if "created" not in last or event not in last:
            reasons[metric] = (
                f"the trial has no event {'created' if 'created' not in last else event}"
            )
        elif metric == "match_time" and lack:
            reasons[metric] = lack
        else:
            # Discovery may finish while the last endpoint's creation is still being answered.
            values[metric] = float(max(last[event] - last["created"], 0))
    return values, reasons


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
    ("cpu", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")
)
OF_INTERFACES = "interface."
"""What a worker counts itself, and what a host's interfaces count, are read at two moments beside
the window's edges: on a busy machine some ms after them."""


def _grown(row: Mapping[tuple[str, str], float], counter: str) -> float:
    """Over the window: what was counted between the two snapshots, by the ratio of the two
    lengths."""
    grown = row[counter, "steady_end"] - row[counter, "steady_begin"]
    edges = complete(row.get((SNAPSHOT, at)) for at in ("steady_begin", "steady_end"))
    window_ns = row.get((WINDOW, "window"))
    scaled = counter in OWN_COUNTERS or counter.startswith(OF_INTERFACES)
    if not scaled or edges is None or not window_ns or edges[1] <= edges[0]:
        return grown
    return grown * window_ns / (edges[1] - edges[0])


def _at_end(table: Table, roles: tuple[str, ...], counter: str) -> float | None:
    parts = [v for (r, _), v in table.items() if r in roles]
    found = [
        next((v[counter, at] for at in ("end", "steady_end") if (counter, at) in v), None)
        for v in parts
    ]
    return total(found) if found else None
