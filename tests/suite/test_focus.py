"""A workload's focus: its latencies and losses are of some topics alone, and it stands beside
another."""

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse

SUITE = """\
suite: s
title: s
timeline: {{steady_s: 2}}
arms: [{{name: a, middleware: zenoh}}]
workloads:
  - {{name: alone, message: Bytes(64), rate_hz: 100}}
  - name: beside
    {more}
    message: Bytes(64)
    nodes:
      - {{name: x, publishers: [{{topic: control, rate_hz: 100}}, {{topic: image, rate_hz: 1}}]}}
      - {{name: y, subscriptions: [{{topic: control}}, {{topic: image}}]}}
"""


def suite(more):
    return parse(SUITE.format(more=more), where="s.yaml")


def test_the_focus_may_be_a_reader_and_an_error_says_who_there_are():
    more = SUITE.replace("rate_hz: 1}", "rate_hz: 100}").format(more="focus: [y]")
    _, beside = cells(parse(more, where="s.yaml"))
    assert beside.definition()["workload"]["focus"] == ["y"]
    with pytest.raises(UserError) as caught:
        suite("focus: [x]")
    assert caught.value.expected == "one of control, image, y"


@pytest.mark.parametrize(
    ("more", "what"),
    [("focus: [contrl]", "contrl"), ("against: nobody", "nobody"), ("against: beside", "beside")],
)
def test_names_that_are_not_there_are_refused_with_their_line(more, what):
    with pytest.raises(UserError) as caught:
        suite(more)
    assert what in str(caught.value)
