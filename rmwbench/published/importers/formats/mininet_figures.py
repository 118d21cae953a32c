"""The Mininet report's figures: as published by the original's formulas, and as corrected.

The formulas are those of the original's notebook, verified on all 900 runs: means of ten runs, in
which a run without reception has latency 0, and loss from sums of rates cut to whole numbers,
discovery included.

The corrected loss is that of a run after its first reception, from restored counts aligned by
message numbers. Both logs have rates cut to whole numbers, so the counts are restored first. The
two sides are then aligned at the beginning of the window. The number of the last message of the
first second with a reception is the number of messages received until then plus the gaps in numbers
until then (the tool counts all messages before the first one as a gap). The window is everything
sent after that message, and everything that came after that second is what arrived of it. If the
sides were aligned by times alone, messages under way at the border would count as lost, or as more
than was sent.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from pydantic import BaseModel, ConfigDict

from rmwbench.published.importers.formats.perf_log import (
    Log,
    all_counts,
    arrived,
    intervals_s,
    restored_counts,
    whole_counts,
)
from rmwbench.published.importers.published import Published, SeriesPoints

UNSENT_ROW = 1
"""How many messages may be sent after the publisher's last row: the numbers in 14 of 150 runs
without loss go one beyond its rows."""
SHORTEST_S = 1.0
"""The length of the first interval, which no row has: the tool sleeps for a second between two
rows."""


@dataclass(frozen=True)
class Loss:
    """A share in percent, and the two values that it must lie between, given what the logs leave
    open."""

    percent: float
    least: float
    most: float


@dataclass(frozen=True)
class _Bounds:
    least: float
    most: float

    @property
    def middle(self) -> float:
        return (self.least + self.most) / 2


def sent_counts(rates: np.ndarray, loop_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (least, most) messages of each row, shape (rows,), from rates cut to whole numbers: a
    rate r over t seconds means a count in [r·t, (r+1)·t)."""
    return np.ceil(rates * loop_s - 1e-9), np.ceil((rates + 1) * loop_s - 1e-9) - 1


def first_reception(subscriber: Log) -> int | None:
    """Return the row of the first reception, None if nothing came. The bytes decide, because a rate
    below 1/s is printed as 0."""
    with_messages = arrived(subscriber)
    return int(np.argmax(with_messages)) if with_messages.any() else None


def after_first_reception(publisher: Log, subscriber: Log, size: int) -> Loss | None:
    """Return the share of messages sent after the first second with a reception that never came;
    `size` is sizeof the type in bytes. None if nothing came before the last row, or nothing was
    sent afterwards."""
    first = first_reception(subscriber)
    if first is None or first + 1 >= subscriber.rows:
        return None
    estimates = restored_counts(subscriber, size)
    counts = all_counts(estimates)
    begin = _number_of_last(subscriber, first, counts, whole_counts(estimates))
    after = float(counts[first + 1 :].sum())
    gaps = _gaps(subscriber)[0]
    least_sent, most_sent = (
        float(x.sum()) for x in sent_counts(publisher.columns["sent"], publisher.columns["T_loop"])
    )
    # What has a number was sent: a window is never smaller than the numbers in it.
    least = max(least_sent - begin.most, after + float(gaps[first + 1 :].sum()))
    most = max(most_sent + UNSENT_ROW - begin.least, least)
    window = min(max((least_sent + most_sent) / 2 - begin.middle, least), most)
    if window <= 0 or least <= 0:
        return None
    return Loss(*(100.0 * (1.0 - after / x) for x in (window, least, most)))


def _number_of_last(log: Log, first: int, counts: np.ndarray, whole: np.ndarray) -> _Bounds:
    """Return the number of the last message of row `first`, before which nothing came."""
    least_gap, most_gap = (float(x[first]) for x in _gaps(log))
    if np.isfinite(whole[first]):
        return _Bounds(counts[first] + least_gap, counts[first] + most_gap)
    length = float(log.columns["T_loop"][0])
    shortest = counts[first] * min(SHORTEST_S, length) / length if first == 0 else counts[first]
    return _Bounds(np.floor(shortest) + least_gap, np.ceil(counts[first]) + most_gap)


def _gaps(log: Log) -> tuple[np.ndarray, np.ndarray]:
    """Return (least, most) missing numbers of each row, 0 in rows without a message: a gap is seen
    when the next message comes."""
    with_messages = arrived(log)
    least, most = sent_counts(log.columns["lost"], intervals_s(log))
    return np.where(with_messages, least, 0.0), np.where(with_messages, most, 0.0)


POOR_LOSS_PERCENT, POOR_LATENCY_MS = 1.0, 30.0


