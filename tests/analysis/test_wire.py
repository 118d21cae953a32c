"""What crossed the links: nothing is counted twice and nothing is lost between the counts, whatever
the log holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmwbench.analysis.metrics.aggregate import over_trials
from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.network.link_bytes import (
    BYTES,
    crossing_bytes,
    is_mixed,
    rates_of,
    sums_of,
    sums_of_counts,
    values,
    wire_of,
    wire_of_counts,
)
from rmwbench.analysis.metrics.network.outage import Outage
from rmwbench.analysis.records import frames as frame_log
from rmwbench.analysis.records.columns import SteadyWindow
from rmwbench.analysis.records.frames import CLASSES, frames_of
from tests.support.columns import Records

WINDOW = SteadyWindow(1000, 2000)
PATIENT = settings(max_examples=60)
HOSTS = ("robot", "base", "tablet")
AT_UP = ("lost_up", "queue_full_up", "no_destination")
AT_DOWN = ("lost_down", "queue_full_down", "refused")
VERDICTS = ("delivered", "under_way", "multicast_unwanted", *AT_UP, *AT_DOWN)
VERDICTS += ("too_large", "blackhole")


def log(*rows):
    """Frames from rows of (index, sender, receiver or None, verdict, class, bytes, further
    columns)."""
    full = [
        {"index": i, "from_host": a, "to_host": b, "verdict": v, "class": kind, "frame_bytes": size}
        | {"in_ns": 1500, "retransmission": False, "duplicate": False}
        | (more[0] if more else {})
        for i, a, b, v, kind, size, *more in rows
    ]
    columns = {
        name: np.array([row[name] for row in full]) for name in ("index", "in_ns", "frame_bytes")
    }
    columns |= {
        name: np.array([row[name] for row in full], bool)
        for name in ("retransmission", "duplicate")
    }
    for name in ("from_host", "to_host", "verdict", "class", "direction", "interface"):
        names = tuple(dict.fromkeys(row[name] for row in full if row.get(name) is not None))
        columns[name] = (
            np.array([names.index(row[name]) if row.get(name) else -1 for row in full], int),
            names,
        )
    return frames_of(columns)


def to_base(index, verdict="delivered", size=100, **more):
    """A row of a frame of data from the robot."""
    return index, "robot", "base", verdict, "data", size, more


def measured(frames, payload_bytes=100, outages=(), rates=None):
    wire = wire_of(frames, outages, WINDOW, payload_bytes, rates or {})
    return wire, values(wire, sums_of(frames, WINDOW))


def test_each_byte_has_one_class_and_the_parts_add_up():
    frames = log(
        (0, "robot", "base", "delivered", "data", 150),
        (1, "base", "robot", "delivered", "acknowledgement", 60),
        (2, "robot", "base", "lost_up", "discovery", 90),
        (3, "robot", "base", "delivered", "data", 150, {"in_ns": 999}),  # before the window
        (4, "robot", "base", "delivered", "data", 150, {"in_ns": 2000}),  # after it
    )
    _, got = measured(frames)
    assert got[BYTES] == pytest.approx(3.0)
    assert [got[f"{BYTES}_{kind}"] for kind in CLASSES] == pytest.approx([1.5, 0.6, 0.9, 0, 0])


def test_a_multicast_frame_to_two_hosts_was_sent_once_and_can_be_lost_once():
    frames = log(
        (0, "robot", "base", "delivered", "data", 150),
        (0, "robot", "tablet", "lost_down", "data", 150),
    )
    wire, got = measured(frames)
    assert got[BYTES] == pytest.approx(1.5)
    assert got["frames_lost"] == (1, 2)
    assert wire.lost == {("tablet", "down", "lost_down"): 1}
    assert wire.entered == {("robot", "up"): 1, ("base", "down"): 1, ("tablet", "down"): 1}
    assert wire.carried == {("robot", "up"): 150, ("base", "down"): 150, ("tablet", "down"): 0}


def test_what_the_network_duplicated_is_not_what_the_host_sent():
    twice = (0, "robot", "base", "delivered", "data", 150)
    wire, _ = measured(
        log(twice, (*twice, {"duplicate": True})),
    )
    assert wire.sent["robot", "data"] == (1, 150)
    assert wire.carried["base", "down"] == 300


def test_payload_counts_where_it_crossed_and_in_the_window():
    rows = [
        {"endpoint": 1, "host": "robot"},
        {"endpoint": 2, "host": "base"},
        {"endpoint": 3, "host": "robot"},
    ]
    received = [
        {"taken_ns": 1000},
        {"taken_ns": 1500, "flags": 8},  # late, and it reached the other host all the same
        {"taken_ns": 1999, "bytes": 7},
        {"taken_ns": 999},
        {"taken_ns": 2000},
        {"taken_ns": 1500, "endpoint": 3},  # the writer's own host
        {"taken_ns": 1500, "flags": 1},  # corrupt
        {"taken_ns": 1500, "flags": 16, "writer": 0},  # foreign
    ]
    assert crossing_bytes(Records([], received), rows, WINDOW) == 207
    assert crossing_bytes(Records([], []), rows, WINDOW) == 0


def test_without_payload_there_is_no_ratio():
    _, got = measured(log((0, "robot", "base", "delivered", "data", 150)), 0)
    assert "no payload" in got[BYTES]


def test_what_was_sent_again_is_a_share_of_data_alone():
    again = {"retransmission": True}
    frames = log(
        (0, "robot", "base", "lost_up", "data", 100),
        (1, "robot", "base", "delivered", "data", 300, again),
        (2, "base", "robot", "delivered", "acknowledgement", 60, again),
        (3, "base", "robot", "delivered", "acknowledgement", 60),
    )
    _, got = measured(frames)
    assert got["retransmitted_frames"] == (1, 2)
    assert got["retransmitted_bytes"] == pytest.approx(0.75)


def test_out_of_range_is_blamed_on_the_link_that_was_away():
    frames = log(
        (0, "robot", "base", "blackhole", "data", 100),
        (1, "base", "robot", "blackhole", "acknowledgement", 60),
    )
    wire, _ = measured(frames, outages=[Outage("network", "robot", "blackhole", 1400, 1600)])
    assert wire.lost == {("robot", "up", "blackhole"): 1, ("robot", "down", "blackhole"): 1}


def test_a_log_that_says_where_a_frame_ended_is_believed():
    up, down = {"direction": "up"}, {"direction": "down"}
    away = [Outage("network", "robot", "blackhole", 1400, 1600)]
    frames = log(
        (0, "robot", "base", "given_up", "data", 1000, up),
        (1, "robot", "base", "delivered", "data", 1000, down),
        (2, "robot", "base", "blackhole", "data", 100, up | {"in_ns": 1300}),  # it waited
        (3, "base", "robot", "blackhole", "data", 100, down),
        (4, "robot", "base", "under_way", "data", 100, up),
    )
    wire, _ = measured(frames, outages=away)
    assert wire.lost == {
        ("robot", "up", "given_up"): 1,
        ("robot", "up", "blackhole"): 1,
        ("robot", "down", "blackhole"): 1,
    }
    assert wire.entered["base", "down"] == 1 and wire.carried["base", "down"] == 1000
    # An older log does not, and the receiver's link is the guess.
    older = log(
        (0, "robot", "base", "given_up", "data", 1000),
        (1, "robot", "base", "given_up", "data", 1000, up),
    )
    assert measured(older)[0].lost == {
        ("base", "down", "given_up"): 1,
        ("robot", "up", "given_up"): 1,
    }


def test_the_busiest_link_is_told_against_its_rate():
    frames = log(*(to_base(n) for n in range(5)))
    _, got = measured(frames, rates={("robot", "up"): 8e9, ("base", "down"): 16e9})
    assert got["link_utilisation"] == pytest.approx(0.5)  # 500 bytes in 1 µs at 8 Gbit/s
    assert "no link has a rate" in measured(frames)[1]["link_utilisation"]


SECOND_NS = 1_000_000_000
SECOND = SteadyWindow(SECOND_NS, 2 * SECOND_NS)


def test_a_link_with_a_full_queue_is_used_all_the_time_and_no_more():
    """1000 frames a second for a link that carries 8 of them: none comes out while it is logged."""
    due = [SECOND_NS + n * SECOND_NS // 1000 for n in range(1000)]
    frames = log(
        *(to_base(n, "under_way", 1500, direction="up", in_ns=due[n]) for n in range(1000))
    )
    wire = wire_of(frames, (), SECOND, 1, {("robot", "up"): 1e5})
    got = values(wire, sums_of(frames, SECOND))
    assert wire.entered["robot", "up"] == 1000 and wire.carried["robot", "up"] == 0
    assert got["link_utilisation"] <= 1 and got["link_utilisation"] == pytest.approx(1)


def test_what_found_the_queue_full_took_nothing_of_the_link():
    frames = log(
        (0, "robot", "base", "delivered", "data", 100),
        (1, "robot", "base", "queue_full_up", "data", 100, {"direction": "up"}),
        (2, "robot", "base", "policed_up", "data", 100, {"direction": "up"}),
    )
    _, got = measured(frames, rates={("robot", "up"): 8e9})
    assert got["link_utilisation"] == pytest.approx(0.1)


def test_a_frame_that_was_lost_behind_the_rate_has_taken_its_time():
    """Ten equal frames fill the window, and three of them are lost."""
    lost = [to_base(n, "lost_up", direction="up", in_ns=1000) for n in range(3)]
    came = [to_base(n, direction="down", in_ns=1000) for n in range(3, 10)]
    frames = log(*lost, *came)
    wire, got = measured(frames, rates={("robot", "up"): 8e9})
    assert got["link_utilisation"] == pytest.approx(1) and got["frames_lost"] == (3, 10)
    assert wire.lost == {("robot", "up", "lost_up"): 3}


def test_a_link_let_through_what_left_it_in_the_window():
    """Ten frames of 0.2 s each, and all of them came before the window."""
    frames = log(*(to_base(n, "delivered", 2500, in_ns=50_000_000) for n in range(10)))
    wire = wire_of(frames, (), SECOND, 1, {("robot", "up"): 1e5})
    assert wire.carried == {("robot", "up"): 12_500, ("base", "down"): 12_500}
    assert wire.entered == {("robot", "up"): 0, ("base", "down"): 0}
    assert values(wire, sums_of(frames, SECOND))["link_utilisation"] == pytest.approx(1)


@PATIENT
@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(60, 1514), st.booleans()), max_size=40),
    st.sampled_from((1e8, 1e9, 1e11)),
)
def test_no_link_is_used_for_longer_than_the_window(came, rate_bps):
    frames = log(
        *(
            to_base(n, "delivered", size, in_ns=in_ns, direction="down")
            if through
            else to_base(n, "under_way", size, in_ns=in_ns, direction="up")
            for n, (in_ns, size, through) in enumerate(sorted(came))
        )
    )
    rates = {("robot", "up"): rate_bps, ("base", "down"): rate_bps / 2}
    wire, got = measured(frames, rates=rates)
    assert 0 <= got["link_utilisation"] <= 1
    for link, rate in rates.items():
        longest_bits = 8 * 1514
        assert 8 * wire.carried.get(link, 0) <= rate * 1000e-9 + longest_bits


def test_a_multicast_frame_lost_on_its_way_up_is_lost_for_every_destination():
    others = ("base", "tablet", "desk")
    lost = [(i, "robot", None, "lost_up", "data", 100, {"direction": "up"}) for i in range(500)]
    came = [
        (i, "robot", other, "delivered", "data", 100, {"direction": "down"})
        for i in range(500, 1000)
        for other in others
    ]
    wire, got = measured(log(*lost, *came))
    assert got["frames_lost"] == (1500, 3000)
    assert wire.lost == {("robot", "up", "lost_up"): 500}


def test_a_frame_for_nobody_is_lost_once():
    frames = log(
        (0, "robot", None, "no_destination", "data", 100, {"direction": "up"}),
        (1, "robot", "base", "delivered", "data", 100),
        (2, "robot", "tablet", "delivered", "data", 100),
    )
    assert measured(frames)[1]["frames_lost"] == (1, 3)


def test_a_multicast_frame_that_nobody_wanted_there_met_no_link():
    down = {"direction": "down"}
    frames = log(
        (0, "robot", "base", "delivered", "data", 100, down),
        (0, "robot", "tablet", "multicast_unwanted", "data", 100, down),
        (1, "robot", None, "multicast_unwanted", "data", 100, {"direction": "up"}),
    )
    wire, got = measured(frames)
    assert wire.entered == {("robot", "up"): 2, ("base", "down"): 1}
    assert wire.carried == {("robot", "up"): 200, ("base", "down"): 100}
    assert got["frames_lost"] == (0, 1)


def test_a_rate_that_changes_or_is_replayed_is_not_a_constant_rate():
    links = {
        "robot": {"up": {"nic": {"rate_bps": 5}}, "down": {"rate_bps": 7}},
        "base": {"up": {"rate_bps": 9}},
    }
    links["tablet"] = {"up": {"rate_bps": 9, "trace": {}}, "down": {}}
    assert rates_of({"network": {"links": links}}) == {
        ("robot", "up"): 5,
        ("robot", "down"): 7,
        ("base", "up"): 9,
    }
    changes = [{"host": "robot", "change": "blackhole"}, {"host": "base", "up": {}}]
    rates = rates_of({"network": {"links": links, "changes": changes}})
    assert rates == {("robot", "up"): 5, ("robot", "down"): 7}
    assert rates_of({}) == {}


BESIDE = {
    "links": {"robot": {"up": {"rate_bps": 1_000_000}, "down": {}}},
    "beside": {"robot wlan0": {"up": {"rate_bps": 54_000_000}, "down": {}}},
}


def test_each_network_of_a_host_has_its_own_links():
    second = SteadyWindow(0, 1_000_000_000)
    over = {"direction": "down", "interface": "wlan0", "in_ns": 5}
    lost = over | {"direction": "up"}
    frames = log(
        *((i, "robot", "base", "delivered", "data", 1500, over) for i in range(4000)),
        (4000, "robot", "base", "lost_up", "data", 1500, lost),
        (4001, "robot", "base", "lost_up", "data", 1500, lost | {"interface": "eth0"}),
    )
    rates = rates_of({"network": BESIDE | {"changes": [{"host": "base", "up": {}}]}})
    assert rates == {("robot", "up"): 1e6, ("robot wlan0", "up"): 54e6}
    wire = wire_of(frames, (), second, 1, rates)
    assert wire.lost == {("robot", "up", "lost_up"): 1, ("robot wlan0", "up", "lost_up"): 1}
    assert wire.carried["robot wlan0", "up"] == wire.carried["base wlan0", "down"] == 6_000_000
    assert wire.entered["robot", "up"] == 1 and ("base", "down") not in wire.entered
    assert wire.sent["robot", "data"][0] == 4002
    got = values(wire, sums_of(frames, second))
    assert got["link_utilisation"] == pytest.approx(
        4001 * 0.012 / 54
    )  # the lost one took its time, too


def test_frames_of_two_networks_that_cannot_be_told_apart_use_no_link():
    frames = log((0, "robot", "base", "delivered", "data", 1500))
    assert is_mixed(frames, {"network": BESIDE}) and not is_mixed(frames, {"network": {}})
    told = log((0, "robot", "base", "delivered", "data", 1500, {"interface": "eth0"}))
    assert not is_mixed(told, {"network": BESIDE})


@st.composite
def frames_and_truth(draw):
    """Logs as the switch writes them: a frame ends on its way up once, or meets each of its
    destinations."""
    rows = []
    for index in range(draw(st.integers(0, 25))):
        sender = draw(st.sampled_from(HOSTS))
        kind, size = draw(st.sampled_from(CLASSES)), draw(st.integers(60, 1514))
        if draw(st.booleans()):
            verdict = draw(st.sampled_from((*AT_UP, "too_large", "blackhole")))
            rows.append((index, sender, None, verdict, kind, size))
            continue
        others = st.sampled_from([h for h in HOSTS if h != sender])
        below = st.sampled_from([v for v in VERDICTS if v not in AT_UP])
        rows += [
            (index, sender, other, draw(below), kind, size)
            for other in draw(st.lists(others, min_size=1, unique=True))
        ]
    return rows


@PATIENT
@given(frames_and_truth())
def test_every_frame_is_accounted_for_once(rows):
    frames = log(*rows)
    wire, got = measured(frames, 1)
    sent = {row[0]: row[5] for row in rows}
    assert wire.bytes == sum(sent.values())
    assert sum(got.get(f"{BYTES}_{kind}", 0) for kind in CLASSES) == pytest.approx(got[BYTES])
    lost = [row for row in rows if row[3] not in ("delivered", "under_way", "multicast_unwanted")]
    assert sum(wire.lost.values()) == len(lost)
    known = {host for row in rows for host in row[1:3] if host}
    to_all = [row for row in lost if row[2] is None and row[3] != "no_destination"]
    for_each = max(1, len(known) - 1)
    assert got["frames_lost"][0] == len(lost) + len(to_all) * (for_each - 1)
    for host in HOSTS:
        up = {row[0]: row for row in rows if row[1] == host}
        assert wire.entered.get((host, "up"), 0) == len(up)
        gone = [i for i, row in up.items() if row[2] is None]
        assert wire.carried.get((host, "up"), 0) == sum(
            row[5] for i, row in up.items() if i not in gone
        )
        wanted = [row for row in rows if row[3] != "multicast_unwanted"]
        assert wire.entered.get((host, "down"), 0) == sum(row[2] == host for row in wanted)


def test_over_trials_that_scatter_the_data_do_not_exceed_the_whole():
    whole = np.array([1.1, 1.2, 2.4])
    names = (f"{BYTES}_data", BYTES)
    data, all_of_it = (
        over_trials(GLOSSARY[name].unit, GLOSSARY[name].kind, of, 3, "values")
        for name, of in zip(names, (whole - 1e-3, whole), strict=True)
    )
    assert data.value <= all_of_it.value


def periods_of(frames):
    """The document's counts, made of a whole log: its own columns, each frame and copy by itself."""
    entered, ended, crossed = {}, [], {}
    at_up = np.isin(frames.ended.codes, [frames.ended.names.index("up")]) if len(frames) else []
    seen = set()
    for row in range(len(frames)):
        if not WINDOW.begin_ns <= frames.in_ns[row] < WINDOW.end_ns:
            continue
        name = lambda texts, row=row: texts.names[texts.codes[row]] if texts.codes[row] >= 0 else ""  # noqa: E731
        sender, kind, verdict = name(frames.sender), name(frames.kind), name(frames.verdict)
        size = int(frames.frame_bytes[row])
        if frames.entered[row]:
            again = int(frames.retransmission[row])
            of = entered.setdefault((sender, kind), [0, 0, 0, 0])
            entered[sender, kind] = [
                a + b for a, b in zip(of, (1, size, again, again * size), strict=True)
            ]
        if frames.index[row] not in seen:
            through = 0 if at_up[row] else size
            sent, carried = crossed.get((sender, "up"), (0, 0))
            crossed[sender, "up"] = (sent + size, carried + through)
        seen.add(frames.index[row])
        way, link = ("up", sender) if at_up[row] else ("down", name(frames.receiver))
        ended.append((link, way, kind, verdict, not name(frames.receiver)))
    return {
        "edges_ns": [WINDOW.begin_ns, WINDOW.end_ns],
        "entered": [
            {"period": 1, "link": link, "class": kind}
            | dict(
                zip(
                    ("frames", "bytes", "retransmitted_frames", "retransmitted_bytes"),
                    of,
                    strict=True,
                )
            )
            for (link, kind), of in entered.items()
        ],
        "ended": [
            {"period": 1, "link": link, "way": way, "class": kind, "verdict": verdict}
            | {"to_all": to_all, "frames": ended.count((link, way, kind, verdict, to_all))}
            for link, way, kind, verdict, to_all in dict.fromkeys(ended)
        ],
        "crossed": [
            {"period": 1, "link": link, "way": way, "sent_bytes": sent, "carried_bytes": carried}
            for (link, way), (sent, carried) in crossed.items()
        ],
    }


