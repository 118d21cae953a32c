"""Which path the bytes took: every kind of knowledge, and every contradiction."""

import numpy as np
import pytest

from rmwbench.campaign.attest import attestations, contradiction, shared_segments
from rmwbench.lab import records
from rmwbench.lab.records import RECEIVED, Section
from tests.campaign.cells import cell, outcome


def received(count: int, *, endpoint: int = 2, taken_ns: int = 5000, flags: int = 0, size: int = 100) -> Section:
    rows = np.zeros(count, records._with_flags(np.zeros(0, records._SLOT[RECEIVED])).dtype)
    rows["taken_ns"], rows["bytes"], rows["flags"], rows["writer"] = taken_ns, size, flags, 1
    return Section(RECEIVED, endpoint, 1000, count, 0, rows)


def observed(*sections: Section, lo: int | None = 0, eth0: int | None = 0, evidence=(), segments=((), ()), made=None):
    """An outcome in which the interfaces carried these bytes during the window."""
    found = outcome(made)
    found.sections = list(sections)
    counts = {name: sent for name, sent in (("lo", lo), ("eth0", eth0)) if sent is not None}
    usage = [
        {"at": "steady_begin", "interfaces": {name: {"tx_bytes": 1000} for name in counts}},
        {"at": "steady_end", "interfaces": {name: {"tx_bytes": 1000 + sent} for name, sent in counts.items()}},
    ]
    for process, maps in zip(("talker", "listener"), segments, strict=True):
        memory = {"shared_segments": [{"name": name, "rss_bytes": 1, "pss_bytes": 1} for name in maps]}
        endpoints = {"2": {"evidence": list(evidence)}} if process == "listener" else {}
        found.collected[process] = {"usage": usage, "memory": memory, "endpoints": endpoints}
    return found


def shares(found) -> dict[tuple[str, str], float]:
    return {(row["path"], row["label"]): round(row["fraction"], 3) for row in attestations(found) if row["fraction"]}


BOTH = (("/dev/shm/x", "/dev/shm/mine"), ("/dev/shm/x",))


def test_bytes_on_an_interface_are_counted_and_never_more_than_all():
    rows = attestations(observed(received(10), lo=1500))
    (row,) = [row for row in rows if row["path"] == "lo"]
    assert (row["label"], row["bytes"], row["fraction"]) == ("counted", 1500, 1.0)
    assert sum(row["fraction"] for row in rows) == pytest.approx(1.0)


def test_what_no_interface_saw_is_inferred_and_only_a_common_segment_makes_it_shared_memory():
    assert shares(observed(received(10), lo=100, segments=BOTH)) == {("lo", "counted"): 0.1, ("shm", "inferred"): 0.9}
    assert shares(observed(received(10), lo=100, segments=(("/dev/shm/x",), ("/dev/shm/y",)))) == {
        ("lo", "counted"): 0.1,
        ("other", "inferred"): 0.9,
    }
    assert shared_segments(observed(received(1), segments=BOTH)) == ["/dev/shm/x"]


def test_the_middlewares_own_word_comes_first():
    shm = {"path": "shm", "messages": 10}
    assert shares(observed(received(10), lo=400, evidence=[shm])) == {("shm", "evidence"): 1.0}
    mixed = [{"path": "shm", "messages": 6}, {"path": "tcp", "messages": 4}]
    assert shares(observed(received(10), lo=600, evidence=mixed)) == {("shm", "evidence"): 0.6, ("lo", "counted"): 0.4}
    unix = [{"path": "unix", "messages": 10}]
    assert shares(observed(received(10), evidence=unix, segments=BOTH)) == {("other", "evidence"): 1.0}


def test_evidence_is_scaled_from_the_trial_to_the_window():
    # 10 messages in the window and 10 in the warm-up; the middleware counts all 20.
    sections = received(10), received(10, taken_ns=1500)
    rows = np.concatenate([section.rows for section in sections])
    found = observed(Section(RECEIVED, 2, 1000, 20, 0, rows), evidence=[{"path": "shm", "messages": 20}])
    assert shares(found) == {("shm", "evidence"): 1.0}


def test_nothing_delivered_or_nothing_counted_attests_nothing():
    assert attestations(observed()) == []
    assert attestations(observed(received(5, flags=16))) == []  # foreign: not this trial's bytes
    assert attestations(observed(received(5, taken_ns=50))) == []  # before the window
    blind = observed(received(5))
    for reply in blind.collected.values():
        reply["usage"] = []
    assert attestations(blind) == []


def test_an_absent_interface_is_not_a_zero():
    assert ("lo", "counted") not in {(r["path"], r["label"]) for r in attestations(observed(received(5), lo=None))}


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


def test_in_one_process_a_segment_of_its_own_counts():
    found = observed(received(5), made=cell(processes="one"))
    found.collected = {"robot": {**found.collected["listener"], "memory": {"shared_segments": [{"name": "s"}]}}}
    assert shared_segments(found) == ["s"]
