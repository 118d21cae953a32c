"""Fast DDS's statistics module beside our ledger: our Fast DDS worker with the module switched on
in its profile, and a reader of what it publishes (native/bench/fastdds).

What the module publishes is one value per event, so everything that a dashboard shows is made of
those: here their median, their largest, their mean or their last, over what came of the window.
"""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.others.errors import Reading
from bench.others.evidence import Seen
from bench.others.traffic import Stream, Tool, Trial, run
from bench.programs import Program, build
from rmwbench.lab.middleware import find_workers

RATE_HZ, SECONDS, BYTES = 500.0, 4.0, 1000
TOPICS = (
    "HISTORY_LATENCY_TOPIC;PUBLICATION_THROUGHPUT_TOPIC;SUBSCRIPTION_THROUGHPUT_TOPIC;"
    "RTPS_LOST_TOPIC;DATA_COUNT_TOPIC"
)
_PROPERTY = (
    "<propertiesPolicy><properties><property><name>fastdds.statistics</name>"
    f"<value>{TOPICS}</value></property></properties></propertiesPolicy>"
)
_TUNED = """
    <data_writer profile_name="GENERIC_STATISTICS_PROFILE">
      <topic><historyQos><kind>KEEP_LAST</kind><depth>5000</depth></historyQos></topic>
      <qos>
        <reliability><kind>RELIABLE</kind></reliability>
        <durability><kind>TRANSIENT_LOCAL</kind></durability>
        <publishMode><kind>ASYNCHRONOUS</kind></publishMode>
      </qos>
      <times><heartbeatPeriod><sec>0</sec><nanosec>20000000</nanosec></heartbeatPeriod></times>
      <propertiesPolicy><properties><property><name>fastdds.push_mode</name><value>true</value></property></properties>
      </propertiesPolicy>
    </data_writer>
"""
"""The module's own writers with room for what they are to tell: as installed they keep the last 10
values and tell them when a heartbeat was answered, every 3 s."""
HEARTBEAT_S = 3.0
CDR_BYTES = 16
"""Around a payload of Bytes(n): encapsulation, layout and length; the module counts them."""


@dataclass(frozen=True)
class Programs:
    watcher: Path
    worker: Path
    profile: dict[str, Any]
    roomy: dict[str, Any]
    """The same with room in the module's writers."""


def programs() -> Programs:
    """Builds what is missing. Raises Crashed."""
    bench = Path(
        build(Program("fastdds", ("rmwbench-fastdds", "rmwbench-bench-fastdds"), (), ""))[0]
    )
    return found(bench.parent)


def found(directory: Path) -> Programs:
    worker = find_workers()["fastdds"]
    tuned = worker.profile("tuned")
    text = tuned["text"].replace("<rtps>", f"<rtps>{_PROPERTY}", 1)
    roomy = text.replace("</profiles>", f"{_TUNED}</profiles>", 1)
    assert _PROPERTY in text and _TUNED in roomy, (
        "the tuned profile has no rtps or no profiles element"
    )
    watcher = directory / "rmwbench-bench-fastdds-statistics"
    return Programs(watcher, worker.executable, {**tuned, "text": text}, {**tuned, "text": roomy})


@dataclass(frozen=True)
class Told:
    """One value of the module. `guid` is of the writer, reader or participant that it is about, in
    hexadecimal."""

    time_ns: int
    statistic: str
    guid: str
    value: float


def told(text: str) -> list[Told]:
    """What the watcher printed of user-defined endpoints; raises ValueError for any other line."""
    lines = [
        json.loads(line)
        for line in text.splitlines()
        if line.startswith("{") and line.endswith("}")
    ]
    return [Told(**line) for line in lines if "statistic" in line]


def absent(text: str) -> str | None:
    """Why there is nothing to watch, None where there is."""
    for line in text.splitlines():
        if line.startswith('{"absent"'):
            return json.loads(line)["absent"]
    return None


def _of_user(guid: str) -> bool:
    """Entity kinds of user-defined writers and readers (RTPS 2.5, table 9.1): not of discovery, not
    of the module."""
    return guid.endswith(("02", "03", "04", "07"))


def _ready(text: str) -> bool:
    """The watcher's readers know the writers of both workers."""
    return text.count('"matched"') >= 2 * len(TOPICS.split(";")) or absent(text) is not None


@dataclass(frozen=True)
class Scenario:
    name: str
    about: str
    trial: Callable[[Programs, float], Trial]
    readings: Callable[[Seen], list[Reading]]


