"""Saturation: a publisher that sends back to back, up to its limit. Where it reaches the limit
before the window ends, it is not known how many messages it would have sent in the rest, so the
window gives no rate: the messages of a faster arm would be divided by more idle time."""

from collections.abc import Iterable

from rmwbench.analysis.metrics.aggregate import MeasuredTrial
from rmwbench.analysis.metrics.comparisons import arrival_of, json_column
from rmwbench.analysis.metrics.glossary import METRICS
from rmwbench.analysis.records.columns import Row, SteadyWindow

OF_THE_WINDOW = tuple(m.name for m in METRICS if m.whole_window)


def limit_reached(
    endpoints: Iterable[Row], events: Iterable[Row], window: SteadyWindow | None
) -> str | None:
    """Why a trial, given by its rows of `endpoints` and `events`, has no rate; None where every
    publisher could send until the window ended."""
    limits = {row["endpoint"]: limit for row in endpoints if (limit := _limit(row)) is not None}
    if window is None or not limits:
        return None
    before_ns = [
        (window.end_ns - event["time_ns"], limits[event["endpoint"]])
        for event in events
        if event["event"] == "finished"
        and event["endpoint"] in limits
        and event["time_ns"] is not None
        and event["time_ns"] < window.end_ns
        and json_column(event["text"]).get("scheduled") == limits[event["endpoint"]]
    ]
    if not before_ns:
        return None
    left_ns, limit = max(before_ns)
    return (
        f"a publisher had sent its limit of {limit} messages {left_ns / 1e9:.3g} s before the "
        "window ended: raise `limit`"
    )


def drop_whole_window_metrics(trial: MeasuredTrial, reason: str) -> None:
    """Takes the metrics that need the whole window from the trial, its topics and its readers, and
    gives them the reason instead."""
    for part in (trial, *trial.topics.values(), *trial.readers.values()):
        for name in OF_THE_WINDOW:
            part.values.pop(name, None)
        part.reasons |= dict.fromkeys(OF_THE_WINDOW, reason)


def _limit(endpoint: Row) -> int | None:
    arrival = arrival_of(endpoint)
    return arrival.get("limit") if arrival.get("kind") == "saturation" else None
