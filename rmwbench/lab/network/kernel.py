"""The network of a trial that the kernel makes: devices, schedulers and filters in the network's
own namespace (bridge.py), in place of the process `rmwbench-link`. No frame passes through a
process of ours, and there is no log of frames.

The network is read back, tried by the same probes, and checked by the kernel's counters. The
abilities of this machine's kernel are found by building such a network in hosts that end at once:
versions and configurations promise more than works.
"""

import functools
import json
import marshal
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rmwbench.lab.host import Configured, Host, HostBroken, Hosts
from rmwbench.lab.host.host import NetlinkMessage, Write
from rmwbench.lab.network import bridge, netlink
from rmwbench.lab.network.host_network import (
    DEVICES,
    ETHERNET_BYTES,
    QUEUES,
    NetworkBroken,
    dropped_frames,
)
from rmwbench.lab.network.switch import Mark
from rmwbench.lab.process.trial_processes import NETWORK_HOST, TrialProcesses
from rmwbench.suite.network.backend import lacking
from rmwbench.suite.network.network import KERNEL, Access, Links, Network, NetworkChange
from rmwbench.suite.network.spec import Spec

TIMEOUT_S = 10.0
MESSAGES_AT_ONCE = 16
"""A request and its answer are each one message of a socket, of at most 200 kB."""
_OFFLOADS = Path(__file__).with_name("offload_program.py").read_text()


class KernelNetwork:
    """The counterpart of `Switch` without a process, so that `pid` is None."""

    pid: int | None = None

    def __init__(self, processes: TrialProcesses, hosts: Hosts, links: Links):
        self._processes, self._hosts, self._links = processes, hosts, links
        self._specs: dict[str, dict[str, Spec]] = {
            host: {way: links.spec(host, way) for way in ("up", "down")} for host in links.hosts
        }
        # outages in force, as scheduled
        self._off: dict[str, set[str]] = {host: set() for host in links.hosts}
        self._dropped_before: dict[str, int] = {}
        self._dropped_by_removed: Counter[int] = Counter()

    def spawn(self) -> None:
        """Does nothing: there is no process to start."""

    def open(self, seed: int) -> dict[str, Any]:
        """Makes the network, and returns the settings in force. Frames flow once the hosts have
        their addresses. The seed is not used, since the kernel takes none."""
        self._without_taps()
        for number, host in enumerate(self._links.hosts, start=1):
            self._join(host, number)
        configured = self._configure("setup", *bridge.setup(self._links))
        bridge.check(self._links, configured)
        return {
            "backend": "kernel",
            "ports": len(self._links.hosts),
            "offloads": self._without_offloads(),
        }

    def hosts_are_up(self) -> None:
        """Counts dropped frames from now on: a frame to a host that was not yet up was dropped."""
        self._dropped_before = self._dropped_frames(self._read())

    def mark(self) -> Mark:
        return Mark(0, self._counters(self._read()))

    def change_messages(self, change: NetworkChange) -> list[NetlinkMessage]:
        """The messages that make a change, which builds on the one before."""
        host, number = change.host, self._links.hosts.index(change.host) + 1
        off, specs = self._off[host], self._specs[host]
        match change.change:
            case None:
                new_specs = {
                    way: spec for way in ("up", "down") if (spec := change.spec(way)) is not None
                }
                messages = bridge.change(self._links, number, specs, new_specs)
                specs |= new_specs
                return messages + (bridge.outage(number, specs, on=True) if off else [])
            case "blackhole":
                off.add("blackhole")
                return bridge.outage(number, specs, on=True)
            case "carrier_loss":
                off.add("carrier_loss")
                return bridge.carrier(number, on=False) + bridge.outage(number, specs, on=True)
            case "up":
                ended = off.copy()
                off.clear()
                messages = bridge.carrier(number, on=True) if "carrier_loss" in ended else []
                return messages + (bridge.outage(number, specs, on=False) if ended else [])
            case name:
                raise NetworkBroken(f"kernel backend: unknown change {name}")

    def changed(self, messages: Iterable[NetlinkMessage], answers: Iterable[bytes]) -> None:
        """Keeps the counts of the queues that the messages of a change have removed."""
        for index, dropped in bridge.dropped_by_removed(messages, answers):
            self._dropped_by_removed[index] += dropped

    def collect(self) -> tuple[dict[str, Any], bytes, None, int]:
        """Returns the document, parsed and as bytes. Raises NetworkBroken for joined frames."""
        configured = self._read()
        devices: dict[str, dict[str, Any]] = {}
        for host, mean in bridge.mean_bytes(self._links, configured.answers):
            devices[host] = {"mean_frame_bytes": mean}
            most = self._links.mtu_bytes(host) + ETHERNET_BYTES
            if mean > most:
                raise NetworkBroken(
                    f"kernel backend: frames of {host} have {mean:.0f} bytes in the mean, and its "
                    f"MTU allows {most}: an offload is on"
                )
        for host, dropped in self._dropped_frames(configured).items():
            devices.setdefault(host, {})["dropped"] = dropped - self._dropped_before.get(host, 0)
        document = {
            "backend": "kernel",
            "links": self._counters(configured),
            "devices": devices,
            "changes": [],
        }
        return document, json.dumps(document).encode(), None, 0

    def close(self) -> None:
        """Does nothing: the network ends with the hosts."""

    def _counters(self, configured: Configured) -> dict[str, dict[str, dict[str, int]]]:
        return bridge.counters(self._links, configured.answers, self._dropped_by_removed)

    def _dropped_frames(self, configured: Configured) -> dict[str, int]:
        """The frames that the devices before each host have dropped since they were made."""
        text = configured.texts[DEVICES]
        return {
            host: sum(
                dropped_frames(text, name) or 0 for name in bridge.Ports(number).names().values()
            )
            for number, host in enumerate(self._links.hosts, start=1)
        }

    def _without_taps(self) -> None:
        """Removes the TAP device of each host, in whose place `eth0` is made."""
        tokens = []
        for host in self._links.hosts:
            device = netlink.link(self._hosts[host].device or 0)
            removal = ("remove the TAP device", netlink.DELLINK, 0, device)
            tokens.append(self._processes.configure(host, "without tap", [removal]))
        for configured in self._processes.await_configured(tokens, TIMEOUT_S):
            if configured.failed is not None:
                raise NetworkBroken(bridge.failure(*configured.failed))
        for host in self._links.hosts:
            self._hosts[host].close_tap()

    def _join(self, host: str, number: int) -> None:
        """Makes a pair of devices between the host and the network, in place of the TAP device."""
        trial_host, network = self._hosts[host], self._hosts.network
        assert (
            isinstance(trial_host, Host) and network is not None and trial_host.device is not None
        )
        ports = bridge.Ports(number)
        try:
            descriptors = [network.open_network(), trial_host.open_network()]
        except OSError as error:
            raise NetworkBroken(
                f"kernel backend: network namespace of {host}: {error.strerror}; it needs root"
            ) from None
        try:
            name = ports.names()[ports.a]
            namespaces = descriptors[0], descriptors[1]
            body = netlink.veth(ports.a, name, trial_host.device, "eth0", namespaces)
            refusal = netlink.refusal(netlink.NEWLINK, netlink.CREATE | netlink.EXCL, body)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        if refusal:
            raise NetworkBroken(bridge.failure(f"veth to {host} (needs root)", refusal))

    def _without_offloads(self) -> dict[str, Any]:
        devices = {host: ["eth0"] for host in self._links.hosts}
        ports = [bridge.Ports(number) for number in range(1, len(self._links.hosts) + 1)]
        devices[NETWORK_HOST] = [name for port in ports for name in port.names().values()]
        programs = {host: (_OFFLOADS, names) for host, names in devices.items()}
        results = self._processes.run_programs(programs, TIMEOUT_S)
        in_force: dict[str, Any] = {
            host: marshal.loads(result.output) if result.output else {}
            for host, result in results.items()
        }
        for host, names in devices.items():
            for device in names:
                features: Mapping[str, Any] = in_force[host].get(device, {})
                # Only these join frames; offloads that work frame by frame change nothing.
                joining = [name for name in ("tso", "gso", "gro") if features.get(name) != 0]
                if joining:
                    raise NetworkBroken(
                        f"kernel backend: {device} of {host.lstrip('/')}: {', '.join(joining)} is "
                        "not off"
                    )
        return {host.lstrip("/"): features for host, features in in_force.items()}

    def _read(self) -> Configured:
        return self._configure("counters", [QUEUES], reads=[DEVICES])

    def _configure(
        self,
        change: str,
        messages: Sequence[NetlinkMessage],
        writes: Sequence[Write] = (),
        reads: Sequence[str] = (),
    ) -> Configured:
        """Configures the network's host, in requests that a socket takes, also of many hosts. The
        result has the answers of all. Raises NetworkBroken where one fails."""
        answers: list[bytes] = []
        for begin in range(0, len(messages), MESSAGES_AT_ONCE):
            piece = messages[begin : begin + MESSAGES_AT_ONCE]
            token = self._processes.configure(NETWORK_HOST, change, piece, writes, reads)
            [configured] = self._processes.await_configured([token], TIMEOUT_S)
            if configured.failed is not None:
                raise NetworkBroken(bridge.failure(*configured.failed))
            answers += configured.answers
            writes = ()
        return configured._replace(answers=answers)


