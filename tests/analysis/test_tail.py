"""Each cause is found from the evidence that makes it, and no cause without evidence."""

from dataclasses import replace

import numpy as np
import pytest

from rmwbench.analysis.causes.tail import (
    CAUSES,
    UNEXPLAINED,
    Bins,
    PairMessages,
    Witnesses,
    explain,
    trial_witnesses,
)
from rmwbench.analysis.records.ledger import ABSENT

N, PERIOD, USUAL = 400, 1_000_000, 20_000
AT = 200
"""The place of the message that is made slow."""
SLOW = 700_000


def pair(**late: int) -> PairMessages:
    """A good stream, in which `late` moves stamps of message AT: every named stamp and all behind
    it."""
    intended = np.arange(N, dtype=np.int64) * PERIOD
    steps = {"begun": 1_000, "call": 2_000, "return": 9_000, "notified": 15_000, "taken": USUAL}
    stamps = {name: intended + step for name, step in steps.items()}
    for name, by in late.items():
        for behind in list(stamps)[list(stamps).index(name) :]:
            stamps[behind][AT] += by
    return made(intended, stamps)


def made(intended: np.ndarray, stamps: dict[str, np.ndarray]) -> PairMessages:
    return PairMessages(
        intended,
        *(stamps[n] for n in ("begun", "call", "return", "notified", "taken")),
        np.ones(N, bool),
    )


def stamps_of(stream: PairMessages) -> list[np.ndarray]:
    return [stream.begun_ns, stream.call_ns, stream.return_ns, stream.notified_ns, stream.taken_ns]


def cause(stream: PairMessages, witnesses: Witnesses = Witnesses()) -> str:
    tail = explain(stream, witnesses)
    assert [slow.place for slow in tail.messages] == [AT]
    return tail.messages[0].cause


def stretch(begin: int = 0, length: int = SLOW) -> np.ndarray:
    return np.array([[AT * PERIOD + begin, AT * PERIOD + begin + length]])