class MininetCell(BaseModel):
    """A cell, as its configuration names it. `loss` is in percent per interface, `bandwidth` in
    Mb/s, `delay` in ms."""

    model_config = ConfigDict(strict=True, frozen=True)

    rmw_implementation: str
    async_pub: str
    bandwidth: int
    loss: int
    delay: int
    message_rate: int
    message_type: str
    reliability: str
    durability: str
    history_kind: str
    history_depth: int

    @property
    def arm(self) -> str:
        return f"{self.rmw_implementation} {self.async_pub}"

    @property
    def network(self) -> tuple[str, int, int]:
        return self.message_type, self.bandwidth, self.loss

    @property
    def one_way_loss(self) -> float:
        """The loss of one direction, which crosses two lossy queues: 1 − (1 − loss)², a
        fraction."""
        return 1 - (1 - self.loss / 100) ** 2


@dataclass(frozen=True)
class Seconds:
    """A run second by second, arrays of shape (rows,): rates in messages/s as the log has them and
    as its bytes tell, NaN if they cannot tell; latency in ms and ms² in rows that have a rate
    (`shown_`) and in rows that have bytes; the publisher's resources. The two ends of a run may
    have different numbers of rows."""

    sent: np.ndarray
    sent_restored: np.ndarray
    received: np.ndarray
    received_restored: np.ndarray
    shown_latency_ms: np.ndarray
    latency_ms: np.ndarray
    shown_latency_variance_ms2: np.ndarray
    latency_variance_ms2: np.ndarray
    publisher_cpu: np.ndarray
    publisher_rss_kib: np.ndarray


@dataclass(frozen=True)
class MininetRun:
    """One run: sums of the cut rates as the original took them, and what the seconds tell if there
    are any. `shown_latency_ms` is over the seconds that have a rate, 0 without any, as the original
    took it; `latency_ms` is over those that have bytes, None if nothing came."""

    condition: MininetCell
    name: str
    shown_latency_ms: float
    latency_ms: float | None
    lost_percent: float
    sent: float
    received: float
    publisher_rss_kib: float
    subscriber_rss_kib: float
    publisher_cpu: float
    subscriber_cpu: float
    first_s: int | None = None
    lost_after_first: Loss | None = None
    received_restored: float | None = None
    sent_restored: float | None = None
    seconds: "Seconds | None" = None


def restored_sent(rates: np.ndarray, loop_s: np.ndarray) -> float | None:
    """Return the messages sent in all rows, from rates cut to whole numbers; None if a row leaves
    more than one count open."""
    least, most = sent_counts(rates, loop_s)
    return float(least.sum()) if (least == most).all() else None


def restored_rates(rates: np.ndarray, loop_s: np.ndarray) -> np.ndarray:
    """Return the messages sent per second of each row, NaN in rows that leave more than one count
    open."""
    least, most = sent_counts(rates, loop_s)
    return np.where(least == most, least / loop_s, np.nan)


def add(out: Published, runs: list[MininetRun], *, raw: bool) -> None:
    cells: dict[MininetCell, list[MininetRun]] = {}
    for run in runs:
        cells.setdefault(run.condition, []).append(run)
    for condition, runs_of_cell in cells.items():
        _cell(out, condition, runs_of_cell, raw)
    for run in runs:
        _run(out, run)
    for loss in sorted({condition.loss for condition in cells}):
        one_way = round(100 * (1 - (1 - loss / 100) ** 2), 10)
        point = SeriesPoints(out, "mininet", "one way", loss)
        point("link_loss", "%", loss, one_way, "two lossy queues per direction")
    _resources(out, runs, raw)
    _conditions(out, cells)


def _cell(out: Published, condition: MininetCell, runs: list[MininetRun], raw: bool) -> None:
    series = f"{condition.arm}, {condition.message_type}, {condition.bandwidth} Mb/s"
    latencies = [run.latency_ms for run in runs if run.latency_ms is not None]
    published = [run.shown_latency_ms for run in runs]
    why_none = f"no data: none of {len(runs)} runs received anything"
    if not raw:
        why_none = f"no data: none of {len(runs)} runs has a second whose rate is not cut to 0"
    zeros = sum(run.received == 0 for run in runs)
    note = f"published with 0 ms for {zeros} of {len(runs)} runs" if zeros else None
    if not latencies:
        note = why_none
    point = SeriesPoints(out, "mininet", series, condition.loss, len(latencies))
    for name, reduce in _OVER_RUNS:
        corrected = float(reduce(latencies)) if latencies else None
        point(f"latency{name}", "ms", float(reduce(published)), corrected, note)
    _loss(point, runs, why_none if raw else NO_SECONDS)
    point = replace(point, count=len(runs))
    note = None if raw else "runs with a second whose rate is not cut to 0"
    point("delivering_runs", "runs", None, float(len(latencies)), note)
    _counts(point, runs, raw)
    if raw:
        seconds = [run.seconds for run in runs if run.seconds is not None]
        _seconds(out, f"{series}, {condition.loss} %", seconds)


