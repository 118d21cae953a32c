"""The XML of Fast DDS, as FASTDDS_DEFAULT_PROFILES_FILE takes it. Only the participant that is
marked `is_default_profile` counts, as for Fast DDS itself."""

from collections.abc import Iterator

from rmwbench.lab.profile_file.file_needs import (
    NOTHING,
    Element,
    FileNeeds,
    Locator,
    Renaming,
    anywhere,
    attribute,
    elements_at,
    names,
    parsed,
    reachable,
    root_of,
    texts,
)

FIRST_PORT, MOST_SERVERS = 11811, 16
"""The port at which ROS 2 looks for its server 0, and the number of servers that the worker can
be."""
OLD = "fastdds-2.9"
RENAMED = (
    Renaming("RemoteServer", "3", "`<discoveryServersList><locator>…</locator>`", OLD),
    Renaming("heartbeatPeriod", "3", "`heartbeat_period`", OLD),
    Renaming("heartbeatResponseDelay", "3", "`heartbeat_response_delay`", OLD),
    Renaming("nackResponseDelay", "3", "`nack_response_delay`", OLD),
)
SERVERS = ("SERVER", "BACKUP")
CLIENTS = ("CLIENT", "SUPER_CLIENT")


def needs(text: str) -> FileNeeds:
    """Raises Unreadable."""
    root = root_of(text, ("dds", "profiles"))
    if root is None:
        return NOTHING
    participants = [
        element
        for element in anywhere(root, "participant")
        if attribute(element, "is_default_profile") == "true"
    ]
    renamed = tuple(setting for setting in RENAMED if any(anywhere(root, setting.setting.lower())))
    if not participants:
        return FileNeeds(renamed=renamed)
    participant = participants[0]
    rtps = next(elements_at(participant, "rtps"), participant)
    transports = list(_transports(root, rtps))
    config = next(elements_at(rtps, "builtin", "discovery_config"), None)
    protocol = "".join(texts(config, "discoveryprotocol")) if config is not None else ""
    servers = list(_servers(config)) if config is not None and protocol in CLIENTS else []
    peers = _addresses(rtps, "builtin", "initialpeerslist")
    bound = [name for transport in transports for name in _allowed(transport)]
    bound_addresses = [name for name in bound if parsed(name) is not None]
    bound_addresses += _addresses(rtps, "builtin", "metatrafficunicastlocatorlist")
    bound_addresses += _addresses(rtps, "defaultunicastlocatorlist")
    domain = texts(participant, "domainid")
    only_tcp = _only_tcp(rtps, transports)
    return FileNeeds(
        is_daemon="server" if protocol in SERVERS else None,
        domain_id=int(domain[0]) if domain and domain[0].isdigit() else None,
        interfaces=tuple(
            dict.fromkeys(n for n in bound if parsed(n) is None and n not in ("lo", "*"))
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
    used = texts(rtps, "usertransports", "transport_id")
    for descriptor in anywhere(root, "transport_descriptor"):
        if texts(descriptor, "transport_id")[:1] and texts(descriptor, "transport_id")[0] in used:
            yield descriptor


def _only_tcp(rtps: Element, transports: list[Element]) -> bool:
    builtin = texts(rtps, "usebuiltintransports")
    if not transports or "".join(builtin[-1:]).lower() not in ("false", "0"):
        return False
    return all(texts(transport, "type")[:1] in (["TCPv4"], ["TCPv6"]) for transport in transports)


def _allowed(transport: Element) -> list[str]:
    """Addresses and names of interfaces."""
    entries = texts(transport, "interfacewhitelist", "address")
    entries += texts(transport, "interfacewhitelist", "interface")
    listed = elements_at(transport, "interfaces", "allowlist", "interface")
    return entries + [name for element in listed if (name := attribute(element, "name"))]


def _addresses(element: Element, *path: str) -> list[str]:
    kinds = ("udpv4", "udpv6", "tcpv4", "tcpv6")
    return [text for kind in kinds for text in texts(element, *path, "locator", kind, "address")]


def _servers(config: Element) -> Iterator[Locator]:
    lists = list(elements_at(config, "discoveryserverslist"))
    for locator in [
        locator for server_list in lists for locator in anywhere(server_list, "locator")
    ]:
        for kind in ("udpv4", "udpv6", "tcpv4", "tcpv6"):
            for element in elements_at(locator, kind):
                address, port = texts(element, "address"), texts(element, "port")
                port = port or texts(element, "physical_port")
                if address and port and port[0].isdigit():
                    yield Locator(address[0], int(port[0]))


def _daemon(server: Locator) -> str:
    """The name that our worker gives the server at this port; one that it cannot be has its
    port's."""
    number = server.port - FIRST_PORT
    if number == 0:
        return "server"
    return f"server-{number}" if 0 < number < MOST_SERVERS else f"port {server.port}"


def _listens(transports: list[Element]) -> Iterator[Locator]:
    for transport in transports:
        for port in texts(transport, "listening_ports", "port"):
            if port.isdigit() and int(port):
                yield Locator("0.0.0.0", int(port))
