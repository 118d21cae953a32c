"""Which path the bytes took: every kind of knowledge, and every contradiction."""

from dataclasses import replace

import numpy as np
import pytest

from rmwbench.campaign.trial.attest.path import (
    attestations,
    contradiction,
    path_reasons,
    shared_segments,
)
from rmwbench.campaign.trial.outcome import TrialWindow
from rmwbench.lab.process import records
from rmwbench.lab.process.records import RECEIVED, RecordSection
from tests.campaign.cells import cell, outcome


def received(
    count: int, *, endpoint: int = 2, taken_ns: int = 5000, flags: int = 0, size: int = 100
) -> RecordSection:
    rows = np.zeros(count, records._with_flags(np.zeros(0, records._SLOT[RECEIVED])).dtype)
    rows["taken_ns"], rows["bytes"], rows["flags"], rows["writer"] = taken_ns, size, flags, 1
    return RecordSection(RECEIVED, endpoint, 1000, count, 0, rows)


def observed(
    *sections: RecordSection,
    lo: int | None = 0,
    eth0: int | None = 0,
    evidence=(),
    segments=((), ()),
    made=None,
):
    """An outcome in which the interfaces carried these bytes during the window."""
    trial = outcome(made)
    trial.sections = list(sections)
    counts = {name: sent for name, sent in (("lo", lo), ("eth0", eth0)) if sent is not None}
    usage = [
        {
            "at": at,
            "interfaces": {n: {"tx_bytes": 1000 + share * sent} for n, sent in counts.items()},
        }
        for at, share in (("steady_begin", 0), ("steady_end", 1))
    ]
    for process, maps in zip(("talker", "listener"), segments, strict=True):
        memory = {
            "shared_segments": [{"name": name, "rss_bytes": 1, "pss_bytes": 1} for name in maps]
        }
        endpoints = {"2": {"evidence": list(evidence)}} if process == "listener" else {}
        account = {"usage": usage, "memory": memory, "endpoints": endpoints}
        trial.sampling.collected[process] = account
    return trial


def shares(trial) -> dict[tuple[str, str], float]:
    return {
        (row["interface"] or row["path"], row["label"]): round(row["fraction"], 3)
        for row in attestations(trial)
        if row["fraction"]
    }


BOTH = (("/dev/shm/x", "/dev/shm/mine"), ("/dev/shm/x",))


def test_bytes_on_an_interface_are_counted_and_never_more_than_all():
    rows = attestations(observed(received(10), lo=1500))
    (row,) = [row for row in rows if row["interface"] == "lo"]
    assert row["path"] == "network"  # without sockets' counters nobody knows the transport
    assert (row["label"], row["bytes"], row["fraction"]) == ("counted", 1500, 1.0)
    assert sum(row["fraction"] for row in rows) == pytest.approx(1.0)


def test_what_no_interface_saw_is_inferred_and_only_a_common_segment_makes_it_shared_memory():
    common = shares(observed(received(10), lo=100, segments=BOTH))
    assert common == {("lo", "counted"): 0.1, ("shm", "inferred"): 0.9}
    own = ("/dev/shm/x",), ("/dev/shm/y",)
    apart = shares(observed(received(10), lo=100, segments=own))
    assert apart == {("lo", "counted"): 0.1, ("other", "inferred"): 0.9}
    assert shared_segments(observed(received(1), segments=BOTH)) == ["/dev/shm/x"]


def test_the_middlewares_own_word_comes_first():
    shm = {"path": "shm", "messages": 10}
    assert shares(observed(received(10), lo=400, evidence=[shm])) == {("shm", "evidence"): 1.0}
    mixed = [{"path": "shm", "messages": 6}, {"path": "tcp", "messages": 4}]
    both = shares(observed(received(10), lo=600, evidence=mixed))
    assert both == {("shm", "evidence"): 0.6, ("lo", "counted"): 0.4}
    unix = [{"path": "unix", "messages": 10}]
    assert shares(observed(received(10), evidence=unix, segments=BOTH)) == {
        ("unix", "evidence"): 1.0
    }


def test_what_the_middleware_names_no_path_for_has_not_the_path_that_it_names_for_others():
    """Here 4 of 10 messages; what is mapped says nothing of them, since it would have named it."""
    shm = {"path": "shm", "messages": 6}
    for segments in ((), ()), BOTH:
        attested = observed(received(10), evidence=[shm], segments=segments)
        assert shares(attested) == {("shm", "evidence"): 0.6, ("other", "inferred"): 0.4}
        assert [row["segments"] for row in attestations(attested) if row["path"] == "other"] == [
            "[]"
        ]


