"""The readers of users' files, one for each format: the XML of Cyclone DDS, as CYCLONEDDS_URI takes
it; the XML of Fast DDS, as FASTDDS_DEFAULT_PROFILES_FILE takes it; the JSON5 of Zenoh, as
ZENOH_CONFIG and rmw_zenoh's ZENOH_SESSION_CONFIG_URI take it; and the TOML of iceoryx2."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from rmwbench.input_file import json5_value
from rmwbench.lab.profile_file.file_needs import (
    NO_NEEDS,
    Element,
    FileNeeds,
    Locator,
    Renaming,
    attribute,
    descendants,
    elements_at,
    ip_address,
    names,
    reachable,
    root_of,
    tag,
    texts,
)

UNITS = {"": 1, "b": 1, "kb": 1 << 10, "kib": 1 << 10, "mb": 1 << 20, "mib": 1 << 20, "gb": 1 << 30}
UNITS |= {"gib": 1 << 30}
"""The units of Cyclone DDS, in which `kB` is 1024 bytes, too."""
ALIASES = {"unsupported": "internal", "ddsi2e": "domain", "ddsi2": "domain"}
"""Older names of elements → their present names (ddsi__cfgelems.h of Cyclone DDS)."""
CYCLONE_0_10 = "cyclonedds-0.10"
CYCLONE_RENAMED = (
    Renaming(
        "SharedMemory",
        "11",
        '`<PubSubMessageExchange type="iox"/>` within `General/Interfaces`, and the arm starts '
        "RouDi by itself",
        CYCLONE_0_10,
    ),
    Renaming(
        "NetworkInterfaceAddress",
        "11",
        '`<Interfaces><NetworkInterface name="…"/></Interfaces>` within `General`',
        CYCLONE_0_10,
    ),
)


def cyclonedds_needs(text: str) -> FileNeeds:
    """The needs of a file of Cyclone DDS. Raises Unreadable."""
    root = root_of(text, ("cyclonedds", "domain"))
    if root is None:
        return NO_NEEDS
    for element in root.iter():
        element.tag = ALIASES.get(tag(element), tag(element))
    domains = [root] if tag(root) == "domain" else list(elements_at(root, "domain"))
    domain = domains[0] if domains else root
    if not domains and tag(root) != "cyclonedds":  # a setting outside of a domain
        domain = Element("domain")
        domain.append(root)
    interfaces = list(elements_at(domain, "general", "interfaces", "networkinterface"))
    bound_addresses = [attribute(element, "address") or "" for element in interfaces]
    peers = [
        attribute(element, "address") or ""
        for element in elements_at(domain, "discovery", "peers", "peer")
    ]
    hosts = [_peer_host(peer) for peer in peers]
    present = [
        element for element in interfaces if attribute(element, "presence_required") != "false"
    ]
    device_names = [attribute(element, "name") for element in present]
    writes = texts(domain, "tracing", "outputfile") + texts(domain, "tracing", "packetcapturefile")
    shared = [text.lower() for text in texts(domain, "sharedmemory", "enable")]
    exchanges = {
        (attribute(element, "type") or attribute(element, "name") or "").lower()
        for element in descendants(domain, "pubsubmessageexchange")
    }
    return FileNeeds(
        domain_id=_domain_number(domains),
        interfaces=tuple(dict.fromkeys(name for name in device_names if name and "$" not in name)),
        own=reachable(bound_addresses),
        peers=reachable(hosts),
        unresolved=names(hosts),
        daemons=("roudi",) if exchanges & {"iox", "iceoryx"} or "true" in shared else (),
        writes=tuple(path for path in writes if path not in ("stdout", "stderr")),
        participants=_participants(domain),
        receive_buffer_bytes=_buffer_minimum(domain, "socketreceivebuffersize"),
        send_buffer_bytes=_buffer_minimum(domain, "socketsendbuffersize"),
        renamed=tuple(
            setting
            for setting in CYCLONE_RENAMED
            if any(descendants(domain, setting.setting.lower()))
        ),
    )


def _domain_number(domains: list[Element]) -> int | None:
    """The number of the domain that the file is for; None where it is for any domain."""
    ids = [
        (attribute(domain, "id") or "".join(texts(domain, "id")) or "any").strip()
        for domain in domains
    ]
    numbers = [int(text) for text in ids if text.isdigit()]
    return numbers[0] if numbers and len(numbers) == len(ids) else None


def _peer_host(peer: str) -> str:
    """The host of `192.168.1.1:7410`, `[fd00::1]:7410` and `udp/robot`."""
    plain = peer.rpartition("/")[2]
    if bracketed := re.fullmatch(r"\[([^]]*)\](?::\d+)?", plain):
        return bracketed[1]
    return plain.partition(":")[0] if plain.count(":") == 1 else plain


def _participants(domain: Element) -> int | None:
    """The largest number of participants on a host; None without a limit."""
    index = texts(domain, "discovery", "participantindex")
    most = texts(domain, "discovery", "maxautoparticipantindex")
    if index and index[-1].isdigit():
        return 1
    return int(most[-1]) + 1 if most and most[-1].isdigit() else None


def _buffer_minimum(domain: Element, name: str) -> int | None:
    """The least buffer in bytes with which a session opens; None without one."""
    least_bytes = None
    buffers = elements_at(domain, "internal", name)
    minimums = [attribute(element, "min") or "" for element in buffers]
    for minimum in texts(domain, "internal", f"minimum{name}") + minimums:
        match = re.fullmatch(r"(\d+)\s*([a-zA-Z]*)", minimum.strip())
        if match and match[2].lower() in UNITS:
            least_bytes = int(match[1]) * UNITS[match[2].lower()]
    return least_bytes


FIRST_PORT, MOST_SERVERS = 11811, 16
"""The port of ROS 2's server 0, and the number of servers that the worker can run."""
FASTDDS_2_9 = "fastdds-2.9"
FASTDDS_RENAMED = (
    Renaming("RemoteServer", "3", "`<discoveryServersList><locator>…</locator>`", FASTDDS_2_9),
    Renaming("heartbeatPeriod", "3", "`heartbeat_period`", FASTDDS_2_9),
    Renaming("heartbeatResponseDelay", "3", "`heartbeat_response_delay`", FASTDDS_2_9),
    Renaming("nackResponseDelay", "3", "`nack_response_delay`", FASTDDS_2_9),
)
SERVERS = ("SERVER", "BACKUP")
CLIENTS = ("CLIENT", "SUPER_CLIENT")
LOCATOR_KINDS = ("udpv4", "udpv6", "tcpv4", "tcpv6")


