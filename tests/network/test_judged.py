"""Checks of the network's probe, of the frame log and of the samplers' documents, on made-up
observations."""

import ast
import errno
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rmwbench.campaign.record.tables import frames_columns
from rmwbench.lab.host import Configured, init
from rmwbench.lab.network import (
    emulation,
    host_network,
    netlink,
    network_checks,
    probe_program,
)
from rmwbench.lab.network.emulation import Emulation, ScheduledRequest, _makers
from rmwbench.lab.network.host_network import HostDevices, NetworkBroken
from rmwbench.lab.network.network_checks import lateness
from rmwbench.lab.network.network_probe import STOPPED, FlowArrivals, chance_bound, flows, judge
from rmwbench.lab.network.probe_program import BURST, SMALL
from rmwbench.lab.network.switch import RECORD, Mark, Switch
from rmwbench.lab.sampling import loads
from rmwbench.lab.sampling.sampler import merge
from rmwbench.suite.network.network import NetworkChange
from tests.network.laboratory import links

NOTHING = {
    "frames": 0,
    "lost": 0,
    "queue_full": 0,
    "blackholed": 0,
    "no_carrier": 0,
    "too_large": 0,
    "policed": 0,
}


def mark(index=0, **changed) -> Mark:
    """Counters of two hosts; `robot_up={…}` replaces some of one direction. What is not stopped is
    delivered, unless that is said."""
    directions = {
        (host, way): dict(NOTHING) for host in ("robot", "base") for way in ("up", "down")
    }
    for name, values in changed.items():
        host, _, way = name.partition("_")
        directions[host, way] |= values
    for counters in directions.values():
        stopped = sum(number for name, number in counters.items() if name in (*STOPPED, "lost"))
        counters.setdefault("delivered", counters["frames"] - stopped)
    return Mark(
        index,
        {
            host: {way: directions[host, way] for way in ("up", "down")}
            for host in ("robot", "base")
        },
    )


def seen(
    count=20, delay_ns=1_000, burst_interval_ns=0, burst=0, missing=0, sent_every_ns=0
) -> FlowArrivals:
    arrived = [(SMALL, k, 1000 * k, 1000 * k + delay_ns) for k in range(count - missing)]
    arrived += [(BURST, k, sent_every_ns * k, 10**9 + k * burst_interval_ns) for k in range(burst)]
    return FlowArrivals((count, burst), arrived)


def results(spec: str, robot_saw: FlowArrivals, base_saw: FlowArrivals, **counters):
    return judge(links(spec), {"robot": robot_saw, "base": base_saw}, mark(), mark(**counters))


def test_a_network_that_does_nothing_is_found_to_do_nothing():
    rows, found = results("{}", seen(), seen())
    assert found == [] and {row["probe"] for row in rows} == {
        "network.delay.robot.base",
        "network.delay.base.robot",
    }


def test_loss_that_is_not_there_is_void():
    spec = "{links: {robot: {up: {loss: 0.2}}}}"
    rows, found = results(spec, seen(300), seen(300), robot_up={"frames": 300, "lost": 0})
    assert [(one.void, one.machine) for one in found] == [
        (True, False)
    ] and "asked for 20 %" in found[0].text
    assert {row["probe"]: row["value"] for row in rows}["network.loss.robot.up"] == 0


def test_loss_as_asked_for_is_fine_and_kept_with_the_trial():
    spec = "{links: {robot: {up: {loss: 0.2}}}}"
    rows, found = results(
        spec, seen(300), seen(300, missing=60), robot_up={"frames": 300, "lost": 60}
    )
    assert found == []
    (row,) = [row for row in rows if row["probe"].startswith("network.loss")]
    assert row == {
        "probe": "network.loss.robot.up",
        "unit": "fraction",
        "at": "before",
        "value": 0.2,
    }


def test_what_still_waits_for_a_slow_link_has_not_met_its_loss():
    """Of 1060 frames into a queue of 0.1 Mbit/s some 50 are served in a trial, and 46 of them lost:
    that is 90 % and not 4 %."""
    spec = "{links: {robot: {up: {loss: 0.9, rate_mbps: 0.1}}}}"

    def told(**counters):
        found = results(spec, seen(), seen(delay_ns=6_000_000), robot_up=counters)[1]
        return [one.void for one in found if "asked for 90 %" in one.text]

    assert told(frames=1060, lost=46, delivered=5) == []
    assert told(frames=1060, lost=46, delivered=1014) == [True]


