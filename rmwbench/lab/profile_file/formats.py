"""The reader of each middleware's file."""

import tomllib
from collections.abc import Callable
from functools import cache

from rmwbench.lab.profile_file import cyclonedds_xml, fastdds_xml, zenoh_json5
from rmwbench.lab.profile_file.file_needs import NOTHING, FileNeeds


def iceoryx2_needs(text: str) -> FileNeeds:
    """The needs of iceoryx2's TOML: where it keeps its files."""
    try:
        root = tomllib.loads(text).get("global", {}).get("root-path")
    except (tomllib.TOMLDecodeError, AttributeError):
        return NOTHING
    return FileNeeds(folders=(root,)) if isinstance(root, str) else NOTHING


READERS: dict[str, tuple[str, Callable[[str], FileNeeds]]] = {
    "cyclonedds": ("xml", cyclonedds_xml.needs),
    "fastdds": ("xml", fastdds_xml.needs),
    "fastrtps": ("xml", fastdds_xml.needs),
    "zenoh": ("json5", zenoh_json5.needs),
    "hiroz": ("json5", zenoh_json5.needs),
    "iceoryx2": ("toml", iceoryx2_needs),
}
"""Family → the format of its files, and their reader. A middleware's name has its family's in it:
`rclcpp/cyclonedds`, `fastdds-2.9`."""


def family(middleware: str) -> str | None:
    return next((name for name in READERS if name in middleware), None)


@cache
def file_needs(middleware: str, form: str | None, text: str) -> FileNeeds:
    """The needs of a file; nothing where nobody here reads its format. Raises Unreadable."""
    reader = READERS.get(family(middleware) or "")
    return reader[1](text) if reader is not None and reader[0] == form else NOTHING