def test_evidence_is_scaled_from_the_trial_to_the_window():
    # 10 messages in the window and 10 in the warm-up; the middleware counts all 20.
    sections = received(10), received(10, taken_ns=1500)
    rows = np.concatenate([section.rows for section in sections])
    trial = observed(
        RecordSection(RECEIVED, 2, 1000, 20, 0, rows), evidence=[{"path": "shm", "messages": 20}]
    )
    assert shares(trial) == {("shm", "evidence"): 1.0}


def test_nothing_delivered_or_nothing_counted_attests_nothing():
    assert attestations(observed()) == []
    assert attestations(observed(received(5, flags=16))) == []  # foreign: not this trial's bytes
    assert attestations(observed(received(5, taken_ns=50))) == []  # before the window
    blind = observed(received(5))
    for reply in blind.sampling.collected.values():
        reply["usage"] = []
    assert attestations(blind) == []


def test_an_absent_interface_is_not_zero():
    assert ("lo", "counted") not in {
        (r["interface"], r["label"]) for r in attestations(observed(received(5), lo=None))
    }


@pytest.mark.parametrize(
    ("asked", "kwargs", "contradicted"),
    [
        ("shm", {"segments": BOTH}, False),
        ("shm", {"lo": 2000, "segments": BOTH}, True),
        ("shm", {}, True),
        ("udp", {"lo": 1100}, False),
        ("tcp", {"eth0": 1100}, False),
        ("udp", {"segments": BOTH}, True),
        ("unix", {}, False),
        ("unix", {"segments": BOTH}, False),
        ("unix", {"lo": 1100}, True),
        ("unix", {"evidence": [{"path": "shm", "messages": 10}]}, True),
        (None, {"lo": 1100}, False),
    ],
)
def test_a_path_that_was_asked_for_is_held_against_the_attested(asked, kwargs, contradicted):
    reason = contradiction(asked, attestations(observed(received(10), **kwargs)))
    assert (reason is not None) == contradicted
    assert reason is None or f"asked for {asked}" in reason


def sampled(
    trial,
    *,
    lo: int,
    eth0: int = 0,
    at_ns: tuple[int, int] | None = None,
    tcp: int = 0,
    datagrams: int = 0,
    received_datagrams: int | None = None,
    unix=(),
    segments=0,
):
    """The sampler's snapshots of the same trial: what the sockets counted."""
    sockets = lambda sent: (  # noqa: E731
        [{"kind": "tcp", "inode": 7, "process": "talker", "sent_bytes": sent}] if tcp else []
    )
    peers = [{"kind": "unix", "inode": 9, "process": a, "peer_process": b} for a, b in unix]

    def snapshot(at, grown):
        arrived = datagrams if received_datagrams is None else received_datagrams
        return {
            "at": at,
            "time_ns": at_ns and at_ns[grown],
            "interfaces": {
                "lo": {"tx_bytes": 50 + grown * lo, "tx_packets": 3 + grown * 10**6},
                "eth0": {"tx_bytes": 90 + grown * eth0, "tx_packets": 1 + grown * 4},
            },
            "udp": {"out_datagrams": 4 + grown * datagrams, "in_datagrams": 4 + grown * arrived},
            "tcp": {"out_segments": 8 + grown * segments},
            "sockets": sockets(1000 + grown * tcp) + peers,
        }

    trial.sampling.sampled = {"snapshots": [snapshot("steady_begin", 0), snapshot("steady_end", 1)]}
    return trial


def test_the_sockets_tell_tcp_from_udp():
    rows = attestations(sampled(observed(received(10)), lo=1100, tcp=1000, segments=1, datagrams=1))
    counted = [(r["path"], r["interface"], r["bytes"]) for r in rows[:2]]
    assert counted == [("tcp", "lo", 1052), ("udp", "lo", 48)]
    assert sum(r["fraction"] for r in rows) == pytest.approx(1.0) and rows[0]["fraction"] > 0.9
    (only,) = attestations(sampled(observed(received(10)), lo=1500, datagrams=10))
    assert (only["path"], only["label"], only["fraction"]) == ("udp", "counted", 1.0)


def test_what_a_kernel_says_over_an_interface_that_comes_up_is_no_path_of_messages():
    # Reports of group membership: no socket of the trial sent them.
    tcp = sampled(observed(received(10)), lo=1500, eth0=360, segments=20)
    assert [(row["path"], row["interface"]) for row in attestations(tcp)] == [("tcp", "lo")]
    silent = sampled(observed(received(10), segments=BOTH), lo=0, eth0=360)
    assert shares(silent) == {("shm", "inferred"): 1.0}
    # Datagrams to a group leave by it.
    group = attestations(sampled(observed(received(10)), lo=0, eth0=1500, datagrams=10))
    assert ("udp", "eth0", 1500) in [(r["path"], r["interface"], r["bytes"]) for r in group]


