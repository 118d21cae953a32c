"""Predicates against campaigns made by hand: what holds, what does not, what stays open, and what
is a proxy."""

import dataclasses
import math

import pytest

from rmwbench.analysis.metrics.aggregate import widened
from rmwbench.analysis.stats.estimate import Measured
from rmwbench.published.campaign import CampaignArm, CampaignWorkload, MeasuredCampaign
from rmwbench.published.claims.judging.decision_rules import ErrorLevel
from rmwbench.published.claims.judging.values import Sides, _combine, left_values
from rmwbench.results.model import Estimate, document
from tests.published.claims.asking import one_claim, today

BASE = {
    "claims": "s",
    "title": "t",
    "published": "2020",
    "text": "x.txt",
    "layer": "rclcpp",
    "versions": ["1.0"],
    "conditions": {"rclcpp": ["1.0", "1.1"]},
    "sides": {"a": ["rclcpp/a", "a"], "b": ["rclcpp/b", "b"]},
}


def claims_with(**test):
    return one_claim(BASE, {"suite": "f/s", "metric": "m", "left": "a", "relation": "less", **test})


def metric(value, low, high, *, unit="ns", count=9, trials=6):
    """Return the document of a metric, of so many messages in so many trials."""
    known = {"unit": unit, "value": value, "low": low, "high": high}
    return {**known, "count": count, "trials": trials}


def arm(name, values=None, *, layer="rclcpp", version="1.0", factors=None, metric=None, **more):
    """Return an arm with the metric `m`, by its values in the blocks 0, 1, …; `metric` is the
    metric's document if it is not their mean."""
    if metric is None:
        metric = mean_of(values)
    return CampaignArm(
        arm=name,
        middleware=name.removeprefix("rclcpp/"),
        layer=layer,
        version=version,
        factors=factors or {},
        metrics={"m": Estimate.of(metric)},
        per_trial={} if values is None else {"m": dict(enumerate(values))},
        **more,
    )


def mean_of(values):
    return metric(sum(values) / len(values), min(values), max(values), trials=len(values))


def renamed(made, *names):
    """Return the arm with its metric under each of these names."""
    values = dict.fromkeys(names, made.per_trial["m"]) if made.per_trial else {}
    metrics = dict.fromkeys(names, made.metrics["m"])
    return dataclasses.replace(made, metrics=metrics, per_trial=values)


def campaign(*workloads, suite="f-s", **about):
    """Return a campaign with each of the workloads (name, arm, …)."""
    made = tuple(
        CampaignWorkload(workload=name, name=name.partition(" [")[0], arms=tuple(arms))
        for name, *arms in workloads
    )
    return MeasuredCampaign(**{"name": "x", "suite": suite, "workloads": made, **about})


def only_answer(claims, doc):
    (answer,) = today(claims, doc)
    return answer


def answer_of(claims, *arms):
    """Return the answer of a campaign with these arms in one workload."""
    return only_answer(claims, campaign(("w", *arms)))


def cell_of(claims, *arms):
    """Return the only cell of that answer."""
    (cell,) = answer_of(claims, *arms).cells
    return cell


FAST, SLOW = [10.0, 11.0, 10.5, 10.2, 10.7, 10.4], [20.0, 21.0, 20.5, 20.2, 20.9, 20.6]
NOISY = [5.0, 40.0, 12.0, 30.0, 8.0, 25.0]


@pytest.mark.parametrize(
    ("left", "test", "answer"),
    [
        (FAST, {"right": "b"}, "holds"),
        (FAST, {"right": "b", "relation": "greater"}, "does not hold"),
        (NOISY, {"right": "b"}, "undecided"),
        (FAST, {"right": "b", "factor": 0.6}, "holds"),
        (FAST, {"right": "b", "factor": 0.4}, "does not hold"),
        (FAST, {"right": "b", "relation": "within", "factor": 2.2}, "holds"),
        (FAST, {"right": "b", "relation": "within", "factor": 1.5}, "does not hold"),
        (NOISY, {"right": "b", "relation": "within", "factor": 1.5}, "undecided"),
        (FAST, {"right": "b", "relation": "within", "times": 0.5, "factor": 1.2}, "holds"),
        (SLOW, {"right": "b", "relation": "within", "times": 0.5, "factor": 1.2}, "does not hold"),
        (FAST, {"right": "b", "relation": "within", "times": 0.1, "factor": 1.2}, "does not hold"),
        (FAST, {"level": 12.0}, "holds"),
        (FAST, {"level": 9.0}, "does not hold"),
        (FAST, {"level": 10.4}, "undecided"),
    ],
)
def test_answers(left, test, answer):
    judged = answer_of(claims_with(**test), arm("rclcpp/a", left), arm("rclcpp/b", SLOW))
    assert judged.answer == answer
    assert judged.verdict == {"holds": "supported", "does not hold": "refuted"}.get(answer, answer)


