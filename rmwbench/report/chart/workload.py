"""Which charts a workload has, with the words that stand beside them: one list for the page and for
Markdown.

Each figure says in one sentence how to read it, for somebody who has never seen such a chart.
"""

from collections.abc import Callable, Iterator
from typing import Any

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.report import columns
from rmwbench.report.chart import bring_up as bring_up_chart
from rmwbench.report.chart import charts as pictures
from rmwbench.report.chart import idle, over_time
from rmwbench.report.chart.captioned import Figure
from rmwbench.report.chart.charts import Spec
from rmwbench.results.shown import Part, Shown, Topic, Workload
from rmwbench.results.workload import chart_points
from rmwbench.words import numbers as fmt


def figures(workload: Workload, *, phone: bool = False) -> Iterator[Figure]:
    """The figures of a workload in reading order, with `narrow` variants if asked for; a chart
    without any data has no specification."""

    def narrow(draw: Callable[..., Spec | None], *arguments: Any) -> Spec | None:
        return draw(workload, *arguments, narrow=True) if phone else None

    if columns.is_bring_up(workload):
        yield from bring_up_chart.figures(workload, phone=phone)
        return
    if columns.is_idle(workload):
        yield from idle.figures(workload, phone=phone)
        return
    if not columns.is_by_topic(workload):
        yield from latencies(workload, phone=phone)
    over = over_time.delivered(workload)
    if over is not None:  # of campaigns with several hosts or an interruption alone
        yield Figure(
            "delivered",
            "Delivered per second",
            "Thick: the mean over trials; thin: each trial; dashed: what was due. A line above the "
            "dashes delivers what was held up "
            "before." + (_SHADED if over_time.interrupted(workload) else ""),
            over,
            wide=True,
        )
    if not workload.topics:
        yield _loss(workload, phone)
    cpu = {"publisher": "cpu_per_message_publisher", "subscription": "cpu_per_message_subscription"}
    yield Figure(
        "cpu",
        "Processor time per message",
        "Dark: publisher. Light: subscription. The number is both together, with helper processes "
        "where there are any.",
        pictures.parts(workload, cpu, "cpu_per_message", "CPU time per message"),
        narrow=narrow(pictures.parts, cpu, "cpu_per_message", "CPU time per message"),
    )
    memory = {"publisher": "pss_publisher", "subscription": "pss_subscription"}
    yield Figure(
        "memory",
        "Memory",
        "Dark: publisher. Light: subscription. Proportional set size, without shared segments and "
        "the recorder.",
        pictures.parts(workload, memory, "pss", "proportional set size"),
        narrow=narrow(pictures.parts, memory, "pss", "proportional set size"),
    )


def of_topic(topic: Topic, *, phone: bool = False) -> Iterator[Figure]:
    """The same of one topic that is judged by itself."""
    yield from latencies(topic, phone=phone)
    yield _loss(topic, phone)


def latencies(part: Part, *, phone: bool = False) -> Iterator[Figure]:
    """What messages took, of a workload or of one of its topics."""

    def narrow(draw: Callable[..., Spec | None], *arguments: Any) -> Spec | None:
        return draw(part, *arguments, narrow=True) if phone else None

    latency = GLOSSARY[chart_points.source(part.primary_metric) + "_p50"].title.removesuffix(
        ", median"
    )
    title = _title(part)
    yield Figure(
        "comparison",
        title,
        f"Dot: {_dot(part)}. Line: its interval; where two lines overlap widely, the order is "
        "open. Hollow dots are untouched configurations of middlewares that were also tuned. The "
        "dotted line is the floor, what the machine can do without any middleware.",
        pictures.comparison(part, _lower(title)),
        wide=True,
        narrow=narrow(pictures.comparison, _lower(title)),
    )
    yield Figure(
        "spectrum",
        "Latency at every percentile",
        "Further right is rarer: at 90 %, nine of ten messages were at least this fast. A flat "
        "line is a steady middleware; a step up is a tail.",
        pictures.spectrum(part, latency),
        narrow=narrow(pictures.spectrum, latency),
    )
    yield Figure(
        "ecdf",
        "How many arrived within a time",
        "Further left is faster, steeper is steadier. A curve that ends below 100 % lost the rest.",
        pictures.ecdf(part),
        narrow=narrow(pictures.ecdf),
    )
    yield Figure(
        "series",
        "One trial, message by message",
        "Each dot is a message; a red mark at the top edge is a message that never arrived. One "
        "typical trial per arm, all panels on the same axes.",
        pictures.series(part),
        wide=True,
    )


def _title(part: Part) -> str:
    title = GLOSSARY[part.primary_metric].title
    return title[0].upper() + title[1:]


def _lower(title: str) -> str:
    return title[0].lower() + title[1:]


def _dot(part: Part) -> str:
    return "median" if part.primary_metric.endswith("_p50") else _lower(_title(part))


_SHADED = (
    " Shaded: a link or node was away; a line that stays at zero behind the shade has not "
    "recovered."
)


def card(doc: Shown, workload: Workload) -> list[str]:
    """The experiment card that travels with every exported chart: suite, trials, date, machine."""
    campaign = doc.campaign
    blocks = workload.resolution.blocks or campaign.blocks_complete
    conditions = {arm.conditions for arm in workload.arms if arm.conditions}
    return [
        f"suite {campaign.suite} · {fmt.counted(blocks, 'block')} · "
        f"{str(campaign.created_utc)[:10]} · rmwbench {campaign.tool_version or ''} · "
        f"{campaign.name}",
        " · ".join([doc.machine.summary, *sorted(conditions - {"nothing else running"})]),
    ]


def _loss(part: Part, phone: bool) -> Figure:
    metric = columns.chosen(part, columns.LOSS) or "loss"
    spec = pictures.loss(part, metric)
    if spec is not None:
        return Figure(
            "loss",
            "Lost messages",
            "Bar: share of messages lost. Line: its interval.",
            spec,
            wide=True,
            narrow=pictures.loss(part, metric, narrow=True) if phone else None,
        )
    counts = [
        found.count
        for arm in part.arms
        if (found := arm.metrics.get(metric)) and found.value == 0 and found.count is not None
    ]
    if not counts:
        return Figure("loss", "Lost messages", "No data.", None, wide=True)
    return Figure(
        "loss",
        "Lost messages",
        f"None: every one of the {fmt.significant_count(sum(counts))} messages of "
        f"{fmt.counted(len(counts), 'arm')} with data arrived.",
        None,
        wide=True,
    )