def test_address_resolution_passes_a_link_that_loses_everything_else():
    def told(spec: str) -> list[bool]:
        spec = f"{{links: {{robot: {{up: {{{spec}}}}}}}}}"
        counters = {"frames": 311, "lost": 308, "delivered": 3}
        found = results(spec, seen(300), seen(300, missing=300), robot_up=counters)[1]
        return [one.void for one in found if "asked for 100 %" in one.text]

    assert told("loss: 1") == [] and told("loss: 1, exempt_arp: false") == [True]


def test_loss_that_nobody_asked_for_is_void_however_small():
    _, found = results("{}", seen(), seen(missing=1), robot_up={"frames": 20, "lost": 1})
    assert [one.void for one in found] == [True]


def test_a_probe_without_a_result_is_the_machines_fault():
    _, found = judge(links(), {"robot": seen()}, mark(), mark())
    assert found and all(one.void and one.machine for one in found)


@pytest.mark.parametrize(
    ("took_ms", "void", "machine"),
    [(2.1, None, None), (0.5, True, False), (5, False, True), (90, True, True)],
)
def test_a_delay_that_is_too_short_is_not_the_machines_fault(took_ms, void, machine):
    spec = "{links: {robot: {up: {delay_ms: 2}}}}"
    _, found = results(spec, seen(), seen(delay_ns=round(took_ms * 1e6)))
    assert [(one.void, one.machine) for one in found] == ([] if void is None else [(void, machine)])


@pytest.mark.parametrize(("mbps", "findings"), [(54, []), (80, [False]), (10, [True])])
def test_a_rate_is_measured_between_arrivals(mbps, findings):
    spec = "{links: {robot: {up: {rate_mbps: 54}}}}"
    saw = seen(burst=200, burst_interval_ns=round(8e9 * 1442 / (mbps * 1e6)))
    rows, found = results(spec, seen(), saw)
    assert [one.void for one in found] == findings
    rate = next(row for row in rows if row["probe"] == "network.rate.robot.up")
    assert rate["value"] == pytest.approx(mbps * 1e6, rel=0.01) and rate["unit"] == "bit/s"


@pytest.mark.parametrize(("took_ms", "late"), [(21, []), (23, [False]), (45, [True])])
def test_a_quantum_that_was_asked_for_is_not_late(took_ms, late):
    spec = "{quantum_us: 10000, links: {robot: {up: {delay_ms: 1}}}}"
    _, found = results(spec, seen(), seen(delay_ns=took_ms * 1_000_000))
    assert [one.void for one in found] == late


@pytest.mark.parametrize(("chance", "late"), [(0.1, [True]), (0.6, [])])
def test_where_most_datagrams_are_held_back_the_median_says_nothing(chance, late):
    spec = f"{{links: {{robot: {{up: {{reorder: {chance}, reorder_by_ms: 50}}}}}}}}"
    rows, found = results(spec, seen(), seen(delay_ns=50_000_000))
    assert [one.void for one in found] == late and any("delay" in row["probe"] for row in rows)


@pytest.mark.parametrize("way", ["both", "down"])
def test_a_rate_behind_a_small_mtu_is_measured_by_frames_that_fit(way):
    """A datagram of 1400 bytes is two frames of an MTU of 1420, and does not get down a link of it."""
    spec = f"{{links: {{base: {{{way}: {{rate_mbps: 50, mtu_bytes: 1420}}}}}}}}"
    flow = next(one for one in flows(links(spec)) if one.receiver == "base")
    assert flow.burst and flow.burst_bytes == 1420 - 28
    saw = seen(burst=flow.burst, burst_interval_ns=round(8e9 * (1420 + 14) / 50e6))
    rows, found = results(spec, seen(), saw)
    rate = next(row["value"] for row in rows if row["probe"] == "network.rate.base.down")
    assert found == [] and rate == pytest.approx(50e6, rel=1e-3)


def test_a_sender_that_is_not_faster_than_the_link_measures_nothing():
    saw = seen(burst=200, burst_interval_ns=1_000_000, sent_every_ns=900_000)
    rows, found = results("{links: {robot: {up: {rate_mbps: 54}}}}", seen(), saw)
    assert found == [] and not any(row["probe"].startswith("network.rate") for row in rows)


