"""The machine card and the probes: absent is None, and shares add up. The service that keeps the
clock: from answers of programs that are not installed where the tests run, and from the kernel's.
The rules that void or flag a trial: each fires at its limit and not before, and none without its
probe."""

import json
import os

import pytest

from rmwbench.codes import Code
from rmwbench.lab import kernel_files, machine
from rmwbench.lab.host.host import available_memory_bytes
from rmwbench.lab.machine import RULES, flags, machine_card, machine_facts, probe, violations, voids
from rmwbench.lab.machine.probe import (
    EdgeReading,
    Ticks,
    attributed_probes,
    awake_as_idle,
    edge_probes,
    read_clocks,
    read_edge,
    read_ticks,
    window_probes,
)
from rmwbench.lab.machine.timekeeping import keeper, kernel, parse_chrony, parse_ptp, timekeeping


def test_the_card_is_json_and_has_what_a_reader_needs():
    described = json.loads(json.dumps(machine.describe()))
    assert {"summary", "facts", "warnings", "hardware", "kernel", "sysctls", "state"} == set(
        described
    )
    assert (
        described["hardware"]["cores_usable"] >= 1
        and described["hardware"]["memory_bytes"] > 1 << 20
    )
    names = {fact["name"] for fact in described["facts"]}
    assert {
        "cores",
        "frequency governor",
        "kernel",
        "clock source",
        "net.core.rmem_max",
        "steal since boot",
    } <= names
    assert all(
        isinstance(fact["value"], str) and fact["value"] not in ("None", "[]", "")
        for fact in described["facts"]
    )
    assert set(described["sysctls"]) == set(machine_card.SYSCTLS)


def test_what_cannot_be_read_is_absent_and_not_zero(monkeypatch):
    for module in (machine_card, kernel_files):
        monkeypatch.setattr(module, "file_text", lambda path: None)
    hardware = machine_card.hardware()
    for key in ("cpu_model", "smt_active", "governor", "turbo", "idle_driver", "memory_bytes"):
        assert hardware[key] is None, key
    assert set(machine_card.sysctls().values()) == {None}


def test_own_control_groups_are_version_2s_and_the_controllers_of_version_1(monkeypatch):
    text = "4:cpu,cpuacct:/robot\n1:name=systemd:/x\n0::/user"
    monkeypatch.setattr(kernel_files, "file_text", lambda path: text)
    root = kernel_files.CONTROL_GROUPS
    version2 = {root: root / "user", root / "unified": root / "unified/user"}
    assert kernel_files.own_groups("cpu") == {root / "cpu": root / "cpu/robot"} | version2
    assert kernel_files.own_groups("memory") == version2


@pytest.mark.parametrize(
    ("controller", "files", "limits"),
    [
        ("cpu", {"cpu.cfs_quota_us": 150000, "cpu.cfs_period_us": 100000}, 1.5),
        ("cpu", {"cpu.cfs_quota_us": -1, "cpu.cfs_period_us": 100000}, None),
        ("user", {"cpu.max": "250000 100000"}, 2.5),
        ("user", {"cpu.max": "max 100000"}, None),
        ("user", {}, None),
    ],
)
def test_a_cpu_quota_is_read_in_both_versions(monkeypatch, tmp_path, controller, files, limits):
    root = tmp_path / controller
    root.mkdir()
    for name, value in files.items():
        (root / name).write_text(f"{value}\n")
    monkeypatch.setattr(kernel_files, "own_groups", lambda controller: {root: root})
    assert machine_card.hardware()["container"].get("cpu_quota_cores") == limits


def test_the_limits_of_the_groups_above_hold_too(monkeypatch, tmp_path):
    """A slice has the quota, and the scope of a session in it has none of its own."""
    session = tmp_path / "user.slice" / "session.scope"
    session.mkdir(parents=True)
    for name, value in {"cpu.max": "150000 100000", "memory.max": 1 << 30, "pids.max": 99}.items():
        (session.parent / name).write_text(f"{value}\n")
    (session / "cpu.max").write_text("max 100000\n")
    (session / "memory.max").write_text(f"{1 << 32}\n")
    monkeypatch.setattr(kernel_files, "own_groups", lambda controller: {tmp_path: session})
    limits = machine_card.hardware()["container"]
    assert limits == {"cpu_quota_cores": 1.5, "memory_bytes": 1 << 30}
    assert machine_card.container_processes() == 99


@pytest.mark.parametrize(
    ("root", "limit", "used", "prefix"),
    [
        ("user", "memory.max", "memory.current", ""),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    ],
)
def test_the_available_memory_is_that_of_the_container(
    monkeypatch, tmp_path, root, limit, used, prefix
):
    """Of 3 MiB, 2 are used, and one of them by the cache of files."""
    group = tmp_path / root
    group.mkdir()
    (group / limit).write_text(f"{3 << 20}\n")
    (group / used).write_text(f"{2 << 20}\n")
    cached = f"{prefix}active_file {1 << 19}\n{prefix}inactive_file {1 << 19}\n"
    (group / "memory.stat").write_text(f"anon 5\n{cached}")
    monkeypatch.setattr(kernel_files, "own_groups", lambda controller: {group: group})
    assert available_memory_bytes() == 2 << 20


