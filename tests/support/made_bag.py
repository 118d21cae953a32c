"""A bag as rosbag2 leaves it, made of messages that the test states."""

import struct
from pathlib import Path

from mcap.writer import CompressionType, Writer

NONCE = 0xFEDCBA9876543210
PROBE, WARMUP, STEADY = 0, 1, 2


def message(
    writer: int, seq: int, *, nonce: int = NONCE, phase: int = STEADY, size: int = 500
) -> bytes:
    """A serialised picture: some CDR, the harness's header, the rest of the payload; packed by hand
    from docs/formats/records.md."""
    words = struct.pack(
        "<4sIQQqQIIII", b"RMWB", writer, nonce, seq, 1000 + seq, 0, 0, size, phase, 0
    )
    powers = (pow(0x9E3779B97F4A7C15, power, 2**64) for power in range(1, 8))
    check = (
        sum(word * power for word, power in zip(struct.unpack("<7Q", words), powers, strict=True))
        % 2**64
    )
    return b"\0\1\0\0" + bytes(40) + words + struct.pack("<Q", check) + bytes(size - 64)


def bag(directory: Path, name: str, messages: dict[str, list[bytes]], chunked: bool = True) -> Path:
    """Writes one file of a bag: topic → its messages."""
    directory.mkdir(exist_ok=True)
    path = directory / name
    with path.open("wb") as file:
        writer = Writer(
            file, chunk_size=2000, use_chunking=chunked, compression=CompressionType.NONE
        )
        writer.start(profile="ros2", library="made")
        schema = writer.register_schema(name="sensor_msgs/msg/Image", encoding="ros2msg", data=b"")
        for topic, parts in messages.items():
            channel = writer.register_channel(topic=topic, message_encoding="cdr", schema_id=schema)
            for at, data in enumerate(parts):
                writer.add_message(channel, log_time=at, data=data, publish_time=at, sequence=at)
        writer.finish()
    return path


METADATA = """\
rosbag2_bagfile_information:
  version: 9
  storage_identifier: mcap
  relative_file_paths: [bag_0.mcap]
  message_count: {handed}
  topics_with_message_count:
    - topic_metadata: {{name: /image_1, type: sensor_msgs/msg/Image, serialization_format: cdr}}
      message_count: {handed}
  files:
    - {{path: bag_0.mcap, message_count: {reached}}}
"""


def metadata(directory: Path, handed: int, reached: int) -> None:
    (directory / "metadata.yaml").write_text(METADATA.format(handed=handed, reached=reached))
