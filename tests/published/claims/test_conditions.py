"""What the shipped claims ask is what their sources say: over the transport that was theirs, in the
kind of memory that was theirs, of a machine that may be theirs; and a statement that something can
be is not refuted by one case in which it is not."""

import dataclasses
import re
from functools import cache

import pytest

from rmwbench.published.claims.claims_file import Claim
from rmwbench.published.claims.judging.proxies import of_class
from rmwbench.results.model import Fact
from rmwbench.suite.file.load import load as load_suite
from tests.published.claims.shipped import FILES
from tests.published.claims.test_predicates import arm, asked, campaign, one

OVER_UDP = ("pipeline-2021", "hop-chain-2026")
"""Sources whose Fast DDS went over UDP: it was set to, or shared memory was switched off."""
BY_ITSELF = ("fastdds", "rclcpp/rmw_fastrtps_cpp")
"""Goes through shared memory on one host, unless it is told not to."""
ABLE = re.compile(r"\b(can|may|might|could|differs?)\b")
MECHANISMS = {
    "fd-ds-dynamic": "adding a server is done, and what becomes of it is measured",
    "fd-fl-priority": "the controller that puts small data first is set",
    "fd-rt-blocking": "the limit is set, and the call is to keep it",
}
"""Claims that something can be done, whose one cell does it."""


suite_of = cache(load_suite)


OF_TRANSPORTS = "kr-hosts-shm"
"""Compares shared memory with UDP."""


@pytest.mark.parametrize("name", OVER_UDP)
def test_fast_dds_goes_over_udp_where_the_originals_did(name):
    file = FILES[name]
    found = {}
    others = (claim for claim in file.items if claim.id != OF_TRANSPORTS)
    for test in (test for claim in others for test in claim.tests):
        arms = {arm.name: arm for arm in suite_of(test.suite).arms}
        for side in filter(None, (test.left, test.right)):
            found |= {one: arms[one] for one in file.sides[side] if one in arms}
    fast = [arm for arm in found.values() if arm.middleware in BY_ITSELF]
    assert {arm.middleware for arm in fast} == set(BY_ITSELF), "at both layers"
    assert {arm.modes.get("transport") for arm in fast} == {"udp"}


def test_memory_of_eprosimas_report_is_resident_memory():
    claims = [
        claim
        for claim in FILES["fastdds-2021"].items
        if claim.tests and "memory" in claim.says.casefold()
    ]
    assert len(claims) > 8
    metrics = {name for claim in claims for test in claim.tests for name in test.metrics}
    assert {name for name in metrics if name.startswith("pss")} == set()


def claims_that_something_can_be() -> list[Claim]:
    return [
        claim
        for file in FILES.values()
        for claim in file.items
        if claim.tests and ABLE.search(claim.says)
    ]


def test_one_case_against_it_does_not_refute_that_something_can_be():
    wrong = [
        claim.id
        for claim in claims_that_something_can_be()
        if claim.id not in MECHANISMS
        and any(
            test.relation in ("less", "greater") and not (test.cells and test.cells.at_least)
            for test in claim.tests
        )
    ]
    assert wrong == []
    assert MECHANISMS.keys() <= {claim.id for claim in claims_that_something_can_be()}


@pytest.mark.parametrize(("cores", "is_theirs"), [("6 of 6", True), ("4 of 4", False)])
def test_kronauers_desktop_has_six_processors(cores, is_theirs):
    facts = (
        Fact(name="cores", value=cores, note=None),
        Fact(name="virtualization", value="none", note=None),
    )
    assert of_class(FILES["pipeline-2021"].conditions, campaign(facts=facts)) is is_theirs


@pytest.mark.parametrize(
    ("missing_s", "answer"), [(0.0, "holds"), (0.1, "holds"), (0.3, "does not hold")]
)
def test_what_was_sent_before_the_match_counts_where_the_original_counts_it(missing_s, answer):
    """Nothing is lost after the match: `undelivered` would be 0 in each of these."""
    (claim,) = (one for one in FILES["galactic-2020"].items if one.id == "ga-231-five")
    test = next(test for test in claim.tests if test.metric != "service_latency_p50")
    arrived = [30 * (15 - missing_s) / 15 - 1 / 15 + block / 1000 for block in range(6)]
    made = arm("rclcpp/a", arrived)
    made = dataclasses.replace(
        made, metrics={test.metric: made.metrics["m"]}, per_trial={test.metric: made.per_trial["m"]}
    )
    claims = asked(metric=test.metric, relation=test.relation, level=test.level)
    assert one(claims, campaign(("w", made))).answer == answer
