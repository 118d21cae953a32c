"""Which columns a workload's tables have besides those of all."""

from rmwbench.analysis.metrics.glossary import METRICS, Use
from rmwbench.report import table_columns
from rmwbench.results.show_model import WorkloadAnswer
from tests.support.typed import typed

USUAL = (
    table_columns.MEDIAN,
    table_columns.TAIL,
    table_columns.LOSS,
    table_columns.PUBLISH,
    table_columns.CPU,
    table_columns.MEMORY,
)


def workload(primary="response_latency_p50", **metrics):
    return typed(
        WorkloadAnswer, {"primary_metric": primary, "arms": [{"arm": "a", "metrics": metrics}]}
    )


def titles(shown):
    return [column.title for column in table_columns.of(shown)]


def test_the_primary_metric_comes_first():
    assert titles(workload("publish_call_p50")) == [
        "publish",
        "response p50",
        "tail",
        "lost",
        "CPU/msg",
        "PSS",
    ]
    (first, *others) = table_columns.of(workload("response_latency_p99"))
    assert first.metrics == ("response_latency_p99",) and table_columns.TAIL not in others
    matching = workload("match_time", match_time={"value": 1})
    assert table_columns.chosen(matching, table_columns.of(matching)[0]) == "match_time"


def latencies(**values):
    return workload(**{f"{name}_latency_p50": {"value": value} for name, value in values.items()})


def test_service_and_consumed_latency_stand_beside_a_response_that_they_are_apart_from():
    assert table_columns.of(latencies(response=1e6, service=0.95e6, consumed=1.09e6)) == USUAL
    apart = ["response p50", "tail", "service p50", "consumed p50"]
    assert titles(latencies(response=1e6, service=0.85e6, consumed=1.02e6))[:3] == apart[:3]
    assert titles(latencies(response=1e6, service=0.85e6, consumed=2e6))[:4] == apart
    assert table_columns.of(latencies(response=1e6, service="inf")) == USUAL


def test_every_metric_that_has_a_column_stands_in_a_table():
    tables = (
        *USUAL,
        *table_columns.BESIDE,
        *table_columns.IDLE,
        *table_columns.BRING_UP,
        *table_columns.ASKED_FOR,
        table_columns.LATE,
        table_columns.NEVER_SENT,
        table_columns.WRITING,
    )
    reached = {name for column in tables for name in column.metrics}
    reached |= {metric.name for metric in METRICS if metric.use & Use.MEDIAN}  # of `explain`
    assert {metric.name for metric in METRICS if metric.column} == reached
