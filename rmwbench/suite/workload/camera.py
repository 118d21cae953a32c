"""What the messages of a camera hold: the synthetic pattern, or frames of a source outside of the
worker.

`frames: synthetic` is written by the worker for each message anew, and no compressor makes it
smaller. `frames: photo` and `frames: rendered` are a scene that is drawn here, with a sensor's
noise and without. `frames: gstreamer` is GStreamer's test picture, and `frames: gstreamer ELEMENT
key=value …` any other source of GStreamer's. Width, height and rate are the publisher's own: its
message type `Image(WIDTHxHEIGHT)` and its period. docs/suites.md says how such a workload is run.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator

from rmwbench.suite.fault import Fault, unknown
from rmwbench.suite.workload.arrival import Periodic
from rmwbench.suite.workload.message_type import MessageType

SYNTHETIC, PHOTO, RENDERED, GSTREAMER = "synthetic", "photo", "rendered", "gstreamer"
KINDS = (SYNTHETIC, PHOTO, RENDERED, GSTREAMER)
TEST_PICTURE = "videotestsrc pattern=smpte"
PIXEL_BYTES = 3
ROW_MULTIPLE_BYTES = 4
"""GStreamer pads each row of an RGB picture to this; a padded row is not what `Image` says."""
LARGEST_DENOMINATOR = 1001
"""Largest denominator of a rate (television: 30000/1001)."""


def _checked(text: str) -> str:
    kind, _, element = text.partition(" ")
    if kind not in KINDS:
        raise unknown("source of frames", kind, list(KINDS))
    if kind != GSTREAMER and element:
        raise Fault(f"the source {kind} has no element", expected=kind, actual=text)
    if "!" in element:
        raise Fault(
            "a source is one element of GStreamer's",
            expected="such as `gstreamer videotestsrc pattern=ball`; what follows it is ours",
            actual=text,
        )
    return text


Source = Annotated[str, AfterValidator(_checked)]


@dataclass(frozen=True)
class PixelFormat:
    """RGB, eight bits each."""

    width: int
    height: int
    rate_hz: Fraction

    @property
    def frame_bytes(self) -> int:
        return PIXEL_BYTES * self.width * self.height

    @property
    def period_ns(self) -> float:
        return 1e9 / float(self.rate_hz)


def is_drawn(source: str) -> bool:
    """Whether the frames are drawn here; GStreamer's otherwise."""
    return source in (PHOTO, RENDERED)


def element(source: str) -> str:
    """The source's words for GStreamer."""
    return source.partition(" ")[2] or TEST_PICTURE


def frame_format(source: str, type_: MessageType, arrival: Any) -> PixelFormat:
    """The format of a publisher that sends frames. Raises Fault where it cannot: no image, no
    steady rate, rows that GStreamer would pad."""
    if type_.pixels is None:
        raise Fault(
            "frames are of images",
            expected="a message type such as Image(1920x1080)",
            actual=type_.name,
            fix="leave out `frames`, or publish images",
        )
    if not isinstance(arrival, Periodic):
        kind = getattr(arrival, "kind", "none")
        raise Fault(
            "a camera has a steady rate", expected="`rate_hz`", actual=f"an arrival of kind {kind}"
        )
    width, height = type_.pixels
    if not is_drawn(source) and PIXEL_BYTES * width % ROW_MULTIPLE_BYTES:
        raise Fault(
            "GStreamer pads the rows of such a picture",
            expected="a width that is a multiple of 4",
            actual=f"{width}",
        )
    return PixelFormat(
        width, height, Fraction(arrival.rate_hz).limit_denominator(LARGEST_DENOMINATOR)
    )
