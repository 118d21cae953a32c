"""The JSON5 of Zenoh, as ZENOH_CONFIG and rmw_zenoh's ZENOH_SESSION_CONFIG_URI take it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rmwbench.lab.profile_file.file_needs import NOTHING, FileNeeds, Locator, names, reachable
from rmwbench.words.json5 import json5_value

_WITHOUT_CONNECT = (
    "it looks for nobody by multicast and connects to nobody: give it `connect: {endpoints: "
    '["tcp/ADDRESS:7447"]}`, or `scouting: {multicast: {enabled: true}}`'
)


def needs(text: str) -> FileNeeds:
    try:
        config = json5_value(text)
    except Exception:  # the worker has words for it
        return NOTHING
    if not isinstance(config, Mapping):
        return NOTHING
    mode = str(_in(config, "mode") or "peer")
    connects, listens = _endpoints(config, "connect", mode), _endpoints(config, "listen", mode)
    if any("{" in endpoint for endpoint in [*connects, *listens]):
        return NOTHING  # words that the worker fills in
    scouts = _in(config, "scouting", "multicast", "enabled")
    interface = _in(config, "scouting", "multicast", "interface")
    to, at = list(_locators(connects)), list(_locators(listens))
    servers = tuple(
        locator for locator in to if not any(locator.reaches(listener) for listener in at)
    )
    local = any(not endpoint.startswith("unixsock") for endpoint in connects)
    lonely = scouts is False and not connects and mode == "peer"
    return FileNeeds(
        is_daemon="router" if mode == "router" else None,
        interfaces=tuple(_interfaces([*connects, *listens], interface)),
        own=reachable(locator.address for locator in at),
        peers=reachable(locator.address for locator in to if locator not in servers),
        unresolved=names(locator.address for locator in [*to, *at]),
        daemons=("router",) if (servers and local) or mode == "client" else (),
        servers=servers,
        listens=tuple(locator for locator in at if locator.port),
        apart=_WITHOUT_CONNECT if lonely else None,
    )


def _in(config: Mapping[str, Any], *path: str) -> Any:
    value: Any = config
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _endpoints(config: Mapping[str, Any], key: str, mode: str) -> list[str]:
    """The endpoints of its mode; they may be given for each mode."""
    ends = _in(config, key, "endpoints")
    if isinstance(ends, Mapping):
        ends = ends.get(mode)
    return [end for end in ends if isinstance(end, str)] if isinstance(ends, list) else []


def _locators(endpoints: list[str]) -> Iterator[Locator]:
    """The locators of `tcp/[::]:7447#iface=eth0` and its like."""
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
