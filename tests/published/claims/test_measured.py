"""Summaries of measurements: small, complete enough to be judged again with the same answers, and
those that ship."""

import dataclasses

import pytest

from rmwbench.errors import UserError
from rmwbench.published.claims.claims_ledger import ledger
from rmwbench.published.claims.summary import file_name, json_text, machine_summary
from rmwbench.published.summaries import FOLDER, campaigns_of, shipped
from rmwbench.results.model import Estimate, Fact
from rmwbench.suite.file.suite_files import suites_directory
from tests.published.claims.asking import page, today
from tests.published.claims.shipped import FILES
from tests.published.claims.test_predicates import FAST, SLOW, arm, campaign, claims_with, renamed

MACHINE = "2 × Fixture 9000, Linux 6.1, 8 GB"
FACTS = (Fact(name="load average", value="0.10", note=None),)
MOST_BYTES = 2_000_000
SIDES = ("w", arm("rclcpp/a", FAST), arm("rclcpp/b", SLOW))


def run_of(*workloads, **about):
    """Return a campaign that has run on a machine."""
    known = {
        "created_utc": "2026-01-02T03:04:05Z",
        "seed": 7,
        "blocks_complete": 4,
        "machine": MACHINE,
        "facts": FACTS,
    }
    return campaign(*workloads, **{**known, **about})


def test_of_a_suite_that_a_claim_tests_the_arms_over_ros_2s_rmws_are_kept_too():
    """`--by-suite` counts them, and the shipped table is made from the shipped summaries."""
    claims = claims_with(right="b", workload="w")
    median = Estimate(unit="ns", value=1.0)

    def over(rmw):
        known = {"middleware": f"rclcpp/{rmw}", "metrics": {"response_latency_p50": median}}
        values = {"response_latency_p50": dict(enumerate(FAST)), "other": {0: 1.0}}
        return dataclasses.replace(arm(rmw, FAST), per_trial=values, **known)

    workload = ("v", over("rmw_zenoh_cpp"), over("rmw_other_cpp"))
    (kept,) = machine_summary(claims, [run_of(workload)])["campaigns"][0]["workloads"][0]["arms"]
    assert kept["arm"] == "rmw_zenoh_cpp"
    assert list(kept["metrics"]) == list(kept["per_trial"]) == ["response_latency_p50"]
    assert machine_summary(claims, [run_of(workload, suite="another")]) is None


def test_a_campaign_that_ran_for_other_claims_counts_too():
    """A measurement of a claim's own cells is used even if it was made for another claim."""
    claims = claims_with(right="b")
    for_another = run_of(SIDES, claim_ids=("d",))
    (answer,) = today(claims, for_another)
    assert answer.answer == "holds"
    assert machine_summary(claims, [for_another]) is not None


def test_what_another_method_measured_is_refused(tmp_path):
    claims = claims_with(right="b")
    summary = machine_summary(claims, [run_of(SIDES)])
    path = tmp_path / "s" / FOLDER / "one.json"
    path.parent.mkdir(parents=True)
    path.write_text(json_text(summary), encoding="utf-8")
    assert shipped("s", tmp_path) == [summary]
    del summary["campaigns"][0]["method"]
    path.write_text(json_text(summary), encoding="utf-8")
    with pytest.raises(UserError, match="another method") as refused:
        shipped("s", tmp_path)
    assert "method 1" in str(refused.value) and str(path) in str(refused.value)


def test_a_line_per_arm_and_a_name_with_date_and_machine():
    summary = machine_summary(claims_with(right="b"), [run_of(SIDES)])
    assert file_name(summary) == "2026-01-02t0304-2x-fixture-9000.json"
    assert sum(line.startswith('{"arm": ') for line in json_text(summary).splitlines()) == 2


def test_what_a_busy_machine_spoilt_is_kept_with_what_it_spoilt():
    arms = [
        arm(name, values, spoilt_blocks=frozenset({1}), lost_blocks=(9,))
        for name, values in (("rclcpp/a", FAST), ("rclcpp/b", SLOW))
    ]
    summary = machine_summary(claims_with(right="b"), [run_of(("w", *arms))])
    (from_file,) = campaigns_of(summary)
    assert [(one.spoilt_blocks, one.lost_blocks) for one in from_file.workloads[0].arms] == [
        ({1}, (9,))
    ] * 2
    assert summary["campaigns"][0]["workloads"][0]["arms"][0]["left_out"] == [1]


def test_what_says_why_a_percentile_is_missing_is_kept_with_it():
    """A trial without any of the kept values is still known to have been done."""
    values = {"service_latency_p50": dict(enumerate(FAST[:4])), "rss": dict(enumerate(FAST))}
    told = {"undelivered": {4: 0.9}}

    def of(name):
        metrics = {key: Estimate(unit="ns", value=1.0) for key in (*values, *told)}
        return dataclasses.replace(arm(name, FAST), metrics=metrics, per_trial=values | told)

    claims = claims_with(right="b", metric="service_latency_p50")
    summary = machine_summary(claims, [run_of(("w", of("rclcpp/a"), of("rclcpp/b")))])
    kept = summary["campaigns"][0]["workloads"][0]["arms"][0]
    assert list(kept["per_trial"]) == ["service_latency_p50", "undelivered"]
    assert kept["silent_blocks"] == [5]
    (from_file,) = campaigns_of(summary)
    assert from_file.workloads[0].arms[0].blocks == frozenset(range(6))


