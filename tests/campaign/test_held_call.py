"""The real thing, small: publish calls of two publishers of one process that take a fifth of a
second each. Needs the built worker."""

import numpy as np
import pytest

from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.suite.cells import cells
from tests.campaign.cells import order, suite_of
from tests.campaign.ended import rows, well
from tests.lab import tools

pytestmark = pytest.mark.traffic

SUITE = """
timeline: {warmup_s: 0.5, steady_s: 3, grace_s: 1, match_s: 5}
arms:
  - {name: a, middleware: synthetic, options: {publish_block_ns: 200000000}}
workloads:
  - name: w
    message: Bytes(100)
    primary_metric: cpu_cores
    nodes:
      - name: robot
        publishers:
          - {topic: image, arrival: {kind: periodic, rate_hz: 2, phase_ns: 0}}
          - {topic: command, arrival: {kind: periodic, rate_hz: 2, phase_ns: 50000000}}
      - {name: listener, subscriptions: [{topic: image}, {topic: command}]}
factors: {schedule: [own, shared]}
"""


@pytest.fixture(scope="module")
def results():
    worker = tools.worker("synthetic")
    return {cell.schedule: run_trial(order(cell), worker) for cell in cells(suite_of(SUITE))}


def begun_within(result, endpoint, other):
    """How many messages of an endpoint were taken up while a call of the other was under way."""
    begun = np.array([row["begun_ns"] for row in rows(result, "sent", endpoint=endpoint)])
    calls = [(row["call_ns"], row["return_ns"]) for row in rows(result, "sent", endpoint=other)]
    return sum(int(np.count_nonzero((begun > begin) & (begun < end))) for begin, end in calls)


def flagged(result):
    texts = [row["text"] or "" for row in rows(result, "events")]
    return [text for text in texts if text.startswith("late_by_sibling")]


def test_with_a_thread_each_nobody_waits_for_a_sibling(results):
    result = results["own"]
    assert well(result)
    assert begun_within(result, 2, 1) > 0 and not flagged(result)


def test_on_a_shared_thread_one_waits_for_the_other_and_is_flagged(results):
    result = results["shared"]
    assert well(result)
    assert begun_within(result, 2, 1) == 0
    assert any("endpoint 2 waited" in text for text in flagged(result))
