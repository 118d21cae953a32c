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
        said = json5_value(text)
    except Exception:  # the worker has words for it
        return NOTHING
    if not isinstance(said, Mapping):
        return NOTHING
    mode = str(_in(said, "mode") or "peer")
    connects, listens = _endpoints(said, "connect", mode), _endpoints(said, "listen", mode)
    if any("{" in endpoint for endpoint in [*connects, *listens]):
        return NOTHING  # words that the worker fills in
    scouts = _in(said, "scouting", "multicast", "enabled")
    interface = _in(said, "scouting", "multicast", "interface")
    to, at = list(_locators(connects)), list(_locators(listens))
    servers = tuple(one for one in to if not any(one.reaches(other) for other in at))
    local = any(not endpoint.startswith("unixsock") for endpoint in connects)
    lonely = scouts is False and not connects and mode == "peer"
    return FileNeeds(
        is_daemon="router" if mode == "router" else None,
        interfaces=tuple(_interfaces([*connects, *listens], interface)),
        own=reachable(one.address for one in at),
        peers=reachable(one.address for one in to if one not in servers),
        unresolved=names(one.address for one in [*to, *at]),
        daemons=("router",) if (servers and local) or mode == "client" else (),
        servers=servers,
        listens=tuple(one for one in at if one.port),
        apart=_WITHOUT_CONNECT if lonely else None,
    )


def _in(said: Mapping[str, Any], *path: str) -> Any:
    found: Any = said
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _endpoints(said: Mapping[str, Any], key: str, mode: str) -> list[str]:
    """Those of its mode; they may be given for each mode."""
    found = _in(said, key, "endpoints")
    if isinstance(found, Mapping):
        found = found.get(mode)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _locators(endpoints: list[str]) -> Iterator[Locator]:
    """Of `tcp/[::]:7447#iface=eth0` and its like."""
    for endpoint in endpoints:
        plain = re.split(r"[?#]", endpoint)[0].partition("/")[2]
        if found := re.fullmatch(r"\[?([^\]]*?)\]?:(\d+)", plain):
            yield Locator(found[1], int(found[2]))


def _interfaces(endpoints: list[str], scouting: Any) -> Iterator[str]:
    seen = [re.search(r"[#;]iface=([^;#?]+)", endpoint) for endpoint in endpoints]
    found = [one[1] for one in seen if one]
    if isinstance(scouting, str) and scouting != "auto":
        found += [name.strip() for name in scouting.split(",")]
    yield from dict.fromkeys(name for name in found if name not in ("", "lo"))