def test_ticks_are_those_of_the_processors_that_a_trial_may_use():
    """Two of eight, both busy: nothing of theirs is idle, whatever the other six are."""
    lines = [f"cpu{n} {(100, 0)[n > 1]} 0 0 {(0, 100)[n > 1]} 0 0 0 {n}" for n in range(8)]
    text = "\n".join(["cpu 200 0 0 600 0 0 0 28", *lines, "intr 1"])
    assert read_ticks(text, {0, 1}) == Ticks(busy=200, idle=0, softirq=0, steal=1)
    assert read_ticks(text, range(8)) == Ticks(busy=200, idle=600, softirq=0, steal=28)


def test_ticks_of_a_file_with_other_processors_are_of_those_that_it_lists(monkeypatch, tmp_path):
    """A container may use four processors, and its file has one: a share of four was a quarter."""
    stat = tmp_path / "stat"
    stat.write_text("cpu 90 0 0 10\ncpu0 90 0 0 10\n")
    monkeypatch.setattr(probe, "_STAT", stat)
    monkeypatch.setattr(probe, "usable_processors", lambda: {0, 1, 2, 3})
    edge = probe.read_edge()
    assert edge.ticks == Ticks(busy=90, idle=10, softirq=0, steal=0) and edge.processors == 1
    stat.write_text("cpu 90 0 0 10\n")
    assert probe.read_edge().processors == 4


@pytest.mark.parametrize("quota, files", [("max 50000", 0), ("max 100000", 0), ("50000 100000", 1)])
def test_only_a_group_with_a_quota_can_be_throttled(monkeypatch, tmp_path, quota, files):
    """A period without a quota was taken for one: the share of 0 said that nothing throttled."""
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    monkeypatch.setattr(kernel_files, "own_groups", lambda controller: {tmp_path: tmp_path})
    assert len(probe._throttled_files.__wrapped__()) == files


def test_the_median_of_an_even_number_of_sleeps_is_the_mean_of_the_middle_two(monkeypatch):
    times = iter([0, 1_010_000, 0, 1_020_000, 0, 1_900_000, 0, 2_000_000])
    monkeypatch.setattr(probe.time, "monotonic_ns", lambda: next(times))
    monkeypatch.setattr(probe.time, "sleep", lambda seconds: None)
    rows = {row["probe"]: row["value"] for row in probe.idle_probe()}
    assert rows["sleep_overshoot_median"] == 460_000


def test_window_shares_add_up_and_no_tick_is_not_a_share():
    begin, end = Ticks(100, 1000, 10, 5), Ticks(150, 1030, 14, 21)
    rows = {row["probe"]: row["value"] for row in window_probes(begin, end)}
    shares = [rows[name] for name in ("busy", "idle", "softirq")]
    assert sum(shares) == pytest.approx(1.0 - 16 / 100) and rows["idle"] == 0.3
    assert window_probes(begin, begin) == []


