"""The rules that void or flag a trial: each fires at its limit and not before, and none without its
probe."""

import pytest

from rmwbench.codes import Code
from rmwbench.lab.machine import RULES, EdgeReading, Ticks, edge_probes, flags, violations, voids

TICK = 10_000_000  # ns


def row(probe, value, at="window"):
    return {"probe": probe, "unit": "fraction", "at": at, "value": value}


def fired(*rows):
    return [(v.rule, v.kind) for v in violations(rows)]


def beyond(rule, value):
    """The rule's probe at `value`, and those that it needs beyond their limits."""
    return [row(rule.probe, value), *(row(probe, limit + 1.0) for probe, limit in rule.only_with)]


def window(busy, idle, steal, window_ns):
    """The probes of a window of that length, in ticks of all processors."""
    begin, end = (
        EdgeReading(ticks, ns, ns, None, 2)
        for ticks, ns in ((Ticks(0, 0, 0, 0), 0), (Ticks(busy, idle, 0, steal), window_ns))
    )
    return edge_probes(begin, end)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.name}-{rule.kind}")
def test_each_rule_fires_beyond_its_limit_and_not_at_it(rule):
    step = -1e-9 if rule.below else 1e-9
    assert (rule.name, rule.kind) not in fired(*beyond(rule, rule.limit))
    assert fired(*beyond(rule, rule.limit + step)) == [(rule.name, rule.kind)]
    assert fired(row(rule.probe, rule.limit + step, at="before")) == []


def test_a_rule_that_voids_speaks_instead_of_the_flag_of_its_name():
    stolen = row("stolen", 0.1), row("stolen_ticks", 5)
    assert fired(row("steal", 0.5), *stolen) == [("steal", "void")]
    assert fired(row("steal", 0.02), *stolen) == [("steal", "flag")]


def test_a_stolen_tick_or_two_of_a_few_void_nothing():
    """CI on a shared machine: 33 % of three ticks in a window of 0.6 s; `quick` on a quiet one: all
    of two ticks in a window of 0.25 s. Both with two processors."""
    assert fired(*window(2, 117, 1, 60 * TICK)) == [("steal", "flag")]
    assert fired(*window(0, 48, 2, 25 * TICK)) == [("steal", "flag")]
    assert fired(*window(60, 138, 2, 100 * TICK)) == [("steal", "flag")]


@pytest.mark.parametrize(("busy", "steal"), [(160, 18), (54, 6)])
def test_a_tenth_of_what_was_asked_for_voids_busy_and_light_arms_alike(busy, steal):
    assert ("steal", "void") in fired(*window(busy, 200 - busy - steal, steal, 100 * TICK))


def test_what_the_arm_itself_does_delays_the_canary_but_voids_nothing():
    stalled, late = row("canary_stalled", 0.9), row("canary_late", 0.9)
    assert fired(stalled, late) == [("canary", "void")]
    assert fired(stalled, late, row("own", 0.4)) == [("canary", "void")]
    assert fired(stalled, late, row("own", 0.9)) == [("canary", "flag")]


def test_each_reason_has_the_code_of_its_rule_beside_its_text():
    reasons = voids(
        [
            row("steal", 0.12),
            row("stolen", 0.1),
            row("stolen_ticks", 5),
            row("throttled", 0.3),
            row("foreign", 0.9),
        ]
    )
    assert [reason.code for reason in reasons] == [Code.STEAL, Code.THROTTLED]
    assert all(reason.machine for reason in reasons)
    assert reasons[0].text.startswith("machine: steal: the hypervisor took 12.0 %")
    assert [flag.code for flag in flags([row("foreign", 0.9)])] == [Code.FOREIGN]


def test_every_rule_can_be_explained_and_counted():
    for rule in RULES:
        value = rule.limit / 2 if rule.below else rule.limit * 2 + 5_000_000 * (rule.unit == "ns")
        (violation,) = [v for v in violations(beyond(rule, value)) if v.rule == rule.name]
        assert "{" not in violation.text and violation.text
        assert Code(violation.rule) == rule.name
