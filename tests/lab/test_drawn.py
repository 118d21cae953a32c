"""Drawn frames: how far they shrink is what they are for."""

from fractions import Fraction

import numpy as np

from rmwbench.lab.camera import scene
from rmwbench.suite.workload.camera import PHOTO, RENDERED, PixelFormat

VGA = PixelFormat(640, 480, Fraction(30))


def test_a_photo_shrinks_as_photographs_by_day_do_and_without_noise_far_more():
    photo, rendered = (scene.lz4_ratio(scene.frames(kind, VGA)[0]) for kind in (PHOTO, RENDERED))
    assert 1.15 < photo < 1.29  # six photographs: 1.01 to 1.29
    assert rendered > 3


def test_bytes_at_random_shrink_by_nothing_and_zeros_beyond_all_measure():
    assert scene.lz4_ratio(np.random.default_rng(1).bytes(300_000)) == 1.0
    assert scene.lz4_ratio(bytes(300_000)) > 100


def test_frames_are_the_same_each_time_and_differ_from_each_other():
    first = scene.frames(PHOTO, VGA)
    scene.frames.cache_clear()
    assert scene.frames(PHOTO, VGA) == first
    assert len(set(first)) == scene.FRAMES and {len(frame) for frame in first} == {VGA.frame_bytes}
