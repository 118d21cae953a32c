"""Configures the network of each host: address, routes, neighbours, rate at its device, settings of
IP; and checks that the host's kernel has done it.

Everything is read back: benchmarks have been published whose emulated network was not in force.
"""

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rmwbench.lab.host import Configured, Host
from rmwbench.lab.host.host import NetlinkMessage, Write
from rmwbench.lab.network import addresses, netlink
from rmwbench.suite.network.interfaces import Interface
from rmwbench.suite.network.network import Links, Port
from rmwbench.suite.network.spec import Spec

ETHERNET_BYTES = 14
"""The header of a frame, which an MTU does not count."""
QUEUE_FRAMES = 10_000
"""The queue of a device: the usual 1000 drops a burst of fragments before the link."""
NIC_QUEUE_FRAMES = 1000
SMALLEST_BURST_BYTES, LARGEST_BURST_BYTES, BURST_S = 3_200, 65_536, 0.002
"""The bytes that a device may send at once beyond its rate: those of 2 ms, but at least two full
frames and at most 64 KiB. With less, 1 Gbit/s is not reached; with more, the rate is exceeded."""
FAST_BPS, FAST_BURST_S = 1_000_000_000, 0.0008
"""The burst above this rate: at 2.5 Gbit/s it costs 1 % of the rate, where 64 KiB cost 5 %."""

_SYS = "/proc/sys/net/"
FIRST_FURTHER = 1000
"""The index of the first unconnected device."""
_NO_IPV6 = _SYS + "ipv6/conf/default/disable_ipv6"
"""It holds for devices made afterwards, whose IPv6 addresses would be announced."""
CONGESTION = _SYS + "ipv4/tcp_congestion_control"
TUNED_FRAGMENTS = {
    "ipv4/ipfrag_high_thresh": 256 << 20,
    "ipv4/ipfrag_low_thresh": 192 << 20,
    "ipv4/ipfrag_time": 1,
}
RECORDED = (
    "core/default_qdisc",
    "core/netdev_max_backlog",
    "core/rmem_default",
    "core/rmem_max",
    "core/wmem_default",
    "core/wmem_max",
    "ipv4/ipfrag_high_thresh",
    "ipv4/ipfrag_low_thresh",
    "ipv4/ipfrag_time",
    "ipv4/ip_forward",
    "ipv4/tcp_available_congestion_control",
    "ipv4/tcp_congestion_control",
    "ipv4/tcp_ecn",
    "ipv4/tcp_keepalive_time",
    "ipv4/tcp_mtu_probing",
    "ipv4/tcp_retries2",
    "ipv4/tcp_rmem",
    "ipv4/tcp_sack",
    "ipv4/tcp_slow_start_after_idle",
    "ipv4/tcp_syn_retries",
    "ipv4/tcp_timestamps",
    "ipv4/tcp_window_scaling",
    "ipv4/tcp_wmem",
    "ipv4/udp_mem",
    "ipv4/conf/all/rp_filter",
    "ipv4/conf/eth0/rp_filter",
    "ipv6/conf/all/disable_ipv6",
)
DEVICES = "/proc/net/dev"
_TX_DROPPED = 11  # column of /proc/net/dev
LEAST_IPV6_MTU_BYTES = 1280
"""A device with a smaller MTU has no IPv6 (RFC 8200, section 5), and takes no IPv6 neighbour."""
HTB_STEP = "scheduler htb at eth0"
"""A step of `Configured.failed`; ENOENT means that the kernel does not have this scheduler."""


class NetworkBroken(Exception):
    """The network is not what was asked for. `machine`: a late machine explains that."""

    def __init__(self, text: str, *, machine: bool = False):
        super().__init__(text)
        self.machine = machine


@dataclass(frozen=True)
class HostDevices:
    """A host's number, and the indices of `eth0` and of its devices in the networks beside."""

    host: str
    number: int
    eth0: int
    beside: Mapping[str, int] = field(default_factory=dict)


class HostConfiguration(NamedTuple):
    """The arguments of `Host.configure`; the last messages are those of `_read_back`."""

    messages: list[NetlinkMessage]
    writes: list[Write]
    reads: list[str]


