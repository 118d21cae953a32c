"""The .msg files and the suite's layouts are two statements of the same bytes; here they meet,
without a ROS 2.

The CDR of each file is laid out once more, by a reader of .msg files that knows nothing of
rmwbench.suite.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from rmwbench.suite.workload.message_type import message_type, message_type_names, service_type

ROOT = Path(__file__).resolve().parents[2] / "ros2" / "rmwbench_msgs"
PRIMITIVE_BYTES = {
    "bool": 1, "byte": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "float32": 4,
    "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip
STANDARD = {
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "sensor_msgs/PointField": "string name\nuint32 offset\nuint8 datatype\nuint32 count",
    "sensor_msgs/NavSatStatus": "int8 status\nuint16 service",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Point32": "float32 x\nfloat32 y\nfloat32 z",
}
"""What the standard packages have, as Jazzy's do."""
PUBLISHED_CDR_BYTES = {"Struct16": 36, "Range": 52, "RadarDetection": 84}
"""Of types that no suite can name, since they have no room for a message's identity."""


@dataclass
class Layout:
    """Bytes behind the encapsulation header; `offsets` are those of the outermost fields."""

    bytes: int = 0
    offsets: dict[str, int] = field(default_factory=dict)

    def primitive(self, size: int, count: int = 1) -> None:
        self.bytes += -self.bytes % size + size * count


@cache
def fields(name: str) -> list[tuple[str, str, int | None]]:
    """(type, field, fixed length or 1; None for a sequence)."""
    text = STANDARD.get(name) or (ROOT / "msg" / f"{name.rpartition('/')[2]}.msg").read_text()
    found = []
    for line in text.splitlines():
        declaration = line.partition("#")[0].split()
        if declaration:
            element, bound = re.fullmatch(r"([\w/]+)(\[\d*\])?", declaration[0]).groups()
            length = 1 if bound is None else int(bound[1:-1]) if bound != "[]" else None
            found.append((element, declaration[1], length))
    return found


def put(layout: Layout, name: str, top: bool = False) -> Layout:
    for element, label, length in fields(name):
        if length is None:
            layout.primitive(4)  # an empty sequence
            layout.offsets[label] = layout.bytes
            continue
        if element in PRIMITIVE_BYTES:
            layout.bytes += -layout.bytes % PRIMITIVE_BYTES[element]
        for number in range(length):
            if top and number == 0:
                layout.offsets[label] = layout.bytes
            if element == "string":
                layout.primitive(4)
                layout.primitive(1)  # the terminating zero of an empty text
            elif element in PRIMITIVE_BYTES:
                layout.primitive(PRIMITIVE_BYTES[element], length)
                break
            else:
                put(layout, element)
    return layout


def payload_field(name: str) -> str | None:
    """None: everything before the outermost time and id."""
    if name.startswith("Struct"):
        return None
    named = {"NavSatFix": "position_covariance", "RadarTrack": "shape"}
    return named.get(name, "array" if name.startswith("Array") else "data")


OURS = [
    name
    for name in message_type_names()
    if message_type(name).ros_type.startswith("rmwbench_msgs/")
]


@pytest.mark.parametrize("name", OURS)
def test_file_and_suite_are_the_same_bytes(name):
    suite, found = message_type(name), put(Layout(), name, top=True)
    assert suite.ros_type == f"rmwbench_msgs/msg/{name}"
    assert 4 + found.bytes == suite.cdr_bytes
    label = payload_field(name)
    offset = 0 if label is None else found.offsets[label]
    aligned = offset + (-offset % 4 if name == "RadarTrack" else 0)
    assert 4 + aligned == len(suite.cdr_prefix)


@pytest.mark.parametrize("name", PUBLISHED_CDR_BYTES)
def test_types_without_room_for_identity_have_the_published_sizes(name):
    assert 4 + put(Layout(), name).bytes == PUBLISHED_CDR_BYTES[name]


def test_every_message_of_the_package_is_either_named_by_suites_or_known_not_to_be():
    files = {path.stem for path in (ROOT / "msg").glob("*.msg")}
    assert files == {*OURS, *PUBLISHED_CDR_BYTES, "Bytes"}


def test_the_service_is_one_sequence_each_way():
    request, _, reply = (ROOT / "srv" / "Bytes.srv").read_text().partition("---")
    for part, text in (("request", request), ("reply", reply)):
        declarations = [line for line in text.splitlines() if line and not line.startswith("#")]
        assert declarations == ["uint8[] data"]
        # encapsulation, then the sequence's length: the payload stands there
        assert service_type("Bytes(64)", part).cdr_prefix == bytes([0, 1, 0, 0, 64, 0, 0, 0])
