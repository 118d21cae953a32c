"""Cost from counters: who counts, what is apart, and that absent is never zero."""

import numpy as np
import pytest

from rmwbench.analysis.metrics.cost import cost, setup, unread_reasons
from rmwbench.analysis.metrics.latency import measure
from rmwbench.analysis.records.columns import SteadyWindow
from tests.support.columns import PAIR, Columns, received_columns, sent_columns

WINDOW_NS = 2_000_000_000


def at(process, role, counter, value, when="end"):
    of = {"process": process, "role": role, "endpoint": None, "counter": counter}
    return [of | {"at": when, "value": value}]


def both(process, role, counter, begin, end):
    edges = ("steady_begin", begin), ("steady_end", end)
    return [row for when, value in edges for row in at(process, role, counter, value, when)]


def worker(process, role, cpu):
    names = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")
    rows = [row for name in names for row in both(process, role, name, 10, 35)]
    rows += both(process, role, "cpu", 1_000, 1_000 + cpu) + both(
        process, role, "run_delay", 5, 5 + cpu // 10
    )
    return rows + [
        row
        for name in ("pss", "rss", "peak_rss", "shared_pss")
        for row in at(process, role, name, 1000)
    ]


OLD = worker("talker", "publisher", 3_000_000) + worker("listener", "subscription", 1_000_000)
SAMPLED = (
    OLD
    + worker("roudi", "daemon", 500_000)
    + worker("helper", "other", 300_000)
    + both("sampler", "harness", "cpu", 0, 4_000_000)
    + both("orchestrator", "harness", "cpu", 0, 2_000_000)
    + both("machine", "machine", "processor.softirq", 0, 20_000_000)
    + both("local", "machine", "interface.lo.tx_bytes", 100, 3_100)
    + both("local", "machine", "interface.lo.tx_packets", 1, 31)
    + both("local", "machine", "interface.eth0.tx_bytes", 0, 500)
    + both("local", "machine", "interface.eth0.tx_packets", 0, 5)
)


def measured(rows, delivered=100, **more):
    more = {"delivered_bytes": 1000, "no_data": {}} | more
    return cost(
        rows, published=50, heard=delivered, delivered=delivered, window_ns=WINDOW_NS, **more
    )


def test_a_middleware_costs_what_its_workers_daemons_and_children_use_and_we_are_apart():
    got = measured(SAMPLED)
    assert got["cpu_per_message"] == 4_800_000 / 100
    assert got["cpu_cores"] == pytest.approx(4_800_000 / WINDOW_NS)
    assert got["cpu_cores_daemon"] == pytest.approx(500_000 / WINDOW_NS)
    assert got["cpu_cores_other"] == pytest.approx(300_000 / WINDOW_NS)
    assert got["cpu_cores_harness"] == pytest.approx(6_000_000 / WINDOW_NS)
    assert got["cpu_cores_sampler"] == pytest.approx(4_000_000 / WINDOW_NS)
    assert got["cpu_per_message_publisher"] == 60_000
    assert got["cpu_per_message_subscription"] == 10_000
    assert got["softirq_cores"] == pytest.approx(0.01)
    assert got["context_switches_per_message"] == 2 and got["page_faults_per_message"] == 2
    assert got["processor_wait_per_message"] == 4_800
    assert got["pss"] == 4000 and got["pss_daemon"] == 1000 and got["pss_publisher"] == 1000


def test_the_samplers_of_all_hosts_are_the_samplers_part():
    of_hosts = [
        row
        for name in ("sampler@base", "sampler#2@tablet")
        for row in both(name, "harness", "cpu", 0, 1_000_000)
    ]
    got = measured(SAMPLED + of_hosts)
    assert got["cpu_cores_sampler"] == pytest.approx(6_000_000 / WINDOW_NS)
    assert got["cpu_cores_harness"] == pytest.approx(8_000_000 / WINDOW_NS)


