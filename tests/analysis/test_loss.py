"""Where messages were lost: counts are believed in their own unit, and what nobody counted stays
not located."""

from dataclasses import replace

import pytest

from rmwbench.analysis.causes.loss_places import Drops, drops, locate
from rmwbench.analysis.records.ledger import Ledger

QUIET = Drops(sockets={}, interfaces={"lo": 0}, reassembly=0, reader_queue=0)


def located(ledger: Ledger, drops: Drops, *, reliable=False, keep_last=True):
    return locate(ledger, drops, reliable=reliable, keep_last=keep_last)


def ledger(wanted=100, **counts) -> Ledger:
    return Ledger(wanted=wanted, delivered=wanted - sum(counts.values()), **counts)


def test_nothing_missing_has_no_place_even_where_something_was_dropped_and_repeated():
    losses = located(ledger(), replace(QUIET, sockets={"listener": 40}), reliable=True)
    assert (losses.missing, losses.not_located) == (0, 0)
    assert [(p.place, p.count, p.messages) for p in losses.places] == [
        ("socket buffer of listener", 40, 0)
    ]


def test_what_no_counter_explains_stays_not_located():
    losses = located(ledger(vanished_middle=7), QUIET)
    assert (losses.missing, losses.places, losses.not_located) == (7, (), 7)


@pytest.mark.parametrize(("dropped", "explained", "rest"), [(3, 3, 4), (7, 7, 0), (900, 7, 0)])
def test_a_socket_explains_at_most_what_it_dropped_and_at_most_what_is_missing(
    dropped, explained, rest
):
    losses = located(
        ledger(vanished_middle=7), replace(QUIET, sockets={"listener": dropped, "talker": 0})
    )
    (place,) = losses.places
    assert (place.messages, place.label, losses.not_located) == (explained, "at most", rest)
    assert "rmem_max" in place.text


def test_the_readers_queue_counts_messages_and_is_believed_first():
    losses = located(
        ledger(vanished_start=2, vanished_end=8), replace(QUIET, reader_queue=6, reassembly=50)
    )
    assert [(p.place, p.messages, p.label) for p in losses.places] == [
        ("IP reassembly", 4, "at most"),
        ("reader's queue", 6, "at most"),
    ]
    assert losses.not_located == 0


def test_history_is_inferred_only_where_nothing_below_dropped_and_the_stream_was_reliable_and_keep_last():
    noticed = replace(QUIET, noticed=5)
    losses = located(ledger(vanished_middle=7), noticed, reliable=True)
    assert [(p.place, p.label, p.messages) for p in losses.places] == [
        ("writer's history", "inferred", 5),
        ("reader's history", "inferred", 2),
    ]
    assert losses.not_located == 0
    unknown = located(ledger(vanished_middle=7), QUIET, reliable=True)
    assert (unknown.places, unknown.not_located) == ((), 7)
    silent = located(ledger(wanted=23, vanished_start=23), replace(QUIET, noticed=0), reliable=True)
    assert (silent.places, silent.not_located) == ((), 23)
    assert located(ledger(vanished_middle=7), noticed, reliable=True, keep_last=False).places == ()
    assert located(ledger(vanished_middle=7), noticed).places == ()
    (kernel,) = located(
        ledger(vanished_middle=7), replace(noticed, reassembly=9), reliable=True
    ).places
    assert kernel.place == "IP reassembly"


def test_every_end_of_the_ledger_has_its_place_along_the_way():
    losses = located(
        ledger(not_attempted=1, failed=2, vanished_middle=3, corrupt=4, after_drain=5), QUIET
    )
    assert [p.place for p in losses.places] == ["schedule", "publish call", "content", "too late"]
    assert losses.missing == 15 and losses.not_located == 3
    assert sum(p.messages for p in losses.places) + losses.not_located == losses.missing


def test_a_place_that_nobody_counts_is_named_and_is_not_zero():
    losses = located(ledger(vanished_middle=1), Drops(reader_queue=0))
    assert losses.uncounted == ("socket buffers", "IP reassembly", "interfaces")
    assert Drops(reassembly=1) + Drops() == Drops()
    total = replace(QUIET, sockets={"a": 1}) + replace(QUIET, sockets={"a": 2, "b": 5})
    assert total.sockets == {"a": 3, "b": 5}


