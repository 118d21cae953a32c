"""The network between the hosts of a workload, as a suite says it: links, shared media, and changes
within a trial.

Every host has one link to a switch, `up` from it and `down` to it (docs/formats/link.md). A network
is named in the suite's `networks`, or written into the workload that has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from rmwbench.suite.fault import At, Fault, ListOf, Strict, at_key, check_known, elsewhere
from rmwbench.suite.name_rules import ALL, NodeName
from rmwbench.suite.network.cross_traffic import CrossTraffic, called_all, check_hosts, hosts_of
from rmwbench.suite.network.interfaces import Interface, check_interfaces, checked_name
from rmwbench.suite.network.link_trace import LinkTrace, TraceFile
from rmwbench.suite.network.spec import (
    NOTHING,
    Chance,
    RateMbps,
    Spec,
    ms_to_ns,
    trace_at_nic,
)
from rmwbench.suite.timeline import Span, Timeline

Backend = Literal["switch", "kernel"]
KERNEL = "kernel"

MOST_HOSTS = 100
MOST_BESIDE = 4
DEFAULT_MTU_BYTES = 1500
QUANTUM_ABOVE_BPS, QUANTUM_NS = 200_000_000, 100_000
"""Above this rate the switch delivers in batches, at most this far apart: with a wake-up per frame
it could not hold the rate."""

ROAM = "roam"

LINK_FACTORS = ("loss", "rate_mbps", "delay_ms", "jitter_ms")
NETWORK_PREFIX = "network."
LINK_KEY_PLACES = elsewhere(
    "`networks: {thin: {links: {all: {both: {KEY: …}}}}}`, and `network: thin` in the workload",
    Spec.model_fields,
)
"""Key of a link -> its place in a suite file, for an arm, a workload or a suite that has it."""

_DIRECTIONS = ("up", "down")
SPEC_KEYS = ("both", *_DIRECTIONS)


class DirectionSpecs(Strict):
    """The specs of a link: `both` directions alike, or `up` and `down`."""

    both: Spec | None = None
    up: Spec | None = None
    down: Spec | None = None

    @model_validator(mode="after")
    def _each_direction_once(self) -> Self:
        if self.both is not None and (self.up is not None or self.down is not None):
            other = "up" if self.up is not None else "down"
            raise Fault(
                f"`both` and `{other}` contradict each other",
                expected="`both`, or `up` and `down`",
                actual=f"both `both` and `{other}`",
                at=("both",),
            )
        return self

    @property
    def specs_by_key(self) -> dict[str, Spec]:
        """The specs that are given, by their keys."""
        return {key: spec for key in SPEC_KEYS if (spec := getattr(self, key)) is not None}

    def spec(self, direction: str) -> Spec | None:
        """The spec of one direction, or None where it is not given. The bottleneck of `both` at the
        NIC is there on the way up only; on the way down the rate is the path's."""
        if self.both is None:
            return self.up if direction == "up" else self.down
        if direction == "down" and self.both.at_nic:
            return self.both.changed({"bottleneck": None})
        return self.both


class Access(DirectionSpecs):
    """One host's link."""

    def at(self, direction: str) -> Spec:
        return self.spec(direction) or NOTHING

    def with_level(self, field: str, level: Any) -> "Access":
        """The link with one field replaced in both directions, validated again."""
        return Access.model_validate(
            {name: self.at(name).changed({field: level}) for name in _DIRECTIONS}
        )


class Codel(Strict):
    """Queues that stay long lose frames, more and more often (CoDel, RFC 8289); the values are
    those of Linux's WiFi (net/mac80211)."""

    target_ms: float = Field(default=20.0, gt=0, le=10_000)
    interval_ms: float = Field(default=100.0, gt=0, le=10_000)

    def wire(self) -> dict[str, int]:
        return {"target_ns": ms_to_ns(self.target_ms), "interval_ns": ms_to_ns(self.interval_ms)}