def test_bytes_on_the_wire_are_counted_by_interface():
    got = measured(SAMPLED)
    assert got["wire_bytes_per_payload_byte"] == 3.5 and got["packets_per_message"] == 0.35
    assert got["wire_bytes_per_payload_byte_lo"] == 3
    assert got["wire_bytes_per_payload_byte_eth0"] == 0.5


def test_an_interface_may_have_dots_in_its_name():
    """A VLAN of a wireless card, without the card's own counters."""
    rows = both("local", "machine", "interface.wlan0.10.tx_bytes", 100, 2_100)
    rows += both("local", "machine", "interface.wlan0.10.tx_packets", 0, 20)
    got = measured(SAMPLED + rows)
    assert got["wire_bytes_per_payload_byte"] == 5.5 and got["packets_per_message"] == 0.55


@pytest.mark.parametrize("lacks", ["steady_begin", "steady_end"])
def test_without_a_machine_that_was_not_read_at_one_end_no_sum_stands(lacks):
    rows = both("machine@base", "machine", "processor.softirq", 0, 20_000_000)
    rows += both("base", "machine", "interface.eth0.tx_bytes", 0, 500)
    whole = measured(SAMPLED + rows)
    assert whole["softirq_cores"] == pytest.approx(0.02)
    assert whole["wire_bytes_per_payload_byte_eth0"] == 1.0
    part = SAMPLED + [row for row in rows if row["at"] != lacks]
    got = measured(part)
    assert got["softirq_cores"] == "the counter was not read at both ends of the steady window"
    assert "interfaces" in got["wire_bytes_per_payload_byte_eth0"]
    assert "interfaces" in got["wire_bytes_per_payload_byte"]
    told = measured(part, no_data={"machine@base": "it cannot be read"})
    assert told["softirq_cores"] == "it cannot be read"


def test_a_machine_known_only_by_its_energy_has_no_data_on_soft_interrupts():
    rows = at("machine@base", "machine", "energy.rapl:package-0", 3.0, "window")
    assert isinstance(measured(SAMPLED + rows)["softirq_cores"], str)


def test_what_an_old_bundle_did_not_sample_is_absent_with_its_reason():
    got = measured(OLD)
    assert got["cpu_per_message"] == 40_000 and got["pss"] == 2000
    of_roles = [f"cpu_cores_{role}" for role in ("daemon", "other", "harness", "sampler")]
    for name in [*of_roles, "softirq_cores"]:
        assert got[name] == "no sampler read this trial"
    assert "interfaces" in got["wire_bytes_per_payload_byte"] and isinstance(got["power"], str)


def test_no_daemon_is_not_zero_but_no_child_is():
    got = measured([row for row in SAMPLED if row["role"] not in ("daemon", "other")])
    assert got["cpu_cores_daemon"] == got["pss_daemon"] == "no daemon ran"
    assert got["cpu_cores_other"] == 0.0


def test_a_daemon_that_ended_within_the_window_is_unread_and_not_absent():
    got = measured(worker("talker", "publisher", 3) + begun("router", "daemon"))
    assert got["cpu_cores_daemon"] == got["cpu_cores"]
    assert got["cpu_cores_daemon"].startswith("router was not read")


def test_endpoints_that_never_matched_have_no_time_to_match():
    def event(time_ns, name, endpoint):
        return {"time_ns": time_ns, "event": name, "endpoint": endpoint}

    both = [event(10, "created", 1), event(20, "created", 2), event(30, "matched", 1)]
    got = setup(both)
    assert got["match_time"] == "endpoint 2 never matched"
    assert setup([*both, event(50, "matched", 2)])["match_time"] == 30


def test_a_reader_that_heard_nothing_until_the_window_makes_the_first_message_infinite():
    """The others' time says nothing of it, and none is worse than a long one."""
    heard = [
        {"time_ns": 10, "event": "created", "endpoint": 2},
        {"time_ns": 30, "event": "first_message", "endpoint": 2},
    ]
    deaf = {"time_ns": 90, "event": "flag", "endpoint": None, "code": "not_heard"}
    assert setup(heard)["first_message_time"] == 20
    assert setup([*heard, deaf])["first_message_time"] == np.inf
    assert setup([heard[0], deaf])["first_message_time"] == np.inf


