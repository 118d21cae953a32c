"""Times of single messages and calls: what a schedule, a writer and a reader of one hop see."""

from functools import partial
from typing import TYPE_CHECKING

from rmwbench.analysis.metrics.glossary.metric import (
    BESIDE,
    EFFECT,
    LIMIT,
    LOWER,
    OWN_COST,
    PRIMARY,
    Clocks,
    Group,
    Metric,
    MetricScope,
    TopicScope,
    percentiles,
)

if TYPE_CHECKING:
    from rmwbench.analysis.metrics.latency import Messages

GROUP = Group("Latency")
_metric = partial(Metric, better=LOWER, of=MetricScope.MESSAGES, group=GROUP)
_percentiles = partial(percentiles, metric=_metric)


def _mean_of_arrived(messages: "Messages", _: float) -> float | None:
    service = messages.samples.get("service_latency")
    return None if service is None else service.mean_of_arrived


def _longest_call(messages: "Messages", _: float) -> float | None:
    calls = messages.samples.get("publish_call")
    return float(calls.values[-1]) if calls is not None and calls.count else None


def _periods(side: str, text: str, too_few: str, absent: str) -> tuple[Metric, ...]:
    """`too_few`: what one of that side did that has no period."""
    stem = f"{side}_period"
    return (
        *_percentiles(
            stem,
            f"period of a {side}",
            text,
            (0.5, 0.99),
            counted="periods",
            topics=TopicScope.APART,
            absent=absent,
        ),
        _metric(
            f"{stem}_longest",
            f"mean period of the slowest {side}",
            "ns",
            "positive",
            f"Each {side}'s mean of these, of the {side} in which it is longest: whether every "
            "one of them keeps its period, which a rate of all together does not tell. What an "
            "edge of the window cuts counts where it is longer than every whole period. One "
            f"that {too_few} counts as long as it was there, and has no part in the percentiles.",
            source=stem,
            topics=TopicScope.APART,
            whole_window=True,
            absent=absent,
            measure=lambda messages, _: messages.longest_period_ns.get(stem),
        ),
    )


METRICS = (
    *_percentiles(
        "response_latency",
        "response latency",
        "From the time the schedule wanted the message sent until it is in the reader's hands; of "
        "a service's client, until the reply is in its hands. A publisher that falls behind does "
        "not hide it, and a message that never arrives counts as infinitely late.",
        (0.5, 0.9, 0.99, 0.999),
        topics=TopicScope.APART,
        clocks=Clocks.ONE_WAY,
        words=("response",),
        use={
            0.5: LIMIT | PRIMARY | BESIDE | OWN_COST,
            0.9: LIMIT | PRIMARY | BESIDE,
            0.99: LIMIT | PRIMARY | BESIDE,
            0.999: LIMIT,
        },
    ),
    *_percentiles(
        "consumed_latency",
        "latency until consumed",
        "From the intended send time until the consumer has read the payload: shows what taking by "
        "reference postpones.",
        (0.5, 0.9, 0.99),
        topics=TopicScope.APART,
        clocks=Clocks.ONE_WAY,
        words=("consumed",),
        use={0.5: LIMIT | OWN_COST, 0.9: LIMIT, 0.99: LIMIT},
        absent="the consumer's reading was not stamped",
    ),
    *_percentiles(
        "service_latency",
        "service latency",
        "From the publish call until the message is taken: the middleware alone, without the wait "
        "before the call and without our writing of the payload, into a loan, too. Messages that "
        "were never sent are not in it.",
        (0.5, 0.9, 0.99),
        topics=TopicScope.APART,
        clocks=Clocks.ONE_WAY,
        words=("service",),
        use={
            0.5: LIMIT | PRIMARY | OWN_COST,
            0.9: LIMIT | PRIMARY,
            0.99: LIMIT | PRIMARY,
        },
    ),
    _metric(
        "service_latency_mean",
        "service latency, mean",
        "ns",
        "positive",
        "The same, the mean of the messages that arrived: what published evaluations print. Lost "
        "messages are not in it, so it favours an arm that loses more; no verdict rests on it.",
        source="service_latency",
        clocks=Clocks.ONE_WAY,
        absent="no message arrived",
        measure=_mean_of_arrived,
    ),
    *_percentiles(
        "publish_call",
        "publish call",
        "How long the publish call keeps its caller, calls that return an error included.",
        (0.5, 0.9, 0.99),
        topics=TopicScope.APART,
        words=("publish",),
        use={0.5: LIMIT | PRIMARY | BESIDE | EFFECT, 0.9: LIMIT, 0.99: LIMIT | PRIMARY},
    ),
    *_percentiles(
        "writing",
        "writing the payload",
        "From the moment that a message is taken up until its payload is written, or how long "
        "writing into a loan took: the instrument's own work, as much in every arm. It is part of "
        "the response latency and of the processor time per message, and not of the service "
        "latency.",
        (0.5,),
        topics=TopicScope.APART,
    ),
    _metric(
        "publish_call_max",
        "longest publish call",
        "ns",
        "positive",
        "The longest publish call of a trial's steady messages, calls that return an error "
        "included; infinite where one never returned. Where a history is full it stands against "
        "max_blocking_time.",
        use=PRIMARY,
        absent="no publish call was made",
        measure=_longest_call,
    ),
    *_percentiles(
        "arrival_jitter",
        "arrival jitter",
        "How far the distance of two consecutive messages' arrivals is from the distance intended "
        "(RFC 3550, |D|). Where one of the two did not arrive there is none.",
        (0.5, 0.99),
        topics=TopicScope.APART,
    ),
    *_periods(
        "publisher",
        "From one publish call of a publisher to its next, within the steady window. A publisher "
        "that was held back catches up with its schedule, so one long period is followed by short "
        "ones.",
        "made fewer than two calls",
        "no publisher made two calls within the steady window",
    ),
    *_periods(
        "subscription",
        "From one sound arrival at a subscription to its next, within the steady window, all its "
        "writers together. A lost message makes a period longer.",
        "got fewer than two messages",
        "no subscription got two messages within the steady window",
    ),
    *_percentiles(
        "request_leg",
        "request leg",
        "From a client's call until its service has the request in its hands: the first of a "
        "service's two legs.",
        (0.5, 0.99),
        clocks=Clocks.LEG,
        absent="the workload has no service",
    ),
    *_percentiles(
        "reply_leg",
        "reply leg",
        "From the service's call that sends the reply until the client has it in its hands.",
        (0.5, 0.99),
        clocks=Clocks.LEG,
        absent="the workload has no service, or it replied to nothing",
    ),
)
