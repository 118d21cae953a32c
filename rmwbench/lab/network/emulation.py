"""The network of one trial over several hosts: apply, read back, try, use, check.

    emulation = Emulation(crew, hosts, links, log_records)
    emulation.up(seed)                   # every host's own part and the link, read back
    emulation.probe()                    # datagrams through all of it; rows and findings
    emulation.schedule(steady_ns)        # what changes when; the link makes its own changes
    …within the window: due_ns, apply_due, hear
    emulation.end(begin_ns, end_ns)      # document, frame log, promise
    emulation.close()

Fails closed: what is not as asked for is a Finding, and the trial is void where that cannot be borne.
"""

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rmwbench.lab.crew import Crew
from rmwbench.lab.host import Hosts
from rmwbench.lab.host.host import NetlinkMessage
from rmwbench.lab.network import plumbing, probe, promise
from rmwbench.lab.network.plumbing import NetworkBroken, Place
from rmwbench.lab.network.probe import Finding
from rmwbench.lab.network.switch import Switch
from rmwbench.suite.network import Links, NetworkChange, described
from rmwbench.suite.timeline import to_ns

CONFIGURE_TIMEOUT_S = 5.0
_CPU_CLOCK = 2
"""The clock of all of a process's threads, in the number that the kernel makes of its PID (clock_getcpuclockid(3))."""

Noted = Callable[[str, str, int], None]
"""Host, what was changed, and when it was done (ns of CLOCK_MONOTONIC)."""