@pytest.mark.parametrize(
    ("metric", "answer"), [("service_latency_p50", "no data"), ("rss", "holds")]
)
def test_a_machine_bound_cell_says_nothing_but_of_memory(metric, answer):
    """This holds for every kind of metric: a rate that a busy machine allowed says nothing about
    the middleware."""
    bound = renamed(arm("rclcpp/a", FAST, machine_bound=3), metric)
    judged = answer_of(
        claims_with(right="b", metric=metric), bound, renamed(arm("rclcpp/b", SLOW), metric)
    )
    assert (judged.answer, judged.cells[0].code) == (
        answer,
        "machine_bound" if answer == "no data" else None,
    )
    assert answer == "holds" or "machine-bound in 3 trials" in judged.cells[0].reason


@pytest.mark.parametrize(
    ("test", "blocks", "answer"),
    [
        ({"metric": "service_latency_p50", "right": "b"}, 6, "holds"),
        ({"metric": "service_latency_p50", "level": 15.0}, 6, "holds"),
        ({"metric": "rss", "right": "b"}, 9, "undecided"),
        ({"metric": "rss", "times_metric": "service_latency_p50", "right": "b"}, 6, "holds"),
    ],
)
def test_a_block_that_a_busy_machine_spoilt_is_in_no_answer_but_of_memory(test, blocks, answer):
    """Three of nine blocks: those that no verdict of the workload uses, whichever arm was busy in
    them."""

    def side(name, values):
        made = arm(name, values, spoilt_blocks=frozenset({6, 7, 8}), lost_blocks=(8,))
        return renamed(made, "service_latency_p50", "rss")

    sides = side("rclcpp/a", [*FAST, 90.0, 80.0, 85.0]), side("rclcpp/b", [*SLOW, 9.0, 8.0, 8.5])
    cell = cell_of(claims_with(**test), *sides)
    assert (cell.answer, cell.blocks) == (answer, blocks)


def test_what_all_trials_give_together_says_nothing_where_a_busy_machine_spoilt_some():
    value = metric(10.0, 9.0, 11.0, count=9000, trials=9)
    spoilt = arm("rclcpp/a", metric=value, spoilt_blocks=frozenset({2}))
    for test in ({"right": "b"}, {"level": 15.0}):
        cell = cell_of(claims_with(**test), spoilt, arm("rclcpp/b", SLOW))
        assert (cell.answer, cell.code) == ("undecided", "machine_bound")


def test_another_layer_is_a_proxy_and_refutes_nothing():
    doc = campaign(("w", arm("a", FAST, layer="native"), arm("b", SLOW, layer="native")))
    answer = only_answer(claims_with(right="b", relation="greater"), doc)
    assert (answer.answer, answer.verdict, answer.layer) == ("does not hold", "proxy", "native")
    assert "rclcpp" in answer.text()


def test_a_version_of_no_words_is_another_version():
    arms = arm("rclcpp/a", FAST, version=""), arm("rclcpp/b", SLOW)
    answer = answer_of(claims_with(right="b"), *arms)
    assert (answer.verdict, answer.proxy_codes) == ("proxy", ("version",))


def test_layers_are_answered_apart_and_never_mixed():
    arms = (arm("rclcpp/a", FAST), arm("a", SLOW, layer="native"), arm("b", FAST, layer="native"))
    answers = today(claims_with(right="b"), campaign(("w", *arms)))
    assert [(x.layer, x.answer) for x in answers] == [("native", "does not hold")], (
        "rclcpp has one side only"
    )


