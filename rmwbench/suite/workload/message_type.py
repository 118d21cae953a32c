"""Message types with exact sizes: the CDR before the payload, the payload, the CDR after it.

The names and sizes are those of the types in the published evaluations, so that a suite can repeat
them byte for byte. The payload is the type's array, which a robot fills, and has the header with
the message's identity. Fields that only older tools read (time, id) are zero. Types without 64
contiguous payload bytes are absent: `_TOO_SMALL`.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from rmwbench.suite.fault import Fault, unknown
from rmwbench.suite.workload import sensor_types
from rmwbench.suite.workload.sensor_types import FLOAT32, CdrLayout, header

HEADER_BYTES = 64
"""The identity of a message: the first bytes of every payload (docs/formats/records.md)."""

MAX_PAYLOAD_BYTES = 1 << 30
"""1 GiB: above every message that a robot sends, and below the signed 32-bit sizes inside
middlewares."""

_BYTES = re.compile(r"Bytes\(\s*(\d+)\s*\)")
_IMAGE = re.compile(r"Image\(\s*(\d+)\s*x\s*(\d+)\s*\)")
_SIZED_KINDS = "|".join(form.partition("(")[0] for form in sensor_types.SIZED)
_SIZED = re.compile(rf"({_SIZED_KINDS})\(\s*(\d+)\s*(?:x\s*(\d+)\s*)?\)")


@dataclass(frozen=True)
class MessageType:
    """`cdr_prefix` starts with the encapsulation header; prefix + payload + suffix is the whole
    serialised message."""

    name: str
    ros_type: str
    payload_bytes: int
    cdr_prefix: bytes
    cdr_suffix: bytes
    pixels: tuple[int, int] | None = None
    """Width and height of an image."""
    piece_bytes: int | None = None
    """The size of a piece of a payload in several pieces, whose positions the worker knows. A
    middleware that does not serialise has the pieces together, before the bytes between them."""

    @property
    def cdr_bytes(self) -> int:
        return len(self.cdr_prefix) + self.payload_bytes + len(self.cdr_suffix)

    def wire(self) -> dict[str, str | int]:
        """The `type` object of the worker protocol."""
        return {
            "name": self.name,
            "payload_bytes": self.payload_bytes,
            "ros_type": self.ros_type,
            "cdr_prefix_hex": self.cdr_prefix.hex(),
            "cdr_suffix_hex": self.cdr_suffix.hex(),
        }


def message_type(name: str) -> MessageType:
    """The type of that name; raises Fault for an unknown name or a payload that cannot carry the
    identity header."""
    if match := _BYTES.fullmatch(name):
        return _bytes(int(match[1]))
    if match := _IMAGE.fullmatch(name):
        return _image(f"Image({int(match[1])}x{int(match[2])})", int(match[1]), int(match[2]))
    if match := _SIZED.fullmatch(name):
        return _sized_type(name, match[1], [int(number) for number in match.groups()[1:] if number])
    if name == "Image1080p":
        return _image(name, 1920, 1080)
    if (largest_bytes := _TOO_SMALL.get(name)) is not None:
        raise Fault(
            f"`{name}` is too small to carry the message's identity",
            expected=f"{HEADER_BYTES} contiguous bytes",
            actual=f"{largest_bytes} bytes at most",
            fix=f"take Bytes({HEADER_BYTES}), the smallest message, or Imu; `rmwbench types` lists all",
        )
    if name not in _LAYOUTS:
        raise unknown("message type", name, [*message_type_names(), *FAMILIES])
    ros_type, lay_out = _LAYOUTS[name]
    return _from_layout(name, ros_type, lay_out())


def service_type(name: str, part: str) -> MessageType:
    """The `request` or the `reply` of the service type, whose one field is `uint8[] data`. Raises
    Fault for any name but `Bytes(N)`: a service is measured by its round trip, whatever its fields
    are."""
    if not (match := _BYTES.fullmatch(name)):
        raise Fault(
            f"`{name}` is not a message of a service",
            expected="Bytes(N), such as Bytes(64)",
            actual=name,
        )
    payload_bytes = _check_size(int(match[1]))
    layout = CdrLayout().u32(payload_bytes).payload(payload_bytes)
    ros_type = {
        "request": "rmwbench_msgs/srv/Bytes_Request",
        "reply": "rmwbench_msgs/srv/Bytes_Response",
    }[part]
    return _from_layout(f"Bytes({payload_bytes})", ros_type, layout)


def message_type_names() -> list[str]:
    """The names of all types of one size; `FAMILIES` are the others."""
    return [*_LAYOUTS, "Image1080p"]


def _from_layout(name: str, ros_type: str, layout: CdrLayout) -> MessageType:
    assert layout.payload_bytes is not None
    return MessageType(
        name,
        ros_type,
        layout.payload_bytes,
        layout.prefix,
        layout.suffix,
        piece_bytes=layout.piece_bytes,
    )


def _bytes(payload_bytes: int) -> MessageType:
    _check_size(payload_bytes)
    # MultiArrayLayout without dimensions (an empty sequence and data_offset 0); the length of `data`
    layout = CdrLayout().u32(0).u32(0).u32(payload_bytes).payload(payload_bytes)
    return _from_layout(f"Bytes({payload_bytes})", "std_msgs/msg/UInt8MultiArray", layout)


def _check_size(payload_bytes: int) -> int:
    if payload_bytes < HEADER_BYTES:
        raise Fault(
            f"a payload of {payload_bytes} bytes cannot carry the message's identity",
            expected=f"at least {HEADER_BYTES} bytes: the header with sequence number and intended "
            "time",
            actual=f"{payload_bytes} bytes",
            fix=f"use Bytes({HEADER_BYTES}) or more",
        )
    if payload_bytes > MAX_PAYLOAD_BYTES:
        raise Fault(
            "the payload is larger than any middleware carries",
            expected=f"at most {MAX_PAYLOAD_BYTES} bytes",
            actual=f"{payload_bytes} bytes",
        )
    return payload_bytes


def _time_and_id(layout: CdrLayout) -> CdrLayout:
    return layout.u64(0, 0)


def _array(payload_bytes: int) -> Callable[[], CdrLayout]:
    return lambda: _time_and_id(CdrLayout().payload(payload_bytes))


def _point_cloud(payload_bytes: int) -> Callable[[], CdrLayout]:
    """A cloud of points with eight 32-bit float channels, in one row. The channel names are empty,
    as in the published sizes."""
    point_bytes = 32

    def lay_out() -> CdrLayout:
        layout = header(CdrLayout()).u32(1, payload_bytes // point_bytes)  # height, width
        for channel in range(8):
            layout.string("").u32(4 * channel).u8(FLOAT32).u32(1)  # name, offset, datatype, count
        layout.u8(0).u32(point_bytes, payload_bytes)  # little endian, point_step, row_step
        # not dense: the pattern may not be a valid point
        return _time_and_id(layout.payload(payload_bytes).u8(0))

    return lay_out


def _nav_sat_fix() -> CdrLayout:
    """The payload is the covariance, 9 doubles: the type's only array."""
    # status, service; latitude, longitude, altitude
    layout = header(CdrLayout()).u8(0).u16(0).f64(0.0, 0.0, 0.0)
    return _time_and_id(layout.payload(72).u8(0))


