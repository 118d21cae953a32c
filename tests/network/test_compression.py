"""Compression between two hosts: fewer bytes cross the wire with it where the images shrink, and no
fewer where they do not. Needs the built Zenoh worker, the link and TAP devices."""

import pytest

from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.suite.cells import cells
from rmwbench.suite.file.load import parse
from tests.campaign.ended import well
from tests.lab import tools
from tests.network.laboratory import taps
from tests.network.test_trial import order

pytestmark = [pytest.mark.timing, pytest.mark.own_host]

SUITE = """
suite: mini
title: a test
blocks: {planned: 1, minimum: 1}
timeline: {warmup_s: 0.2, drain_s: 1.0, grace_s: 0.2, match_s: 10, steady_s: 1.5}
networks: {wire: {links: {all: {both: {rate_mbps: 400, bottleneck: nic}}}}}
arms:
  - {name: plain, middleware: zenoh}
  - {name: lz4, middleware: zenoh, modes: {compression: true}}
workloads:
  - name: images
    message: Image(320x240)
    rate_hz: 15
    qos: {reliability: reliable, history: keep_last, depth: 20}
    hosts: [robot, base]
    network: wire
factors: {frames: [synthetic, photo, rendered]}
"""


@pytest.fixture(scope="module")
def bytes_per_payload_byte() -> dict[tuple[str, str], float]:
    """(content, arm) → bytes of all frames of the trial for each byte of payload that arrived."""
    taps()
    tools.built("link")
    found = {}
    for made in cells(parse(SUITE, where="mini.yaml")):
        result = run_trial(order(made), tools.worker("zenoh"))
        assert well(result)
        received = result.tables["received"].to_pylist()
        assert received and not any(row["flags"] & 0b10001 for row in received)
        sent = {row["index"]: row["frame_bytes"] for row in result.tables["frames"].to_pylist()}
        payload_bytes = sum(row["bytes"] for row in received)
        found[made.factors["frames"], made.arm.name] = sum(sent.values()) / payload_bytes
    return found


def test_images_that_shrink_take_fewer_bytes_with_it(bytes_per_payload_byte):
    """LZ4 makes these frames 1.2 and 4.7 times smaller (drawn.py)."""
    plain, lz4 = (bytes_per_payload_byte["photo", arm] for arm in ("plain", "lz4"))
    assert plain > 1 and lz4 < 0.93 * plain
    plain, lz4 = (bytes_per_payload_byte["rendered", arm] for arm in ("plain", "lz4"))
    assert plain > 1 and lz4 < 0.5 * plain


def test_what_does_not_shrink_takes_as_many(bytes_per_payload_byte):
    plain, lz4 = (bytes_per_payload_byte["synthetic", arm] for arm in ("plain", "lz4"))
    assert 0.95 * plain < lz4 < 1.05 * plain
