"""The instrument's own part in a workload's numbers, at its message size: writing the payload,
reading it, stamps and records, as the calibration measured them without any middleware.

Nothing is subtracted from any number. All arms of a workload share this cost, so it draws their
ratios towards 1; its effect on them can be read from the service latency, which begins after the
payload is written."""

from collections.abc import Sequence
from itertools import pairwise

from rmwbench.analysis.metrics.comparisons import PRIMARY
from rmwbench.results.machine.machine_model import OwnCosts
from rmwbench.results.model import Estimate
from rmwbench.results.show_model import Amount, OwnCost, TopicAnswer, WorkloadArm
from rmwbench.words import numbers as fmt

CPU = "cpu_per_message"
LARGE = 0.1
"""From this share of the smallest value of any arm on, the sentence says that ratios are
affected."""


def own_share(
    own: OwnCosts | None,
    payload_bytes: int | None,
    arms: Sequence[WorkloadArm],
    topics: Sequence[TopicAnswer] = (),
) -> OwnCost | None:
    """Return the instrument's part in a workload, from a calibration's `own_cost`, at
    `payload_bytes`, its largest message. With unlike `topics`, the share of processor time is that
    of all their messages, each at its own size, since an arm's processor time is a mean over them.
    None if the calibration has no sizes, or the workload does not read its payloads."""
    arms = [arm for arm in arms if arm.role == "contender"]
    if (
        not payload_bytes
        or own is None
        or not own.sizes
        or any(arm.touch not in (None, "all") for arm in arms)
    ):
        return None
    costs = [(size.payload_bytes, size.cpu_per_message) for size in own.sizes]
    latencies = [(size.payload_bytes, size.response_latency) for size in own.sizes]
    response, cpu = _at(latencies, payload_bytes), _at(costs, payload_bytes)
    if response is None or cpu is None:
        return None
    of_response = _largest_share(response.value, arms, PRIMARY)
    of_cpu = (
        _share_over_topics(costs, topics, arms) if topics else _largest_share(cpu.value, arms, CPU)
    )
    text = (
        f"With no middleware at all a message of {fmt.quantity(payload_bytes, 'bytes')} takes "
        f"{fmt.quantity(response.value, response.unit)} here from its intended time until it is "
        f"taken{_percent(of_response)}, and {fmt.quantity(cpu.value, cpu.unit)} of processor "
        f"time{'' if topics else _percent(of_cpu)}: that is the instrument's, in every arm, and "
        "nothing is subtracted."
    )
    if topics and of_cpu is not None:
        text += (
            " Over the messages of all topics the instrument's processor time is "
            f"{fmt.quantity(of_cpu, 'fraction')} of an arm's at most."
        )
    largest = max((share for share in (of_response, of_cpu) if share is not None), default=None)
    if largest is not None and largest >= LARGE:
        text += " It draws ratios towards 1: look at the service latency too."
    return OwnCost(
        payload_bytes=payload_bytes,
        response_latency=response,
        cpu_per_message=cpu,
        largest_share=largest,
        text=text,
    )


def _share_over_topics(
    costs: Sequence[tuple[int, Estimate | None]],
    topics: Sequence[TopicAnswer],
    arms: Sequence[WorkloadArm],
) -> float | None:
    """Return the largest share of any arm, weighted by what it delivered in each topic; None if no
    arm has one, or the size of a topic's messages varies."""
    sizes = [topic.payload_bytes for topic in topics]
    own_cost_s = {size: _at(costs, size) for size in sizes if size is not None}
    shares = []
    for arm in arms:
        per_message_s = fmt.finite(arm.value(CPU))
        delivered = [_delivered(topic, arm.arm) for topic in topics]
        if not per_message_s or not sum(delivered):
            continue
        total_s = 0.0
        for size, count in zip(sizes, delivered, strict=True):
            cost = own_cost_s.get(size) if size is not None else None
            if cost is None:
                return None
            total_s += cost.value * count
        shares.append(total_s / sum(delivered) / per_message_s)
    return max(shares, default=None)


def _delivered(topic: TopicAnswer, name: str) -> int:
    """Return how many messages of the topic arrived at the readers of that arm."""
    (arm,) = [arm for arm in topic.arms if arm.arm == name]
    return (arm.metrics["undelivered"].count or 0) - arm.missing - arm.under_way


def _at(sizes: Sequence[tuple[int, Estimate | None]], payload_bytes: int) -> Amount | None:
    """Return the cost at a size. It lies on a straight line between the measured sizes and beyond
    the largest, since both ends of a message do the same work for every byte; below the smallest
    size it is the cost of the smallest."""
    estimates = [(size, estimate) for size, estimate in sizes if estimate is not None]
    points = sorted((size, e.value) for size, e in estimates if e.value is not None)
    if not points:
        return None
    unit = estimates[0][1].unit
    smallest_bytes, least = points[0]
    if payload_bytes <= smallest_bytes:
        return Amount(unit=unit, value=least)
    if len(points) == 1:
        return None
    (x, a), (y, b) = next(
        (pair for pair in pairwise(points) if payload_bytes <= pair[1][0]), (points[-2], points[-1])
    )
    return Amount(unit=unit, value=a + (b - a) * (payload_bytes - x) / (y - x))


def _largest_share(value: float, arms: Sequence[WorkloadArm], metric: str) -> float | None:
    """Return the share in the arm that has the least of the metric."""
    values = [v for arm in arms if (v := fmt.finite(arm.value(metric)))]
    return value / min(values) if values else None


def _percent(share: float | None) -> str:
    """Return ` (31 % of the least of any arm)`, or an empty text. A machine whose processors are
    kept awake wakes a thread sooner than the idle one that was calibrated, so the share may be
    above 1."""
    if share is None:
        return ""
    return (
        " (as much as the least of any arm)"
        if share >= 1
        else f" ({fmt.quantity(share, 'fraction')} of the least of any arm)"
    )
