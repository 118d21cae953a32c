"""Reads all versions of rosbag2's metadata.yaml: the files of a bag in their order, and the type,
the publishers' offers and the number of messages of each topic."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmwbench.errors import UserError
from rmwbench.input_file import read_text
from rmwbench.robot.twin.qos_offer import load_yaml, offers
from rmwbench.robot.twin.stream import BagTopic

NAME = "metadata.yaml"
ROOT = "rosbag2_bagfile_information"
MOST_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class BagMetadata:
    """`files` are the paths in the metadata. `counts`: topic -> its number of messages."""

    files: tuple[str, ...]
    topics: tuple[BagTopic, ...]
    counts: Mapping[str, int]
    duration_ns: int
    began_ns: int


def read_metadata(path: Path) -> BagMetadata:
    """The metadata of a file. Raises UserError for any other file."""
    try:
        document = load_yaml(read_text(path, MOST_BYTES))
        return _metadata(document[ROOT])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            "this is not the metadata of a bag",
            where=str(path),
            expected=f"`{ROOT}` with its topics, as rosbag2 writes it",
            actual=f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error),
            fix="`ros2 bag reindex DIR` writes it anew",
        ) from None


def _metadata(info: Mapping[str, Any]) -> BagMetadata:
    counted = [
        (entry["topic_metadata"], int(entry["message_count"]))
        for entry in info["topics_with_message_count"]
    ]
    return BagMetadata(
        files=tuple(map(str, info.get("relative_file_paths") or ())),
        topics=tuple(
            BagTopic(
                name=str(topic["name"]),
                type=str(topic["type"]),
                offers=offers(topic.get("offered_qos_profiles")),
            )
            for topic, _ in counted
        ),
        counts={str(topic["name"]): count for topic, count in counted},
        duration_ns=int(info["duration"]["nanoseconds"]),
        began_ns=int(info["starting_time"]["nanoseconds_since_epoch"]),
    )
