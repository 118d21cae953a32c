"""What a budget leaves out: whole comparisons, the ends of every factor kept first; and the words
for it."""

import math
import re
from dataclasses import replace

import pytest

from rmwbench.campaign.plan import budget_cut
from rmwbench.campaign.plan.machine_limits import Excess, MachineLimits, handled_bytes_per_s
from rmwbench.campaign.plan.request import Planner, Request
from rmwbench.errors import UserError
from rmwbench.suite.cells import cells, comparisons
from rmwbench.suite.file.load import load, parse

SUITE = """
suite: sizes
title: t
blocks: {{planned: 6, minimum: 5}}
timeline: {{warmup_s: 0.2, steady_s: 1.1, drain_s: 0.1}}
arms:
  - {{name: a, middleware: synthetic}}
  - {{name: b, middleware: synthetic}}
workloads:
  - {{name: stream, message: Bytes(64), rate_hz: 100, primary_metric: response_latency_p50}}
factors:
  message: [Bytes(64), Bytes(128), Bytes(256), Bytes(512), Bytes(1024)]
  rate_hz: [{rates}]
{more}
"""
SHORT = (
    "short: {factors: {message: [Bytes(64), Bytes(1024)]}, timeline: {warmup_s: 0.1, "
    "steady_s: 0.7}}"
)
SMALL = MachineLimits(processors=2, memory_bytes=8 << 30, copying=9e9)


def suite(rates="30, 100, 300", more=""):
    return parse(SUITE.format(rates=rates, more=more), where="sizes.yaml")


def held(loaded, budget_s, last=(), cost_s=1.0):
    groups = comparisons(cells(loaded))
    return set(budget_cut.fitting(loaded, groups, dict.fromkeys(groups, cost_s), budget_s, last))


def key(size, rate):
    return f"stream [message=Bytes({size}), rate_hz={rate}]"


def test_the_ends_of_every_factor_come_first_then_the_middle():
    loaded = suite()
    corners = {key(64, 30), key(64, 300), key(1024, 30), key(1024, 300)}
    assert held(loaded, 1) == {key(64, 30)}
    assert held(loaded, 2) == {key(64, 30), key(1024, 300)}
    assert held(loaded, 4) == corners
    assert held(loaded, 5) == corners | {key(256, 100)}


def test_a_comparison_comes_with_what_it_is_held_against():
    loaded = load("degraded/collateral")
    groups = comparisons(cells(loaded))
    costs = dict.fromkeys(groups, 1.0)
    held_against = [fits for fits, group in groups.items() if group[0].workload.against]
    assert held_against
    for budget_s in range(1, len(groups) + 1):
        fits = budget_cut.fitting(loaded, groups, costs, budget_s)
        for one in held_against:
            workload = groups[one][0].workload
            assert one not in fits or f"{workload.against}{one.removeprefix(workload.name)}" in fits


def test_any_prefix_of_the_order_is_what_a_smaller_budget_keeps():
    loaded = load("degraded/collateral")
    groups = comparisons(cells(loaded))
    order = budget_cut.fitting(loaded, groups, dict.fromkeys(groups, 1.0), math.inf)
    assert sorted(order) == sorted(groups)
    for place, one in enumerate(order):
        workload = groups[one][0].workload
        assert (
            not workload.against
            or f"{workload.against}{one.removeprefix(workload.name)}" in order[:place]
        )


def test_the_words_name_every_comparison_that_was_not_run_and_no_other():
    """A line `all with` names levels that are gone whole, a line `with` combinations: together all
    that is gone."""
    loaded = suite()
    groups = comparisons(cells(loaded))
    lines = budget_cut.words(loaded, groups, {key(64, 30), key(1024, 300)})
    assert lines == (
        "stream: all with message=Bytes(128)|Bytes(256)|Bytes(512), all with rate_hz=100",
        "stream with message=Bytes(64), rate_hz=300",
        "stream with message=Bytes(1024), rate_hz=30",
    )
    assert budget_cut.words(loaded, groups, groups.keys()) == ()
    assert budget_cut.words(loaded, groups, set()) == ("workload stream",)


@pytest.fixture
def planner(tmp_path):
    def make(more="", rates="30, 100, 300"):
        text = SUITE.format(rates=rates, more=more)
        path = tmp_path / "sizes.yaml"
        path.write_text(text)
        return Planner(text, str(path)), Request(str(path), 3, None, (), ())

    return make


def within(made, budget_s, **more):
    planner, request = made
    return planner.within_budget(replace(request, budget_s=budget_s, **more), SMALL)


def test_only_the_levels_that_were_asked_for_are_planned(planner):
    made, request = planner()
    _, chosen = made.select(replace(request, at=("rate_hz=30", "rate_hz=300")))
    assert {cell.factors["rate_hz"] for cell in chosen} == {30, 300}
    assert {cell.factors["message"] for cell in chosen} == {
        cell.factors["message"] for cell in made.select(request)[1]
    }
    assert len({cell.number for cell in chosen}) == len(chosen)
    for wrong in ("rate_hz=31", "rate=30", "rate_hz"):
        with pytest.raises(UserError, match="no such level of a factor") as raised:
            made.select(replace(request, at=(wrong,)))
        assert "rate_hz=300" in raised.value.expected