# --- chance ---


@given(n=st.integers(1, 2000), p=st.floats(0.01, 0.99), at=st.floats(0, 1))
def test_the_bound_is_never_below_the_exact_probability(n, p, at):
    count = round(at * n)
    exact = min(stats.binom.cdf(count, n, p), stats.binom.sf(count - 1, n, p))
    assert chance_bound(count, n, p) >= exact * (1 - 1e-9)


def test_the_bound_is_not_much_above_it():
    assert chance_bound(60, 300, 0.2) == 1
    assert chance_bound(30, 300, 0.2) < 1e-4 and chance_bound(0, 300, 0.2) < 1e-20
    assert chance_bound(0, 0, 0.2) == 1 and chance_bound(1, 10, 0.0) == 0


# --- checks of what the link wrote down ---


def log(rows: list[dict]) -> np.ndarray:
    found = np.zeros(len(rows), RECORD)
    for place, row in enumerate(rows):
        for name, value in row.items():
            found[place][name] = value
    return found


def document(**robot_up) -> dict:
    found = {host: {way: dict(NOTHING) for way in ("up", "down")} for host in ("robot", "base")}
    found["robot"]["up"] |= robot_up
    devices = {host: {"write_errors": 0, "largest_frame_bytes": 1514} for host in found}
    return {"links": found, "devices": devices}


def test_lateness_is_of_delivered_frames_of_the_window():
    frames = log(
        [{"in_ns": 100, "due_ns": 100, "out_ns": 100 + 7 * k} for k in range(3)]
        + [{"in_ns": 100, "verdict": 1}, {"in_ns": 999, "due_ns": 0, "out_ns": 10**9}]
    )
    assert lateness(frames, 50, 200) == {"p50": 7.0}
    assert lateness(frames, 0, 50) == {}


@pytest.mark.parametrize(
    ("late", "void"),
    [({"p50": 60_000}, False), ({"p50": 600_000}, True), ({"p99": 3_000_000}, True)],
)
def test_late_frames_are_the_machines(late, void):
    (found,) = network_checks.check(links(), document(), 0, late, {})
    assert (found.void, found.machine) == (void, True)


def test_deliveries_are_as_far_apart_as_a_quantum_asks():
    asked = links("{quantum_us: 1000}")
    assert network_checks.check(asked, document(), 0, {"p50": 850_000, "p99": 1_100_000}, {}) == []
    (found,) = network_checks.check(asked, document(), 0, {"p50": 1_600_000}, {})
    assert found.void and "600 us late" in found.text


def woke(late, every_ns=5_000_000, unkept=0):
    """Of a window of 5 s, 1000 wake-ups in it."""
    wakes = {"every_ns": every_ns, "from_ns": 50_000, "late": late, "unkept": unkept}
    return network_checks.check_wake_ups(links(), {"wakes": wakes}, 10**9, 6 * 10**9, None)


def test_a_link_that_slept_while_frames_waited_is_found():
    assert woke([]) == ([], []) == network_checks.check_wake_ups(links(), {}, 0, 10**9, None)
    at = [10**9 + 5_000_000 * k for k in range(1000)]
    before = [(0, 10**9)] * 600
    rows, found = woke(before + [(ns, 5_000_000) for ns in at[:10]])
    assert rows == found == []  # ten of a thousand lie beyond the p99
    rows, (late,) = woke([(ns, 5_000_000) for ns in at[:11]])
    assert [(row["probe"], row["value"]) for row in rows] == [("network.woke_p99", 5e6)]
    assert late.void and late.machine and "5000 us late in the p99" in late.text
    rows, found = woke([(ns, 60_000) for ns in at[:501]], unkept=3)
    assert [row["probe"] for row in rows] == ["network.woke_p50", "network.woke_p99"]
    assert [one.void for one in found] == [False, False] and "3 times more" in found[1].text
    fast = links("{links: {robot: {up: {rate_mbps: 500}}}}")
    wakes = {"every_ns": 5_000_000, "from_ns": 150_000, "late": [], "unkept": 0}
    wakes["late"] = [(ns, 160_000) for ns in at]
    _, (p50,) = network_checks.check_wake_ups(fast, {"wakes": wakes}, 10**9, 6 * 10**9, "EPERM")
    assert "60 us late" in p50.text and p50.text.endswith("priority: EPERM")  # 100 are meant


