"""What of a number is ours: the null middleware's trials, and what a stamp and a record cost by
themselves.

Nothing is subtracted from any number; the report shows it beside them.
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rmwbench.campaign.calibrate.evidence import Evidence
from rmwbench.campaign.calibrate.grid import NOTHING, of_nothing

TIMEOUT_S = 30
LATENCY, CPU = "service_latency_p50", "cpu_per_message"
AT_SIZES = {
    "response_latency": "response_latency_p50",
    "service_latency": LATENCY,
    "consumed_latency": "consumed_latency_p50",
    "cpu_per_message": CPU,
}


def own_cost(evidence: Evidence, null: Path) -> dict[str, Any]:
    """`latency`: from the publish call until the message is taken, with no middleware between;
    `cpu_per_message`: of a whole message, both ends; both of messages of 64 bytes. `sizes`: the
    same and more for each size of the grid. METRICs of the show document; `clock_read` and `record`
    in ns, from the worker itself."""
    found = {"latency": LATENCY, "cpu_per_message": CPU}
    try:
        metrics = {
            name: evidence.metric(*of_nothing(min(NOTHING)), metric)
            for name, metric in found.items()
        }
    except KeyError:
        metrics = {
            name: {"unit": "ns", "no_data": "the null middleware was not measured"}
            for name in found
        }
    return {**metrics, "sizes": [_at(evidence, size) for size in NOTHING], **clock_cost(null)}


def _at(evidence: Evidence, size: int) -> dict[str, Any]:
    try:
        found = {
            name: evidence.metric(*of_nothing(size), metric) for name, metric in AT_SIZES.items()
        }
    except KeyError:
        found = {
            name: {"unit": "ns", "no_data": "the null middleware was not measured"}
            for name in AT_SIZES
        }
    return {"payload_bytes": size, **found}


def clock_cost(null: Path) -> Mapping[str, Any]:
    """`WORKER --clock-cost`: median and interval over batches, in ns."""
    try:
        done = subprocess.run(
            [null, "--clock-cost"], capture_output=True, text=True, check=True, timeout=TIMEOUT_S
        )
        document = json.loads(done.stdout)
        return {name: {"unit": "ns", **document[name]} for name in ("clock_read", "record")}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        return {name: {"unit": "ns", "no_data": str(error)} for name in ("clock_read", "record")}
