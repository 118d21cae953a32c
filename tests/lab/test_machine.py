"""The machine card and the probes: absent is None, shares add up, and every warning has its cause."""

import copy
import json

import pytest

from rmwbench.lab import machine
from rmwbench.lab.machine import card
from rmwbench.lab.machine.probe import Ticks, read_ticks, window_probes


def test_the_card_is_json_and_has_what_a_reader_needs():
    found = json.loads(json.dumps(machine.describe()))
    assert {"summary", "facts", "warnings", "hardware", "kernel", "sysctls", "state"} == set(found)
    assert found["hardware"]["cores_usable"] >= 1 and found["hardware"]["memory_bytes"] > 1 << 20
    names = {fact["name"] for fact in found["facts"]}
    assert {"cores", "frequency governor", "kernel", "clock source", "net.core.rmem_max", "steal since boot"} <= names
    assert all(isinstance(fact["value"], str) and fact["value"] not in ("None", "[]", "") for fact in found["facts"])
    assert set(found["sysctls"]) == set(card.SYSCTLS)


def test_what_cannot_be_read_is_absent_and_not_zero(monkeypatch):
    monkeypatch.setattr(card, "_read", lambda path: None)
    hardware = card.hardware()
    for key in ("cpu_model", "smt_active", "governor", "turbo", "idle_driver", "memory_bytes"):
        assert hardware[key] is None, key
    assert set(card.sysctls().values()) == {None}


@pytest.fixture
def quiet_machine():
    """A card on which nothing is to be said."""
    raw = copy.deepcopy(
        {k: v for k, v in machine.describe().items() if k in ("hardware", "kernel", "sysctls", "state")}
    )
    raw["hardware"] |= {
        "cores_online": 8, "cores_usable": 8, "virtualization": None, "governor": "performance",
        "container": {}, "swap_bytes": 1 << 30,
    }  # fmt: skip
    raw["state"] |= {"steal_fraction_since_boot": 0.0, "load_1min": 0.1}
    raw["sysctls"]["net.core.rmem_max"] = str(1 << 26)
    raw["kernel"]["clocksource"] = "tsc"
    assert card.warnings(raw) == []
    return raw


@pytest.mark.parametrize(
    ("part", "key", "value", "word"),
    [
        ("hardware", "cores_usable", 2, "cores"),
        ("hardware", "virtualization", "hypervisor", "virtual machine"),
        ("hardware", "governor", "powersave", "governor"),
        ("hardware", "container", {"cpu_quota_cores": 1.5}, "quota"),
        ("state", "steal_fraction_since_boot", 0.2, "hypervisor"),
        ("state", "load_1min", 7.0, "load average"),
        ("sysctls", "net.core.rmem_max", "212992", "rmem_max"),
        ("kernel", "clocksource", "hpet", "clock source"),
    ],
)
def test_each_warning_has_its_cause(quiet_machine, part, key, value, word):
    quiet_machine[part][key] = value
    found = card.warnings(quiet_machine)
    assert found and word in found[0]


def test_ticks_are_read_from_the_kernels_first_line():
    text = "cpu  100 10 40 800 20 3 7 5 99 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
    assert read_ticks(text) == Ticks(busy=153, idle=820, softirq=7, steal=5)  # guest time (99) is part of user time
    assert read_ticks("cpu 1 2 3 4\n") == Ticks(busy=6, idle=4, softirq=0, steal=0)  # an old kernel's short line


def test_window_shares_add_up_and_no_tick_is_no_share():
    begin, end = Ticks(100, 1000, 10, 5), Ticks(150, 1030, 14, 21)
    rows = {row["probe"]: row["value"] for row in window_probes(begin, end)}
    assert sum(rows.values()) == pytest.approx(1.0) and rows["steal"] == 0.16 and rows["idle"] == 0.3
    assert window_probes(begin, begin) == []


def test_the_idle_probe_sees_sleeps_that_end_late_never_early():
    rows = {row["probe"]: row["value"] for row in machine.idle_probe()}
    assert 0 < rows["sleep_overshoot_median"] <= rows["sleep_overshoot_max"]
    assert rows["runnable_tasks"] >= 0