def test_what_no_log_has_and_what_a_device_dropped_or_refused_is_void():
    broken = document()
    broken["devices"]["robot"] = {"write_errors": 3, "largest_frame_bytes": 9000}
    found = network_checks.check(links(), broken, 5, {}, {"base": 2})
    assert len(found) == 4 and all(one.void for one in found)
    assert [one.machine for one in found] == [False, False, False, True]


def test_a_device_that_could_not_be_read_any_more_is_void():
    """Its host sends what it likes, and the network reads none of it."""
    broken = document()
    broken["devices"]["robot"]["read_errors"] = 1
    (found,) = network_checks.check(links(), broken, 0, {}, {})
    assert found.void and not found.machine and "device of robot could not be read" in found.text
    broken["devices"]["robot"]["read_errors"] = 0
    assert network_checks.check(links(), broken, 0, {}, {}) == []


def test_realised_loss_is_checked_unless_the_spec_changed():
    spec = "{links: {robot: {up: {loss: 0.1}}}%s}"
    many = document(frames=10_000, lost=1_500)
    (found,) = network_checks.check(links(spec % ""), many, 0, {}, {})
    assert found.void and "robot.up lost 1500 of 10000 frames, asked for 10 %" in found.text
    changing = links(spec % ", changes: [{at_s: 1, host: robot, up: {loss: 0.2}}]")
    assert network_checks.check(changing, many, 0, {}, {}) == []
    assert (
        network_checks.check(
            links(spec % ""), document(frames=11_000, lost=1_000, blackholed=1_000), 0, {}, {}
        )
        == []
    )


# --- changes, frames, room ---


def change(what: str | None = None, **spec) -> NetworkChange:
    return NetworkChange.model_validate(
        {"at_s": 1.0, "host": "robot"} | ({"change": what} if what else spec)
    )


def test_up_ends_what_was_made_wherever_that_was():
    on: set[str] = set()
    assert _makers(change("blackhole"), on) == (True, False)
    assert _makers(change("up"), on) == (True, False)
    assert _makers(change("admin_down"), on) == (False, True)
    assert _makers(change("up"), on) == (False, True)
    assert _makers(change("carrier_loss"), on) == (True, False)
    assert _makers(change("admin_down"), on) == (False, True)
    assert _makers(change("up"), on) == (True, True)
    assert _makers(change("new_address"), on) == (False, True)
    assert _makers(change(up={"delay_ms": 1.0}), on) == (True, False)
    assert _makers(change(up={"rate_mbps": 1.0, "bottleneck": "nic"}), on) == (True, True)


def test_the_log_becomes_rows_with_names():
    frames = log(
        [
            {
                "index": 5,
                "in_ns": 1,
                "due_ns": 2,
                "out_ns": 3,
                "frame_bytes": 60,
                "from_port": 1,
                "class": 3,
                "flags": 3,
            },
            {"index": 6, "in_ns": 4, "to_port": 65535, "verdict": 12, "attempts": 8, "flags": 48},
            {"index": 7, "in_ns": 5, "to_port": 1, "verdict": 9, "flags": 64},
        ]
    )
    columns = frames_columns(frames, ("robot", "base"), ("eth0", "eth0"))
    rows = {name: list(map(_plain, column)) for name, column in columns.items()}
    assert rows["from_host"] == ["base", "robot", "robot"]
    assert rows["to_host"] == ["robot", None, "base"]
    assert rows["verdict"] == ["delivered", "under_way", "given_up"]
    assert rows["class"] == ["discovery", "other", "other"]
    assert rows["due_ns"] == [2, None, None] and rows["out_ns"] == [3, None, None]
    assert rows["retransmission"] == [True, False, False]
    assert rows["multicast"] == [True, False, False]
    assert rows["fragment"] == [False, True, False] and rows["attempts"] == [0, 8, 0]
    # a log of before says nothing of it
    assert rows["direction"] == [None, "up", "down"]


def _plain(value):
    if value is np.ma.masked:
        return None
    return value.as_py() if hasattr(value, "as_py") else value.item()


