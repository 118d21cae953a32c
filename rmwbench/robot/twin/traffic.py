"""The traffic of a robot: sizes, arrivals and offers of each topic, collected from a stream of
messages in bounded memory.

A message in a bag has two stamps. `log_time` is the time at which the recorder got it, and includes
the delay to the recorder. `publish_time` is preferred if it is a sender's stamp of the same clock;
it is a copy of `log_time` in older bags, and with simulation one of the two is simulated. All times
of a topic are of the same stamp.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from rmwbench.errors import UserError
from rmwbench.robot.twin.arrivals import FEWEST, FittedArrivals, Histogram, fit
from rmwbench.robot.twin.bag import BagMetadata, BagTopic, Message, Progress, find_bag
from rmwbench.robot.twin.qos_offer import TRANSIENT_LOCAL, QosOffer

Stamp = Literal["log_time", "publish_time"]

BATCH = 4096
"""Messages of a topic that are processed together."""
MOST_TIMES = 8192
"""The first times of each topic, which are stored for phases between topics."""
WALL_CLOCK_FROM_NS = 946_684_800 * 10**9
"""The year 2000: an earlier time is of a simulation, or counted from a boot."""
LATEST_NS, EARLIEST_NS = 10**9, -(10**6)
"""The largest and the smallest difference between the recorder's and the sender's stamp: the
longest way to the recorder, and the error between two clocks of one machine."""
MOST_BEYOND = 0.01
CLOCK_TOPIC = "rosgraph_msgs/msg/Clock"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of serialised messages, in bytes."""

    mean: float
    least: float
    p50: float
    p95: float
    most: float


@dataclass(frozen=True, kw_only=True, eq=False)
class TopicTraffic:
    """`times_ns` are the first times, ascending. With metadata alone `sizes` is None and `times_ns`
    is empty."""

    name: str
    type: str
    messages: int
    offers: tuple[QosOffer, ...]
    sizes: Sizes | None
    arrivals: FittedArrivals
    stamp: Stamp
    times_ns: np.ndarray

    @property
    def publishers(self) -> int:
        return max(1, len(self.offers))

    @property
    def bytes_per_s(self) -> float:
        """The throughput of the topic; 0 for messages that are sent once, and for unknown sizes."""
        if self.sizes is None or self.arrivals.kind == "once":
            return 0.0
        return self.sizes.mean * self.arrivals.rate_hz


@dataclass(frozen=True, kw_only=True)
class BagTraffic:
    """`other_clock` counts topics whose publish_time is of another clock; `simulated`: times are of
    a simulation; `silent` counts topics without a message."""

    topics: tuple[TopicTraffic, ...]
    began_ns: int
    duration_s: float
    other_clock: int = 0
    simulated: bool = False
    silent: int = 0

    @property
    def messages(self) -> int:
        return sum(topic.messages for topic in self.topics)

    @property
    def bytes_per_s(self) -> float:
        return sum(topic.bytes_per_s for topic in self.topics)

    def topic(self, name: str) -> TopicTraffic | None:
        return next((topic for topic in self.topics if topic.name == name), None)


def read_traffic(path: Path, progress: Progress) -> BagTraffic:
    """The traffic of a bag. Raises UserError for a missing, damaged or empty bag."""
    bag = find_bag(path)
    try:
        if not bag.files and bag.metadata is not None:
            return metadata_traffic(bag.metadata)
        return traffic(bag.messages(progress), bag.metadata.topics if bag.metadata else ())
    except UserError as error:
        error.where = error.where or str(path)
        raise


def is_latched(offers: Iterable[QosOffer]) -> bool:
    return any(offer.durability == TRANSIENT_LOCAL for offer in offers)


def traffic(messages: Iterable[Message], listed: Iterable[BagTopic] = ()) -> BagTraffic:
    """The traffic of a stream. `listed` are the topics of the metadata, which may have offers that
    the files do not. Raises UserError without a message."""
    offers = {topic.name: topic.offers for topic in listed}
    stamps_of_topic: dict[str, _TopicStamps] = {}
    for topic, log_ns, publish_ns, size in messages:
        collected = stamps_of_topic.get(topic.name)
        if collected is None:
            collected = stamps_of_topic[topic.name] = _TopicStamps(topic)
        collected.add(log_ns, publish_ns, size)
    if not stamps_of_topic:
        raise UserError("there is no message in this bag", expected="at least one message")
    for collected in stamps_of_topic.values():
        collected.process_batch()
    began_ns = min(stamps.log.first for stamps in stamps_of_topic.values())
    span_ns = max(stamps.log.last for stamps in stamps_of_topic.values()) - began_ns
    return BagTraffic(
        topics=tuple(
            stamps.result(stamps.topic.offers or offers.get(name, ()), span_ns)
            for name, stamps in stamps_of_topic.items()
        ),
        began_ns=began_ns,
        duration_s=span_ns / 1e9,
        other_clock=sum(stamps.is_of_other_clock for stamps in stamps_of_topic.values()),
        simulated=began_ns < WALL_CLOCK_FROM_NS
        or any(stamps.topic.type == CLOCK_TOPIC for stamps in stamps_of_topic.values()),
        silent=len(offers.keys() - stamps_of_topic.keys()),
    )


