"""The network of one trial over several hosts: it is configured, read back, probed, used and
checked.

    emulation = Emulation(processes, hosts, links, log_records)
    emulation.up(seed)                     # configures each host and the link, and reads them back
    emulation.probe()                      # sends datagrams through all of it: rows and findings
    emulation.schedule(steady_ns, end_ns)  # changes and their times; the link makes its own
    …within the window: due_ns, apply_due, hear
    emulation.end(begin_ns, end_ns)        # document, frame log, checks
    emulation.close()

It fails closed: a difference from the suite is a NetworkFinding, which voids the trial where the
results do not tolerate it.
"""

import json
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmwbench.lab import probe_row
from rmwbench.lab.host import Configured, Hosts
from rmwbench.lab.host.host import NetlinkMessage
from rmwbench.lab.network import host_network, network_checks
from rmwbench.lab.network import network_probe as probe
from rmwbench.lab.network.host_network import HostDevices, NetworkBroken
from rmwbench.lab.network.kernel import KernelNetwork
from rmwbench.lab.network.network_probe import NetworkFinding
from rmwbench.lab.network.switch import Switch
from rmwbench.lab.process.trial_processes import NETWORK_HOST, TrialProcesses
from rmwbench.suite.network.network import KERNEL, ROAM, Links, NetworkChange, Port, spec_definition
from rmwbench.suite.network.spec import GilbertElliottTime, Spec
from rmwbench.suite.timeline import to_ns

CONFIGURE_TIMEOUT_S = 5.0
ROAMED = "roamed"
"""The event of a host that has joined its new medium; `roam` is that of leaving the old one."""
STEADY_BEGIN, STEADY_END = "steady_begin", "steady_end"
QUEUE_DROPPED = "interface.eth0.queue_dropped"
DEVICE = "eth0"
_CPU_CLOCK = 2
"""The bits of a process's CPU clock in its number (clock_getcpuclockid(3))."""

Note = Callable[[str, str, int], None]
"""Takes a host, its change, and the time at which that was made (ns of CLOCK_MONOTONIC)."""


@dataclass(frozen=True)
class ScheduledRequest:
    """A request to a host, or to that of the network (`where`), at a time. `words` are the event,
    None where another part of the same change has the event. With `edge`, the request only reads
    the queue of a host's own device at an edge of the window."""

    at_ns: int
    where: str
    host: str
    messages: list[NetlinkMessage]
    words: str | None
    edge: str | None = None