def _radar_track() -> CdrLayout:
    """The payload is the track's shape: 64 points of three 32-bit floats."""
    layout = CdrLayout().u16(0).align(4).payload(768)
    return _time_and_id(layout.f64(*[0.0] * 6))  # velocity, acceleration


def _stamped_layout(total_bytes: int) -> Callable[[], CdrLayout]:
    """A stamp of 8 bytes and a tracking number of 4, both unused, then the payload."""
    return lambda: CdrLayout().u64(0).u32(0).payload(total_bytes - 12)


def _sized_type(name: str, kind: str, numbers: list[int]) -> MessageType:
    """A type of `sensor_types.SIZED` with these numbers of elements. Raises Fault for a wrong count
    of numbers, and for a size that no message may have."""
    form = next(form for form in sensor_types.SIZED if form.startswith(f"{kind}("))
    if len(numbers) != form.count("x") + 1:
        raise Fault(f"`{name}` does not say its size", expected=form, actual=name)
    element_bytes, lay_out = sensor_types.SIZED[form]
    _check_size(element_bytes * math.prod(numbers))
    ros_type, layout = lay_out(*numbers)
    return _from_layout(f"{kind}({'x'.join(map(str, numbers))})", ros_type, layout)


def _image(name: str, width: int, height: int) -> MessageType:
    """A sensor_msgs/Image: header, height, width, encoding, is_bigendian, step, then the length of
    the sequence and the pixels."""
    pixel_bytes = 3
    size_bytes = _check_size(height * width * pixel_bytes)
    layout = header(CdrLayout()).u32(height, width).string("rgb8").u8(0).u32(width * pixel_bytes)
    layout = layout.u32(size_bytes).payload(size_bytes)
    return replace(_from_layout(name, "sensor_msgs/msg/Image", layout), pixels=(width, height))


