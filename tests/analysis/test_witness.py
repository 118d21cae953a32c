"""Rows of a bundle become witnesses, and what nobody watched is not a witness, instead of a quiet
one."""

import numpy as np

from rmwbench.analysis.causes.witness import witnesses


def of(events=(), samples=(), schedule=(), hosts=("local", "local")):
    return witnesses(
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
    seen = of()
    assert (seen.canary_late, seen.receiver_waits, seen.bins) == (None, None, None)
    assert len(seen.unwatched) == 3


def test_a_canary_that_was_never_late_is_a_witness_too():
    canary = {"event": "canary", "time_ns": 9, "value": 700}
    late = {"event": "canary_late", "time_ns": 5_000, "value": 1_200}
    assert of([canary]).canary_late.shape == (0, 2)
    assert of([late, canary]).canary_late.tolist() == [[5_000, 6_200]]


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
    seen = of(schedule=events)
    assert seen.receiver_waits.tolist() == [[10, 14], [12, 13], [20, 26]]
    assert seen.publisher_waits.shape == (0, 2)


def test_bins_hold_what_grew_and_steal_is_a_fraction_of_all_time():
    rows = sample(0, processor__idle=100, processor__steal=0, udp__rcvbuf_errors=7)
    rows += sample(10, processor__idle=115, processor__steal=5, udp__rcvbuf_errors=7)
    rows += sample(20, processor__idle=135, processor__steal=5, udp__rcvbuf_errors=9)
    rows += [{"time_ns": 5, "process": "talker", "counter": "cpu", "unit": "ns", "value": 3.0}]
    seen = of(samples=rows)
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
    seen = of(samples=rows, hosts=("robot", "desk"))
    assert seen.bins.edges_ns.tolist() == [2, 12]
    assert seen.bins.counts["socket buffer full"].tolist() == [20]
    assert seen.sender.counts["TCP retransmission"].tolist() == [7]
    assert seen.machine.steal.tolist() == [0.25]


def test_a_counter_with_holes_is_left_out():
    rows = sample(0, ip__reasm_fails=1, processor__idle=1) + sample(10, processor__idle=2)
    bins = of(samples=rows).bins
    assert bins.counts == {} and bins.steal is None
