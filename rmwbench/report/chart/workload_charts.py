"""The charts of a workload, with their captions: one list for the page and for Markdown.

The caption of each figure explains how to read the figure to a reader who has never seen such a
chart."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from rmwbench.analysis.metrics.aggregate import is_of_chain
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.latency import SERIES_POINTS, SERIES_SLOWEST
from rmwbench.report import table_columns
from rmwbench.report.chart import charts as pictures
from rmwbench.report.chart.frame import drawn, of_zero
from rmwbench.report.view import Picture
from rmwbench.results.show_model import (
    Part,
    SuiteAnswer,
    TopicAnswer,
    WorkloadAnswer,
    WorkloadArm,
)
from rmwbench.results.workload import chart_points
from rmwbench.words import numbers as fmt


def figures(workload: WorkloadAnswer) -> Iterator[Picture]:
    """Yield the figures of a workload in reading order, with variants for a phone; a chart without
    any data has no specification."""
    if table_columns.is_bring_up(workload):
        yield from _bring_up(workload)
        return
    if table_columns.is_idle(workload):
        yield from (_mean_picture(workload, column) for column in table_columns.of(workload))
        return
    if not table_columns.is_by_topic(workload):
        yield from latencies(workload)
    delivered = pictures.delivered(workload)
    if delivered is not None:  # only campaigns with several hosts or an interruption have it
        shaded = _SHADED if any(arm.outages for arm in workload.charts.delivered) else ""
        yield Picture(
            "delivered",
            "Delivered per second",
            "Thick: the mean over trials; thin: each trial; dashed: what was due. A line above the "
            f"dashes delivers what was held up before.{shaded}",
            delivered,
            wide=True,
        )
    if not workload.topics or is_of_chain(workload.primary_metric):
        yield from _fates(workload)
    yield Picture(
        "cpu",
        "Processor time per message",
        f"Of each message delivered. {_PARTS}",
        **drawn(pictures.parts, workload, _processor, "cpu_per_message", "CPU time per message"),
    )
    yield Picture(
        "memory",
        "Memory",
        f"Proportional set size, without shared segments and the recorder. {_PARTS}",
        **drawn(pictures.parts, workload, _memory, "pss", "proportional set size"),
    )


_MEAN = (
    "Dot: mean over trials. Line: its interval; where two lines overlap widely, the order is open."
)


def _mean_picture(workload: WorkloadAnswer, column: table_columns.Column) -> Picture:
    """Return the picture of a metric that needs no message, with a row for each arm."""
    entry = GLOSSARY[column.metrics[0]]
    is_primary = entry.name == workload.primary_metric
    charts = drawn(pictures.comparison, workload, entry.title, metric=entry.name)
    return Picture(
        "comparison" if is_primary else entry.name,
        _upper(entry.title),
        f"{entry.text} {_MEAN}{of_zero(charts['spec'])}",
        wide=True,
        **charts,
    )


def _bring_up(workload: WorkloadAnswer) -> Iterator[Picture]:
    """Yield the pictures of the time until lifecycle nodes are active, and of their cost."""
    first, *others = table_columns.of(workload)
    yield _mean_picture(workload, first)
    yield Picture(
        "up",
        "Nodes up",
        "How many nodes are active after how long, the mean over trials. A curve that ends below "
        "the dashed line left nodes that never were.",
        pictures.up(workload),
        wide=True,
    )
    measured = (column for column in others if GLOSSARY[column.metrics[0]].kind == "positive")
    yield from (_mean_picture(workload, column) for column in measured)


_PARTS = (
    "Dark: publisher, or all processes where publisher and subscription share one. Light: "
    "subscription. Lightest: daemons and helpers. The number is the whole bar."
)
_LEAST_PART = 0.01
"""The least share of the whole that is drawn: the parts are means over trials, and their sum is no
more accurate."""


def _processor(arm: WorkloadArm) -> dict[str, float]:
    """Return the parts of `cpu_per_message`. The publisher's own metric is per message published,
    which several readers may receive, so its part here is what the other parts leave over."""
    value = partial(_value, arm)
    whole, subscription = value("cpu_per_message"), value("cpu_per_message_subscription")
    cores = value("cpu_cores")
    helper_cores = value("cpu_cores_daemon") + value("cpu_cores_other")
    helpers = whole * min(1.0, helper_cores / cores) if cores else 0.0
    return _parts(whole, whole - helpers - subscription, subscription, helpers)


def _memory(arm: WorkloadArm) -> dict[str, float]:
    """Return the parts of `pss`."""
    value = partial(_value, arm)
    whole, daemons = value("pss"), value("pss_daemon")
    publisher, subscription = value("pss_publisher"), value("pss_subscription")
    workers = publisher + subscription
    return _parts(whole, publisher, subscription, whole - workers if workers else daemons)


def _parts(whole: float, publisher: float, subscription: float, helpers: float) -> dict[str, float]:
    if not subscription:
        sizes = {"all processes": whole - helpers}
    else:
        sizes = {"publisher": publisher, "subscription": subscription}
    return {part: max(0.0, size) for part, size in sizes.items()} | (
        {pictures.HELPERS: helpers} if helpers > _LEAST_PART * whole else {}
    )


def _value(arm: WorkloadArm, metric: str) -> float:
    """Return the value of a metric; 0 where it has none, so that it is no part."""
    return fmt.finite(arm.value(metric)) or 0.0


def of_topic(topic: TopicAnswer) -> Iterator[Picture]:
    """Yield the figures of a topic that is judged by itself."""
    yield from latencies(topic)
    yield from _fates(topic)


def latencies(part: Part) -> Iterator[Picture]:
    """Yield the pictures of latencies, of a workload or of one of its topics."""
    median = GLOSSARY[chart_points.source(part.primary_metric) + "_p50"]
    latency = median.title.removesuffix(", median")
    entry = GLOSSARY[part.primary_metric]
    dot = "median" if entry.q == 0.5 else entry.title
    families = {arm.family for arm in part.arms if arm.role == "floor"}
    floor = "lines are the floors by copy and by loan" if len(families) > 1 else "line is the floor"
    charts = drawn(pictures.comparison, part, entry.title)
    yield Picture(
        "comparison",
        _upper(entry.title),
        f"Dot: {dot}. Line: its interval; where two lines overlap widely, the order is "
        "open. Hollow dots are untouched configurations of middlewares that were also tuned. The "
        f"dotted {floor}, what the machine can do without any middleware."
        f"{of_zero(charts['spec'])}",
        wide=True,
        **charts,
    )
    yield Picture(
        "spectrum",
        "Latency at every percentile",
        "Further right is rarer: at 90 %, nine of ten messages were at least this fast. A flat "
        "line is a steady middleware; a step up is a tail. Dashed red: from there on messages "
        "never arrived; a curve that ends without it has too few messages.",
        **drawn(pictures.spectrum, part, latency),
    )
    yield Picture(
        "ecdf",
        "How many arrived within a time",
        "Further left is faster, steeper is steadier. Of a curve that ends below 100 % the rest did "
        "not arrive.",
        **drawn(pictures.ecdf, part),
    )
    yield Picture(
        "series",
        "One trial, message by message",
        "Each dot is a message; a red mark at the top edge is a message that never arrived. One "
        "typical trial per arm, of its first publisher and that one's first reader; all panels on "
        f"the same axes.{_thinned(part)}",
        pictures.series(part),
        wide=True,
    )


def _thinned(part: Part) -> str:
    """Return a sentence on the number of a trial's messages that are drawn; empty where all are."""
    if all(len(series.latency_ns) < SERIES_POINTS for series in part.charts.series):
        return ""
    return (
        f" Of more than {fmt.significant_count(SERIES_POINTS)} messages, "
        f"{fmt.significant_count(SERIES_POINTS - SERIES_SLOWEST)} evenly spaced ones are drawn, "
        f"and of the others the {SERIES_SLOWEST} slowest."
    )


