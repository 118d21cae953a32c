"""A network in words for a plan: the effects of each link, and the changes within a trial."""

from rmwbench.suite.network.network import ROAM, Links, Medium, NetworkChange, Port
from rmwbench.suite.network.spec import Bernoulli, GilbertElliott, GilbertElliottTime, Spec
from rmwbench.words.numbers import counted


def network_lines(links: Links, *, all_hosts: bool = True) -> list[str]:
    """A line for each host, then lines for the network's own settings and changes. Without
    `all_hosts` a host whose link does nothing has no line."""
    lines = [
        f"{port.host}: {_both_ways(links, port)}"
        for port in links.ports
        if not port.network and (all_hosts or _has_effect(links, port))
    ]
    network = links.network
    if network.backend != "switch":
        lines.append(f"emulated by {network.backend}")
    for name, medium in network.media.items():
        lines.append(f"{name}: {_medium(medium)}")
    if network.priority:
        first = " and ".join(frames.words for frames in network.priority)
        lines.append(f"{first} {'leaves' if len(network.priority) == 1 else 'leave'} queues first")
    keys = ("multicast", "ip_fragments", "neighbours", "congestion_control")
    unusual = network.model_dump(include=set(keys), exclude_defaults=True)
    more = [f"{key.replace('_', ' ')} {unusual[key]}" for key in keys if key in unusual]
    if network.quantum_us is not None:
        more.append(f"deliveries {network.quantum_us:g} µs apart")
    lines += [", ".join(more)] if more else []
    for host in links.hosts:
        if names := [f"{i.name} {i.address}" for i in network.further(host)]:
            lead = "leads" if len(names) == 1 else "lead"
            lines.append(f"{host} also has {', '.join(names)}, that {lead} nowhere")
    for port in links.ports:
        if port.network:
            specs = _both_ways(links, port)
            lines.append(f"{port.host} also has {port.device}, a network beside: {specs}")
    lines += [f"cross traffic: {flows.words}" for flows in network.cross_traffic]
    lines += [_change(c) for c in sorted(network.changes, key=lambda change: change.at_s)]
    return lines


def _has_effect(links: Links, port: Port) -> bool:
    specs = [links.port_spec(port, way) for way in ("up", "down")]
    return any(spec.wire() or spec.nic() for spec in specs)


def _both_ways(links: Links, port: Port) -> str:
    up, down = (_spec(links.port_spec(port, way)) for way in ("up", "down"))
    return up if up == down else f"up {up}; down {down}"


def _medium(medium: Medium) -> str:
    parts = [
        f"{medium.rate_mbps:g} Mbit/s shared",
        f"{medium.overhead_us:g} µs per transmission",
    ]
    if medium.phy_loss:
        parts.append(f"{100 * medium.phy_loss:g} % of them lost")
    usual = Medium(rate_mbps=medium.rate_mbps)
    if medium.retries != usual.retries:
        parts.append(counted(medium.retries, "retry", "retries"))
    if medium.basic_rate_mbps not in (None, medium.rate_mbps):
        parts.append(f"multicast at {medium.basic_rate_mbps:g} Mbit/s")
    if medium.queue_frames != usual.queue_frames:
        parts.append(f"{counted(medium.queue_frames, 'frame')} may wait")
    if medium.codel is not None:
        codel = medium.codel
        parts.append(f"CoDel of {codel.target_ms:g} ms in {codel.interval_ms:g} ms")
    return ", ".join(parts)


def _spec(spec: Spec) -> str:
    parts = []
    if spec.rate_mbps is not None:
        parts.append(f"{spec.rate_mbps:g} Mbit/s" + (" at its own device" if spec.at_nic else ""))
    if spec.medium is not None:
        parts.append(f"on {spec.medium}")
    if spec.queue_kb is not None:
        parts.append(f"{spec.queue_kb:g} kB may wait")
    if spec.queue_frames is not None:
        parts.append(f"{counted(spec.queue_frames, 'frame')} may wait")
    if spec.queue_ms is not None:
        parts.append(f"{spec.queue_ms:g} ms may wait")
    if spec.delay_ms:
        parts.append(f"{spec.delay_ms:g} ms")
    if spec.jitter_ms:
        parts.append(f"± {spec.jitter_ms:g} ms{_memory(spec.jitter_correlation_ms)}")
    match spec.loss:
        case None:
            pass
        case Bernoulli():
            parts.append(f"{100 * spec.loss.mean:g} % lost")
        case GilbertElliott():
            law = f"p {spec.loss.p:g}, r {spec.loss.r:g}{_states(spec.loss)}"
            parts.append(f"{100 * spec.loss.mean:.3g} % lost in bursts ({law})")
        case _:
            text = f"bad for {spec.loss.bad_ms:g} ms after {spec.loss.good_ms:g} ms"
            parts.append(text + _states(spec.loss))
    if spec.reorder:
        parts.append(f"reorder {100 * spec.reorder:g} % by {spec.reorder_by_ms or 0:g} ms")
    for name in ("duplicate", "corrupt"):
        if getattr(spec, name):
            parts.append(f"{name} {100 * getattr(spec, name):g} %")
    if spec.mtu_bytes is not None:
        parts.append(f"MTU {spec.mtu_bytes}")
    if spec.police is not None:
        parts.append(spec.police.words)
    if spec.trace is not None:
        parts.append(f"trace {spec.trace.name}")
    if not spec.exempt_arp:
        parts.append("applies to ARP too")
    return ", ".join(parts) or "does nothing"


def _memory(correlation_ms: float | None) -> str:
    """The correlation time of a jitter in words; empty for the usual one."""
    match correlation_ms:
        case None:
            return ""
        case 0:
            return " by frame"
        case _:
            return f" forgotten within {correlation_ms:g} ms"


def _states(loss: GilbertElliott | GilbertElliottTime) -> str:
    """The losses in both states in words; empty where they are 0 and 100 %."""
    if (loss.good, loss.bad) == (0, 1):
        return ""
    return f", {100 * loss.good:g} % lost while good and {100 * loss.bad:g} % while bad"


def _change(change: NetworkChange) -> str:
    if change.change == ROAM:
        gap = f" after {change.gap_ms:g} ms of nothing" if change.gap_ms else ""
        address = ", with a new address" if change.new_address else ""
        return f"{change.at_s:g} s: {change.host} roams to {change.medium}{gap}{address}"
    if change.change is not None:
        return f"{change.at_s:g} s: {change.host} {change.change.replace('_', ' ')}"
    specs = [
        f"{way} {_spec(spec)}" for way in ("up", "down") if (spec := change.spec(way)) is not None
    ]
    return f"{change.at_s:g} s: {change.host} {'; '.join(specs)}"
