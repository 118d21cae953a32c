"""A row of the table `probes`."""

from typing import Any


def probe_row(
    probe: str, value: float, unit: str = "fraction", at: str = "window"
) -> dict[str, Any]:
    return {"probe": probe, "unit": unit, "at": at, "value": value}
