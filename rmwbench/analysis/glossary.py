"""Every metric's name, unit, title and meaning in one place: the analysis computes by it, reports explain by it."""

from dataclasses import dataclass
from typing import Literal

from rmwbench.analysis.quantile import needed

Kind = Literal["quantile", "positive", "amount", "fraction"]


@dataclass(frozen=True)
class Entry:
    """`kind` says how trials are put together: `quantile` (of the sample `source`), `positive` (geometric mean),
    `amount` (mean, may be 0), `fraction` (counts over counts).
    """

    name: str
    title: str
    unit: str
    kind: Kind
    text: str
    source: str = ""
    q: float = 0.0

    def document(self) -> dict[str, str]:
        return {"title": self.title, "unit": self.unit, "text": self.text}


def _percentiles(stem: str, title: str, text: str, qs: tuple[float, ...]) -> list[Entry]:
    out = []
    for q in qs:
        label = f"{q * 100:g}".replace(".", "")
        name = "median" if q == 0.5 else f"p{q * 100:g}"
        beyond = (
            "half of the messages take longer" if q == 0.5 else f"{(1 - q) * 100:.3g} % of the messages take longer"
        )
        rule = f"Printed from {needed(q)} messages on; below that a bound."
        out.append(
            Entry(
                f"{stem}_p{label}",
                f"{title}, {name}",
                "ns",
                "quantile",
                f"{text} {beyond[0].upper()}{beyond[1:]}. {rule}",
                stem,
                q,
            )
        )
    return out


_ENTRIES = [
    *_percentiles(
        "response_latency",
        "response latency",
        "From the time the schedule wanted the message sent until it is in the reader's hands. A publisher "
        "that falls behind does not hide it, and a message that never arrives counts as infinitely late.",
        (0.5, 0.9, 0.99, 0.999),
    ),
    *_percentiles(
        "consumed_latency",
        "latency until consumed",
        "From the intended send time until the consumer has read the payload: shows what taking by reference "
        "postpones.",
        (0.5, 0.9, 0.99),
    ),
    *_percentiles(
        "service_latency",
        "service latency",
        "From the publish call until the message is taken: the middleware alone, without the wait before the "
        "call. Messages that were never sent are not in it.",
        (0.5, 0.9, 0.99),
    ),
    *_percentiles(
        "publish_call",
        "publish call",
        "How long the publish call keeps its caller, calls that return an error included.",
        (0.5, 0.9, 0.99),
    ),
    *_percentiles(
        "arrival_jitter",
        "arrival jitter",
        "How far the distance of two consecutive arrivals is from the distance intended (RFC 3550, |D|).",
        (0.5, 0.99),
    ),
    Entry(
        "longest_stall",
        "longest stall",
        "ns",
        "positive",
        "The longest time in the steady window in which a reader got nothing sound, counted to the window's edges. "
        "Never below the workload's own period.",
    ),
    Entry(
        "loss",
        "loss",
        "fraction",
        "fraction",
        "Of the messages that publish calls accepted, once per reader: the fraction that did not arrive "
        "sound and before the drain ended.",
    ),
    Entry(
        "undelivered",
        "undelivered",
        "fraction",
        "fraction",
        "Of the messages that the schedule wanted, once per reader: the fraction that did not arrive for any "
        "reason (lost, late, corrupt, failed, never sent). Verdicts judge this first.",
    ),
    *(
        Entry(name, title, "messages", "amount", text + " Per trial.")
        for name, title, text in (
            (
                "lost_start",
                "lost at the start",
                "Lost before the first delivery of the steady window; all of them where nothing was delivered.",
            ),
            ("lost_middle", "lost in the middle", "Lost between the first and the last delivery."),
            ("lost_end", "lost at the end", "Lost after the last delivery."),
            ("late", "late", "Arrived only after the drain had ended."),
            ("corrupt", "corrupt", "Arrived with a wrong checksum or size, every copy counted."),
            ("duplicates", "duplicates", "Arrived sound and in time, but not for the first time."),
            (
                "reordered",
                "reordered",
                "First arrivals after a message with a higher sequence number of the same writer.",
            ),
            ("foreign", "foreign", "Arrivals that do not belong to this trial."),
            (
                "never_sent",
                "never sent",
                "Wanted by the schedule, but the publisher had not come to them when the schedule's grace ended.",
            ),
            ("publish_failures", "failed publishes", "Publish calls that returned an error."),
        )
    ),
    Entry(
        "offered_rate",
        "offered rate",
        "hz",
        "positive",
        "Messages per second that the schedule wanted, over the steady window, all publishers together.",
    ),
    Entry(
        "achieved_rate",
        "achieved rate",
        "hz",
        "amount",
        "First sound arrivals within the closed steady window per second, all readers together.",
    ),
    Entry("achieved_throughput", "throughput", "bytes/s", "amount", "Payload bytes of those arrivals per second."),
    Entry(
        "match_time",
        "time to match",
        "ns",
        "positive",
        "From the last endpoint's creation until every endpoint sees all its peers.",
    ),
    Entry(
        "first_message_time",
        "time to the first message",
        "ns",
        "positive",
        "From the last endpoint's creation until every reader has got a message from each of its writers.",
    ),
    Entry(
        "cpu_per_message",
        "CPU per message",
        "ns",
        "positive",
        "CPU time of all worker processes in the steady window for each message delivered: kernel time in "
        "their system calls included, interrupts that hit other processes not.",
    ),
    Entry(
        "cpu_per_message_publisher",
        "CPU per message, publisher",
        "ns",
        "positive",
        "CPU time of the publishing processes for each message published.",
    ),
    Entry(
        "cpu_per_message_subscription",
        "CPU per message, subscription",
        "ns",
        "positive",
        "CPU time of the receiving processes for each message delivered.",
    ),
    Entry("cpu_cores", "CPU", "cores", "positive", "CPU time of all worker processes per second of the steady window."),
    Entry(
        "context_switches_per_message",
        "context switches per message",
        "count",
        "amount",
        "Voluntary and involuntary switches of the worker processes for each message delivered.",
    ),
    Entry(
        "pss",
        "memory (PSS)",
        "bytes",
        "positive",
        "Proportional set size of all worker processes, without their record buffers and without shared "
        "segments, which stand apart.",
    ),
    Entry("pss_publisher", "memory (PSS), publisher", "bytes", "positive", "The same for the publishing processes."),
    Entry(
        "pss_subscription", "memory (PSS), subscription", "bytes", "positive", "The same for the receiving processes."
    ),
    Entry(
        "rss",
        "memory (RSS)",
        "bytes",
        "positive",
        "Resident set size of all worker processes; pages they share count in each.",
    ),
    Entry(
        "peak_rss",
        "peak memory (RSS)",
        "bytes",
        "positive",
        "The highest resident set size that each worker process reached, added up; record buffers included.",
    ),
    Entry(
        "shared_memory",
        "shared segments",
        "bytes",
        "amount",
        "Proportional share of the shared-memory segments mapped by all worker processes, in use (resident).",
    ),
]

GLOSSARY: dict[str, Entry] = {e.name: e for e in _ENTRIES}
"""Name -> entry, in the order in which a report lists them."""
