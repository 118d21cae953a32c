"""`schedule`: which thread sends for a publisher, and where that makes a difference."""

from pathlib import Path

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.cells import Cell, cells
from rmwbench.suite.file.load import parse
from rmwbench.suite.workload.schedule import MOST_THREADS, schedule_of

SUITE = """
suite: mini
title: a test
arms: [{{name: a, middleware: fake}}]
timeline: {{steady_s: 2}}
workloads:
  - name: w
    message: Bytes(100)
    {keys}
{nodes}
"""
TWO = """    nodes:
      - {name: talker, publishers: [{topic: a}, {topic: b}]}
      - {name: listener, subscriptions: [{topic: a}, {topic: b}]}"""
ONE_AND_A_RELAY = """    nodes:
      - {name: talker, process: one, publishers: [{topic: a}]}
      - {name: relay, process: one,
         subscriptions: [{topic: a}], publishers: [{topic: b, arrival: {kind: relay, from: a}}]}
      - {name: flood, process: one, publishers: [{topic: c, arrival: {kind: saturation, limit: 100}}]}
      - {name: late, process: one, joins_s: 1, publishers: [{topic: d}]}
      - {name: listener, subscriptions: [{topic: b}, {topic: c}, {topic: d}]}"""


def cells_of(keys: str = "rate_hz: 100", nodes: str = TWO, factors: str = "") -> tuple[Cell, ...]:
    text = SUITE.format(keys=keys, nodes=nodes) + factors
    return cells(parse(text, where="mini.yaml", directory=Path(), middlewares=["fake"]))


def test_a_thread_each_is_the_default_and_is_named_where_threads_could_be_shared():
    """Cells from before there was a choice say nothing, and were shared: those are told apart, and
    nothing else is."""
    (own,), (shared,) = cells_of(), cells_of("rate_hz: 100\n    schedule: shared")
    assert own.schedule == "own" and own.definition()["schedule"] == "own"
    assert shared.schedule == "shared" and "schedule" not in shared.definition()
    assert [schedule_of(cell.definition()) for cell in (own, shared)] == ["own", "shared"]
    assert own.sharing == {1, 2}
    (alone,) = cells_of(nodes="")
    assert alone.schedule is None and "schedule" not in alone.definition()
    assert schedule_of(alone.definition()) is None and schedule_of({}) is None


def test_relays_floods_and_late_nodes_share_no_thread_with_a_publisher():
    (cell,) = cells_of(nodes=ONE_AND_A_RELAY)
    assert cell.sharing == frozenset() and schedule_of(cell.definition()) is None


def test_more_publishers_of_a_process_than_it_should_have_threads():
    topics = ", ".join(f"{{topic: t{n}}}" for n in range(MOST_THREADS + 1))
    nodes = f"""    nodes:
      - {{name: talker, publishers: [{topics}]}}"""
    with pytest.raises(UserError, match="too many publishers"):
        cells_of("rate_hz: 100\n    primary_metric: rss", nodes)
    assert cells_of("rate_hz: 100\n    primary_metric: rss\n    schedule: shared", nodes)