class Medium(Strict):
    """Airtime that links share: one transmission at a time, `overhead_us` before each. A unicast
    frame that is lost (`phy_loss`) is repeated up to `retries` times; a multicast frame is sent
    once, at the basic rate. `queue_frames` limits the queue, and `codel` keeps it short."""

    rate_mbps: RateMbps
    overhead_us: float = Field(default=100.0, ge=0, le=1e6)
    basic_rate_mbps: RateMbps | None = None
    retries: int = Field(default=7, ge=0, le=255)
    phy_loss: Chance = 0.0
    queue_frames: int = Field(default=1000, ge=1, le=1_000_000)
    codel: Codel | None = None

    def wire(self) -> dict[str, Any]:
        basic = self.rate_mbps if self.basic_rate_mbps is None else self.basic_rate_mbps
        return {
            "rate_bps": round(self.rate_mbps * 1e6),
            "overhead_ns": round(self.overhead_us * 1e3),
            "basic_rate_bps": round(basic * 1e6),
            "retries": self.retries,
            "phy_loss": self.phy_loss,
            "queue_frames": self.queue_frames,
        } | ({} if self.codel is None else {"codel": self.codel.wire()})


class PriorityClass(Strict):
    """Frames that leave a queue before the others."""

    dscp: int | None = Field(default=None, ge=0, le=63)
    udp_port: int | None = Field(default=None, ge=1, le=65535)

    @model_validator(mode="after")
    def _by_one_key(self) -> "PriorityClass":
        if (self.dscp is None) == (self.udp_port is None):
            raise Fault(
                "a class of priority names its frames by one key",
                expected="`dscp: 46` or `udp_port: 7412`",
                actual="neither" if self.dscp is None else "both",
            )
        return self

    @property
    def words(self) -> str:
        return f"UDP port {self.udp_port}" if self.dscp is None else f"DSCP {self.dscp}"

    def wire(self) -> dict[str, int]:
        return {"class": 0} | self.model_dump(exclude_none=True)


class NetworkChange(DirectionSpecs):
    """A change of a host's link, `at_s` seconds after the start of the steady state: a `change` by
    name, or new specs. `roam`: the host leaves its medium, is on none for `gap_ms`, and then on
    `medium`, with another address where `new_address` says so."""

    at_s: Span
    host: NodeName
    change: (
        Literal["blackhole", "carrier_loss", "admin_down", "up", "new_address", "roam"] | None
    ) = None
    medium: str | None = None
    gap_ms: float | None = Field(default=None, ge=0, le=3_600_000)
    new_address: bool | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> "NetworkChange":
        spec_keys = list(self.specs_by_key)
        if (self.change is None) == (not spec_keys):
            raise Fault(
                "a change has either a name or a new spec",
                expected="`change: blackhole`, or a spec such as `up: {rate_mbps: 5}`",
                actual=f"both `change` and `{spec_keys[0]}`" if spec_keys else "neither",
                at=("at_s",),
            )
        roaming_keys = ("medium", "gap_ms", "new_address")
        key = next((key for key in roaming_keys if getattr(self, key) is not None), None)
        if key is not None and self.change != ROAM:
            raise Fault(
                f"`{key}` is for a host that roams",
                expected=f"`change: {ROAM}` beside it",
                actual=f"change {self.change}" if self.change else "a new spec",
                at=(key,),
            )
        if self.change == ROAM and self.medium is None:
            raise Fault(
                "a host that roams needs another medium",
                expected="`medium`, one of the network's `media`",
                at=("change",),
            )
        return self

    @property
    def renumbers(self) -> bool:
        """Whether the host has another address after it."""
        return self.change == "new_address" or bool(self.new_address)

    @property
    def joined_s(self) -> float:
        """The time at which a host that roams is on its new medium."""
        return self.at_s + (self.gap_ms or 0) / 1e3

    def with_level(self, field: str, level: Any) -> "NetworkChange":
        """The change with one field set in its new specs, except in those that set it already."""
        return self.changed(
            {
                key: spec.changed({field: level})
                for key, spec in self.specs_by_key.items()
                if field not in spec.model_fields_set
            }
        )

    def definition(self) -> dict[str, Any]:
        definition: dict[str, Any] = {"at_s": self.at_s, "host": self.host}
        if self.change == ROAM:
            definition |= {"medium": self.medium, "gap_ms": self.gap_ms or 0}
            definition |= {"new_address": True} if self.new_address else {}
        if self.change is not None:
            return definition | {"change": self.change}
        return definition | {
            name: spec_definition(spec)
            for name in _DIRECTIONS
            if (spec := self.spec(name)) is not None
        }


