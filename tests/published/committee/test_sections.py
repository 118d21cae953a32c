"""A budget divided among the sections of an evaluation: it is never exceeded, the important
sections come first, and none is much finer than the others."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmwbench.campaign.plan.plan import blocks_within
from rmwbench.published.committee import sections
from rmwbench.published.committee.evaluation_session import begin
from rmwbench.published.committee.needs import shipped_needs
from rmwbench.published.committee.report_plan import ReportPlan, view
from rmwbench.published.committee.sections import (
    EVALUATIONS,
    MOST_BLOCKS,
    BudgetShare,
    ReportSection,
    SectionCondition,
    SectionCost,
    budget_shares,
    cells_of,
)
from rmwbench.report.render.markdown import render_markdown
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice, layer_of
from tests.support.command import captured, rmwbench


def cost(name, block_s, least=5, conditions=1, contenders=4, whole=False):
    """Return a section's cost. `block_s`: the time of a block of each of its conditions."""
    made = tuple(
        SectionCondition(f"{name} {place}", block_s, contenders) for place in range(conditions)
    )
    return SectionCost(ReportSection(name, name, name, name, whole), made, least, ("a", "b"))


SEVERAL = st.lists(
    st.builds(
        cost,
        st.uuids().map(str),
        st.floats(1, 600),
        st.integers(5, 8),
        st.integers(1, 9),
        st.integers(2, 14),
        st.booleans(),
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=40)
@given(SEVERAL, st.floats(0, 20_000))
def test_the_budget_is_never_overspent_and_little_is_left(costs, budget_s):
    shares = budget_shares(costs, budget_s)
    spent = math.fsum(one.seconds for one in shares)
    assert spent <= budget_s * (1 + 1e-9)
    assert [one.cost for one in shares] == costs
    for one in shares:
        if one.blocks == 0:
            assert one.conditions == 0 and one.resolvable_ratio is None
            continue
        assert one.cost.least <= one.blocks <= MOST_BLOCKS
        assert one.is_whole or (one.conditions and not one.cost.section.whole)
        if more := one.next_step():
            assert more[1].seconds - one.seconds > (budget_s - spent) * (1 - 1e-6)


@pytest.mark.parametrize("block_s", [2.46908, 1 / 3, 7.0])
def test_what_the_session_keeps_of_a_share_holds_all_of_its_blocks(tmp_path, block_s):
    shares = budget_shares([cost("one", block_s)], 5.4 * block_s)
    session = begin(tmp_path / "made", "tsc", shares, {}, seed=1, budget_s=60.0, choice=NO_CHOICE)
    assert blocks_within(session.sections[0].budget_s, block_s, 5, "one") == shares[0].blocks == 5


def test_machines_share_whole_blocks_and_wait_for_the_look():
    """Three conditions of 10 s in 5 blocks are 15 parts; two more blocks wait for the look behind
    the fifth."""
    wide = replace(cost("one", 10, conditions=3), machines=4)
    assert [BudgetShare(wide, 3, blocks).seconds for blocks in (5, 7)] == [40, 60]
    alone = replace(wide, machines=1)
    assert BudgetShare(wide, 3, 7).machine_s == BudgetShare(alone, 3, 7).seconds == 210
    assert (
        budget_shares([wide], 40)[0].conditions == 3
        and budget_shares([alone], 50)[0].conditions == 1
    )


def test_machines_to_plan_for_are_a_number():
    done = rmwbench("published", "report", "tsc", "--cluster", 0)
    assert done.returncode == 2 and "how many machines?" in done.stderr, done.stderr


def test_many_machine_hours_have_no_exponent():
    share = BudgetShare(cost("one", 8640.0), 1, 5)
    plan = ReportPlan(evaluation="tsc", budget_s=43_200.0, shares=[share], absent={}, machines=10)
    assert "120 machine-hours" in render_markdown(view(plan))


def test_the_command_of_a_plan_asks_for_what_was_planned():
    share = BudgetShare(cost("one", 1.0), 1, 5)
    options = Choice(candidates=("mine.yaml",), added=("zenoh tuned",)).options
    plan = ReportPlan(
        evaluation="tsc", budget_s=60.0, shares=[share], absent={}, machines=None, options=options
    )
    asked = "--budget 60s --candidates mine.yaml --with 'zenoh tuned' -o DIR"
    assert f"`rmwbench published report tsc {asked}`" in render_markdown(view(plan))


@pytest.mark.long
def test_the_plan_for_a_cluster_says_what_it_costs():
    planned = ("evaluate", "tsc", "--budget", "1h", "--json")
    doc = json.loads(rmwbench(*planned, "--cluster", 4).stdout)
    assert doc["machines"] == 4
    assert doc["machine_hours"] == pytest.approx(4 * doc["estimated_s"] / 3600, abs=0.01)
    assert doc["estimated_s"] <= 3600
    alone = json.loads(rmwbench(*planned).stdout)
    assert sum(one["trials"] for one in doc["sections"]) > 2 * sum(
        one["trials"] for one in alone["sections"]
    )


def test_breadth_comes_before_depth():
    """Every section has one condition, then each a few, then blocks; what a section has too much of
    comes last."""
    large, small = cost("large", 10, conditions=9, contenders=14), cost("small", 10)
    assert [one.conditions for one in budget_shares([large, small], 100)] == [1, 1]
    assert [(one.conditions, one.blocks) for one in budget_shares([large, small], 200)] == [
        (3, 5),
        (1, 5),
    ]
    deeper = budget_shares([large, small], 330)
    assert [one.conditions for one in deeper] == [3, 1] and all(one.blocks > 5 for one in deeper)
    assert budget_shares([large, small], 8000)[0].conditions == 9


def test_a_section_whose_conditions_answer_questions_of_their_own_is_whole_or_absent():
    made = cost("robots", 10, conditions=3, whole=True)
    assert made.least_s == 150
    assert budget_shares([made], 149)[0].blocks == 0
    assert budget_shares([made], 150)[0].is_whole


def test_every_case_of_a_need_is_a_condition_that_its_section_runs():
    sections = {one.name: one for one in EVALUATIONS["tsc"]}
    for need in shipped_needs():
        for case in need.cases:
            limits = case.read()
            assert limits.acceptable or limits.topics
            asking = [
                cell
                for cell in cells_of(sections[case.section])
                if limits.of.has(cell.workload.name, cell.factors)
                and case.modes.items() <= (cell.arm.modes or {}).items()
            ]
            assert asking, (need.need, case.title)


def test_an_unknown_name_is_one_error():
    done = rmwbench("published", "report", "tcs")
    assert done.returncode == 2 and "did you mean `tsc`?" in done.stderr


@pytest.mark.long
def test_what_does_not_fit_is_named_with_what_it_would_take():
    done = rmwbench("published", "report", "tsc", "--budget", "1m", "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "rmwbench/evaluate-plan" and document["estimated_s"] <= 60
    absent = [one for one in document["sections"] if not one["blocks"]]
    assert absent and all(one["least_s"] > 0 and one["resolvable_ratio"] is None for one in absent)


def test_libraries_stand_beside_rmws_only_where_it_is_asked_what_an_rmw_adds(monkeypatch):
    monkeypatch.setattr(sections, "names_here", lambda: ("rclcpp",))
    of = {one.name: one for one in EVALUATIONS["tsc"]}

    def layers(name):
        return {layer_of(cell.arm.middleware) for cell in cells_of(of[name])} - {"floor"}

    assert layers("robot") == layers("security") == {"rclcpp"}
    assert layers("services") == {"rclcpp", "native"}
    monkeypatch.setattr(sections, "names_here", lambda: ("zenoh",))
    assert "native" in layers("robot")


def test_what_the_needs_ask_for_comes_before_further_conditions():
    asks = replace(cost("asks", 10, conditions=9), needed_blocks=20)
    (dealt_out,) = budget_shares([asks], 10 * 3 * 21)
    assert (dealt_out.conditions, dealt_out.blocks) == (3, 20)


def test_a_planned_section_keeps_the_blocks_that_its_needs_ask_for(tmp_path):
    shares = [
        BudgetShare(replace(cost("a", 10), needed_blocks=20), 1, blocks) for blocks in (28, 12)
    ]
    made = begin(tmp_path / "e", "tsc", shares, {}, seed=0, budget_s=1.0, choice=NO_CHOICE)
    assert [one.asked for one in made.sections] == [20, 12]


def test_a_budget_for_no_section_is_answered_with_one_that_holds_the_cheapest(
    monkeypatch, tmp_path, capsys
):
    """41.45 s were asked for as `at least 41s`, and a plan of nothing ended with 1."""
    monkeypatch.setattr(sections, "costs", lambda *_: ([cost("one", 8.29)], {}))
    words = ("published", "report", "tsc", "--budget", "41s")
    code, _, errors = captured(capsys, *words, "-o", tmp_path / "report")
    assert code == 2 and "expected: at least 42s" in errors and "actual: 41s" in errors
    assert captured(capsys, *words, "--json")[0] == 2


def test_an_evaluation_of_which_no_section_can_run_says_why(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sections, "costs", lambda *_: ([], {"services": "no worker is ready"}))
    code, _, errors = captured(capsys, "published", "report", "tsc", "-o", tmp_path / "report")
    assert code == 2 and "no section can run here" in errors
    assert "services: no worker is ready" in errors
