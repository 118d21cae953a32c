"""The XML of Fast DDS, as FASTDDS_DEFAULT_PROFILES_FILE takes it. Only the participant with
`is_default_profile` counts, as for Fast DDS itself."""

from collections.abc import Iterator

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
    texts,
)

FIRST_PORT, MOST_SERVERS = 11811, 16
"""The port of ROS 2's server 0, and the number of servers that the worker can run."""
OLD = "fastdds-2.9"
RENAMED = (
    Renaming("RemoteServer", "3", "`<discoveryServersList><locator>…</locator>`", OLD),
    Renaming("heartbeatPeriod", "3", "`heartbeat_period`", OLD),
    Renaming("heartbeatResponseDelay", "3", "`heartbeat_response_delay`", OLD),
    Renaming("nackResponseDelay", "3", "`nack_response_delay`", OLD),
)
SERVERS = ("SERVER", "BACKUP")
CLIENTS = ("CLIENT", "SUPER_CLIENT")
LOCATOR_KINDS = ("udpv4", "udpv6", "tcpv4", "tcpv6")


def needs(text: str) -> FileNeeds:
    """The needs of a file of Fast DDS. Raises Unreadable."""
    root = root_of(text, ("dds", "profiles"))
    if root is None:
        return NO_NEEDS
    participants = [
        element
        for element in descendants(root, "participant")
        if attribute(element, "is_default_profile") == "true"
    ]
    renamed = tuple(
        setting for setting in RENAMED if any(descendants(root, setting.setting.lower()))
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