class SecondNetwork(Strict):
    """A second network; a host on it has an interface of its name. `links`: host, or `all` -> its
    link."""

    links: dict[str, Access] = Field(min_length=1)

    def access(self, host: str) -> Access | None:
        """The host's link, or None if it is not on this network."""
        return self.links.get(host) or self.links.get(ALL)


@dataclass(frozen=True, kw_only=True)
class Port:
    """The port of an interface: of a host's `eth0`, with the host's name, or of its interface in
    the `network`-th network beside. `number` is the host's."""

    name: str
    host: str
    number: int
    device: str = "eth0"
    network: int = 0


class Network(Strict):
    """The network between the hosts of a workload; by default its links do nothing."""

    links: dict[str, Access] = Field(default_factory=dict)
    media: dict[str, Medium] = Field(default_factory=dict)
    multicast: Literal["flood", "snoop", "drop"] = "flood"
    priority: ListOf[PriorityClass] = ()
    ip_fragments: Literal["stock", "tuned"] = "stock"
    congestion_control: str = Field(default="cubic", pattern=r"^[a-z0-9_]{1,15}$")
    neighbours: Literal["permanent", "dynamic"] = "permanent"
    quantum_us: float | None = Field(default=None, ge=0, le=10_000)
    backend: Backend = "switch"
    changes: ListOf[NetworkChange] = ()
    trace: TraceFile | None = None
    interfaces: dict[str, ListOf[Interface]] = Field(default_factory=dict)
    beside: dict[str, SecondNetwork] = Field(default_factory=dict, max_length=MOST_BESIDE)
    cross_traffic: ListOf[CrossTraffic] = ()

    @model_validator(mode="after")
    def _consistent(self) -> "Network":
        for name, beside in self.beside.items():
            self._check_beside(name, beside)
        for host, access in self.links.items():
            self._check_specs(access, ("links", host))
        for index, change in enumerate(self.changes):
            self._check_specs(change, ("changes", index))
            self._check_bottleneck(change, index)
            if change.change == ROAM:
                self._check_roam(change, index)
        for host, interfaces in self.interfaces.items():
            with at_key("interfaces", host):
                check_interfaces(interfaces)
        for index, traffic in enumerate(self.cross_traffic):
            self._check_limited(traffic, index)
        if self.priority:
            self._check_priority()
        return self

    def _check_beside(self, name: str, beside: SecondNetwork) -> None:
        with at_key("beside", name):
            checked_name(name)
        for host, interfaces in self.interfaces.items():
            if any(name in (interface.name, interface.peer_name) for interface in interfaces):
                raise Fault(
                    f"`{name}` is a network beside, and an interface that leads nowhere or the "
                    "device at its other end",
                    expected="a name of its own for each",
                    at=("interfaces", host),
                )
        for host, access in beside.links.items():
            at = ("beside", name, "links", host)
            self._check_specs(access, at)
            for key, spec in access.specs_by_key.items():
                if spec.at_nic:
                    raise Fault(
                        "this is for `eth0`",
                        expected="`bottleneck: path`",
                        actual="nic",
                        at=(*at, key, "bottleneck"),
                    )

    def _check_priority(self) -> None:
        """Refuses `priority` where the rate is at a host's own device: frames wait there in one
        queue, and only the switch knows priorities."""
        at_nic = next((host for host, access in self.links.items() if access.at("up").at_nic), None)
        if at_nic is not None:
            raise Fault(
                f"frames of `{at_nic}` wait at its own device, which knows no `priority`",
                expected="`bottleneck: path` in a network with `priority`",
                actual="nic",
                at=("priority",),
            )

    def _check_limited(self, traffic: CrossTraffic, index: int) -> None:
        """Refuses cross traffic without a limit: TCP would take all that the switch and a processor
        can carry."""
        if not any(spec.limited for spec in (self.up(traffic.from_), self.down(traffic.to))):
            raise Fault(
                f"nothing limits the cross traffic from {traffic.name}",
                expected=f"a `medium`, `rate_mbps` or trace `up` of {traffic.from_} or `down` to "
                f"{traffic.to}: TCP would take all that the network has, and a processor for it",
                at=("cross_traffic", index, "to"),
            )

    def _check_specs(self, specs: DirectionSpecs, at: At) -> None:
        for key, spec in specs.specs_by_key.items():
            if spec.medium is not None and not self.media:
                raise Fault(
                    f"there is no medium `{spec.medium}`",
                    expected=f"`media: {{{spec.medium}: {{rate_mbps: 54}}}}` in the network",
                    at=(*at, key, "medium"),
                )
            if spec.medium is not None:
                check_known("medium", spec.medium, self.media, at=(*at, key, "medium"))
            if spec.at_nic and key == "down":
                raise Fault(
                    "`bottleneck: nic` is for the way up: the way down does not pass the host's own "
                    "device",
                    expected="`bottleneck: path` for `down`",
                    actual="nic",
                    at=(*at, key, "bottleneck"),
                )
            if spec.at_nic and self.trace is not None:
                raise trace_at_nic((*at, key, "bottleneck"))

    def _check_bottleneck(self, change: NetworkChange, index: int) -> None:
        spec = change.spec("up")
        if spec is None:
            return
        at = ("changes", index, "up" if change.up is not None else "both")
        before = self.up(change.host)
        if spec.at_nic != before.at_nic:
            raise Fault(
                f"the bottleneck of `{change.host}` cannot move within a trial",
                expected="the same `bottleneck` before and after",
                actual="nic and path",
                at=at,
            )
        if spec.at_nic and spec.nic_queue_unit != before.nic_queue_unit:
            raise Fault(
                f"the queue at the device of `{change.host}` cannot have a limit in another unit "
                "within a trial: the frames in it would be lost",
                expected=f"a limit in {before.nic_queue_unit}, as before",
                actual=spec.nic_queue_unit,
                at=at,
            )

    def _check_roam(self, change: NetworkChange, index: int) -> None:
        """Checks that the host leaves one medium for another."""
        at = ("changes", index, "medium")
        check_known("medium", change.medium, self.media, at=at)
        medium = self._medium_before(change)
        if medium is None:
            raise Fault(
                f"`{change.host}` is on no medium that it could leave",
                expected=f"`links: {{{change.host}: {{both: {{medium: …}}}}}}` in the network",
                at=("changes", index, "host"),
            )
        if medium == change.medium:
            raise Fault(
                f"`{change.host}` is on `{medium}` already",
                expected="another medium",
                actual=change.medium,
                at=at,
            )

    def _medium_before(self, change: NetworkChange) -> str | None:
        """The medium of a host just before it roams: that of its link, of its last new spec, or of
        its last roaming."""
        medium = self.up(change.host).medium or self.down(change.host).medium
        for earlier in sorted(self.changes, key=lambda other: other.at_s):
            if earlier is change or earlier.at_s >= change.at_s:
                break
            if earlier.host != change.host:
                continue
            if earlier.change == ROAM:
                medium = earlier.medium
            elif earlier.change is None:
                specs = [earlier.spec(way) for way in _DIRECTIONS]
                medium = next((spec.medium for spec in specs if spec is not None), medium)
        return medium

    def up(self, host: str) -> Spec:
        return self.spec(host, "up")

    def down(self, host: str) -> Spec:
        return self.spec(host, "down")

    def further(self, host: str) -> tuple[Interface, ...]:
        """The host's interfaces that lead to no other host."""
        return self.interfaces.get(host, self.interfaces.get(ALL, ()))

    def spec(self, host: str, direction: str) -> Spec:
        """The spec of the link of the host's `eth0` in one direction."""
        access = self.links.get(host) or self.links.get(ALL)
        spec = access.at(direction) if access else NOTHING
        if self.trace is not None and spec.trace is None and spec.medium is None:
            return spec.changed({"trace": self.trace})
        return spec

    def with_level(self, field: str, level: Any) -> "Network":
        """The network with one field replaced in both directions of every link, and in the specs of
        its changes."""
        links = {ALL: Access(), **self.links}
        changes: dict[str, Any] = {
            "links": {host: access.with_level(field, level) for host, access in links.items()}
        }
        if self.changes:
            changes["changes"] = tuple(change.with_level(field, level) for change in self.changes)
        return self.changed(changes)


