"""A bag as a user names it: a directory, one of its files, or its metadata alone.

It is read in one pass with bounded memory. Bags of ROS 1 are not read, since `rosbags-convert`
converts them to ROS 2 and ROS 1 is no longer maintained.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rmwbench.errors import UserError
from rmwbench.robot.twin import compression, metadata
from rmwbench.robot.twin.mcap_file import mcap_messages
from rmwbench.robot.twin.metadata import BagMetadata
from rmwbench.robot.twin.sqlite_file import sqlite_messages
from rmwbench.robot.twin.stream import Message

MCAP, DB3 = ".mcap", ".db3"
EXPECTED = "a directory of rosbag2, a .mcap or .db3 file, or a metadata.yaml"

Progress = Callable[[float], None]
"""A function that gets the share of a bag's bytes that were read, between 0 and 1."""


@dataclass(frozen=True, kw_only=True)
class Bag:
    """`files` are in the order of their recording; a bag with `metadata` alone has none, and then
    only rates are known."""

    files: tuple[Path, ...]
    metadata: BagMetadata | None

    def messages(self, progress: Progress) -> Iterator[Message]:
        """The messages of all files. Raises UserError for a damaged file."""
        sizes = [path.stat().st_size for path in self.files]
        done_bytes, total = 0, max(1, sum(sizes))
        for path, size in zip(self.files, sizes, strict=True):
            yield from _file_messages(path, _part(progress, done_bytes / total, size / total))
            done_bytes += size
        progress(1.0)


def find_bag(path: Path) -> Bag:
    """The bag of a path. Raises UserError for any other file or directory."""
    if path.is_dir():
        return _of_directory(path)
    if not path.exists():
        raise UserError("there is no such bag", where=str(path), expected=EXPECTED)
    if path.suffix == ".yaml":
        return Bag(files=(), metadata=metadata.read_metadata(path))
    if path.suffix == ".bag":
        raise UserError(
            "this is a bag of ROS 1",
            where=str(path),
            expected=EXPECTED,
            fix="`rosbags-convert --src FILE --dst DIR` (pip install rosbags) makes one of ROS 2",
        )
    if not is_storage(path):
        raise UserError("this is not a bag", where=str(path), expected=EXPECTED)
    return Bag(files=(path,), metadata=None)


def is_storage(path: Path) -> bool:
    """Whether a file has the suffix of a bag's storage, compressed or not."""
    return _plain_path(path).suffix in (MCAP, DB3)


def _plain_path(path: Path) -> Path:
    return path.with_suffix("") if path.suffix in compression.OPENERS else path


def _of_directory(path: Path) -> Bag:
    metadata_file = path / metadata.NAME
    bag_metadata = metadata.read_metadata(metadata_file) if metadata_file.exists() else None
    named_files = [path / Path(name).name for name in bag_metadata.files] if bag_metadata else []
    existing_files = [file for file in named_files if file.exists()]
    if 0 < len(existing_files) < len(named_files):
        missing = next(file for file in named_files if not file.exists())
        raise UserError(
            "a file of this bag is missing",
            where=str(metadata_file),
            expected=", ".join(file.name for file in named_files),
            actual=f"without {missing.name}",
            fix="copy it to this directory, or name one of the other files alone",
        )
    files = existing_files or sorted(filter(is_storage, path.iterdir()), key=_number)
    if not files and bag_metadata is None:
        raise UserError("there is no bag in this directory", where=str(path), expected=EXPECTED)
    return Bag(files=tuple(files), metadata=bag_metadata)


def _number(path: Path) -> tuple[int, str]:
    """The sort key of a file: `bag_10.mcap` follows `bag_9.mcap`."""
    match = re.search(r"_(\d+)$", _plain_path(path).stem)
    return (int(match[1]) if match else 0), path.name


def _part(progress: Progress, begin: float, length: float) -> Progress:
    return lambda share: progress(begin + share * length)


def _file_messages(path: Path, progress: Progress) -> Iterator[Message]:
    opener = compression.OPENERS.get(path.suffix)
    if opener is None and path.suffix not in (MCAP, DB3):
        raise UserError(
            "the compression of this file is not known",
            where=str(path),
            expected=", ".join((MCAP, DB3, *compression.OPENERS)),
            actual=path.suffix,
        )
    if MCAP in path.suffixes:
        size = max(1, path.stat().st_size)
        with path.open("rb") as raw:
            file = raw if opener is None else opener(raw)
            yield from mcap_messages(file, path, lambda: progress(raw.tell() / size))
    elif opener is None:
        yield from sqlite_messages(path, progress)
    else:
        with _temporary_copy(path, opener) as plain:
            yield from sqlite_messages(plain, progress, path)


@contextmanager
def _temporary_copy(path: Path, opener: Callable[[BinaryIO], BinaryIO]) -> Iterator[Path]:
    """The path of a decompressed copy of a db3 file, since SQLite reads no stream; a temporary
    file."""
    with tempfile.NamedTemporaryFile(prefix="rmwbench-bag-", suffix=DB3) as plain:
        try:
            with path.open("rb") as raw:
                shutil.copyfileobj(opener(raw), plain, 1 << 20)
            plain.flush()
        except compression.BROKEN as error:
            raise UserError(
                "this compressed file is damaged, or ends before its end",
                where=str(path),
                actual=str(error),
            ) from None
        yield Path(plain.name)