def test_what_a_layer_adds_is_asked_across_layers():
    doc = campaign(("w", arm("rclcpp/a", SLOW), arm("b", FAST, layer="native")))
    assert today(claims_with(right="b", factor=3.0), doc) == []
    answer = only_answer(claims_with(right="b", factor=3.0, across_layers=True), doc)
    assert (answer.layer, answer.answer, answer.verdict) == ("rclcpp", "holds", "supported")


def test_one_cell_against_it_is_enough_and_all_must_hold():
    good, bad, open_ = (
        (f"w [n={n}]", arm("rclcpp/a", a, factors={"n": n}), arm("rclcpp/b", b, factors={"n": n}))
        for n, (a, b) in enumerate(((FAST, SLOW), (SLOW, FAST), (NOISY, SLOW)), 1)
    )
    claims = claims_with(right="b")
    assert only_answer(claims, campaign(good, bad, open_)).answer == "does not hold"
    assert only_answer(claims, campaign(good, open_)).answer == "undecided"
    assert [cell.workload for cell in only_answer(claims, campaign(good)).cells] == ["w [n=1]"]
    assert only_answer(claims_with(right="b", at={"n": 1}), campaign(good, bad)).answer == "holds"
    assert today(claims_with(right="b", at={"n": 9}), campaign(good)) == []


def test_scaling_compares_an_arm_with_itself_at_the_same_other_levels():
    cells = [
        (f"w [n={n}, k={k}]", arm("rclcpp/a", [v * n for v in FAST], factors={"n": n, "k": k}))
        for n in (1, 10)
        for k in ("x", "y")
    ]
    claims = claims_with(
        right="a", relation="greater", factor=5, left_at={"n": 10}, right_at={"n": 1}
    )
    answer = only_answer(claims, campaign(*cells))
    assert answer.answer == "holds"
    assert [cell.workload for cell in answer.cells] == [
        "w [n=10, k=x] against w [n=1, k=x]",
        "w [n=10, k=y] against w [n=1, k=y]",
    ]
    assert all(math.isclose(cell.value, 10) for cell in answer.cells)


def test_scaling_compares_no_workload_with_another_that_the_test_does_not_name():
    """The large one at 10 Hz is slower than the small one at 100 Hz, whatever the rate does."""
    values = {("small", 10): FAST, ("small", 100): SLOW, ("large", 100): [v * 10 for v in SLOW]}
    values["large", 10] = [v * 10 for v in FAST]
    cells = [
        (f"{name} [hz={hz}]", arm("rclcpp/a", of_cell, factors={"hz": hz}))
        for (name, hz), of_cell in values.items()
    ]
    scaling = {"right": "a", "left_at": {"hz": 10}, "right_at": {"hz": 100}}
    answer = only_answer(claims_with(**scaling), campaign(*cells))
    assert [cell.workload for cell in answer.cells] == [
        "small [hz=10] against small [hz=100]",
        "large [hz=10] against large [hz=100]",
    ]
    assert answer.answer == "holds"
    crossed = only_answer(
        claims_with(**scaling, workload="large", right_workload="small"), campaign(*cells)
    )
    assert crossed.answer == "does not hold"


def test_a_value_that_the_clocks_cannot_tell_is_refused():
    """`aggregate.widened` makes it `no data`, and a claim has no other source of values."""
    refused = document(widened(Measured("ns", 900.0, 800.0, 1000.0, 9, 3, "x"), 5000.0))
    answer = answer_of(
        claims_with(right="b"), arm("rclcpp/a", FAST, metric=refused), arm("rclcpp/b", SLOW)
    )
    assert (answer.answer, answer.verdict) == ("no data", "no data")
    assert "clocks" in answer.cells[0].reason


def test_a_value_widened_by_the_clocks_is_compared_by_its_interval_alone():
    """Single trials would decide: 10 against 20. With ± 6 they do not."""
    wide = document(widened(Measured("ns", 10.0, 9.5, 10.5, 9, 6, "x"), 6.0))
    assert wide["clock_bound_ns"] == 6
    doc = campaign(
        (
            "w",
            arm("rclcpp/a", FAST, metric=wide),
            arm("rclcpp/b", [15.0, 15.1, 15.2, 14.9, 15.0, 15.1]),
        )
    )
    assert only_answer(claims_with(right="b"), doc).answer == "undecided"


