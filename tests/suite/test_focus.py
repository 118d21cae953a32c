"""A workload's focus: its latencies and losses are of some topics alone, and it stands beside
another."""

import pytest

from rmwbench.analysis.metrics.comparisons import in_focus
from rmwbench.analysis.metrics.judged_topics import planned_endpoints
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


def test_of_a_reader_in_focus_its_subscriptions_count_and_not_its_calls():
    """As for the latencies and losses: what it calls once a second is not looked at."""
    calls = "clients: [{service: ask, rate_hz: 1}]}\n"
    text = SUITE.format(more="focus: [y]").replace(", {topic: image}]}\n", f"], {calls}")
    serving = (
        "      - {name: z, services: [{service: ask, request: Bytes(64), reply: Bytes(64)}]}\n"
    )
    _, beside = cells(parse(text + serving, where="s.yaml"))
    rows = in_focus(planned_endpoints(beside.definition()), beside.definition())
    assert {row["kind"] for row in rows} == {"publisher", "subscription"}
    assert beside.steady_messages == 200


@pytest.mark.parametrize(
    ("more", "words"),
    [("focus: [contrl]", "contrl"), ("against: nobody", "nobody"), ("against: beside", "beside")],
)
def test_names_that_are_not_there_are_refused_with_their_line(more, words):
    with pytest.raises(UserError) as caught:
        suite(more)
    assert words in str(caught.value)
