"""The network of the kernel backend, composed as messages for its namespace: a bridge, and three
devices between each host and the bridge.

    eth0 = a  ->  b = c  ->  bridge  ->  c = b  ->  a = eth0  (= is a pair of veth, -> crosses over)
              up: rate at b, loss at c      down: rate at c, loss at b

So every direction has its rate before its loss, as in the switch, and each is counted on its own. A
frame that has left its host no longer counts against its sender's socket, as behind a real wire. An
outage drops frames where the losses are, behind the queue, so frames that wait in the queue are
lost too.

Programs of classic BPF (linux/filter.h) decide which frames of a direction are lost. The kernel
takes classic programs with an rtnetlink message from any user who may configure a device, and they
are short enough to be read back and compared. They draw from the kernel's own generator, which
takes no seed. Their offsets count from the frame's Ethernet header.
"""

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rmwbench.lab.host import Configured
from rmwbench.lab.host.host import NetlinkMessage, Write
from rmwbench.lab.network import addresses, netlink
from rmwbench.lab.network.host_network import (
    ETHERNET_BYTES,
    NIC_QUEUE_FRAMES,
    QUEUE_FRAMES,
    QUEUES,
    NetworkBroken,
    burst_bytes,
    queue_limit,
)
from rmwbench.lab.network.netlink import ACT_SHOT, ACT_UNSPEC
from rmwbench.suite.network.network import Links
from rmwbench.suite.network.spec import GilbertElliottTime, Spec, ms_to_ns

_LOAD_WORD, _LOAD_HALF, _LOAD_BYTE = 0x20, 0x28, 0x30
_IF_EQUAL, _IF_GREATER, _IF_AT_LEAST, _RETURN = 0x15, 0x25, 0x35, 0x06
_RANDOM = 0xFFFFF000 + 56
_ETHER_TYPE, _IPV4_PROTOCOL, _IPV6_NEXT, _IPV6_PAYLOAD = 12, 23, 20, 54
_ARP, _IPV4, _IPV6 = 0x0806, 0x0800, 0x86DD
_IGMP, _ICMPV6, _HOP_BY_HOP = 2, 58, 0
_FIRST_DISCOVERY, _LAST_DISCOVERY = 133, 137


@dataclass(frozen=True)
class _If:
    """A conditional jump to the labels `yes` and `no`; an empty label is the next line."""

    code: int
    value: int
    yes: str = ""
    no: str = ""


def pass_program() -> bytes:
    """A program that passes every frame to the next filter."""
    return _instruction(_RETURN, ACT_UNSPEC)


def drop_program() -> bytes:
    """A program that drops every frame."""
    return _instruction(_RETURN, ACT_SHOT)


def loss_program(chance: float, *, exempt: bool) -> bytes:
    """A program that drops each frame with this chance. With `exempt` it passes address resolution
    and group membership, as the switch does: ARP, IGMP, neighbour discovery, and MLD behind a
    hop-by-hop header."""
    if chance == 0:
        return pass_program()
    if chance == 1 and not exempt:
        return drop_program()
    draw: list[tuple[int, int] | _If | str] = ["draw"]
    if chance < 1:
        limit = min(0xFFFFFFFF, round(chance * 2**32))
        draw += [(_LOAD_WORD, _RANDOM), _If(_IF_AT_LEAST, limit, "pass")]
    draw += [(_RETURN, ACT_SHOT), "pass", (_RETURN, ACT_UNSPEC)]
    if not exempt:
        return _assemble(draw)
    return _assemble(
        [
            (_LOAD_HALF, _ETHER_TYPE),
            _If(_IF_EQUAL, _ARP, "pass"),
            _If(_IF_EQUAL, _IPV6, "ipv6"),
            _If(_IF_EQUAL, _IPV4, no="draw"),
            (_LOAD_BYTE, _IPV4_PROTOCOL),
            _If(_IF_EQUAL, _IGMP, "pass", "draw"),
            "ipv6",
            (_LOAD_BYTE, _IPV6_NEXT),
            _If(_IF_EQUAL, _HOP_BY_HOP, "behind"),
            _If(_IF_EQUAL, _ICMPV6, no="draw"),
            (_LOAD_BYTE, _IPV6_PAYLOAD),
            _If(_IF_GREATER, _LAST_DISCOVERY, "draw"),
            _If(_IF_AT_LEAST, _FIRST_DISCOVERY, "pass", "draw"),
            "behind",
            (_LOAD_BYTE, _IPV6_PAYLOAD),
            _If(_IF_EQUAL, _ICMPV6, "pass"),
            *draw,
        ]
    )


