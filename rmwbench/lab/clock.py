"""The clocks of a trial's hosts against the orchestrator's, by exchanges over the control sockets.

The control socket is not the network under test: a link's delay and jitter would be in the bound. A
host on this kernel and in our time namespace has our very clock: that is looked up, not measured,
and costs nothing. Of any other host one worker speaks for all, since its processes have one clock;
on another machine its agent does, which answers sooner, and whether the workers stamp with the same
clock is seen at the end of the trial. Readings are taken before the window, in it and after it;
`rmwbench.analysis.records.clocks` makes of them what is known at a time.
"""

import os
import time
from collections.abc import Iterator, Mapping

from rmwbench.analysis.records.clocks import Clock, Exchange, OffsetReading, fit, intersect
from rmwbench.lab.host import RemoteHost
from rmwbench.lab.host.connection import SILENCE_S
from rmwbench.lab.process.crew import Crew
from rmwbench.lab.process.worker import WorkerProcess

EXCHANGES, EXCHANGES_IN_WINDOW = 32, 8
"""The exchanges of a reading. One takes some 50 µs; the shortest of 32 is rarely longer than one alone on
an idle machine."""
TIMEOUT_S = SILENCE_S + 3.0
"""Longer than a machine may be silent: one that is lost is then said to be, and no worker is blamed."""
TIMEOUT_IN_WINDOW_S = 0.05
"""A worker that is stopped or busy is not waited for in the window: the readings on both sides are
enough."""
IN_WINDOW_NS = 1_000_000_000
"""At most one reading a second there: the processors belong to the trial."""

OWN = fit([OffsetReading(0, 0, 0)])


class HostClocks:
    """The clocks of one trial. `places`: worker → host; those who were started have said hello by the time of
    `begin`."""

    def __init__(self, crew: Crew, places: Mapping[str, str]):
        self._crew, self._places = crew, dict(places)
        self._readings: dict[str, list[OffsetReading]] = {}
        self._clocks: dict[str, Clock] = {}
        self._begun_ns = 0

    def begin(self) -> None:
        """Finds the hosts that have another clock than ours, and reads theirs. Raises
        WorkerFailed."""
        self._begun_ns = time.monotonic_ns()
        for process, host in self._here():
            if not is_own(self._crew.workers[process].pid):
                self._readings.setdefault(host, [])
        self.read()

    @property
    def foreign(self) -> tuple[str, ...]:
        """Hosts whose clock is not ours."""
        return tuple(self._readings)

    def read(self) -> None:
        """One reading of each foreign clock, where a worker of its host still runs. Raises
        WorkerFailed where it does not answer."""
        for host in self._readings:
            speaker = self._speaker(host)
            if not self._take(host, speaker, EXCHANGES, TIMEOUT_S) and not speaker.ended:
                raise speaker.failure("timeout", f"did not tell its clock within {TIMEOUT_S:g} s")

    def read_in_window(self) -> None:
        """Reads the clocks with fewer exchanges, within the window; who does not answer at once is
        left alone. Raises WorkerFailed where one ends."""
        for host in self._readings:
            self._take(host, self._speaker(host), EXCHANGES_IN_WINDOW, TIMEOUT_IN_WINDOW_S)

    def clock_of(self, process: str) -> Clock:
        """The clock that a worker stamps with, as far as it is known by now."""
        return self.of_host(self._places[process])

    def of_host(self, host: str) -> Clock:
        """Raises WorkerFailed where its readings contradict each other: it was stepped."""
        if not self._readings.get(host):
            return OWN
        if host not in self._clocks:
            try:
                self._clocks[host] = fit(self._readings[host])
            except ValueError as error:
                raise self._speaker(host).failure("clock", str(error)) from None
        return self._clocks[host]

    def check(self) -> None:
        """Whether each clock's readings fit together, now that all are there. Raises
        WorkerFailed."""
        for host in self._readings:
            self.of_host(host)

    def rows(self) -> Iterator[dict[str, object]]:
        """Rows of the table `clock_map`: every reading of a foreign clock, and one exact row of each
        that is our own. None where the trial has one host with our own clock: there is nothing to
        translate."""
        hosts = dict.fromkeys(self._places.values())
        if len(hosts) < 2 and not self._readings:
            return
        for host in hosts:
            for reading in self._readings.get(host) or [OffsetReading(self._begun_ns, 0, 0)]:
                yield {"host": host, **reading._asdict()}

    def _speaker(self, host: str) -> WorkerProcess:
        workers = [
            self._crew.workers[process] for process, host_name in self._here() if host_name == host
        ]
        return next((worker for worker in workers if not worker.ended), workers[0])

    def _here(self) -> list[tuple[str, str]]:
        """The processes whose worker has started; a killed one's successor starts later."""
        return [
            (process, host)
            for process, host in self._places.items()
            if process in self._crew.workers
        ]

    def _take(self, host: str, worker: WorkerProcess, count: int, timeout_s: float) -> bool:
        """Whether it told the time. Exchanges one after the other: two under way would wait for
        each other."""
        deadline = time.monotonic() + timeout_s
        exchanges: list[Exchange] = []
        while len(exchanges) < count and not worker.ended:
            exchange = self._exchange(worker, deadline)
            if exchange is None:
                break
            exchanges.append(exchange)
        if exchanges:
            try:
                self._readings[host].append(intersect(exchanges))
            except ValueError as error:
                raise worker.failure("protocol", f"tells no steady clock: {error}") from None
            self._clocks.pop(host, None)
        return bool(exchanges)

    def _exchange(self, worker: WorkerProcess, deadline: float) -> Exchange | None:
        if isinstance(worker.host, RemoteHost):
            times_ns = worker.host.exchange_clock(deadline - time.monotonic())
            if times_ns is None:
                # Its other connection says whether the machine is lost: then this raises.
                self._crew.turn_until(lambda: worker.ended, deadline - time.monotonic())
                return None
            return Exchange(*times_ns)
        command = worker.request("clock", {})
        rest_s = deadline - time.monotonic()
        self._crew.turn_until(lambda: command.answered or worker.ended, rest_s)
        if not command.answered:
            return None
        times = command.take()
        return Exchange(
            command.asked_ns, times["received_ns"], times["sent_ns"], command.answered_ns
        )


def is_own(pid: int | None) -> bool:
    """Whether a process of this machine reads our CLOCK_MONOTONIC; not where that cannot be told
    (another machine). Processes of one time namespace have one clock (time_namespaces(7)); a kernel
    without them has one for all."""
    if pid is None:
        return False
    try:
        own_namespace = os.readlink("/proc/self/ns/time")
    except FileNotFoundError:
        return True
    try:
        return os.readlink(f"/proc/{pid}/ns/time") == own_namespace
    except OSError:
        return False
