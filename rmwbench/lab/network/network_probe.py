"""Probes the network before a trial uses it: every host sends datagrams to the next one, over the
real devices.

The specs are compared with the arrivals at the receivers (delay, rate, missing frames) and with the
counters of the link (loss per direction). Only the effects of a spec are probed; a network without
effects takes 20 datagrams.
"""

import itertools
import marshal
import math
import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmwbench.lab import probe_row
from rmwbench.lab.network import addresses
from rmwbench.lab.network.probe_program import BURST, SMALL, SMALL_BYTES
from rmwbench.lab.network.switch import Mark
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.suite.network.network import KERNEL, Links
from rmwbench.suite.network.spec import GilbertElliottTime, Spec, ms_to_ns

_PROGRAM = Path(__file__).with_name("probe_program.py").read_text()
PORT = 47_077
MARGIN_S = 0.5
TIMEOUT_MARGIN_S = 8.0

FEWEST_AT_ONCE, MOST_TURNS, GAP_NS = 2, 10, 5_000_000
"""The flows follow each other in turns, since many at once would measure the processors."""
FEW, MANY = 20, 300
"""The datagrams of a flow without and with loss."""
LONGEST_S, INTERVAL_NS = 0.4, 200_000
LARGEST_BURST_BYTES, BURST_S, FEWEST, MOST = 1400, 0.06, 24, 400
FASTEST_BPS = 500_000_000
"""The fastest burst from Python; above this rate only the frame log tells the rate."""
IP_BYTES = 20 + 8
HEADERS_BYTES = 14 + IP_BYTES
SLOWEST_SENDING = 0.7
"""The longest share of its arrival time that sending a burst may take."""
RATE_FLAG, RATE_VOID = 0.15, 0.5
FLAG_CHANCE, VOID_CHANCE = 0.01, 1e-6
"""Of a hundred good trials, one is flagged. Voiding those too would discard trials that are merely
far from the mean, and bias the results; a faulty link is found at the smaller chance within a few
hundred frames."""
MOST_IN_ORDER = 0.7
"""Below this share of frames in order, the median delay may be that of a reordered frame."""
LATE_FLAG_NS, LATE_VOID_NS, EARLY_NS = 1_000_000, 20_000_000, 100_000


@dataclass(frozen=True)
class NetworkFinding:
    """A difference between the network and the suite. `void`: chance or a busy machine does not
    explain it; `machine`: a late machine explains it."""

    text: str
    void: bool
    machine: bool = False


@dataclass(frozen=True)
class ProbeFlow:
    """The datagrams from one host to the next, and the expectations of them."""

    sender: str
    receiver: str
    up: Spec
    down: Spec
    shared: bool
    """Whether the flow is on a medium, so that it has no rate and no delay of its own."""
    buckets: bool = False
    """Whether all rates are the kernel's, with which a frame alone takes no time."""
    quantum_ns: int = 0
    """The interval at which the link reads and writes frames."""

    @property
    def count(self) -> int:
        lossy = any(spec.loss or spec.trace for spec in (self.up, self.down))
        return min(MANY, int(LONGEST_S * 1e9 / self.interval_ns)) if lossy or self.shared else FEW

    @property
    def rate_bps(self) -> int | None:
        return min((spec.rate_bps for spec in (self.up, self.down) if spec.rate_bps), default=None)

    @property
    def interval_ns(self) -> int:
        bits = 8 * (SMALL_BYTES + HEADERS_BYTES)
        paced = round(2e9 * bits / self.rate_bps) if self.rate_bps else 0
        return max(INTERVAL_NS, paced, 2_000_000 if self.shared else 0)

    @property
    def burst_bytes(self) -> int:
        """The payload of a large datagram, which fits into one frame in both directions."""
        mtus = [spec.mtu_bytes for spec in (self.up, self.down) if spec.mtu_bytes is not None]
        return min([LARGEST_BURST_BYTES, *(mtu - IP_BYTES for mtu in mtus)])

    @property
    def burst_bits(self) -> int:
        """The size of the frame of a large datagram."""
        return 8 * (self.burst_bytes + HEADERS_BYTES)

    @property
    def burst(self) -> int:
        """The number of large datagrams in a burst; 0 where a burst would not show the rate."""
        rate_bps = self.rate_bps
        varying = self.up.trace or self.down.trace or self.up.jitter_ms or self.down.jitter_ms
        policed = self.up.police or self.down.police
        if rate_bps is None or rate_bps > FASTEST_BPS or self.shared or varying or policed:
            return 0
        most = min(MOST, max(FEWEST, round(rate_bps * BURST_S / self.burst_bits)))
        for spec in (self.up, self.down):
            most = min([most, *_queue_frames(spec, self.burst_bits)])
        return most if most >= FEWEST else 0

    @property
    def delay_ns(self) -> int | None:
        """The median delay of a small datagram that is alone; None where it is not fixed."""
        in_order = (1 - (self.up.reorder or 0)) * (1 - (self.down.reorder or 0))
        if self.shared or self.up.trace or self.down.trace or in_order < MOST_IN_ORDER:
            return None
        return self._way_ns

    @property
    def _way_ns(self) -> int:
        """The delay of a small datagram that is alone and not reordered."""
        bits = 8 * (SMALL_BYTES + HEADERS_BYTES)
        specs = () if self.buckets else (self.up, self.down)
        rates_bps = [spec.rate_bps for spec in specs if spec.rate_bps and not spec.at_nic]
        serialization_ns = sum(round(1e9 * bits / rate_bps) for rate_bps in rates_bps)
        return serialization_ns + sum(ms_to_ns(spec.delay_ms or 0) for spec in (self.up, self.down))

    @property
    def held_ns(self) -> int:
        """The additional delay of a datagram that `reorder`, a jitter or a trace holds back."""
        both = (self.up, self.down)
        reordered = sum(ms_to_ns(spec.reorder_by_ms or 0) for spec in both)
        traced = sum(spec.trace.longest_delay_ns for spec in both if spec.trace)
        return reordered + traced + 4 * self.jitter_ns

    @property
    def jitter_ns(self) -> int:
        return sum(ms_to_ns(spec.jitter_ms or 0) for spec in (self.up, self.down))

    @property
    def bottleneck(self) -> str:
        """The direction whose rate is the flow's."""
        up, down = (spec.rate_bps or float("inf") for spec in (self.up, self.down))
        return f"{self.sender}.up" if up <= down else f"{self.receiver}.down"

    @property
    def duration_ns(self) -> int:
        burst_ns = self.burst * 1e9 * self.burst_bits / self.rate_bps if self.rate_bps else 0
        return round(self.count * self.interval_ns + burst_ns + self._way_ns + self.held_ns)