_OVER_RUNS = (("", np.mean), ("_min", np.min), ("_max", np.max))
UNKNOWN_BAR = "published bar unknown here: it depends on the row order of the summary file"
NO_SECONDS = "no data: the summary has no seconds; import the raw logs"
LOSS_NOTE = (
    "corrected: of what was sent after the last message of the first second with a reception"
)


def _loss(point: SeriesPoints, runs: list[MininetRun], why_none: str) -> None:
    """Add the cell's loss with its least and greatest run, and the two values that the mean must
    lie between."""
    losses = [run.lost_after_first for run in runs if run.lost_after_first is not None]
    least, most = (
        float(np.mean(bounds)) if losses else None
        for bounds in ([loss.least for loss in losses], [loss.most for loss in losses])
    )
    note = f"{LOSS_NOTE}; the logs leave {least:.2f} to {most:.2f} %" if losses else why_none
    point = replace(point, count=len(losses))
    for name, reduce in _OVER_RUNS:
        published = float(reduce([run.lost_percent for run in runs]))
        corrected = float(reduce([loss.percent for loss in losses])) if losses else None
        point(f"loss{name}", "%", published, corrected, note)
    for name, value in (("least", least), ("most", most)):
        point(f"loss_at_{name}", "%", None, value, note)


_LINES = (
    ("sent", "messages/s", "sent", "sent_restored", 1.0),
    ("received", "messages/s", "received", "received_restored", 1.0),
    ("latency", "ms", "shown_latency_ms", "latency_ms", 1.0),
    (
        "latency_variance",
        "ms² (published: s² × 1000)",
        "shown_latency_variance_ms2",
        "latency_variance_ms2",
        0.001,
    ),
    ("publisher_cpu", "% of the machine", "publisher_cpu", "publisher_cpu", 1.0),
    ("publisher_rss", "KiB", "publisher_rss_kib", "publisher_rss_kib", 1.0),
)
"""The lines of the appendix: figure, unit, the runs' arrays as published and as corrected, and a
factor for the published ones."""


def _seconds(out: Published, series: str, runs: list[Seconds]) -> None:
    """Add the thick lines of the appendix: the mean of the runs in each second. Published latency
    has a value only if every run got something."""
    rows = min((min(len(run.sent), len(run.received)) for run in runs), default=0)
    for name, unit, published_field, corrected_field, factor in _LINES:
        published = np.array([getattr(run, published_field)[:rows] for run in runs]) * factor
        corrected = np.array([getattr(run, corrected_field)[:rows] for run in runs])
        counts = np.isfinite(corrected).sum(axis=0)
        sums = np.nansum(np.where(np.isfinite(corrected), corrected, 0.0), axis=0)
        means = published.mean(axis=0)
        why = "no data: " + ("nothing came in any run" if "latency" in name else "cut rates")
        for row in range(rows):
            n = int(counts[row])
            corrected_mean = float(sums[row]) / n if n else None
            point = SeriesPoints(out, "mininet_second", series, row + 1, n)
            point(name, unit, float(means[row]), corrected_mean, None if n else why)


def _counts(point: SeriesPoints, runs: list[MininetRun], raw: bool) -> None:
    sent = [run.sent_restored for run in runs if run.sent_restored is not None]
    corrected = float(np.mean(sent)) if len(sent) == len(runs) else None
    why = "no data: seconds with a rate of 0 leave open whether one message was sent"
    note = None if corrected is not None else why if raw else NO_SECONDS
    point("sent", "messages", float(np.mean([run.sent for run in runs])), corrected, note)
    received = [run.received_restored for run in runs if run.received_restored is not None]
    corrected = float(np.mean(received)) if received else None
    note = "corrected: bytes per second × interval ÷ sizeof" if received else NO_SECONDS
    point("received", "messages", float(np.mean([run.received for run in runs])), corrected, note)
    if raw:
        first_s = [run.first_s for run in runs if run.first_s is not None]
        note = "median second of the first reception"
        if not first_s:
            note = f"no data: none of {len(runs)} runs received anything"
        corrected = float(np.median(first_s)) if first_s else None
        replace(point, count=len(first_s))("first_reception", "s", None, corrected, note)


def _run(out: Published, run: MininetRun) -> None:
    c = run.condition
    series = (
        f"{c.rmw_implementation}_{c.async_pub}_{c.message_type}@{c.message_rate}_{c.reliability}_{c.durability}_"
        f"{c.history_kind}@{c.history_depth}_{c.bandwidth}bw_{c.loss}loss_{c.delay}delay"
    )
    point, after = SeriesPoints(out, "mininet_run", series, run.name), run.lost_after_first
    why_none = "no data: the run received nothing" if run.latency_ms is None else None
    point("latency", "ms", run.shown_latency_ms, run.latency_ms, why_none)
    note = "no data: no message sent after a first reception"
    if after is not None:
        note = f"the logs leave {after.least:.2f} to {after.most:.2f} %"
    point("loss", "%", run.lost_percent, None if after is None else after.percent, note)


