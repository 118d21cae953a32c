"""What a trial cost: CPU, context switches and memory from counters; times to match from events.

A counter that was not read is absent with its reason; it is never taken as zero. Publisher and subscription processes
stand apart, because a middleware can move work from one to the other.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Values = dict[str, float]
Reasons = dict[str, str]


def cost(
    counters: Iterable[Mapping[str, Any]], *, published: int, delivered: int, window_ns: int | None
) -> tuple[Values, Reasons]:
    """Metrics of one trial from the rows of the bundle's `counters` (process, role, counter, at, value).

    `published`, `delivered`: messages of the steady window (publish calls; deliveries over all readers).
    """
    table: dict[tuple[str, str], dict[tuple[str, str], float]] = {}  # (role, process) -> (counter, at) -> value
    for row in counters:
        if row["role"] == "machine" or row.get("endpoint") is not None or row["value"] is None:
            continue
        table.setdefault((row["role"], row["process"]), {})[row["counter"], row["at"]] = row["value"]
    values: Values = {}
    reasons: Reasons = {}

    def put(name: str, amount: float | None, per: float | None, why: str) -> None:
        if amount is None:
            reasons[name] = why
        elif per == 0 or per is None:
            reasons[name] = "no message to divide by" if per == 0 else "the trial recorded no steady window"
        else:
            values[name] = amount / per

    apart = not any(role == "both" for role, _ in table)
    missing = "the counter was not read at both ends of the steady window"
    shared = missing if apart else "publisher and subscription share a process"
    put("cpu_per_message", _steady(table, None, "cpu"), delivered, missing)
    put("cpu_per_message_publisher", _steady(table, "publisher", "cpu") if apart else None, published, shared)
    put("cpu_per_message_subscription", _steady(table, "subscription", "cpu") if apart else None, delivered, shared)
    put("cpu_cores", _steady(table, None, "cpu"), window_ns, missing)
    switches = [_steady(table, None, c) for c in ("voluntary_switches", "involuntary_switches")]
    put("context_switches_per_message", None if None in switches else sum(switches), delivered, missing)
    for metric, counter in (("pss", "pss"), ("rss", "rss"), ("peak_rss", "peak_rss"), ("shared_memory", "shared_pss")):
        put(metric, _at_end(table, None, counter), 1, f"the counter {counter} was not read")
    for role in ("publisher", "subscription"):
        put(
            f"pss_{role}",
            _at_end(table, role, "pss") if apart else None,
            1,
            "the counter pss was not read" if apart else shared,
        )
    return values, reasons


def setup(events: Iterable[Mapping[str, Any]]) -> tuple[Values, Reasons]:
    """`match_time` and `first_message_time` in ns from the rows of the bundle's `events`, counted from the last
    `created`.
    """
    last: dict[str, int] = {}
    for row in events:
        if row["time_ns"] is not None:
            last[row["event"]] = max(last.get(row["event"], row["time_ns"]), row["time_ns"])
    values: Values = {}
    reasons: Reasons = {}
    for metric, event in (("match_time", "matched"), ("first_message_time", "first_message")):
        if "created" not in last or event not in last:
            reasons[metric] = f"the trial has no event {'created' if 'created' not in last else event}"
        else:
            # Discovery may finish while the last endpoint's creation is still being answered.
            values[metric] = float(max(last[event] - last["created"], 0))
    return values, reasons


def _steady(table: dict, role: str | None, counter: str) -> float | None:
    parts = [v for (r, _), v in table.items() if role in (None, r)]
    if not parts or any((counter, at) not in v for v in parts for at in ("steady_begin", "steady_end")):
        return None
    return sum(v[counter, "steady_end"] - v[counter, "steady_begin"] for v in parts)


def _at_end(table: dict, role: str | None, counter: str) -> float | None:
    parts = [v for (r, _), v in table.items() if role in (None, r)]
    found = [next((v[counter, at] for at in ("end", "steady_end") if (counter, at) in v), None) for v in parts]
    return sum(found) if found and None not in found else None
