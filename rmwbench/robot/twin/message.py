"""The message type of a suite for a recorded message: the same ROS type if the suite has it in this
size, else bytes. The compared sizes are those of serialised messages."""

import math

from rmwbench.suite.fault import Fault
from rmwbench.suite.workload.message_type import (
    HEADER_BYTES,
    MessageType,
    message_type,
    message_type_names,
)

NEAR, NEAR_BYTES = 0.02, 32
"""The largest difference between the sizes of a type and the recorded message: a share, or a number
of bytes, for the name of a frame."""

_ARRAYS = {
    "sensor_msgs/msg/LaserScan": ("LaserScan({n})", 4),
    "sensor_msgs/msg/PointCloud2": ("PointCloud2({n})", 16),
    "nav_msgs/msg/OccupancyGrid": ("OccupancyGrid({n}x1)", 1),
    "sensor_msgs/msg/Image": ("Image({n}x1)", 3),
}
"""ROS type -> the suite's type of `n` elements, and the bytes of one."""
_IMAGES = (
    *((160, 120), (320, 240), (424, 240), (640, 360), (640, 480), (672, 376), (800, 600)),
    *((848, 480), (960, 540), (1024, 768), (1280, 720), (1280, 800), (1280, 960), (1280, 1024)),
    *((1600, 1200), (1920, 1080), (1920, 1200), (2048, 1536), (2448, 2048), (3840, 2160)),
)
"""Usual sizes of images: a bag has the number of pixels, and not width and height."""
SMALLEST = message_type(f"Bytes({HEADER_BYTES})")


def message_for(ros_type: str, size_bytes: float) -> MessageType:
    """The type for a serialised message of `size_bytes`, at least of the size of `SMALLEST`."""
    candidates = [
        kind for name in _names(ros_type, size_bytes) if (kind := _type_or_none(name)) is not None
    ]
    if candidates:
        best = min(candidates, key=lambda kind: abs(kind.cdr_bytes - size_bytes))
        if abs(best.cdr_bytes - size_bytes) <= max(NEAR * size_bytes, NEAR_BYTES):
            return best
    around = SMALLEST.cdr_bytes - HEADER_BYTES
    return message_type(f"Bytes({max(HEADER_BYTES, round(size_bytes) - around)})")


def _names(ros_type: str, size_bytes: float) -> list[str]:
    if ros_type == "tf2_msgs/msg/TFMessage":
        return [
            f"TFMessage({max(2, round(size_bytes / transform_bytes))})"
            for transform_bytes in (88, 96, 104)
        ]
    if ros_type not in _ARRAYS:
        return [name for name in message_type_names() if message_type(name).ros_type == ros_type]
    form, element_bytes = _ARRAYS[ros_type]
    fewest = math.ceil(HEADER_BYTES / element_bytes)
    empty = message_type(form.format(n=fewest)).cdr_bytes - fewest * element_bytes
    elements = max(fewest, round((size_bytes - empty) / element_bytes))
    if ros_type.endswith("/Image"):
        for width, height in _IMAGES:
            if abs(width * height - elements) * element_bytes <= NEAR_BYTES:
                return [f"Image({width}x{height})"]
    return [form.format(n=elements)]


def _type_or_none(name: str) -> MessageType | None:
    try:
        return message_type(name)
    except Fault:
        return None
