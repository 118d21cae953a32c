"""Bytes that hosts sent and that could not reach another host: into unconnected interfaces, and to
themselves.

A host with Docker or a VPN has several addresses, and a middleware that announces all of them may
send where no host listens. Two hosts often have the same address there (172.17.0.1 of docker0):
bytes that either sends to this address never leave it."""

from collections.abc import Iterable, Mapping
from typing import Any

from rmwbench.analysis.metrics.glossary import MetricScope, names_of
from rmwbench.analysis.stats.estimate import Measures, total

NO_FURTHER = "no host has further interfaces"
NOT_READ = (
    "the interfaces' counters were not read before the first session opened and at the window's end"
)
BEGIN, END = "before_open", "steady_end"
LOOPBACK = "lo"


def stray(counters: Iterable[Mapping[str, Any]], definition: Mapping[str, Any]) -> Measures:
    """Bytes that all hosts of a trial sent into unconnected interfaces, and over their loopback,
    from before the first session until the end of the steady state. `definition` is the cell's."""
    further = (definition.get("network") or {}).get("interfaces") or {}
    if not further:
        return dict.fromkeys(names_of(MetricScope.INTERFACES), NO_FURTHER)
    sent: dict[tuple[str, str, str], float] = {}
    for row in counters:
        kind, _, rest = row["counter"].partition(".")
        interface, _, counter = rest.rpartition(".")
        if row["at"] in (BEGIN, END) and (kind, counter) == ("interface", "tx_bytes"):
            sent[row["process"], interface, row["at"]] = row["value"]
    values: Measures = {}
    # Hosts of cross traffic have such interfaces, too; they are not among `hosts`.
    hosts = definition["network"]["hosts"]
    places = {
        "stray_bytes": [(host, nic["name"]) for host in hosts for nic in further.get(host, ())],
        "loopback_bytes": [(host, LOOPBACK) for host in hosts],
    }
    for metric, wanted in places.items():
        begin, end = (total(sent.get((*place, at)) for place in wanted) for at in (BEGIN, END))
        if begin is None or end is None:
            return dict.fromkeys(names_of(MetricScope.INTERFACES), NOT_READ)
        values[metric] = end - begin
    return values
