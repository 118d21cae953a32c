"""The content of a camera's messages: the synthetic pattern, or frames of a source outside of the
worker.

`frames: synthetic`: the worker writes a new pattern for each message, which no compressor makes
smaller. `frames: photo` and `frames: rendered`: a scene that rmwbench draws, with and without a
sensor's noise. `frames: gstreamer`: GStreamer's test picture; `frames: gstreamer ELEMENT key=value
…`: any other source of GStreamer. The publisher's message type `Image(WIDTHxHEIGHT)` and its period
give width, height and rate. docs/suites.md says how such a workload is run.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator

from rmwbench.suite.fault import Fault, check_known
from rmwbench.suite.workload.arrival import Periodic
from rmwbench.suite.workload.message_type import MessageType

SYNTHETIC, PHOTO, RENDERED, GSTREAMER = "synthetic", "photo", "rendered", "gstreamer"
KINDS = (SYNTHETIC, PHOTO, RENDERED, GSTREAMER)
TEST_PICTURE = "videotestsrc pattern=smpte"
PIXEL_BYTES = 3
ROW_MULTIPLE_BYTES = 4
"""GStreamer pads each row of an RGB picture to a multiple of this; a message of type `Image` has no
padding."""
LARGEST_DENOMINATOR = 1001
"""Largest denominator of a rate (television: 30000/1001)."""


def _check_source(text: str) -> str:
    kind, _, element = text.partition(" ")
    check_known("source of frames", kind, KINDS)
    if kind != GSTREAMER and element:
        raise Fault(f"the source {kind} has no element", expected=kind, actual=text)
    if "!" in element:
        raise Fault(
            "a source is one element of GStreamer's",
            expected="such as `gstreamer videotestsrc pattern=ball`; rmwbench adds the elements "
            "after it",
            actual=text,
        )
    return text


Source = Annotated[str, AfterValidator(_check_source)]


@dataclass(frozen=True)
class PixelFormat:
    """The format of RGB pixels with eight bits per channel."""

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
    """Whether rmwbench draws the frames, and not GStreamer."""
    return source in (PHOTO, RENDERED)


def element(source: str) -> str:
    """The element of GStreamer with its properties."""
    return source.partition(" ")[2] or TEST_PICTURE


def frame_format(source: str, type_: MessageType, arrival: Any) -> PixelFormat:
    """The pixel format of a publisher of frames. Raises Fault for another type than an image, for a
    rate that is not steady, and for rows that GStreamer would pad."""
    if type_.pixels is None:
        raise Fault(
            "only images have frames",
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
