"""Versions of a middleware whose answers differ have an answer each, and the newest is counted."""

import json
from dataclasses import replace

import pytest

from rmwbench.published.campaign_section import _row
from rmwbench.published.claims import claim_campaigns
from rmwbench.published.claims.claim_campaigns import settled_by, settled_here
from rmwbench.published.claims.claim_items import item
from rmwbench.published.claims.claims_ledger import document, ledger, versions_text
from rmwbench.published.claims.sentences import results
from rmwbench.published.reports.public_report import JudgedReport
from rmwbench.results.model import Fact
from tests.published.claims.asking import html, judged, page, today
from tests.published.claims.test_predicates import FAST, SLOW, arm, campaign, claims_with

CLAIM = {"level": 15.0}
"""FAST holds, SLOW does not."""


def run_of(version, values, *, name="rclcpp/a", day=1, machine="one"):
    made, begun = arm(name, values, version=version), f"2026-11-{day:02}T00:00:00Z"
    return campaign(("w", made), machine=machine, created_utc=begun, name=version)


def answers_of(claim):
    return [(today.answer, today.differing_versions) for today in claim.measured]


@pytest.mark.parametrize("old_day", [1, 3])
def test_versions_that_differ_have_an_answer_each_and_the_newest_counts(old_day):
    old, new = run_of("2.9.1", SLOW, day=old_day), run_of("2.10.0", FAST, day=2)
    file = claims_with(**CLAIM)
    made = ledger([file], [old, new])
    (claim,) = made.claims
    assert answers_of(claim) == [("holds", ("a 2.10.0",)), ("does not hold", ("a 2.9.1",))]
    assert claim.state == "holds" and made.summary.states["holds"] == 1
    text = results(claim)
    assert text.startswith("holds with a 2.10.0") and " · does not hold with a 2.9.1" in text
    assert made.summary.versions_differ == ("c",)
    rule = versions_text(made.summary)
    assert "the newest that was measured is counted" in rule and rule in page(made)
    assert "with a 2.9.1" in html(made) and "with a 2.10.0" in html(made)
    (entry,) = json.loads(json.dumps(document(made)))["sources"][0]["claims"]
    assert [today["superseded"] for today in entry["today"]] == [False, True]
    assert entry["today"][0]["versions"] == {"a": ["2.10.0"]}


def test_where_versions_agree_there_is_one_answer_with_the_cells_of_all():
    claim = judged(claims_with(**CLAIM), run_of("1.0", FAST), run_of("2.0", FAST, day=2))
    (today,) = claim.measured
    assert today.answer == "holds" and len(today.cells) == 2 and today.differing_versions == ()
    assert "with" not in results(claim)


def test_a_version_with_too_few_blocks_does_not_stand_for_the_claim():
    enough, few = run_of("1.0", FAST), run_of("2.0", SLOW[:2], day=2)
    claim = judged(claims_with(**CLAIM), enough, few)
    assert answers_of(claim) == [("holds", ())] and len(claim.measured[0].cells) == 2
    claim = judged(claims_with(**CLAIM), enough, run_of("1.1", SLOW, day=2), few)
    assert answers_of(claim) == [
        ("does not hold", ("a 1.1",)),
        ("holds", ("a 1.0",)),
        ("undecided", ("a 2.0",)),
    ]


def test_the_version_of_a_comparison_is_the_pair():
    def pair(a, b, values, day):
        arms = arm("rclcpp/a", values, version=a), arm("rclcpp/b", SLOW, version=b)
        return campaign(("w", *arms), machine="m", created_utc=f"2026-11-{day:02}T00:00:00Z")

    claims = claims_with(right="b", factor=0.8)
    slow = [1.5 * value for value in SLOW]
    claim = judged(
        claims, pair("1", "1", slow, 1), pair("1", "2", FAST, 2), pair("2", "2", slow, 3)
    )
    assert answers_of(claim)[:1] == [("does not hold", ("a 2", "b 2"))]
    assert sorted(answers_of(claim)) == [
        ("does not hold", ("a 1", "b 1")),
        ("does not hold", ("a 2", "b 2")),
        ("holds", ("a 1", "b 2")),
    ]


def test_cells_of_a_middleware_of_one_version_are_in_the_answer_of_each():
    """A statement has two tests, and `b` was measured once."""
    file = claims_with(**CLAIM)
    both = file.items[0].model_copy(
        update={"also": (file.items[0].test.model_copy(update={"left": "b"}),)}
    )
    file = file.model_copy(update={"items": (both,)})
    b = run_of("5.0", FAST, name="rclcpp/b")
    claim = judged(file, b, run_of("1.0", SLOW), run_of("2.0", FAST, day=2))
    assert answers_of(claim) == [("holds", ("a 2.0",)), ("does not hold", ("a 1.0",))]
    assert [len(today.cells) for today in claim.measured] == [2, 2]