def _upper(title: str) -> str:
    return title[0].upper() + title[1:]


_SHADED = (
    " Shaded: a link or node was away; a line that stays at zero after the shade has not recovered."
)


def card(doc: SuiteAnswer, workload: WorkloadAnswer) -> list[str]:
    """Return the experiment card of every exported chart: suite, blocks, date, machine."""
    campaign = doc.campaign
    blocks = workload.resolution.blocks or campaign.blocks_complete
    conditions = {arm.conditions for arm in workload.arms if arm.conditions}
    return [
        f"suite {campaign.suite} · {fmt.counted(blocks, 'block')} · "
        f"{str(campaign.created_utc)[:10]} · rmwbench {campaign.tool_version or ''} · "
        f"{campaign.name}",
        " · ".join([doc.machine.summary, *sorted(conditions - {"nothing else running"})]),
    ]


@dataclass(frozen=True)
class _Fate:
    """The texts of the picture of a fate of messages."""

    key: str
    title: str
    axis: str
    reading: str


_FATES = (
    _Fate(
        "loss",
        "Lost messages",
        "messages lost",
        "share of the messages sent that were lost",
    ),
    _Fate(
        "never_sent",
        "Messages never sent",
        "messages never sent",
        "share of the messages due that were never sent",
    ),
    _Fate(
        "late",
        "Late messages",
        "messages under way",
        "share of the messages sent that were still under way when the trials ended",
    ),
)


def _fates(part: Part) -> Iterator[Picture]:
    """Yield a bar chart of each fate that some message had, and a sentence where no message was
    lost."""
    lost, late, never_sent = (column.metrics[0] for column in table_columns.fates(part))
    for fate, metric in zip(_FATES, (lost, never_sent, late), strict=True):
        charts = drawn(pictures.fate, part, metric, fate.axis)
        if charts["spec"] is not None:
            reading = f"Bar: {fate.reading}. Line: its interval."
            yield Picture(fate.key, fate.title, reading, wide=True, **charts)
        elif metric == lost:
            yield Picture("loss", fate.title, _none_lost(part, lost, late), None, wide=True)


def _none_lost(part: Part, metric: str, late: str) -> str:
    counts = {
        arm.arm: entry.count
        for arm in part.arms
        if (entry := arm.metrics.get(metric)) and entry.value == 0 and entry.count is not None
    }
    if not counts:
        return "No data."
    messages, arms = fmt.significant_count(sum(counts.values())), fmt.counted(len(counts), "arm")
    if any(fmt.finite(arm.value(late)) for arm in part.arms):
        return f"None of the {messages} messages that {arms} sent was lost; some were late."
    return f"None: every one of the {messages} messages that {arms} sent arrived."