def test_without_a_short_version_comparisons_are_left_out(planner):
    made = planner()
    request, cut_plan = within(made, 40)
    assert set(request.comparisons) == {key(64, 30), key(1024, 300)}
    assert (cut_plan.version, cut_plan.all_comparisons, len(cut_plan.not_run)) == ("whole", 15, 13)
    plan = made[0].plan(request)
    assert plan.blocks >= plan.suite.blocks.minimum
    assert plan.estimated_s <= 40
    arms = {one.key: [cell.arm.name for cell in one.cells] for one in plan.comparisons}
    assert arms == {one: ["a", "b"] for one in request.comparisons}
    assert {one.key for one in plan.comparisons} | set(cut_plan.not_run) == comparisons(
        made[0].select(made[1])[1]
    ).keys()
    assert "not run within 40 s: 13 of 15 comparisons" in cut_plan.text.lower()


def test_the_short_version_stands_in_where_there_is_one(planner):
    made = planner(SHORT)
    request, cut_plan = within(made, 75)
    assert (request.shortened, request.comparisons, cut_plan.version) == (True, None, "short")
    assert (cut_plan.all_comparisons, len(cut_plan.not_run)) == (15, 9)
    assert cut_plan.lines == ("stream: all with message=Bytes(128)|Bytes(256)|Bytes(512)",)
    assert made[0].plan(request).blocks == 5


def test_a_budget_for_not_even_one_comparison_says_the_least(planner):
    with pytest.raises(UserError) as caught:
        within(planner(SHORT), 5)
    error = caught.value
    assert "12 s" in error.expected
    assert "--budget 12s" in error.fix
    assert all(option in error.fix for option in ("--short", "--workload", "--arm"))


def test_the_least_budget_that_is_named_holds_a_comparison(planner):
    """It was that of the whole suite, whose comparisons may be shorter than the short version's."""
    made = planner("short: {factors: {message: [Bytes(64)]}, timeline: {steady_s: 3}}")
    with pytest.raises(UserError) as caught:
        within(made, 5)
    seconds = int(re.search(r"--budget (\d+)s or more", caught.value.fix)[1])
    request, _ = within(made, seconds)
    assert len(request.comparisons) == 1


# --- what a machine carries ---


def at(loaded, message, workload="thousand"):
    return next(
        cell
        for cell in cells(loaded)
        if cell.factors["message"] == message and cell.workload.name == workload
    )


def test_eight_megabytes_a_thousand_times_a_second_are_beyond_a_small_machine():
    loaded = load("galactic-2020/pubsub")
    large = at(loaded, "Array8m")
    written, read = handled_bytes_per_s(large).values()
    payload = large.endpoints[0].type.payload_bytes
    assert read == pytest.approx(1000 * payload, rel=1e-6)
    assert written == pytest.approx(2 * read)  # once into the message, once into the middleware
    beyond = SMALL.beyond(large)
    assert (beyond.kind, beyond.carried) == ("copying", 9e9)
    assert beyond.asked == pytest.approx(2000 * payload)
    assert (
        beyond.text == "needs to copy 16.8 GB/s in one endpoint's thread; a processor copies 9 GB/s"
    )
    assert SMALL.beyond(at(loaded, "Array8m", "robot")) is None
    assert SMALL.beyond(at(loaded, "Array2m")) is None
    assert replace(SMALL, copying=40e9).beyond(large) is None


def test_two_rates_that_differ_never_read_the_same():
    excess = Excess("copying", 9.004e9, 9.001e9, "bytes/s", "needs {asked}, has {carried}")
    assert excess.text == "needs 9.004 GB/s, has 9.001 GB/s"
    excess = Excess("memory", 1.2e12, 16e9, "bytes", "needs {asked}, has {carried}")
    assert excess.text == "needs 1\N{NARROW NO-BREAK SPACE}200 GB, has 16 GB"


def test_copying_is_measured_where_it_matters_only():
    here = MachineLimits.here()
    assert here.beyond(at(load("galactic-2020/pubsub"), "Array1k")) is None
    assert here.copying is None
    here.beyond(at(load("galactic-2020/pubsub"), "Array8m"))
    assert 0 < here.copying < 1e12


def test_an_arm_that_the_short_version_has_not_is_cut_from_the_whole(planner):
    made = planner("short: {arms: [a], timeline: {steady_s: 0.7}}")
    request, cut_plan = within(made, 20, arms=("b",))
    assert (request.shortened, cut_plan.version) == (False, "whole")
    assert len(request.comparisons) == 2


def test_a_loan_saves_one_pass():
    large = at(load("galactic-2020/pubsub"), "Array8m")
    loaned = replace(large, arm=large.arm.model_copy(update={"loan": True}))
    assert sum(handled_bytes_per_s(large).values()) == pytest.approx(
        1.5 * sum(handled_bytes_per_s(loaned).values())
    )
