"""What of a workload's numbers is the instrument's own, at its message size: writing the payload,
reading it, stamps and records, as the calibration measured them with no middleware in between.

Nothing is subtracted from any number. All arms of a workload share this cost, so it draws their
ratios towards 1; what it does to them can be read from the service latency, which begins when the
payload is written.
"""

from collections.abc import Sequence
from itertools import pairwise

from rmwbench.analysis.metrics.comparisons import PRIMARY
from rmwbench.results.machine.machine_model import OwnCosts
from rmwbench.results.model import Estimate
from rmwbench.results.shown import Amount, OwnCost, TopicAnswer, WorkloadArm
from rmwbench.words import numbers as fmt

CPU = "cpu_per_message"
LARGE = 0.1
"""Of the smallest value of any arm: from there on the sentence says what it does to ratios."""


def own_share(
    own: OwnCosts | None,
    payload_bytes: int | None,
    arms: Sequence[WorkloadArm],
    topics: Sequence[TopicAnswer] = (),
) -> OwnCost | None:
    """The instrument's part in a workload, by a calibration's `own_cost`, at `payload_bytes`, its
    largest message. Of unlike `topics` the share of processor time is that of all their messages, each at its own
    size, since an arm's processor time is a mean over them. None where the calibration has no
    sizes, or the workload does not read what it carries."""
    arms = [arm for arm in arms if arm.role == "contender"]
    if (
        not payload_bytes
        or own is None
        or not own.sizes
        or any(arm.touch not in (None, "all") for arm in arms)
    ):
        return None
    costs = [(one.payload_bytes, one.cpu_per_message) for one in own.sizes]
    response = _at([(one.payload_bytes, one.response_latency) for one in own.sizes], payload_bytes)
    cpu = _at(costs, payload_bytes)
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
    """The largest of any arm, by what it delivered in each topic; None where no arm has one, or the
    size of a topic's messages varies."""
    sizes = [topic.payload_bytes for topic in topics]
    own_s = {size: _at(costs, size) for size in sizes if size is not None}
    shares = []
    for arm in arms:
        per_message_s = fmt.finite(arm.value(CPU))
        delivered = [_delivered(topic, arm.arm) for topic in topics]
        if not per_message_s or not sum(delivered):
            continue
        total_s = 0.0
        for size, count in zip(sizes, delivered, strict=True):
            one = own_s.get(size) if size is not None else None
            if one is None:
                return None
            total_s += one.value * count
        shares.append(total_s / sum(delivered) / per_message_s)
    return max(shares, default=None)


def _delivered(topic: TopicAnswer, name: str) -> int:
    """How many messages of the topic came to the readers of the arm of this name."""
    arm = next(one for one in topic.arms if one.arm == name)
    return (arm.metrics["undelivered"].count or 0) - arm.missing - arm.under_way


def _at(sizes: Sequence[tuple[int, Estimate | None]], payload_bytes: int) -> Amount | None:
    """Between the sizes that were measured, and beyond the largest, a straight line: both ends of a
    message do the same for every byte."""
    known = [(size, one) for size, one in sizes if one is not None]
    points = sorted((size, one.value) for size, one in known if one.value is not None)
    if not points:
        return None
    unit = known[0][1].unit
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
    """The share in the arm that has least of the metric."""
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
