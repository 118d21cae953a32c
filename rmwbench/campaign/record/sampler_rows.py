"""The sampler's document as rows of the tables `counters`, `probes`, `samples` and `schedule`
(docs/formats/bundle.md).

A worker accounts for its own CPU, faults and memory, and the sampler's reading adds only what a
process cannot know of itself. All other processes of the host (daemons, processes that a middleware
started, our own ones) are known through the sampler alone. A process that began within the window
had used nothing at its beginning.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rmwbench.campaign.trial.attest.window_counts import Snapshot, trial_edges, window_edges
from rmwbench.campaign.trial.outcome import TrialOutcome
from rmwbench.lab import probe_row
from rmwbench.lab.sampling.loads import CROSS_TRAFFIC

HARNESS = "harness"
MACHINE = "machine"
WORKER = "worker"
FEWEST_WAKE_UPS = 10
"""The fewest wake-ups of a processor that is judged: a late one of fewer is a large fraction."""
LATE_EVENTS = 1_000
NOT_OURS = "on the shared host every interface but lo carries what other programs send"

USAGE = {
    "cpu_ns": ("cpu", "ns"),
    "voluntary_switches": ("voluntary_switches", "count"),
    "involuntary_switches": ("involuntary_switches", "count"),
    "minor_faults": ("minor_faults", "count"),
    "major_faults": ("major_faults", "count"),
}
"""Key of a snapshot → counter and unit, for what a worker accounts for itself."""
_OF_PROCESS = USAGE | {"run_delay_ns": ("run_delay", "ns")}
_MEMORY = ("rss", "pss", "peak_rss", "virtual", "records_rss")
_OF_HOST = ("udp", "ip", "tcp", "softnet")
_ENDS = ("steady_begin", "steady_end")

Row = dict[str, Any]


def role_of(outcome: TrialOutcome, process: str) -> str:
    """Return `publisher`, `subscription`, `client` or `service` if all endpoints of the worker are
    of that kind, else `both`; `node` for a worker without endpoints."""
    kinds = {
        endpoint.kind for endpoint in outcome.order.cell.endpoints if endpoint.process == process
    }
    return "node" if not kinds else kinds.pop() if len(kinds) == 1 else "both"


def counters(outcome: TrialOutcome) -> Iterator[Row]:
    """Yield the rows of `counters`: the cost of the window by process, and the counts of the host
    and the machine."""
    for process, (begin_ns, end_ns) in _harness_cpu_ns(outcome).items():
        yield counter_row(process, HARNESS, "cpu", "ns", "steady_begin", begin_ns)
        yield counter_row(process, HARNESS, "cpu", "ns", "steady_end", end_ns)
    document = outcome.sampling.sampled
    if document is None:
        return
    edges = edges_of(document)
    for name in dict.fromkeys(name for edge in edges for name in edge["processes"]):
        yield from _process(outcome, name, edges, document)
    for host in outcome.order.cell.hosts:
        own_edges = window_edges(outcome.sampling.sampled_at.get(host, document)["snapshots"])
        for edge in trial_edges(outcome, host, *own_edges) if own_edges else ():
            if edge.get("time_ns") is not None:
                yield counter_row(host, MACHINE, "snapshot_time", "ns", edge["at"], edge["time_ns"])
            yield from host_rows(host, edge, edge["at"])
    for name, sampled in _machines(outcome, document).items():
        yield from _machine(name, sampled)


def _harness_cpu_ns(outcome: TrialOutcome) -> dict[str, tuple[int, int]]:
    """Return the CPU times of our own processes at both ends of the window, as far as known."""
    sampling = outcome.sampling
    readings = {"orchestrator": sampling.own_cpu_ns, "link": sampling.link_cpu_ns}
    return {process: cpu_ns for process, cpu_ns in readings.items() if cpu_ns is not None}


def _machines(outcome: TrialOutcome, document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return machine → the document of its sampler. There is one machine, unless the hosts are
    machines of their own."""
    document_of_host = outcome.sampling.sampled_at
    if outcome.order.cell.real is None or not document_of_host:
        return {MACHINE: document}
    first = next(iter(document_of_host))
    return {
        MACHINE if host == first else f"{MACHINE}@{host}": document
        for host, document in document_of_host.items()
    }


def _machine(name: str, document: Mapping[str, Any]) -> Iterator[Row]:
    for edge in edges_of(document):
        for key, value in edge.get("machine", {}).items():
            is_time = key.endswith("_ns")
            counter = f"processor.{key.removesuffix('_ns')}" if is_time else key
            unit = "ns" if is_time else "count"
            yield counter_row(name, MACHINE, counter, unit, edge["at"], value)
    for sensor, reading in document.get("energy", {}).items():
        yield counter_row(name, MACHINE, f"energy.{sensor}", "J", "window", reading["joules"])


def host_rows(host: str, snapshot: Snapshot, at: str) -> Iterator[Row]:
    """Yield the rows of the counters of a host's interfaces and of its kernel's protocols."""
    for interface, values in snapshot.get("interfaces", {}).items():
        for key, value in values.items():
            unit = "bytes" if key.endswith("bytes") else "count"
            yield counter_row(host, MACHINE, f"interface.{interface}.{key}", unit, at, value)
    for group in _OF_HOST:
        for key, value in (snapshot.get(group) or {}).items():
            yield counter_row(host, MACHINE, f"{group}.{key}", "count", at, value)


def edges_of(document: Mapping[str, Any]) -> Sequence[Snapshot]:
    """Return the snapshots at both ends of the window in their order; empty unless there are
    both."""
    return window_edges(document["snapshots"]) or ()


