"""Which metrics the tables show, in which order, under which short title: one list for terminal, HTML and Markdown.

Each column names the metrics that may fill it, best first: a workload with 30 messages has a p90 where one with 1 100 has a p99,
and the header says which one it is. A metric outside this list is still in the report, behind the arm's name.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Column:
    """A column; `metrics` are tried in order, a pair inside is a sum shown as publisher + subscription."""

    key: str
    title: str
    metrics: tuple[str, ...]
    group: str  # "latency" | "cost": where a narrow rendering puts it


MEDIAN = Column("median", "response p50", ("response_latency_p50",), "latency")
TAIL = Column("tail", "tail", ("response_latency_p99", "response_latency_p90"), "latency")
LOSS = Column("loss", "loss", ("loss", "loss_fraction", "lost_fraction"), "cost")
PUBLISH = Column("publish", "publish", ("publish_call_p50", "publish_call_duration_p50", "publish_duration_p50"), "cost")
CPU = Column("cpu", "CPU/msg", ("cpu_per_message", "cpu_per_message_total"), "cost")
MEMORY = Column("memory", "PSS", ("pss", "pss_total"), "cost")

COLUMNS = (MEDIAN, TAIL, LOSS, PUBLISH, CPU, MEMORY)


def chosen(workload: dict[str, Any], column: Column) -> str | None:
    """The metric that fills the column in this workload: the first that any arm has a value or bound for, else the first that any arm lists."""
    arms = workload.get("arms", [])
    listed = [name for name in column.metrics if any(name in arm.get("metrics", {}) for arm in arms)]
    for name in listed:
        if any("no_data" not in arm["metrics"].get(name, {"no_data": ""}) for arm in arms):
            return name
    return listed[0] if listed else None


def title(column: Column, metric: str | None) -> str:
    """The header; the tail column is named after its percentile."""
    if column is TAIL and metric:
        return metric.rsplit("_", 1)[-1]
    return column.title
