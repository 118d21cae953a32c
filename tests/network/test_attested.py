"""The path of a trial over several hosts: the network, by transport, and what stayed on one
host."""

import numpy as np
import pytest

from rmwbench.campaign.trial.attest.path import attestations, contradiction
from rmwbench.lab.network.switch import RECORD
from rmwbench.lab.process import records
from rmwbench.lab.process.records import RECEIVED, RecordSection
from tests.campaign.cells import outcome
from tests.network.laboratory import cell

SNAPSHOT = {
    "interfaces": {"eth0": {"tx_bytes": 0, "tx_packets": 0}},
    "tcp": {"out_segments": 0},
    "sockets": [],
}
SNAPSHOT |= {"udp": {"out_datagrams": 0}}


def received(endpoint: int, writer: int, count: int) -> RecordSection:
    rows = np.zeros(count, records._with_flags(np.zeros(0, records._SLOT[RECEIVED])).dtype)
    rows["taken_ns"], rows["bytes"], rows["writer"] = 5000, 100, writer
    return RecordSection(RECEIVED, endpoint, 1000, count, 0, rows)


def document(tx_bytes: int, segments: int = 0, payload: int = 0, datagrams: int = 0) -> dict:
    end = {
        "interfaces": {"eth0": {"tx_bytes": tx_bytes, "tx_packets": segments + datagrams}},
        "tcp": {"out_segments": segments},
        "udp": {"out_datagrams": datagrams},
        "sockets": [{"kind": "tcp", "inode": 1, "sent_bytes": payload}] if payload else [],
    }
    return {"snapshots": [{"at": "steady_begin", **SNAPSHOT}, {"at": "steady_end", **end}]}


def observed(*sections: RecordSection, network="{}", **documents: dict):
    found = outcome(cell(network))
    found.sections = list(sections)
    found.sampling.sampled_at = documents
    return found


def told(found) -> dict[str, tuple[int, float]]:
    return {row["path"]: (row["bytes"], round(row["fraction"], 3)) for row in attestations(found)}


def test_between_hosts_everything_is_the_networks():
    found = observed(
        received(2, 1, 10), robot=document(2000, datagrams=10), base=document(300, datagrams=3)
    )
    assert told(found) == {"udp": (2300, 1.0)}
    assert attestations(found)[0]["interface"] == "eth0"
    assert contradiction("udp", attestations(found)) is None
    assert "asked for shm" in contradiction("shm", attestations(found))


def test_bytes_of_a_host_without_a_sampler_are_said_to_be_missing():
    both = observed(received(2, 1, 10), robot=document(2000, datagrams=10), base=document(0))
    alone = observed(received(2, 1, 10), robot=document(2000, datagrams=10))
    (whole,), (part,) = attestations(both), attestations(alone)
    assert "did not answer" not in whole["note"]
    assert part["note"].endswith("not those of host base, whose sampler did not answer")


def test_transports_share_by_what_they_sent_until_the_middleware_names_its_own():
    sent = {"robot": document(1166, segments=1, payload=900, datagrams=2), "base": document(0)}
    found = observed(received(2, 1, 10), **sent)
    assert told(found) == {
        "tcp": (966, pytest.approx(0.828, abs=0.01)),
        "udp": (200, pytest.approx(0.172, abs=0.01)),
    }
    evidence = {"2": {"evidence": [{"path": "tcp", "messages": 10, "note": ""}]}}
    found.sampling.collected["listener"] = {"endpoints": evidence}
    assert told(found) == {"tcp": (966, 1.0), "udp": (200, 0.0)}


BESIDE = "{beside: {wlan0: {links: {all: {}}}}}"


def interfaces(found) -> dict[tuple[str, str], int]:
    return {(row["path"], row["interface"]): row["bytes"] for row in attestations(found)}


def over_two(*sent: int, **more: int) -> dict:
    found = document(0, **more)
    counted = {name: {"tx_bytes": 0, "tx_packets": 0} for name in ("eth0", "wlan0")}
    found["snapshots"][0]["interfaces"] = counted
    found["snapshots"][1]["interfaces"] = {
        name: {"tx_bytes": size, "tx_packets": 10} for name, size in zip(counted, sent, strict=True)
    }
    return found


def test_each_interface_of_a_host_with_two_links_has_its_own_bytes():
    found = observed(received(2, 1, 10), network=BESIDE, robot=over_two(500, 1500, datagrams=20))
    assert interfaces(found) == {("udp", "eth0"): 500, ("udp", "wlan0"): 1500}
    assert sum(row["fraction"] for row in attestations(found)) == pytest.approx(1)
    both = over_two(500, 1500, datagrams=10, segments=2, payload=868)
    found = observed(received(2, 1, 10), network=BESIDE, robot=both)
    assert interfaces(found) == {("tcp", "eth0 + wlan0"): 1000, ("udp", "eth0 + wlan0"): 1000}


def test_without_a_sampler_the_frame_log_counts():
    found = observed(received(2, 1, 10))
    found.network.frames = np.zeros(4, RECORD)
    (
        found.network.frames["index"],
        found.network.frames["in_ns"],
        found.network.frames["frame_bytes"],
    ) = (
        (1, 1, 2, 3),
        (5000, 5000, 5000, 99999),
        142,
    )
    assert told(found) == {"network": (284, 1.0)}
    found.network.frames = None
    assert told(found) == {"other": (1000, 1.0)}