def flows(links: Links) -> list[ProbeFlow]:
    """The flows form a ring, so that exactly one flow crosses each direction of each link."""
    ring, buckets = [], links.network.backend == KERNEL
    for sender, receiver in itertools.pairwise([*links.hosts, links.hosts[0]]):
        up, down = links.spec(sender, "up"), links.spec(receiver, "down")
        shared = up.medium is not None or down.medium is not None
        ring.append(ProbeFlow(sender, receiver, up, down, shared, buckets, links.quantum_ns))
    return ring


@dataclass(frozen=True)
class FlowArrivals:
    """The numbers of datagrams sent, and each arrival (kind, number, sent_ns, seen_ns)."""

    sent: tuple[int, int]
    arrived: list[tuple[int, int, int, int]]


def run(processes: TrialProcesses, links: Links) -> dict[str, FlowArrivals]:
    """Sends and receives in all hosts at the same time: receiver → its arrivals. Raises
    WorkerFailed or HostBroken where a process or a host fails."""
    ring = flows(links)
    number_of = {host: number for number, host in enumerate(links.hosts, start=1)}
    turn_ns = max(flow.duration_ns for flow in ring) + GAP_NS
    at_once = max(FEWEST_AT_ONCE, -(-len(ring) // MOST_TURNS))
    longest_ns = -(-len(ring) // at_once) * turn_ns + round(MARGIN_S * 1e9)
    after_end_ns = 10_000_000 + max(flow.held_ns for flow in ring)
    shared = os.memfd_create("rmwbench-probes", os.MFD_CLOEXEC)
    try:
        programs = {}
        for index, flow in enumerate(ring):
            ends = [
                addresses.text(addresses.ipv4(number_of[host]))
                for host in (flow.sender, flow.receiver)
            ]
            after_ns, ahead_ns = (
                index // at_once * turn_ns,
                processes.hosts[flow.sender].clock_offset_ns,
            )
            numbers = [PORT, index, len(ring), after_ns, longest_ns, after_end_ns]
            numbers += [flow.count, flow.interval_ns, flow.burst, flow.burst_bytes, ahead_ns]
            programs[flow.sender] = (_PROGRAM, [*ends, *map(str, numbers)])
        results = processes.run_programs(programs, longest_ns / 1e9 + TIMEOUT_MARGIN_S, shared)
    finally:
        os.close(shared)
    outputs = {
        host: marshal.loads(result.output) for host, result in results.items() if result.output
    }
    return {
        flow.receiver: FlowArrivals(
            tuple(outputs[flow.sender]["sent"]), outputs[flow.receiver]["seen"]
        )
        for flow in ring
        if {flow.sender, flow.receiver} <= outputs.keys()
    }


def judge(
    links: Links, arrivals_of: dict[str, FlowArrivals], before: Mark, after: Mark
) -> tuple[list[dict[str, Any]], list[NetworkFinding]]:
    """Returns rows of the table `probes`, `at` = `before`, and the findings."""
    rows: list[dict[str, Any]] = []
    findings: list[NetworkFinding] = []
    for flow in flows(links):
        name = f"{flow.sender} to {flow.receiver}"
        if flow.receiver not in arrivals_of:
            text = f"the probe from {name} gave no result"
            findings.append(NetworkFinding(text, True, machine=True))
            continue
        arrivals = arrivals_of[flow.receiver]
        for host, direction, spec in (
            (flow.sender, "up", flow.up),
            (flow.receiver, "down", flow.down),
        ):
            loss_rows, loss_findings = _loss(spec, before, after, host, direction)
            rows += loss_rows
            findings += loss_findings
        findings += _missing(flow, arrivals, before, after)
        for row, finding in (_delay(flow, arrivals), _rate(flow, arrivals)):
            rows += [row] if row else []
            findings += [finding] if finding else []
    return rows, findings


STOPPED = ("blackholed", "no_carrier", "too_large", "queue_full", "policed")
"""The counters of frames that were stopped before the loss of a direction."""


def exposed_frames(counters: dict[str, int], spec: Spec) -> int:
    """The number of frames of a direction that were exposed to its loss: those that were not
    stopped before it, and no longer wait. A slow queue holds many frames at the end, and delayed
    frames wait behind the loss, so the number is known only within bounds: it is the possible
    number that is nearest to the loss of the spec."""
    most = counters["frames"] - sum(counters.get(name, 0) for name in STOPPED)
    lost = counters["lost"]
    crossed = counters.get("delivered", most) - counters.get("duplicated", 0)
    least = min(most, lost + max(0, crossed))
    loss = spec.loss
    chance = 0.0 if loss is None or isinstance(loss, GilbertElliottTime) else loss.mean
    return min(max(round(lost / chance), least), most) if chance else most


def loss_finding(link: str, spec: Spec, lost: int, frames: int) -> NetworkFinding | None:
    """The finding on losses that neither the spec nor chance explains, or None."""
    if (
        spec.trace is not None
        or isinstance(spec.loss, GilbertElliottTime)
        or spec.medium is not None
    ):
        return None
    loss, correlation = (spec.loss.mean, spec.loss.correlation) if spec.loss else (0.0, 0.0)
    if loss == 1 and spec.exempt_arp:
        return None  # the frames that pass are exempt, which no counter of a link tells
    chance = chance_bound(lost, frames, loss, correlation)
    if chance >= FLAG_CHANCE:
        return None
    text = f"{link} lost {lost} of {frames} frames, asked for {100 * loss:g} %"
    return NetworkFinding(text, chance < VOID_CHANCE)


def _loss(
    spec: Spec, before: Mark, after: Mark, host: str, direction: str
) -> tuple[list[dict[str, Any]], list[NetworkFinding]]:
    names = ("frames", "lost", "delivered", "duplicated", *STOPPED)
    growth = {name: after.growth(before, host, direction, name) for name in names}
    frames, lost = exposed_frames(growth, spec), growth["lost"]
    if frames <= 0 or (spec.loss is None and not lost):
        return [], []
    link = f"{host}.{direction}"
    finding = loss_finding(link, spec, lost, frames)
    row = probe_row(f"network.loss.{link}", lost / frames, at="before")
    return [row], [finding] if finding else []


def _missing(
    flow: ProbeFlow, arrivals: FlowArrivals, before: Mark, after: Mark
) -> list[NetworkFinding]:
    """The finding on datagrams that the link delivered by its counters, and that did not arrive."""
    sent = sum(arrivals.sent)
    stopped = sum(
        after.growth(before, host, way, name)
        for host, way in ((flow.sender, "up"), (flow.receiver, "down"))
        for name in ("lost", "queue_full", "policed")
    )
    arrived = len({(kind, number) for kind, number, _, _ in arrivals.arrived})
    may_vanish = any(spec.corrupt or spec.trace or spec.medium for spec in (flow.up, flow.down))
    missing = sent - arrived - stopped
    if missing > 0 and not may_vanish:
        text = (
            f"{missing} of {sent} datagrams from {flow.sender} to {flow.receiver} vanished "
            "outside of the link"
        )
        return [NetworkFinding(text, missing > max(2, sent // 50), machine=arrived > 0)]
    return []


def _delay(
    flow: ProbeFlow, arrivals: FlowArrivals
) -> tuple[dict[str, Any] | None, NetworkFinding | None]:
    """Judges the median one-way delay of the small datagrams, on one clock."""
    delays_ns = [
        seen_ns - sent_ns for kind, _, sent_ns, seen_ns in arrivals.arrived if kind == SMALL
    ]
    if len(delays_ns) < FEW // 2:
        return None, None
    median_ns = round(statistics.median(delays_ns))
    name = f"network.delay.{flow.sender}.{flow.receiver}"
    row = probe_row(name, float(median_ns), "ns", "before")
    expected_ns = flow.delay_ns
    if expected_ns is None:
        return row, None
    text = (
        f"one way from {flow.sender} to {flow.receiver} took {median_ns / 1e6:.2f} ms, asked for "
        f"{expected_ns / 1e6:.2f} ms"
    )
    excess_ns, spread_ns = median_ns - expected_ns, 3 * flow.jitter_ns
    if excess_ns < -(EARLY_NS + spread_ns):
        return row, NetworkFinding(text, True)
    late_ns = excess_ns - spread_ns - 2 * flow.quantum_ns
    if late_ns > LATE_FLAG_NS:
        return row, NetworkFinding(text, late_ns > LATE_VOID_NS, machine=True)
    return row, None


def _rate(
    flow: ProbeFlow, arrivals: FlowArrivals
) -> tuple[dict[str, Any] | None, NetworkFinding | None]:
    """Judges the rate between the median of five arrivals after the first quarter and that of the
    last five, which a late wake-up does not move. There is no result where the sender was hardly
    faster than the rate. Frames are counted by their numbers or by their arrivals, since a loss may
    come before or behind the rate."""
    arrived = sorted(
        (number, seen_ns, sent_ns)
        for kind, number, sent_ns, seen_ns in arrivals.arrived
        if kind == BURST
    )
    if flow.burst == 0 or len(arrived) < FEWEST // 2:
        return None, None
    first = len(arrived) // 4
    begin, end = arrived[first : first + 5], arrived[-5:]
    numbers, elapsed_ns, sending_ns = (
        late - early for early, late in zip(_medians(begin), _medians(end), strict=True)
    )
    if elapsed_ns <= 0 or sending_ns > SLOWEST_SENDING * elapsed_ns:
        return None, None
    each_bps = 1e9 * flow.burst_bits / elapsed_ns
    counted_bps = (len(arrived) - 5 - first) * each_bps
    numbered_bps = numbers * each_bps
    expected_bps = flow.rate_bps or 0
    rate_bps = min(counted_bps, numbered_bps, key=lambda rate_bps: abs(rate_bps - expected_bps))
    row = probe_row(f"network.rate.{flow.bottleneck}", float(rate_bps), "bit/s", "before")
    error = abs(rate_bps / expected_bps - 1)
    if error <= RATE_FLAG:
        return row, None
    text = (
        f"{flow.bottleneck} carried {rate_bps / 1e6:.2f} Mbit/s, asked for {expected_bps / 1e6:g}"
    )
    return row, NetworkFinding(text, error > RATE_VOID, machine=True)


def _medians(arrivals: list[tuple[int, int, int]]) -> list[float]:
    return [statistics.median(column) for column in zip(*arrivals, strict=True)]


def _queue_frames(spec: Spec, frame_bits: float) -> Iterator[int]:
    """The number of frames that a queue holds, less two."""
    if spec.rate_bps is None:
        return
    if spec.queue_frames is not None:
        yield spec.queue_frames - 2
    if spec.queue_kb is not None:
        yield int(spec.queue_kb * 8000 / frame_bits) - 2
    if spec.queue_ms is not None:
        yield int(spec.rate_bps * spec.queue_ms / 1000 / frame_bits) - 2


def chance_bound(count: int, draws: int, chance: float, correlation: float = 0.0) -> float:
    """An upper bound of the probability that a `count` of `draws` with this chance is at least this
    far from its mean (Chernoff and Hoeffding).

    P(share of n draws beyond x) <= exp(-n KL(x || p)) on either side (Hoeffding 1963, theorem 1)
    for every n and p, so the stated confidence always holds. Bursts are fewer draws: n is divided
    by (1 + c) / (1 - c), where c is the correlation of the losses of successive frames.
    """
    if draws == 0:
        return 1.0
    share = count / draws
    if share == chance:
        return 1.0
    if chance in (0.0, 1.0):
        return 0.0
    divergence = sum(
        actual * math.log(actual / expected)
        for actual, expected in ((share, chance), (1 - share, 1 - chance))
        if actual > 0
    )
    independent = draws * (1 - correlation) / (1 + correlation)
    return min(1.0, 2 * math.exp(-independent * divergence))