def fastdds_needs(text: str) -> FileNeeds:
    """The needs of a file of Fast DDS. Only the participant with `is_default_profile` counts, as for
    Fast DDS itself. Raises Unreadable."""
    root = root_of(text, ("dds", "profiles"))
    if root is None:
        return NO_NEEDS
    participants = [
        element
        for element in descendants(root, "participant")
        if attribute(element, "is_default_profile") == "true"
    ]
    renamed = tuple(
        setting for setting in FASTDDS_RENAMED if any(descendants(root, setting.setting.lower()))
    )
    if not participants:
        return FileNeeds(renamed=renamed)
    participant = participants[0]
    rtps = next(elements_at(participant, "rtps"), participant)
    transports = list(_transports(root, rtps))
    config = next(elements_at(rtps, "builtin", "discovery_config"), None)
    protocol = "".join(texts(config, "discoveryprotocol")) if config is not None else ""
    servers = list(_servers(config)) if config is not None and protocol in CLIENTS else []
    peers = _addresses(rtps, "builtin", "initialpeerslist")
    allowed_names = [name for transport in transports for name in _allow_list(transport)]
    bound_addresses = [name for name in allowed_names if ip_address(name) is not None]
    bound_addresses += _addresses(rtps, "builtin", "metatrafficunicastlocatorlist")
    bound_addresses += _addresses(rtps, "defaultunicastlocatorlist")
    domain = texts(participant, "domainid")
    only_tcp = _only_tcp(rtps, transports)
    return FileNeeds(
        is_daemon="server" if protocol in SERVERS else None,
        domain_id=int(domain[0]) if domain and domain[0].isdigit() else None,
        interfaces=tuple(
            dict.fromkeys(
                name
                for name in allowed_names
                if ip_address(name) is None and name not in ("lo", "*")
            )
        ),
        own=reachable(bound_addresses),
        peers=reachable(peers),
        unresolved=names([*peers, *(server.address for server in servers)]),
        daemons=tuple(_daemon(server) for server in servers),
        servers=tuple(servers),
        listens=tuple(_listens(transports)),
        apart=_WITHOUT_PEER if only_tcp and not peers and not servers else None,
        renamed=renamed,
    )


