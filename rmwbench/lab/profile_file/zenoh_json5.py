"""The JSON5 of Zenoh, as ZENOH_CONFIG and rmw_zenoh's ZENOH_SESSION_CONFIG_URI take it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rmwbench.lab.profile_file.file_needs import NO_NEEDS, FileNeeds, Locator, names, reachable
from rmwbench.words.json5 import json5_value

_WITHOUT_CONNECT = (
    "it looks for nobody by multicast and connects to nobody: give it `connect: {endpoints: "
    '["tcp/ADDRESS:7447"]}`, or `scouting: {multicast: {enabled: true}}`'
)


def needs(text: str) -> FileNeeds:
    """The needs of a file of Zenoh; none where it cannot be parsed."""
    try:
        config = json5_value(text)
    except Exception:  # the worker reports the error
        return NO_NEEDS
    if not isinstance(config, Mapping):
        return NO_NEEDS
    mode = str(_value_at(config, "mode") or "peer")
    connects, listens = endpoints(config, "connect", mode), endpoints(config, "listen", mode)
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
        interfaces=tuple(_interfaces([*connects, *listens], interface)),
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


def endpoints(config: Mapping[str, Any], key: str, mode: str) -> list[str]:
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


def _interfaces(endpoints: list[str], scouting: Any) -> Iterator[str]:
    matches = [re.search(r"[#;]iface=([^;#?]+)", endpoint) for endpoint in endpoints]
    interface_names = [match[1] for match in matches if match]
    if isinstance(scouting, str) and scouting != "auto":
        interface_names += [name.strip() for name in scouting.split(",")]
    yield from dict.fromkeys(name for name in interface_names if name not in ("", "lo"))
