"""Which columns a workload's tables have besides those of all."""

from rmwbench.report import table_columns
from rmwbench.results.shown import WorkloadAnswer
from tests.support.typed import typed


def workload(primary="response_latency_p50", **metrics):
    return typed(
        WorkloadAnswer, {"primary_metric": primary, "arms": [{"arm": "a", "metrics": metrics}]}
    )


def keys(found):
    return [column.key for column in table_columns.of(found)]


def test_the_primary_metric_comes_first():
    assert keys(workload("publish_call_p50")) == [
        "publish",
        "median",
        "tail",
        "loss",
        "cpu",
        "memory",
    ]
    (first, *others) = table_columns.of(workload("response_latency_p99"))
    assert first.metrics == ("response_latency_p99",) and table_columns.TAIL not in others
    found = workload("match_time", match_time={"value": 1})
    assert (
        keys(found)[0] == "primary"
        and table_columns.chosen(found, table_columns.of(found)[0]) == "match_time"
    )


def latencies(**values):
    return workload(**{f"{name}_latency_p50": {"value": value} for name, value in values.items()})


def test_service_and_consumed_latency_stand_beside_a_response_that_they_are_apart_from():
    assert (
        table_columns.of(latencies(response=1e6, service=0.95e6, consumed=1.09e6))
        == table_columns.COLUMNS
    )
    assert keys(latencies(response=1e6, service=0.85e6, consumed=1.02e6))[:3] == [
        "median",
        "tail",
        "service",
    ]
    assert keys(latencies(response=1e6, service=0.85e6, consumed=2e6))[:4] == [
        "median",
        "tail",
        "service",
        "consumed",
    ]
    assert table_columns.of(latencies(response=1e6, service="inf")) == table_columns.COLUMNS