class Answering:
    """Processes whose link has in force what it was asked for, but for what `change` does to it."""

    def __init__(self, change=lambda answer: None):
        self.change, self.asked = change, {}

    def ask_network(self, cmd, fields, timeout_s):
        self.asked = fields
        answer = {
            "ports": len(fields["ports"]),
            "specs": {
                name: {way: self.filled(spec) for way, spec in of.items()}
                for name, of in fields["links"].items()
            },
        }
        answer |= {
            name: json.loads(json.dumps(fields[name]))
            for name in ("media", "multicast", "priority", "quantum_ns", "spin_ns")
        }
        self.change(answer)
        return answer

    @staticmethod
    def filled(spec):
        nothing = {"rate_bps": None, "delay_ns": 0, "duplicate": 0.0, "exempt_arp": True}
        found = nothing | {"loss": None} | spec
        if "trace" in spec:
            rows = [[0, 5_000_000, None, None]]
            found["trace"] = {"rows": rows, "repeat": True, "bytes": 1504}
        return json.loads(json.dumps(found))


class NoHosts:
    def __getitem__(self, host):
        return self

    def close_tap(self):
        pass


def opened(network, change=lambda answer: None):
    processes = Answering(change)
    switch = Switch(processes, NoHosts(), network, 10)
    try:
        switch.open(7)
    finally:
        switch.close()
    return processes.asked


SPOILT = {
    "specs.robot.up.rate_bps is 5, expected 20000000": lambda a: a["specs"]["robot"]["up"].update(
        rate_bps=5
    ),
    "specs.base.down.delay_ns is 9, expected None": lambda a: a["specs"]["base"]["down"].update(
        delay_ns=9
    ),
    "specs.base.up.loss is None": lambda a: a["specs"]["base"]["up"].update(loss=None),
    "specs.base.up is None": lambda a: a["specs"]["base"].pop("up"),
    "media.wifi.retries is 3": lambda a: a["media"]["wifi"].update(retries=3),
    "multicast is drop": lambda a: a.update(multicast="drop"),
    "the length of priority is 0": lambda a: a.update(priority=[]),
    "quantum_ns is 1": lambda a: a.update(quantum_ns=1),
}


@pytest.mark.parametrize("says", SPOILT)
def test_a_link_that_has_something_else_in_force_is_found(says):
    network = links(
        "{media: {wifi: {rate_mbps: 54}}, priority: [{dscp: 46}],"
        " links: {robot: {up: {rate_mbps: 20}}, base: {up: {loss: 0.1}}}}"
    )
    opened(network)
    with pytest.raises(NetworkBroken, match=re.escape(says)):
        opened(network, SPOILT[says])


def test_only_an_unknown_scheduler_says_that_the_kernel_has_no_htb():
    """A refusal of any kind at that step was told as a kernel without HTB."""

    def failure(step, error_number):
        done = Configured("setup", (step, error_number), [], {}, 0)
        with pytest.raises(NetworkBroken) as broken:
            host_network.check(HostDevices("robot", 1, 2), links(), done)
        return str(broken.value)

    assert "no HTB" in failure(host_network.HTB_STEP, errno.ENOENT)
    assert "no HTB" not in failure(host_network.HTB_STEP, errno.EPERM)
    assert "no HTB" not in failure("queue at eth0", errno.ENOENT)


def test_a_dump_that_cannot_be_read_gives_no_entries():
    answer = init.attribute(0, b"")  # nothing that could be a message
    assert netlink.links_of(answer) == {} and netlink.addresses_of(b"", 2) == set()
    assert host_network.dropped_frames(None) is None
    text = b"Inter-|\n face |\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
    assert host_network.dropped_frames(text) == 12


def test_what_several_samplers_say_becomes_one_document():
    def one(name: str, machine: bool = True) -> dict:
        process = {"role": "worker", "pid": 1, "cpu_ns": 1}
        both = {name: process, "sampler": process | {"role": "harness"}}
        snapshot = {
            "at": "steady_begin",
            "time_ns": 1,
            "processes": both,
            "sockets": [{"inode": 1, "process": "sampler"}],
        }
        snapshot |= {"interfaces": {"eth0": {"tx_bytes": 1}}}
        sample = {"time_ns": 5, "machine": {"idle_ns": 1}, "processes": {}, "interfaces": {}}
        return {
            "snapshots": [snapshot],
            "series": [sample],
            "memory": {name: {}},
            "no_data": {},
            "own": {},
        }

    found = merge({"robot": one("talker"), "base": one("listener")})
    assert list(found["snapshots"][0]["processes"]) == [
        "talker",
        "sampler",
        "listener",
        "sampler@base",
    ]
    assert [one["process"] for one in found["snapshots"][0]["sockets"]] == [
        "sampler",
        "sampler@base",
    ]
    assert set(found["memory"]) == {"talker", "listener"}
    assert [(sample["host"], sample["machine"]) for sample in found["series"]] == [
        ("robot", {"idle_ns": 1}),
        ("base", {}),
    ]


