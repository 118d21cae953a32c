"""What `rmwbench show` advises, followed by `--with`, helps: four effects that people report, each
with the command of the answer's JSON. Needs the built workers.

The margins are wide: what is mended takes thirty times as long, or loses most messages. A campaign
of one block shows the symptom (of three where it is drawn by lot), one of five, which is what a
verdict needs, what the advice is worth.
"""

import json
import shlex
from pathlib import Path

import pytest

from rmwbench.analysis.causes.symptoms import Symptom
from tests.lab import tools
from tests.network.laboratory import taps
from tests.support.command import rmwbench

pytestmark = [pytest.mark.timing, pytest.mark.own_host]

SUITE = """
suite: {name}
title: a test
blocks: {{planned: {blocks}, minimum: {blocks}}}
timeline: {{warmup_s: 0.2, steady_s: {steady_s}, drain_s: 0.3, match_s: {match_s}}}
arms: [{arm}]
networks: {{lossy: {{links: {{base: {{both: {{loss: 0.3}}}}}}}}}}
workloads:
  - {{name: data, message: Bytes({bytes}), rate_hz: {rate_hz}, qos: {{reliability: {reliability}, depth: 10}}{more}}}
"""
RMEM_MAX = Path("/proc/sys/net/core/rmem_max")


def answer(directory: Path) -> dict:
    shown = rmwbench("show", directory, "--json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def followed(tmp_path: Path, symptom: Symptom, **suite: object) -> dict[str, dict]:
    """Metric -> what the advised arm gained, after the command of the answer was run."""
    settings = {"match_s": 5, "more": "", "seen_in": 1, **suite}
    file = tmp_path / f"{settings['name']}.yaml"
    file.write_text(SUITE.format(**settings, blocks=settings["seen_in"]))
    first = rmwbench(
        "run", f"./{settings['name']}.yaml", "-o", "first", "--no-report", cwd=tmp_path
    )
    assert first.returncode == 0, first.stderr
    shown = answer(tmp_path / "first")
    advice = {one["symptom"]: one for one in shown["advice"]}
    assert symptom.value in advice, shown["workloads"][0]["arms"]
    command = shlex.split(advice[symptom.value]["command"])
    file.write_text(SUITE.format(**settings, blocks=5))
    second = rmwbench(*command[1:], "-o", "second", "--no-report", cwd=tmp_path)
    assert second.returncode == 0, second.stderr
    shown_again = answer(tmp_path / "second")
    assert shown_again["campaign"]["added"] == [advice[symptom.value]["arm"]]
    (tried,) = [one["tried"] for one in shown_again["advice"] if one["symptom"] == symptom.value]
    return {one["metric"]: one["answer"] for one in tried}


def delivers_more(tmp_path: Path, symptom: Symptom, **suite: object) -> None:
    """Assert that the advice for large best-effort messages delivers more of them."""
    sent = {"rate_hz": 20, "reliability": "best_effort", "steady_s": 1.1, "match_s": 1}
    gained = followed(tmp_path, symptom, **suite, **sent)["undelivered"]
    assert gained["verdict"] == "better" and gained["effect"]["high"] < -0.05


def test_a_larger_segment_makes_images_ten_times_as_fast(tmp_path):
    tools.worker("fastdds")
    gained = followed(
        tmp_path,
        Symptom.SEGMENT_TOO_SMALL,
        name="image",
        arm="fastdds",
        bytes=4_000_000,
        rate_hz=10,
        reliability="reliable",
        steady_s=2.1,
    )["response_latency_p50"]
    assert gained["verdict"] == "better" and gained["effect"]["high"] < 0.5


def test_a_larger_segment_loses_no_large_messages_of_best_effort(tmp_path):
    version = tools.worker("fastdds").description["version"]
    if version.startswith("2."):
        pytest.skip(
            f"Fast DDS {version} sends best effort over UDP within a host: it has no segment to fill"
        )
    delivers_more(tmp_path, Symptom.SEGMENT_TOO_SMALL, name="sizes", arm="fastdds", bytes=2_000_000)


def test_a_larger_receive_buffer_loses_less_of_a_point_cloud(tmp_path):
    tools.worker("cyclonedds")
    if int(RMEM_MAX.read_text()) < 4 << 20:
        pytest.skip("net.core.rmem_max is below 4 MiB, which no profile can ask beyond")
    delivers_more(
        tmp_path,
        Symptom.RECEIVE_BUFFER_FULL,
        name="second-reader",
        arm="cyclonedds",
        bytes=5_000_000,
    )


def test_a_faster_heartbeat_shortens_the_silence_over_a_lossy_link(tmp_path):
    taps()
    tools.built("link")
    tools.worker("fastdds")
    gained = followed(
        tmp_path,
        Symptom.LATE_REPAIR,
        name="lossy",
        arm="fastdds",
        bytes=1_000,
        rate_hz=5,
        reliability="reliable",
        steady_s=4.2,
        match_s=20,
        seen_in=3,
        more=", hosts: [robot, base], network: lossy",
    )
    # The latency says less: where half of the messages never arrive as installed, it has no median.
    stall = gained["longest_stall"]
    assert stall["verdict"] == "better" and stall["effect"]["high"] < 0.5
    assert gained["undelivered"]["verdict"] != "worse"
