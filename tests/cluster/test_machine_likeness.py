"""Which machines are alike."""

import copy

import pytest

from rmwbench.cluster.machine_likeness import differences, facts, fingerprint, groups
from rmwbench.lab import machine

CARD = machine.describe()


def changed(document, name, value):
    other = copy.deepcopy(CARD)
    other[document][name] = value
    return facts(other)


@pytest.mark.parametrize(
    ("document", "name", "value"),
    [
        ("hardware", "cpu_model", "another"),
        ("hardware", "cores_usable", 96),
        ("hardware", "governor", "powersave"),
        ("kernel", "release", "6.1.0-other"),
        ("sysctls", "net.core.rmem_max", "1"),
    ],
)
def test_what_changes_the_cost_of_a_message_makes_another_machine(document, name, value):
    ours, theirs = facts(CARD), changed(document, name, value)
    assert fingerprint(ours) != fingerprint(theirs)
    assert " instead of " in differences(ours, theirs) and differences(ours, theirs).count(",") == 0


@pytest.mark.parametrize(
    ("ours_kb", "theirs_kb", "alike"),
    [
        (16_251_480, 16_277_888, True),
        (16_251_480, 32_800_000, False),
        (11_900_000, 16_250_000, False),
    ],
)
def test_the_memory_of_like_machines_differs_by_what_the_firmware_keeps(ours_kb, theirs_kb, alike):
    ours, theirs = (changed("hardware", "memory_bytes", kb * 1024) for kb in (ours_kb, theirs_kb))
    assert (len(groups([("a", ours), ("b", theirs)])) == 1) is alike
    assert (differences(ours, theirs) == "") is alike
    assert fingerprint(ours) == fingerprint(theirs)


def test_the_largest_group_comes_first_and_of_equal_ones_the_first_seen():
    ours, theirs = facts(CARD), changed("kernel", "release", "6.1.0-other")
    assert groups([("a", theirs), ("b", ours), ("c", ours)]) == [["b", "c"], ["a"]]
    assert groups([("a", theirs), ("b", ours)]) == [["a"], ["b"]]
    assert groups([]) == []
