"""`python -m bench network [--seconds S] [--times N] [--json]`: the networks between hosts against
what they promise.

Both backends carry the same traffic over the same words: TCP as fast as a link lets it, whose
goodput has an ideal (1448 of each frame's 1514 bytes); and datagrams that are lost, of which as
many arrive as chance allows. So each is held against arithmetic, and the two against each other.
Where the switch is, its lateness and its processor time per frame stand beside it; a busy machine
shows in these first.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rmwbench.errors import UserError
from rmwbench.lab.host import HostBroken, Hosts
from rmwbench.lab.network import Emulation, NetworkBroken, kernel
from rmwbench.lab.network.network_checks import lateness
from rmwbench.lab.network.network_probe import chance_bound
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.suite.network.network import Access, Links, Network
from rmwbench.suite.network.spec import Spec

HOSTS = ("robot", "base")
RATES_MBPS = (54.0, 300.0, 1000.0, 2500.0, None)
SWITCH_MOST_MBPS = 1000.0
LOSSES, DATAGRAMS = (0.01, 0.1, 0.4), 20_000
PAYLOAD, FRAME = 1448, 1514
PROMISED = 0.01
AGREED_CHANCE = 0.01
HELLO_S, MARGIN_S = 10.0, 20.0

_REAL_TIME = """
import os
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except OSError:
    pass
"""
"""What is sent and received shall not wait for what else runs: behind the switch, which has such a
priority, too."""

_TCP = """
import _socket, os, time
role, address, seconds = ARGUMENTS[0], ARGUMENTS[1], float(ARGUMENTS[2])
sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
if role == "send":
    sock.setsockopt(_socket.IPPROTO_TCP, 13, b"cubic")  # TCP_CONGESTION
    for _ in range(2000):
        try:
            sock.connect((address, 9))
            break
        except OSError:
            time.sleep(1e-3)
    end, data = time.monotonic() + seconds, bytes(1 << 17)
    while time.monotonic() < end:
        sock.send(data)
else:
    sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    sock.bind((address, 9))
    sock.listen(1)
    fd, _ = sock._accept()
    peer = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 0, fd)
    room, begin, size, mark, last = bytearray(1 << 20), time.monotonic(), 0, None, None
    while True:
        count = peer.recv_into(room)
        if not count:
            break
        now, size = time.monotonic(), size + count
        if mark is None and now > begin + seconds / 4:  # behind slow start
            mark = now, size
        last = now, size
    os.write(4, b"%.0f" % (8 * (last[1] - mark[1]) / (last[0] - mark[0])))
"""

_UDP = """
import _socket, os, time
role, address, count = ARGUMENTS[0], ARGUMENTS[1], int(ARGUMENTS[2])
sock = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
if role == "send":
    time.sleep(0.2)
    begin = time.monotonic()
    for k in range(count):
        while time.monotonic() < begin + k * 5e-5:
            pass
        sock.sendto(bytes(100), (address, 9))
    for _ in range(50):
        sock.sendto(b"end", (address, 9))
        time.sleep(0.01)
else:
    sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVBUF, 32 << 20)
    sock.bind((address, 9))
    sock.settimeout(8)
    arrived = 0
    while len(sock.recv(200)) == 100:
        arrived += 1
    os.write(4, b"%d" % arrived)
"""


@dataclass(frozen=True)
class Carried:
    """One link under load. `ideal_mbps` is None without a rate; lateness, processor time and its
    share of a core are the switch's."""

    backend: str
    rate_mbps: float | None
    goodput_mbps: float
    lowest_mbps: float
    highest_mbps: float
    ideal_mbps: float | None
    late_p50_us: float | None
    late_p99_us: float | None
    cpu_per_frame_us: float | None
    core: float | None

    @property
    def kept(self) -> bool | None:
        return (
            None
            if self.ideal_mbps is None
            else abs(self.goodput_mbps / self.ideal_mbps - 1) <= PROMISED
        )


@dataclass(frozen=True)
class Lost:
    """A loss as it was asked for, and as the backend and a receiver counted it."""

    backend: str
    asked: float
    sent: int
    counted: int
    missing: int

    @property
    def within(self) -> bool:
        """Whether chance explains it, at 99 %."""
        return chance_bound(self.counted, self.sent, self.asked) >= AGREED_CHANCE


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench network", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=3.0, metavar="S", help="of traffic per figure of a rate"
    )
    parser.add_argument(
        "--times",
        type=int,
        default=3,
        metavar="N",
        help="runs per rate; their median is the figure",
    )
    parser.add_argument("--json", action="store_true", help="the whole result as one JSON document")
    options = parser.parse_args(arguments)
    try:
        missing = kernel.works()[kernel.RATE]
        backends = ["switch"] if missing else ["switch", "kernel"]
        if missing:
            print(f"no kernel backend here: {missing}", file=sys.stderr)
        lost = list(losses(backends))
        carried = list(rates(backends, options.seconds, options.times))
    except (UserError, HostBroken, NetworkBroken) as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        document = {"rates": [asdict(rate) | {"kept": rate.kept} for rate in carried]}
        document["losses"] = [asdict(loss) | {"within": loss.within} for loss in lost]
        print(json.dumps(document | {"load_average": os.getloadavg()}, indent=1))
    else:
        _print(carried, lost)
    return 0


