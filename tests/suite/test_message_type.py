"""Sizes against the published table: a type that is one byte off is another experiment. Messages of
ROS 2's own packages, decoded by hand: each array stands where its .msg file puts it."""

import struct

import pytest

from rmwbench.suite.fault import Fault
from rmwbench.suite.workload.message_type import CdrLayout, message_type

KIB, MIB = 1024, 1024 * 1024

# name: (payload, CDR total), from the published evaluations
PUBLISHED = {
    "Array1k": (1024, 1044),
    "Array4k": (4096, 4116),
    "Array16k": (16384, 16404),
    "Array32k": (32768, 32788),
    "Array60k": (61440, 61460),
    "Array1m": (MIB, 1048596),
    "Array2m": (2 * MIB, 2097172),
    "Array4m": (4 * MIB, 4194324),
    "Array8m": (8 * MIB, 8388628),
    "PointCloud512k": (512 * KIB, 524508),
    "PointCloud1m": (MIB, 1048796),
    "PointCloud2m": (2 * MIB, 2097372),
    "PointCloud4m": (4 * MIB, 4194524),
    "PointCloud8m": (8 * MIB, 8388828),
    "Struct256": (512, 532),
    "Struct4k": (8448, 8468),
    "Struct32k": (67712, 67732),
    "NavSatFix": (72, 140),
    "RadarTrack": (768, 844),
    "Image1080p": (6220800, 6220848),
    "Stamped128b": (116, 132),
    "Stamped1k": (1020, 1036),
    "Stamped10k": (10228, 10244),
    "Stamped100k": (102388, 102404),
    "Stamped500k": (511988, 512004),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_sizes_are_the_published_ones(name):
    message = message_type(name)
    assert (message.payload_bytes, message.cdr_bytes) == PUBLISHED[name]
    assert message.cdr_prefix[:4] == bytes([0, 1, 0, 0])


def test_image_prefix_reads_back_as_an_image():
    """Decoded by hand from the layout of sensor_msgs/Image, independently of the writer."""
    prefix = message_type("Image1080p").cdr_prefix[4:]
    assert struct.unpack_from("<IIIB", prefix, 0) == (0, 0, 1, 0)  # stamp, frame id ""
    assert struct.unpack_from("<II", prefix, 16) == (1080, 1920)
    assert struct.unpack_from("<I5s", prefix, 24) == (5, b"rgb8\0")
    assert prefix[33] == 0  # little endian
    assert struct.unpack_from("<II", prefix, 36) == (3 * 1920, 6220800)  # step, length of data
    assert len(prefix) == 44


def test_point_cloud_prefix_reads_back_as_a_point_cloud():
    message = message_type("PointCloud512k")
    body = message.cdr_prefix[4:]
    assert struct.unpack_from("<II", body, 16) == (1, 16384)  # height, width
    for channel in range(8):
        at = 24 + 20 * channel
        assert struct.unpack_from("<IB", body, at) == (1, 0)  # empty name
        # offset, float32, count
        assert struct.unpack_from("<IB3xI", body, at + 8) == (4 * channel, 7, 1)
    assert body[184] == 0
    assert struct.unpack_from("<II", body, 188) == (32, 524288)  # point step, row step
    # dense flag, padding to the next multiple of 8, time and id
    assert len(message.cdr_suffix) == 1 + 3 + 16


def test_alignment_counts_from_behind_the_encapsulation():
    layout = CdrLayout().u8(1).u64(2).payload(3).u16(4)
    assert layout.prefix == b"\0\1\0\0" + b"\1" + bytes(7) + struct.pack("<Q", 2)
    assert layout.suffix == b"\0" + struct.pack("<H", 4)  # the payload ends at 19


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
        ("Bytes(0)", "a payload of 0 bytes cannot carry"),
        ("Bytes(63)", "a payload of 63 bytes cannot carry"),
        ("LaserScan(3x4)", "does not say its size"),
        ("OccupancyGrid(10)", "does not say its size"),
        ("PointCloud2(3)", "a payload of 48 bytes cannot carry"),
        ("LaserScan(0)", "a payload of 0 bytes cannot carry"),
        ("OccupancyGrid(100000x100000)", "larger than any middleware carries"),
        ("LaserScan()", "unknown message type"),
        ("TFMessage(1)", "a payload of 56 bytes cannot carry"),
        ("TFMessage(10001)", "too many transforms"),
        ("Twist", "`Twist` is too small to carry the message's identity"),
    ],
)
def test_messages_that_cannot_be_sent_are_refused(name, words):
    with pytest.raises(Fault, match=words):
        message_type(name)
