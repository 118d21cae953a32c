"""Frames in suites: who sends them, in which format, and what cannot be."""

from fractions import Fraction

import pytest

from rmwbench.errors import UserError
from rmwbench.suite.workload.camera import PixelFormat, frame_format

from . import suite_text


def cells_of(message="Image(640x480)", rate="rate_hz: 30", more="", factors=""):
    camera = f"message: {message}, {rate}, timeline: {{warmup_s: 0.1, steady_s: 2}}{more}"
    return suite_text.cells_of(camera, more=factors)


def publisher(cell):
    return next(endpoint for endpoint in cell.endpoints if endpoint.kind == "publisher")


def test_a_level_of_the_factor_decides_and_the_synthetic_one_is_what_it_was():
    synthetic, gstreamer = cells_of(factors="factors: {frames: [synthetic, gstreamer]}")
    (plain,) = cells_of()
    assert "frames" not in publisher(plain).wire(plain.arm, 0)
    assert publisher(synthetic).wire(synthetic.arm, 0) == publisher(plain).wire(plain.arm, 0)
    assert publisher(gstreamer).wire(gstreamer.arm, 0)["frames"] == "gstreamer"
    assert all(e.frames is None for e in gstreamer.endpoints if e.kind == "subscription")


def test_the_format_is_that_of_type_and_rate():
    (cell,) = cells_of(
        message="Image(1280x720)", rate="rate_hz: 59.94005994005994", more=", frames: gstreamer"
    )
    end = publisher(cell)
    pixels = frame_format(end.frames, end.type, end.arrival)
    assert pixels == PixelFormat(1280, 720, Fraction(60000, 1001))
    assert pixels.frame_bytes == end.type.payload_bytes == 2764800


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"more": ", frames: camera"}, "unknown source of frames `camera`"),
        ({"more": ", frames: gstreamer videotestsrc ! tee"}, "one element"),
        ({"more": ", frames: photo videotestsrc"}, "the source photo has no element"),
        ({"more": ", frames: gstreamer, touch: header"}, "frames are written and read whole"),
        ({"more": ", frames: gstreamer", "message": "Image(641x480)"}, "pads the rows"),
        (
            {"more": ", frames: gstreamer", "rate": "arrival: {kind: poisson, rate_hz: 30}"},
            "a steady rate",
        ),
        (
            {"message": "Bytes(921600)", "factors": "factors: {frames: [synthetic, gstreamer]}"},
            "changes nothing",
        ),
    ],
)
def test_what_no_camera_does_is_told_at_its_line(keys, problem):
    with pytest.raises(UserError) as raised:
        cells_of(**keys)
    assert problem in str(raised.value) and "f.yaml:" in str(raised.value)
