"""Messages of ROS 2's own packages, decoded by hand: each array stands where its .msg file puts
it."""

import struct

import pytest

from rmwbench.suite.fault import Fault
from rmwbench.suite.workload.message_type import message_type

HEADER = struct.pack("<III", 0, 0, 1) + b"\0"
"""Time zero, and an empty frame id: 13 bytes."""


def body(name):
    """The bytes before the payload without the encapsulation, and those after it."""
    message = message_type(name)
    assert message.cdr_prefix[:4] == bytes([0, 1, 0, 0])
    assert message.cdr_prefix[4:17] == HEADER
    return message, message.cdr_prefix[4:], message.cdr_suffix


def test_an_imu_is_37_doubles_behind_its_header():
    message, before, after = body("Imu")
    # the header is padded to doubles
    assert len(before) == 16 + 4 * 8 and message.payload_bytes == 9 * 8
    assert len(after) == (3 + 9 + 3 + 9) * 8
    assert message.cdr_bytes == 4 + 16 + 37 * 8 and message.ros_type == "sensor_msgs/msg/Imu"


def test_a_point_cloud_names_its_channels():
    message, before, after = body("PointCloud2(1000)")
    assert struct.unpack_from("<III", before, 16) == (1, 1000, 4)  # height, width, fields
    at = 28
    for place, name in enumerate(("x", "y", "z", "intensity")):
        (length,) = struct.unpack_from("<I", before, at)
        assert before[at + 4 : at + 4 + length] == name.encode() + b"\0"
        at += 4 + length
        at += -at % 4
        assert struct.unpack_from("<IB", before, at) == (4 * place, 7)  # offset, float32
        assert struct.unpack_from("<I", before, at + 8) == (1,)
        at += 12
    assert before[at] == 0  # little endian
    # point_step, row_step, length
    assert struct.unpack_from("<III", before, at + 4) == (16, 16_000, 16_000)
    assert len(before) == at + 16 and after == b"\0"
    assert message.payload_bytes == 16_000


def test_a_tree_of_frames_has_the_numbers_of_its_transforms_in_pieces():
    message = message_type("TFMessage(3)")
    assert (message.ros_type, message.payload_bytes) == ("tf2_msgs/msg/TFMessage", 3 * 56)
    # as a serialiser writes it: the pieces, and what is between them from the rest
    gap = len(message.cdr_suffix) // 2
    assert message.piece_bytes == 56 and gap == 40
    numbers = [struct.pack("<7d", *range(at, at + 7)) for at in (10, 20, 30)]
    rest = [message.cdr_suffix[:gap], message.cdr_suffix[gap:], b""]
    body = message.cdr_prefix[4:] + b"".join(a + b for a, b in zip(numbers, rest, strict=True))
    assert struct.unpack_from("<I", body) == (3,)
    at = 4
    for number in range(3):
        at += -at % 4
        assert struct.unpack_from("<II", body, at) == (0, 0)
        at += 8
        for text in (b"base_link\0", f"link_{number:04}".encode() + b"\0"):
            at += -at % 4
            assert struct.unpack_from("<I", body, at) == (len(text),)
            assert body[at + 4 : at + 4 + len(text)] == text
            at += 4 + len(text)
        at += -at % 8
        first = 10 * (number + 1)
        assert struct.unpack_from("<7d", body, at) == tuple(range(first, first + 7))
        at += 56
    assert at == len(body) == message.cdr_bytes - 4


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("LaserScan(3x4)", "does not say its size"),
        ("OccupancyGrid(10)", "does not say its size"),
        ("PointCloud2(3)", "a payload of 48 bytes cannot carry"),
        ("LaserScan(0)", "a payload of 0 bytes cannot carry"),
        ("OccupancyGrid(100000x100000)", "larger than any middleware carries"),
        ("LaserScan()", "unknown message type"),
        ("TFMessage(1)", "a payload of 56 bytes cannot carry"),
        ("TFMessage(10001)", "so many transforms"),
        ("Twist", "`Twist` is too small to carry the message's identity"),
    ],
)
def test_messages_that_cannot_be_sent_are_refused(name, words):
    with pytest.raises(Fault, match=words):
        message_type(name)
