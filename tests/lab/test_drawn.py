"""Drawn frames: how far they shrink is what they are for."""

from fractions import Fraction

import numpy as np
import pytest

from rmwbench.lab.camera import drawn
from rmwbench.suite.workload.camera import PHOTO, RENDERED, PixelFormat

VGA = PixelFormat(640, 480, Fraction(30))


def pixels(kind, number=0):
    return np.frombuffer(drawn.frames(kind, VGA)[number], np.uint8).reshape(480, 640, 3)


def test_a_photo_shrinks_as_photographs_by_day_do_and_without_noise_far_more():
    photo, rendered = (drawn.lz4_ratio(drawn.frames(kind, VGA)[0]) for kind in (PHOTO, RENDERED))
    assert 1.15 < photo < 1.29  # six photographs: 1.01 to 1.29
    assert rendered > 3


def test_bytes_at_random_shrink_by_nothing_and_zeros_beyond_all_measure():
    assert drawn.lz4_ratio(np.random.default_rng(1).bytes(300_000)) == 1.0
    assert drawn.lz4_ratio(bytes(300_000)) > 100


def test_frames_are_the_same_each_time_and_differ_from_each_other():
    first = drawn.frames(PHOTO, VGA)
    drawn.frames.cache_clear()
    assert drawn.frames(PHOTO, VGA) == first
    assert len(set(first)) == drawn.FRAMES and {len(frame) for frame in first} == {VGA.frame_bytes}


@pytest.mark.parametrize("turn", [1, 5])
def test_the_camera_turns(turn):
    moved = turn * drawn.TURN_PIXELS
    assert (pixels(RENDERED)[:, moved:] == pixels(RENDERED, turn)[:, :-moved]).all()


def test_noise_is_a_sensors_more_where_there_is_light_and_none_where_there_is_too_much():
    # the grass below is chance
    photo, rendered = (pixels(kind)[:360].astype(int) for kind in (PHOTO, RENDERED))
    noise = photo - rendered
    dark, bright = (noise[(rendered > low) & (rendered < low + 40)].std() for low in (30, 190))
    assert 1.2 < dark < bright < 3
    assert (noise[rendered == 255] == 0).mean() > 0.9