def test_where_a_service_is_called_no_publisher_ran_which_is_not_that_none_was_read():
    got = measured(worker("client", "client", 7) + worker("server", "service", 9))
    assert got["cpu_per_message"] > 0
    for metric in ("cpu_per_message", "pss", "allocations_per_message"):
        assert got[f"{metric}_publisher"] == "no publisher process ran"
    assert got["cpu_per_message_subscription"] == "no subscription process ran"


def test_without_a_daemon_that_ran_no_sum_stands():
    rows = OLD + at("orchestrator", "machine", "step.daemon.roudi", 7)
    got = measured(rows, no_data={"": "tool sampler: ended before its answer (SIGKILL)"})
    per_message = ("cpu_per_message", "context_switches_per_message")
    for metric in (*per_message, "cpu_cores", "pss", "rss", "pss_daemon"):
        assert got[metric] == (
            "daemon roudi was not read: tool sampler: ended before its answer (SIGKILL)"
        )
    assert got["cpu_per_message_publisher"] == 60_000
    read = measured(SAMPLED + at("orchestrator", "machine", "step.daemon.roudi", 7))
    assert isinstance(read["cpu_per_message"], float)


KILLED = {"processes.talker": "it ended within the window"}


def begun(process, role):
    """What is known of a process that ended within the window."""
    return [row for row in worker(process, role, 0) if row["at"] == "steady_begin"]


@pytest.mark.parametrize("older", [False, True], ids=["begun", "records alone"])
def test_without_a_worker_that_was_killed_no_sum_stands_and_its_side_has_none(older):
    listener = [row for row in SAMPLED if row["process"] != "talker"]
    records = at("talker", "publisher", "records_unfinished", 0)
    killed = [row | {"endpoint": 1} for row in records] if older else begun("talker", "publisher")
    got = measured(listener + killed, no_data=KILLED)
    for metric in (
        "cpu_per_message",
        "cpu_cores",
        "cpu_per_message_publisher",
        "context_switches_per_message",
        "page_faults_per_message",
        "wake_ups",
        "processor_wait_per_message",
        "peak_rss",
    ):
        assert got[metric] == "talker was not read: it ended within the window"
    assert got["cpu_per_message_subscription"] == 10_000
    assert got["cpu_cores_daemon"] == pytest.approx(500_000 / WINDOW_NS)
    assert got["pss"] == 3000, "after the window it has nothing any more"


def test_what_a_middleware_started_and_ended_is_in_no_sum_either():
    got = measured(
        [row for row in SAMPLED if row["process"] != "helper"] + begun("helper", "other"),
        no_data={"processes.helper": "it ended within the window"},
    )
    for metric in ("cpu_per_message", "cpu_cores_other"):
        assert got[metric] == "helper was not read: it ended within the window"
    assert got["cpu_per_message_publisher"] == 60_000


def test_what_the_sampler_could_not_read_is_told_in_its_words():
    events = [
        {"event": "no_data", "text": "energy: no RAPL counter and no board power sensor here"},
        {"event": "no_data", "text": "run_delay_ns: this kernel does not account for it"},
        {"event": "created", "text": "energy: not this"},
    ]
    without = [row for row in SAMPLED if row["counter"] != "run_delay"]
    got = measured(without, no_data=unread_reasons(events))
    for metric in ("power", "energy_per_message"):
        assert got[metric] == "no RAPL counter and no board power sensor here"
    assert got["processor_wait_per_message"] == "this kernel does not account for it"
    for text in ("the sampler did not answer within 10 s", "tool sampler: ended"):
        failed = unread_reasons([{"event": "no_data", "text": text}])
        assert failed == {"": text}
        assert measured(OLD, no_data=failed)["cpu_cores_other"] == text