_WITHOUT_PEER = (
    "it has TCP alone, which needs an initial peer, and names none, so nobody connects to "
    "anybody: name the other host under `initialPeersList` with `tcpv4`, its address and its "
    "`physical_port`"
)


def _transports(root: Element, rtps: Element) -> Iterator[Element]:
    """The descriptors of the transports that the participant uses."""
    used_ids = texts(rtps, "usertransports", "transport_id")
    for descriptor in descendants(root, "transport_descriptor"):
        ids = texts(descriptor, "transport_id")
        if ids and ids[0] in used_ids:
            yield descriptor


def _only_tcp(rtps: Element, transports: list[Element]) -> bool:
    builtin = texts(rtps, "usebuiltintransports")
    if not transports or "".join(builtin[-1:]).lower() not in ("false", "0"):
        return False
    return all(texts(transport, "type")[:1] in (["TCPv4"], ["TCPv6"]) for transport in transports)


def _allow_list(transport: Element) -> list[str]:
    """The addresses and names of interfaces that a transport may use."""
    entries = texts(transport, "interfacewhitelist", "address")
    entries += texts(transport, "interfacewhitelist", "interface")
    elements = elements_at(transport, "interfaces", "allowlist", "interface")
    return entries + [name for element in elements if (name := attribute(element, "name"))]


def _addresses(element: Element, *path: str) -> list[str]:
    return [
        text for kind in LOCATOR_KINDS for text in texts(element, *path, "locator", kind, "address")
    ]


def _servers(config: Element) -> Iterator[Locator]:
    lists = elements_at(config, "discoveryserverslist")
    locators = [locator for server_list in lists for locator in descendants(server_list, "locator")]
    for locator in locators:
        for kind in LOCATOR_KINDS:
            for element in elements_at(locator, kind):
                address, port = texts(element, "address"), texts(element, "port")
                port = port or texts(element, "physical_port")
                if address and port and port[0].isdigit():
                    yield Locator(address[0], int(port[0]))


def _daemon(server: Locator) -> str:
    """Our worker's name for the server at a port; the port where it cannot run that."""
    number = server.port - FIRST_PORT
    if number == 0:
        return "server"
    return f"server-{number}" if 0 < number < MOST_SERVERS else f"port {server.port}"


def _listens(transports: list[Element]) -> Iterator[Locator]:
    for transport in transports:
        for port in texts(transport, "listening_ports", "port"):
            if port.isdigit() and int(port):
                yield Locator("0.0.0.0", int(port))


_WITHOUT_CONNECT = (
    "it looks for nobody by multicast and connects to nobody: give it `connect: {endpoints: "
    '["tcp/ADDRESS:7447"]}`, or `scouting: {multicast: {enabled: true}}`'
)