def test_what_is_absent_decides_nothing():
    claims = claims_with(right="b")
    unsupported = arm("rclcpp/a", FAST, not_supported="it has no shared memory")
    answer = answer_of(claims, unsupported, arm("rclcpp/b", SLOW))
    assert answer.answer == "no data"
    assert "no shared memory" in answer.cells[0].reason
    other = campaign(("w", arm("rclcpp/a", FAST), arm("rclcpp/b", SLOW)), suite="other")
    assert today(claims, other) == []


@pytest.mark.parametrize(("trials", "enough"), [(6, False), (7, True)])
def test_infinite_and_zero_values_are_compared_by_interval(trials, enough):
    """The same holds for values of all trials together, as far as their number allows: six cover a
    median with 96.9 %."""
    lost = metric("inf", 50.0, "inf", trials=trials)
    slow = arm("rclcpp/b", [*SLOW, 20.3])
    doc = campaign(("w", arm("rclcpp/a", metric=lost), slow))
    assert only_answer(claims_with(right="b", relation="greater"), doc).answer == (
        "holds" if enough else "undecided"
    )
    assert only_answer(claims_with(right="b"), doc).answer == (
        "does not hold" if enough else "undecided"
    )
    none = metric(0.0, 0.0, 0.0, unit="1", trials=trials)
    doc = campaign(("w", arm("rclcpp/a", metric=none), arm("rclcpp/b", metric=none)))
    assert only_answer(claims_with(right="b"), doc).answer == "undecided", (
        "none lost against none lost"
    )
    (cell,) = only_answer(claims_with(level=0.001), doc).cells
    assert (cell.answer, cell.code) == (
        ("holds", None) if enough else ("undecided", "few_for_infinite")
    )


def test_a_one_sided_bound_decides_no_level():
    bound = {"unit": "ns", "at_least": 30.0, "count": 9, "trials": 6}
    doc = campaign(("w", arm("rclcpp/a", metric=bound), arm("rclcpp/b", SLOW)))
    (cell,) = only_answer(claims_with(right="b"), doc).cells
    # a bound of 95 % is not one of the level of the look
    assert (cell.answer, cell.code) == ("undecided", "few_for_infinite") and cell.low > 1.4
    assert only_answer(claims_with(level=40.0), doc).answer == "undecided"
    for relation in ("greater", "less"):
        (cell,) = only_answer(claims_with(level=20.0, relation=relation), doc).cells
        assert (cell.answer, cell.code) == ("undecided", "few_for_infinite")


@pytest.mark.parametrize(
    ("trials", "answer"), [(1, "undecided"), (2, "undecided"), (4, "undecided"), (5, "holds")]
)
@pytest.mark.parametrize("test", [{"right": "b"}, {"level": 15.0}])
def test_below_five_common_blocks_nothing_is_decided_however_narrow_the_interval(
    test, trials, answer
):
    doc = campaign(("w", arm("rclcpp/a", FAST[:trials]), arm("rclcpp/b", SLOW[:trials])))
    judged = only_answer(claims_with(**test), doc)
    assert (judged.answer, judged.blocks) == (answer, trials)
    if trials < 5:
        assert (judged.cells[0].code, judged.cells[0].leans) == ("few_blocks", "holds")
        assert judged.leans == "holds"
        assert "5 are needed" in judged.cells[0].reason and "leans to *holds*" in judged.text()
    else:
        assert (judged.cells[0].code, judged.leans) == (None, None)


def test_a_difference_below_the_margin_is_none():
    near = [value * 1.03 for value in FAST]
    cell = cell_of(claims_with(right="b"), arm("rclcpp/a", FAST), arm("rclcpp/b", near))
    assert cell.high < 1 and (cell.answer, cell.code) == ("undecided", "within_margin")


