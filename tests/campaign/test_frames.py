"""Frames through whole trials: copied and by loan, every byte checked, the cost of the source
apart, and one too slow. Needs the built floor and iceoryx2 workers and the sampler; what needs
GStreamer is skipped without it."""

import math

import pytest

from rmwbench.campaign.trial.beside_trial import source_flags, source_voids
from rmwbench.campaign.trial.outcome import TimeFacts, TrialOutcome
from rmwbench.campaign.trial.trial_life import run_trial
from rmwbench.lab.camera import frame_source
from rmwbench.lab.camera.frame_source import Account
from tests.campaign.cells import order
from tests.campaign.ended import rows
from tests.lab import tools
from tests.suite.suite_text import cells_of

CAMERA = """message: Image(64x48), rate_hz: 50, qos: {depth: 10},
     timeline: {warmup_s: 0.2, steady_s: 1.0, drain_s: 2, grace_s: 2, match_s: 5}, frames: """
FLOOR = "middleware: floor, options: {transport: tcp}"

needs_gstreamer = pytest.mark.skipif(
    frame_source.launcher() is None,
    reason=f"{frame_source.LAUNCHER} is not installed (Debian: {frame_source.PACKAGES})",
)


def order_of(arm=FLOOR, frames="gstreamer"):
    (cell,) = cells_of(CAMERA + frames, arm)
    return order(cell)


def carried_whole(result):
    """The events, the costs and the probes of a trial in which every frame arrived and was what its
    writer said."""
    assert result.status in ("done", "void"), result.reason
    received = rows(result, "received")
    # 0.2 + 1.0 s at 50 Hz
    assert len(received) == 60 and not any(row["flags"] & 1 for row in received)
    counters = rows(result, "counters")
    values = {row["counter"]: row["value"] for row in counters}
    fresh, repeated = values["own.frames_fresh"], values["own.frames_repeated"]
    assert fresh + repeated == 60 and fresh > 0
    (text,) = [row["text"] for row in rows(result, "events", event="source")]
    cost = {row["process"]: row["role"] for row in counters if row["counter"] == "cpu"}
    assert "other" not in cost.values()
    return text, cost, {row["probe"]: row["value"] for row in rows(result, "probes")}


@pytest.mark.traffic
def test_drawn_frames_arrive_whole_and_how_far_they_shrink_is_told():
    text, cost, probes = carried_whole(run_trial(order_of(frames="photo"), tools.worker("floor")))
    assert cost["frames 1"] == "source" and "frames 1 gstreamer" not in cost
    assert 0 < probes["source_kept"] <= 1 and probes["source_lz4_ratio"] > 1.1
    assert "of 48 frames" in text and text.endswith("times smaller")


@needs_gstreamer
@pytest.mark.traffic
@pytest.mark.parametrize(
    ("middleware", "arm"),
    [("floor", FLOOR), ("iceoryx2", "middleware: iceoryx2, loan: true")],
)
def test_frames_arrive_whole_and_their_source_is_not_a_cost_of_the_middlewares(middleware, arm):
    text, cost, probes = carried_whole(run_trial(order_of(arm), tools.worker(middleware)))
    assert cost["frames 1"] == cost["frames 1 gstreamer"] == "source"
    assert 0 < probes["source_kept"] <= 1 and "source_lz4_ratio" not in probes
    assert text.endswith("ms") and "of 48 frames" in text


def outcome(*accounts: Account, **counters: int) -> TrialOutcome:
    trial = TrialOutcome(order_of(), TimeFacts("2026-01-01T00:00:00Z", 0))
    trial.beside.sources = list(accounts)
    trial.sampling.collected = {
        "talker": {"endpoints": {"1": {"matched": 1, "counters": counters}}}
    }
    return trial


def test_a_source_below_its_rate_voids_the_trial_and_one_that_is_only_late_flags_it():
    slow = outcome(Account(1, due=100, made=97, late=0, latest_ns=0.0, ended=None))
    (void,) = source_voids(slow)
    assert "made 97 of the 100 frames" in void.text
    late = outcome(Account(1, due=100, made=100, late=5, latest_ns=9e7, ended=None))
    (flag,) = source_flags(late)
    assert "5 %" in flag.text and not list(source_voids(late))
    (flag,) = source_flags(outcome(Account(1, 100, made=100, late=100, latest_ns=2e9, ended=None)))
    assert "100 % of the frames" in flag.text
    gone = outcome(Account(1, due=100, made=100, late=0, latest_ns=math.inf, ended=9))
    (void,) = source_voids(gone)
    assert "ended within the trial" in void.text


def test_frames_that_went_out_twice_and_torn_ones_are_flagged():
    good = Account(1, due=100, made=100, late=0, latest_ns=0.0, ended=None)
    for repeated in ({}, {"frames_repeated": 1}):
        assert not list(source_flags(outcome(good, frames_fresh=100, **repeated)))
    often = outcome(good, frames_fresh=90, frames_repeated=10, frames_torn=2)
    (twice, torn) = source_flags(often)
    assert "10 %" in twice.text and "2 frames" in torn.text
    (torn,) = source_flags(outcome(good, frames_fresh=1, frames_torn=1))
    assert "1 frame of" in torn.text


def test_a_cell_without_frames_has_no_source():
    assert not list(source_voids(outcome())) and not list(source_flags(outcome()))