class Emulation:
    """The network of a trial. `findings` are the differences from the suite, `rows` the probes,
    `counters` the frames that the queues of hosts' own devices had dropped at both edges of the
    window, `unlogged` the number of frames for which the log had no room although all were counted
    (`document`), `frames` the log of the frames since the probes, and `files` the trial's files
    about the network."""

    def __init__(self, processes: TrialProcesses, hosts: Hosts, links: Links, log_records: int):
        self.findings: list[NetworkFinding] = []
        self.rows: list[dict[str, Any]] = []
        self.counters: list[dict[str, Any]] = []
        self.frames: np.ndarray | None = None
        self.unlogged = 0
        self.files: dict[str, bytes] = {}
        self.document: dict[str, Any] | None = None
        self._processes, self._links, self._hosts = processes, links, hosts
        self._devices = {
            host: HostDevices(host, number, hosts[host].device or 0, hosts[host].beside_devices)
            for number, host in enumerate(links.hosts, start=1)
        }
        self._kernel = (
            KernelNetwork(processes, hosts, links) if links.network.backend == KERNEL else None
        )
        self._switch = self._kernel or Switch(processes, hosts, links, log_records)
        self._record: dict[str, Any] = {"hosts": {}}
        self._first_frame = 0
        self._due: deque[ScheduledRequest] = deque()
        self._requests: dict[str, ScheduledRequest] = {}  # by their tokens
        # in order; None for a change that the host notes itself
        self._link_changes: list[NetworkChange | None] = []
        for sha256, trace in links.traces.items():
            self.files[f"trace.{sha256[:12]}.{trace.name}"] = trace.text.encode()

    @property
    def is_up(self) -> bool:
        return "network.json" in self.files

    def cpu_ns(self) -> int | None:
        """The CPU time of the link's process, read from outside; None where it is gone."""
        pid = self._switch.pid
        if pid is None:
            return None
        try:
            return time.clock_gettime_ns((~pid << 3) | _CPU_CLOCK)
        except OSError:
            return None

    def spawn(self) -> None:
        """Starts the link; waiting for the workers' hello includes it. Raises UserError."""
        self._switch.spawn()

    def up(self, seed: int) -> None:
        """Configures hosts and link. Raises NetworkBroken, WorkerFailed or HostBroken."""
        opened = self._switch.open(seed)
        tokens = []
        for host, devices in self._devices.items():
            setup = host_network.setup(devices, self._links)
            tokens.append(self._processes.configure(host, "setup", *setup))
        answers = self._processes.await_configured(tokens, CONFIGURE_TIMEOUT_S)
        for (host, devices), configured in zip(self._devices.items(), answers, strict=True):
            self._record["hosts"][host] = host_network.check(devices, self._links, configured)
        if self._kernel is not None:
            self._kernel.hosts_are_up()
        self._record |= {"network": self._links.definition(), "link": opened}
        self.files["network.json"] = json.dumps(self._record).encode()

    def probe(self) -> None:
        """Probes the network, and judges the result. Raises as `up` does."""
        before = self._switch.mark()
        arrivals = probe.run(self._processes, self._links)
        after = self._switch.mark()
        rows, findings = probe.judge(self._links, arrivals, before, after)
        self.rows += rows
        self.findings += findings
        self._first_frame = after.index

    def schedule(self, steady_ns: int, end_ns: int) -> None:
        """Schedules the changes, relative to the steady state. Raises as `up` does."""
        for_link = self._restarts(steady_ns)
        due = [_queue_reading(steady_ns, host, STEADY_BEGIN) for host in self._paced_hosts]
        self._link_changes = [None] * len(for_link)
        # outages, which a change `up` ends
        in_force: dict[str, set[str]] = {host: set() for host in self._links.hosts}
        for change in sorted(self._links.network.changes, key=lambda change: change.at_s):
            at_ns = steady_ns + to_ns(change.at_s)
            by_link, by_host = _makers(change, in_force[change.host])
            if by_host:
                words: str | None = "new_address" if change.change == ROAM else _words(change)
                joined_ns = steady_ns + to_ns(change.joined_s)
                messages = self._messages(change)
                due.append(ScheduledRequest(joined_ns, change.host, change.host, messages, words))
            if by_link and self._kernel is not None:
                words = None if by_host else _words(change)
                messages = self._kernel.change_messages(change)
                due.append(ScheduledRequest(at_ns, NETWORK_HOST, change.host, messages, words))
            elif by_link and isinstance(self._switch, Switch):
                for_link.append(_link_change(change, at_ns))
                noted_by_host = by_host and change.change != ROAM
                self._link_changes.append(None if noted_by_host else change)
        self._due.extend(sorted(due, key=lambda due: due.at_ns))
        if isinstance(self._switch, Switch):
            self._switch.schedule(for_link, (steady_ns, end_ns))

    @property
    def due_ns(self) -> int | None:
        """The time of the next request; None where there is none."""
        return self._due[0].at_ns if self._due else None

    def apply_due(self, now_ns: int) -> None:
        """Sends the requests whose time has come; does not wait."""
        while self._due and self._due[0].at_ns <= now_ns:
            self._request(self._due.popleft())

    def hear(self, note: Note) -> None:
        """Notes the changes that hosts have made since. Raises NetworkBroken for a failure."""
        for token in [token for token in self._requests if token in self._processes.configured]:
            request = self._requests.pop(token)
            configured = self._processes.configured.pop(token)
            if request.edge is not None:
                self._take_dropped(request, configured)
                continue
            if configured.failed is not None:
                step, number = configured.failed
                change = request.words or "its link"
                raise NetworkBroken(f"host {request.host}: {change}: {step}: {os.strerror(number)}")
            if request.where == NETWORK_HOST and self._kernel is not None:
                self._kernel.changed(request.messages, configured.answers)
            if request.words is not None:
                note(request.host, request.words, configured.time_ns)

    def settle(self, note: Note) -> None:
        """Reads the queues at the window's end, and waits for all requests. Raises as `up`."""
        for host in self._paced_hosts:
            self._request(_queue_reading(0, host, STEADY_END))
        deadline = time.monotonic() + CONFIGURE_TIMEOUT_S
        self.hear(note)
        while self._requests:
            rest_s = deadline - time.monotonic()
            if rest_s <= 0:
                host = next(iter(self._requests.values())).where.lstrip("/")
                text = f"host {host} did not answer within {CONFIGURE_TIMEOUT_S:g} s"
                raise NetworkBroken(text, machine=True)
            self._processes.turn(min(rest_s, 0.05))
            self.hear(note)

    def end(self, begin_ns: int, end_ns: int, note: Note) -> None:
        """Takes document and log, and checks them between these times. Raises as `up` does."""
        tokens = [
            self._processes.configure(host, "end", reads=[host_network.DEVICES])
            for host in self._devices
        ]
        answers = self._processes.await_configured(tokens, CONFIGURE_TIMEOUT_S)
        texts = {
            host: configured.texts[host_network.DEVICES]
            for host, configured in zip(self._devices, answers, strict=True)
        }
        dropped = {
            port.name: host_network.dropped_frames(texts[port.host], self._device_name(port))
            for port in self._links.ports
        }
        document, raw, frames, unlogged = self._switch.collect()
        self.document, self.files["link.json"] = document, raw
        late = {}
        if frames is not None:
            self.frames = frames[frames["index"] >= self._first_frame]
            late = network_checks.lateness(self.frames, begin_ns, end_ns)
        if unlogged and document.get("periods"):
            self.unlogged, unlogged = unlogged, 0
        self.findings += network_checks.check(self._links, document, unlogged, late, dropped)
        self.rows += [
            probe_row(f"network.late_{name}", value, "ns") for name, value in late.items()
        ]
        no_priority = self._record["link"].get("scheduler_reason")
        rows, findings = network_checks.check_wake_ups(
            self._links, document, begin_ns, end_ns, no_priority
        )
        self.rows += rows
        self.findings += findings
        for change, report in zip(self._link_changes, document.get("changes", []), strict=False):
            if change is None:
                continue
            note(change.host, _words(change), report["done_ns"])
            if change.change == ROAM and report.get("joined_ns") is not None:
                note(change.host, f"{ROAMED} {change.medium}", report["joined_ns"])

    def close(self) -> None:
        self._switch.close()

    def _device_name(self, port: Port) -> str:
        """The present name of a port's device, which a profile's file may have changed."""
        name = self._hosts[port.host].device_name
        return name if port.device == DEVICE else port.device

    @property
    def _paced_hosts(self) -> list[str]:
        """The hosts of the workload with a rate at their own device."""
        return [
            host
            for host in self._links.hosts
            if host not in self._links.traffic_hosts and self._links.spec(host, "up").at_nic
        ]

    def _request(self, request: ScheduledRequest) -> None:
        subject = "change" if request.edge is None else "queue"
        token = self._processes.configure(request.where, subject, request.messages)
        self._requests[token] = request

    def _take_dropped(self, request: ScheduledRequest, configured: Configured) -> None:
        """Adds the frames that a device's queue had dropped at an edge of the window."""
        if configured.failed is not None:
            return
        dropped = host_network.dropped_by_queue(self._devices[request.host], configured.answers[-1])
        if dropped is not None:
            row = {"process": request.host, "role": "machine", "counter": QUEUE_DROPPED}
            self.counters.append(row | {"unit": "count", "at": request.edge, "value": dropped})

    def _restarts(self, steady_ns: int) -> list[dict[str, Any]]:
        """Changes that restart all functions of time at the begin of the steady state: discovery
        takes a different time for each candidate, and all must have the same link at the same time
        of their windows."""
        if not isinstance(self._switch, Switch):
            return []
        return [
            {"at_ns": steady_ns, "link": port.name, "change": "restart"}
            for port in self._links.ports
            if any(_follows_time(self._links.port_spec(port, way)) for way in ("up", "down"))
        ]

    def _messages(self, change: NetworkChange) -> list[NetlinkMessage]:
        devices = self._devices[change.host]
        if change.change == "admin_down":
            return host_network.admin_down(devices)
        if change.change in ("new_address", ROAM):
            renumberings = [
                other
                for other in self._links.network.changes
                if other.host == change.host and other.renumbers
            ]
            in_time = sorted(renumberings, key=lambda other: other.joined_s)
            second = next(k for k, other in enumerate(in_time) if other is change) % 2 == 0
            return host_network.new_address(devices, self._links, second=second)
        if change.change == "up":
            return host_network.admin_up(devices, self._links)
        spec = change.spec("up")
        return host_network.change_nic(devices, spec) if spec is not None else []