@pytest.mark.parametrize(("trials", "answer"), [(5, "undecided"), (6, "undecided"), (7, "holds")])
def test_what_is_infinite_in_a_few_trials_decides_nothing(trials, answer):
    """The range of six values covers their median with 96.9 %, less than the level of a first
    campaign's look."""
    never = arm("rclcpp/b", [math.inf] * trials, metric=metric("inf", "inf", "inf", trials=trials))
    judged = answer_of(claims_with(right="b"), arm("rclcpp/a", [8e6] * trials), never)
    assert (judged.answer, judged.cells[0].code) == (
        answer,
        None if trials == 7 else "few_for_infinite",
    )
    judged = answer_of(claims_with(level=1e9, relation="greater", left="b"), never)
    assert judged.answer == answer


def arm_of_shares(name, values, messages, metric="undelivered"):
    """Return an arm with a share of so many messages in all, by its values in the blocks."""
    known = {"unit": "fraction", "count": messages, "trials": len(values)}
    made = arm(name, values, metric={**known, "value": values[0], "low": 0.0, "high": 1.0})
    return renamed(made, metric)


@pytest.mark.parametrize(
    ("messages", "blocks", "answer"),
    [(200, 10, "undecided"), (200_000, 10, "holds"), (200_000, 6, "undecided")],
)
def test_a_share_of_0_is_bounded_by_how_much_could_have_been_lost(messages, blocks, answer):
    """None of 20 messages in a block against half of them: the ratio was 0 to 0, below any
    factor."""
    sides = (
        arm_of_shares("rclcpp/a", [0.0] * blocks, messages),
        arm_of_shares("rclcpp/b", [0.5] * blocks, messages),
    )
    few = claims_with(metric="undelivered", right="b", factor=0.01)
    cell = cell_of(few, *sides)
    assert (cell.answer, cell.value, cell.low) == (answer, 0.0, 0.0) and cell.high > 0
    many = claims_with(metric="undelivered", left="b", right="a", relation="greater", factor=100)
    turned = cell_of(many, *sides)
    assert (turned.answer, turned.low) == (answer, pytest.approx(1 / cell.high))


@pytest.mark.parametrize(
    ("messages", "answer"), [(100, "undecided"), (900, "undecided"), (200_000, "holds")]
)
def test_a_delivery_of_all_is_bounded_as_a_loss_of_none_is(messages, answer):
    made = arm_of_shares("rclcpp/a", [1.0] * 6, messages, metric="delivery")
    claims = claims_with(metric="delivery", relation="greater", level=0.99)
    cell = cell_of(claims, made)
    assert (cell.answer, cell.value, cell.high) == (answer, 1.0, 1.0) and cell.low < 1


@pytest.mark.parametrize(("blocks", "answer"), [(6, "undecided"), (7, "holds")])
@pytest.mark.parametrize("test", [{}, {"times_metric": "achieved_rate"}])
def test_zeros_of_which_nobody_knows_what_they_are_of_decide_by_order(test, blocks, answer):
    zero = {"unit": "cores", "value": 0.0, "low": 0.0, "high": 0.0, "trials": blocks}
    made = arm("rclcpp/a", [0.0] * blocks, metric=zero)
    made = renamed(made, "cpu_cores_daemon", "achieved_rate")
    claims = claims_with(metric="cpu_cores_daemon", level=0.001, **test)
    cell = cell_of(claims, made)
    assert (cell.answer, cell.code) == (answer, None if blocks == 7 else "few_for_infinite")


ALWAYS_30 = metric(30.0, 29.55, 30.45, unit="hz", count=6)


@pytest.mark.parametrize(("level", "answer"), [(29.8, "undecided"), (29.0, "holds")])
def test_a_rate_that_is_the_same_in_all_trials_is_known_to_a_part_of_a_message(level, answer):
    """A report shows it likewise: one more trial may have one message less."""
    made = renamed(arm("rclcpp/a", [30.0] * 6, metric=ALWAYS_30), "achieved_rate")
    claims = claims_with(metric="achieved_rate", relation="greater", level=level)
    cell = cell_of(claims, made)
    assert (cell.answer, cell.value, cell.low < 29.8) == (answer, 30.0, True)


