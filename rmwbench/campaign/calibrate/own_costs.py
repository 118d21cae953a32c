"""The instrument's own costs: the metrics of trials of the null middleware, and the cost of a stamp
and of a record. They are shown beside the measured numbers and subtracted from none."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rmwbench.analysis.metrics.glossary import METRICS, Use
from rmwbench.campaign.calibrate.grid import NOTHING, of_nothing
from rmwbench.campaign.calibrate.synthetic_campaign import SyntheticCampaign
from rmwbench.results.machine.machine_model import CallCost, CostsAtSize, OwnCosts
from rmwbench.results.model import Estimate

TIMEOUT_S = 30

AT_SIZES = {m.source or m.name: m.name for m in METRICS if Use.OWN_COST in m.use}
"""Name in a calibration's `sizes` → the metric of messages of each size."""


def own_cost(evidence: SyntheticCampaign, null: Path) -> OwnCosts:
    """Return the costs. `latency` is the time from the publish call until the message is taken,
    without a middleware, and `cpu_per_message` the CPU time of both ends, both for messages of 64
    bytes; `sizes` has these and more for each size of the grid; `clock_read` and `record` are in ns
    and measured by the worker itself."""
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
    """Return the metrics of messages of this size in bytes without a middleware."""
    try:
        return {
            name: Estimate.of({"unit": "ns", **evidence.metric(*of_nothing(size), metric)})
            for name, metric in names.items()
        }
    except KeyError:
        none = Estimate(unit="ns", no_data="the null middleware was not measured")
        return dict.fromkeys(names, none)


def clock_cost(null: Path) -> dict[str, CallCost]:
    """Return the output of `WORKER --clock-cost`: median and interval over batches, in ns."""
    try:
        completed = subprocess.run(
            [null, "--clock-cost"], capture_output=True, text=True, check=True, timeout=TIMEOUT_S
        )
        document = json.loads(completed.stdout)
        return {name: CallCost(unit="ns", **document[name]) for name in ("clock_read", "record")}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        return dict.fromkeys(("clock_read", "record"), CallCost(unit="ns", no_data=str(error)))