def test_a_campaign_may_have_two_versions():
    """Its arms are of `a` and of the series `a-1.0`."""
    series = replace(arm("rclcpp/a", SLOW, version="1.0"), middleware="a-1.0")
    mixed = campaign(("w", arm("rclcpp/a", FAST, version="2.0")), ("v", series))
    claim = judged(claims_with(**CLAIM), mixed)
    assert answers_of(claim) == [("holds", ("a 2.0",)), ("does not hold", ("a 1.0",))]


def test_versions_of_two_middlewares_have_no_answer_for_a_pair_that_no_cell_compares():
    """Their ledger failed."""

    def sides(version, series=""):
        made = (arm(f"rclcpp/{x}", FAST if x == "a" else SLOW, version=version) for x in "ab")
        return [replace(side, middleware=side.middleware + series) for side in made]

    mixed = campaign(("w", *sides("2.0")), ("v", *sides("1.0", "-1.0")))
    assert answers_of(judged(claims_with(right="b"), mixed)) == [("holds", ())]


def test_another_machine_denies_nothing_with_another_version():
    new, old = run_of("2.0", FAST), run_of("1.0", SLOW, day=2, machine="two")
    assert judged(claims_with(**CLAIM), new, old).state == "holds"
    assert answers_of(judged(claims_with(**CLAIM), new, old))[0] == ("holds", ("a 2.0",))
    same = run_of("2.0", SLOW, day=2, machine="two")
    assert judged(claims_with(**CLAIM), new, same).state == "machines differ"
    more = run_of("2.0 below 7", SLOW, day=2, machine="two")  # no other version, but more said
    assert judged(claims_with(**CLAIM), new, more).state == "machines differ"


def test_an_older_version_settles_no_claim():
    file, noisy = claims_with(**CLAIM), [5.0, 40.0, 12.0, 30.0, 8.0, 25.0]
    old, new = run_of("1.0", FAST), run_of("2.0", noisy, day=2)
    assert settled_by([file], [old], "here") == {"c": "here"}
    assert settled_by([file], [old, new], "here") == {}


@pytest.mark.parametrize(
    ("kernel", "settled"), [("6.18.1", {"c": "shipped, 2026-11-01"}), ("6.18.2", {})]
)
def test_claims_are_settled_by_what_was_measured_on_this_very_machine(monkeypatch, kernel, settled):
    """Another guest of the hypervisor has the same description in one line."""
    file, facts = claims_with(**CLAIM), (Fact(name="kernel", value="6.18.1", note=None),)
    shipped = replace(run_of("1.0", FAST), facts=facts, shipped=True)
    monkeypatch.setattr(claim_campaigns, "shipped_of", lambda files: {file.claims: [shipped]})
    here = {"summary": "one", "kernel": {"release": kernel}}
    monkeypatch.setattr(claim_campaigns, "describe", lambda: here)
    assert settled_here([file]) == settled


def test_cells_without_data_are_not_enough_blocks():
    cells = (
        ("w", arm("rclcpp/a", SLOW[:2], version="2.0")),
        ("v", arm("rclcpp/a", SLOW, version="2.0", not_supported="x")),
    )
    few = campaign(*cells, machine="one", created_utc="2026-11-02T00:00:00Z")
    assert answers_of(judged(claims_with(**CLAIM), run_of("1.0", FAST), few)) == [("holds", ())]


def test_a_version_that_nobody_kept_is_no_other():
    new, unknown = run_of("2.0", FAST), run_of(None, SLOW, day=2, machine="two")
    assert judged(claims_with(**CLAIM), new, unknown).state == "machines differ"


def test_a_campaigns_report_says_what_other_versions_do():
    made = ledger([claims_with(**CLAIM)], [run_of("1.0", SLOW), run_of("2.0", FAST, day=2)])
    (source,) = made.sources
    (claim,) = source.claims
    *_, here = _row(item(source, claim, lambda *where: None))
    assert here.startswith("holds with a 2.0 ") and here.endswith("; refuted with a 1.0")


def test_a_public_report_says_what_other_versions_do():
    campaigns = run_of("1.0", SLOW), run_of("2.0", FAST, day=2)
    first, *others = today(claims_with(**CLAIM), *campaigns)
    made = JudgedReport(None, "holds", first, tuple(others))
    assert made.here.startswith("seen here: ") and made.here.endswith("; not seen with a 1.0")


def test_an_answer_names_the_campaigns_of_its_cells_alone():
    """Another campaign of the suite ran the same workload, in shorter trials of another arm."""

    def long(one, steady_s):
        return replace(one, workloads=tuple(replace(x, steady_s=steady_s) for x in one.workloads))

    own = long(run_of("1.0", FAST), 10.0)
    other = long(run_of("7.0", FAST, name="rclcpp/b", day=2), 1.0)
    (answer,) = judged(claims_with(**CLAIM), own, other).measured
    assert (answer.campaigns, answer.date) == (("1.0",), "2026-11-01")
    assert answer.length.measured_s == 10.0