def counter(
    name: str, begin: float | None, end: float, process="listener", role="subscription", endpoint=2
) -> list[dict]:
    rows = [("steady_begin", begin), ("steady_end", end)] if begin is not None else [("end", end)]
    return [
        {
            "process": process,
            "role": role,
            "endpoint": endpoint,
            "counter": name,
            "at": at,
            "value": value,
        }
        for at, value in rows
    ]


def test_counters_of_a_trial_become_drops_of_its_window():
    rows = [
        *counter("socket_drops", 10, 14),
        *counter("socket_drops", 0, 0, process="talker"),
        *counter("udp.rcvbuf_errors", 0, 99, process="local", role="machine"),
        *counter("ip.reasm_fails", 1, 6, process="local", role="machine"),
        *counter("interface.lo.rx_dropped", 0, 2, process="local", role="machine"),
        *counter("interface.lo.tx_errors", 0, 1, process="local", role="machine"),
        *counter("interface.lo.rx_bytes", 0, 1000, process="local", role="machine"),
        *counter("interface.eth0.queue_dropped", 7, 40, process="robot", role="machine"),
        *counter("reader_drops", None, 9),
        *counter("own.sample_lost", None, 7),
    ]
    dropped = drops(rows)
    assert dropped.sockets == {"listener": 4, "talker": 0}
    assert (dropped.reassembly, dropped.interfaces) == (5, {"lo": 3, "eth0": 33})
    assert (dropped.reader_queue, dropped.noticed) == (2, 7)
    assert drops(rows[4:6]).sockets == {"local": 99}
    of_desk = counter("ip.reasm_fails", 0, 40, process="desk", role="machine")
    assert drops([*rows, *of_desk]).reassembly == 45
    assert drops([]) == Drops()


def test_what_the_kernel_counted_before_anybody_looked_says_nothing_of_the_window():
    """Of a shared host it is what was dropped since it was switched on."""
    ends = [
        counter(name, 0, 99, process="local", role="machine")[1]
        for name in ("udp.rcvbuf_errors", "ip.reasm_fails", "interface.eth0.rx_dropped")
    ]
    assert drops(ends) == Drops()
    late = counter("socket_drops", 0, 4)[1]
    assert drops([*ends, late]).sockets == {"listener": 4}, "of a process that began meanwhile"
    closed = counter("socket_drops", 40, 3, process="rejoining")
    assert drops([*closed, late]).sockets == {"rejoining": 0, "listener": 4}


def test_an_interface_whose_name_has_a_dot_is_not_another():
    assert drops(counter("interface.wlan0.10.rx_dropped", 0, 2)).interfaces == {"wlan0.10": 2}


@pytest.mark.parametrize(
    ("own", "of_queue"),
    [
        ({1: {"reader_drops": 0, "own.sample_lost": 0}, 2: {"own.sample_lost": 12}}, 0),
        ({1: {"reader_drops": 3}, 2: {"reader_drops": 13, "own.sample_lost": 12}}, 4),
        ({1: {"reader_drops": 3}, 2: {"reader_drops": 0, "own.sample_lost": 12}}, 3),
    ],
)
def test_what_one_reader_never_got_is_not_taken_off_anothers_queue(own, of_queue):
    rows = [
        row
        for endpoint, counts in own.items()
        for name, count in counts.items()
        for row in counter(name, None, count, endpoint=endpoint)
    ]
    dropped = drops(rows)
    assert (dropped.reader_queue, dropped.noticed) == (of_queue, 12)
    losses = located(ledger(vanished_middle=5), dropped)
    assert losses.not_located == 5 - of_queue and all(p.messages > 0 for p in losses.places)


def test_what_links_lost_is_a_place_and_no_history_is_blamed():
    """A lossy network explains at most what it dropped; `nothing below dropped anything` would be
    wrong."""
    ten_lost, none = ledger(vanished_middle=10), Drops(sockets={}, interfaces={}, reassembly=0)
    unseen = replace(none, noticed=0)
    quiet = located(ten_lost, unseen, reliable=True)
    assert [place.label for place in quiet.places] == ["inferred"]
    links = {"robot up: random loss": 7, "base down: random loss": 5}
    robot, base = (replace(unseen, links={link: count}) for link, count in links.items())
    assert (robot + base).links == links
    losses = located(ten_lost, robot + base, reliable=True)
    told = [(p.place, p.count, p.unit, p.messages, p.label) for p in losses.places]
    assert told == [
        ("link robot up: random loss", 7, "frames", 7, "at most"),
        ("link base down: random loss", 5, "frames", 5, "at most"),
    ]