@dataclass(frozen=True)
class Links:
    """The network of one cell, with its hosts in the order of their addresses. The last of them are
    `traffic_hosts`, which only cross traffic uses."""

    name: str | None
    hosts: tuple[str, ...]
    network: Network
    traffic_hosts: tuple[str, ...] = ()

    def spec(self, host: str, direction: str) -> Spec:
        return self.network.spec(host, direction)

    def mtu_bytes(self, host: str) -> int:
        """The MTU of the host's device, which is that of its link up."""
        return self.network.up(host).mtu_bytes or DEFAULT_MTU_BYTES

    @property
    def ports(self) -> tuple[Port, ...]:
        """The ports of every `eth0`, in the order of the hosts, then those of the networks
        beside."""
        numbers = {host: number for number, host in enumerate(self.hosts, start=1)}
        ports = [Port(name=host, host=host, number=number) for host, number in numbers.items()]
        for network, (name, beside) in enumerate(self.network.beside.items(), start=1):
            ports += [
                Port(name=f"{host} {name}", host=host, number=number, device=name, network=network)
                for host, number in numbers.items()
                if beside.access(host) is not None
            ]
        return tuple(ports)

    def ports_beside(self, host: str) -> tuple[Port, ...]:
        """The host's ports in the networks beside, in the order of the networks."""
        return tuple(port for port in self.ports if port.host == host and port.network)

    def devices_beside(self, host: str) -> tuple[str, ...]:
        """The host's devices in the networks beside."""
        return tuple(port.device for port in self.ports_beside(host))

    def port_spec(self, port: Port, direction: str) -> Spec:
        if not port.network:
            return self.spec(port.host, direction)
        access = self.network.beside[port.device].access(port.host)
        return access.at(direction) if access else NOTHING

    def port_mtu_bytes(self, port: Port) -> int:
        return self.port_spec(port, "up").mtu_bytes or DEFAULT_MTU_BYTES

    @property
    def quantum_ns(self) -> int:
        if self.network.quantum_us is not None:
            return round(self.network.quantum_us * 1e3)
        rates = [spec.largest_rate_bps for spec in self.specs]
        rates += [round(medium.rate_mbps * 1e6) for medium in self.network.media.values()]
        return QUANTUM_NS if max(rates, default=0) > QUANTUM_ABOVE_BPS else 0

    @property
    def specs(self) -> list[Spec]:
        """The specs of every direction of every port, and those of the changes."""
        specs = [self.port_spec(port, way) for port in self.ports for way in _DIRECTIONS]
        new_specs = [change.spec(way) for change in self.network.changes for way in _DIRECTIONS]
        return specs + [spec for spec in new_specs if spec is not None]

    @property
    def traces(self) -> dict[str, LinkTrace]:
        """SHA-256 of its text -> trace; two files in different folders may have one name."""
        return {spec.trace.sha256: spec.trace for spec in self.specs if spec.trace is not None}

    def definition(self) -> dict[str, Any]:
        """The network as a cell stores it: specs in the units of the link protocol, with `nic`
        beside them where the rate is at the host's own device."""
        network = self.network
        definition: dict[str, Any] = {
            "name": self.name,
            "hosts": [host for host in self.hosts if host not in self.traffic_hosts],
            "links": {
                host: {way: spec_definition(self.spec(host, way)) for way in _DIRECTIONS}
                for host in self.hosts
            },
            "media": {name: medium.wire() for name, medium in network.media.items()},
            "multicast": network.multicast,
            "priority": [first.wire() for first in network.priority],
            "ip_fragments": network.ip_fragments,
            "congestion_control": network.congestion_control,
            "neighbours": network.neighbours,
            "quantum_ns": self.quantum_ns,
            "backend": network.backend,
        }
        if further := {host: network.further(host) for host in self.hosts if network.further(host)}:
            definition["interfaces"] = {
                host: [interface.model_dump() for interface in interfaces]
                for host, interfaces in further.items()
            }
        if beside := [port for port in self.ports if port.network]:
            definition["beside"] = {
                port.name: {way: spec_definition(self.port_spec(port, way)) for way in _DIRECTIONS}
                for port in beside
            }
        if network.cross_traffic:
            definition["cross_traffic"] = [flows.definition() for flows in network.cross_traffic]
        if network.changes:
            definition["changes"] = [change.definition() for change in network.changes]
        return definition