FAMILIES = {
    "Bytes(N)": "N bytes of payload, from 64: std_msgs/msg/UInt8MultiArray",
    "Image(WIDTHxHEIGHT)": "an RGB image of that many pixels: sensor_msgs/msg/Image",
    "PointCloud2(N)": "N points of 16 bytes (x, y, z, intensity): sensor_msgs/msg/PointCloud2",
    "LaserScan(N)": "N ranges of 4 bytes: sensor_msgs/msg/LaserScan",
    "OccupancyGrid(WIDTHxHEIGHT)": "a map of that many cells: nav_msgs/msg/OccupancyGrid",
    "TFMessage(N)": "N transforms of a tree of frames, from 2: tf2_msgs/msg/TFMessage",
}
"""Type of any size, as a suite writes it → its description."""
KIB, MIB = 1024, 1024 * 1024

_LAYOUTS: dict[str, tuple[str, Callable[[], CdrLayout]]] = {
    **{
        f"Array{size}": (f"rmwbench_msgs/msg/Array{size}", _array(payload_bytes))
        for size, payload_bytes in {
            "1k": KIB, "4k": 4 * KIB, "16k": 16 * KIB, "32k": 32 * KIB, "60k": 60 * KIB,
            "1m": MIB, "2m": 2 * MIB, "4m": 4 * MIB, "8m": 8 * MIB,
        }.items()
    },
    **{
        f"PointCloud{size}": (f"rmwbench_msgs/msg/PointCloud{size}", _point_cloud(payload_bytes))
        for size, payload_bytes in {"512k": 512 * KIB, "1m": MIB, "2m": 2 * MIB, "4m": 4 * MIB, "8m": 8 * MIB}.items()
    },
    # Each level carries its own time and id (16 bytes): 16 × 32, 16 × 528, 8 × 8464. They need no
    # padding, so they lie together.
    "Struct256": ("rmwbench_msgs/msg/Struct256", _array(512)),
    "Struct4k": ("rmwbench_msgs/msg/Struct4k", _array(8448)),
    "Struct32k": ("rmwbench_msgs/msg/Struct32k", _array(67712)),
    "NavSatFix": ("rmwbench_msgs/msg/NavSatFix", _nav_sat_fix),
    "RadarTrack": ("rmwbench_msgs/msg/RadarTrack", _radar_track),
    "Imu": ("sensor_msgs/msg/Imu", sensor_types.imu),
    # Messages between the stages of a pipeline, with the published names and sizes ("1k" has 1032
    # bytes).
    **{
        f"Stamped{size}": (f"rmwbench_msgs/msg/Stamped{size}", _stamped_layout(total_bytes))
        for size, total_bytes in {"128b": 128, "1k": 1032, "10k": 10240, "100k": 102400, "500k": 512000}.items()
    },
}  # fmt: skip

_TOO_SMALL = {
    "Struct16": 16, "Range": 16, "RadarDetection": 56,  # before time and id
    "Twist": 48, "TwistStamped": 48, "Pose": 56, "PoseStamped": 56, "Transform": 56,
}  # fmt: skip
"""Type that users ask for and that cannot hold the 64-byte header → its contiguous bytes of
numbers."""