def test_steal_is_a_share_of_what_was_demanded():
    """A hypervisor that takes a tenth of what is asked for does so from a busy arm and from an idle
    one."""
    for demanded in (1000, 100):
        begin, end = (
            Ticks(0, 0, 0, 0),
            Ticks(demanded * 9 // 10, 1000 - demanded, 0, demanded // 10),
        )
        rows = {row["probe"]: row["value"] for row in window_probes(begin, end)}
        assert rows["steal"] == pytest.approx(0.1), demanded


def test_the_idle_probe_sees_sleeps_that_end_late_never_early():
    rows = {row["probe"]: row["value"] for row in machine.idle_probe()}
    assert 0 < rows["sleep_overshoot_median"] <= rows["sleep_overshoot_max"]
    assert rows["runnable_tasks"] >= 0


def values(rows):
    return {row["probe"]: row["value"] for row in rows}


def test_a_slewed_clock_and_a_used_up_quota_show_between_the_edges():
    ticks = Ticks(100, 1000, 10, 5), Ticks(150, 1030, 14, 21)
    begin = EdgeReading(ticks[0], 0, 0, 10, 2)
    assert values(
        edge_probes(begin, EdgeReading(ticks[1], 1_001_000_000, 1_000_000_000, 200_000_010, 2))
    ) == pytest.approx(
        {
            **values(window_probes(*ticks)),
            "processors_usable": 2,
            "stolen": 0.16,
            "stolen_ticks": 16,
            "clock_slew": 0.001,
            "throttled": 0.2,
        }
    )
    without = edge_probes(begin, EdgeReading(ticks[1], 10**9, 10**9, None, 2))
    assert "throttled" not in values(without) and values(without)["clock_slew"] == 0
    assert "clock_slew" not in values(edge_probes(begin, begin))


def test_spinners_that_keep_processors_awake_are_idle_time():
    before = [{"probe": "idle", "unit": "fraction", "at": "before", "value": 9.0}]
    rows = before + window_probes(Ticks(0, 0, 0, 0), Ticks(90, 10, 0, 0))
    moved = awake_as_idle(rows, 0.8)
    assert values(moved[1:]) == pytest.approx({"busy": 0.1, "idle": 0.9, "softirq": 0, "steal": 0})
    assert moved[0] == before[0] and values(rows[1:])["busy"] == 0.9
    # two clocks disagree a little; never below nothing
    assert values(awake_as_idle(rows, 5.0)[1:])["busy"] == 0


def test_what_the_trial_did_not_use_others_did():
    usable = {"probe": "processors_usable", "unit": "count", "at": "window", "value": 2}
    rows = [*window_probes(Ticks(0, 0, 0, 0), Ticks(60, 30, 5, 5)), usable]
    cpu_ns = {"publisher": 200_000_000, "harness": 100_000_000, "awake": 900_000_000}
    assert values(attributed_probes(rows, cpu_ns, 10**9)) == pytest.approx(
        {"own": 0.15, "foreign": 0.45}
    )
    assert (
        attributed_probes(rows, {}, 10**9) == []
        and attributed_probes(rows[:-1], cpu_ns, 10**9) == []
        and attributed_probes([], cpu_ns, 10**9) == []
    )
    assert values(attributed_probes(rows, {"publisher": 3 * 10**9}, 10**9)) == {
        "own": 1.0,
        "foreign": 0.0,
    }


def test_a_campaigns_card_watches_no_second(monkeypatch):
    """It is made several times per campaign; the check-up that takes seconds is the doctor's
    alone."""
    monkeypatch.setattr(machine_facts, "sample", lambda seconds: pytest.fail("it watched"))
    monkeypatch.setattr(machine_facts, "try_host", lambda: pytest.fail("it tried a host"))
    described = machine.describe()
    assert all(isinstance(text, str) and text for text in described["warnings"])


def test_both_clocks_are_read_at_one_moment():
    begin = read_clocks()
    end = read_clocks()
    assert end[0] > begin[0] and abs((end[0] - begin[0]) - (end[1] - begin[1])) < 20_000_000
    edge = read_edge()
    assert edge.ticks.total > 0 and edge.processors == len(os.sched_getaffinity(0))


CHRONY = (
    "A29FC87B,162.159.200.123,4,1732215063.421,-0.000012345,-0.000009876,0.000021000,-12.345,-0.002,0.045,"
    "0.011234567,0.000512345,1034.2,Normal\n"
)
PMC = """sending: GET CURRENT_DATA_SET
	aabbcc.fffe.ddeeff-0 seq 0 RESPONSE MANAGEMENT CURRENT_DATA_SET
		stepsRemoved     1
		offsetFromMaster -37.0
		meanPathDelay    1402.0
	aabbcc.fffe.ddeeff-0 seq 1 RESPONSE MANAGEMENT PORT_DATA_SET
		portState               SLAVE
"""
NOBODY = {"kernel": None, "chrony": None, "ptp": None, "ptp_devices": None}


def test_chrony_tells_its_offset_and_its_own_bound():
    account = parse_chrony(CHRONY)
    assert (account["reference"], account["stratum"], account["leap"]) == (
        "162.159.200.123",
        4,
        "Normal",
    )
    assert (account["offset_ns"], account["rms_offset_ns"], account["frequency_ppm"]) == (
        -9_876,
        21_000,
        -12.345,
    )
    assert (account["root_delay_ns"], account["root_dispersion_ns"]) == (11_234_567, 512_345)
    text = keeper({**NOBODY, "chrony": account})
    assert "stratum 4" in text and "9.88 µs off" in text and "within 6.13 ms" in text
    assert parse_chrony("506 Cannot talk to daemon\n") is None and parse_chrony("") is None


def test_ptp_tells_its_offset_from_its_master():
    account = parse_ptp(PMC)
    assert account == {"offset_ns": -37.0, "path_delay_ns": 1402.0, "port_state": "SLAVE"}
    assert keeper({**NOBODY, "ptp": account}) == "PTP, -37 ns from its master (SLAVE)"
    assert parse_ptp("sending: GET CURRENT_DATA_SET\n") is None


def test_absent_is_said():
    text = keeper(NOBODY)
    assert "no PTP" in text and "no chrony" in text
    assert "PTP hardware without ptp4l: ptp0" in keeper({**NOBODY, "ptp_devices": {"ptp0": "igb"}})


def test_a_bound_has_its_unit_and_no_exponent():
    def bound(ns):
        return keeper({**NOBODY, "kernel": {"synchronised": True, "maximum_error_ns": ns}})

    assert bound(1_024_000_000).endswith("within 1.02 s")
    assert bound(999_600).endswith("within 1.00 ms")


def test_the_kernel_tells_without_privilege():
    account = kernel()
    assert abs(account["frequency_ppm"]) <= 500 and abs(account["tick_ppm"]) <= 100_000
    assert account["estimated_error_ns"] >= 0 and isinstance(account["synchronised"], bool)
    assert timekeeping().keys() == NOBODY.keys()


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