def setup(devices: HostDevices, links: Links) -> HostConfiguration:
    """The whole configuration of a host's network, in order."""
    network, index = links.network, devices.eth0
    mtu = links.mtu_bytes(devices.host)
    writes: list[Write] = [(CONGESTION, network.congestion_control.encode(), False)]
    if network.ip_fragments == "tuned":
        writes += [
            (_SYS + name, str(value).encode(), True) for name, value in TUNED_FRAGMENTS.items()
        ]
    own = netlink.link(index, mac=addresses.mac(devices.number), mtu=mtu, queue_frames=QUEUE_FRAMES)
    messages: list[NetlinkMessage] = [("device of eth0", netlink.NEWLINK, 0, own)]
    if (nic := network.up(devices.host).nic()) is not None:
        messages += _nic_rate(index, nic)
    messages.append(("eth0 up", netlink.NEWLINK, 0, netlink.link(index, up=True)))
    messages.append(_address(devices))
    messages += routes(devices, links)
    for port in links.ports_beside(devices.host):
        writes.append((f"{_SYS}ipv6/conf/{port.device}/disable_ipv6", b"1", False))
        messages += _device_beside(devices, port, links)
    for further_index, interface in further_interfaces(devices, links):
        messages += _unconnected_device(further_index, interface)
    if network.further(devices.host):
        writes += [(_NO_IPV6, b"1", False)]
    messages += _read_back(index).values()
    return HostConfiguration(messages, writes, [_SYS + name for name in RECORDED])


def _read_back(index: int) -> dict[str, NetlinkMessage]:
    """The dumps that `check` needs, by name and in order; `index` is that of `eth0`."""
    dumps = {
        "links": (netlink.GETLINK, netlink.link(0)),
        "addresses": (netlink.GETADDR, bytes(8)),
        "neighbours": (netlink.GETNEIGH, bytes(12)),
        "classes": (netlink.GETTCLASS, netlink.traffic_body(index)),
        "schedulers": (netlink.GETQDISC, netlink.traffic_body(index)),
    }
    return {
        name: (f"read {name}", kind, netlink.DUMP, body) for name, (kind, body) in dumps.items()
    }


def _device_beside(devices: HostDevices, port: Port, links: Links) -> list[NetlinkMessage]:
    """Configures a host's device in a network beside, for IPv4 alone."""
    index, flags = devices.beside[port.device], netlink.CREATE | netlink.REPLACE
    mac = addresses.mac(port.number, port.network)
    own = netlink.link(index, mac=mac, mtu=links.port_mtu_bytes(port), queue_frames=QUEUE_FRAMES)
    local, broadcast = (
        addresses.ipv4(port.number, network=port.network),
        addresses.broadcast(port.network),
    )
    address = netlink.address(index, local, addresses.PREFIX_BITS, broadcast)
    return [
        (f"device of {port.device}", netlink.NEWLINK, 0, own),
        (f"{port.device} up", netlink.NEWLINK, 0, netlink.link(index, up=True)),
        (f"address {addresses.text(local)}", netlink.NEWADDR, flags, address),
        *_permanent_neighbours(index, _neighbours_beside(port, links), links),
    ]


def _permanent_neighbours(
    index: int, neighbours: Sequence[tuple[bytes, bytes]], links: Links
) -> list[NetlinkMessage]:
    """Adds the neighbours (address, MAC) of a device, if the network has permanent neighbours."""
    flags = netlink.CREATE | netlink.REPLACE
    if links.network.neighbours != "permanent":
        return []
    return [
        (
            f"neighbour {addresses.text(address)}",
            netlink.NEWNEIGH,
            flags,
            netlink.neighbour(index, address, mac),
        )
        for address, mac in neighbours
    ]


def _neighbours_beside(port: Port, links: Links) -> list[tuple[bytes, bytes]]:
    return [
        (
            addresses.ipv4(other.number, network=other.network),
            addresses.mac(other.number, other.network),
        )
        for other in links.ports
        if other.network == port.network and other.host != port.host
    ]


def _check_device(
    host: str,
    device: str,
    index: int,
    expected: Mapping[str, object],
    address: bytes,
    answers: Mapping[str, bytes],
) -> None:
    """Raises NetworkBroken where a device lacks an expected setting or its address."""
    settings = netlink.links_of(answers["links"]).get(index, {})
    for name, value in expected.items():
        _expect(host, f"{name} of {device}", value, settings.get(name))
    if address not in netlink.addresses_of(answers["addresses"], index):
        raise NetworkBroken(f"host {host}: address {addresses.text(address)} of {device} is absent")


