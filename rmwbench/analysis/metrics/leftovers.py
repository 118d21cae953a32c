"""What processes left behind in /dev/shm and /tmp of their hosts, by the events that count it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

EVENT = "leftovers"
FILES, BYTES = "leftover_files", "leftover_bytes"
NOT_ASKED = "nobody looked: the suite does not say `sampling: {leftovers: true}`"


def leftovers(events: Iterable[Mapping[str, Any]]) -> tuple[dict[str, float], dict[str, str]]:
    """(values, reasons) of one trial, all hosts together: files and sockets (a directory by itself
    is not a leftover), and the bytes that all of it takes."""
    found = [event for event in events if event["event"] == EVENT]
    if not found:
        return {}, dict.fromkeys((FILES, BYTES), NOT_ASKED)
    kinds = [json.loads(event["text"] or "{}") for event in found]
    files = sum(count for one in kinds for kind, count in one.items() if kind != "directory")
    return {FILES: float(files), BYTES: float(sum(event["value"] or 0 for event in found))}, {}
