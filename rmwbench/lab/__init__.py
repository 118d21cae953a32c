"""What do trials run on? The machine, hosts, networks, middlewares and processes.

`machine` describes the machine and its behaviour, `host` makes namespaces and agents, `network`
makes links, `middleware` finds and builds workers, `process` runs workers and speaks their
protocol, `sampling` counts the cost of processes, `camera` makes frames. The package imports
`suite` and the clocks of `analysis.records`."""

from typing import Any


def probe_row(
    probe: str, value: float, unit: str = "fraction", at: str = "window"
) -> dict[str, Any]:
    """A row of the table `probes`."""
    return {"probe": probe, "unit": unit, "at": at, "value": value}
