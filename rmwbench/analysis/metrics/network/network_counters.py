"""What counters alone say of a network: the goodput and cost of cross traffic, and the bytes that
hosts sent and that could not reach another host.

The receivers of cross traffic count the bytes that they read, so this is goodput: without headers,
and each byte once however often it was sent.

A host with Docker or a VPN has several addresses, and a middleware that announces all of them may
send into unconnected interfaces, where no host listens. Two hosts often have the same address there
(172.17.0.1 of docker0): bytes that either sends to this address never leave it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rmwbench.analysis.metrics.glossary import MetricScope, names_of
from rmwbench.analysis.stats.estimate import Measures, total

ROLE = "cross traffic"
NONE = "the network has no cross traffic"
NO_ACCOUNT = "the counters of the cross traffic were not read at both ends of the window"
TOO_SHORT = "no whole second lies within the window"

RECEIVED, TIME, USED = "tcp.received", "snapshot_time", "cpu"
BEGIN, END, SECOND = "steady_begin", "steady_end", "second_"
NS_PER_S = 1_000_000_000

Counted = dict[tuple[str, str], float]
"""(counter, at) → value, of one process."""


def cross_traffic(counters: Iterable[Mapping[str, Any]], definition: Mapping[str, Any]) -> Measures:
    """The metrics of all cross traffic of a trial together: bytes per second in the window and in
    its worst second, and processor time per second. `definition` is the cell's."""
    flows = _flows(definition)
    if not flows:
        return dict.fromkeys(names_of(MetricScope.CROSS_TRAFFIC), NONE)
    processes: dict[str, Counted] = {}
    for row in counters:
        if row["role"] == ROLE and row["value"] is not None:
            processes.setdefault(row["process"], {})[row["counter"], row["at"]] = row["value"]
    receivers = [
        own for own in processes.values() if {(RECEIVED, BEGIN), (RECEIVED, END)} <= own.keys()
    ]
    unread = any(not {(USED, BEGIN), (USED, END)} <= own.keys() for own in processes.values())
    if unread or len(receivers) < len(flows):
        return dict.fromkeys(names_of(MetricScope.CROSS_TRAFFIC), NO_ACCOUNT)
    seconds = [sum(_rate(own, *ends) for own in receivers) for ends in _seconds(receivers)]
    length_ns = receivers[0][TIME, END] - receivers[0][TIME, BEGIN]
    used_ns = sum(own[USED, END] - own[USED, BEGIN] for own in processes.values())
    return {
        "cross_goodput": sum(_rate(own, BEGIN, END) for own in receivers),
        "cross_goodput_least": min(seconds) if seconds else TOO_SHORT,
        "cross_cpu_cores": used_ns / length_ns,
    }


def hosts_of(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """The hosts of cross traffic, from a cell's definition; empty without cross traffic."""
    return tuple(dict.fromkeys(flow[end] for flow in _flows(definition) for end in ("from", "to")))


def _flows(definition: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The flows of cross traffic, each of which has a receiver of its own."""
    return (definition.get("network") or {}).get("cross_traffic") or ()


def _seconds(receivers: Sequence[Counted]) -> Iterator[tuple[str, str]]:
    """The snapshots at both ends of each second that all receivers saw whole; the last second ends
    with the window."""
    count = min(
        sum(1 for counter, at in own if counter == RECEIVED and at.startswith(SECOND))
        for own in receivers
    )
    marks = [BEGIN, *(f"{SECOND}{number}" for number in range(1, count + 1)), END]
    for begin, end in pairwise(marks):
        if all(
            abs(own[TIME, end] - own[TIME, begin] - NS_PER_S) < NS_PER_S / 10 for own in receivers
        ):
            yield begin, end


def _rate(own: Counted, begin: str, end: str) -> float:
    """Bytes per second between two snapshots by their own times: a late snapshot does no harm."""
    received, length_ns = (own[name, end] - own[name, begin] for name in (RECEIVED, TIME))
    return NS_PER_S * received / length_ns


NO_FURTHER = "no host has further interfaces"
NOT_READ = (
    "the interfaces' counters were not read before the first session opened and at the window's end"
)
BEFORE_OPEN = "before_open"
LOOPBACK = "lo"


def stray_measures(
    counters: Iterable[Mapping[str, Any]], definition: Mapping[str, Any]
) -> Measures:
    """Bytes that all hosts of a trial sent into unconnected interfaces, and over their loopback,
    from before the first session until the end of the steady state. `definition` is the cell's."""
    further = (definition.get("network") or {}).get("interfaces") or {}
    if not further:
        return dict.fromkeys(names_of(MetricScope.INTERFACES), NO_FURTHER)
    sent: dict[tuple[str, str, str], float] = {}
    for row in counters:
        kind, _, rest = row["counter"].partition(".")
        interface, _, counter = rest.rpartition(".")
        if row["at"] in (BEFORE_OPEN, END) and (kind, counter) == ("interface", "tx_bytes"):
            sent[row["process"], interface, row["at"]] = row["value"]
    values: Measures = {}
    # Hosts of cross traffic have such interfaces, too; they are not among `hosts`.
    hosts = definition["network"]["hosts"]
    places = {
        "stray_bytes": [(host, nic["name"]) for host in hosts for nic in further.get(host, ())],
        "loopback_bytes": [(host, LOOPBACK) for host in hosts],
    }
    for metric, wanted in places.items():
        begin, end = (
            total(sent.get((*place, at)) for place in wanted) for at in (BEFORE_OPEN, END)
        )
        if begin is None or end is None:
            return dict.fromkeys(names_of(MetricScope.INTERFACES), NOT_READ)
        values[metric] = end - begin
    return values