def spec_definition(spec: Spec) -> dict[str, Any]:
    """A spec as a cell stores it: as the link protocol has it, with the file of its trace instead
    of the rows."""
    definition = spec.wire()
    if spec.trace is not None:
        definition["trace"] = spec.trace.definition()
    if nic := spec.nic():
        definition["nic"] = nic
    return definition


def links_between(
    networks: dict[str, Network],
    network: str | Network | None,
    hosts: tuple[str, ...],
    timeline: Timeline,
) -> Links | None:
    """The network of a workload with these hosts; None for a single host. Raises Fault, counted
    from the workload."""
    if len(hosts) < 2:
        return None
    name = network if isinstance(network, str) else None
    network = networks[network] if isinstance(network, str) else network or Network()
    with at_key("network", "cross_traffic"):
        check_hosts(network.cross_traffic, hosts)
    traffic_hosts = hosts_of(network.cross_traffic)
    hosts = (*hosts, *traffic_hosts)
    if len(hosts) > MOST_HOSTS:
        raise Fault(
            "too many hosts", expected=f"at most {MOST_HOSTS}", actual=len(hosts), at=("hosts",)
        )
    if ALL in hosts:
        raise called_all(("hosts",))
    with at_key("network"):
        _check_hosts_named(network, hosts)
        _check_changes(network.changes, hosts, timeline)
    return Links(name, hosts, network, traffic_hosts)


