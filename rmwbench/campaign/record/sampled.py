"""From the sampler's document to rows of the tables `counters`, `probes`, `samples` and `schedule`
(docs/formats/bundle.md).

A worker accounts for itself: what it says of its own CPU, faults and memory is taken, and the
sampler's reading only adds what a process cannot know of itself. Everything else in the host
(daemons, what a middleware started, our own processes) is known through the sampler alone. A
process that began within the window had used nothing at its beginning.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rmwbench.campaign.trial.attest.counted import of_the_trial
from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.lab.probe_row import probe_row
from rmwbench.lab.sampling.cross_traffic_load import ROLE as CROSS_TRAFFIC

HARNESS = "harness"
MACHINE = "machine"
WORKER = "worker"
FEWEST_WAKE_UPS = 10
"""So many wake-ups of a processor at least: of fewer, a late one would be a large fraction."""
LATE_EVENTS = 1_000
NOT_OURS = "on the shared host every interface but lo carries what other programs send"

USAGE = {
    "cpu_ns": ("cpu", "ns"),
    "voluntary_switches": ("voluntary_switches", "count"),
    "involuntary_switches": ("involuntary_switches", "count"),
    "minor_faults": ("minor_faults", "count"),
    "major_faults": ("major_faults", "count"),
}
"""Key of a snapshot → counter and unit, of what a worker accounts for itself."""
_OF_PROCESS = USAGE | {"run_delay_ns": ("run_delay", "ns")}
_OF_HOST = ("udp", "ip", "tcp", "softnet")
_ENDS = ("steady_begin", "steady_end")

Row = dict[str, Any]


def role_of(outcome: TrialOutcome, process: str) -> str:
    """`publisher`, `subscription`, `client` or `service` for a worker whose endpoints are all of
    that kind, else `both`; `node` for one without endpoints."""
    kinds = {
        endpoint.kind for endpoint in outcome.order.cell.endpoints if endpoint.process == process
    }
    return "node" if not kinds else kinds.pop() if len(kinds) == 1 else "both"


def counters(outcome: TrialOutcome) -> Iterator[Row]:
    """Rows of `counters`: what the window cost, by process, and what the host and the machine
    counted."""
    if outcome.sampling.own_cpu_ns is not None:
        for at, value in zip(_ENDS, outcome.sampling.own_cpu_ns, strict=True):
            yield _row("orchestrator", HARNESS, "cpu", "ns", at, value)
    if outcome.sampling.link_cpu_ns is not None:
        for at, value in zip(_ENDS, outcome.sampling.link_cpu_ns, strict=True):
            yield _row("link", HARNESS, "cpu", "ns", at, value)
    document = outcome.sampling.sampled
    if document is None:
        return
    edges = _edges(document)
    for name in dict.fromkeys(name for edge in edges for name in edge["processes"]):
        yield from _process(outcome, name, edges, document)
    for host in outcome.order.cell.hosts:
        if edges_there := _edges(outcome.sampling.sampled_at.get(host, document)):
            for edge in of_the_trial(outcome, host, *edges_there):
                yield from _of_host(host, edge)
    for name, sampled in _machines(outcome, document).items():
        yield from _machine(name, sampled)


def _machines(outcome: TrialOutcome, document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Machine → what the sampler on it said: one, but where the hosts are machines of their own."""
    document_of_host = outcome.sampling.sampled_at
    if outcome.order.cell.real is None or not document_of_host:
        return {MACHINE: document}
    first = next(iter(document_of_host))
    return {
        MACHINE if host == first else f"{MACHINE}@{host}": document
        for host, document in document_of_host.items()
    }


def _machine(name: str, document: Mapping[str, Any]) -> Iterator[Row]:
    for edge in _edges(document):
        for key, value in edge.get("machine", {}).items():
            is_time = key.endswith("_ns")
            counter = f"processor.{key.removesuffix('_ns')}" if is_time else key
            yield _row(name, MACHINE, counter, "ns" if is_time else "count", edge["at"], value)
    for sensor, reading in document.get("energy", {}).items():
        yield _row(name, MACHINE, f"energy.{sensor}", "J", "window", reading["joules"])


def _of_host(host: str, edge: Mapping[str, Any]) -> Iterator[Row]:
    if edge.get("time_ns") is not None:
        yield _row(host, MACHINE, "snapshot_time", "ns", edge["at"], edge["time_ns"])
    for interface, values in edge["interfaces"].items():
        for key, value in values.items():
            unit = "bytes" if key.endswith("bytes") else "count"
            yield _row(host, MACHINE, f"interface.{interface}.{key}", unit, edge["at"], value)
    for group in _OF_HOST:
        for key, value in edge.get(group, {}).items():
            yield _row(host, MACHINE, f"{group}.{key}", "count", edge["at"], value)