def test_counts_say_what_the_whole_log_would():
    """Of a log that lacks frames everything that needs counts stays right."""
    up, down = {"direction": "up"}, {"direction": "down"}
    frames = log(
        (0, "robot", "base", "delivered", "data", 150, down),
        (1, "robot", "base", "delivered", "data", 150, down | {"retransmission": True}),
        (2, "robot", "base", "lost_up", "data", 100, up),
        (3, "base", "robot", "lost_down", "acknowledgement", 60, down),
        (4, "robot", "base", "delivered", "discovery", 90, down),
        (4, "robot", "tablet", "multicast_unwanted", "discovery", 90, down),
        (5, "robot", None, "lost_up", "discovery", 90, up),
        (6, "tablet", "base", "under_way", "data", 150, down),
        (7, "robot", "base", "delivered", "data", 150, down | {"in_ns": 999}),
    )
    counters = list(frame_log.counter_rows(periods_of(frames), unlogged=3))
    assert {row["at"] for row in counters} == {"window"}
    counts = frame_log.counts_of(counters)
    whole, told = (
        wire_of(frames, (), WINDOW, 100, {}),
        wire_of_counts(counts, WINDOW, 100, {}),
    )
    assert told.sent == whole.sent and told.bytes == whole.bytes
    assert told.lost == whole.lost and told.lost_data == whole.lost_data
    assert told.entered == whole.entered
    assert {link: size for link, size in told.carried.items() if link[1] == "up"} == {
        link: size for link, size in whole.carried.items() if link[1] == "up"
    }
    sums = sums_of_counts(counts)
    assert sums == sums_of(frames, WINDOW)
    assert (sums.lost, sums.sent_to_hosts) == (4, 7), "one of them would have gone to two hosts"
    assert values(told, sums) == values(whole, sums_of(frames, WINDOW))
    assert frame_log.counts_of([]) is None
    assert not counts.without(["robot"]).entered.get(("robot", "data"))


