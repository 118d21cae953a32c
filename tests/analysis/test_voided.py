"""A trial's reason names the rules that made it void."""

import pytest

from rmwbench.analysis.voided import rules_in


@pytest.mark.parametrize(
    ("reason", "rules"),
    [
        ("machine: steal: 3 % of processor time was taken", ["steal"]),
        ("path: asked for shm, but only 2 % of the bytes took it: lo 98 %; type: not plain", ["path"]),
        ("granted: endpoint 1 asked for depth 5; granted: endpoint 2 asked for depth 5", ["granted"]),
        ("records: endpoint 1 had 9; machine: canary: slept; path: asked for shm", ["records", "canary", "path"]),
        ("granted: endpoint 1 asked for machine: steal: x", ["granted"]),
        ("worker died of signal 9", []),
        ("", []),
        (None, []),
    ],
)
def test_rules_are_read_from_the_reason(reason, rules):
    assert rules_in(reason) == rules
