"""Says how far the readers of one sample are apart."""

from collections.abc import Iterator
from math import isfinite

from rmwbench.analysis.verdicts.reader_spread import Reader, Spread
from rmwbench.words import numbers as fmt


def between(spread: Spread) -> str:
    """Return `5 readers: medians from 31.9 µs (listener_1) to 45.3 µs (listener_3), 99.1 %
    (listener_2) to 100 % delivered`."""
    parts = []
    if spread.quickest and spread.slowest:
        parts.append(f"medians from {_median(spread.quickest)} to {_median(spread.slowest)}")
    least, most = (fmt.percent(reader.delivered) for reader in (spread.least, spread.most))
    if least == most:
        parts.append(f"{most} delivered to each")
    else:
        parts.append(f"{least} ({spread.least.node}) to {most} delivered")
    return f"{fmt.counted(spread.readers, 'reader')}: {', '.join(parts)}"


def unlike(spread: Spread | None) -> str:
    """Return a caution about numbers over readers that turned out unlike; empty if they did not."""
    if spread is None or not spread.unlike:
        return ""
    ranges = []
    if "latency" in spread.unlike and spread.quickest and spread.slowest:
        ranges.append(f"median {_median(spread.quickest)} and {_median(spread.slowest)}")
    if "delivery" in spread.unlike:
        least, most = (
            f"{fmt.percent(reader.delivered)} ({reader.node})"
            for reader in (spread.least, spread.most)
        )
        ranges.append(f"delivered {least} and {most}")
    return (
        f"its readers turned out unlike in each of {fmt.counted(spread.blocks, 'block')}: "
        f"{'; '.join(ranges)}. A number over all of them describes none of them"
    )


def each(spread: Spread) -> Iterator[tuple[str, str]]:
    """Yield (reader, its latency and delivery) for readers that turned out unlike."""
    for reader in spread.apart:
        median_ns = reader.response_p50_ns
        latency = "" if median_ns is None else f"response latency, median {_latency(median_ns)}, "
        yield f"reader {reader.node}", f"{latency}{fmt.percent(reader.delivered)} delivered"


def _median(reader: Reader) -> str:
    return f"{_latency(reader.response_p50_ns or 0.0)} ({reader.node})"


def _latency(value_ns: float) -> str:
    return fmt.quantity(value_ns, "ns") if isfinite(value_ns) else "never"
