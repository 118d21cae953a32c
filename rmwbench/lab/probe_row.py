"""A row of the table `probes`: a measurement of the machine, of the network or of a load during a
trial."""

from typing import Any


def probe_row(
    probe: str, value: float, unit: str = "fraction", at: str = "window"
) -> dict[str, Any]:
    return {"probe": probe, "unit": unit, "at": at, "value": value}
