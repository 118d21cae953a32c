"""One trial's evidence -> its metrics. Campaigns look at trials while they run and reports when they are done: both
come through here, so that they cannot disagree.

Where the evidence comes from is not our business (a bundle, a test): it is described by what it must offer.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rmwbench.analysis import cost, discovery
from rmwbench.analysis.aggregate import Trial
from rmwbench.analysis.joining import history, lives
from rmwbench.analysis.latency import measure
from rmwbench.analysis.records import Columns, Endpoint, Window
from rmwbench.analysis.sample import make_sample
from rmwbench.errors import UserError

Row = Mapping[str, Any]


class Evidence(Protocol):
    """What a bundle has of one done trial: rows of its small tables (docs/formats/bundle.md), and its records by
    column. `where` names the bundle in errors.
    """

    trial: int
    cell: int
    block: int
    row: Row
    endpoints: Sequence[Row]
    counters: Sequence[Row]
    events: Sequence[Row]
    records: Columns
    where: str


def measure_trial(evidence: Evidence) -> Trial:
    """All metrics of one done trial. UserError where its records contradict the format."""
    window = Window(evidence.row.get("steady_begin_ns"), evidence.row.get("steady_end_ns"))
    endpoints = [Endpoint(e["endpoint"], e["kind"], e["topic"]) for e in evidence.endpoints]
    known = lives(evidence.endpoints, evidence.events, window)
    try:
        messages = measure(evidence.records, endpoints, window, known)
    except ValueError as error:
        raise UserError(
            f"the records of trial {evidence.trial} contradict the record format: {error}",
            where=evidence.where,
            fix="the worker that wrote them has a bug; exclude its arm, or run again",
        ) from None
    before = [e for e in evidence.events if not _within(e, evidence.row)]
    messages.samples["endpoint_match"] = make_sample([discovery.endpoint_matches_ns(before)])
    trial = Trial(evidence.trial, evidence.block, messages, window.length_ns)
    trial.values |= history(evidence.records, endpoints, known)
    for values, reasons in (
        cost.cost(
            evidence.counters,
            published=messages.publishes,
            delivered=messages.ledger.delivered,
            window_ns=window.length_ns,
            delivered_bytes=messages.bytes_in_window,
            no_data=cost.unread(evidence.events),
        ),
        cost.setup(before),
        discovery.graph(before, evidence.counters),
    ):
        trial.values |= values
        trial.reasons |= reasons
    return trial


def _within(event: Row, row: Row) -> bool:
    """Whether it is of the window and not of the barrier: late joiners are matched there too."""
    start_ns = row.get("start_ns")
    return start_ns is not None and event["time_ns"] is not None and event["time_ns"] >= start_ns