def test_a_campaign_of_one_trial_does_not_take_the_interval_from_a_rate_that_was_always_the_same():
    single = metric(30.0, 0.0, math.inf, unit="hz", count=1, trials=1)
    arms = (arm("rclcpp/a", [30.0] * m["trials"], metric=m) for m in (ALWAYS_30, single))
    shown = [campaign(("w", renamed(a, "achieved_rate")), machine="m") for a in arms]
    (answer,) = today(claims_with(metric="achieved_rate", relation="greater", level=29.0), *shown)
    assert (answer.answer, answer.blocks) == ("holds", 7)
    assert 29.0 < answer.cells[0].low < 30.0 < answer.cells[0].high < 31.0


def test_zeros_per_message_are_bounded_by_the_messages():
    """None in 5 × 40 messages means up to 0.18 for each, in bursts of ten."""
    zero = metric(0.0, 0.0, 0.0, unit="count", count=200, trials=5)
    made = renamed(arm("rclcpp/a", [0.0] * 5, metric=zero), "page_faults_per_message")
    for level, answer in ((0.1, "undecided"), (0.3, "holds")):
        claims = claims_with(metric="page_faults_per_message", level=level)
        assert answer_of(claims, made).answer == answer


def test_a_campaign_without_a_bound_takes_none_from_another():
    bounds = ({"high": 0.0}, {"high": 4.0})
    zero = {"unit": "hz", "value": 0.0, "low": 0.0, "count": 5, "trials": 5}
    estimates = [Estimate.of({**zero, **bound}) for bound in bounds]
    assert _combine(estimates, ErrorLevel(0.025))[2] == 4.0


def test_a_block_that_an_arm_lost_is_no_block_in_which_it_was_fast():
    """It failed in four of ten blocks, and the claim was judged by the six others."""
    claims = claims_with(right="b", metric="response_latency_p50")
    slow = renamed(arm("rclcpp/b", [*SLOW, 20.1, 20.3, 20.7, 20.4]), "response_latency_p50")

    def having_lost(*blocks):
        made = renamed(arm("rclcpp/a", FAST, lost_blocks=blocks), "response_latency_p50")
        return answer_of(claims, made, slow)

    assert having_lost().answer == "holds"
    (cell,) = having_lost(6, 7, 8, 9).cells
    assert (cell.answer, cell.blocks) == ("undecided", 10) and math.isinf(cell.high)
    assert having_lost(0, 1, 2).answer == "holds", "done when it was tried again"


def test_an_arm_that_loses_its_own_messages_is_no_cheaper_with_more_of_them():
    """The reliable arm took 57.7 ms and lost nothing, and best effort lost nearly all: that made
    reliable cost 0 times as much. Of two arms, the one that loses is the slower one."""
    values = {0: [57.7e6] * 8, 1: [math.inf] * 8}
    arms = {
        level: renamed(arm("rclcpp/a", values[level], factors={"n": level}), "service_latency_p90")
        for level in values
    }
    doc = campaign(*((f"w [n={level}]", made) for level, made in arms.items()))
    claims = claims_with(
        right="a", metric="service_latency_p90", left_at={"n": 0}, right_at={"n": 1}
    )
    (cell,) = only_answer(claims, doc).cells
    assert (cell.answer, cell.code, cell.blocks) == ("undecided", "lost", 8)
    other = dataclasses.replace(arms[1], arm="rclcpp/b", factors={"n": 0})
    between_arms = answer_of(claims_with(right="b", metric="service_latency_p90"), arms[0], other)
    assert between_arms.answer == "holds"


def test_what_did_not_come_back_in_the_blocks_that_an_arm_lost_took_forever():
    """Five blocks recovered in 27 ms and five did not: the statement was judged by the first
    five."""
    back = dict.fromkeys(range(5), 27e6)
    for lost, answer in (((), "holds"), ((5, 6, 7, 8, 9), "undecided")):
        made = arm_with("rclcpp/a", "recovery_time", back, lost=lost)
        judged = answer_of(claims_with(metric="recovery_time", level=10e9), made)
        assert (judged.answer, judged.blocks) == (answer, 5 + len(lost))


def ten_blocks(name, values, **told):
    """Return an arm by block -> its median service latency, with block -> the values that explain
    the other blocks."""
    made = arm_with(name, "service_latency_p50", values)
    there = {metric: values_of for metric, values_of in told.items() if values_of}
    more = {metric: Estimate.of({"unit": "fraction", "value": 0.5}) for metric in there}
    return dataclasses.replace(
        made, metrics=made.metrics | more, per_trial={**made.per_trial, **there}
    )