@pytest.mark.parametrize("process", ["talker", "router base"])
def test_the_reason_of_a_process_on_a_further_host_is_given(process):
    role = "publisher" if process == "talker" else "daemon"
    text = f"processes.{process}@base: it ended within the window"
    why = unread_reasons([{"event": "no_data", "text": text}])
    others = [row for row in SAMPLED if row["process"] != process]
    got = measured(others + begun(process, role), no_data=why)
    assert got["cpu_per_message"] == f"{process} was not read: it ended within the window"


def test_the_reason_of_a_counter_on_a_further_host_is_given():
    without = [row for row in SAMPLED if row["counter"] != "run_delay"]
    got = measured(without, no_data={"run_delay_ns@base": "this kernel does not account for it"})
    assert got["processor_wait_per_message"] == "this kernel does not account for it"


def energy(**joules):
    return [
        row
        for name, value in joules.items()
        for row in at("machine", "machine", f"energy.{name}", value, "window")
    ]


DENIED = "energy counters may only be read by the machine's root"


@pytest.mark.parametrize(
    ("sensors", "no_data", "reason"),
    [
        ({"hwmon:amdgpu/PPT": 70.0}, {"energy": DENIED}, DENIED),
        ({"hwmon:ina226/power1": 70.0}, {"energy": DENIED}, DENIED),
        (
            {"hwmon:amdgpu/PPT": 70.0, "hwmon:nvme/power1#2": 6.0},
            {},
            "only parts of the machine have a power sensor here (amdgpu/PPT, nvme/power1#2)",
        ),
        ({}, {"energy": "no sensor"}, "no sensor"),
    ],
)
def test_what_a_part_of_the_machine_uses_is_not_the_machines_power(sensors, no_data, reason):
    got = measured(SAMPLED + energy(**sensors), no_data=no_data)
    assert got["power"] == got["energy_per_message"] == reason


LOST = "it could not be read at both edges, or ran over"


@pytest.mark.parametrize(
    ("sensors", "lost"),
    [
        ({"rapl:package-0": 20.0}, "rapl:package-1"),
        ({"rapl:package-0": 20.0}, "rapl:package-0/dram"),
        ({"hwmon:ina226/power1": 24.0}, "rapl:package-0"),
        ({"hwmon:ina3221/VDD_CPU": 3.0}, "hwmon:ina3221/VDD_IN"),
    ],
    ids=["socket", "memory", "board beside RAPL", "board's input"],
)
def test_without_a_sensor_that_was_not_read_the_machine_has_no_power(sensors, lost):
    got = measured(SAMPLED + energy(**sensors), no_data={f"energy.{lost}": LOST})
    assert got["power"] == got["energy_per_message"] == f"{lost}: {LOST}"


@pytest.mark.parametrize("lost", ["rapl:package-0/core", "rapl:psys", "hwmon:ina226/power1"])
def test_a_sensor_that_is_in_no_sum_may_be_missing(lost):
    got = measured(SAMPLED + energy(**{"rapl:package-0": 20.0}), no_data={f"energy.{lost}": LOST})
    assert got["power"] == 10.0


def test_a_sensor_is_of_its_own_machine():
    both_machines = energy(**{"rapl:package-0": 20.0}) + at(
        "machine@base", "machine", "energy.hwmon:ina226/power1", 4.0, "window"
    )
    assert measured(SAMPLED + both_machines)["power"] == 12.0
    got = measured(SAMPLED + both_machines, no_data={"energy.rapl:package-1@base": LOST})
    assert got["power"] == f"the machine of base: rapl:package-1: {LOST}"


def test_a_boards_input_is_its_largest_consumer_but_for_graphics_cards():
    sensors = {"hwmon:ina226/power1": 24.0, "hwmon:ina226/power1#2": 6.0, "hwmon:amdgpu/PPT": 70.0}
    got = measured(SAMPLED + energy(**sensors))
    assert got["power"] == 12.0


