"""Compares the clocks of a trial's hosts with the orchestrator's, by exchanges over the control
sockets.

The network under test is not used: the delay and jitter of a link would widen the bound. A host on
this kernel and in our time namespace has our clock, which is looked up and not measured. On any
other host, one worker answers for all, since its processes have one clock. On another machine the
agent answers, which is faster; the end of the trial shows whether the workers stamp with the same
clock. Readings are taken before the window, in it and after it;
`rmwbench.analysis.records.clocks` computes the offset at any time from them.
"""

import os
import time
from collections.abc import Iterator, Mapping

from rmwbench.analysis.records.clocks import Clock, Exchange, OffsetReading, fit, intersect
from rmwbench.lab.host import RemoteHost
from rmwbench.lab.host.connection import SILENCE_S
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.lab.process.worker import WorkerProcess

EXCHANGES, EXCHANGES_IN_WINDOW = 32, 8
"""The exchanges of a reading, of which the shortest counts; an exchange takes some 50 µs."""
TIMEOUT_S = SILENCE_S + 3.0
"""It is longer than SILENCE_S, so that a lost machine is not reported as a hanging worker."""
TIMEOUT_IN_WINDOW_S = 0.05
"""The window does not wait for a busy worker: the readings on both sides are enough."""
IN_WINDOW_NS = 1_000_000_000
"""The window has at most one reading a second: the processors belong to the trial."""

OWN = fit([OffsetReading(0, 0, 0)])


class HostClocks:
    """The clocks of one trial. `host_of` is worker → host."""

    def __init__(self, processes: TrialProcesses, host_of: Mapping[str, str]):
        self._processes, self._host_of = processes, dict(host_of)
        self._readings: dict[str, list[OffsetReading]] = {}
        self._clocks: dict[str, Clock] = {}
        self._begun_ns = 0

    def begin(self) -> None:
        """Finds the hosts whose clock is not ours, and reads their clocks. Raises WorkerFailed."""
        self._begun_ns = time.monotonic_ns()
        for process, host in self._started_workers():
            if not is_own(self._processes.workers[process].pid):
                self._readings.setdefault(host, [])
        self.read()

    @property
    def foreign(self) -> tuple[str, ...]:
        """Hosts whose clock is not ours."""
        return tuple(self._readings)

    def read(self) -> None:
        """Reads each foreign clock whose host still has a worker. Raises WorkerFailed."""
        for host in self._readings:
            speaker = self._speaker(host)
            if not self._read_clock(host, speaker, EXCHANGES, TIMEOUT_S) and not speaker.ended:
                raise speaker.failure("timeout", f"did not answer `clock` within {TIMEOUT_S:g} s")

    def read_in_window(self) -> None:
        """Reads the clocks with fewer exchanges, within the window, and skips a host that does not
        answer at once. Raises WorkerFailed where a worker ends."""
        for host in self._readings:
            self._read_clock(host, self._speaker(host), EXCHANGES_IN_WINDOW, TIMEOUT_IN_WINDOW_S)

    def clock_of(self, process: str) -> Clock:
        """The clock of a worker's stamps, as far as it is known by now."""
        return self.host_clock(self._host_of[process])

    def host_clock(self, host: str) -> Clock:
        """The clock of a host, as far as it is known by now. Raises WorkerFailed where its readings
        contradict each other, because the clock was stepped."""
        if not self._readings.get(host):
            return OWN
        if host not in self._clocks:
            try:
                self._clocks[host] = fit(self._readings[host])
            except ValueError as error:
                raise self._speaker(host).failure("clock", str(error)) from None
        return self._clocks[host]

    def check(self) -> None:
        """Raises WorkerFailed where the readings of a clock contradict each other."""
        for host in self._readings:
            self.host_clock(host)

    def rows(self) -> Iterator[dict[str, object]]:
        """Rows of the table `clock_map`: every reading of a foreign clock, and one exact row for
        each host with our own clock. A trial with one host and our own clock has no rows, since
        there is nothing to translate."""
        hosts = dict.fromkeys(self._host_of.values())
        if len(hosts) < 2 and not self._readings:
            return
        for host in hosts:
            for reading in self._readings.get(host) or [OffsetReading(self._begun_ns, 0, 0)]:
                yield {"host": host, **reading._asdict()}

    def _speaker(self, host: str) -> WorkerProcess:
        workers = [
            self._processes.workers[process]
            for process, host_name in self._started_workers()
            if host_name == host
        ]
        return next((worker for worker in workers if not worker.ended), workers[0])

    def _started_workers(self) -> list[tuple[str, str]]:
        """The (process, host) of each worker that has started; a successor starts later."""
        return [
            (process, host)
            for process, host in self._host_of.items()
            if process in self._processes.workers
        ]

    def _read_clock(self, host: str, worker: WorkerProcess, count: int, timeout_s: float) -> bool:
        """Takes a reading by successive exchanges. Returns whether the worker answered."""
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
                raise worker.failure("protocol", f"has no steady clock: {error}") from None
            self._clocks.pop(host, None)
        return bool(exchanges)

    def _exchange(self, worker: WorkerProcess, deadline: float) -> Exchange | None:
        if isinstance(worker.host, RemoteHost):
            times_ns = worker.host.exchange_clock(deadline - time.monotonic())
            if times_ns is None:
                # Its other connection tells whether the machine is lost; then this raises.
                self._processes.turn_until(lambda: worker.ended, deadline - time.monotonic())
                return None
            return Exchange(*times_ns)
        command = worker.request("clock", {})
        rest_s = deadline - time.monotonic()
        self._processes.turn_until(lambda: command.answered or worker.ended, rest_s)
        if not command.answered:
            return None
        times = command.take()
        return Exchange(
            command.asked_ns, times["received_ns"], times["sent_ns"], command.answered_ns
        )


def is_own(pid: int | None) -> bool:
    """Whether a process reads our CLOCK_MONOTONIC; False where that is unknown, as for a process of
    another machine. The processes of a time namespace have one clock (time_namespaces(7)); a kernel
    without such namespaces has one clock for all."""
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
