"""A trial that failed by the worker's fault is a block that its arm lost."""

import math
import random

import pytest

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.verdicts import sequential, statements
from rmwbench.analysis.verdicts.statements import Statement
from rmwbench.analysis.verdicts.verdict import (
    By,
    JudgedArm,
    Rules,
    lost_by_its_arm,
    with_failed_blocks,
    with_lost_blocks,
)
from rmwbench.bundle.bundle_reader import TrialLine
from tests.support.judging import judged

RNG = random.Random(1)


def arm(name, median_ns, blocks, failed=(), sd=0.05):
    done = [b for b in range(blocks) if b not in failed]
    primary = {b: median_ns * math.exp(RNG.gauss(0, sd)) for b in done}
    return JudgedArm(name, primary, {b: (0, 1000) for b in done}, failed=frozenset(failed))


def line(status, failed_by=None):
    return TrialLine(trial=0, cell=0, block=0, status=status, failed_by=failed_by)


def test_an_arm_that_fails_in_four_of_ten_blocks_is_not_best_however_fast():
    verdicts = judged([arm("flaky", 1e6, 10, failed=(1, 4, 6, 8)), arm("steady", 1.4e6, 10)])
    assert verdicts["flaky"].verdict in ("undecided", "worse")
    assert verdicts["steady"].verdict != "worse"
    assert "failed in 4 of 10" in verdicts["flaky"].reason


def test_an_arm_that_fails_in_most_blocks_is_worse_by_loss():
    verdicts = judged([arm("flaky", 1e6, 12, failed=range(2, 12)), arm("steady", 1.4e6, 12)])
    assert (verdicts["flaky"].verdict, verdicts["flaky"].by) == ("worse", By.DELIVERY)
    assert verdicts["steady"].verdict == "best"


def test_an_arm_that_fails_in_every_trial_is_worse_and_does_not_work_here():
    verdicts = judged(
        [arm("dead", 1, 5, failed=range(5)), arm("steady", 1e6, 5), arm("slow", 3e6, 5)]
    )
    assert (verdicts["dead"].verdict, verdicts["dead"].by) == ("worse", By.FAILURE)
    assert verdicts["dead"].reason == "failed in each of 5 trials: it does not work here"
    assert verdicts["dead"].against == "steady"
    assert verdicts["slow"].verdict == "worse"


def test_fewer_failures_than_blocks_needed_call_nothing_worse():
    verdicts = judged([arm("dead", 1, 3, failed=range(3)), arm("steady", 1e6, 3)])
    assert verdicts["dead"].verdict == "undecided"


def test_a_clearly_slower_arm_stays_worse_for_a_failure():
    """One block that it lost besides does not save it."""
    arms = [arm("slow", 4e6, 7, failed=(2,)), arm("fast", 1e6, 7)]
    assert judged(arms)["slow"].verdict == "worse"
    assert judged([arms[0], arm("flaky", 1e6, 7, failed=(5,))])["slow"].verdict == "undecided"


def test_failed_trials_have_as_many_messages_as_the_others_usually_have():
    flaky, _ = with_failed_blocks([arm("flaky", 1, 4, failed=(3,)), arm("steady", 1, 4)])
    assert flaky.undelivered[3] == (1000, 1000)
    assert flaky.primary[3] == math.inf
    (empty,) = with_failed_blocks([JudgedArm("empty node", {0: 1.0}, failed=frozenset({1}))])
    assert empty.primary[1] == math.inf
    assert empty.undelivered == {}


@pytest.mark.parametrize(
    "metric", ["undelivered", "loss", "end_to_end_undelivered", "end_to_end_loss"]
)
def test_nothing_of_a_failed_trial_came_to_a_reader_or_to_the_end_of_a_chain(metric):
    done = {0: (0, 90), 1: (3, 100)}
    blocks = with_lost_blocks(GLOSSARY[metric], done, {1, 2}, primary=False)
    assert blocks == {**done, 2: (90, 90)}


@pytest.mark.parametrize(
    ("metric", "failed"),
    [("longest_stall", math.inf), ("match_time", math.inf), ("achieved_rate", 0.0)],
)
def test_a_lost_block_is_in_each_metric_that_says_what_a_failed_trial_is(metric, failed):
    """Beside another primary metric it was in latencies alone: three stalls that never ended were
    in no comparison of stalls."""
    blocks = with_lost_blocks(GLOSSARY[metric], {0: 5.0, 1: 6.0}, {2}, primary=False)
    assert blocks == {0: 5.0, 1: 6.0, 2: failed}
    assert with_lost_blocks(GLOSSARY["pss"], {0: 5.0}, {2}, primary=False) == {0: 5.0}


@pytest.mark.parametrize(
    "metric", ["delivery", "sent_rate", "achieved_rate", "achieved_throughput"]
)
def test_a_failed_trial_is_the_worst_where_a_larger_value_is_better(metric):
    entry = GLOSSARY[metric]
    lower = dict.fromkeys(range(5), 10_000.0)
    higher = with_lost_blocks(entry, dict.fromkeys(range(4), 11_000.0), {4}, primary=True)
    assert higher[4] == 0.0
    asked = Statement(left=higher, right=lower, metric=entry, paired=False)
    (answer,) = statements.judge([asked], Rules())
    assert answer.verdict == "undecided"


def test_only_the_worker_loses_a_block_for_its_arm():
    assert lost_by_its_arm(line("failed", "worker"))
    assert lost_by_its_arm(line("failed"))
    assert not lost_by_its_arm(line("failed", "machine"))
    assert not lost_by_its_arm(line("failed", "host"))
    assert not lost_by_its_arm(line("void"))
    assert not lost_by_its_arm(line("done"))


def test_where_no_arm_works_there_is_no_data():
    verdicts = judged([arm("a", 1, 5, failed=range(5)), arm("b", 1, 5, failed=range(5))])
    assert {v.verdict for v in verdicts.values()} == {"no data"}
    assert "no other arm works here" in verdicts["a"].reason


def test_looks_keep_what_does_not_work():
    looks = sequential.planned_looks(5, 10)
    arms = {"w": [arm("dead", 1, 10, failed=range(10)), arm("steady", 1e6, 10)]}
    after = {b: sequential.judge(arms, Rules(), looks, blocks=b)["w"]["dead"] for b in (3, 5, 10)}
    assert after[3].verdict == "undecided"
    assert after[5].by == By.FAILURE and after[10] == after[5]
