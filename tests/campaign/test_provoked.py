"""Rules that void, flag and locate, each provoked for real: a real middleware is made to do what
the rule is about, by a suite that any user could write. Shared memory of Cyclone DDS has its own
file, a stolen processor another."""

import json
from pathlib import Path

import pytest

from rmwbench.bundle import Bundle
from tests.lab import tools
from tests.support.command import run_suite
from tests.support.shown import show_document

pytestmark = pytest.mark.traffic

SUITE = """
suite: provoked
title: a test
blocks: {planned: 2, minimum: 2}
timeline: {warmup_s: 0.1, drain_s: 0.3, steady_s: 0.5}
arms:
"""


def workers(*names: str) -> None:
    for name in names:
        tools.worker(name)


def run(directory: Path, arms: str, workloads: str, *files: tuple[str, str]) -> int:
    for name, text in files:
        (directory / name).write_text(text)
    return run_suite(directory, SUITE + arms + "workloads:\n" + workloads)


def endings(directory: Path) -> dict[str, set[tuple[str, str]]]:
    """Arm → (status, reason) of its trials, those aside that the machine spoiled."""
    bundle = Bundle(directory / "out")
    arms = {row["cell"]: row["arm"] for row in bundle.rows("cells")}
    ended: dict[str, set[tuple[str, str]]] = {arm: set() for arm in arms.values()}
    for line in bundle.trials():
        if line.cause != "machine":
            ended[arms[line.cell]].add((line.status, line.reason or ""))
    return ended


def arm(directory: Path, name: str) -> dict:
    (workload,) = show_document(Bundle(directory / "out"))["workloads"]
    return next(shown_arm for shown_arm in workload["arms"] if shown_arm["arm"] == name)


def test_a_message_below_zenohs_threshold_asked_for_shared_memory_is_void_with_that_reason(
    tmp_path,
):
    workers("zenoh")
    arms = "  - {name: zenoh, middleware: zenoh, profile: tuned, options: {path: shm}}\n"
    run(tmp_path, arms, "  - {name: small, message: Bytes(400), rate_hz: 200}\n")
    ((status, reason),) = endings(tmp_path)["zenoh"]
    assert status == "void" and reason.startswith("path: asked for shm")
    assert "400 bytes are below the shared-memory threshold" in reason


@pytest.mark.own_host  # on a shared host its endpoints are the trial's own
def test_zenoh_reliable_over_udp_is_refused_with_its_reason(tmp_path):
    workers("zenoh")
    profile = (
        '{mode: "peer", listen: {endpoints: ["udp/127.0.0.1:0"]}, transport: '
        "{shared_memory: {enabled: false}}}"
    )
    arms = "  - {name: zenoh, middleware: zenoh, profile: udp.json5}\n"
    reliable = "  - {name: w, message: Bytes(400), rate_hz: 200, qos: {reliability: reliable}}\n"
    run(tmp_path, arms, reliable, ("udp.json5", profile))
    (reason,) = Bundle(tmp_path / "out").unsupported.values()
    assert "reliable" in reason and "UDP" in reason


def test_shared_memory_that_the_profile_switches_off_is_void(tmp_path):
    workers("fastdds", "zenoh")
    arms = "  - {name: zenoh tcp, middleware: zenoh, profile: tcp, options: {path: shm}}\n"
    arms += "  - {name: zenoh right, middleware: zenoh, profile: tcp, options: {path: tcp}}\n"
    run(tmp_path, arms, "  - {name: large, message: Bytes(100000), rate_hz: 100}\n")
    ended = endings(tmp_path)
    assert ended["zenoh tcp"]
    for status, reason in ended["zenoh tcp"]:
        assert status == "void" and "tcp on lo" in reason
        assert "the profile switches shared memory off" in reason
    assert ended["zenoh right"] == {("done", "")}


def test_a_socket_buffer_that_is_too_small_is_named_with_what_it_dropped(tmp_path):
    workers("floor")
    options = "{transport: udp, socket_buffer_bytes: %d, path: udp}"
    arms = f"  - {{name: small, middleware: floor, role: contender, options: {options % 4096}}}\n"
    arms += (
        f"  - {{name: large, middleware: floor, role: contender, options: {options % 4000000}}}\n"
    )
    burst = (
        "  - {name: bursts, message: Bytes(30000), arrival: {kind: burst, count: 40, rate_hz: 20}, "
    )
    burst += "qos: {reliability: best_effort, depth: 100}}\n"
    run(tmp_path, arms, burst)
    losses = arm(tmp_path, "small")["losses"]
    (place,) = [p for p in losses["places"] if p["place"].startswith("socket buffer of ")]
    assert place["count"] > 0 and place["messages"] > losses["missing"] / 2
    assert "rmem_max" in place["text"]
    large = arm(tmp_path, "large")["losses"]
    assert large is None or large["missing"] < losses["missing"]


def test_a_reader_that_is_too_slow_loses_in_its_own_queue(tmp_path):
    workers("synthetic", "zenoh")
    arms = "  - {name: zenoh, middleware: zenoh, profile: tcp}\n"
    burst = (
        "  - {name: bursts, message: Bytes(200000), arrival: {kind: burst, count: 60, "
        "rate_hz: 10}, "
    )
    burst += "qos: {reliability: reliable, history: keep_last, depth: 1}}\n"
    run(tmp_path, arms, burst)
    losses = arm(tmp_path, "zenoh")["losses"]
    queue = next(p for p in losses["places"] if p["place"] == "reader's queue")
    assert (queue["label"], queue["unit"]) == ("counted", "messages")
    assert queue["messages"] + losses["not_located"] <= losses["missing"]


def test_the_sampler_counts_the_same_path_as_the_arm_asks_for_on_every_transport(tmp_path):
    workers("floor")
    path_of_transport = {"shm_ring": "shm", "udp": "udp", "tcp": "tcp", "unix": "unix"}
    arms = "".join(
        f"  - {{name: {path}, middleware: floor, role: contender, options: {{transport: "
        f"{transport}, path: {path}}}}}\n"
        for transport, path in path_of_transport.items()
    )
    run(
        tmp_path,
        arms,
        "  - {name: w, message: Bytes(20000), rate_hz: 200, qos: {reliability: best_effort}}\n",
    )
    assert endings(tmp_path) == {path: {("done", "")} for path in path_of_transport.values()}
    bundle = Bundle(tmp_path / "out")
    names = {row["cell"]: row["arm"] for row in bundle.rows("cells")}
    for line in bundle.trials("done"):
        rows = bundle.rows("attestations", line.trial)
        assert sum(row["fraction"] for row in rows) == pytest.approx(1.0)
        best = max(rows, key=lambda row: row["fraction"])
        assert best["path"] == names[line.cell] and best["fraction"] > 0.9, rows
        if best["path"] in ("udp", "tcp"):
            assert (best["label"], best["interface"]) == ("counted", "lo")
        assert json.loads(best["segments"]) or best["path"] != "shm"
