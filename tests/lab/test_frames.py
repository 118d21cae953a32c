"""Frames of a source in a real host, GStreamer's and drawn ones: the picture, the rate, and what is
told without it."""

import mmap
import os
import time
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest

from rmwbench.lab.camera import frame_source as frames
from rmwbench.lab.camera.frame_source import FrameSources, SourceBroken, account
from rmwbench.lab.host import Host
from rmwbench.lab.process.trial_processes import TrialProcesses
from rmwbench.suite.workload.camera import PHOTO, RENDERED, PixelFormat
from tests.suite.suite_text import cells_of

needs_gstreamer = pytest.mark.skipif(
    frames.launcher() is None,
    reason=f"{frames.LAUNCHER} is not installed (Debian: {frames.PACKAGES})",
)

PERIOD_NS = 20_000_000
FORMAT = PixelFormat(64, 48, Fraction(50))
RING_BYTES = frames.ring_bytes(FORMAT.frame_bytes)


def cell_of(source="gstreamer"):
    (cell,) = cells_of(
        f"message: Image(64x48), rate_hz: 50, timeline: {{steady_s: 2}}, frames: {source}"
    )
    return cell


@contextmanager
def started(source="gstreamer"):
    """The sources of a cell with that one, in a host of their own."""
    with Host("local") as host, TrialProcesses(host) as processes:
        host.wait_ready()
        sources = FrameSources(processes, cell_of(source))
        try:
            sources.start()
            yield sources
        finally:
            sources.close()


def judged(numbers, whole_ns, begin=0, end=1_000_000_000):
    return account(1, np.array(numbers), np.array(whole_ns), PERIOD_NS, begin, end)


def test_a_source_that_keeps_its_rate_has_made_all_and_a_start_anywhere_in_a_period_is_not_late():
    numbers = np.arange(60)
    of_window = judged(numbers, numbers * PERIOD_NS - 7_000_000)
    assert (of_window.due, of_window.made, of_window.late, of_window.latest_ns) == (48, 48, 0, 0.0)


def test_one_that_stumbles_and_catches_up_made_all_some_late():
    numbers = np.arange(60)
    whole_ns = numbers * PERIOD_NS
    whole_ns[20:25] = 24 * PERIOD_NS  # four were waiting for the fifth
    of_window = judged(numbers, whole_ns)
    assert (of_window.made, of_window.late) == (
        of_window.due,
        3,
    )  # the last two of the five: within a period
    assert of_window.latest_ns == 4 * PERIOD_NS


def test_one_of_half_the_rate_made_half_and_one_that_stopped_made_what_it_made():
    numbers = np.arange(30)
    slow = judged(numbers, numbers * 2 * PERIOD_NS)
    assert slow.made_share == pytest.approx(0.5, abs=0.05)
    stopped = judged(numbers[:10], numbers[:10] * PERIOD_NS)
    assert (stopped.made, stopped.due) == (10, 48)
    gone = judged(numbers[:10], numbers[:10] * PERIOD_NS, begin=2_000_000_000, end=3_000_000_000)
    assert (gone.made, gone.made_share) == (0, 0.0) and gone.due == 48


@pytest.mark.traffic
@pytest.mark.own_host
def test_drawn_frames_are_in_the_ring_from_the_start_and_seen_at_their_rate():
    assert frames.unavailable_reason(cell_of("photo")) is None
    with started("photo") as sources:
        sources.wait()
        begun_ns = time.monotonic_ns()
        time.sleep(0.5)
        (kept,) = sources.accounts(lambda _: (begun_ns, time.monotonic_ns()))
        assert [(name, role) for name, pid, role, _ in sources.pids if pid] == [
            ("frames 1", "source")
        ]
        ring = os.dup(sources.additions_for("talker").files[10])
    assert kept.made > 0 and kept.lz4_ratio == frames.lz4_ratio(
        frames.drawn_frames("photo", FORMAT)[0]
    )
    slots = [
        slice(at, at + FORMAT.frame_bytes) for at in range(frames.FIRST_SLOT, RING_BYTES, 3 * 4096)
    ]
    with mmap.mmap(ring, RING_BYTES, prot=mmap.PROT_READ) as view:
        assert tuple(view[slot] for slot in slots) == frames.drawn_frames("photo", FORMAT)
        numbers = [
            int.from_bytes(view[64 + 64 * slot :][:8], "little") for slot in range(frames.SLOTS)
        ]
        finished = int.from_bytes(view[40:48], "little")
    os.close(ring)
    assert sorted(numbers) == list(range(finished - frames.SLOTS + 1, finished + 1))
    assert all((number - 1) % frames.SLOTS == slot for slot, number in enumerate(numbers))