def _check_beside(devices: HostDevices, links: Links, answers: Mapping[str, bytes]) -> None:
    for port in links.ports_beside(devices.host):
        index = devices.beside[port.device]
        expected = {
            "up": True,
            "mac": addresses.mac(port.number, port.network),
            "mtu": links.port_mtu_bytes(port),
        }
        local = addresses.ipv4(port.number, network=port.network)
        _check_device(devices.host, port.device, index, expected, local, answers)
        if links.network.neighbours == "permanent":
            expected_neighbours = {address for address, _ in _neighbours_beside(port, links)}
            _check_neighbours(devices.host, index, expected_neighbours, answers["neighbours"])


def _check_neighbours(host: str, index: int, expected: set[bytes], answer: bytes) -> None:
    if missing := expected - netlink.permanent_neighbours_of(answer, index):
        raise NetworkBroken(f"host {host}: no permanent neighbour {addresses.text(min(missing))}")


def further_interfaces(devices: HostDevices, links: Links) -> list[tuple[int, Interface]]:
    """The (index of the device, interface) of each unconnected interface."""
    interfaces = links.network.further(devices.host)
    return [(FIRST_FURTHER + 2 * k, interface) for k, interface in enumerate(interfaces)]


def _unconnected_device(index: int, interface: Interface) -> list[NetlinkMessage]:
    """Makes a pair of devices whose peer has no address: frames to it are counted and lost."""
    flags = netlink.CREATE | netlink.EXCL
    pair = netlink.veth(index, interface.name, index + 1, interface.peer_name)
    name = interface.name
    messages: list[NetlinkMessage] = [(f"make {name}", netlink.NEWLINK, flags, pair)]
    if not interface.multicast:
        body = netlink.without_multicast(index)
        messages.append((f"{name} without multicast", netlink.NEWLINK, 0, body))
    if interface.carrier:
        peer_up = netlink.link(index + 1, up=True)
        messages.append((f"{interface.peer_name} up", netlink.NEWLINK, 0, peer_up))
    own = netlink.address(index, interface.local, interface.prefix_bits, interface.broadcast)
    return [
        *messages,
        (f"{name} up", netlink.NEWLINK, 0, netlink.link(index, up=True)),
        (f"address {interface.address} of {name}", netlink.NEWADDR, flags, own),
    ]


def _check_further(devices: HostDevices, links: Links, answers: Mapping[str, bytes]) -> None:
    for index, interface in further_interfaces(devices, links):
        expected = {"up": True, "multicast": interface.multicast, "carrier": interface.carrier}
        _check_device(devices.host, interface.name, index, expected, interface.local, answers)


def routes(devices: HostDevices, links: Links) -> list[NetlinkMessage]:
    """Adds the default route and permanent neighbours, which a device loses when it goes down."""
    flags = netlink.CREATE | netlink.REPLACE
    route = netlink.default_route(devices.eth0, addresses.GATEWAY)
    return [
        ("default route", netlink.NEWROUTE, flags, route),
        *_permanent_neighbours(devices.eth0, neighbours(devices, links), links),
    ]


def neighbours(devices: HostDevices, links: Links) -> list[tuple[bytes, bytes]]:
    """The (address, MAC) of the other hosts, with their later addresses, and IPv6 if usable."""
    renumbered = {change.host for change in links.network.changes if change.renumbers}
    pairs = []
    for number, host in enumerate(links.hosts, start=1):
        if host == devices.host:
            continue
        host_addresses = [addresses.ipv4(number)]
        if links.mtu_bytes(devices.host) >= LEAST_IPV6_MTU_BYTES:
            host_addresses.append(addresses.link_local(number))
        if host in renumbered:
            host_addresses.append(addresses.ipv4(number, second=True))
        pairs += [(address, addresses.mac(number)) for address in host_addresses]
    return pairs


