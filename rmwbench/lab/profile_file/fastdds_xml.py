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
    at,
    attribute,
    names,
    parsed,
    reachable,
    root_of,
    texts,
)

FIRST_PORT, MOST_SERVERS = 11811, 16
"""Where ROS 2 looks for its server 0, and how many servers the worker can be."""
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
    chosen = [
        one
        for one in anywhere(root, "participant")
        if attribute(one, "is_default_profile") == "true"
    ]
    renamed = tuple(one for one in RENAMED if any(anywhere(root, one.setting.lower())))
    if not chosen:
        return FileNeeds(renamed=renamed)
    participant = chosen[0]
    rtps = next(at(participant, "rtps"), participant)
    transports = list(_transports(root, rtps))
    config = next(at(rtps, "builtin", "discovery_config"), None)
    protocol = "".join(texts(config, "discoveryprotocol")) if config is not None else ""
    servers = list(_servers(config)) if config is not None and protocol in CLIENTS else []
    peers = _addresses(rtps, "builtin", "initialpeerslist")
    bound = [name for one in transports for name in _allowed(one)]
    own = [name for name in bound if parsed(name) is not None]
    own += _addresses(rtps, "builtin", "metatrafficunicastlocatorlist")
    own += _addresses(rtps, "defaultunicastlocatorlist")
    domain = texts(participant, "domainid")
    only_tcp = _only_tcp(rtps, transports)
    return FileNeeds(
        is_daemon="server" if protocol in SERVERS else None,
        domain_id=int(domain[0]) if domain and domain[0].isdigit() else None,
        interfaces=tuple(
            dict.fromkeys(n for n in bound if parsed(n) is None and n not in ("lo", "*"))
        ),
        own=reachable(own),
        peers=reachable(peers),
        unresolved=names([*peers, *(one.address for one in servers)]),
        daemons=tuple(_daemon(one) for one in servers),
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
    """The descriptors of those that the participant uses."""
    used = texts(rtps, "usertransports", "transport_id")
    for one in anywhere(root, "transport_descriptor"):
        if texts(one, "transport_id")[:1] and texts(one, "transport_id")[0] in used:
            yield one


def _only_tcp(rtps: Element, transports: list[Element]) -> bool:
    builtin = texts(rtps, "usebuiltintransports")
    if not transports or "".join(builtin[-1:]).lower() not in ("false", "0"):
        return False
    return all(texts(one, "type")[:1] in (["TCPv4"], ["TCPv6"]) for one in transports)


def _allowed(transport: Element) -> list[str]:
    """Addresses and names of interfaces."""
    found = texts(transport, "interfacewhitelist", "address")
    found += texts(transport, "interfacewhitelist", "interface")
    listed = at(transport, "interfaces", "allowlist", "interface")
    return found + [name for one in listed if (name := attribute(one, "name"))]


def _addresses(element: Element, *path: str) -> list[str]:
    kinds = ("udpv4", "udpv6", "tcpv4", "tcpv6")
    return [text for kind in kinds for text in texts(element, *path, "locator", kind, "address")]


def _servers(config: Element) -> Iterator[Locator]:
    lists = list(at(config, "discoveryserverslist"))
    for one in [found for each in lists for found in anywhere(each, "locator")]:
        for kind in ("udpv4", "udpv6", "tcpv4", "tcpv6"):
            for place in at(one, kind):
                address, port = texts(place, "address"), texts(place, "port")
                port = port or texts(place, "physical_port")
                if address and port and port[0].isdigit():
                    yield Locator(address[0], int(port[0]))


def _daemon(server: Locator) -> str:
    """What our worker calls the one at this port; one that it cannot be is called by its port."""
    number = server.port - FIRST_PORT
    if number == 0:
        return "server"
    return f"server-{number}" if 0 < number < MOST_SERVERS else f"port {server.port}"


def _listens(transports: list[Element]) -> Iterator[Locator]:
    for one in transports:
        for port in texts(one, "listening_ports", "port"):
            if port.isdigit() and int(port):
                yield Locator("0.0.0.0", int(port))
