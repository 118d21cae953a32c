"""Message types with exact sizes: the CDR before the payload, the payload, the CDR after it.

The names and sizes are those of the types in the published evaluations, so that a suite can repeat
them byte for byte, or of ROS 2's own packages. The payload is the type's array, which a robot or a
driver fills, and has the header with the message's identity. Fields that only older tools read
(time, id) are zero. Types without 64 contiguous payload bytes are absent: `_TOO_SMALL`.

A message of ROS 2's own packages has a header at time zero with an empty frame id; only the frames
of a tf2_msgs/TFMessage have names. The payload of that type is in pieces, the seven numbers of each
transform: two pieces hold the identity of a message.

The bytes are XCDR version 1, little endian: a primitive is aligned to its own size, counted from
behind the 4-byte encapsulation header (OMG DDS-XTypes 1.3, 7.4.1; the encapsulation identifier is
RTPS 2.5, 10.2). `CdrLayout` writes the bytes around a payload, and not the payload itself, which
may have megabytes.
"""

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

from rmwbench.suite.fault import Fault, unknown

ENCAPSULATION = bytes.fromhex("00010000")  # CDR_LE, no options


class CdrLayout:
    """Collects fields in order; `prefix` and `suffix` are the bytes before and after the
    payload."""

    def __init__(self) -> None:
        self._parts = [bytearray(ENCAPSULATION), bytearray()]
        self._body_bytes = 0
        self.payload_bytes: int | None = None
        self.piece_bytes: int | None = None
        """The size of a piece of a payload in several pieces (`piece`); None for a contiguous
        one."""

    @property
    def prefix(self) -> bytes:
        return bytes(self._parts[0])

    @property
    def suffix(self) -> bytes:
        return bytes(self._parts[1])

    def align(self, size_bytes: int) -> "CdrLayout":
        return self._append(bytes(-self._body_bytes % size_bytes))

    def u8(self, *values: int) -> "CdrLayout":
        return self._append(bytes(values))

    def u16(self, *values: int) -> "CdrLayout":
        return self.align(2)._append(struct.pack(f"<{len(values)}H", *values))

    def u32(self, *values: int) -> "CdrLayout":
        return self.align(4)._append(struct.pack(f"<{len(values)}I", *values))

    def u64(self, *values: int) -> "CdrLayout":
        return self.align(8)._append(struct.pack(f"<{len(values)}Q", *values))

    def f32(self, *values: float) -> "CdrLayout":
        return self.align(4)._append(struct.pack(f"<{len(values)}f", *values))

    def f64(self, *values: float) -> "CdrLayout":
        return self.align(8)._append(struct.pack(f"<{len(values)}d", *values))

    def string(self, text: str) -> "CdrLayout":
        """Adds the length with the terminating zero, the text and the zero."""
        data = text.encode() + b"\0"
        return self.u32(len(data))._append(data)

    def payload(self, payload_bytes: int) -> "CdrLayout":
        """Marks the place of the payload, whose size counts for the alignment of later fields."""
        if self.payload_bytes is not None:
            raise ValueError("a layout has one payload")
        self.payload_bytes = payload_bytes
        self._body_bytes += payload_bytes
        return self

    def piece(self, piece_bytes: int) -> "CdrLayout":
        """Marks the next of several pieces of the payload, all of one size. The bytes between them
        are the first part of `suffix`, as if the pieces were contiguous before it."""
        self.piece_bytes = piece_bytes
        self.payload_bytes = (self.payload_bytes or 0) + piece_bytes
        self._body_bytes += piece_bytes
        return self

    def _append(self, data: bytes) -> "CdrLayout":
        self._parts[self.payload_bytes is not None] += data
        self._body_bytes += len(data)
        return self


FLOAT32 = 7
"""The datatype of a 32-bit float in sensor_msgs/PointField."""
CHANNELS = ("x", "y", "z", "intensity")
POINT_BYTES = 4 * len(CHANNELS)
TRANSFORM_BYTES = 7 * 8
"""A translation and a quaternion: the part of a transform that changes."""
MOST_TRANSFORMS = 10_000
"""More than any robot has. Up to this number all transforms have the same size, since their names
have the same length."""

Layout = tuple[str, CdrLayout]
"""The ROS type and its layout."""


