"""Which candidate meets which need, from outcomes of limits; and a document that is read back."""

import dataclasses
from itertools import product

import pytest

from rmwbench.analysis.verdicts.limit_outcomes import Outcome, Why
from rmwbench.published.committee import consistency, need_conclusions
from rmwbench.published.committee import report_text as markdown
from rmwbench.published.committee.needs import (
    MeasuredArm,
    NeedAnswer,
    NeedCandidate,
    NeedCase,
    NeedCaseAnswer,
    NeedMark,
    RobotNeed,
)
from rmwbench.published.committee.report_parts import gather
from rmwbench.report.view import Table
from rmwbench.results.decide.decide_model import Contender
from tests.published.committee import evaluations
from tests.support.typed import typed

MEETS, MISSES, OPEN, UNKNOWN = Outcome


def judged(name, outcome, *, installed=True, layer="rclcpp", lost=0.01):
    limit = {"case": "c", "metric": "undelivered", "unit": "fraction", "at_most": 0.05}
    limit |= {"error": 0.05, "outcome": outcome, "blocks": 5}
    limit["measured"] = {"value": lost, "low": 0.0, "high": 2 * lost}
    known = {"arm": name, "middleware": f"{layer}/{name.split()[0]}", "layer": layer}
    known |= {"outcome": outcome, "why": Why.LIMIT, "error": 0.05, "blocks": 5}
    answer = typed(Contender, {**known, "binding": limit, "limits": [limit]})
    arm = MeasuredArm(
        name,
        middleware=answer.middleware,
        is_rmw=layer == "rclcpp",
        has_settings=not installed,
        modes={},
    )
    return NeedCandidate(arm=arm, as_installed=installed, answer=answer)


def need(name, *cases):
    """Return a need. Each of `cases`: candidate -> outcome."""
    made = RobotNeed(
        need=name,
        title=name.capitalize(),
        cases=[
            NeedCase(section="s", workload="w", title=f"case {n}", limits="small-board")
            for n, _ in enumerate(cases)
        ],
    )
    answers = (
        NeedCaseAnswer(case=case, judged=tuple(candidates), why=None if candidates else "no time")
        for case, candidates in zip(made.cases, cases, strict=True)
    )
    return NeedAnswer(need=made, cases=tuple(answers))


@pytest.mark.parametrize("first, second", list(product(Outcome, repeat=2)))
def test_a_mark_promises_no_more_than_each_case(first, second):
    mark = need("n", [judged("a", first)], [judged("a", second)]).mark("a")
    both = {first, second}
    assert (mark is NeedMark.MEETS) is (both == {MEETS})
    assert (mark is NeedMark.PARTLY) is (MEETS in both and both != {MEETS})
    assert (mark is NeedMark.MISSES) is (MISSES in both and MEETS not in both)


def test_a_case_that_was_not_measured_is_not_met():
    answer = need("n", [judged("a", MEETS)], [])
    assert answer.mark("a") is NeedMark.PARTLY
    (sentence,) = need_conclusions.sentences([answer])
    assert "meets “case 0”; “case 1” was not measured" in sentence.text


def test_the_nearest_limit_is_named_with_its_own_case():
    """It was named with the first case, whichever had it."""
    answer = need("fleet", [judged("a", MEETS)], [judged("a", MEETS, lost=0.04)])
    (sentence,) = need_conclusions.sentences([answer])
    assert sentence.text.startswith("a meets it; nearest, in “case 1”: undelivered 4 %")


def test_what_no_node_can_take_is_not_in_the_conclusions():
    answers = [need("n", [judged("a", MISSES), judged("iceoryx2", MEETS, layer="native")])]
    assert [one.candidate for one in need_conclusions.subjects(answers)] == ["a"]
    assert all("iceoryx2" not in one.text for one in need_conclusions.sentences(answers))


def test_a_tuned_candidate_is_named_where_it_does_more_than_the_installed_one():
    better = need("b", [judged("a", MISSES), judged("a tuned", MEETS, installed=False)])
    same = need("s", [judged("a", MEETS), judged("a tuned", MEETS, installed=False)])
    named = [
        {fact.candidate for fact in one.facts} for one in need_conclusions.sentences([better, same])
    ]
    assert named == [{"a", "a tuned"}, {"a"}]


def test_what_a_sentence_names_stands_in_the_table_of_needs():
    """This also holds if nothing was measured as installed, and a tuned candidate misses the
    need."""
    alone = need("s", [judged("a tuned", MISSES, installed=False)])
    (sentence,) = need_conclusions.sentences([alone])
    (fact,) = sentence.facts
    (table,) = [
        block
        for section in need_conclusions.page([alone])
        for block in getattr(section, "blocks", ())
        if isinstance(block, Table)
    ]
    ((_, cell),) = table.rows
    assert fact.mark is NeedMark.MISSES and cell.text == f"a tuned {fact.mark}"


def test_a_default_is_told_as_a_trade_off_and_never_recommended():
    needs = [
        need("control", [judged("a", MEETS), judged("b", MISSES)]),
        need("cameras", [judged("a", MISSES), judged("b", MEETS)]),
        need("maps", [judged("a", OPEN), judged("b", MISSES)]),
        need("radio", []),
        need(
            "security",
            [judged("a tuned", MEETS, installed=False), judged("b tuned", MEETS, installed=False)],
        ),
    ]
    said = list(need_conclusions.default_sentences(needs))
    assert said == [
        "As installed, a meets 1 and b meets 1 of 3 measured needs; of 1 need nothing is known.",
        "Of what another meets as installed, a misses “cameras”; b misses “control”.",
        "As installed, no candidate is shown to meet “maps”.",
        "“security” was measured with settings of its own alone.",
    ]