SENT_ALL, SENT_LITTLE = dict.fromkeys(range(10), 0.0), dict.fromkeys(range(10), 0.98)


@pytest.mark.parametrize(
    ("undelivered", "blocks", "answer"),
    [
        (SENT_ALL | dict.fromkeys((7, 8, 9), 0.98), 10, "undecided"),
        (SENT_ALL | dict.fromkeys((7, 8, 9), 0.3), 7, "holds"),  # fewer were due, by chance
        (dict.fromkeys(range(7), 0.0), 10, "undecided"),  # its reader never matched in these
    ],
)
def test_a_percentile_of_a_block_in_which_the_publisher_was_held_is_infinite(
    undelivered, blocks, answer
):
    """It sent five of 300 messages in three of ten blocks, which are too few for a median: the
    statement was judged by the seven others."""
    fast = {block: (FAST + FAST)[block] for block in range(7)}
    slow = {block: (SLOW + SLOW)[block] for block in range(10)}
    held = ten_blocks("rclcpp/a", fast, undelivered=undelivered, achieved_rate=SENT_ALL)
    claims = claims_with(right="b", metric="service_latency_p50")
    judged = answer_of(claims, held, ten_blocks("rclcpp/b", slow))
    assert (judged.answer, judged.blocks) == (answer, blocks)
    assert [math.isinf(value) for _, value in judged.cells[0].left_trials] == [
        block > 6 for block in range(blocks)
    ]


def test_an_arm_that_was_held_in_every_block_is_the_slower_one_and_not_absent():
    nothing = {"unit": "ns", "no_data": "no message to measure"}
    slow = {block: (SLOW + SLOW)[block] for block in range(10)}
    claims = claims_with(right="b", metric="service_latency_p50")

    def held(undelivered, other=ten_blocks("rclcpp/b", slow)):
        made = ten_blocks("rclcpp/a", None, undelivered=undelivered)
        metrics = made.metrics | {"service_latency_p50": Estimate.of(nothing)}
        made = dataclasses.replace(made, metrics=metrics)
        return answer_of(claims, made, other)

    assert (held(SENT_LITTLE).answer, held(SENT_LITTLE).blocks) == ("does not hold", 10)
    assert held(SENT_ALL | {0: 0.98}).answer == "no data", "what is known of one block is not all"
    wide = document(widened(Measured("ns", 20.0, 19.0, 21.0, 9, 10, "x"), 6.0))
    other = ten_blocks("rclcpp/b", slow)
    other = dataclasses.replace(other, metrics={"service_latency_p50": Estimate.of(wide)})
    (cell,) = held(SENT_LITTLE, other).cells
    assert (cell.answer, cell.code) == ("undecided", "lost"), "by intervals alone"
    bound = Estimate.of({"unit": "ns", "value": 5.0, "low": 4.0, "high": 6.0, "trials": 10})
    short = ten_blocks("rclcpp/a", None, undelivered=SENT_ALL)
    short = dataclasses.replace(short, metrics=short.metrics | {"service_latency_p50": bound})
    assert answer_of(claims, short, ten_blocks("rclcpp/b", slow)).answer == "holds", (
        "short trials that lost nothing are pooled"
    )


def test_what_short_trials_give_together_says_nothing_where_a_publisher_was_held_in_some():
    """The percentile covers all trials, and those in which little was sent have little part in
    it."""

    def pooled(name, value, **per_trial):
        """Return an arm whose p99 only all of its trials have messages for."""
        of_all = metric(value, value - 0.1, value + 0.1, count=900, trials=10)
        made = renamed(arm(name, metric=of_all), "service_latency_p99")
        return dataclasses.replace(made, per_trial=per_trial)

    slow = pooled("rclcpp/b", 9.0)
    claims = claims_with(right="b", metric="service_latency_p99")
    for undelivered, answer in ((SENT_ALL, "holds"), (SENT_ALL | {3: 0.9}, "undecided")):
        left = pooled("rclcpp/a", 5.0, undelivered=undelivered)
        cell = cell_of(claims, left, slow)
        assert (cell.answer, cell.code) == (answer, None if answer == "holds" else "lost")