def zenoh_needs(text: str) -> FileNeeds:
    """The needs of a file of Zenoh; none where it cannot be parsed."""
    try:
        config = json5_value(text)
    except Exception:  # the worker reports the error
        return NO_NEEDS
    if not isinstance(config, Mapping):
        return NO_NEEDS
    mode = str(_value_at(config, "mode") or "peer")
    connects, listens = (
        zenoh_endpoints(config, "connect", mode),
        zenoh_endpoints(config, "listen", mode),
    )
    if any("{" in endpoint for endpoint in [*connects, *listens]):
        return NO_NEEDS  # placeholders that the worker fills in
    scouts = _value_at(config, "scouting", "multicast", "enabled")
    interface = _value_at(config, "scouting", "multicast", "interface")
    targets, listeners = list(_locators(connects)), list(_locators(listens))
    servers = tuple(
        target for target in targets if not any(target.reaches(listener) for listener in listeners)
    )
    local = any(not endpoint.startswith("unixsock") for endpoint in connects)
    lonely = scouts is False and not connects and mode == "peer"
    return FileNeeds(
        is_daemon="router" if mode == "router" else None,
        interfaces=tuple(_zenoh_interfaces([*connects, *listens], interface)),
        own=reachable(listener.address for listener in listeners),
        peers=reachable(target.address for target in targets if target not in servers),
        unresolved=names(locator.address for locator in [*targets, *listeners]),
        daemons=("router",) if (servers and local) or mode == "client" else (),
        servers=servers,
        listens=tuple(listener for listener in listeners if listener.port),
        apart=_WITHOUT_CONNECT if lonely else None,
    )


def _value_at(config: Mapping[str, Any], *path: str) -> Any:
    value: Any = config
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def zenoh_endpoints(config: Mapping[str, Any], key: str, mode: str) -> list[str]:
    """The endpoints of a mode; a file may give them for each mode, or for all together."""
    endpoints = _value_at(config, key, "endpoints")
    if isinstance(endpoints, Mapping):
        endpoints = endpoints.get(mode)
    return [e for e in endpoints if isinstance(e, str)] if isinstance(endpoints, list) else []


def _locators(endpoints: list[str]) -> Iterator[Locator]:
    """Yields the locators of endpoints such as `tcp/[::]:7447#iface=eth0`."""
    for endpoint in endpoints:
        plain = re.split(r"[?#]", endpoint)[0].partition("/")[2]
        if match := re.fullmatch(r"\[?([^\]]*?)\]?:(\d+)", plain):
            yield Locator(match[1], int(match[2]))


def _zenoh_interfaces(endpoints: list[str], scouting: Any) -> Iterator[str]:
    matches = [re.search(r"[#;]iface=([^;#?]+)", endpoint) for endpoint in endpoints]
    interface_names = [match[1] for match in matches if match]
    if isinstance(scouting, str) and scouting != "auto":
        interface_names += [name.strip() for name in scouting.split(",")]
    yield from dict.fromkeys(name for name in interface_names if name not in ("", "lo"))


def iceoryx2_needs(text: str) -> FileNeeds:
    """The needs of a TOML file of iceoryx2: the directory of its files."""
    try:
        root = tomllib.loads(text).get("global", {}).get("root-path")
    except (tomllib.TOMLDecodeError, AttributeError):
        return NO_NEEDS
    return FileNeeds(folders=(root,)) if isinstance(root, str) else NO_NEEDS


READERS: dict[str, tuple[str, Callable[[str], FileNeeds]]] = {
    "cyclonedds": ("xml", cyclonedds_needs),
    "fastdds": ("xml", fastdds_needs),
    "fastrtps": ("xml", fastdds_needs),
    "zenoh": ("json5", zenoh_needs),
    "hiroz": ("json5", zenoh_needs),
    "iceoryx2": ("toml", iceoryx2_needs),
}
"""Family → the format of its files, and their reader. The name of a middleware contains that of its
family: `rclcpp/cyclonedds`, `fastdds-2.9`."""


def family(middleware: str) -> str | None:
    return next((name for name in READERS if name in middleware), None)


@cache
def file_needs(middleware: str, file_format: str | None, text: str) -> FileNeeds:
    """The needs of a file; none where its format has no reader here. Raises Unreadable."""
    reader = READERS.get(family(middleware) or "")
    return reader[1](text) if reader is not None and reader[0] == file_format else NO_NEEDS