def _process(
    outcome: TrialOutcome, name: str, edges: Sequence[Snapshot], document: Mapping[str, Any]
) -> Iterator[Row]:
    readings = [edge["processes"].get(name) for edge in edges]
    begin, end = readings
    role = (end or begin)["role"]
    accounts_itself = role == WORKER and name in outcome.sampling.collected
    process_role = role_of(outcome, name) if role == WORKER else role
    if end is None:
        # It ended within the window, and its counters with it. The values at the beginning say that
        # it existed, so that no sum over processes of its role is complete without it.
        for key, (counter, unit) in _OF_PROCESS.items():
            if key in begin:
                yield counter_row(name, process_role, counter, unit, edges[0]["at"], begin[key])
        return
    for key, (counter, unit) in _OF_PROCESS.items():
        if key not in end or (accounts_itself and key in USAGE):
            continue
        for at, reading in zip(_ENDS, (begin if begin is not None else {key: 0}, end), strict=True):
            if key in reading:
                yield counter_row(name, process_role, counter, unit, at, reading[key])
    for edge in edges:
        drops = [
            socket["drops"]
            for socket in edge["sockets"]
            if socket.get("process") == name and "drops" in socket
        ]
        if drops:
            yield counter_row(name, process_role, "socket_drops", "count", edge["at"], sum(drops))
    if not accounts_itself:
        memory = document["memory"].get(name, {})
        yield from memory_rows(name, process_role, memory, end.get("threads"))
    threads: Counter[tuple[str, str]] = Counter()
    for thread in document.get("threads", {}).get(name, []):
        for key, counter in (("cpu_ns", "cpu"), ("run_delay_ns", "run_delay")):
            threads[thread["name"], counter] += thread[key]
    for (thread_name, counter), value in threads.items():
        counter = f"thread.{thread_name}.{counter}"
        yield counter_row(name, process_role, counter, "ns", "window", value)


def memory_rows(
    process: str, role: str, memory: Mapping[str, Any], threads: int | None
) -> Iterator[Row]:
    """Yield the rows of the memory and the threads that a process had at the end."""
    yield counter_row(process, role, "threads", "count", "end", threads)
    for name in _MEMORY:
        yield counter_row(process, role, name, "bytes", "end", memory.get(f"{name}_bytes"))
    if "shared_segments" in memory:
        for name in ("rss", "pss"):
            total = sum(segment[f"{name}_bytes"] for segment in memory["shared_segments"])
            yield counter_row(process, role, f"shared_{name}", "bytes", "end", total)


def counter_row(
    process: str,
    role: str,
    counter: str,
    unit: str,
    at: str,
    value: float | None,
    endpoint: int | None = None,
) -> Row:
    """Return a row of `counters`. The table leaves a row out whose value is None."""
    return {
        "process": process,
        "role": role,
        "endpoint": endpoint,
        "counter": counter,
        "unit": unit,
        "at": at,
        "value": None if value is None else float(value),
    }


def cpu_by_role(outcome: TrialOutcome) -> Counter[str]:
    """Return role → CPU time within the window in ns, as the sampler read it; the orchestrator is
    part of `harness`."""
    edges = edges_of(outcome.sampling.sampled) if outcome.sampling.sampled else ()
    cpu_ns = sampled_cpu_by_role(*edges) if edges else Counter()
    for begin_ns, end_ns in _harness_cpu_ns(outcome).values():
        cpu_ns[HARNESS] += end_ns - begin_ns
    if outcome.network.cross_traffic_cpu_ns:
        cpu_ns[CROSS_TRAFFIC] += outcome.network.cross_traffic_cpu_ns
    return cpu_ns


def sampled_cpu_by_role(begin: Snapshot, end: Snapshot) -> Counter[str]:
    """Return role → the CPU time in ns that the processes of the later snapshot used since the
    earlier one."""
    cpu_ns: Counter[str] = Counter()
    for name, process in end["processes"].items():
        before_ns = begin["processes"].get(name, {"cpu_ns": 0})["cpu_ns"]
        cpu_ns[process["role"]] += process["cpu_ns"] - before_ns
    return cpu_ns


def valid_probes(document: Mapping[str, Any], probes: list[Row]) -> list[Row]:
    """Return the rows of `machine.attributed_probes` that hold. If a process of the trial ended
    within the window, `foreign` does not: its CPU time would be counted there."""
    edges = edges_of(document)
    if edges and not edges[0]["processes"].keys() <= edges[1]["processes"].keys():
        return [row for row in probes if row["probe"] != "foreign"]
    return probes


def canary_probes(document: Mapping[str, Any] | None) -> Iterator[Row]:
    """Yield rows of `probes` with `at` = `window`: how late a sleeping thread woke (ns), and the
    fractions of wake-ups that came more than 1 ms (`late`) and 10 ms (`stalled`) late, for the
    worst processor among those with enough of them. A quantile with too few values beyond it is
    left out."""
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
            f"canary_{name}", max(processor[name] / processor["count"] for processor in watched)
        )


def events(outcome: TrialOutcome) -> Iterator[Row]:
    """Yield a `no_data` event, with the reason, for each quantity that the sampler could not read.
    A quantity that was not asked for has none."""
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
    """Yield a `canary` event (value: its wake-ups) and a `canary_late` event (at its time; value:
    ns) for each late one, at most LATE_EVENTS."""
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
    """Return the columns of the table `samples`, without rows if no series was asked for."""
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
        for row in host_rows(host, sample, "window"):
            put(time_ns, host, row["counter"], row["unit"], row["value"])
    return columns


def schedule(document: Mapping[str, Any] | None) -> dict[str, list[Any]]:
    """Return the columns of the table `schedule`, without rows if it was not asked for or may not
    be read."""
    switches = ((document or {}).get("schedule") or {}).get("events", [])
    names = ("time_ns", "process", "thread", "event")
    return {name: [event[index] for event in switches] for index, name in enumerate(names)}
