"""OSRF's Mininet experiments of 2020: 90 cells of 10 runs, raw (a configuration and the publisher's
and subscriber's logs of each run) or as the one summary table that the original made of them.

docs/importers.md says what is read. Both inputs give the same figures, except that only the raw one
has seconds, and with them the loss from first reception, and only the summary has the row order
that its resource bars depend on.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

import numpy as np
from pydantic import ValidationError

from rmwbench.errors import UserError
from rmwbench.published.importers.data_source import Source, SourceFile, malformed
from rmwbench.published.importers.formats import mininet_figures as figures
from rmwbench.published.importers.formats import perf_log
from rmwbench.published.importers.formats.mininet_figures import MininetCell, MininetRun
from rmwbench.published.importers.formats.perf_log import SIZEOF, Log
from rmwbench.published.importers.published import Published, PublishedCell
from rmwbench.published.importers.sheet import (
    LATENCY_MS,
    PERCENT,
    Once,
    Plausible,
    Range,
    SheetRow,
    columns,
    rows,
)

CONFIG = MininetCell.model_fields
VERSION = "Performance Test Version"
RUNS_AT_ONCE = 100
RUN_NS = 15_000_000_000
MOST_CUT_MESSAGES = 16
"""The most messages that a log of 15 rows may have beyond those sent: each row's rate is cut by
less than one."""
PLAUSIBLE = Plausible(
    {
        "bandwidth": Range(1, 1e6),
        "loss": PERCENT,
        "delay": Range(0, 60_000),
        "message_rate": Range(1, 1e6),
        "history_depth": Range(0, 1e6),
        "lost_prct": Range(-12, 100),
        "pub_sum_sent": Range(1, 1e9),
        "sub_sum_recv": Range(0, 1e9),
        "sub_sum_lost": Range(0, 1e9),
        "sub_effective_latency": LATENCY_MS,
        "pub_mean_ru_maxrss": Range(0, 1e12),
        "sub_mean_ru_maxrss": Range(0, 1e12),
        "pub_mean_cpu_usage (%)": PERCENT,
        "sub_mean_cpu_usage (%)": PERCENT,
    }
)
"""What the configuration and the summary may say."""
SUMMARY = (
    "json_fname",
    *CONFIG,
    *columns(
        "experiment,run,lost_prct,pub_sum_sent,sub_sum_recv,sub_sum_lost,pub_effective_latency,"
        "sub_effective_latency,pub_mean_ru_maxrss,sub_mean_ru_maxrss,pub_mean_cpu_usage (%),"
        "sub_mean_cpu_usage (%)"
    ),
)


def recognises(item: SourceFile) -> bool:
    header = item.header
    return _is_config(item.data) or ("sub_effective_latency" in header and "lost_prct" in header)


def read(source: Source, out: Published) -> None:
    """Read raw runs or the summary table, whichever the source holds."""
    out.add_known("tsc-2020-mininet")
    out.add_known("perf-test")
    measured: list[MininetRun] = []
    summary = None
    once = Once("the same log")
    for directory, runs in _batches(source):
        if directory is None:
            if measured or summary:
                beside = "another" if summary else "raw runs"
                raise runs[0].wrong(f"a summary beside {beside}", "one of them alone")
            summary = runs[0].where
            measured = list(_summary(runs[0], out))
        elif summary:
            raise runs[0].wrong("a raw run beside a summary", "one of both")
        else:
            measured += _raw(runs, out, once)
    if measured:
        figures.add(out, measured, raw=summary is None)


def _batches(source: Source) -> Iterator[tuple[str | None, list[SourceFile]]]:
    """Yield whole runs, about `RUNS_AT_ONCE` together; (None, [the table]) for a summary."""
    batch: list[SourceFile] = []
    count = 0
    for directory, group in groupby(source, key=lambda item: item.directory):
        items = list(group)
        if any("json_fname" in item.header for item in items):
            if len(items) > 1:
                raise items[1].wrong("a file beside the summary", "MininetResults.csv alone")
            yield None, items
            continue
        batch += items
        count += 1
        if count >= RUNS_AT_ONCE:
            yield directory, batch
            batch, count = [], 0
    if batch:
        yield directory, batch


def _raw(items: list[SourceFile], out: Published, once: Once) -> Iterator[MininetRun]:
    configs: list[tuple[str, MininetCell]] = []
    logs_of: dict[str, dict[str, SourceFile]] = {}
    for directory, group in groupby(items, key=lambda item: item.directory):
        parts: dict[str, SourceFile] = {}
        for item in group:
            part = _part(item)
            if part in parts:
                raise item.wrong(f"a second {part} in one run", "one of each")
            parts[part] = item
            if part != "configuration":
                once.content(item)
        first = next(iter(parts.values())).where
        where = first.rpartition("/")[0] or first
        for part in ("configuration", "publisher's log", "subscriber's log"):
            if part not in parts:
                raise malformed(
                    where,
                    f"the run has no {part}",
                    "experiment_config.json and two logs",
                    ", ".join(parts),
                )
        if directory in logs_of:
            raise malformed(
                where,
                "the files of a run do not stand together",
                "all files of a run, then the next",
            )
        configs.append((directory, _config(parts["configuration"])))
        logs_of[directory] = parts
    ordered = [
        parts[p] for parts in logs_of.values() for p in ("publisher's log", "subscriber's log")
    ]
    logs = perf_log.read_logs(ordered)
    for (directory, condition), publisher, subscriber in zip(configs, logs, logs, strict=True):
        yield _run(out, condition, directory.rpartition("/")[2], publisher, subscriber)


def _part(item: SourceFile) -> str:
    if item.data.lstrip()[:1] == b"{":
        return "configuration"
    if not perf_log.is_log(item):
        raise item.wrong(
            "neither a configuration nor a log", "experiment_config.json or a log of perf_test"
        )
    header = perf_log.header_of(item)
    ends = (header.get("Number of publishers"), header.get("Number of subscribers"))
    if ends not in (("1", "0"), ("0", "1")):
        raise item.wrong(
            "neither a publisher's nor a subscriber's log",
            "one publisher or one subscriber",
            f"{ends}",
        )
    return "publisher's log" if ends[0] == "1" else "subscriber's log"


def _is_config(data: bytes) -> bool:
    return data.lstrip()[:1] == b"{" and b'"async_pub"' in data and b'"bandwidth"' in data


def _config(item: SourceFile) -> MininetCell:
    try:
        condition = MininetCell.model_validate_json(item.text())
    except ValidationError as error:
        raise item.unlike_its_type(error, "the configuration of an experiment") from None
    _check_condition(condition, item.where)
    return condition


def _check_condition(condition: MininetCell, where: str) -> None:
    if condition.message_type not in SIZEOF:
        types = ", ".join(SIZEOF)
        raise malformed(where, "an unknown message_type", types, condition.message_type)
    numbers = {name: value for name, value in condition if isinstance(value, int)}
    PLAUSIBLE.check_values(numbers, where)


def _cell(c: MininetCell) -> PublishedCell:
    return PublishedCell(
        workload=f"{c.message_type} at {c.message_rate} Hz, {c.bandwidth} Mb/s, {c.loss} % loss",
        arm=c.arm,
        middleware=c.rmw_implementation,
        version="Rolling of October 2020",
        profile=c.async_pub,
        factors={
            "message": c.message_type,
            "rate_hz": c.message_rate,
            "bandwidth_mbit_s": c.bandwidth,
            "loss_percent_per_interface": c.loss,
            "loss_percent_one_way": round(100 * c.one_way_loss, 2),
            "delay_ms": c.delay,
            "publish_mode": c.async_pub,
        },
        definition={"qos": f"{c.reliability}, {c.durability}, {c.history_kind} {c.history_depth}"},
    )


def _run(
    out: Published, condition: MininetCell, name: str, publisher: Log, subscriber: Log
) -> MininetRun:
    size = SIZEOF[condition.message_type]
    for log in (publisher, subscriber):
        _check_header(condition, log)
    perf_log.require_header(subscriber, {VERSION: publisher.header.get(VERSION, "")})
    perf_log.check_latency(subscriber, one_clock=True)
    length_s = float(max(log.columns["T_experiment"][-1] for log in (publisher, subscriber)))
    duration_ns = round(length_s * 1e9)
    perf_log.add_run(out, _cell(condition), publisher, subscriber, ("h1", "h2"), size, duration_ns)
    return _measure_run(condition, name, publisher, subscriber, size)


def _check_header(condition: MininetCell, log: Log) -> None:
    """Raise UserError if a log was made in another condition than the configuration beside it
    says."""
    perf_log.require_header(
        log,
        {
            "RMW Implementation": condition.rmw_implementation,
            "Topic name": condition.message_type,
            "Publishing rate": str(condition.message_rate),
        },
    )
    configured = {
        "reliability": condition.reliability,
        "durability": condition.durability,
        "history": condition.history_kind,
        "depth": condition.history_depth,
    }
    logged = perf_log.qos(log.header.get("QOS", ""))
    if logged != configured:
        what = "'QOS' contradicts the configuration beside it"
        raise log.wrong(what, f"{configured}", f"{logged}")


def _measure_run(
    condition: MininetCell, name: str, publisher: Log, subscriber: Log, size: int
) -> MininetRun:
    for log in (publisher, subscriber):
        perf_log.require(log, ("ru_maxrss", "cpu_usage (%)", "latency_variance (ms)"))
    p, s = publisher.columns, subscriber.columns
    received, sent = s["received"], p["sent"]
    with_messages, with_rate = perf_log.arrived(subscriber), received > 0
    mean = s["latency_mean (ms)"]
    total_sent = float(sent.sum())
    if total_sent <= 0:
        raise UserError(
            "the publisher sent nothing",
            where=publisher.where,
            expected="at least one message in the run",
        )
    restored = float(perf_log.restored_counts(subscriber, size).sum())
    most = float(figures.sent_counts(sent, p["T_loop"])[1].sum()) + MOST_CUT_MESSAGES
    if restored > most:
        raise subscriber.wrong(
            "more was received than sent", f"at most {most:.0f}", f"{restored:.0f}"
        )
    first = figures.first_reception(subscriber)
    return MininetRun(
        condition=condition,
        name=name,
        shown_latency_ms=float(mean[with_rate].mean()) if with_rate.any() else 0.0,
        latency_ms=float(mean[with_messages].mean()) if with_messages.any() else None,
        lost_percent=float(100 * (1 - received.sum() / total_sent)),
        sent=total_sent,
        received=float(received.sum()),
        first_s=None if first is None else first + 1,
        lost_after_first=figures.after_first_reception(publisher, subscriber, size),
        received_restored=restored,
        sent_restored=figures.restored_sent(sent, p["T_loop"]),
        publisher_rss_kib=float(p["ru_maxrss"].mean()),
        subscriber_rss_kib=float(s["ru_maxrss"].mean()),
        publisher_cpu=float(p["cpu_usage (%)"].mean()),
        subscriber_cpu=float(s["cpu_usage (%)"].mean()),
        seconds=_seconds(publisher, subscriber, size),
    )


def _seconds(publisher: Log, subscriber: Log, size: int) -> figures.Seconds:
    p, s = publisher.columns, subscriber.columns
    with_messages, with_rate = perf_log.arrived(subscriber), s["received"] > 0
    mean, variance = s["latency_mean (ms)"], s["latency_variance (ms)"] * 1000
    return figures.Seconds(
        sent=p["sent"],
        sent_restored=figures.restored_rates(p["sent"], p["T_loop"]),
        received=s["received"],
        received_restored=s["data_received"] / size,
        shown_latency_ms=np.where(with_rate, mean, np.nan),
        latency_ms=np.where(with_messages, mean, np.nan),
        shown_latency_variance_ms2=np.where(with_rate, variance, np.nan),
        latency_variance_ms2=np.where(with_messages, variance, np.nan),
        publisher_cpu=p["cpu_usage (%)"],
        publisher_rss_kib=p["ru_maxrss"],
    )


def _summary(item: SourceFile, out: Published) -> Iterable[MininetRun]:
    once = Once("the same run")
    for row in rows(item, SUMMARY, at_least=True, plausible=PLAUSIBLE):
        config = {
            name: row[name] if field.annotation is str else row.whole(name)
            for name, field in CONFIG.items()
        }
        condition = MininetCell.model_validate(config)
        _check_condition(condition, row.where)
        once((condition, row["run"]), row.where)
        yield _summary_run(row, condition, out)


def _summary_run(row: SheetRow, condition: MininetCell, out: Published) -> MininetRun:
    sent, received = row.number("pub_sum_sent"), row.number("sub_sum_recv")
    most = sent + MOST_CUT_MESSAGES
    if received > most:
        raise row.wrong("more was received than sent", f"at most {most:g}", f"{received:g}")
    out.trial(out.cell(_cell(condition)), duration_ns=RUN_NS)
    latency_ms = row.number("sub_effective_latency")
    run = MininetRun(
        condition=condition,
        name=row["run"],
        shown_latency_ms=latency_ms if received > 0 else 0.0,
        latency_ms=latency_ms if received > 0 else None,
        lost_percent=row.number("lost_prct"),
        sent=sent,
        received=received,
        publisher_rss_kib=row.number("pub_mean_ru_maxrss"),
        subscriber_rss_kib=row.number("sub_mean_ru_maxrss"),
        publisher_cpu=row.number("pub_mean_cpu_usage (%)"),
        subscriber_cpu=row.number("sub_mean_cpu_usage (%)"),
    )
    for endpoint, metric, unit, value in (
        (0, "sent_rates_cut_sum", "messages", sent),
        (1, "received_rates_cut_sum", "messages", received),
        (1, "lost_rates_cut_sum", "messages", row.number("sub_sum_lost")),
        (1, "latency_mean", "ns", None if run.latency_ms is None else run.latency_ms * 1e6),
        (0, "peak_rss", "bytes", run.publisher_rss_kib * 1024),
        (1, "peak_rss", "bytes", run.subscriber_rss_kib * 1024),
        (0, "cpu_share", "fraction of all hardware threads", run.publisher_cpu / 100),
        (1, "cpu_share", "fraction of all hardware threads", run.subscriber_cpu / 100),
    ):
        out.window(endpoint, 0, RUN_NS, metric, unit, value)
    return run
