"""Images through image_transport: every codec brings every message, the lossless ones bring its
bytes, and each makes a photograph smaller on the wire."""

import json

import pytest

from tests.ros2 import sourced
from tests.ros2.test_campaign import campaign, everything_arrived, rows, told

RMW = "rmw_cyclonedds_cpp"
PLUGINS = {
    "jpeg": "compressed_image_transport",
    "png": "compressed_image_transport",
    "zstd": "zstd_image_transport",
}

pytestmark = [
    sourced.needed,
    pytest.mark.timing,
    pytest.mark.own_host,
    pytest.mark.skipif(
        not sourced.has_package("image_transport"),
        reason="THE SOURCED ROS 2 HAS NO image_transport: it is not tested",
    ),
]

SUITE = """
suite: images
title: images through image_transport
blocks: {{minimum: 1, planned: 1}}
timeline: {{warmup_s: 0.2, drain_s: 1.0, steady_s: 2}}
networks: {{wire: {{links: {{all: {{both: {{rate_mbps: 400, bottleneck: nic}}}}}}}}}}
arms:
{arms}
workloads:
  - name: images
    message: Image(320x240)
    frames: photo
    rate_hz: 10
    qos: {{reliability: reliable, durability: volatile, history: keep_last, depth: 20}}
    touch: all
    hosts: [robot, base]
    network: wire
"""


def images(tmp_path, codecs):
    """The bundle of a campaign with an arm for each codec; None: without image_transport."""
    options = {codec or "plain": {"image_transport": codec} if codec else {} for codec in codecs}
    arms = [
        json.dumps({"name": name, "middleware": f"rclcpp/{RMW}", "options": asked})
        for name, asked in options.items()
    ]
    return campaign(tmp_path, SUITE.format(arms="\n".join(f"  - {arm}" for arm in arms)))


def test_every_codec_brings_every_image(tmp_path):
    sourced.worker(RMW)
    codecs = [codec for codec, plugin in PLUGINS.items() if sourced.has_package(plugin)]
    bundle = images(tmp_path, [None, "raw", *codecs])
    everything_arrived(bundle)
    of_arm = "join trials using (trial) join cells using (cell) group by arm"
    notes = dict(rows(bundle, f"select arm, string_agg(granted, ' | ') from endpoints {of_arm}"))
    for codec in ["raw", *codecs]:
        assert "image_transport:" in notes[codec], notes[codec]
    assert "image_transport" not in notes["plain"]
    corrupt = dict(rows(bundle, f"select arm, sum(flags & 1) from received {of_arm}"))
    assert set(corrupt.values()) == {0}
    sizes = rows(bundle, "select distinct bytes from received")
    assert sizes == [(320 * 240 * 3,)], "what arrives is the decoded image"
    on_wire = dict(
        rows(
            bundle,
            f"""with wire as (select trial, sum(frame_bytes) as bytes from
                 (select distinct trial, index, frame_bytes from frames) group by trial),
               taken as (select trial, sum(bytes) as bytes from received group by trial)
               select arm, sum(wire.bytes) / sum(taken.bytes)
               from wire join taken using (trial) {of_arm}""",
        )
    )
    assert on_wire["plain"] > 1 and on_wire["raw"] > 1
    for codec in codecs:
        assert on_wire[codec] < 0.95 * on_wire["plain"], on_wire


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"options": {"image_transport": "jpg"}}, "expected one of jpeg, png, raw, zstd"),
        ({"options": {"image_transport": "jpeg"}, "loan": True}, "memory"),
        (
            {"options": {"image_transport": "jpeg", "layers": True}},
            "is not the image that was published",
        ),
    ],
)
def test_what_it_cannot_do_is_refused_in_its_own_words(tmp_path, options, words):
    sourced.worker(RMW)
    arm = json.dumps({"name": "refused", "middleware": f"rclcpp/{RMW}", **options})
    assert words in told(tmp_path, SUITE.format(arms=f"  - {arm}"))
