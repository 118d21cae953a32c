"""The backend that emulates a network: the switch, which has every feature; or the kernel, which is
for more than 1 Gbit/s and as a check of the switch, and has fewer.

This module says what the kernel can never emulate; what it cannot do on this machine is found by
trying (rmwbench/lab/network/kernel.py). One comparison never has both backends: they differ in when
they draw a loss, in the cost of a frame, and in the process that bears it.
"""

from collections.abc import Iterator, Sequence

from rmwbench.suite.fault import Fault
from rmwbench.suite.network.network import KERNEL, Links
from rmwbench.suite.network.spec import Bernoulli, Spec

_SEEDED = "the kernel's own generator takes no seed and has no states"
_WHY = {
    "jitter_ms": "the kernel's only jitter follows another law, which lets frames overtake",
    "reorder": "the kernel sends some frames early instead of some late",
    "duplicate": "the kernel's duplicates cannot be combined with a rate",
    "corrupt": "the kernel's corruption also falls on Ethernet headers",
    "medium": "the kernel has no model of airtime",
    "trace": "the kernel follows no trace",
    "police": "the kernel's policer has one bucket for all flows together",
}


def lacking(links: Links) -> Iterator[str]:
    """The reasons why the kernel cannot emulate this network on any machine; none for the
    switch."""
    network = links.network
    if network.backend != KERNEL:
        return
    if network.multicast != "flood":
        yield f"`multicast: {network.multicast}`: its bridge floods"
    if network.priority:
        yield "`priority`: its queues have one class"
    if network.beside:
        yield "`beside`: its bridge is one network"
    if network.quantum_us is not None:
        yield "`quantum_us`: it delivers frame by frame"
    for host in links.hosts:
        up, down = links.spec(host, "up"), links.spec(host, "down")
        if up.mtu_bytes != down.mtu_bytes:
            yield f"`mtu_bytes` of {host}: its devices have one MTU for both directions"
        yield from (f"{why} ({host})" for spec in (up, down) for why in _lacking_of(spec))
    for change in network.changes:
        for direction in ("up", "down"):
            spec = change.spec(direction)
            if spec is None:
                continue
            if spec.mtu_bytes not in (None, links.spec(change.host, direction).mtu_bytes):
                yield f"another `mtu_bytes` of {change.host} within a trial"
            yield from (f"{why} ({change.host}, at {change.at_s:g} s)" for why in _lacking_of(spec))


def _lacking_of(spec: Spec) -> Iterator[str]:
    for name, why in _WHY.items():
        if getattr(spec, name):
            yield f"`{name}`: {why}"
    if spec.loss is not None and not isinstance(spec.loss, Bernoulli):
        yield f"loss of kind `{spec.loss.kind}`: {_SEEDED}"
    limit = next(
        (name for name in ("queue_kb", "queue_ms") if getattr(spec, name) is not None), None
    )
    if spec.delay_ms and spec.rate_mbps and not spec.at_nic and limit is not None:
        yield (
            f"`{limit}` beside `delay_ms`: frames that wait and frames under way share a queue "
            "that counts frames"
        )


def check_one_backend(workloads: Sequence[tuple[str, str | None, str]]) -> None:
    """Raises Fault where a comparison would have both backends. `workloads`: (workload, its
    `against` or None, backend) of every cell of several hosts."""
    backends: dict[str, str] = {}
    for name, _, backend in workloads:
        if backends.setdefault(name, backend) != backend:
            raise Fault(
                f"workload `{name}` would be compared over two backends of the network",
                expected="`backend: switch` or `backend: kernel` in all networks of a workload",
                actual="both",
                fix="write a workload for each; their results cannot be compared",
            )
    for name, against, backend in workloads:
        if against is not None and backends.get(against, backend) != backend:
            raise Fault(
                f"workload `{name}` is compared with `{against}`, whose network has another backend",
                expected=f"`backend: {backends[against]}` in both",
                actual=f"{backend} and {backends[against]}",
            )
