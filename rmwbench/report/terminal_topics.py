"""The topics of a workload in a terminal: arms by topics where that fits, otherwise a line per
topic and arm."""

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from rmwbench.report import narrow, topic_rows
from rmwbench.report.marks import marks
from rmwbench.report.terminal_table import plain_table
from rmwbench.results.shown import Workload
from rmwbench.results.workload import topics

_STYLES = {"best": "green", "equivalent": "green", "worse": "red", "undecided": "yellow"}


def print_topics(workload: Workload, console: Console) -> None:
    """Nothing where the workload has one topic, or topics that are alike."""
    if not workload.topics:
        return
    table = _across(workload)
    if (
        Measurement.get(console, console.options.update(max_width=10_000), table).maximum
        > console.width
    ):
        table = _down(workload)
    for part in narrow.fitting(table, console):
        console.print(part)
    metric = workload.topics[0].primary_metric.replace("_", " ")
    judged = any(topic.judged for topic in workload.topics)
    key = (
        topic_rows.KEY
        if judged
        else "shown and not judged: the workload is judged by another metric"
    )
    console.print(Text(f"by topic: {metric}, what did not arrive; {key}", style="dim"))
    told = (f"{topic.topic}: {topics.facts(topic)}" for topic in workload.topics)
    console.print(Text("; ".join(told), style="dim"))
    console.print()


def _across(workload: Workload) -> Table:
    table = plain_table()
    table.add_column("arm", no_wrap=True)
    for topic in workload.topics:
        table.add_column(topic.topic, no_wrap=True)
    for row, arm in zip(topic_rows.rows(workload), workload.arms, strict=True):
        cells = [Text(cell.text, style=_STYLES.get(cell.verdict, "")) for cell in row.cells]
        table.add_row(
            Text(f"{row.arm}{marks(arm)}", style="dim" if row.role == "floor" else ""), *cells
        )
    return table


def _down(workload: Workload) -> Table:
    """A line per topic and arm: no number is cut in a narrow terminal."""
    table = plain_table()
    for head in ("topic", "arm", "", "not arrived", "verdict"):
        table.add_column(
            head,
            justify="right" if head == "" else "left",
            no_wrap=head in ("topic", "", "verdict"),
        )
    rows = topic_rows.rows(workload)
    for place, topic in enumerate(workload.topics):
        for n, row in enumerate(rows):
            cell = row.cells[place]
            verdict = Text(
                f"{cell.verdict} {cell.what}".strip(), style=_STYLES.get(cell.verdict, "")
            )
            table.add_row(
                "" if n else topic.topic, row.arm, cell.value, cell.missing or "–", verdict
            )
    return table