def _edges(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The snapshots of the window's two ends in their order, or none."""
    by_name = {snapshot["at"]: snapshot for snapshot in document["snapshots"]}
    return [by_name[at] for at in _ENDS] if by_name.keys() >= set(_ENDS) else []


def _process(
    outcome: TrialOutcome, name: str, edges: list[Mapping[str, Any]], document: Mapping[str, Any]
) -> Iterator[Row]:
    readings = [edge["processes"].get(name) for edge in edges]
    begin, end = readings
    role = (end or begin)["role"]
    accounts_itself = role == WORKER and name in outcome.sampling.collected
    process_role = role_of(outcome, name) if role == WORKER else role
    if end is None:
        # It ended within the window and took its counters along: what stood at the beginning says
        # that it was there, so that no sum over its like stands without it.
        for key, (counter, unit) in _OF_PROCESS.items():
            if key in begin:
                yield _row(name, process_role, counter, unit, edges[0]["at"], begin[key])
        return
    for key, (counter, unit) in _OF_PROCESS.items():
        if key not in end or (accounts_itself and key in USAGE):
            continue
        for at, reading in zip(_ENDS, (begin if begin is not None else {key: 0}, end), strict=True):
            if key in reading:
                yield _row(name, process_role, counter, unit, at, reading[key])
    for edge in edges:
        drops = [
            socket["drops"]
            for socket in edge["sockets"]
            if socket.get("process") == name and "drops" in socket
        ]
        if drops:
            yield _row(name, process_role, "socket_drops", "count", edge["at"], sum(drops))
    if not accounts_itself:
        yield _row(name, process_role, "threads", "count", "end", end.get("threads"))
        memory = document["memory"].get(name, {})
        for key in ("rss", "pss", "peak_rss", "virtual"):
            yield _row(name, process_role, key, "bytes", "end", memory.get(f"{key}_bytes"))
        if "shared_segments" in memory:
            for key in ("rss", "pss"):
                total = sum(segment[f"{key}_bytes"] for segment in memory["shared_segments"])
                yield _row(name, process_role, f"shared_{key}", "bytes", "end", total)
    threads: dict[tuple[str, str], int] = {}
    for thread in document.get("threads", {}).get(name, []):
        for key, counter in (("cpu_ns", "cpu"), ("run_delay_ns", "run_delay")):
            thread_counter = (thread["name"], counter)
            threads[thread_counter] = threads.get(thread_counter, 0) + thread[key]
    for (thread_name, counter), value in threads.items():
        yield _row(name, process_role, f"thread.{thread_name}.{counter}", "ns", "window", value)


def _row(process: str, role: str, counter: str, unit: str, at: str, value: float | None) -> Row:
    """`value` may be None, which `absent` leaves out."""
    return {
        "process": process,
        "role": role,
        "endpoint": None,
        "counter": counter,
        "unit": unit,
        "at": at,
        "value": None if value is None else float(value),
    }


def cpu_by_role(outcome: TrialOutcome) -> dict[str, int]:
    """CPU time within the window in ns by role, as the sampler read it; the orchestrator is part of
    `harness`."""
    cpu_ns: dict[str, int] = {}
    if outcome.sampling.own_cpu_ns is not None:
        cpu_ns[HARNESS] = outcome.sampling.own_cpu_ns[1] - outcome.sampling.own_cpu_ns[0]
    if outcome.sampling.link_cpu_ns is not None:
        cpu_ns[HARNESS] = (
            cpu_ns.get(HARNESS, 0)
            + outcome.sampling.link_cpu_ns[1]
            - outcome.sampling.link_cpu_ns[0]
        )
    if outcome.network.cross_traffic_cpu_ns:
        cpu_ns[CROSS_TRAFFIC] = outcome.network.cross_traffic_cpu_ns
    edges = _edges(outcome.sampling.sampled) if outcome.sampling.sampled else []
    if not edges:
        return cpu_ns
    for name, end in edges[1]["processes"].items():
        used = end["cpu_ns"] - edges[0]["processes"].get(name, {"cpu_ns": 0})["cpu_ns"]
        role = role_of(outcome, name) if end["role"] == WORKER else end["role"]
        cpu_ns[role] = cpu_ns.get(role, 0) + used
    return cpu_ns


def ended(document: Mapping[str, Any]) -> bool:
    """Whether a process ended within the window, so that what it used there is not known."""
    edges = _edges(document)
    return bool(edges) and not edges[0]["processes"].keys() <= edges[1]["processes"].keys()


def attributed(document: Mapping[str, Any], probes: list[Row]) -> list[Row]:
    """The rows of `machine.attributed_probes` that hold: without `foreign`, which would have what
    an ended process of the trial used, where one did."""
    return [row for row in probes if row["probe"] != "foreign" or not ended(document)]


def canary_probes(document: Mapping[str, Any] | None) -> Iterator[Row]:
    """Rows of `probes`, `at` = `window`: how late a sleeping thread woke (ns), and the fractions of
    wake-ups that came more than 1 ms (`late`) and 10 ms (`stalled`) late, of the worst processor
    among those with enough of them. A quantile with too few values beyond it is left out."""
    canary = (document or {}).get("canary")
    if not canary or not canary["count"]:
        return
    for name in ("p50", "p99", "max"):
        if canary[f"{name}_ns"] is not None:
            yield probe_row(f"canary_{name}", float(canary[f"{name}_ns"]), "ns")
    watched = [
        processor
        for processor in canary["processors"].values()
        if processor["count"] >= FEWEST_WAKE_UPS
    ]
    for name in ("late", "stalled") if watched else ():
        yield probe_row(
            f"canary_{name}",
            max(processor[name] / processor["count"] for processor in watched),
        )


def events(outcome: TrialOutcome) -> Iterator[Row]:
    """What the sampler could not read and why, one `no_data` event each; what nobody asked for is
    not reported."""
    reasons = dict((outcome.sampling.sampled or {}).get("no_data", {}))
    if outcome.sampling.unsampled:
        reasons[""] = outcome.sampling.unsampled
    if outcome.network.shared_host:
        reasons.setdefault("interfaces", NOT_OURS)
    time_ns = outcome.times.window.end_ns if outcome.times.window else outcome.times.begun_ns
    for quantity, why in reasons.items():
        if why != "not asked":
            text = f"{quantity}: {why}" if quantity else why
            yield {"time_ns": time_ns, "process": "sampler", "event": "no_data", "text": text}


def canary_events(document: Mapping[str, Any] | None) -> Iterator[Row]:
    """One `canary` event (value: its wake-ups) and one `canary_late` (at its time; value: ns) for
    each late one, at most LATE_EVENTS: the witnesses of a tail."""
    canary = None if document is None else document.get("canary")
    if document is None or not canary:
        return
    yield {
        "time_ns": document["snapshots"][-1]["time_ns"],
        "process": "sampler",
        "event": "canary",
        "value": canary["count"],
    }
    for due_ns, late_ns in canary.get("late", [])[:LATE_EVENTS]:
        yield {"time_ns": due_ns, "process": "sampler", "event": "canary_late", "value": late_ns}


def samples(document: Mapping[str, Any] | None) -> dict[str, list[Any]]:
    """Columns of the table `samples`; without rows where no series was asked for."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("time_ns", "process", "counter", "unit", "value")
    }

    def put(time_ns: int, process: str, counter: str, unit: str, value: float) -> None:
        for name, item in zip(
            columns, (time_ns, process, counter, unit, float(value)), strict=True
        ):
            columns[name].append(item)

    for sample in (document or {}).get("series", []):
        time_ns, host = sample["time_ns"], sample.get("host", MACHINE)
        for process, values in sample["processes"].items():
            for key, value in values.items():
                counter, _, unit = key.rpartition("_")
                put(time_ns, process, counter, unit, value)
        for key, value in sample.get("machine", {}).items():
            if key.endswith("_ns"):
                put(time_ns, MACHINE, f"processor.{key.removesuffix('_ns')}", "ns", value)
        for interface, values in sample["interfaces"].items():
            for key, value in values.items():
                put(
                    time_ns,
                    host,
                    f"interface.{interface}.{key}",
                    "bytes" if "bytes" in key else "count",
                    value,
                )
        for group in _OF_HOST:
            for key, value in sample.get(group, {}).items():
                put(time_ns, host, f"{group}.{key}", "count", value)
    return columns


def schedule(document: Mapping[str, Any] | None) -> dict[str, list[Any]]:
    """Columns of the table `schedule`; without rows where it was not asked for or may not be
    read."""
    switches = ((document or {}).get("schedule") or {}).get("events", [])
    names = ("time_ns", "process", "thread", "event")
    return {name: [event[index] for event in switches] for index, name in enumerate(names)}