@pytest.mark.parametrize(
    ("longest", "unsent", "blocks"),
    [(math.inf, 0.0, 10), (9e6, 0.0, 7), (9e6, 0.99, 10), (math.inf, 0.99, 10)],
)
def test_calls_that_were_not_made_waited_for_the_longest(longest, unsent, blocks):
    """Three calls of 0.4 s where a hundred were due are too few for a percentile, and the block was
    left out."""
    calls = {block: (FAST + FAST)[block] for block in range(7)}
    made = arm_with("rclcpp/a", "publish_call_p90", calls)
    told = {
        "publish_call_max": dict.fromkeys(range(7), 9e6) | dict.fromkeys((7, 8, 9), longest),
        "never_sent_share": dict.fromkeys(range(7), 0.0) | dict.fromkeys((7, 8, 9), unsent),
    }
    made = dataclasses.replace(made, per_trial={**made.per_trial, **told})
    cell = cell_of(claims_with(metric="publish_call_p90", level=50.0), made)
    assert (cell.blocks, cell.answer) == (blocks, "holds" if blocks == 7 else "undecided")
    assert [value for block, value in cell.left_trials if block > 6] == [longest] * (blocks - 7)


RATES = ("achieved_rate", "achieved_throughput")
NOTHING_DONE = {"unit": "hz", "no_data": "no trial of this arm was completed"}


def arm_with(name, metric, values, lost=()):
    """Return an arm by block -> value of one metric, with its lost blocks; `values` is None if no
    trial was done."""
    made = arm(name, list(values.values())) if values else arm(name, metric=NOTHING_DONE)
    per_trial = {metric: values} if values else {}
    return dataclasses.replace(renamed(made, metric), per_trial=per_trial, lost_blocks=lost)


@pytest.mark.parametrize("metric", RATES)
def test_nothing_arrived_in_a_block_that_an_arm_lost(metric):
    """Its one good block of five is not the answer."""
    left = arm_with("rclcpp/a", metric, {1: 10.0}, lost=(0, 2, 3, 4))
    right = arm_with("rclcpp/b", metric, dict.fromkeys(range(5), 20.0))
    assert left_values(
        claims_with(metric=metric, right="b").items[0].test, [Sides(0, left, right)]
    ) == {(0, block): 10.0 if block == 1 else 0.0 for block in range(5)}
    cell = cell_of(claims_with(metric=metric, right="b"), left, right)
    assert (cell.blocks, cell.value, cell.high) == (5, 0.0, 0.5)


@pytest.mark.parametrize(
    ("metric", "value"),
    [*((metric, 0.0) for metric in RATES), ("service_latency_p50", math.inf)],
)
@pytest.mark.parametrize(("blocks", "answer"), [(5, "undecided"), (7, "holds")])
def test_an_arm_that_lost_every_block_is_worse_and_not_absent(metric, value, blocks, answer):
    left = arm_with("rclcpp/a", metric, None, lost=tuple(range(blocks)))
    right = arm_with("rclcpp/b", metric, dict.fromkeys(range(blocks), 20.0))
    relation = "greater" if value else "less"
    doc = campaign(("w", left, right))
    (cell,) = only_answer(claims_with(metric=metric, right="b", relation=relation), doc).cells
    assert (cell.answer, cell.blocks, cell.value) == (answer, blocks, value)
    (cell,) = only_answer(claims_with(metric=metric, level=1.0, relation=relation), doc).cells
    assert (cell.answer, cell.blocks, cell.value) == (answer, blocks, value)


@pytest.mark.parametrize("metric", ["undelivered", "end_to_end_undelivered"])
def test_of_an_arm_that_lost_every_block_every_message_is_lost(metric):
    left = arm_with("rclcpp/a", metric, None, lost=tuple(range(6)))
    cell = cell_of(claims_with(metric=metric, level=0.01), left)
    assert (cell.answer, cell.blocks, cell.value) == ("does not hold", 6, 1.0)


def test_what_a_lost_block_cost_is_not_known():
    left = arm_with("rclcpp/a", "rss", None, lost=tuple(range(6)))
    cell = cell_of(claims_with(metric="rss", level=1.0), left)
    assert (cell.answer, cell.code) == ("no data", "absent")