def check(devices: HostDevices, links: Links, configured: Configured) -> dict[str, Any]:
    """Checks the configuration that was read back. Returns the settings in force, for the trial's
    record. Raises NetworkBroken where they are not what was asked for."""
    if configured.failed is not None:
        raise NetworkBroken(_failure(devices.host, *configured.failed))
    names = _read_back(devices.eth0)
    answers = dict(zip(names, configured.answers[-len(names) :], strict=True))
    expected = {
        "up": True,
        "mac": addresses.mac(devices.number),
        "mtu": links.mtu_bytes(devices.host),
        "queue_frames": QUEUE_FRAMES,
    }
    address = addresses.ipv4(devices.number)
    _check_device(devices.host, "eth0", devices.eth0, expected, address, answers)
    _check_further(devices, links, answers)
    _check_beside(devices, links, answers)
    if links.network.neighbours == "permanent":
        # A device without an IPv6 address does not speak IPv6, and needs no IPv6 neighbours.
        own_addresses = netlink.addresses_of(answers["addresses"], devices.eth0)
        lengths = {len(address) for address in own_addresses}
        expected_neighbours = {
            address for address, _ in neighbours(devices, links) if len(address) in lengths
        }
        _check_neighbours(devices.host, devices.eth0, expected_neighbours, answers["neighbours"])
    nic = links.network.up(devices.host).nic()
    _expect(
        devices.host,
        "rate at eth0 (bit/s)",
        [nic["rate_bps"] // 8 * 8] if nic else [],
        list(netlink.rates_of(answers["classes"]).values()),
    )
    if nic:
        limit = netlink.fifo_limits_of(answers["schedulers"]).get(devices.eth0)
        _expect(devices.host, "queue at eth0", queue_limit(nic), limit)
    sysctls = {
        path.removeprefix(_SYS): None if text is None else " ".join(text.decode().split())
        for path, text in configured.texts.items()
    }
    if "congestion_control" in links.network.model_fields_set:
        control = sysctls.get("ipv4/tcp_congestion_control")
        _expect(devices.host, "TCP congestion control", links.network.congestion_control, control)
    return _record(devices, links, sysctls)


def _record(devices: HostDevices, links: Links, sysctls: Mapping[str, Any]) -> dict[str, Any]:
    interfaces = links.network.further(devices.host)
    ports = {
        port.device: addresses.text(addresses.ipv4(port.number, network=port.network))
        for port in links.ports_beside(devices.host)
    }
    record: dict[str, Any] = {}
    if interfaces:
        record["further"] = {interface.name: interface.address for interface in interfaces}
    if ports:
        record["beside"] = ports
    return record | {
        "address": addresses.text(addresses.ipv4(devices.number)),
        "mac": addresses.mac_text(devices.number),
        "mtu_bytes": links.mtu_bytes(devices.host),
        "nic": links.network.up(devices.host).nic(),
        "sysctls": sysctls,
    }


REHEARSAL_TIMEOUT_S = 5.0
HOST_FIELDS = {"ip_fragments", "congestion_control"}
"""The fields of a network that each host's kernel must support, besides the rate of a device."""


def rehearse_host(links: Links, host: str) -> None:
    """Configures one host and ends it. Raises NetworkBroken if its kernel lacks a setting."""
    with Host("check", tap=True, beside=links.devices_beside(host)) as alone:
        alone.wait_ready()
        devices = HostDevices(
            host, links.hosts.index(host) + 1, alone.device or 0, alone.beside_devices
        )
        alone.configure("check", *setup(devices, links))
        configured = alone.receive(REHEARSAL_TIMEOUT_S)
        if not isinstance(configured, Configured):
            raise NetworkBroken(f"host {host} did not answer within {REHEARSAL_TIMEOUT_S:g} s")
        check(devices, links, configured)


def admin_down(devices: HostDevices) -> list[NetlinkMessage]:
    return [("eth0 down", netlink.NEWLINK, 0, netlink.link(devices.eth0, up=False))]


def admin_up(devices: HostDevices, links: Links) -> list[NetlinkMessage]:
    """Takes the device up again, and restores its routes and neighbours."""
    return [
        ("eth0 up", netlink.NEWLINK, 0, netlink.link(devices.eth0, up=True)),
        *routes(devices, links),
    ]


def new_address(devices: HostDevices, links: Links, *, second: bool) -> list[NetlinkMessage]:
    """Changes between the host's two addresses, and restores the routes."""
    address = addresses.ipv4(devices.number, second=not second)
    old = netlink.address(devices.eth0, address, addresses.PREFIX_BITS, addresses.BROADCAST)
    removal = ("remove the old address", netlink.DELADDR, 0, old)
    return [removal, _address(devices, second=second), *routes(devices, links)]


def change_nic(devices: HostDevices, spec: Spec) -> list[NetlinkMessage]:
    """Gives the device another rate and another limit of its queue; frames in the queue stay."""
    nic = spec.nic()
    if nic is None:
        return []
    flags = netlink.CREATE | netlink.REPLACE
    return [_class(devices.eth0, nic["rate_bps"], flags), _queue(devices.eth0, nic, flags)]


QUEUES: NetlinkMessage = ("read queues", netlink.GETQDISC, netlink.DUMP, netlink.traffic_body(0))


def dropped_by_queue(devices: HostDevices, schedulers: bytes) -> int | None:
    """The frames that the full queue before a rate at `eth0` dropped, from an answer to QUEUES. No
    counter of the device has them, and the sender gets no error."""
    counters = netlink.schedulers_of(schedulers).get((devices.eth0, "htb"))
    return None if counters is None else counters["dropped"]


def dropped_frames(text: bytes | None, device: str = "eth0") -> int | None:
    """The frames that a device dropped (TX), from /proc/net/dev; None without the device."""
    for line in (text or b"").decode().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == device:
            return int(numbers.split()[_TX_DROPPED])
    return None


def _nic_rate(index: int, nic: Mapping[str, int]) -> Sequence[NetlinkMessage]:
    flags = netlink.CREATE | netlink.EXCL
    return [
        (HTB_STEP, netlink.NEWQDISC, flags, netlink.htb(index)),
        _class(index, nic["rate_bps"], flags),
        _queue(index, nic, flags),
    ]


def _class(index: int, rate_bps: int, flags: int) -> NetlinkMessage:
    body = netlink.htb_class(index, rate_bps, burst_bytes(rate_bps))
    return "rate at eth0", netlink.NEWTCLASS, flags, body


def _queue(index: int, nic: Mapping[str, int], flags: int) -> NetlinkMessage:
    return "queue at eth0", netlink.NEWQDISC, flags, netlink.fifo(index, *queue_limit(nic))


def queue_limit(nic: Mapping[str, int]) -> tuple[str, int]:
    """The kind of the kernel's queue behind a rate, and its limit: bytes of a `bfifo`, frames of a
    `pfifo`. `nic`: the rate and the limit of a device (`Spec.nic`) or of a direction
    (`Spec.wire`)."""
    if "queue_ns" in nic:
        return "bfifo", max(2000, nic["rate_bps"] * nic["queue_ns"] // 8_000_000_000)
    if "queue_bytes" in nic:
        return "bfifo", nic["queue_bytes"]
    return "pfifo", nic.get("queue_frames", NIC_QUEUE_FRAMES)


def burst_bytes(rate_bps: int) -> int:
    """The bytes that a scheduler of the kernel may send at once beyond this rate."""
    if rate_bps > FAST_BPS:
        return round(rate_bps / 8 * FAST_BURST_S)
    return min(LARGEST_BURST_BYTES, max(SMALLEST_BURST_BYTES, round(rate_bps / 8 * BURST_S)))


def _address(devices: HostDevices, *, second: bool = False) -> NetlinkMessage:
    own = addresses.ipv4(devices.number, second=second)
    body = netlink.address(devices.eth0, own, addresses.PREFIX_BITS, addresses.BROADCAST)
    return f"address {addresses.text(own)}", netlink.NEWADDR, netlink.CREATE | netlink.REPLACE, body


def _failure(host: str, step: str, error_number: int) -> str:
    text = f"host {host}: {step}: {os.strerror(error_number)}"
    if step == HTB_STEP and error_number == errno.ENOENT:
        return (
            f"{text}; this kernel has no HTB (sch_htb), so `bottleneck: nic` is impossible: use "
            "`bottleneck: path`"
        )
    return text


def _expect(host: str, setting: str, expected: object, actual: object) -> None:
    if actual != expected:
        raise NetworkBroken(
            f"host {host}: {setting} is {_value_text(actual)}, expected {_value_text(expected)}"
        )


def _value_text(value: object) -> str:
    return value.hex(":") if isinstance(value, bytes) else str(value)