def test_packages_and_their_memory_are_added_and_their_parts_are_not():
    parts = {"rapl:package-0/core": 7.0, "rapl:package-0/dram": 1.0}
    got = measured(SAMPLED + energy(**{"rapl:package-0": 10.0, "rapl:package-1": 4.0}, **parts))
    assert got["power"] == 7.5 and got["energy_per_message"] == 0.15
    board = energy(**{"hwmon:ina3221/VDD_IN": 8.0, "hwmon:ina3221/VDD_CPU": 3.0})
    assert measured(SAMPLED + board)["power"] == 4.0


def test_allocations_are_of_each_side_and_only_where_somebody_counted():
    counted = both("talker", "publisher", "allocations", 300, 450) + both(
        "talker", "publisher", "allocated", 0, 9_600
    )
    counted += both("listener", "subscription", "allocations", 40, 40)
    counted += both("listener", "subscription", "allocated", 5_000, 5_000)
    got = measured(OLD + counted)
    assert got["allocations_per_message_publisher"] == 3
    assert got["allocated_bytes_per_message_publisher"] == 192
    # counted, and none: not the same as not counted
    assert got["allocations_per_message_subscription"] == 0
    got = measured(OLD)
    assert "untimed" in got["allocations_per_message_publisher"]


def test_cost_is_divided_by_what_happened_while_it_was_counted():
    """30 Hz for a second, and a reader that needs 45 ms of processor time per message: its queue is
    worked off after the window, and what is taken then has cost nothing within it."""
    second, needs_ns, messages = 1_000_000_000, 45_000_000, 30
    begin_ns = 10 * second
    due = begin_ns + np.arange(messages) * second // 30
    taken = begin_ns + needs_ns * np.arange(1, messages + 1)
    size = np.full(messages, 1000)
    records = Columns(
        sent_columns(due, bytes=size), received_columns(np.arange(messages), taken, bytes=size)
    )
    counts = measure(records, PAIR, SteadyWindow(begin_ns, begin_ns + second))
    assert counts.ledger.delivered == counts.calls_in_window == 30
    assert counts.arrived_in_window == 22
    rows = both("listener", "subscription", "cpu", 0, 22 * needs_ns) + both(
        "talker", "publisher", "cpu", 0, 30_000
    )
    got = cost(
        rows,
        published=counts.published_in_window,
        heard=counts.heard_in_window,
        delivered=counts.arrived_in_window,
        window_ns=second,
        delivered_bytes=counts.bytes_in_window,
    )
    assert got["cpu_per_message_subscription"] == needs_ns
    assert got["cpu_per_message_publisher"] == 1000
    assert got["cpu_per_gigabyte"] == pytest.approx((22 * needs_ns + 30_000) / 1e9 / 22e-6)


def test_what_a_worker_counted_for_longer_than_the_window_is_brought_to_the_windows_length():
    """Its second snapshot came late by a tenth of the window."""
    rows = both("listener", "subscription", "cpu", 0, 2_200_000)
    rows += both("listener", "subscription", "snapshot_time", 5e9, 5e9 + 1.1 * WINDOW_NS)
    got = measured(rows)
    assert got["cpu_per_message"] == pytest.approx(20_000)
    assert got["cpu_cores"] == pytest.approx(2_000_000 / WINDOW_NS)


def test_what_interfaces_counted_for_shorter_than_the_window_is_brought_to_its_length():
    """The first snapshot of a busy machine came late by a fifth of the window."""
    rows = both("local", "machine", "interface.lo.tx_bytes", 100, 1_700)
    rows += both("local", "machine", "interface.lo.tx_packets", 0, 80)
    rows += both("local", "machine", "snapshot_time", 5e9, 5e9 + 0.8 * WINDOW_NS)
    got = measured(rows)
    assert got["wire_bytes_per_payload_byte"] == pytest.approx(2.0)
    assert got["packets_per_message"] == pytest.approx(1.0)
