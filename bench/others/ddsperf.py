"""ddsperf beside our ledger: the scenarios, and what the one and the other say of each quantity.

Our publishers speak ddsperf's topic (native/bench/cyclonedds, the peer), so `ddsperf sub` and our
reader get the same messages; with `ping` it makes its own, beside ours, between processes that are
stopped at the same moments.
"""

import json
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.others import ddsperf_text
from bench.others.errors import Reading
from bench.others.evidence import Seen
from bench.others.traffic import Stream, Tool, Trial, run
from bench.programs import Crashed, Program, build
from rmwbench.analysis.metrics.latency import Messages
from rmwbench.analysis.metrics.sample import Sample

RATE_HZ, SECONDS, BYTES = 500.0, 4.0, 1000
KEYED_SEQ_BYTES = 12
"""Sequence number, key and length: ddsperf counts them as part of a message."""


@dataclass(frozen=True)
class Programs:
    """Where they are, and the profile that all of them use."""

    ddsperf: Path
    peer: Path
    worker: Path
    profile: dict[str, Any]


def programs() -> Programs:
    """Builds what is missing (ddsperf: once, about a minute). Raises Crashed."""
    bench = Path(
        build(Program("ddsperf", ("rmwbench-cyclonedds", "rmwbench-bench-cyclonedds"), (), ""))[0]
    )
    return found(bench.parent)