def test_a_process_that_a_middleware_started_has_its_host_behind_its_name():
    """Its samples were put on the first host's clock, days away on another machine."""

    def document(name: str, role: str) -> dict:
        snapshot = {"processes": {name: {"role": role, "pid": 1, "cpu_ns": 1}}, "sockets": []}
        return {"snapshots": [snapshot], "memory": {}, "no_data": {}}

    merged = merge({"robot": document("talker", "worker"), "base": document("helper", "other")})
    assert list(merged["snapshots"][0]["processes"]) == ["talker", "helper@base"]


def test_scheduler_events_are_those_of_every_host_that_has_them():
    """The first machine may not read them, and the second may."""

    def document(**more) -> dict:
        processes = {"node": {"role": "worker", "pid": 1, "cpu_ns": 1}}
        snapshot = {"processes": processes, "sockets": []}
        return {"snapshots": [snapshot], "memory": {}, "no_data": {}} | more

    events = {"lost": 2, "events": [[3000, "node", 12, "in"]]}
    merged = merge({"robot": document(), "base": document(schedule=events)})
    assert merged["schedule"] == {"lost": 2, "events": [[3000, "node@base", 12, "in"]]}
    both = merge({"robot": document(schedule=events), "base": document(schedule=events)})
    assert both["schedule"]["lost"] == 4
    assert [event[1] for event in both["schedule"]["events"]] == ["node", "node@base"]
    assert "schedule" not in merge({"robot": document(), "base": document()})


def test_the_probe_program_imports_what_starts_at_once():
    """`socket`, `json` and `struct` take longer to import than the probe takes."""
    tree = ast.parse(Path(probe_program.__file__).read_text())
    typing_only = [node for node in tree.body if isinstance(node, ast.If)]
    skipped = {node for block in typing_only for node in ast.walk(block)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in imports
        if node not in skipped
        for alias in node.names
    }
    assert names == {"_socket", "marshal", "os", "select", "time"}


class Load:
    """A load process whose sender had so many connections as the window began and ended."""

    open_flows = (2, 2)

    def __init__(self, processes, name, host):
        self.name = name
        self.edges = tuple({"tcp_flows_open": flows} for flows in self.open_flows)

    def request(self, cmd, fields):
        return 0

    def stop(self, number):
        return {}


LIMITED = """{links: {all: {both: {rate_mbps: 20}}},
             cross_traffic: [{from: server, to: laptop, flows: 2}]}"""


@pytest.mark.parametrize(("open_flows", "moment"), [((1, 2), "began"), ((2, 1), "ended")])
def test_a_flow_that_was_not_there_all_the_window_breaks_the_network(
    monkeypatch, open_flows, moment
):
    monkeypatch.setattr(loads, "LoadProcess", Load)
    between = links(LIMITED)
    loads.CrossTrafficLoad(None, between).stop()
    monkeypatch.setattr(Load, "open_flows", open_flows)
    with pytest.raises(NetworkBroken, match=f"1 of 2 flows from .* as the window {moment}"):
        loads.CrossTrafficLoad(None, between).stop()


def test_a_change_that_no_host_confirms_is_no_change(monkeypatch):
    """It fails closed: a trial without its outage would have the results of another cell."""
    monkeypatch.setattr(emulation, "CONFIGURE_TIMEOUT_S", 0.0)
    network = Emulation.__new__(Emulation)
    network._links = links()
    network._processes = SimpleNamespace(configured={}, turn=lambda timeout_s: None)
    network._requests = {"token": ScheduledRequest(0, "robot", "robot", [], "admin_down")}
    with pytest.raises(NetworkBroken, match="host robot did not answer within 0 s"):
        network.settle(lambda host, change, time_ns: None)
