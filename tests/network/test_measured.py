"""A real trial over two hosts, measured: the frame log and the kernel's counters agree, and the
outage is found where it was made. Needs the built workers, the link and TAP devices."""

import json
import math

import pytest

from rmwbench.analysis.metrics.trial_metrics import measure_trial
from rmwbench.analysis.records.frames import CLASSES, NO_SINGLE_FRAMES
from rmwbench.bundle import Bundle, BundleWriter
from rmwbench.bundle.journal import TrialEnded
from rmwbench.bundle.schema import table_from_rows
from rmwbench.campaign.trial import trial_network
from rmwbench.campaign.trial.outcome import Order
from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.lab.host import Hosts
from tests.lab import tools
from tests.network.laboratory import cell, taps

pytestmark = pytest.mark.traffic

RANGE = """{links: {all: {both: {rate_mbps: 54, loss: 0.05, delay_ms: 1}}},
      changes: [{at_s: 0.5, host: robot, change: blackhole}, {at_s: 1.0, host: robot, change: up}]}"""
BYTES = "link_bytes_per_payload_byte"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    return run(tmp_path_factory.mktemp("measured") / "c")


@pytest.fixture(scope="module")
def flooded(tmp_path_factory):
    """The same with a log that has room for few of its frames, as in a flood."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_network, "_log_room", lambda *_: 50)
        return run(tmp_path_factory.mktemp("flooded") / "c")


def run(directory):
    taps()
    tools.built("link")
    made = cell(RANGE, steady_s=2.0)
    order = Order(1, made, 0, 0, seed=5, nonce=0x0123_4567_89AB_CDEF)
    result = run_trial(order, tools.worker("cyclonedds"), Hosts("test", made.hosts))
    assert result.status == "done" or result.cause == "machine", result.reason
    row = {
        "cell": made.number,
        "workload": "w",
        "arm": "a",
        "middleware": "cyclonedds",
        "layer": "native",
    }
    row |= {"factors": "{}", "definition": json.dumps(made.definition())}
    with BundleWriter.create(directory, {"campaign": "measured", "plan": {}}) as writer:
        writer.write_whole_campaign({"cells": table_from_rows("cells", [row])})
        finished = {"trial": 1, "cell": made.number, "block": 0, "status": "done", "reason": None}
        writer.finish_trial(
            TrialEnded(**finished, finished_utc="2026-11-21T00:00:00Z"), result.tables
        )
    events = result.tables["events"].to_pylist()
    assert {"frames_unlogged"} & {event["code"] for event in events} == (
        {"frames_unlogged"} if directory.parent.name.startswith("flooded") else set()
    )
    bundle = Bundle(directory)
    (evidence,) = bundle.evidence(bundle.trials("done"))
    return measure_trial(evidence)


def test_the_frame_log_agrees_with_the_kernels_counters(measured):
    """Two instruments that know nothing of each other; the counters are read a little beside the
    window's edges."""
    assert measured.values[BYTES] == pytest.approx(
        measured.values["wire_bytes_per_payload_byte_eth0"], rel=0.25
    )
    assert sum(measured.values[f"{BYTES}_{kind}"] for kind in CLASSES) == pytest.approx(
        measured.values[BYTES]
    )
    assert measured.values[f"{BYTES}_data"] > 1
    assert 0 < measured.values["link_utilisation"] < 0.2


def test_a_log_without_room_is_a_result_whose_counts_agree_with_the_kernels_counters(flooded):
    values, wire = flooded.values, flooded.network.wire
    assert values[BYTES] == pytest.approx(values["wire_bytes_per_payload_byte_eth0"], rel=0.25)
    assert sum(values[f"{BYTES}_{kind}"] for kind in CLASSES) == pytest.approx(values[BYTES])
    assert 0 < values["link_utilisation"] < 0.2
    assert {verdict for _, _, verdict in wire.lost} >= {"blackhole"}
    events, of = flooded.fractions["frames_lost"]
    assert 0 < events < of and of > 50
    events, of = flooded.fractions["retransmitted_frames"]
    assert 0 < events < of
    assert wire.carried["robot", "up"] > 0 < wire.carried["base", "down"]
    assert flooded.reasons["recovery_bytes"] == NO_SINGLE_FRAMES


def test_the_outage_is_found_on_the_robots_link(measured):
    (outage,) = measured.network.outages
    assert (outage.who, outage.what) == ("robot", "blackhole")
    assert outage.up_ns - outage.down_ns == pytest.approx(0.5e9, rel=0.5)
    assert measured.network.wire.lost["robot", "up", "blackhole"] > 20
    assert not {
        link for link in measured.network.wire.lost if link[2] == "blackhole" and link[0] == "base"
    }
    assert measured.values["outage_stall"] >= 0.9 * (outage.up_ns - outage.down_ns)
    assert measured.values["lost_in_outage"] + measured.values["repaired_after_outage"] > 20
    assert 0 < measured.values["recovery_time"] <= math.inf


def test_random_loss_is_found_and_data_is_sent_again(measured):
    lost = {verdict for _, _, verdict in measured.network.wire.lost}
    assert lost & {"lost_up", "lost_down"}
    events, of = measured.fractions["retransmitted_frames"]
    assert 0 < events < of
    assert "waited until all had matched" in measured.reasons["lost_in_discovery"]