def test_an_arm_of_which_a_trial_was_done_did_not_lose_all_of_them():
    """In a file it did, where no value of the done trial was kept, and the campaign said no data."""
    nothing = {"unit": "ns", "no_data": "no trial has a value"}
    claims = claims_with(right="b", metric="service_latency_p50")
    lost = renamed(
        arm("rclcpp/a", metric=nothing, lost_blocks=tuple(range(6)), silent_blocks=(6,)),
        "service_latency_p50",
    )
    other = renamed(arm("rclcpp/b", FAST), "service_latency_p50")
    (answer,) = today(claims, campaign(("w", lost, other)))
    assert answer.answer == "no data"


def test_two_machines_are_not_mixed():
    with pytest.raises(UserError, match="two machines"):
        machine_summary(claims_with(right="b"), [run_of(SIDES), run_of(SIDES, machine="another")])


def test_campaigns_of_ones_own_come_before_what_ships_and_data_before_none():
    claims = claims_with(right="b")
    from_file = campaigns_of(machine_summary(claims, [run_of(SIDES, name="shipped")]))
    mine = run_of(("w", arm("rclcpp/a", SLOW), arm("rclcpp/b", FAST)), name="mine")
    empty = {"unit": "ns", "no_data": "nothing"}
    none = run_of(
        ("w", arm("rclcpp/a", metric=empty), arm("rclcpp/b", metric=empty)),
        name="none",
        machine="none",
    )
    made = ledger([claims], [none, mine], shipped={"s": from_file})
    (claim,) = made.claims
    assert [(one.campaign, one.answer) for one in claim.measured] == [
        ("mine", "does not hold"),
        ("shipped", "holds"),
        ("none", "no data"),
    ]
    assert made.summary.answers == {"does not hold": 1}


def shipped_on(claims, left, right, machine, **about):
    cells = ("w", arm("rclcpp/a", left), arm("rclcpp/b", right))
    return campaigns_of(machine_summary(claims, [run_of(cells, machine=machine, **about)]))


def test_machines_that_decide_the_contrary_are_said_to_differ():
    claims = claims_with(right="b")
    made = ledger(
        [claims],
        shipped={
            "s": [*shipped_on(claims, FAST, SLOW, "one"), *shipped_on(claims, SLOW, FAST, "two")]
        },
    )
    (claim,) = made.claims
    assert claim.state == "machines differ" and made.summary.states["machines differ"] == 1
    assert "machines differ: " in page(made)


def test_campaigns_of_one_machine_are_pooled_by_their_blocks():
    claims = claims_with(right="b")
    days = [
        shipped_on(claims, FAST[:3], SLOW[:3], "one", name="first"),
        shipped_on(
            claims, FAST[3:], SLOW[3:], "one", name="second", created_utc="2026-01-03T03:04:05Z"
        ),
    ]
    for one, other in (days, days[::-1]):
        (claim,) = ledger([claims], shipped={"s": [*one, *other]}).claims
        (pooled,) = claim.measured
        assert (pooled.answer, pooled.blocks, pooled.date) == ("holds", 6, "2026-01-03")
        assert (pooled.campaigns, pooled.campaign) == (("first", "second"), "second")
        assert [block for block, _ in pooled.cells[0].left_trials] == list(range(6))
    (alone,) = ledger([claims], shipped={"s": days[0]}).claims[0].measured
    assert (alone.answer, alone.leans, alone.blocks) == ("undecided", "holds", 3)


def test_a_file_that_is_not_a_summary(tmp_path):
    folder = tmp_path / "s" / FOLDER
    folder.mkdir(parents=True)
    (folder / "x.json").write_text('{"schema": "else", "version": 1}')
    with pytest.raises(UserError, match="another kind"):
        shipped("s", tmp_path)
    (folder / "x.json").write_text("no JSON")
    with pytest.raises(UserError, match="not a summary"):
        shipped("s", tmp_path)


def test_what_ships_is_small_and_speaks_of_claims_or_of_their_suites():
    paths = sorted(suites_directory().glob(f"**/{FOLDER}/*"))
    assert sum(path.stat().st_size for path in paths) < MOST_BYTES
    assert {path.suffix for path in paths} <= {".json"}
    for name, file in FILES.items():
        for summary in shipped(name):
            assert summary["source"] == name
            campaigns = campaigns_of(summary)
            assert all(one.workloads for one in campaigns)
            answered = [
                claim.id
                for claim in file.items
                if any(today(file, one, claim=claim) for one in campaigns)
            ]
            spoken_of = answered or all(file.has(one.suite) for one in campaigns)
            assert spoken_of, f"{name}: a summary that speaks of no claim and of no suite of it"