def _trials(streams: Sequence[Stream], roomy: bool = True, **more: Any) -> Callable:
    def trial(programs: Programs, seconds: float) -> Trial:
        tool = Tool("Fast DDS statistics", programs.watcher, ["0"])
        # Nothing tells that it has told everything: a heartbeat and a half.
        late_s = 1.5 * HEARTBEAT_S
        return Trial(
            programs.worker,
            programs.roomy if roomy else programs.profile,
            streams,
            seconds,
            (1, 1),
            [tool],
            ready=_ready,
            done=lambda text, last_s: (
                absent(text) is not None or time.monotonic() > last_s + late_s
            ),
            late_s=late_s + 1.0,
            **more,
        )

    return trial


def _values(seen: Seen, statistic: str) -> list[float]:
    begin_ns = seen.window.begin_ns
    return [
        one.value
        for one in told(seen.printed)
        if one.statistic == statistic and _of_user(one.guid) and begin_ns <= one.time_ns
    ]


def _clean(seen: Seen) -> list[Reading]:
    messages = seen.messages()
    service, latency = messages.samples["service_latency"], _values(seen, "history_latency_ns")
    return [
        Reading(
            "messages sent (DATA_COUNT)", "messages", _last(seen, "data_count"), messages.publishes
        ),
        Reading("latency samples", "messages", float(len(latency)), messages.ledger.delivered),
        Reading("latency from the write, p50", "ns", _median(latency), service.exact[0.5]),
        *_throughput(seen),
    ]


def _throughput(seen: Seen) -> list[Reading]:
    messages = seen.messages()
    seconds = seen.window.length_ns / 1e9
    bytes_per_s = (messages.bytes_in_window + CDR_BYTES * messages.arrived_in_window) / seconds
    return [
        Reading(
            "publication throughput, mean",
            "byte/s",
            _mean(_values(seen, "publication_throughput")),
            bytes_per_s,
        ),
        Reading(
            "subscription throughput, mean",
            "byte/s",
            _mean(_values(seen, "subscription_throughput")),
            bytes_per_s,
        ),
    ]


def _stall(seen: Seen) -> list[Reading]:
    response, latency = (
        seen.messages().samples["response_latency"],
        sorted(_values(seen, "history_latency_ns")),
    )
    p99 = latency[-max(1, len(latency) // 100)] if len(latency) >= 1000 else None
    return [
        Reading("latency p99", "ns", p99, response.exact.get(0.99)),
        Reading(
            "latency, largest", "ns", latency[-1] if latency else None, float(response.values[-1])
        ),
        *_throughput(seen),
    ]


def _lost(seen: Seen) -> list[Reading]:
    messages = seen.messages()
    lost = _values(seen, "rtps_lost_packets")
    delivered = float(len(_values(seen, "history_latency_ns")))
    return [
        Reading(
            "messages sent (DATA_COUNT)", "messages", _last(seen, "data_count"), messages.publishes
        ),
        Reading(
            "messages lost (RTPS_LOST, packets)",
            "messages",
            max(lost, default=0.0),
            messages.ledger.lost,
        ),
        Reading(
            "messages delivered (latency samples)", "messages", delivered, messages.ledger.delivered
        ),
    ]


def _last(seen: Seen, statistic: str) -> float | None:
    """Of a counter, over the writers that have one."""
    last = {
        one.guid: one.value
        for one in told(seen.printed)
        if one.statistic == statistic and _of_user(one.guid)
    }
    return sum(last.values()) if last else None


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


_ONE = Stream(1, BYTES, RATE_HZ)

SCENARIOS = (
    Scenario(
        "clean, as installed",
        "500 messages/s for 4 s, nothing goes wrong",
        _trials([_ONE], roomy=False),
        _clean,
    ),
    Scenario("clean", "the same, with room in the module's writers", _trials([_ONE]), _clean),
    Scenario(
        "stall",
        "the publishing process stands still twice for 300 ms, then catches up",
        _trials([_ONE], pauses=((1.2, 0.3), (2.8, 0.3)), paused="talkers"),
        _stall,
    ),
    Scenario(
        "overrun",
        "best effort, keep last 10; the reader stands still for 400 ms",
        _trials([_ONE], pauses=((1.5, 0.4),), reliability="best_effort", depth=10),
        _lost,
    ),
)


def trial(scenario: Scenario, programs: Programs, seconds: float = SECONDS) -> Seen:
    return run(scenario.trial(programs, seconds))
