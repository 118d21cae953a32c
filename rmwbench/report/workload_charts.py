"""Which charts a workload has, with the words that stand beside them: one list for the page and for
Markdown.

Each figure says in one sentence how to read it, for somebody who has never seen such a chart.
"""

from collections.abc import Callable, Iterator
from typing import Any

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.report import bring_up_chart, columns, idle, over_time
from rmwbench.report import charts as pictures
from rmwbench.report.captioned import Figure
from rmwbench.report.charts import Spec
from rmwbench.results import chart_points
from rmwbench.words import numbers as fmt


def figures(workload: dict[str, Any], *, phone: bool = False) -> Iterator[Figure]:
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
    if not workload.get("topics"):
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


def of_topic(topic: dict[str, Any], *, phone: bool = False) -> Iterator[Figure]:
    """The same of one topic that is judged by itself."""
    yield from latencies(topic, phone=phone)
    yield _loss(topic, phone)


def latencies(workload: dict[str, Any], *, phone: bool = False) -> Iterator[Figure]:
    """What messages took, of a workload or of one of its topics."""

    def narrow(draw: Callable[..., Spec | None], *arguments: Any) -> Spec | None:
        return draw(workload, *arguments, narrow=True) if phone else None

    latency = GLOSSARY[chart_points.source(workload["primary_metric"]) + "_p50"].title.removesuffix(
        ", median"
    )
    title = _title(workload)
    yield Figure(
        "comparison",
        title,
        f"Dot: {_dot(workload)}. Line: its interval; where two lines overlap widely, the order is "
        "open. Hollow dots are untouched configurations of middlewares that were also tuned. The "
        "dotted line is the floor, what the machine can do without any middleware.",
        pictures.comparison(workload, _lower(title)),
        wide=True,
        narrow=narrow(pictures.comparison, _lower(title)),
    )
    yield Figure(
        "spectrum",
        "Latency at every percentile",
        "Further right is rarer: at 90 %, nine of ten messages were at least this fast. A flat "
        "line is a steady middleware; a step up is a tail.",
        pictures.spectrum(workload, latency),
        narrow=narrow(pictures.spectrum, latency),
    )
    yield Figure(
        "ecdf",
        "How many arrived within a time",
        "Further left is faster, steeper is steadier. A curve that ends below 100 % lost the rest.",
        pictures.ecdf(workload),
        narrow=narrow(pictures.ecdf),
    )
    yield Figure(
        "series",
        "One trial, message by message",
        "Each dot is a message; a red mark at the top edge is a message that never arrived. One "
        "typical trial per arm, all panels on the same axes.",
        pictures.series(workload),
        wide=True,
    )


def _title(workload: dict[str, Any]) -> str:
    title = GLOSSARY[workload["primary_metric"]].title
    return title[0].upper() + title[1:]


def _lower(title: str) -> str:
    return title[0].lower() + title[1:]


def _dot(workload: dict[str, Any]) -> str:
    return "median" if workload["primary_metric"].endswith("_p50") else _lower(_title(workload))


_SHADED = (
    " Shaded: a link or node was away; a line that stays at zero behind the shade has not "
    "recovered."
)


def card(document: dict[str, Any], workload: dict[str, Any]) -> list[str]:
    """The experiment card that travels with every exported chart: suite, trials, date, machine."""
    campaign = document["campaign"]
    blocks = workload.get("resolution", {}).get("blocks") or campaign["blocks_complete"]
    conditions = {arm.get("conditions") for arm in workload["arms"]} - {
        None,
        "nothing else running",
    }
    return [
        f"suite {campaign['suite']} · {fmt.counted(int(blocks), 'block')} · "
        f"{str(campaign['created_utc'])[:10]} · rmwbench {campaign.get('tool_version', '')} · "
        f"{campaign['name']}",
        " · ".join([str(document["machine"]["summary"]), *sorted(conditions)]),
    ]


def _loss(workload: dict[str, Any], phone: bool) -> Figure:
    metric = columns.chosen(workload, columns.LOSS) or "loss"
    spec = pictures.loss(workload, metric)
    if spec is not None:
        return Figure(
            "loss",
            "Lost messages",
            "Bar: share of messages lost. Line: its interval.",
            spec,
            wide=True,
            narrow=pictures.loss(workload, metric, narrow=True) if phone else None,
        )
    counts = [
        int(entry["count"])
        for arm in workload["arms"]
        if (entry := arm["metrics"].get(metric, {})).get("value") == 0
        and entry.get("count") is not None
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
