"""A plan refuses a drain that a reliable history may outlast: it would cut off what is only
slow."""

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse

SUITE = """
suite: mini
title: a test
timeline: {{steady_s: 60, drain_s: {drain_s}}}
arms:
  - {{name: floor, middleware: floor}}
workloads:
  - name: slow
    message: Bytes(100)
    rate_hz: {rate_hz}
    qos: {{reliability: {reliability}, history: keep_last, depth: 10}}
"""


def planned(drain_s=0.15, rate_hz=1, reliability="reliable"):
    text = SUITE.format(drain_s=drain_s, rate_hz=rate_hz, reliability=reliability)
    return cells(parse(text, where="mini.yaml"))


def test_ten_messages_of_a_second_each_need_nine_seconds():
    with pytest.raises(UserError, match="the drain of workload `slow` is shorter") as refused:
        planned(rate_hz=1)
    assert "`drain_s: 9`" in str(refused.value.fix)


@pytest.mark.parametrize(
    "fitting", [{"drain_s": 9}, {"rate_hz": 2}, {"reliability": "best_effort"}]
)
def test_a_longer_drain_a_higher_rate_and_best_effort_are_planned(fitting):
    (cell,) = planned(**fitting)
    assert cell.timeline.drain_most_s == max(5, fitting.get("drain_s", 0))