def rates(backends: list[str], seconds: float, times: int) -> Iterator[Carried]:
    """Each backend at each rate in turn, so that what the machine does meanwhile hits both."""
    for rate_mbps in RATES_MBPS:
        for backend in backends:
            if backend == "switch" and rate_mbps is not None and rate_mbps > SWITCH_MOST_MBPS:
                continue
            runs = sorted(
                (_carried(backend, rate_mbps, seconds) for _ in range(times)),
                key=lambda run: run[0],
            )
            middle = runs[len(runs) // 2]
            ideal = None if rate_mbps is None else rate_mbps * PAYLOAD / FRAME
            yield Carried(
                backend, rate_mbps, middle[0], runs[0][0], runs[-1][0], ideal, *middle[1:]
            )


def losses(backends: list[str]) -> Iterator[Lost]:
    for loss in LOSSES:
        for backend in backends:
            with _Joined(backend, Spec.model_validate({"loss": loss})) as joined:
                before = joined.network._switch.mark()
                arrived = int(joined.run(_UDP, DATAGRAMS))
                after = joined.network._switch.mark()
            counted = after.growth(before, "robot", "up", "lost")
            sent = after.growth(before, "robot", "up", "frames")
            yield Lost(backend, loss, sent, counted, DATAGRAMS - arrived)


def _carried(backend: str, rate_mbps: float | None, seconds: float) -> tuple[float | None, ...]:
    """Goodput in Mbit/s, and of the switch: lateness p50 and p99 and processor time per frame in
    µs, share of a core."""
    with _Joined(backend, Spec(rate_mbps=rate_mbps)) as joined:
        cpu_ns, begin = joined.network.cpu_ns(), time.monotonic()
        bits_per_s = float(joined.run(_REAL_TIME + _TCP, seconds))
        cpu_ns, elapsed = (joined.network.cpu_ns() or 0) - (cpu_ns or 0), time.monotonic() - begin
        joined.network.end(0, 1 << 62, lambda *_: None)
        frames = joined.network.frames
    if frames is None:
        return bits_per_s / 1e6, None, None, None, None
    late_us = {name: ns / 1e3 for name, ns in lateness(frames, 0, 1 << 62).items()}
    cpu_per_frame_us = cpu_ns / 1e3 / max(1, len(frames))
    core = cpu_ns / 1e9 / elapsed
    return bits_per_s / 1e6, late_us.get("p50"), late_us.get("p99"), cpu_per_frame_us, core


class _Joined:
    """Two hosts and the network between them, up; the spec is of the robot's way up."""

    def __init__(self, backend: str, spec: Spec):
        network = Network(backend=backend, links={"robot": Access(up=spec)})
        self._hosts = Hosts("bench", HOSTS)
        try:
            self._hosts.wait_ready()
            self._processes = TrialProcesses(self._hosts)
            self.network = Emulation(
                self._processes, self._hosts, Links(None, HOSTS, network), 3_000_000
            )
            self.network.spawn()
            self._processes.wait_hello(HELLO_S)
            self.network.up(int.from_bytes(os.urandom(4)))
        except BaseException:
            self._hosts.close()
            raise

    def __enter__(self) -> "_Joined":
        return self

    def __exit__(self, *_: object) -> None:
        self.network.close()
        self._processes.__exit__()
        self._hosts.close()

    def run(self, program: str, amount: float) -> bytes:
        """Sends from the robot to the base; what the receiver says."""
        programs = {
            "robot": (program, ["send", "10.77.0.2", str(amount)]),
            "base": (program, ["receive", "10.77.0.2", str(amount)]),
        }
        results = self._processes.run_programs(programs, MARGIN_S + (amount if amount < 100 else 0))
        if any(status != 0 for status, _ in results.values()):
            raise HostBroken(f"a program of the bench ended with {results}")
        return results["base"].output


def _print(carried: list[Carried], lost: list[Lost]) -> None:
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    print(
        "TCP          goodput (ideal), Mbit/s      within 1 %   late p50, p99, µs   CPU per frame, "
        "µs   of a core"
    )
    for row in carried:
        rate = "no limit" if row.rate_mbps is None else f"{row.rate_mbps:g} Mbit/s"
        ideal = "" if row.ideal_mbps is None else f" ({row.ideal_mbps:.1f})"
        kept = {None: "", True: "yes", False: "no"}[row.kept]
        spread = f"{row.lowest_mbps:.0f} to {row.highest_mbps:.0f}"
        text = f"{row.backend:7}{rate:>13}  {row.goodput_mbps:.1f}{ideal}, {spread:20} {kept:4}"
        if row.late_p50_us is not None:
            p99_us = "–" if row.late_p99_us is None else f"{row.late_p99_us:.0f}"
            text += (
                f" {row.late_p50_us:10.1f} {p99_us:>8} "
                f"{row.cpu_per_frame_us:12.1f} {row.core:14.2f}"
            )
        print(text)
    print(
        "\nloss asked   backend   lost (of frames that came)   missed by the receiver   within 99 "
        "% of chance"
    )
    for row in lost:
        share = f"{100 * row.counted / row.sent:.2f} % ({row.counted} of {row.sent})"
        within = "yes" if row.within else "NO"
        print(
            f"{100 * row.asked:6g} %     {row.backend:9} {share:28} {row.missing:12} {within:>20}"
        )
    apart = list(_apart(carried))
    if apart:
        most, median = 100 * max(apart), 100 * statistics.median(apart)
        print(f"\nthe backends' rates are at most {most:.1f} % apart, {median:.1f} % in the median")


def _apart(carried: list[Carried]) -> Iterator[float]:
    """Yield by how much the larger goodput of two backends at the same rate exceeds the other."""
    by_rate: dict[float, list[float]] = {}
    for row in carried:
        if row.rate_mbps is not None:
            by_rate.setdefault(row.rate_mbps, []).append(row.goodput_mbps)
    yield from (max(both) / min(both) - 1 for both in by_rate.values() if len(both) == 2)