JOINED, RATE, DELAY = "loss, MTU and outages", "rate", "delay"
_SPEC_OF_EFFECT: Mapping[str, Spec] = {
    JOINED: Spec.model_validate({"loss": 0.5}),
    RATE: Spec(rate_mbps=10),
    DELAY: Spec(delay_ms=5),
}


@functools.cache
def works() -> Mapping[str, str]:
    """Effect → why the kernel cannot make it here, "" where it can. Takes 0.3 s once."""
    reasons: dict[str, str] = {}
    for name, spec in _SPEC_OF_EFFECT.items():
        reasons[name] = reasons.get(JOINED) or _why_not(spec)
    return reasons


def why_not(links: Links) -> str | None:
    """The parts of a network that the kernel cannot make, never or here; else None."""
    if links.network.backend != KERNEL:
        return None
    never = list(lacking(links))
    if never:
        return "the kernel backend of the network cannot do " + "; ".join(never)
    rated = any(spec.rate_bps is not None for spec in links.specs)
    delayed = any(spec.delay_ms for spec in links.specs)
    needed = [JOINED, *([RATE] if rated else []), *([DELAY] if delayed else [])]
    for name in needed:
        if reason := works()[name]:
            return f"not supported by the kernel backend here: {name}: {reason}"
    return None


def _why_not(spec: Spec) -> str:
    names = ("robot", "base")
    links = Links(None, names, Network(backend="kernel", links={"all": Access(both=spec)}))
    try:
        with Hosts("doctor", names) as hosts:
            hosts.wait_ready()
            with TrialProcesses(hosts) as processes:
                KernelNetwork(processes, hosts, links).open(0)
    except (HostBroken, NetworkBroken) as broken:
        return str(broken).removeprefix("kernel backend: ")
    return ""
