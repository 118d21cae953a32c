"""Suite by suite: which of its conditions the original has, and how long its trials took."""

from dataclasses import replace

import pytest

from rmwbench.errors import UserError
from rmwbench.published.claims.by_suite import by_suite
from rmwbench.published.claims.claims_ledger import ledger
from rmwbench.published.claims.ledger_view import suite_table
from tests.published.claims.shipped import FILES

CHAIN = FILES["hop-chain-2026"]


def rows(file, *campaigns):
    return by_suite([file], ledger([file]), {file.claims: campaigns})


def test_the_originals_conditions_are_told_from_those_that_were_added():
    conditions = {row.suite: (row.original, row.conditions) for row in rows(FILES["galactic-2020"])}
    assert conditions == {
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


@pytest.mark.parametrize("levels", [{"workload": "sonar"}, {"rate_hz": 10}])
def test_an_original_of_a_level_that_the_suite_has_not_is_an_error(levels):
    wrong = CHAIN.model_copy(update={"original": {"hop-chain-2026/chain": levels}})
    with pytest.raises(UserError, match="the suite `hop-chain-2026/chain` has no"):
        rows(wrong)


def test_a_suite_that_no_claim_tests_belongs_to_its_source_by_its_whole_name():
    file = FILES["galactic-2020"]
    assert file.has("galactic-2020-wifi")
    assert not file.has("wifi"), "which is degraded/wifi"


@pytest.mark.parametrize(
    ("took_s", "untimed", "minutes"),
    [
        (20.0, 0, "< 1"),
        (20.0, 1, "> 0"),
        (100.0, 0, "2"),
        (100.0, 1, "≥ 1"),
        (120.0, 1, "≥ 2"),
        (None, 1, "–"),
    ],
)
def test_the_minutes_of_trials_are_a_lower_bound_where_some_campaign_does_not_say_them(
    took_s, untimed, minutes
):
    (row,) = rows(CHAIN)
    (cells,) = suite_table([replace(row, took_s=took_s, untimed=untimed)]).rows
    assert cells[-1] == minutes
