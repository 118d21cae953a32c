"""The goodput of cross traffic, from its receivers' counters, and the bytes that could reach no host:
absent where counters say nothing, and never zero. Frames of cross traffic are in no figure of a
middleware."""

from types import SimpleNamespace

import pytest

from rmwbench.analysis.metrics.glossary import MetricScope, names_of
from rmwbench.analysis.metrics.network.network_counters import (
    NO_ACCOUNT,
    NO_FURTHER,
    NONE,
    NOT_READ,
    ROLE,
    TOO_SHORT,
    cross_traffic,
    hosts_of,
    stray_measures,
)
from rmwbench.analysis.metrics.network.network_metrics import network
from rmwbench.analysis.records.columns import SteadyWindow
from tests.analysis.test_wire import log
from tests.support.columns import Records

OTHERS = names_of(MetricScope.CROSS_TRAFFIC)
S = 1_000_000_000
DEFINITION = {
    "network": {
        "cross_traffic": [{"from": "server", "to": "laptop"}, {"from": "server", "to": "tv"}]
    }
}


def rows(process: str, received: dict[str, int], cpu_ns: int = 0, length_s: int = 2) -> list[dict]:
    """`received`: at → bytes by then; snapshots a second apart, in their order."""
    times = {at: k * S for k, at in enumerate(received)} | {"steady_end": length_s * S}
    cpu = {"steady_begin": 7, "steady_end": 7 + cpu_ns}
    told = {
        "tcp.received": received,
        "snapshot_time": {at: times[at] for at in received},
        "cpu": cpu,
    }
    return [
        {"process": process, "role": ROLE, "counter": counter, "at": at, "value": value}
        for counter, values in told.items()
        for at, value in values.items()
    ]


LAPTOP = rows("a", {"steady_begin": 100, "second_1": 1100, "steady_end": 4100}, cpu_ns=S // 10)
ONE = {"network": {"cross_traffic": DEFINITION["network"]["cross_traffic"][:1]}}
TV = rows("b", {"steady_begin": 0, "second_1": 6000, "steady_end": 6000}, cpu_ns=S // 10)


def test_all_flows_count_together_in_the_window_and_in_its_worst_second():
    got = cross_traffic([*LAPTOP, *TV], DEFINITION)
    assert got["cross_goodput"] == pytest.approx(5000)
    # 1000 and 6000 bytes in the first second, 3000 and none in the second one, which ends with the
    # window.
    assert got["cross_goodput_least"] == pytest.approx(3000)
    assert got["cross_cpu_cores"] == pytest.approx(0.1)


def test_a_starved_flow_has_no_goodput_and_that_is_zero():
    got = cross_traffic(rows("a", {"steady_begin": 5, "second_1": 5, "steady_end": 5}), ONE)
    assert got["cross_goodput"] == 0 and got["cross_goodput_least"] == 0


def test_absent_is_not_zero():
    assert cross_traffic(LAPTOP, {}) == dict.fromkeys(OTHERS, NONE)
    assert cross_traffic(LAPTOP, {"network": {"hosts": ["robot"]}}) == dict.fromkeys(OTHERS, NONE)
    assert cross_traffic([], DEFINITION) == dict.fromkeys(OTHERS, NO_ACCOUNT)
    got = cross_traffic([row for row in LAPTOP if row["at"] != "second_1"], ONE)
    assert got["cross_goodput"] == pytest.approx(2000) and got["cross_goodput_least"] == TOO_SHORT


@pytest.mark.parametrize("unread", ["steady_begin", "steady_end", "all"])
@pytest.mark.parametrize("counter", ["tcp.received", "cpu"])
def test_the_goodput_of_some_flows_is_not_that_of_all(unread, counter):
    half = [row for row in LAPTOP if row["counter"] != counter or unread not in (row["at"], "all")]
    assert cross_traffic([*half, *TV], DEFINITION) == dict.fromkeys(OTHERS, NO_ACCOUNT)


def test_frames_of_cross_traffic_are_nobodys_bytes():
    assert hosts_of(DEFINITION) == ("server", "laptop", "tv")
    mine = [
        (0, "robot", "base", "delivered", "data", 150),
        (1, "base", "robot", "delivered", "acknowledgement", 60),
    ]
    theirs = [
        (2, "server", "laptop", "lost_down", "data", 1514),
        (3, "laptop", "server", "delivered", "data", 66),
    ]

    def of(*frames):
        nobody = SimpleNamespace(records=Records([], []), endpoints=[], events=[])
        context = SimpleNamespace(
            evidence=nobody,
            window=SteadyWindow(1000, 2000),
            frames=log(*frames),
            frame_counts=None,
            definition=DEFINITION,
            judged=[],
            lives={},
        )
        of_network = network(context)
        return of_network.network.wire, of_network.measures["frames_lost"]

    (alone, _), (beside, _) = of(*mine), of(*mine, *theirs)
    assert beside.sent == alone.sent and beside.lost == alone.lost == {} and beside.bytes == 210
    # The network floods what is sent to everybody, also over links that cross traffic fills.
    to_base = (4, "robot", "base", "delivered", "discovery", 90)
    to_laptop = (4, "robot", "laptop", "lost_down", "discovery", 90)
    gone = (5, "robot", None, "lost_up", "discovery", 90)
    wanted = of(*mine, to_base, gone)
    assert wanted[1] == (1, 4)
    for flooded in ((to_base, to_laptop), (to_laptop, to_base)):
        assert of(*mine, *theirs, *flooded, gone) == wanted


FURTHER = {"network": {"hosts": ["robot", "base"], "interfaces": {"robot": [{"name": "docker0"}]}}}


def counter(host, name, at, value):
    return {"process": host, "counter": f"interface.{name}.tx_bytes", "at": at, "value": value}


def test_stray_bytes_are_those_of_further_interfaces_and_of_the_loopback():
    rows = [
        counter(host, name, at, value)
        for host, name, before, after in (
            ("robot", "docker0", 100, 600),
            ("robot", "lo", 0, 7000),
            ("base", "lo", 50, 60),
            ("robot", "eth0", 0, 90_000),
            ("base", "docker0", 0, 90_000),  # not one that its network gave it
        )
        for at, value in (("before_open", before), ("complete", 12345), ("steady_end", after))
    ]
    assert stray_measures(rows, FURTHER) == {"stray_bytes": 500, "loopback_bytes": 7010}
    further = {host: [{"name": "docker0"}] for host in ("robot", "traffic")}
    of_all = {"network": {"hosts": ["robot", "base"], "interfaces": further}}
    assert stray_measures(rows, of_all) == stray_measures(rows, FURTHER), (
        "nothing reads hosts of cross traffic"
    )
    got = stray_measures(rows[1:], FURTHER)
    assert set(got.values()) == {NOT_READ}


def test_without_further_interfaces_nothing_is_stray():
    got = stray_measures([], {"network": {"hosts": ["robot"]}})
    assert set(got.values()) == {NO_FURTHER}
    assert stray_measures([], {}) == got