def found(directory: Path) -> Programs:
    """As `programs`, of what is built in cargo's directory. Raises Crashed."""
    asked = [str(directory / "rmwbench-bench-cyclonedds"), "ddsperf-path"]
    done = subprocess.run(asked, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Crashed(f"`{' '.join(asked)}` ended with status {done.returncode}")
    peer = directory / "rmwbench-bench-ddsperf-peer"
    description = json.loads(
        subprocess.run([peer, "--describe"], capture_output=True, check=True).stdout
    )
    profile = next(profile for profile in description["profiles"] if profile["name"] == "tuned")
    return Programs(Path(done.stdout.strip()), peer, directory / "rmwbench-cyclonedds", profile)


@dataclass(frozen=True)
class Scenario:
    """`readings` turns a trial's evidence into what each side says."""

    name: str
    about: str
    trial: Callable[[Programs, float], Trial]
    readings: Callable[[Seen], list[Reading]]


def _subscriber(streams: Sequence[Stream], arguments: Sequence[str] = (), **more: Any) -> Callable:
    """Trials of our publishers to `ddsperf sub` and to our reader."""

    def trial(programs: Programs, seconds: float) -> Trial:
        words = ["-R", "0", "-1", "-l", *arguments, "sub", "waitset"]
        tool = Tool(
            "ddsperf sub",
            programs.ddsperf,
            words,
            True,
            {"CYCLONEDDS_URI": programs.profile["text"]},
        )
        return Trial(
            programs.peer,
            programs.profile,
            streams,
            seconds,
            # ddsperf has a writer on the topic too, which never writes
            matches=(2, len(streams) + 1),
            tools=[tool],
            ready=lambda text: bool(ddsperf_text.counts(text)),
            done=lambda text, last_s: any(
                count.time_s > last_s for count in ddsperf_text.counts(text)
            ),
            **more,
        )

    return trial


def _pinger(mode: Sequence[str], pauses: Sequence[tuple[float, float]]) -> Callable:
    """Trials of `ddsperf ping` to `ddsperf pong` beside our Cyclone worker's open-loop messages;
    pong and our reader stand still together."""

    def trial(programs: Programs, seconds: float) -> Trial:
        environment = {"CYCLONEDDS_URI": programs.profile["text"]}
        ping = Tool("ddsperf ping", programs.ddsperf, ["-R", "0", *mode], False, environment)
        pong = Tool("ddsperf pong", programs.ddsperf, ["-R", "0", "pong"], True, environment)
        return Trial(
            programs.worker,
            programs.profile,
            [Stream(1, BYTES, RATE_HZ)],
            seconds,
            matches=(1, 1),
            tools=[ping, pong],
            pauses=pauses,
            ready=lambda text: bool(ddsperf_text.latencies(text)),
            done=lambda text, last_s: any(
                line.time_s > last_s for line in ddsperf_text.latencies(text)
            ),
        )

    return trial


def _counting(seen: Seen) -> list[Reading]:
    ledger, lines = seen.messages().ledger, ddsperf_text.counts(seen.printed)
    last = lines[-1]
    return [
        Reading("messages received", "messages", last.total, ledger.delivered),
        Reading("messages lost", "messages", last.lost, ledger.lost),
    ]


def _rates(seen: Seen) -> list[Reading]:
    messages, seconds = seen.messages(), seen.window.length_ns / 1e9
    rate_hz = messages.arrived_in_window / seconds
    bits = (messages.bytes_in_window + KEYED_SEQ_BYTES * messages.arrived_in_window) * 8
    lines = [line for line in ddsperf_text.counts(seen.printed) if line.delta]
    rates, mbit = [line.rate_hz for line in lines], [line.mbit_per_s for line in lines]
    return [
        Reading("rate, mean of its lines", "1/s", statistics.fmean(rates), rate_hz),
        # Its first and last second are not full ones, which only its reader can know.
        Reading("rate, the same without first and last", "1/s", _mean(rates[1:-1]), rate_hz),
        Reading("rate, its 10 s average at the end", "1/s", lines[-1].rate10_hz, rate_hz),
        Reading(
            "throughput, mean of its lines", "Mbit/s", statistics.fmean(mbit), bits / seconds / 1e6
        ),
    ]


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _one_way(seen: Seen) -> list[Reading]:
    messages = seen.messages()
    lines = [line for line in ddsperf_text.latencies(seen.printed) if line.one_way]
    return _latency_readings(lines, messages, "response_latency")


def _clean(seen: Seen) -> list[Reading]:
    """Without faults both measure the same stretch: from the publish call to the take."""
    messages = seen.messages()
    lines = [line for line in ddsperf_text.latencies(seen.printed) if line.one_way]
    service = messages.samples["service_latency"]
    says = statistics.fmean(line.p50_ns for line in lines)
    return [
        *_counting(seen),
        *_rates(seen),
        Reading("latency from the call, p50", "ns", says, service.exact[0.5]),
    ]


def _sizes(seen: Seen) -> list[Reading]:
    messages = seen.messages()
    mean_bytes = messages.bytes_in_window / messages.arrived_in_window + KEYED_SEQ_BYTES
    last = ddsperf_text.counts(seen.printed)[-1]
    return [*_counting(seen), Reading("message size", "bytes", last.size_bytes, mean_bytes)]


def _overrun(seen: Seen) -> list[Reading]:
    """Each reader loses other messages: what ddsperf should count is what was sent and what it did
    not get."""
    last = ddsperf_text.counts(seen.printed)[-1]
    sent = seen.messages().ledger.published
    return [Reading("messages lost", "messages", last.lost, sent - last.total)]


def _pings(seen: Seen) -> list[Reading]:
    lines = [line for line in ddsperf_text.latencies(seen.printed) if not line.one_way]
    begin_s, end_s = seen.window.begin_ns / 1e9, seen.window.end_ns / 1e9
    during = [line for line in lines if begin_s < line.time_s < end_s + 1]
    return _latency_readings(during, seen.messages(), "response_latency")


def _latency_readings(
    lines: Sequence[ddsperf_text.Latency], messages: Messages, stem: str
) -> list[Reading]:
    """What a reader of ddsperf's lines can make of a whole run: means of its seconds, and the
    largest maximum."""
    sample: Sample = messages.samples[stem]
    return [
        Reading(
            "latency p50, mean of its lines",
            "ns",
            statistics.fmean(x.p50_ns for x in lines),
            sample.exact[0.5],
        ),
        Reading(
            "latency p99, mean of its lines",
            "ns",
            statistics.fmean(x.p99_ns for x in lines),
            sample.exact.get(0.99),
        ),
        Reading("latency, largest", "ns", max(x.max_ns for x in lines), float(sample.values[-1])),
    ]


_STALLS = {"stall": "601:300 1401:300"}
_PAUSES = ((1.1, 0.2), (1.9, 0.2), (3.2, 0.2))
_ONE = Stream(1, BYTES, RATE_HZ)

SCENARIOS = (
    Scenario("clean", "500 messages/s for 4 s, nothing goes wrong", _subscriber([_ONE]), _clean),
    Scenario(
        "two sizes",
        "1 000 and 16 000 bytes on one topic, 500 and 50 messages/s",
        _subscriber([_ONE, Stream(2, 16_000, 50.0)]),
        _sizes,
    ),
    Scenario(
        "gaps",
        "the first 25, 40 in the middle and the last 100 messages are never written",
        _subscriber([Stream(1, BYTES, RATE_HZ, {"lose": "0-24 900-939 1900-1999"})]),
        _counting,
    ),
    Scenario(
        "twice",
        "nothing is lost; one message is written twice",
        _subscriber([Stream(1, BYTES, RATE_HZ, {"twice": "700"})]),
        _counting,
    ),
    Scenario(
        "swapped",
        "nothing is lost; two messages change places",
        _subscriber([Stream(1, BYTES, RATE_HZ, {"swap": "1200"})]),
        _counting,
    ),
    Scenario(
        "stall",
        "the publishing thread stands still twice for 300 ms, then catches up",
        _subscriber([Stream(1, BYTES, RATE_HZ, _STALLS)]),
        _one_way,
    ),
    Scenario(
        "overrun",
        "best effort, 60 kB; the readers stand still for 400 ms and the kernel drops",
        _subscriber(
            [Stream(1, 60_000, RATE_HZ)], ["-u"], reliability="best_effort", pauses=((1.5, 0.4),)
        ),
        _overrun,
    ),
    Scenario(
        "ping",
        "closed loop, as fast as it goes; the answering side stands still three times for 200 ms",
        _pinger(["ping", "size", str(BYTES + KEYED_SEQ_BYTES)], _PAUSES),
        _pings,
    ),
    Scenario(
        "ping 500 Hz",
        "the same at 500 round trips a second",
        _pinger(["ping", "500Hz", "size", str(BYTES + KEYED_SEQ_BYTES)], _PAUSES),
        _pings,
    ),
)


def trial(scenario: Scenario, programs: Programs, seconds: float = SECONDS) -> Seen:
    return run(scenario.trial(programs, seconds))