def _assemble(lines: list[tuple[int, int] | _If | str]) -> bytes:
    """Assembles a program, in which texts are the labels of jumps."""
    labels: dict[str, int] = {}
    code: list[tuple[int, int] | _If] = []
    for line in lines:
        if isinstance(line, str):
            labels[line] = len(code)
        else:
            code.append(line)
    program = b""
    for following, line in enumerate(code, start=1):
        if isinstance(line, _If):
            jumps = [labels[name] - following if name else 0 for name in (line.yes, line.no)]
            program += struct.pack("=HBBI", line.code, *jumps, line.value)
        else:
            program += _instruction(*line)
    return program


def _instruction(code: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, 0, 0, value)


BRIDGE = 999
WRITES: tuple[Write, ...] = (
    ("/proc/sys/net/ipv6/conf/default/disable_ipv6", b"1", False),
    *(
        (f"/proc/sys/net/bridge/bridge-nf-call-{name}", b"0", False)
        for name in ("iptables", "ip6tables", "arptables")
    ),
)
"""The network's devices must send nothing themselves, and no IP filter may touch a frame."""
LOSS, CROSS = 1, 2  # priorities of filters
UNLIMITED_FRAMES = 100_000
_SMALL_FRAME_BITS = 8 * 64
_MAKE, _REPLACE = netlink.CREATE | netlink.EXCL, netlink.CREATE | netlink.REPLACE


@dataclass(frozen=True)
class Ports:
    """The devices between a host and the bridge: their names and indices."""

    number: int

    @property
    def a(self) -> int:
        return 1000 + 3 * self.number

    @property
    def b(self) -> int:
        return self.a + 1

    @property
    def c(self) -> int:
        return self.a + 2

    def names(self) -> dict[int, str]:
        return {self.a: f"a{self.number}", self.b: f"b{self.number}", self.c: f"c{self.number}"}

    def paced(self, direction: str) -> int:
        """The index of the device with the rate of a direction."""
        return self.b if direction == "up" else self.c

    def lossy(self, direction: str) -> int:
        """The index of the device with the losses of a direction."""
        return self.c if direction == "up" else self.b


def setup(links: Links) -> tuple[list[NetlinkMessage], list[Write]]:
    """The messages and writes that make the network, but for the pairs that lead to the hosts,
    which exist already. The last messages are the dumps for `check`."""
    messages: list[NetlinkMessage] = [
        ("bridge", netlink.NEWLINK, _MAKE, netlink.bridge(BRIDGE, "switch"))
    ]
    for number, host in enumerate(links.hosts, start=1):
        messages += _before_host(links, host, Ports(number))
    devices = [index for number in range(len(links.hosts)) for index in Ports(number + 1).names()]
    messages += [
        ("the network's devices up", netlink.NEWLINK, 0, netlink.link(index, up=True))
        for index in (BRIDGE, *devices)
    ]
    return messages + dumps(links), list(WRITES)


def _before_host(links: Links, host: str, ports: Ports) -> list[NetlinkMessage]:
    """The messages that make the devices of a host, with settings, filters and schedulers."""
    names = ports.names()
    pair = netlink.veth(ports.b, names[ports.b], ports.c, names[ports.c])
    messages: list[NetlinkMessage] = [(f"veth before {host}", netlink.NEWLINK, _MAKE, pair)]
    for index in names:
        sized = netlink.link(index, mtu=links.mtu_bytes(host), queue_frames=QUEUE_FRAMES)
        messages.append((f"MTU before {host}", netlink.NEWLINK, 0, sized))
    port, static = netlink.port_of(ports.c, BRIDGE), netlink.static_port(ports.c)
    forwarding = netlink.forwarding(ports.c, addresses.mac(ports.number))
    messages += [
        (f"port of {host}", netlink.NEWLINK, 0, port),
        (f"port of {host} learns nothing", netlink.SETLINK, 0, static),
        (f"address of {host} at its port", netlink.NEWNEIGH, _MAKE, forwarding),
    ]
    for index in names:
        messages.append((f"ingress before {host}", netlink.NEWQDISC, _MAKE, netlink.ingress(index)))
    step = f"crossing over before {host} (cls_bpf, act_mirred)"
    for source, target in ((ports.a, ports.b), (ports.b, ports.a)):
        body = netlink.cross_over(source, CROSS, target)
        messages.append((step, netlink.NEWTFILTER, _MAKE, body))
    for direction in ("up", "down"):
        spec = links.spec(host, direction)
        messages += [_loss(ports, direction, spec, _MAKE), *_rate_and_delay(ports, direction, spec)]
    return messages