def _check_hosts_named(network: Network, hosts: tuple[str, ...]) -> None:
    """Raises Fault, counted from the network, for a host that the workload does not have."""
    paths: list[tuple[str, ...]] = [("links", host) for host in network.links]
    paths += [("interfaces", host) for host in network.interfaces]
    for name, beside in network.beside.items():
        paths += [("beside", name, "links", host) for host in beside.links]
    for at in paths:
        check_known("host", at[-1], (*hosts, ALL), at=at)
    for name, beside in network.beside.items():
        members = [host for host in hosts if beside.access(host) is not None]
        if len(members) < 2:
            raise Fault(
                f"network `{name}` leads to no other host",
                expected="links of two hosts, or of all",
                actual=members[0],
                at=("beside", name, "links"),
            )


def _check_changes(
    changes: Sequence[NetworkChange], hosts: tuple[str, ...], timeline: Timeline
) -> None:
    """Raises Fault, counted from the network, for a change of an unknown host, and for one after
    the steady state."""
    for index, change in enumerate(changes):
        check_known("host", change.host, hosts, at=("changes", index, "host"))
        if change.joined_s >= timeline.steady_s:
            keys = "at_s" if change.change != ROAM else "at_s and gap_ms together"
            raise Fault(
                "the network changes after the steady state is over",
                expected=f"{keys} below {timeline.steady_s:g} s",
                actual=f"{change.joined_s:g}",
                fix="lengthen `steady_s`, or change the network earlier",
                at=("changes", index, "at_s"),
            )
