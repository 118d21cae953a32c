"""The cross traffic of a trial (rmwbench/suite/network/cross_traffic.py): a receiver and a sender
for each entry, in hosts of their own, with which they end.

    traffic = CrossTrafficLoad(processes, cell.links)  # starts the processes, if any
    traffic.start()                               # every flow is connected and sends
    traffic.window({host: (steady_ns, end_ns)})
    …the window, the drain…
    traffic.stop()                                # ends all flows; the accounts are known

It fails closed: a trial without the cross traffic of its suite is void; otherwise `beside
downloads` and `alone` would be one cell under two names.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rmwbench.lab.network import addresses
from rmwbench.lab.network.host_network import NetworkBroken
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.sampling.load_process import LoadProcess, Snapshot
from rmwbench.suite.network.cross_traffic import CrossTraffic
from rmwbench.suite.network.network import Links

ROLE = "cross traffic"
"""The role of its processes in the bundle's `counters`."""


class CrossTrafficLoad:
    """All cross traffic of a trial. After `stop`, `cpu_ns` is the CPU time of its processes in the
    window, `rows()` are those of the bundle's `counters`, and `document()` has the accounts."""

    def __init__(self, processes: TrialProcesses, links: Links | None):
        self._flows = (
            [_TrafficEntry(processes, links, entry) for entry in links.network.cross_traffic]
            if links is not None
            else []
        )

    def __bool__(self) -> bool:
        return bool(self._flows)

    def start(self) -> None:
        """Returns once all flows are connected. Raises NetworkBroken where a flow is not what was
        asked for, and WorkerFailed where a worker ends meanwhile."""
        listening = [
            (flow, flow.receiver.request("start", {"kind": "tcp_receive"})) for flow in self._flows
        ]
        for flow, command in listening:
            _require(flow.receiver, flow.receiver.answer(command))
        sending = [(flow, flow.sender.request("start", flow.fields())) for flow in self._flows]
        for flow, command in sending:
            _require(flow.sender, flow.sender.answer(command))
            flow.check_congestion_control()

    def window(self, steady: Mapping[str, tuple[int, int]]) -> None:
        """Names the window: host → begin and end in ns of its CLOCK_MONOTONIC. Does not wait."""
        for flow in self._flows:
            for load in flow.ends:
                load.window(*steady[load.host])

    def stop(self) -> None:
        """Takes the accounts, and ends all flows. Raises as `start` does."""
        pending = [
            (load, load.request("collect", {})) for flow in self._flows for load in flow.ends
        ]
        for load, command in pending:
            _require(load, load.stop(command))
        for flow in self._flows:
            flow.check_open()

    @property
    def cpu_ns(self) -> int:
        return sum(load.grown("cpu_ns") for flow in self._flows for load in flow.ends)

    def rows(self) -> Iterator[dict[str, Any]]:
        for flow in self._flows:
            yield from flow.rows()

    def document(self) -> dict[str, Any]:
        """Name of an entry → its settings, and all snapshots of both ends."""
        return {
            flow.entry.name: {
                "asked": flow.entry.definition(),
                "congestion_control": flow.sender.in_force.get("congestion_control"),
                "snapshots": {load.name: load.snapshots for load in flow.ends},
            }
            for flow in self._flows
        }


class _TrafficEntry:
    """An entry of the network's cross traffic, with its two processes."""

    def __init__(self, processes: TrialProcesses, links: Links, entry: CrossTraffic):
        self.entry = entry
        self.receiver = LoadProcess(processes, f"{entry.name}, receiver", entry.to)
        self.sender = LoadProcess(processes, f"{entry.name}, sender", entry.from_)
        self.ends = (self.receiver, self.sender)
        self._control = entry.congestion_control or links.network.congestion_control
        self._address = addresses.text(addresses.ipv4(links.hosts.index(entry.to) + 1))

    def fields(self) -> dict[str, Any]:
        """The fields of the sender's `start`; call it once the receiver listens."""
        to = f"{self._address}:{self.receiver.in_force['port']}"
        tcp = {"to": to, "flows": self.entry.flows, "congestion_control": self._control}
        if self.entry.piece is not None:
            tcp["piece"] = self.entry.piece
        return {"kind": "tcp_send", "tcp": tcp}

    def check_congestion_control(self) -> None:
        in_force = self.sender.in_force.get("congestion_control")
        if in_force != self._control:
            text = (
                f"cross traffic from {self.entry.name} has congestion control {in_force}, asked "
                f"for {self._control}"
            )
            raise NetworkBroken(text)

    def check_open(self) -> None:
        for edge, moment in zip(_edges(self.sender), ("began", "ended"), strict=True):
            open_flows = edge["tcp_flows_open"]
            if open_flows < self.entry.flows:
                raise NetworkBroken(
                    f"cross traffic: {open_flows} of {self.entry.flows} flows from "
                    f"{self.entry.name} were open as the window {moment}"
                )

    def rows(self) -> Iterator[dict[str, Any]]:
        """The receiver's bytes at the window's edges and seconds, and both ends' CPU time."""
        seconds = 0
        for snapshot in self.receiver.snapshots:
            at = snapshot["at"]
            if at == "second":
                seconds += 1
                at = f"second_{seconds}"
            elif at not in ("steady_begin", "steady_end"):
                continue
            yield _row(self.receiver, "tcp.received", "bytes", at, snapshot["tcp_bytes_received"])
            yield _row(self.receiver, "snapshot_time", "ns", at, snapshot["time_ns"])
        for load in self.ends:
            for edge in _edges(load):
                yield _row(load, "cpu", "ns", edge["at"], edge["cpu_ns"])
        still_open = _edges(self.sender)[1]["tcp_flows_open"]
        yield _row(self.sender, "tcp.flows_open", "count", "steady_end", still_open)


def _require(load: LoadProcess, answer: Mapping[str, Any] | None) -> None:
    if answer is None:
        raise NetworkBroken(f"cross traffic from {load.name}: {load.problem}")


def _edges(load: LoadProcess) -> tuple[Snapshot, Snapshot]:
    assert load.edges is not None
    return load.edges


def _row(load: LoadProcess, counter: str, unit: str, at: str, value: float) -> dict[str, Any]:
    return {
        "process": load.name,
        "role": ROLE,
        "endpoint": None,
        "counter": counter,
        "unit": unit,
        "at": at,
        "value": float(value),
    }