def dumps(links: Links) -> list[NetlinkMessage]:
    """The messages that read the network back. Each device is asked for by itself: of a hundred
    hosts, all in one answer are more than a socket takes."""
    messages: list[NetlinkMessage] = [QUEUES]
    for number in range(1, len(links.hosts) + 1):
        for index in Ports(number).names():
            messages.append(("read link", netlink.GETLINK, 0, netlink.link(index)))
        for index in (Ports(number).b, Ports(number).c):
            within = netlink.traffic_body(index, parent=netlink.INGRESS_HANDLE)
            classes = netlink.traffic_body(index)
            messages.append(("read rates", netlink.GETTCLASS, netlink.DUMP, classes))
            messages.append(("read filters", netlink.GETTFILTER, netlink.DUMP, within))
    return messages


def check(links: Links, configured: Configured) -> None:
    """Checks the network that was read back. Raises NetworkBroken."""
    if configured.failed is not None:
        raise NetworkBroken(failure(*configured.failed))
    answer = b"".join(configured.answers[-len(dumps(links)) :])
    devices, rates = netlink.links_of(answer), netlink.rates_of(answer)
    programs, schedulers = netlink.programs_of(answer), netlink.schedulers_of(answer)
    for number, host in enumerate(links.hosts, start=1):
        ports = Ports(number)
        for index, name in ports.names().items():
            device = devices.get(index, {})
            _expect(f"{name} is up", True, device.get("up"))
            _expect(f"MTU of {name}", links.mtu_bytes(host), device.get("mtu"))
        for direction in ("up", "down"):
            spec, paced = links.spec(host, direction), ports.paced(direction)
            expected = None if spec.at_nic or spec.rate_bps is None else spec.rate_bps // 8 * 8
            _expect(f"rate of {host}.{direction} (bit/s)", expected, rates.get(paced))
            delayed = (paced, "netem") in schedulers
            _expect(f"delay of {host}.{direction} by netem", bool(spec.delay_ms), delayed)
            program = programs.get((ports.lossy(direction), LOSS), b"")
            _expect(f"loss program of {host}.{direction}", _program(spec).hex(), program.hex())


def change(
    links: Links, number: int, before: Mapping[str, Spec], after: Mapping[str, Spec]
) -> list[NetlinkMessage]:
    """The messages that give some directions other specs. A new rate keeps the frames that wait; a
    rate or delay that is added or removed drops them."""
    ports, messages = Ports(number), []
    for direction, new in after.items():
        old = before[direction]
        messages.append(_loss(ports, direction, new, _REPLACE))
        if _structure(old) == _structure(new):
            messages += _rate_and_delay(ports, direction, new, _REPLACE)
            continue
        if any(_structure(old)[:2]):
            root = netlink.traffic_body(ports.paced(direction), parent=netlink.ROOT)
            messages += [QUEUES, ("remove the old rate", netlink.DELQDISC, 0, root)]
        messages += _rate_and_delay(ports, direction, new)
    return messages


def outage(number: int, specs: Mapping[str, Spec], *, on: bool) -> list[NetlinkMessage]:
    """The messages that begin or end a blackhole."""
    messages: list[NetlinkMessage] = []
    for direction, spec in specs.items():
        program = drop_program() if on else _program(spec)
        body = netlink.decide(Ports(number).lossy(direction), LOSS, program)
        messages.append(("blackhole", netlink.NEWTFILTER, _REPLACE, body))
    return messages


def carrier(number: int, *, on: bool) -> list[NetlinkMessage]:
    """The messages that give the host's own device a carrier, or take it away."""
    return [("carrier", netlink.NEWLINK, 0, netlink.link(Ports(number).a, up=on))]


def dropped_by_removed(
    messages: Iterable[NetlinkMessage], answers: Iterable[bytes]
) -> Iterator[tuple[int, int]]:
    """Yields (device, frames that its queue had dropped) of each queue that the messages of
    `change` removed, of whose counts the kernel keeps none."""
    before = b""
    for (_, kind, _, body), answer in zip(messages, answers, strict=True):
        if kind == netlink.DELQDISC:
            index = netlink.index_of(body)
            yield index, _dropped_by_queue(netlink.schedulers_of(before), index)
        before = answer


def _dropped_by_queue(schedulers: Mapping[tuple[int, str], Mapping[str, int]], index: int) -> int:
    queue = schedulers.get((index, "htb")) or schedulers.get((index, "netem"), {"dropped": 0})
    return queue["dropped"]


