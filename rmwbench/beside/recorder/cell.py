"""The recorder of a cell: its host, the messages that it should keep, and the size of its bag."""

from typing import Any

from rmwbench.beside.recorder.keys import KEY, Recorder
from rmwbench.suite.cells import Cell
from rmwbench.suite.workload.endpoints import Endpoint

MCAP_BYTES = 31 + 16
"""The bytes that MCAP adds to each message: its header, and its entry in an index."""
BAG_MARGIN = 1.05
"""MCAP's chunks come on top of the messages."""


def recorder_of(cell: Cell) -> Recorder | None:
    """Return the recorder of the workload, None if it has none."""
    recorder: Recorder | None = getattr(cell.workload.beside, KEY)
    return recorder


def recorded_publishers(cell: Cell) -> tuple[Endpoint, ...]:
    """Return the publishers whose messages the recorder should keep; none without a recorder."""
    recorder = recorder_of(cell)
    if recorder is None:
        return ()
    return tuple(
        endpoint
        for endpoint in cell.endpoints
        if endpoint.kind == "publisher"
        and (not recorder.topics or endpoint.topic in recorder.topics)
    )


def recorded_topics(cell: Cell) -> tuple[str, ...]:
    return tuple(dict.fromkeys(endpoint.topic for endpoint in recorded_publishers(cell)))


def recorded_bytes(cell: Cell) -> int:
    """Return the serialised size of all messages that a trial's recorder should keep."""
    return sum(endpoint.sent * endpoint.type.cdr_bytes for endpoint in recorded_publishers(cell))


def bag_bytes(cell: Cell) -> int:
    """Return the largest size of a trial's bag."""
    messages = sum(endpoint.sent for endpoint in recorded_publishers(cell))
    return int(BAG_MARGIN * (recorded_bytes(cell) + MCAP_BYTES * messages))


def host_of(cell: Cell) -> str:
    recorder = recorder_of(cell)
    return (recorder and recorder.host) or cell.hosts[0]


def definition(cell: Cell) -> dict[str, Any]:
    recorder = recorder_of(cell)
    if recorder is None:
        return {}
    topics = list(recorded_topics(cell))
    return {KEY: {**recorder.model_dump(mode="json"), "host": host_of(cell), "topics": topics}}