def test_a_multicast_datagram_counts_for_every_socket_that_received_it():
    rows = attestations(
        sampled(observed(received(30)), lo=1000, datagrams=10, received_datagrams=30)
    )
    assert [(r["path"], round(r["fraction"], 2)) for r in rows] == [("udp", 1.0)]
    assert "3 times" in rows[0]["note"]


def test_a_unix_socket_is_named_where_it_connects_writer_and_reader_and_nothing_else_does():
    pair = [("talker", "listener")]
    assert ("unix", "inferred") in shares(sampled(observed(received(10)), lo=0, unix=pair))
    assert ("other", "inferred") in shares(sampled(observed(received(10)), lo=0))
    mapped = attestations(sampled(observed(received(10), segments=BOTH), lo=0, unix=pair))[-1]
    assert mapped["path"] == "shm" and "Unix socket" in mapped["note"]


def test_a_void_says_what_the_worker_knows_of_the_reason():
    trial = observed(received(10), lo=2000, segments=BOTH)
    trial.endpoints.granted[1]["notes"] = [
        "a pool of 3 slots",
        "path: keep_all switches shared memory off",
    ]
    trial.endpoints.granted[2]["notes"] = ["path: keep_all switches shared memory off"]
    assert path_reasons(trial) == ["keep_all switches shared memory off"]
    reason = contradiction("shm", attestations(trial), path_reasons(trial))
    assert reason.startswith("path: asked for shm")
    assert reason.endswith("; keep_all switches shared memory off")


def test_what_was_in_flight_at_the_windows_edges_is_not_a_path_of_its_own():
    (row,) = attestations(sampled(observed(received(100)), lo=9_700, datagrams=100))
    assert (row["path"], row["label"], row["bytes"]) == ("udp", "counted", 9_700)
    assert row["fraction"] == pytest.approx(1.0)
    assert len(attestations(sampled(observed(received(100)), lo=9_000, datagrams=100))) == 2


def test_messages_so_few_and_small_that_discovery_outweighs_them_have_no_path_that_counters_tell():
    def seconds_long(**more):
        trial = sampled(
            observed(received(25, taken_ns=50_000, size=64), **more), lo=8_000, datagrams=20
        )
        trial.times.window = TrialWindow(0, 2_000, 2_000 + 2_500_000_000)
        return trial

    shared = attestations(seconds_long(segments=BOTH))
    attested = [(r["path"], r["label"], r["fraction"]) for r in shared]
    assert attested == [("udp", "counted", 0.0), ("other", "inferred", 1.0)]
    assert "discovery" in shared[-1]["note"] and "same segments (/dev/shm/x)" in shared[-1]["note"]
    assert "discovery" in contradiction("shm", shared)
    # nothing but the interface connects them
    assert shares(seconds_long()) == {("lo", "counted"): 1.0}
    # the middleware tells
    attested = attestations(seconds_long(segments=BOTH, evidence=[{"path": "shm", "messages": 25}]))
    assert [r["path"] for r in attested if r["fraction"]] == ["shm"]


def test_a_transport_that_the_middleware_names_is_not_shared_with_discovery():
    trial = observed(received(10), evidence=[{"path": "tcp", "messages": 10}])
    rows = attestations(sampled(trial, lo=1500, tcp=1000, segments=1, datagrams=3))
    assert {r["path"]: r["fraction"] for r in rows} == {"tcp": pytest.approx(1.0), "udp": 0.0}


def test_fewer_bytes_than_the_payloads_are_all_of_it_where_they_are_compressed():
    plain = observed(received(10), lo=800)
    assert shares(plain) == {("lo", "counted"): 0.8, ("other", "inferred"): 0.2}
    made = cell()
    made = replace(made, arm=made.arm.model_copy(update={"modes": {"compression": True}}))
    (row,) = attestations(observed(received(10), lo=800, made=made))
    assert (row["label"], row["bytes"], row["fraction"]) == ("counted", 800, pytest.approx(1.0))
    assert row["note"].endswith("are all of it")
    # Shared memory is not compressed: what no interface saw went there.
    shared = shares(observed(received(10), lo=100, segments=BOTH, made=made))
    assert shared == {("lo", "counted"): 0.1, ("shm", "inferred"): 0.9}


def test_nodes_of_one_process_need_no_path():
    trial = observed(received(5), made=cell(processes="one"))
    trial.sampling.collected = {"robot": trial.sampling.collected["listener"]}
    assert attestations(trial)[-1]["path"] == "process"
    assert contradiction("process", attestations(trial)) is None