def counters(
    links: Links, answers: list[bytes], dropped_before: Mapping[int, int]
) -> dict[str, dict[str, dict[str, int]]]:
    """Host → direction → counters, with the names of the switch's, from a dump of GETQDISC.
    `dropped_before`: device → frames that queues which it no longer has had dropped."""
    schedulers = netlink.schedulers_of(b"".join(answers))

    def direction_counters(ports: Ports, direction: str) -> dict[str, int]:
        paced = ports.paced(direction)
        ingress = schedulers.get((ports.lossy(direction), "ingress"), {"frames": 0, "dropped": 0})
        queue_full = _dropped_by_queue(schedulers, paced) + dropped_before.get(paced, 0)
        return {
            "frames": ingress["frames"] + queue_full,
            "lost": ingress["dropped"],
            "queue_full": queue_full,
            "delivered": ingress["frames"] - ingress["dropped"],
        }

    return {
        host: {way: direction_counters(Ports(number), way) for way in ("up", "down")}
        for number, host in enumerate(links.hosts, start=1)
    }


def mean_bytes(links: Links, answers: list[bytes]) -> Iterator[tuple[str, float]]:
    """Yields each host that sent frames, and the mean bytes of a frame with its Ethernet header."""
    schedulers = netlink.schedulers_of(b"".join(answers))
    for number, host in enumerate(links.hosts, start=1):
        sent = schedulers.get((Ports(number).a, "ingress"), {"frames": 0, "bytes": 0})
        if sent["frames"]:
            yield host, sent["bytes"] / sent["frames"] + ETHERNET_BYTES


def failure(step: str, error_number: int) -> str:
    return f"kernel backend: {step}: {os.strerror(error_number)}"


def _structure(spec: Spec) -> tuple[bool, bool, bool]:
    """Whether a direction has a rate here, a delay, and a queue that counts bytes."""
    has_rate, has_delay = spec.rate_bps is not None and not spec.at_nic, bool(spec.delay_ms)
    counts_bytes = spec.queue_kb is not None or spec.queue_ms is not None
    return has_rate, has_delay, has_rate and not has_delay and counts_bytes


def _program(spec: Spec) -> bytes:
    assert not isinstance(spec.loss, GilbertElliottTime), "the kernel draws no states (backend.py)"
    return loss_program(spec.loss.mean if spec.loss else 0.0, exempt=spec.exempt_arp)


def _loss(ports: Ports, direction: str, spec: Spec, flags: int) -> NetlinkMessage:
    body = netlink.decide(ports.lossy(direction), LOSS, _program(spec))
    return f"loss of {direction} (cls_bpf)", netlink.NEWTFILTER, flags, body


def _rate_and_delay(
    ports: Ports, direction: str, spec: Spec, flags: int = _MAKE
) -> list[NetlinkMessage]:
    """The messages that make the rate, queue and delay of a direction, or replace them."""
    index, (has_rate, has_delay, _) = ports.paced(direction), _structure(spec)
    delay_ns = ms_to_ns(spec.delay_ms or 0)
    step = f"delay of {direction} (sch_netem)"
    if not has_rate:
        alone = netlink.netem(index, delay_ns, UNLIMITED_FRAMES, leaf=False)
        return [(step, netlink.NEWQDISC, flags, alone)] if has_delay else []
    rate_bps = spec.rate_bps or 0
    messages: list[NetlinkMessage] = []
    if flags & netlink.EXCL:
        scheduler = f"rate of {direction} (sch_htb)", netlink.NEWQDISC, flags, netlink.htb(index)
        messages.append(scheduler)
    body = netlink.htb_class(index, rate_bps, burst_bytes(rate_bps))
    messages.append((f"rate of {direction}", netlink.NEWTCLASS, flags, body))
    if has_delay:
        under_way = rate_bps * delay_ns // 1_000_000_000 // _SMALL_FRAME_BITS
        most_frames = (spec.queue_frames or NIC_QUEUE_FRAMES) + under_way
        leaf = netlink.netem(index, delay_ns, most_frames, leaf=True)
        messages.append((step, netlink.NEWQDISC, flags, leaf))
    else:
        fifo = netlink.fifo(index, *queue_limit(spec.wire()))
        messages.append((f"queue of {direction}", netlink.NEWQDISC, flags, fifo))
    return messages


def _expect(name: str, expected: object, actual: object) -> None:
    if actual != expected:
        raise NetworkBroken(f"kernel backend: {name} is {actual}, expected {expected}")
