"""The reader of each middleware's file."""

import tomllib
from collections.abc import Callable
from functools import cache

from rmwbench.lab.profile_file import cyclonedds_xml, fastdds_xml, zenoh_json5
from rmwbench.lab.profile_file.file_needs import NO_NEEDS, FileNeeds


def iceoryx2_needs(text: str) -> FileNeeds:
    """The needs of a TOML file of iceoryx2: the directory of its files."""
    try:
        root = tomllib.loads(text).get("global", {}).get("root-path")
    except (tomllib.TOMLDecodeError, AttributeError):
        return NO_NEEDS
    return FileNeeds(folders=(root,)) if isinstance(root, str) else NO_NEEDS


READERS: dict[str, tuple[str, Callable[[str], FileNeeds]]] = {
    "cyclonedds": ("xml", cyclonedds_xml.needs),
    "fastdds": ("xml", fastdds_xml.needs),
    "fastrtps": ("xml", fastdds_xml.needs),
    "zenoh": ("json5", zenoh_json5.needs),
    "hiroz": ("json5", zenoh_json5.needs),
    "iceoryx2": ("toml", iceoryx2_needs),
}
"""Family → the format of its files, and their reader. The name of a middleware contains that of its
family: `rclcpp/cyclonedds`, `fastdds-2.9`."""


def family(middleware: str) -> str | None:
    return next((name for name in READERS if name in middleware), None)


@cache
def file_needs(middleware: str, file_format: str | None, text: str) -> FileNeeds:
    """The needs of a file; none where its format has no reader here. Raises Unreadable."""
    reader = READERS.get(family(middleware) or "")
    return reader[1](text) if reader is not None and reader[0] == file_format else NO_NEEDS
