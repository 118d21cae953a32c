"""Sizes against the published table: a type that is one byte off is another experiment."""

import struct

import pytest

from rmwbench.suite.fault import Fault
from rmwbench.suite.workload.message_type import message_type
from rmwbench.suite.workload.sensor_types import CdrLayout

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


@pytest.mark.parametrize("name", ["Bytes(0)", "Bytes(63)"])
def test_a_payload_below_the_header_is_refused(name):
    with pytest.raises(Fault, match="identity"):
        message_type(name)