def _resources(out: Published, runs: list[MininetRun], raw: bool) -> None:
    """Add the bars. Published `async` bars show the rows of Fast RTPS sync at the positions that
    the async cell has in its own table, in the order of the summary file."""
    tables: dict[str, list[MininetRun]] = {}
    for run in runs:
        tables.setdefault(run.condition.arm, []).append(run)
    measures: tuple[tuple[str, str, Callable[[MininetRun], float]], ...] = (
        ("mininet_cpu publisher", "% of the machine", lambda run: run.publisher_cpu),
        ("mininet_cpu subscriber", "% of the machine", lambda run: run.subscriber_cpu),
        ("mininet_rss publisher", "MiB", lambda run: run.publisher_rss_kib / 1024),
        ("mininet_rss subscriber", "MiB", lambda run: run.subscriber_rss_kib / 1024),
    )
    for arm, table in tables.items():
        shifted = arm.startswith("rmw_fastrtps") and arm.endswith(" async")
        other = tables.get(arm.removesuffix(" async") + " sync") if shifted else table
        for network in dict.fromkeys(run.condition.network for run in table):
            places = [i for i, run in enumerate(table) if run.condition.network == network]
            for figure, unit, value in measures:
                corrected = float(np.mean([value(table[i]) for i in places]))
                published: float | None = corrected
                note = None
                if shifted and (raw or other is None or max(places) >= len(other)):
                    published = None
                    note = UNKNOWN_BAR
                elif shifted and other is not None:
                    published = float(np.mean([value(other[i]) for i in places]))
                    source = other[places[0]].condition
                    note = (
                        f"published bar: {source.arm}, {source.message_type}, "
                        f"{source.bandwidth} Mb/s, {source.loss} %"
                    )
                series = f"{arm}, {network[0]}, {network[1]} Mb/s"
                point = SeriesPoints(out, "", series, network[2], len(places))
                point(figure, unit, published, corrected, note)


def _conditions(out: Published, cells: dict[MininetCell, list[MininetRun]]) -> None:
    """Add which conditions were drawn, and in how many Cyclone was fastest."""
    by_network: dict[tuple[str, int, int], dict[str, list[MininetRun]]] = {}
    for condition, runs in cells.items():
        by_network.setdefault(condition.network, {})[condition.arm] = runs
    degraded = wins_filled = wins = 0
    for (kind, bandwidth, loss), arms in by_network.items():
        cyclone = [runs for arm, runs in arms.items() if arm.startswith("rmw_cyclonedds")]
        others = [runs for arm, runs in arms.items() if not arm.startswith("rmw_cyclonedds")]
        note = (
            "published: by Cyclone alone; corrected: any middleware with loss > 1 % or latency > "
            "30 ms"
        )
        published = float(_is_poor(cyclone[0])) if cyclone else None
        corrected = float(any(map(_is_poor, arms.values())))
        point = SeriesPoints(out, "mininet", f"{kind}, {bandwidth} Mb/s", loss)
        point("selected", "1 drawn, 0 not", published, corrected, note)
        if not others or not published:
            continue
        if any(run.latency_ms is not None for runs in others for run in runs):
            degraded += 1
            own, own_filled = _latency(cyclone[0], False), _latency(cyclone[0], True)
            wins_filled += all(own_filled < _latency(runs, True) for runs in others)
            wins += all(own < _latency(runs, False) for runs in others)
    if degraded:
        point = SeriesPoints(out, "mininet", "Cyclone sync", "degraded for all", degraded)
        note = "published: runs without reception count as 0 ms"
        shares = (wins_filled / degraded, wins / degraded)
        point("cyclone_fastest", "fraction of conditions", *shares, note)


def _is_poor(runs: list[MininetRun]) -> bool:
    loss, latency_ms = np.mean([run.lost_percent for run in runs]), _latency(runs, filled=True)
    return bool(loss > POOR_LOSS_PERCENT or latency_ms > POOR_LATENCY_MS)


def _latency(runs: list[MininetRun], filled: bool) -> float:
    """Return the mean latency in ms, `filled` as published; without the zeros, a cell that
    delivered nothing is the slowest."""
    if filled:
        return float(np.mean([run.shown_latency_ms for run in runs]))
    latencies_ms = [run.latency_ms for run in runs if run.latency_ms is not None]
    return float(np.mean(latencies_ms)) if latencies_ms else float("inf")