def test_a_need_that_is_met_in_part_names_each_case_that_is_missed_or_open():
    answer = need("services", [judged("a", MEETS)], [judged("a", MISSES)], [judged("a", OPEN)], [])
    (sentence,) = need_conclusions.sentences([answer])
    assert sentence.text.startswith("a meets “case 0”; misses “case 1”: ")
    assert "; is open in “case 2”: " in sentence.text
    assert sentence.text.endswith("; “case 3” was not measured.")
    assert [fact.text for fact in sentence.facts] == [sentence.text]


def test_a_missed_case_that_no_sentence_names_is_found():
    fact = need_conclusions.NeedFact("n", "a", NeedMark.PARTLY, "a meets “case 0”.")
    outcomes = [("case 0", "meets"), ("case 1", "misses")]
    assert list(consistency._unnamed_misses(fact, outcomes)) == ["case 1"]
    named = dataclasses.replace(fact, text="a meets “case 0”; misses “case 1”: x.")
    assert not list(consistency._unnamed_misses(named, outcomes))


def test_a_mark_is_looked_for_in_the_cell_of_its_candidate():
    """A tuned candidate that misses was found to meet where another RMW does."""
    tuned = need_conclusions.NeedFact("n", "a tuned", NeedMark.MEETS, "")
    assert not consistency._has_mark(["✗, a tuned ✗", "✓"], None, tuned)
    assert consistency._has_mark(["✗, a tuned ✓", "✗"], None, tuned)
    installed = need_conclusions.NeedFact("n", "a", NeedMark.MEETS, "")
    assert not consistency._has_mark(["✗, a tuned ✓", "✓"], "✗, a tuned ✓", installed)
    assert consistency._has_mark(["✓", "✗"], "✓", installed)


def test_the_first_table_below_a_heading_is_read():
    tables = "| a |\n| - |\n| 1 |\n\ntext\n\n| b |\n| - |\n| 2 |\n"
    document = consistency._MarkdownText(f"{tables}\n# H\n\n{tables}")
    assert document.table("H") == [["1"]] and document.headings == ["H"]


@pytest.mark.long
def test_a_row_that_a_renderer_lost_is_missed(report):
    text = markdown.render(report, {})
    rows = [line for line in text.splitlines() if line.startswith("| A small robot: ")]
    names = {
        fact.candidate for one in need_conclusions.sentences(report.needs) for fact in one.facts
    }
    lost = next(line for line in rows if line.split(" | ")[1] in names)
    assert consistency.Contradiction.LIMITS in codes(report, text.replace(f"{lost}\n", ""))


def test_a_default_costs_also_the_case_that_it_misses_of_a_need_that_another_meets_whole():
    services = need(
        "services",
        [judged("a", MEETS), judged("b", MEETS)],
        [judged("a", MISSES), judged("b", MEETS)],
    )
    assert list(need_conclusions.default_sentences([services])) == [
        "As installed, a meets 0 and b meets 1 of 1 measured need.",
        "Of what another meets as installed, a misses “services” (case 1).",
    ]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    directory = tmp_path_factory.mktemp("evaluation") / "tsc"
    return gather(evaluations.make_evaluation(directory), "A report", [], evaluations.NEEDS)


def codes(report, text):
    return {one.code for one in consistency.check(report, text)}


@pytest.mark.long
def test_a_document_agrees_with_itself_until_somebody_changes_it(report):
    text = markdown.render(report, {})
    assert consistency.check(report, text) == []
    fact = next(fact for one in need_conclusions.sentences(report.needs) for fact in one.facts)
    mark = report.needs[0].mark(fact.candidate)
    row = f"| A small robot | {mark}"
    assert row in text
    other = NeedMark.MISSES if mark is not NeedMark.MISSES else NeedMark.MEETS
    assert codes(report, text.replace(row, f"| A small robot | {other}")) == {
        consistency.Contradiction.MARK
    }
    limits = f"| A small robot: a camera | {fact.candidate} | "
    assert limits in text
    swapped = text.replace(limits + "meets", limits + "misses") if mark is NeedMark.MEETS else None
    if swapped is not None:
        assert consistency.Contradiction.LIMITS in codes(report, swapped)
    for wrong in ("9 trials in 2 of", "trials in 3 of", "trials in 2 of 9"):
        changed = text.replace("trials in 2 of", wrong)
        assert codes(report, changed) == {consistency.Contradiction.SUM}


@pytest.mark.long
def test_a_name_that_nothing_measured_has_is_found(report):
    parts = tuple(dataclasses.replace(part, arms={}) for part in report.parts)
    unnamed = dataclasses.replace(report, parts=parts)
    assert consistency.Contradiction.NAME in codes(unnamed, markdown.render(report, {}))


@pytest.mark.long
def test_a_document_without_any_measurement_contradicts_nothing(report):
    parts = tuple(dataclasses.replace(part, shown=None, bundle=None) for part in report.parts)
    nothing = dataclasses.replace(report, parts=parts, needs=(), standings=())
    text = markdown.render(nothing, {})
    assert "Nothing is measured yet." in text and consistency.check(nothing, text) == []