def test_without_gstreamer_the_cell_is_not_supported_and_the_packages_are_named(monkeypatch):
    monkeypatch.setattr(frames, "launcher", lambda: None)
    assert "gstreamer1.0-tools and gstreamer1.0-plugins-base" in frames.unavailable_reason(
        cell_of()
    )
    assert frames.unavailable_reason(cell_of("synthetic")) is None
    assert frames.unavailable_reason(cell_of("rendered")) is None


def test_a_process_has_room_for_so_many_rings_and_says_so():
    publishers = ", ".join(f"{{topic: t{n}, message: Image(64x48)}}" for n in range(11))
    subscriptions = ", ".join(f"{{topic: t{n}}}" for n in range(11))
    nodes = (
        f"[{{name: talker, publishers: [{publishers}]}}, {{name: listener, subscriptions: "
        f"[{subscriptions}]}}]"
    )
    (cell,) = cells_of(f"rate_hz: 10, frames: gstreamer, nodes: {nodes}")
    assert "may have 10 publishers" in frames.unavailable_reason(cell)


@needs_gstreamer
@pytest.mark.own_host
@pytest.mark.traffic
def test_the_ring_holds_gstreamers_picture_and_its_rate():
    """SMPTE's bars: the first pixel is grey at 75 %, the one at the end of the first row blue."""
    with started() as sources:
        sources.wait()
        given = sources.additions_for("talker")
        assert [*given.arguments] == ["--frames", "1=10"] and not sources.additions_for(
            "listener"
        ).arguments
        ring = os.dup(given.files[10])
        names = [(name, role) for name, pid, role, _ in sources.pids if pid]
        assert names == [("frames 1", "source"), ("frames 1 gstreamer", "source")]
    with mmap.mmap(ring, RING_BYTES, prot=mmap.PROT_READ) as view:
        slot = view[frames.FIRST_SLOT : frames.FIRST_SLOT + FORMAT.frame_bytes]
    os.close(ring)
    pixels = np.frombuffer(slot, np.uint8).reshape(48, 64, 3)
    assert np.ptp(pixels[0, 0].astype(int)) < 5 and pixels[0, 0, 0] > 150
    assert pixels[0, 63, 2] > 150 > pixels[0, 63, 0]


@needs_gstreamer
@pytest.mark.own_host
def test_a_pipeline_that_cannot_be_made_is_told_in_gstreamers_words():
    with (
        started("gstreamer nosuchelement") as sources,
        pytest.raises(SourceBroken, match=r"exit code 1 after 0 frames.*nosuchelement"),
    ):
        sources.wait()


VGA = PixelFormat(640, 480, Fraction(30))


def test_a_photo_shrinks_as_photographs_by_day_do_and_without_noise_far_more():
    photo, rendered = (
        frames.lz4_ratio(frames.drawn_frames(kind, VGA)[0]) for kind in (PHOTO, RENDERED)
    )
    assert 1.15 < photo < 1.29  # six photographs: 1.01 to 1.29
    assert rendered > 3


def test_bytes_at_random_shrink_by_nothing_and_zeros_beyond_all_measure():
    assert frames.lz4_ratio(np.random.default_rng(1).bytes(300_000)) == 1.0
    assert frames.lz4_ratio(bytes(300_000)) > 100


def test_frames_are_the_same_each_time_and_differ_from_each_other():
    first = frames.drawn_frames(PHOTO, VGA)
    frames.drawn_frames.cache_clear()
    assert frames.drawn_frames(PHOTO, VGA) == first
    assert len(set(first)) == frames.DRAWN_FRAMES and {len(frame) for frame in first} == {
        VGA.frame_bytes
    }