def metadata_traffic(metadata: BagMetadata) -> BagTraffic:
    """The traffic by metadata.yaml alone, with mean rates. Raises UserError without a recorded
    message."""
    seconds = metadata.duration_ns / 1e9
    recorded = [topic for topic in metadata.topics if metadata.counts[topic.name] > 0]
    if not recorded or seconds <= 0:
        raise UserError(
            "these metadata have no messages",
            expected="a duration, and a topic with a message",
            actual=f"{seconds:g} s, {len(recorded)} topics with a message",
        )
    return BagTraffic(
        topics=tuple(
            _mean_traffic(topic, metadata.counts[topic.name], seconds) for topic in recorded
        ),
        began_ns=metadata.began_ns,
        duration_s=seconds,
        silent=len(metadata.topics) - len(recorded),
    )


def _mean_traffic(topic: BagTopic, count: int, seconds: float) -> TopicTraffic:
    once = count < FEWEST and is_latched(topic.offers)
    rate_hz = count / seconds
    arrivals = FittedArrivals(
        kind="once" if once else "periodic",
        rate_hz=rate_hz,
        period_ns=None if once else 1e9 / rate_hz,
    )
    return TopicTraffic(
        name=topic.name,
        type=topic.type,
        messages=count,
        offers=topic.offers,
        sizes=None,
        arrivals=arrivals,
        stamp="log_time",
        times_ns=np.array([], dtype=np.int64),
    )


class _TopicClock:
    """One of the two stamps of a topic."""

    def __init__(self) -> None:
        self.intervals = Histogram()
        self.first, self.last = 2**63, -(2**63)
        self._samples: list[np.ndarray] = []
        self._sample_count = 0

    def add(self, times: np.ndarray) -> None:
        """Adds times in any order. A batch is sorted; the distance to the last time of the batch
        before is an interval as well."""
        times = np.sort(times)
        before = times[:0] if self.last < self.first else [self.last]
        self.intervals.add(np.abs(np.diff(times, prepend=before)))
        self.first, self.last = min(self.first, int(times[0])), max(self.last, int(times[-1]))
        if self._sample_count < MOST_TIMES:
            self._samples.append(times[: MOST_TIMES - self._sample_count])
            self._sample_count += len(self._samples[-1])

    @property
    def times_ns(self) -> np.ndarray:
        return np.sort(np.concatenate(self._samples))


class _TopicStamps:
    def __init__(self, topic: BagTopic) -> None:
        self.topic = topic
        self.messages = 0
        self.log, self.publish = _TopicClock(), _TopicClock()
        self._sizes = Histogram()
        self._copies = self._beyond = self._unstamped = 0
        self._batch = array("q"), array("q"), array("q")

    def add(self, log_ns: int, publish_ns: int | None, size: int) -> None:
        log_times, publish_times, sizes = self._batch
        log_times.append(log_ns)
        publish_times.append(publish_ns or 0)
        sizes.append(size)
        if len(log_times) == BATCH:
            self.process_batch()

    def process_batch(self) -> None:
        """Adds the messages of the batch to the counts, and begins another batch."""
        log_ns, publish_ns, sizes = (np.array(column, dtype=np.int64) for column in self._batch)
        self._batch = array("q"), array("q"), array("q")
        if not len(log_ns):
            return
        self.messages += len(log_ns)
        self._sizes.add(sizes)
        self.log.add(log_ns)
        self.publish.add(publish_ns)
        delays_ns = log_ns - publish_ns
        self._unstamped += int((publish_ns == 0).sum())
        self._copies += int((delays_ns == 0).sum())
        self._beyond += int(((delays_ns > LATEST_NS) | (delays_ns < EARLIEST_NS)).sum())

    @property
    def _has_senders_stamp(self) -> bool:
        return not self._unstamped and self._copies <= self.messages / 2

    @property
    def is_of_other_clock(self) -> bool:
        return self._has_senders_stamp and self._beyond > MOST_BEYOND * self.messages

    def result(self, offers: tuple[QosOffer, ...], span_ns: int) -> TopicTraffic:
        by_sender = self._has_senders_stamp and not self.is_of_other_clock
        clock = self.publish if by_sender else self.log
        sizes = self._sizes
        return TopicTraffic(
            name=self.topic.name,
            type=self.topic.type,
            messages=self.messages,
            offers=offers,
            sizes=Sizes(
                mean=sizes.mean,
                least=float(sizes.least),
                p50=sizes.quantile(0.5),
                p95=sizes.quantile(0.95),
                most=float(sizes.most),
            ),
            arrivals=fit(
                clock.intervals, span_ns, latched=is_latched(offers), publishers=len(offers)
            ),
            stamp="publish_time" if by_sender else "log_time",
            times_ns=clock.times_ns,
        )
