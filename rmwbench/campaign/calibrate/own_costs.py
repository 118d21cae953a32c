"""What of a number is ours: the null middleware's trials, and what a stamp and a record cost by
themselves. Nothing is subtracted from any number; the report shows it beside them."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rmwbench.analysis.metrics.glossary import METRICS, Use
from rmwbench.campaign.calibrate.grid import NOTHING, of_nothing
from rmwbench.campaign.calibrate.synthetic_campaign import SyntheticCampaign
from rmwbench.results.machine.machine_model import (
    CallCost,
    CostsAtSize,
    OwnCosts,
)
from rmwbench.results.model import Estimate

TIMEOUT_S = 30

AT_SIZES = {m.source or m.name: m.name for m in METRICS if Use.OWN_COST in m.use}
"""Names in a calibration's `sizes` -> the metrics of messages of each size."""


def own_cost(evidence: SyntheticCampaign, null: Path) -> OwnCosts:
    """`latency`: from the publish call until the message is taken, with no middleware between;
    `cpu_per_message`: of a whole message, both ends; both of messages of 64 bytes. `sizes`: the
    same and more for each size of the grid. `clock_read` and `record` in ns, from the worker
    itself."""
    names = {"latency": AT_SIZES["service_latency"], "cpu_per_message": AT_SIZES["cpu_per_message"]}
    smallest = _metrics(evidence, min(NOTHING), names)
    calls = clock_cost(null)
    return OwnCosts(
        latency=smallest["latency"],
        cpu_per_message=smallest["cpu_per_message"],
        sizes=tuple(
            CostsAtSize(payload_bytes=size, **_metrics(evidence, size, AT_SIZES))
            for size in NOTHING
        ),
        clock_read=calls["clock_read"],
        record=calls["record"],
    )


def _metrics(
    evidence: SyntheticCampaign, size: int, names: Mapping[str, str]
) -> dict[str, Estimate]:
    """The metrics of messages of this size in bytes, with no middleware between."""
    try:
        return {
            name: Estimate.of({"unit": "ns", **evidence.metric(*of_nothing(size), metric)})
            for name, metric in names.items()
        }
    except KeyError:
        none = Estimate(unit="ns", no_data="the null middleware was not measured")
        return dict.fromkeys(names, none)


def clock_cost(null: Path) -> dict[str, CallCost]:
    """`WORKER --clock-cost`: median and interval over batches, in ns."""
    try:
        completed = subprocess.run(
            [null, "--clock-cost"], capture_output=True, text=True, check=True, timeout=TIMEOUT_S
        )
        document = json.loads(completed.stdout)
        return {name: CallCost(unit="ns", **document[name]) for name in ("clock_read", "record")}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        return dict.fromkeys(("clock_read", "record"), CallCost(unit="ns", no_data=str(error)))