def _queue_reading(at_ns: int, host: str, edge: str) -> ScheduledRequest:
    return ScheduledRequest(at_ns, host, host, [host_network.QUEUES], None, edge)


def _follows_time(spec: Spec) -> bool:
    return spec.trace is not None or isinstance(spec.loss, GilbertElliottTime)


def _link_change(change: NetworkChange, at_ns: int) -> dict[str, Any]:
    """A change in the form of the link protocol, at a time of CLOCK_MONOTONIC."""
    body: Any = change.change
    if body == ROAM:
        assert change.medium is not None
        body = {ROAM: change.medium, "gap_ns": round(1e6 * (change.gap_ms or 0))}
    elif body is None:
        body = {way: spec.wire() for way, spec in _specs(change).items()}
    return {"at_ns": at_ns, "link": change.host, "change": body}


def _specs(change: NetworkChange) -> dict[str, Spec]:
    """The new specs of a change, by their direction."""
    return {way: spec for way in ("up", "down") if (spec := change.spec(way)) is not None}


def _makers(change: NetworkChange, in_force: set[str]) -> tuple[bool, bool]:
    """Whether the link and the host make a change. Updates `in_force`; `up` clears it."""
    name = change.change
    if name is None:
        spec = change.spec("up")
        return True, spec is not None and spec.at_nic
    if name == "up":
        ended = in_force.copy()
        in_force.clear()
        return bool(ended - {"admin_down"}) or not ended, "admin_down" in ended
    if name == "new_address":
        return False, True
    if name == ROAM:
        return True, bool(change.new_address)
    in_force.add(name)
    return name != "admin_down", name == "admin_down"


def _words(change: NetworkChange) -> str:
    """The text of a change in events: its name, or the new specs."""
    if change.change == ROAM:
        return f"{ROAM} {change.medium}"
    if change.change is not None:
        return change.change
    return json.dumps({way: spec_definition(spec) for way, spec in _specs(change).items()})
