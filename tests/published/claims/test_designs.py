"""What a claim's answer lacks, and a bar that would need more than any run has."""

from dataclasses import replace

import pytest

from rmwbench.published.claims.by_suite import by_suite
from rmwbench.published.claims.claims_file import Conditions
from rmwbench.published.claims.claims_ledger import ledger
from rmwbench.published.claims.claims_plan import undecidable
from rmwbench.published.claims.derived_suite import LONGEST_S, MOST_BLOCKS
from rmwbench.published.claims.judging.campaign_answers import ConditionCounts, TrialLength
from rmwbench.published.claims.sentences import results
from rmwbench.published.claims.summary import shipped_of
from tests.published.claims.asking import judged, today
from tests.published.claims.shipped import FILES
from tests.published.claims.test_predicates import (
    FAST,
    SLOW,
    arm,
    campaign,
    claims_with,
    metric,
    renamed,
)


def of_length(steady_s, *workloads, **about):
    made = campaign(*workloads, **about)
    return replace(made, workloads=tuple(replace(w, steady_s=steady_s) for w in made.workloads))


SIDES = (arm("rclcpp/a", FAST), arm("rclcpp/b", SLOW))


@pytest.mark.parametrize(
    ("measured_s", "codes"), [(1.1, ("length",)), (27.0, ()), (25.0, ()), (None, ("length",))]
)
def test_a_short_trial_is_a_proxy_of_a_long_run(measured_s, codes):
    file = claims_with(right="b").model_copy(update={"lasts_s": {"f/s": 27.0}})
    claim = judged(file, of_length(measured_s, ("w", *SIDES)))
    (answer,) = claim.measured
    assert answer.proxy_codes == codes
    assert answer.length == TrialLength(measured_s, 27.0)
    assert answer.verdict == ("proxy" if codes else "supported")
    told = f"holds (proxy: length {measured_s or 'unknown'} of 27 s)"
    assert (told in results(claim)) == bool(codes)


def test_cells_that_were_not_measured_are_conditions_too():
    claim = judged(
        claims_with(right="b", cells={"of": 3, "at_least": 1}),
        campaign(("w", *SIDES), ("v", *SIDES)),
    )
    assert claim.measured[0].conditions == ConditionCounts(2, 3)
    assert "holds (proxy: conditions 2 of 3)" in results(claim)


def test_a_payload_that_was_read_is_not_pooled_with_one_that_was_not():
    """On one machine and at one layer, each has its own answer, and the original's treatment stands
    first."""
    file = claims_with(right="b").model_copy(
        update={"conditions": Conditions(touch="none"), "original": {"f/s": {}}}
    )
    campaigns = [
        campaign(
            ("w", arm("rclcpp/a", a, touch=touch), arm("rclcpp/b", b, touch=touch)), machine="m"
        )
        for a, b, touch in ((SLOW * 3, FAST * 3, "all"), (FAST, SLOW, "none"))
    ]
    first, second = today(file, *campaigns)
    assert (first.answer, first.blocks) == ("holds", 6) and "touch" not in first.proxy_codes
    assert (second.answer, second.blocks) == ("does not hold", 18)
    assert "touch" in second.proxy_codes


@pytest.mark.parametrize(("level", "undecidable"), [(0.0005, True), (0.005, False)])
def test_a_bar_that_no_run_has_messages_for_is_undecidable(level, undecidable):
    """500 messages in five trials of 2 s: 50 per second, 36 000 in twelve trials of a minute."""
    file = claims_with(level=level, workload="w", metric="loss")
    none = metric(0, 0, 0.1, unit="fraction", count=500, trials=5)
    lossless = renamed(arm("rclcpp/a", [0.0] * 5, metric=none), "loss")
    claim = judged(file, of_length(2.0, ("w", lossless)))
    (answer,) = claim.measured
    assert answer.answer == "undecided"
    assert (claim.state == "undecidable") == undecidable
    takes = answer.cells[0].takes
    assert takes.blocks == MOST_BLOCKS
    assert takes.messages == pytest.approx(50 * MOST_BLOCKS * takes.steady_s, rel=0.01)
    assert (takes.steady_s > LONGEST_S) == undecidable
    assert ("undecidable" in results(claim)) == undecidable


def test_a_shipped_bar_that_is_too_fine_says_what_it_takes():
    source = FILES["gscam-2025"]
    states = {
        claim.claim.id: claim for claim in ledger([source], shipped=shipped_of([source])).claims
    }
    for name in ("gs-paradox", "gs-pool-60-512-1400", "gs-zenoh-no-loss"):
        assert states[name].state == "undecidable"
        takes = states[name].measured[0].takes.text()
        assert takes in undecidable([source])[name]
    never = {name for name, claim in states.items() if claim.state == "undecidable"}
    assert undecidable([source]).keys() == never, "and nothing else is not tried"


def test_short_trials_are_not_conditions_of_the_original():
    chain = FILES["hop-chain-2026"].model_copy(update={"lasts_s": {"hop-chain-2026/chain": 60.0}})
    for seconds, as_long in ((1.1, 0), (60.0, 1)):
        ran = of_length(seconds, ("imu", arm("rclcpp/cyclonedds", FAST)), suite="chain")
        (row,) = by_suite([chain], ledger([chain]), {chain.claims: [ran]})
        assert (row.measured_original, row.as_long) == (1, as_long)
