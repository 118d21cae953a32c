"""Message types of ROS 2's own packages: the serialised bytes around the array that a driver fills.

Each message has a header at time zero with an empty frame id; only the frames of a
tf2_msgs/TFMessage have names. The payload of that type is in pieces, the seven numbers of each
transform: two pieces hold the identity of a message.

The bytes are XCDR version 1, little endian: a primitive is aligned to its own size, counted from
behind the 4-byte encapsulation header (OMG DDS-XTypes 1.3, 7.4.1; the encapsulation identifier is
RTPS 2.5, 10.2). `CdrLayout` writes the bytes around a payload, and not the payload itself, which
may have megabytes.
"""

import struct
from collections.abc import Callable

from rmwbench.suite.fault import Fault

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
            "a message with so many transforms cannot be sent",
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
