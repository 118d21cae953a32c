"""The likeness of two traffics, topic by topic: of a twin's to that of its bag, or of two bags.

Two periodic topics are alike if their periods (within the error that their jitter allows) and their
jitter are, and if no more messages are missing than in the source: fewer may be missing, since in a
bag a message that was never sent is like one that was lost on the way to the recorder. Topics that
are not periodic are alike if the mean rate, the median and the 95th percentile of the gaps are,
within their statistical errors; bursts if their period and length are. All topics are compared by
their mean size, and by the 95th percentile of the sizes within a half: a topic of a suite has one
size, so it is not like a source with very different sizes. Of several publishers on one topic only
the rate is compared.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rmwbench.robot.twin.traffic import BagTraffic, TopicTraffic
from rmwbench.robot.twin.twin_model import SMALLEST

RATE = 0.02
MEAN_RATE = 0.05
MIDDLE_GAP, LONG_GAP = 0.1, 0.25
JITTER, JITTER_OF_PERIOD, JITTER_NS = 0.25, 0.05, 2e6
MISSING = 0.02
BURST = 0.1
SIZE, LARGE_SIZE, SIZE_BYTES = 0.02, 0.5, 32
ERRORS = 3
"""The additional tolerance of a mean or a quantile of independent arrivals, in standard errors."""
FEWEST = 20
FEWEST_FOR_KIND = 60
"""With fewer messages a topic is not judged, or not by the kind of its arrivals."""
FEW_OF_EXPECTED = 0.5
"""A topic with fewer than FEWEST messages and less than this share of those that its source would
have had in the time is not alike: most of them were lost."""


@dataclass(frozen=True, kw_only=True)
class TopicDifference:
    """A property of a topic in both traffics. `off` is the difference, absolute or as a share of
    the source, and `most` the tolerance."""

    quantity: str
    source: float
    twin: float
    unit: str
    off: float
    most: float

    @property
    def alike(self) -> bool:
        return self.off <= self.most


@dataclass(frozen=True, kw_only=True)
class TwinTopicLikeness:
    """The likeness of a topic. A topic that is not judged has no `differences`, and the reason in
    `why_not`; a `missing` one is in the source alone; `kinds` are those of the arrivals if they
    differ."""

    topic: str
    differences: tuple[TopicDifference, ...] = ()
    kinds: tuple[str, str] | None = None
    why_not: str = ""
    missing: bool = False

    @property
    def alike(self) -> bool:
        return (
            not self.missing
            and self.kinds is None
            and all(difference.alike for difference in self.differences)
        )


@dataclass(frozen=True)
class TwinLikeness:
    topics: tuple[TwinTopicLikeness, ...]

    @property
    def judged(self) -> tuple[TwinTopicLikeness, ...]:
        return tuple(topic for topic in self.topics if not topic.why_not)

    @property
    def unlike(self) -> tuple[TwinTopicLikeness, ...]:
        return tuple(topic for topic in self.judged if not topic.alike)

    @property
    def alike(self) -> bool:
        return bool(self.judged) and not self.unlike


def likeness(source: BagTraffic, twin: BagTraffic) -> TwinLikeness:
    """The likeness of the twin's traffic to the source's, for each topic of the source."""
    share = twin.duration_s / source.duration_s if source.duration_s else 0.0
    return TwinLikeness(
        tuple(
            _topic(topic, twin.topic(topic.name), expected=topic.messages * share)
            for topic in source.topics
        )
    )


def _topic(
    source: TopicTraffic, twin: TopicTraffic | None, *, expected: float
) -> TwinTopicLikeness:
    """`expected` is the number of messages of the twin at the mean rate of the source."""
    name = source.name
    if source.sizes is None or (twin is not None and twin.sizes is None):
        return TwinTopicLikeness(topic=name, why_not="metadata alone have no sizes and no gaps")
    if source.messages < FEWEST or source.arrivals.gaps is None:
        return TwinTopicLikeness(topic=name, why_not="too few messages in the source")
    if twin is None:
        return TwinTopicLikeness(topic=name, missing=True)
    if twin.messages < FEWEST <= FEW_OF_EXPECTED * expected:
        lacking = _share("messages", expected, twin.messages, "count", FEW_OF_EXPECTED)
        return TwinTopicLikeness(topic=name, differences=(lacking,))
    if twin.messages < FEWEST:
        return TwinTopicLikeness(
            topic=name, why_not=f"{twin.messages} messages are too few to judge"
        )
    kinds = source.arrivals.kind, twin.arrivals.kind
    if kinds[0] != kinds[1] and min(source.messages, twin.messages) >= FEWEST_FOR_KIND:
        return TwinTopicLikeness(topic=name, kinds=kinds)
    differences = (*_arrivals(source, twin), *_sizes(source, twin))
    return TwinTopicLikeness(topic=name, differences=differences)


def _arrivals(source: TopicTraffic, twin: TopicTraffic) -> Iterator[TopicDifference]:
    expected, actual = source.arrivals, twin.arrivals
    error = ERRORS * math.sqrt(1 / source.messages + 1 / twin.messages)
    regular = expected.period_ns is not None and actual.period_ns is not None
    most_off = MEAN_RATE + error
    if expected.period_ns is not None and regular:
        most_off = RATE + error * expected.jitter_ns / expected.period_ns
    yield _share("rate", expected.rate_hz, actual.rate_hz, "Hz", most_off)
    if expected.kind == "burst":
        yield _share("messages of a burst", expected.per_burst, actual.per_burst, "count", BURST)
    elif expected.period_ns is not None and regular:
        yield TopicDifference(
            quantity="jitter",
            source=expected.jitter_ns,
            twin=actual.jitter_ns,
            unit="ns",
            off=abs(actual.jitter_ns - expected.jitter_ns),
            most=max(JITTER * expected.jitter_ns, JITTER_OF_PERIOD * expected.period_ns, JITTER_NS),
        )
        yield TopicDifference(
            quantity="missing messages",
            source=expected.missing_share,
            twin=actual.missing_share,
            unit="fraction",
            off=max(0.0, actual.missing_share - expected.missing_share),
            most=MISSING,
        )
    elif expected.kind == "on_change" and expected.gaps is not None and actual.gaps is not None:
        yield _share(
            "median gap", expected.gaps.p50_ns, actual.gaps.p50_ns, "ns", MIDDLE_GAP + error
        )
        # 1.5 = √(0.95 ÷ 0.05) ÷ ln 20: the error of the 95 % quantile of an exponential distribution
        most = LONG_GAP + 1.5 * error
        yield _share("95 % gap", expected.gaps.p95_ns, actual.gaps.p95_ns, "ns", most)


def _sizes(source: TopicTraffic, twin: TopicTraffic) -> Iterator[TopicDifference]:
    """The differences of sizes, which are at least that of the smallest message of a suite."""
    expected, actual = source.sizes, twin.sizes
    assert expected is not None and actual is not None
    for quantity, source_bytes, twin_bytes, most in (
        ("size", expected.mean, actual.mean, SIZE),
        ("95 % size", expected.p95, actual.p95, LARGE_SIZE),
    ):
        first = max(source_bytes, SMALLEST.cdr_bytes)
        second = max(twin_bytes, SMALLEST.cdr_bytes)
        yield _share(quantity, first, second, "bytes", max(most, SIZE_BYTES / first))


def stands_for_all_sizes(source: TopicTraffic) -> bool:
    """Whether messages of the mean size are like those of the topic."""
    sizes = source.sizes
    if sizes is None:
        return True
    equal_sizes = replace(source, sizes=replace(sizes, p95=sizes.mean))
    return all(difference.alike for difference in _sizes(source, equal_sizes))


def _share(quantity: str, source: float, twin: float, unit: str, most: float) -> TopicDifference:
    off = abs(twin / source - 1)
    return TopicDifference(
        quantity=quantity, source=source, twin=twin, unit=unit, off=off, most=most
    )
