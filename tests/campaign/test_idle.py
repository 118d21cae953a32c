"""A node without endpoints: its processor time and memory are measured, and no figure of a message
is shown."""

import os
import subprocess

import pytest

from rmwbench.bundle import Bundle
from rmwbench.report.show.suite_view import view
from rmwbench.results.show_document import summarise
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse
from tests.lab import tools
from tests.support.command import COMMAND
from tests.support.shown import show_document
from tests.support.views import heads, tables, texts
from tests.support.views import page as page_of

pytestmark = pytest.mark.timing

SUITE = """
suite: idle
title: nodes without endpoints
blocks: {planned: 3, minimum: 2}
timeline: {warmup_s: 0.1, steady_s: 0.2, drain_s: 0.0}
arms:
  - {name: one, middleware: synthetic}
  - {name: other, middleware: synthetic, options: {transport: tcp}}
workloads:
  - {name: empty, primary_metric: rss, nodes: [{name: node}]}
  - name: beside
    message: Bytes(64)
    rate_hz: 200
    nodes:
      - {name: talker, publishers: [{topic: x}]}
      - {name: idle}
      - {name: listener, subscriptions: [{topic: x}]}
"""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    tools.worker("synthetic")
    directory = tmp_path_factory.mktemp("idle")
    (directory / "idle.yaml").write_text(SUITE)
    suite, out = str(directory / "idle.yaml"), str(directory / "out")
    command = [*COMMAND, "run", suite, "--out", out, "--seed", "1", "--no-report"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.returncode == 0, done.stderr
    return Bundle(directory / "out")


@pytest.fixture(scope="module")
def document(campaign):
    return show_document(campaign)


def workload(document, name):
    (shown,) = (w for w in document["workloads"] if w["workload"] == name)
    return shown


@pytest.mark.smoke
def test_what_an_empty_node_costs_is_measured_and_nothing_else(document):
    for arm in workload(document, "empty")["arms"]:
        metrics = arm["metrics"]
        for name in ("rss", "pss", "virtual_memory", "cpu_cores", "threads"):
            assert metrics[name]["value"] > 0, name
        assert metrics["wake_ups"]["value"] >= 0
        of_messages = ["response_latency_p50", "undelivered", "cpu_per_message"]
        of_endpoints = ["match_time", "publish_call_max"]
        not_zero = ["lost_start", "never_sent", "offered_rate", "achieved_rate"]
        for name in of_messages + of_endpoints + not_zero:
            assert "no_data" in metrics[name], name


def test_the_answer_is_worded_as_what_it_is_and_every_rendering_works(campaign, document):
    answer = workload(document, "empty")
    verdicts = {arm["verdict"]["verdict"] for arm in answer["arms"]}
    assert verdicts <= {"best", "worse", "equivalent", "undecided"}
    shown = summarise(campaign)
    empty = view(shown).sections[1]
    part = " ".join([*heads(tables([empty])[0]), *texts([empty])])
    assert "fast" not in part and "long" not in part
    assert "RSS" in part and "wake-ups" in part and "response" not in part
    page = page_of(shown)
    assert "Memory (RSS)" in page and "wake-ups" in page


def test_an_empty_node_beside_others_does_not_blur_their_sides(document):
    for arm in workload(document, "beside")["arms"]:
        metrics = arm["metrics"]
        assert metrics["undelivered"]["count"] > 0
        both = metrics["pss_publisher"]["value"] + metrics["pss_subscription"]["value"]
        assert both < metrics["pss"]["value"]


def test_a_suite_of_empty_nodes_needs_no_message_and_a_latency_cannot_judge_it():
    made = cells(parse(SUITE, where="idle.yaml"))
    assert made[0].create_command("node") == [{"name": "node", "endpoints": []}]
    with pytest.raises(Exception, match="too few messages"):
        cells(parse(SUITE.replace("primary_metric: rss, ", ""), where="idle.yaml"))
