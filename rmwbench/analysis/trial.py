"""One trial's evidence -> its metrics. Campaigns look at trials while they run and reports when they are done: both
come through here, so that they cannot disagree.

Where the evidence comes from is not our business (a bundle, a test): it is described by what it must offer.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rmwbench.analysis import cost
from rmwbench.analysis.aggregate import Trial
from rmwbench.analysis.latency import measure
from rmwbench.analysis.records import Columns, Endpoint, Window
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
    try:
        messages = measure(evidence.records, endpoints, window)
    except ValueError as error:
        raise UserError(
            f"the records of trial {evidence.trial} contradict the record format: {error}",
            where=evidence.where,
            fix="the worker that wrote them has a bug; exclude its arm, or run again",
        ) from None
    trial = Trial(evidence.trial, evidence.block, messages, window.length_ns)
    for values, reasons in (
        cost.cost(
            evidence.counters,
            published=messages.publishes,
            delivered=messages.ledger.delivered,
            window_ns=window.length_ns,
            delivered_bytes=messages.bytes_in_window,
            no_data=cost.unread(evidence.events),
        ),
        cost.setup(evidence.events),
    ):
        trial.values |= values
        trial.reasons |= reasons
    return trial