class Emulation:
    """`findings` are what is not as asked for, `rows` the probes, `frames` the log of what passed since the probes,
    `files` what is kept of it as files of the trial."""

    def __init__(self, crew: Crew, hosts: Hosts, links: Links, log_records: int):
        self.findings: list[Finding] = []
        self.rows: list[dict[str, Any]] = []
        self.frames: np.ndarray | None = None
        self.files: dict[str, bytes] = {}
        self.document: dict[str, Any] | None = None
        self._crew, self._links = crew, links
        self._places = {
            host: Place(host, number, hosts[host].device or 0) for number, host in enumerate(links.hosts, start=1)
        }
        self._switch = Switch(crew, hosts, links, log_records)
        self._record: dict[str, Any] = {"hosts": {}}
        self._first_frame = 0
        self._steady_ns = 0
        self._due: deque[tuple[int, NetworkChange]] = deque()
        self._asked: dict[str, tuple[str, str]] = {}  # token → (host, what)
        self._link_changes: list[NetworkChange | None] = []  # in order; None are no news to the trial
        for name, trace in links.traces.items():
            self.files[f"trace.{name}"] = trace.text.encode()

    @property
    def is_up(self) -> bool:
        return "network.json" in self.files

    def cpu_ns(self) -> int | None:
        """What the link's process has used, read from outside; None where it is gone."""
        pid = self._switch.pid
        if pid is None:
            return None
        try:
            return time.clock_gettime_ns((~pid << 3) | _CPU_CLOCK)
        except OSError:
            return None

    def spawn(self) -> None:
        """Starts the link; whoever waits for the workers' hello waits for it. Raises UserError."""
        self._switch.spawn()

    def up(self, seed: int) -> None:
        """Addresses, neighbours, rates, settings, and the link between. Raises NetworkBroken, WorkerFailed or
        HostBroken."""
        opened = self._switch.open(seed)
        tokens = []
        for host, place in self._places.items():
            messages, writes, reads = plumbing.setup(place, self._links)
            tokens.append(self._crew.configure(host, "setup", messages, writes, reads))
        done = self._crew.await_configured(tokens, CONFIGURE_TIMEOUT_S)
        for (host, place), configured in zip(self._places.items(), done, strict=True):
            self._record["hosts"][host] = plumbing.check(place, self._links, configured)
        self._record |= {"network": self._links.definition(), "link": opened}
        self.files["network.json"] = json.dumps(self._record).encode()

    def probe(self) -> None:
        """Tries it. Raises as `up` does."""
        before = self._switch.mark()
        seen = probe.run(self._crew, self._links)
        after = self._switch.mark()
        rows, findings = probe.judged(self._links, seen, before, after)
        self.rows += rows
        self.findings += findings
        self._first_frame = after.index

    def schedule(self, steady_ns: int) -> None:
        """The changes, counted from the start of the steady state. Raises as `up` does."""
        self._steady_ns = steady_ns
        for_link = self._restarted_traces(steady_ns)
        self._link_changes = [None] * len(for_link)
        state: dict[str, set[str]] = {host: set() for host in self._links.hosts}  # what `up` has to end
        for change in sorted(self._links.network.changes, key=lambda one: one.at_s):
            at_ns, made = steady_ns + to_ns(change.at_s), state[change.host]
            by_link, by_host = _made_by(change, made)
            if by_link:
                what = change.change or {way: spec for way in ("up", "down") if (spec := change.spec(way)) is not None}
                for_link.append(self._switch.wire_change(at_ns, change.host, what))
                self._link_changes.append(change)
            if by_host:
                self._due.append((at_ns, change))
        self._switch.schedule(for_link)

    @property
    def due_ns(self) -> int | None:
        """When a host has to be told next."""
        return self._due[0][0] if self._due else None

    def apply_due(self, now_ns: int) -> None:
        """Tells the hosts what is due; does not wait."""
        while self._due and self._due[0][0] <= now_ns:
            _, change = self._due.popleft()
            token = self._crew.configure(change.host, "change", self._messages(change))
            self._asked[token] = change.host, _words(change)

    def hear(self, noted: Noted) -> None:
        """What hosts have done since the last time. Raises NetworkBroken where one could not."""
        for token in [token for token in self._asked if token in self._crew.configured]:
            host, what = self._asked.pop(token)
            done = self._crew.configured.pop(token)
            if done.failed is not None:
                step, number = done.failed
                raise NetworkBroken(f"host {host}: {what}: {step}: errno {number}")
            noted(host, what, done.time_ns)

    def settle(self, noted: Noted) -> None:
        """Waits for the hosts that were told. Raises as `up` does."""
        deadline = time.monotonic() + CONFIGURE_TIMEOUT_S
        while self._asked and (rest := deadline - time.monotonic()) > 0:
            self.hear(noted)
            if self._asked:
                self._crew.turn(min(rest, 0.05))

    def end(self, begin_ns: int, end_ns: int, noted: Noted) -> None:
        """Takes document and log, and checks the promise between these times. Raises as `up` does."""
        tokens = [self._crew.configure(host, "end", reads=[plumbing.DEVICES]) for host in self._places]
        done = self._crew.await_configured(tokens, CONFIGURE_TIMEOUT_S)
        dropped = {
            host: plumbing.dropped_frames(configured.texts[plumbing.DEVICES])
            for host, configured in zip(self._places, done, strict=True)
        }
        document, raw, frames, unlogged = self._switch.collect()
        self.document, self.files["link.json"] = document, raw
        self.frames = frames[frames["index"] >= self._first_frame]
        late = promise.lateness(self.frames, begin_ns, end_ns)
        self.findings += promise.kept(self._links, document, unlogged, late, dropped)
        self.rows += [
            {"probe": f"network.late_{name}", "unit": "ns", "at": "window", "value": value}
            for name, value in late.items()
        ]
        for change, made in zip(self._link_changes, document.get("changes", []), strict=False):
            if change is not None:
                noted(change.host, _words(change), made["done_ns"])

    def close(self) -> None:
        self._switch.close()

    def _restarted_traces(self, steady_ns: int) -> list[dict[str, Any]]:
        """Traces begin again with the steady state: discovery takes each candidate another while, and all should meet
        the same link at the same place of their windows."""
        return [
            self._switch.wire_change(steady_ns, host, {way: spec})
            for host in self._links.hosts
            for way in ("up", "down")
            if (spec := self._links.spec(host, way)).trace is not None
        ]

    def _messages(self, change: NetworkChange) -> list[NetlinkMessage]:
        place = self._places[change.host]
        if change.change == "admin_down":
            return plumbing.admin_down(place)
        if change.change == "new_address":
            return plumbing.new_address(place, self._links)
        if change.change == "up":
            return plumbing.admin_up(place, self._links)
        spec = change.spec("up")
        return plumbing.nic_rate(place, spec) if spec is not None else []


def _made_by(change: NetworkChange, made: set[str]) -> tuple[bool, bool]:
    """Whether the link and the host make a change; `made` is what is on, and is kept up. `up` ends whatever is."""
    what = change.change
    if what is None:
        spec = change.spec("up")
        return True, spec is not None and spec.at_nic
    if what == "up":
        ended = made.copy()
        made.clear()
        return bool(ended - {"admin_down"}) or not ended, "admin_down" in ended
    if what == "new_address":
        return False, True
    made.add(what)
    return what != "admin_down", what == "admin_down"


def _words(change: NetworkChange) -> str:
    """A change as events have it: its name, or the new spec."""
    if change.change is not None:
        return change.change
    specs: Mapping[str, Any] = {
        way: described(spec) for way in ("up", "down") if (spec := change.spec(way)) is not None
    }
    return json.dumps(specs)
