"""What the kernel backend of the network can do on this machine, found by building such a network
in hosts that are gone a moment later: versions and configurations promise too much.
"""

import functools
from collections.abc import Mapping

from rmwbench.lab.host import HostBroken, Hosts
from rmwbench.lab.network.kernel import Kernel
from rmwbench.lab.network.plumbing import NetworkBroken
from rmwbench.lab.process.crew import Crew
from rmwbench.suite.network.backend import lacking, needs_delay
from rmwbench.suite.network.network import KERNEL, Access, Links, Network
from rmwbench.suite.network.spec import Spec

JOINED, RATE, DELAY = "loss, MTU and outages", "rate", "delay"
_TRIED: Mapping[str, Spec] = {
    JOINED: Spec.model_validate({"loss": 0.5}),
    RATE: Spec(rate_mbps=10),
    DELAY: Spec(delay_ms=5),
}


@functools.cache
def works() -> Mapping[str, str]:
    """Effect → why it cannot be had here, \"\" where it can. Takes a tenth of a second for each."""
    found: dict[str, str] = {}
    for name, spec in _TRIED.items():
        found[name] = found.get(JOINED) or _why_not(spec)
    return found


def why_not(links: Links) -> str | None:
    """What of a network the kernel cannot do, never or here; None where it can do all, and of a
    network of the switch."""
    if links.network.backend != KERNEL:
        return None
    never = list(lacking(links))
    if never:
        return "the kernel backend of the network cannot do " + "; ".join(never)
    specs = [links.spec(host, way) for host in links.hosts for way in ("up", "down")]
    specs += [
        spec
        for change in links.network.changes
        for way in ("up", "down")
        if (spec := change.spec(way))
    ]
    rated = any(spec.rate_bps is not None for spec in specs)
    needed = [JOINED, *([RATE] if rated else []), *([DELAY] if needs_delay(links) else [])]
    for name in needed:
        if works()[name]:
            return f"not supported by the kernel backend here: {name}: {works()[name]}"
    return None


def _why_not(spec: Spec) -> str:
    names = ("robot", "base")
    links = Links(None, names, Network(backend="kernel", links={"all": Access(both=spec)}))
    try:
        with Hosts("doctor", names) as hosts:
            hosts.wait_ready()
            with Crew(hosts) as crew:
                Kernel(crew, hosts, links).open(0)
    except (HostBroken, NetworkBroken) as broken:
        return str(broken).removeprefix("kernel backend: ")
    return ""
