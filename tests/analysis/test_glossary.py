"""A metric is declared once: all that the program knows of it follows from the declaration."""

import sys

import numpy as np
import pytest

from rmwbench.analysis.metrics.aggregate import MeasuredTrial, aggregate
from rmwbench.analysis.metrics.glossary import (
    GLOSSARY,
    METRICS,
    Better,
    MetricScope,
    TopicScope,
    Use,
    names_for,
)
from rmwbench.analysis.metrics.latency import Messages
from rmwbench.analysis.metrics.sample import make_sample
from tests.support.program import run_program

DUMMY = """
from rmwbench.analysis.metrics import glossary
from rmwbench.analysis.metrics.glossary.metrics_table import ON_LINKS

dummy = glossary.Metric(
    "dummy", "a dummy", "What it is.", unit="ns", kind="positive", better=glossary.Better.HIGHER,
    scope=glossary.MetricScope.MESSAGES, group=ON_LINKS, heading="of dummies", use=glossary.Use.LIMIT,
    measure=lambda messages, seconds: 7.0 * messages.readers,
)
glossary.METRICS += (dummy,)
glossary.GLOSSARY["dummy"] = dummy

import sys
from pathlib import Path
from rmwbench.bundle import Bundle
from rich.console import Console
from rmwbench.report.render.terminal import print_view
from rmwbench.report.show.suite_view import view
from rmwbench.results.model import document
from rmwbench.results.show_document import summarise
from rmwbench.suite.limits import KEYS
from tests.support import synthetic_bundle

assert "dummy_ms" in KEYS
arms = synthetic_bundle.ARMS[:3]
path = synthetic_bundle.write(Path(sys.argv[1]), blocks=2, arms=arms, workloads=("imu",))
shown = summarise(Bundle(path))
told = document(shown)
assert told["glossary"]["dummy"]["text"] == "What it is."
assert told["workloads"][0]["arms"][0]["metrics"]["dummy"]["value"] == 7.0
print_view(view(shown), Console(width=200))
"""


def test_a_metric_is_one_declaration(tmp_path):
    """It is in the document, in the table of its group and in limits, with no other file touched;
    in an interpreter of its own, since modules select their metrics when they are imported."""
    done = run_program(sys.executable, "-c", DUMMY, tmp_path / "campaign")
    assert done.returncode == 0, done.stderr
    assert "of dummies" in done.stdout


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_says_what_is_better_where_it_belongs_and_why_it_may_be_absent(metric):
    assert metric.title and metric.text and metric.group.title and metric.no_data
    assert (metric.better is Better.NEITHER) == bool(metric.ranked_by)
    if metric.ranked_by:
        assert GLOSSARY[metric.ranked_by].better is not Better.NEITHER
    assert bool(metric.source) >= (metric.kind == "quantile")
    assert not metric.heading or metric.group.text or metric.scope is MetricScope.NODES
    assert metric.fate is None or metric.kind == "fraction"
    assert not metric.counts or metric.kind == "fraction"
    assert not (metric.measure and metric.kind in ("quantile", "fraction"))
    assert not (metric.measure and metric.complement), "counted twice"


def test_names_are_unique_and_so_are_the_headings_of_a_table():
    assert len(GLOSSARY) == len(METRICS)
    headings = [(m.group.title, m.heading) for m in METRICS if m.heading]
    assert len(set(headings)) == len(headings)
    words = [(m.q, word) for m in METRICS for word in m.words]
    assert len(set(words)) == len(words)


def test_what_loss_is_judged_first_is_one_metric_for_each_kind_of_messages():
    first = {m.scope: m.name for m in METRICS if m.judged_first}
    assert first == {
        MetricScope.MESSAGES: "undelivered",
        MetricScope.CHAIN: "end_to_end_undelivered",
    }
    assert len([m for m in METRICS if m.judged_first]) == 2


def test_a_limit_has_a_unit_that_a_limits_file_can_write():
    units = {GLOSSARY[name].unit for name in names_for(Use.LIMIT)}
    assert units == {"fraction", "ns", "cores", "bytes"}


def test_a_metric_of_topics_is_of_messages():
    assert {m.scope for m in METRICS if m.topics is not TopicScope.WHOLE} == {MetricScope.MESSAGES}


def test_a_count_is_not_called_like_a_share_that_counts_more():
    """A count with the name of a fate would be all of its messages: *lost* has the corrupt too, *late*
    what was under way, *never sent* what was refused."""
    fates = {metric.column for metric in METRICS if metric.fate and metric.column}
    assert fates == {"lost", "late", "never sent"}
    counts = [metric for metric in METRICS if metric.unit == "messages" and metric.kind == "amount"]
    of_messages = [metric.title for metric in counts if metric.scope is MetricScope.MESSAGES]
    assert "not attempted" in of_messages
    assert not [title for title in of_messages if any(fate in title for fate in fates)]


def test_a_text_names_what_a_metric_counts():
    """Endpoints, frames and lifecycle nodes were messages."""
    match = GLOSSARY["endpoint_match_p50"]
    assert "Half of the endpoints take longer" in match.text
    few = MeasuredTrial(1, 1, Messages(samples={"endpoint_match": make_sample([np.ones(4)])}), None)
    assert aggregate(match, [few]).no_data == "p50 needs 20 endpoints, there are 4"
    for name, nouns in (("never_active", "4 nodes"), ("frames_lost", "4 frames")):
        trials = [MeasuredTrial(n, n, Messages(), None, fractions={name: (0, 4)}) for n in range(5)]
        assert f"bursts of up to {nouns}" in aggregate(GLOSSARY[name], trials).interval