def header(layout: CdrLayout) -> CdrLayout:
    """Adds a std_msgs/Header at time zero with an empty frame id."""
    return layout.u32(0, 0).string("")


def imu() -> CdrLayout:
    """The payload is the covariance of the orientation, 9 doubles: the first of three equal
    arrays."""
    layout = header(CdrLayout()).f64(*[0.0] * 4).payload(72)
    # angular velocity and linear acceleration, each with its covariance
    return layout.f64(*[0.0] * (3 + 9 + 3 + 9))


def laser_scan(beams: int) -> Layout:
    """The payload are the ranges; there are no intensities."""
    layout = header(CdrLayout()).f32(*[0.0] * 7)  # angles, times, and the limits of the ranges
    return "sensor_msgs/msg/LaserScan", layout.u32(beams).payload(4 * beams).u32(0)


def point_cloud(points: int) -> Layout:
    """The payload are the points in one row: x, y, z and intensity, as of a lidar's driver."""
    layout = header(CdrLayout()).u32(1, points).u32(len(CHANNELS))
    for index, name in enumerate(CHANNELS):
        layout.string(name).u32(4 * index).u8(FLOAT32).u32(1)
    payload_bytes = POINT_BYTES * points
    # little endian, point_step, row_step, length of data
    layout.u8(0).u32(POINT_BYTES, payload_bytes, payload_bytes)
    # not dense: a point may have any bytes
    return "sensor_msgs/msg/PointCloud2", layout.payload(payload_bytes).u8(0)


def occupancy_grid(width: int, height: int) -> Layout:
    """The payload are the cells, a byte each."""
    # load time, metres per cell
    layout = header(CdrLayout()).u32(0, 0).f32(0.05).u32(width, height)
    layout.f64(*[0.0] * 6, 1.0)  # the map's origin
    return "nav_msgs/msg/OccupancyGrid", layout.u32(width * height).payload(width * height)


def transforms(count: int) -> Layout:
    """The payload are the numbers of the transforms base_link to link_0000, link_0001, …, as
    robot_state_publisher sends the joints of a robot in one message. There are 40 bytes between two
    transforms."""
    if count > MOST_TRANSFORMS:
        raise Fault(
            "too many transforms for one message",
            expected=f"at most {MOST_TRANSFORMS} transforms",
            actual=str(count),
        )
    layout = CdrLayout().u32(count)
    for number in range(count):
        layout.u32(0, 0).string("base_link").string(f"link_{number:04}")
        layout.align(8).piece(TRANSFORM_BYTES)
    return "tf2_msgs/msg/TFMessage", layout


SIZED: dict[str, tuple[int, Callable[..., Layout]]] = {
    "LaserScan(N)": (4, laser_scan),
    "PointCloud2(N)": (POINT_BYTES, point_cloud),
    "OccupancyGrid(WIDTHxHEIGHT)": (1, occupancy_grid),
    "TFMessage(N)": (TRANSFORM_BYTES, transforms),
}
"""Type of any size, as a suite writes it → the bytes of an element, and the function from the
numbers of elements to the layout."""

HEADER_BYTES = 64
"""The identity of a message: the first bytes of every payload (docs/formats/records.md)."""

MAX_PAYLOAD_BYTES = 1 << 30
"""1 GiB: above every message that a robot sends, and below the signed 32-bit sizes inside
middlewares."""

_BYTES = re.compile(r"Bytes\(\s*(\d+)\s*\)")
_IMAGE = re.compile(r"Image\(\s*(\d+)\s*x\s*(\d+)\s*\)")
_SIZED_KINDS = "|".join(form.partition("(")[0] for form in SIZED)
_SIZED_NAME = re.compile(rf"({_SIZED_KINDS})\(\s*(\d+)\s*(?:x\s*(\d+)\s*)?\)")


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
    if match := _SIZED_NAME.fullmatch(name):
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
    """A type of `SIZED` with these numbers of elements. Raises Fault for a wrong count
    of numbers, and for a size that no message may have."""
    form = next(form for form in SIZED if form.startswith(f"{kind}("))
    if len(numbers) != form.count("x") + 1:
        raise Fault(f"`{name}` does not say its size", expected=form, actual=name)
    element_bytes, lay_out = SIZED[form]
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
    "Imu": ("sensor_msgs/msg/Imu", imu),
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
