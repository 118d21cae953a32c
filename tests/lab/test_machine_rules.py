"""The rules that void or flag a trial: each fires at its limit and not before, and none without its probe."""

import pytest

from rmwbench.codes import Code
from rmwbench.lab.machine import RULES, flags, violations, voids


def row(probe, value, at="window"):
    return {"probe": probe, "unit": "fraction", "at": at, "value": value}


def fired(*rows):
    return [(v.rule, v.kind) for v in violations(rows)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.name}-{rule.kind}")
def test_each_rule_fires_beyond_its_limit_and_not_at_it(rule):
    step = -1e-9 if rule.below else 1e-9
    assert (rule.name, rule.kind) not in fired(row(rule.probe, rule.limit))
    assert fired(row(rule.probe, rule.limit + step)) == [(rule.name, rule.kind)]
    assert fired(row(rule.probe, rule.limit + step, at="before")) == []


def test_without_a_probe_nothing_is_said():
    assert fired() == [] == voids([]) == flags([])


def test_a_rule_that_voids_speaks_instead_of_the_flag_of_its_name():
    assert fired(row("steal", 0.5)) == [("steal", "void")]
    assert fired(row("steal", 0.02)) == [("steal", "flag")]


def test_what_the_arm_itself_does_delays_the_canary_but_voids_nothing():
    stalled, late = row("canary_stalled", 0.9), row("canary_late", 0.9)
    assert fired(stalled, late) == [("canary", "void")]
    assert fired(stalled, late, row("own", 0.4)) == [("canary", "void")]
    assert fired(stalled, late, row("own", 0.9)) == [("canary", "flag")]


def test_each_reason_has_the_code_of_its_rule_beside_its_text():
    reasons = voids([row("steal", 0.12), row("throttled", 0.3), row("foreign", 0.9)])
    assert [reason.code for reason in reasons] == [Code.STEAL, Code.THROTTLED]
    assert all(reason.machine for reason in reasons)
    assert reasons[0].text.startswith("machine: steal: the hypervisor took 12.0 %")
    assert [flag.code for flag in flags([row("foreign", 0.9)])] == [Code.FOREIGN]


def test_every_rule_can_be_explained_and_counted():
    for rule in RULES:
        beyond = rule.limit / 2 if rule.below else rule.limit * 2 + 5_000_000 * (rule.unit == "ns")
        (violation,) = [v for v in violations([row(rule.probe, beyond)]) if v.rule == rule.name]
        assert "{" not in violation.text and violation.text
        assert Code(violation.rule) == rule.name


def test_times_are_told_in_milliseconds():
    (reason,) = voids([row("start_late", 3_000_000)])
    assert reason.text == "machine: start_late: the start reached a worker 3.0 ms after its time"
