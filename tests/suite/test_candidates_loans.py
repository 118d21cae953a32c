"""Where one middleware of a comparison publishes by loan, all that lend do: else it is the fastest
because it alone is spared a copy. Whether one lends, its worker says."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from rmwbench.lab.middleware import find_workers
from rmwbench.suite.file.candidates_file import known_candidates
from rmwbench.suite.file.suite_files import shipped_suites
from tests.suite.test_candidates import shipped_arms

NOT_BY_LOAN = {
    # its question is what rclcpp delivers within a process, where iceoryx2 is a yardstick
    "rclcpp-intraprocess-2019",
    # the published original compared its own loans alone, by rclcpp, which lends for Fast DDS alone
    "fastdds-2021/interprocess",
}
"""Suites of published sources, which have the arms that the source had."""


def lending(middlewares: Iterable[str]) -> list[str]:
    """Those that lend by their workers' own word; skips where one is not built."""
    wanted = {name for name in middlewares if not name.startswith(("rclcpp/", "rclpy/"))}
    workers = find_workers(wanted)
    missing = sorted(
        name for name in wanted if name not in workers or workers[name].description is None
    )
    if missing:
        pytest.skip(f"not built, so nobody says whether they lend: {', '.join(missing)}")
    return [
        name
        for name in sorted(wanted)
        if not str(workers[name].description["capabilities"]["loan"]).startswith("no")
    ]


def without_loan(name: str) -> list[str]:
    """The set's middlewares of which no candidate publishes by loan and that do not say why, where
    another candidate of the set does."""
    known = known_candidates()
    arms = [member.arm for member in known.of_set(name)]
    lent, excused = _by_loan(arms), known.no_loan[name]
    rest = dict.fromkeys(arm["middleware"] for arm in arms)
    return [name for name in rest if lent and name not in lent and name not in excused]


def test_in_a_set_with_a_loan_all_that_lend_have_one():
    known = known_candidates()
    for name in known.sets:
        assert lending(without_loan(name)) == [], name
    assert "zenoh" not in without_loan("quick")  # and it is no accident that nothing is left
    lent = {member.arm["middleware"] for member in known.of_set("loan")}
    assert lent == {"iceoryx2", "zenoh", "cyclonedds", "fastdds"}


def test_the_floor_of_a_set_with_loans_has_one_by_loan_and_one_by_copy():
    known = known_candidates()
    for name in known.sets:
        floors = [member.arm for member in known.of_set(name) if member.layer == "floor"]
        if floors:
            by_loan = any(member.arm.get("loan") for member in known.of_set(name))
            assert {bool(member.get("loan")) for member in floors} == (
                {False, True} if by_loan else {False}
            )


def _by_loan(arms: Iterable[Mapping[str, Any]]) -> set[str]:
    return {arm["middleware"] for arm in arms if arm.get("loan")}


def test_in_a_suite_with_a_loan_all_that_lend_have_one():
    for suite in shipped_suites():
        arms = shipped_arms(suite)
        lent = _by_loan(arms)
        if not lent or suite in NOT_BY_LOAN:
            continue
        rest = {
            arm["middleware"]
            for arm in arms
            if arm["middleware"] not in lent and not arm.get("optional")
        }
        assert lending(rest) == [], suite


def test_a_set_in_which_nobody_publishes_by_loan_asks_for_none():
    assert without_loan("native") == [] and without_loan("ros2") == []