def bins(at: str | None = None, steal: float = 0.0) -> Bins:
    edges = np.arange(0, N + 1, 4, dtype=np.int64) * PERIOD
    counts = {
        name: np.zeros(len(edges) - 1)
        for name in ("socket buffer full", "IP reassembly", "TCP retransmission")
    }
    share = np.zeros(len(edges) - 1)
    share[AT // 4] = steal
    if at:
        counts[at][AT // 4] = 3
    return Bins(edges, share, counts)


@pytest.mark.parametrize(
    ("late", "witnesses", "expected"),
    [
        ({"begun": SLOW}, Witnesses(), "publisher late"),
        ({"begun": SLOW}, Witnesses(publisher_waits=stretch()), "publisher not scheduled"),
        ({"begun": SLOW}, Witnesses(receiver_waits=stretch()), "publisher late"),
        ({"begun": SLOW}, Witnesses(canary_late=stretch()), "machine busy"),
        ({"begun": SLOW}, Witnesses(canary_late=stretch(), machine=bins(steal=0.3)), "steal"),
        ({"begun": SLOW}, Witnesses(canary_late=stretch(length=SLOW // 3)), "publisher late"),
        ({"call": SLOW}, Witnesses(), "payload writing"),
        ({"return": SLOW}, Witnesses(), "publish blocked"),
        ({"return": SLOW}, Witnesses(publisher_waits=stretch()), "publisher not scheduled"),
        ({"return": SLOW}, Witnesses(publisher_waits=stretch(length=SLOW // 3)), "publish blocked"),
        ({"notified": SLOW}, Witnesses(), "unexplained"),
        ({"notified": SLOW}, Witnesses(receiver_waits=stretch()), "receiver not scheduled"),
        ({"notified": SLOW}, Witnesses(receiver_waits=stretch(-3 * SLOW)), "unexplained"),
        ({"notified": SLOW}, Witnesses(bins=bins("socket buffer full")), "socket buffer full"),
        ({"notified": SLOW}, Witnesses(bins=bins("IP reassembly")), "IP reassembly"),
        ({"notified": SLOW}, Witnesses(bins=bins("TCP retransmission")), "unexplained"),
        ({"notified": SLOW}, Witnesses(sender=bins("TCP retransmission")), "TCP retransmission"),
        ({"taken": SLOW}, Witnesses(), "taking"),
        ({"notified": 2 * PERIOD}, Witnesses(), "retransmission"),
    ],
)
def test_a_cause_needs_evidence_that_covers_half_of_the_excess(late, witnesses, expected):
    assert cause(pair(**late), witnesses) == expected
    assert expected in CAUSES


def test_a_message_that_was_overtaken_by_a_hair_was_not_held_up_by_being_repeated():
    assert cause(pair(notified=PERIOD + 100)) == UNEXPLAINED


def test_a_stream_that_repeats_nothing_has_no_retransmission():
    assert cause(replace(pair(notified=2 * PERIOD), reliable=False)) == "overtaken"
    assert "overtaken" in CAUSES


def test_a_publish_call_that_holds_up_the_next_message_is_named_for_both_and_what_queues_behind_inherits():
    stream = pair(**{"return": 3 * PERIOD})
    for behind in (1, 2):  # in order: each is sent when the call before has returned
        place, free = AT + behind, AT * PERIOD + 9_000 + 3 * PERIOD
        for column in stamps_of(stream):
            column[place] = free + behind * 15_000
    causes = {slow.place: slow.cause for slow in explain(stream).messages}
    assert causes == {AT: "publish blocked", AT + 1: "publish blocked", AT + 2: "publish blocked"}
    queued = pair(taken=5 * PERIOD // 2)
    for behind in (1, 2):
        queued.taken_ns[AT + behind] = queued.taken_ns[AT] + behind
        queued.notified_ns[AT + behind] = queued.taken_ns[AT + behind] - 5_000
    causes = {slow.place: slow.cause for slow in explain(queued).messages}
    assert causes == {AT: "taking", AT + 1: "taking", AT + 2: "taking"}


def test_a_publisher_that_loses_its_processor_within_a_publish_call_is_not_blocked_by_the_middleware():
    stamps = pair(**{"return": 3 * PERIOD})
    for behind in (1, 2, 3):  # the messages that came due meanwhile
        for column in stamps_of(stamps):
            column[AT + behind] = max(column[AT + behind], stamps.return_ns[AT] + behind)
    causes = lambda w: {slow.place: slow.cause for slow in explain(stamps, w).messages}  # noqa: E731
    assert causes(Witnesses())[AT + 1] == "publish blocked"
    waited = Witnesses(publisher_waits=stretch(length=3 * PERIOD))
    assert causes(waited)[AT + 1] == "publisher not scheduled"


def test_a_backlog_behind_a_late_message_is_not_blamed_on_its_publish_call():
    stream = pair(begun=5 * PERIOD // 2)
    for behind in (1, 2):
        for column in stamps_of(stream):
            column[AT + behind] = column[AT] + behind * 10_000
    assert {slow.cause for slow in explain(stream).messages} == {"publisher late"}


def test_lost_messages_are_not_a_tail_and_a_calm_stream_has_none():
    stream = pair(notified=SLOW)
    stream.taken_ns[AT] = ABSENT
    tail = explain(stream)
    assert (tail.messages, tail.of) == ([], N - 1)
    names = ("begun", "call", "return", "notified", "taken")
    nothing = made(stream.intended_ns, dict.fromkeys(names, np.full(N, ABSENT)))
    assert explain(nothing) is None


def test_a_tail_counts_everything_and_says_what_nobody_watched():
    tail = explain(pair(notified=SLOW))
    assert (len(tail.messages), tail.of, tail.causes) == (1, N, [(UNEXPLAINED, 1)])
    assert tail.messages[0].phases_ns == {
        "late": 1_000,
        "writing": 1_000,
        "flight": SLOW + USUAL - 2_000,
    }
    assert len(tail.unwatched) == 3
    watched = Witnesses(canary_late=stretch(), receiver_waits=stretch(), bins=bins())
    assert list(explain(pair(notified=SLOW), watched).unwatched) == []


def test_the_network_between_hosts_is_a_cause_with_evidence():
    """A link that was away covers the excess, or does not; a lost frame counts from when it was
    lost."""
    assert cause(pair(notified=SLOW), Witnesses(away=stretch())) == "link away"
    assert cause(pair(notified=SLOW), Witnesses(away=stretch(length=SLOW // 3))) != "link away"
    at_once, at_last = (np.array([AT * PERIOD + at]) for at in (5_000, SLOW - 5_000))
    assert cause(pair(notified=SLOW), Witnesses(lost_ns=at_once)) == "frame lost"
    assert cause(pair(notified=SLOW), Witnesses(lost_ns=at_last)) != "frame lost"
    before, after = (np.array([AT * PERIOD + at]) for at in (-5_000, SLOW + 50_000))
    for elsewhere in (before, after, np.empty(0, np.int64)):
        assert cause(pair(notified=SLOW), Witnesses(lost_ns=elsewhere)) != "frame lost"


@pytest.mark.parametrize("reliable", [True, False])
@pytest.mark.parametrize("seen", ["away", "lost_ns", "socket buffer full", "IP reassembly", "TCP"])
def test_what_the_network_does_to_others_does_not_delay_a_message_that_is_there(seen, reliable):
    """It was announced in time and taken late: the reader was busy."""
    witnesses = {
        "away": Witnesses(away=stretch(20_000)),
        "lost_ns": Witnesses(lost_ns=np.array([AT * PERIOD + 20_000])),
        "TCP": Witnesses(sender=bins("TCP retransmission")),
    }
    seen_there = witnesses.get(seen) or Witnesses(bins=bins(seen))
    assert cause(replace(pair(taken=SLOW), reliable=reliable), seen_there) == "taking"


def test_a_message_that_another_thread_took_late_was_not_overtaken_on_the_way():
    assert cause(pair(taken=2 * PERIOD)) == "taking"


def test_what_waits_behind_a_message_that_was_taken_late_did_not_wait_for_a_lost_frame():
    queued = pair(taken=5 * PERIOD // 2)
    for behind in (1, 2):  # announced when the one before was given back
        queued.taken_ns[AT + behind] = queued.taken_ns[AT] + behind
        queued.notified_ns[AT + behind] = queued.taken_ns[AT + behind] - 1
    lost = Witnesses(lost_ns=AT * PERIOD + np.array([1, 2]) * (PERIOD + 10_000))
    causes = {slow.place: slow.cause for slow in explain(queued, lost).messages}
    assert causes == {AT: "taking", AT + 1: "taking", AT + 2: "taking"}


def test_a_stream_that_repeats_nothing_waits_for_a_lost_frame_only_where_tcp_repeated_it():
    slow = replace(pair(notified=SLOW), reliable=False)
    lost = Witnesses(lost_ns=np.array([AT * PERIOD + 5_000]))
    assert cause(slow, lost) == UNEXPLAINED
    assert cause(slow, replace(lost, sender=bins("TCP retransmission"))) == "frame lost"


def observed(events=(), samples=(), schedule=(), hosts=("local", "local")):
    return trial_witnesses(
        events, samples, schedule, publisher="talker", receiver="listener", hosts=hosts
    )


def sample(time_ns: int, process: str = "machine", **counters: float) -> list[dict]:
    return [
        {
            "time_ns": time_ns,
            "process": process,
            "counter": name.replace("__", "."),
            "unit": "ns",
            "value": value,
        }
        for name, value in counters.items()
    ]


def switch(time_ns: int, event: str, process: str = "listener", thread: int = 4) -> dict:
    return {"time_ns": time_ns, "process": process, "thread": thread, "event": event}


def test_nothing_watched_is_nothing_known():
    seen = observed()
    assert (seen.canary_late, seen.receiver_waits, seen.bins) == (None, None, None)
    assert len(seen.unwatched) == 3


def test_a_canary_that_was_never_late_is_a_witness_too():
    canary = {"event": "canary", "time_ns": 9, "value": 700}
    late = {"event": "canary_late", "time_ns": 5_000, "value": 1_200}
    assert observed([canary]).canary_late.shape == (0, 2)
    assert observed([late, canary]).canary_late.tolist() == [[5_000, 6_200]]


def test_a_wait_lasts_from_wanting_the_processor_to_getting_it():
    events = [
        switch(10, "woken"),
        switch(14, "in"),
        switch(20, "out_runnable"),
        switch(21, "woken"),  # it was runnable already
        switch(26, "in"),
        switch(30, "out_blocked"),
        switch(40, "in"),
        switch(12, "woken", thread=5),
        switch(13, "in", thread=5),
        switch(11, "in", process="talker"),
    ]
    seen = observed(schedule=events)
    assert seen.receiver_waits.tolist() == [[10, 14], [12, 13], [20, 26]]
    assert seen.publisher_waits.shape == (0, 2)


def test_bins_hold_what_grew_and_steal_is_a_fraction_of_all_time():
    rows = sample(0, processor__idle=100, processor__steal=0, udp__rcvbuf_errors=7)
    rows += sample(10, processor__idle=115, processor__steal=5, udp__rcvbuf_errors=7)
    rows += sample(20, processor__idle=135, processor__steal=5, udp__rcvbuf_errors=9)
    rows += [{"time_ns": 5, "process": "talker", "counter": "cpu", "unit": "ns", "value": 3.0}]
    seen = observed(samples=rows)
    bins = seen.bins
    assert bins.edges_ns.tolist() == [0, 10, 20]
    np.testing.assert_allclose(seen.machine.steal, [0.25, 0.0])
    assert {cause: counts.tolist() for cause, counts in bins.counts.items()} == {
        "socket buffer full": [0, 2]
    }


def test_of_several_hosts_the_readers_drops_the_writers_repeats_and_the_machines_steal():
    """Each host's sampler has times of its own."""
    rows = sample(0, processor__idle=100, processor__steal=0)
    rows += sample(10, processor__idle=115, processor__steal=5)
    for host, late, overflows, repeats in (("robot", 1, 0, 7), ("desk", 2, 20, 0)):
        for time_ns, grown in ((late, 0), (late + 10, 1)):
            rows += sample(
                time_ns,
                host,
                udp__rcvbuf_errors=overflows * grown,
                tcp__retransmitted_segments=repeats * grown,
            )
    seen = observed(samples=rows, hosts=("robot", "desk"))
    assert seen.bins.edges_ns.tolist() == [2, 12]
    assert seen.bins.counts["socket buffer full"].tolist() == [20]
    assert seen.sender.counts["TCP retransmission"].tolist() == [7]
    assert seen.machine.steal.tolist() == [0.25]


def test_a_counter_with_holes_is_left_out():
    rows = sample(0, ip__reasm_fails=1, processor__idle=1) + sample(10, processor__idle=2)
    bins = observed(samples=rows).bins
    assert bins.counts == {} and bins.steal is None
