"""What of a workload's numbers is the instrument's own, at its message size: writing the payload,
reading it, stamps and records, as the calibration measured them with no middleware in between.

Nothing is subtracted from any number. All arms of a workload share this cost, so it draws their
ratios towards 1; what it does to them can be read from the service latency, which begins when the
payload is written.
"""

from collections.abc import Sequence
from itertools import pairwise

from rmwbench.results.machine.machine_model import CostsAt, OwnCosts
from rmwbench.results.shown import Amount, OwnCost, WorkloadArm
from rmwbench.words import numbers as fmt

SHOWN = {"response_latency": "response_latency_p50", "cpu_per_message": "cpu_per_message"}
"""Of the calibration's `sizes` -> the metric that it is part of."""
LARGE = 0.1
"""Of the smallest value of any arm: from there on the sentence says what it does to ratios."""


def own_share(
    own: OwnCosts | None, payload_bytes: int | None, arms: Sequence[WorkloadArm]
) -> OwnCost | None:
    """Of a workload's arms, by a calibration's `own_cost`. None where the calibration has no sizes,
    or the workload does not read what it carries."""
    arms = [arm for arm in arms if arm.role == "contender"]
    if (
        not payload_bytes
        or own is None
        or not own.sizes
        or any(arm.touch not in (None, "all") for arm in arms)
    ):
        return None
    found = {
        name: value for name in SHOWN if (value := _at(own.sizes, name, payload_bytes)) is not None
    }
    if len(found) < len(SHOWN):
        return None
    shares = {name: _largest_share(value.value, arms, SHOWN[name]) for name, value in found.items()}
    response, cpu = (fmt.quantity(found[name].value, found[name].unit) for name in SHOWN)
    text = (
        f"With no middleware at all a message of {fmt.quantity(payload_bytes, 'bytes')} takes "
        f"{response} here from its intended time until it is "
        f"taken{_percent(shares['response_latency'])}, and {cpu} of processor "
        f"time{_percent(shares['cpu_per_message'])}: that is the instrument's, in every arm, and "
        "nothing is subtracted."
    )
    largest = max((share for share in shares.values() if share is not None), default=None)
    if largest is not None and largest >= LARGE:
        text += " It draws ratios towards 1: look at the service latency too."
    return OwnCost(payload_bytes=payload_bytes, **found, largest_share=largest, text=text)


def _at(sizes: Sequence[CostsAt], name: str, payload_bytes: int) -> Amount | None:
    """Between the sizes that were measured, and beyond the largest, a straight line: both ends of a
    message do the same for every byte."""
    measured = [(one.payload_bytes, getattr(one, name)) for one in sizes]
    known = [(size, metric) for size, metric in measured if metric and metric.value is not None]
    if not known:
        return None
    known.sort(key=lambda one: one[0])
    unit, points = known[0][1].unit, [(size, metric.value) for size, metric in known]
    least = points[0][1]
    if payload_bytes < points[0][0]:
        return Amount(unit=unit, value=least)
    if len(points) == 1:
        return Amount(unit=unit, value=least) if payload_bytes == points[0][0] else None
    (x, a), (y, b) = next(
        (pair for pair in pairwise(points) if payload_bytes <= pair[1][0]), (points[-2], points[-1])
    )
    return Amount(unit=unit, value=a + (b - a) * (payload_bytes - x) / (y - x))


def _largest_share(value: float, arms: Sequence[WorkloadArm], metric: str) -> float | None:
    """Of the arm that has least of it."""
    known = [v for arm in arms if (v := fmt.finite(arm.value(metric)))]
    return value / min(known) if known else None


def _percent(share: float | None) -> str:
    """` (31 % of the least of any arm)`, nothing where there is none. A machine whose processors
    are kept awake wakes a thread sooner than the idle one that was calibrated, so it may be more
    than all."""
    if share is None:
        return ""
    return (
        " (as much as the least of any arm)"
        if share >= 1
        else f" ({fmt.quantity(share, 'fraction')} of the least of any arm)"
    )