def test_counts_of_a_host_with_two_links_are_its_own_and_each_links():
    frames = log(
        (0, "robot", "base", "delivered", "data", 150, {"direction": "down"}),
        (1, "robot", "base", "delivered", "data", 90, {"direction": "down", "interface": "wlan0"}),
    )
    entered = {
        ("robot", "data"): frame_log.EnteredFrames(1, 150),
        ("robot wlan0", "data"): frame_log.EnteredFrames(1, 90),
    }
    counts = frame_log.FrameCounts(3, entered)
    whole, told = wire_of(frames, (), WINDOW, 1, {}), wire_of_counts(counts, WINDOW, 1, {})
    assert told.sent == whole.sent and told.sent["robot", "data"] == (2, 240)
    assert told.entered == {("robot", "up"): 1, ("robot wlan0", "up"): 1}


def test_a_link_with_a_rate_is_busy_for_what_it_sent():
    one = {"period": 1, "link": "robot", "way": "up", "sent_bytes": 500, "carried_bytes": 400}
    periods = {"edges_ns": [0, SECOND_NS], "entered": [], "ended": [], "crossed": [one]}
    counts = frame_log.counts_of(frame_log.counter_rows(periods, unlogged=1))
    wire = wire_of_counts(counts, SECOND, 1, {("robot", "up"): 8000.0})
    assert wire.busy_ns == {("robot", "up"): 0.5e9} and wire.carried == {("robot", "up"): 400}
