"""The cross traffic of a trial (rmwbench/suite/network/cross_traffic.py): a receiver and a sender
for each of it, in hosts of their own, with which they end, however the trial ends.

    traffic = Traffic(crew, cell.links)      # starts the processes, if any
    traffic.start()                          # every flow is connected and sends
    traffic.window({host: (steady_ns, end_ns)})
    …the window, the drain…
    traffic.stop()                           # accounts are known, and nothing sends any more

Fails closed: a trial that was to have cross traffic and had none is void, or `beside downloads` and
`alone` would be one cell under two names.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rmwbench.lab.network import addresses
from rmwbench.lab.network.plumbing import NetworkBroken
from rmwbench.lab.process.crew import Crew
from rmwbench.lab.sampling.load_process import LoadProcess
from rmwbench.suite.network.cross_traffic import CrossTraffic
from rmwbench.suite.network.network import Links

ROLE = "cross traffic"
"""The role of its processes in the bundle's `counters`."""

Snapshot = Mapping[str, Any]


class Traffic:
    """All cross traffic of a trial. Once `stop` was called, `cpu_ns` is what all of it used in the
    window, `rows()` are those of the bundle's `counters`, and `document()` is what its processes
    said."""

    def __init__(self, crew: Crew, links: Links | None):
        asked = links.network.cross_traffic if links is not None else ()
        self._flows = [_Flow(crew, links, one) for one in asked if links is not None]

    def __bool__(self) -> bool:
        return bool(self._flows)

    def start(self) -> None:
        """Returns once all flows are connected. Raises NetworkBroken where one is not what was
        asked for, WorkerFailed where a worker ends meanwhile."""
        listening = [
            (flow, flow.receiver.request("start", {"kind": "tcp_receive"})) for flow in self._flows
        ]
        for flow, number in listening:
            flow.answered(flow.receiver, number)
        sending = [(flow, flow.sender.request("start", flow.command())) for flow in self._flows]
        for flow, number in sending:
            flow.answered(flow.sender, number)
            flow.check_congestion_control()

    def window(self, steady: Mapping[str, tuple[int, int]]) -> None:
        """The window, host → begin and end in ns of its CLOCK_MONOTONIC; does not wait."""
        for flow in self._flows:
            for load in (flow.receiver, flow.sender):
                steady_ns, end_ns = steady[load.host]
                load.request("window", {"steady_ns": steady_ns, "end_ns": end_ns})

    def stop(self) -> None:
        """Takes the accounts, and ends all of it. Raises as `start`."""
        asked = [
            (flow, load, load.request("collect", {})) for flow in self._flows for load in flow.ends
        ]
        for flow, load, number in asked:
            flow.accounts[load.name] = flow.answered(load, number)["snapshots"]
            load.request("exit", {})
        for flow in self._flows:
            flow.check_accounts()

    @property
    def cpu_ns(self) -> int:
        return sum(flow.cpu_ns(load) for flow in self._flows for load in flow.ends)

    def rows(self) -> Iterator[dict[str, Any]]:
        for flow in self._flows:
            yield from flow.rows()

    def document(self) -> dict[str, Any]:
        """Name of each → what was in force and every snapshot of both ends."""
        return {
            flow.asked.name: {
                "asked": flow.asked.definition(),
                "congestion_control": flow.sender.asked.get("congestion_control"),
                "snapshots": flow.accounts,
            }
            for flow in self._flows
        }


class _Flow:
    """One entry: its two processes, and after the trial their snapshots by process."""

    def __init__(self, crew: Crew, links: Links, asked: CrossTraffic):
        self.asked = asked
        self.receiver = LoadProcess(crew, f"{asked.name}, receiver", asked.to)
        self.sender = LoadProcess(crew, f"{asked.name}, sender", asked.from_)
        self.ends = (self.receiver, self.sender)
        self.accounts: dict[str, list[Snapshot]] = {}
        self._control = asked.congestion_control or links.network.congestion_control
        self._address = addresses.text(addresses.ipv4(links.hosts.index(asked.to) + 1))

    def command(self) -> dict[str, Any]:
        """`start` of the sender, once the receiver listens."""
        to = f"{self._address}:{self.receiver.asked['port']}"
        fields = {"to": to, "flows": self.asked.flows, "congestion_control": self._control}
        if self.asked.piece is not None:
            fields["piece"] = self.asked.piece
        return {"kind": "tcp_send", "tcp": fields}

    def answered(self, load: LoadProcess, number: int) -> dict[str, Any]:
        reply = load.answer(number)
        if reply is None:
            raise NetworkBroken(f"cross traffic from {load.name}: {load.problem}")
        return reply

    def check_congestion_control(self) -> None:
        given = self.sender.asked.get("congestion_control")
        if given != self._control:
            text = (
                f"cross traffic from {self.asked.name} has congestion control {given}, asked "
                f"for {self._control}"
            )
            raise NetworkBroken(text)

    def check_accounts(self) -> None:
        for load in self.ends:
            if not {"steady_begin", "steady_end"} <= {
                one["at"] for one in self.accounts[load.name]
            }:
                raise NetworkBroken(
                    f"cross traffic from {load.name}: it gave no account of the window"
                )
        open_flows = self._at(self.sender, "steady_begin")["tcp_flows_open"]
        if open_flows < self.asked.flows:
            text = (
                f"{open_flows} of {self.asked.flows} flows from {self.asked.name} were there "
                "as the window began"
            )
            raise NetworkBroken(f"cross traffic: {text}")

    def cpu_ns(self, load: LoadProcess) -> int:
        return int(
            self._at(load, "steady_end")["cpu_ns"] - self._at(load, "steady_begin")["cpu_ns"]
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """What the receiver had read at the window's edges and after each second of it, and both
        ends' CPU time."""
        seconds = 0
        for one in self.accounts[self.receiver.name]:
            at = one["at"]
            if at == "second":
                seconds += 1
                at = f"second_{seconds}"
            elif at not in ("steady_begin", "steady_end"):
                continue
            yield _row(self.receiver, "tcp.received", "bytes", at, one["tcp_bytes_received"])
            yield _row(self.receiver, "snapshot_time", "ns", at, one["time_ns"])
        for load in self.ends:
            for at in ("steady_begin", "steady_end"):
                yield _row(load, "cpu", "ns", at, self._at(load, at)["cpu_ns"])
        still_open = self._at(self.sender, "steady_end")["tcp_flows_open"]
        yield _row(self.sender, "tcp.flows_open", "count", "steady_end", still_open)

    def _at(self, load: LoadProcess, at: str) -> Snapshot:
        return next(one for one in self.accounts[load.name] if one["at"] == at)


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
