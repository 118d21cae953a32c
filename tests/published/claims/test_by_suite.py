"""Suite by suite: which of its conditions the original has, and how long its trials took."""

import pytest

from rmwbench.errors import UserError
from rmwbench.published.claims.by_suite import by_suite
from rmwbench.published.claims.claim_suites import is_of, untested
from rmwbench.published.claims.claims_ledger import ledger
from rmwbench.published.claims.ledger_view import suite_table
from rmwbench.report.view import column
from tests.published.claims.shipped import FILES
from tests.published.claims.test_predicates import FAST, arm, campaign

CHAIN = FILES["hop-chain-2026"]


def rows(file, *campaigns):
    return by_suite([file], ledger([file]), {file.claims: campaigns})


def of_chain(**about):
    return campaign(("imu", arm("rclcpp/cyclonedds", FAST)), suite="chain", **about)


def test_the_originals_conditions_are_told_from_those_that_were_added():
    found = {row.suite: (row.original, row.conditions) for row in rows(FILES["galactic-2020"])}
    assert found == {
        "galactic-2020/spin": (1, 1),
        "galactic-2020/pubsub": (22, 44),
        "galactic-2020/mininet": (30, 30),
        "galactic-2020/interop": (1, 1),
        "galactic-2020/mininet-one-way": (6, 30),
        "galactic-2020/mininet-round-trip": (0, 30),
        "galactic-2020/touch": (11, 66),
        "galactic-2020/wifi": (3, 6),
    }
    (chain,) = rows(CHAIN)
    assert (chain.original, chain.conditions) == (3, 4)


def test_what_was_measured_of_the_original_is_counted_apart():
    ran = campaign(
        ("imu", arm("rclcpp/cyclonedds", FAST)), ("camera_10", arm("zenoh", FAST)), suite="chain"
    )
    (row,) = rows(CHAIN, ran)
    assert (row.measured, row.measured_original) == (2, 1)


@pytest.mark.parametrize("name", FILES)
def test_the_original_is_told_of_suites_that_have_a_row(name):
    file = FILES[name]
    tested = {test.suite for claim in file.items for test in claim.tests}
    assert file.original.keys() <= {*tested, *untested(file)}


@pytest.mark.parametrize("levels", [{"workload": "sonar"}, {"rate_hz": 10}])
def test_an_original_of_a_level_that_the_suite_has_not_is_an_error(levels):
    wrong = CHAIN.model_copy(update={"original": {"hop-chain-2026/chain": levels}})
    with pytest.raises(UserError, match="the suite `hop-chain-2026/chain` has no"):
        rows(wrong)


@pytest.mark.parametrize(
    ("campaigns", "measured", "minutes"),
    [
        ([], "–", "–"),
        ([of_chain()], "1", "–"),
        ([of_chain(wall_s=90.0)], "1", "2"),
        ([of_chain(wall_s=90.0), of_chain(wall_s=40.0)], "1", "2"),
        ([of_chain(wall_s=90.0), of_chain()], "1", "≥ 2"),
    ],
)
def test_a_time_that_campaigns_do_not_tell_is_absent_and_not_zero(campaigns, measured, minutes):
    table = suite_table(rows(CHAIN, *campaigns))
    told = dict(zip((column(one).title for one in table.columns), table.rows[0], strict=True))
    assert (told["measured"], told["minutes"]) == (measured, minutes)


def test_a_suite_that_no_claim_tests_belongs_to_its_source_by_its_whole_name():
    file = FILES["galactic-2020"]
    assert is_of(file, campaign(suite="galactic-2020-wifi"))
    assert not is_of(file, campaign(suite="wifi")), "which is degraded/wifi"
