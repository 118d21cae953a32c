"""The XML of Cyclone DDS, as CYCLONEDDS_URI takes it."""

import re

from rmwbench.lab.profile_file.file_needs import (
    NO_NEEDS,
    Element,
    FileNeeds,
    Renaming,
    attribute,
    descendants,
    elements_at,
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
OLD = "cyclonedds-0.10"
RENAMED = (
    Renaming(
        "SharedMemory",
        "11",
        '`<PubSubMessageExchange type="iox"/>` within `General/Interfaces`, and the arm starts '
        "RouDi by itself",
        OLD,
    ),
    Renaming(
        "NetworkInterfaceAddress",
        "11",
        '`<Interfaces><NetworkInterface name="…"/></Interfaces>` within `General`',
        OLD,
    ),
)


def needs(text: str) -> FileNeeds:
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
    hosts = [_host(peer) for peer in peers]
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
        domain_id=_domain(domains),
        interfaces=tuple(dict.fromkeys(name for name in device_names if name and "$" not in name)),
        own=reachable(bound_addresses),
        peers=reachable(hosts),
        unresolved=names(hosts),
        daemons=("roudi",) if exchanges & {"iox", "iceoryx"} or "true" in shared else (),
        writes=tuple(path for path in writes if path not in ("stdout", "stderr")),
        participants=_participants(domain),
        receive_buffer_bytes=_minimum(domain, "socketreceivebuffersize"),
        send_buffer_bytes=_minimum(domain, "socketsendbuffersize"),
        renamed=tuple(
            setting for setting in RENAMED if any(descendants(domain, setting.setting.lower()))
        ),
    )


def _domain(domains: list[Element]) -> int | None:
    """The number of the domain that the file is for; None where it is for any domain."""
    ids = [
        (attribute(domain, "id") or "".join(texts(domain, "id")) or "any").strip()
        for domain in domains
    ]
    numbers = [int(text) for text in ids if text.isdigit()]
    return numbers[0] if numbers and len(numbers) == len(ids) else None


def _host(peer: str) -> str:
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


def _minimum(domain: Element, name: str) -> int | None:
    """The least buffer in bytes with which a session opens; None without one."""
    least_bytes = None
    buffers = elements_at(domain, "internal", name)
    minimums = [attribute(element, "min") or "" for element in buffers]
    for minimum in texts(domain, "internal", f"minimum{name}") + minimums:
        match = re.fullmatch(r"(\d+)\s*([a-zA-Z]*)", minimum.strip())
        if match and match[2].lower() in UNITS:
            least_bytes = int(match[1]) * UNITS[match[2].lower()]
    return least_bytes
