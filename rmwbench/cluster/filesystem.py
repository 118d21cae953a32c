"""The copy of a bundle on a shared filesystem: `s3://…`, `gs://…`, `hdfs://…`, `file://…`, by
pyarrow's filesystems.

The bundle itself is on the driver's disk, where a file can be flushed and renamed. The copy gets
what is new after each block: tables and files, which never change once they are there, before the
journal that names them, so that the copy is a valid campaign at every instant, too.
"""

from pathlib import Path
from typing import Any

from rmwbench.bundle import journal
from rmwbench.errors import UserError

CHANGING = ("campaign.json", journal.NAME)
"""What is written again, last and in this order."""
SKIPPED = (".lock",)


class Copy:
    """`update` after each block. Raises UserError where the filesystem cannot be reached or
    written."""

    def __init__(self, directory: Path, address: str):
        from pyarrow import ArrowException, fs

        self.address = address
        self._directory = directory
        try:
            self._fs, self._base = fs.FileSystem.from_uri(address)
            self._local = isinstance(self._fs, fs.LocalFileSystem)
            self._copied_bytes = self._list()
        except (OSError, ValueError, ArrowException) as error:
            raise self._error("cannot use this filesystem", error) from None

    def is_empty(self) -> bool:
        return not self._copied_bytes

    def update(self) -> int:
        """Copies what is new; the number of files."""
        from pyarrow import ArrowException

        copied = 0
        try:
            for path in sorted(self._directory.rglob("*")):
                name = path.relative_to(self._directory).as_posix()
                if not path.is_file() or name in CHANGING + SKIPPED or path.suffix == ".partial":
                    continue
                if self._copied_bytes.get(name) != path.stat().st_size or name.endswith(
                    "/000000.parquet"
                ):
                    copied += self._write(name, path.read_bytes())
            for name in CHANGING:
                copied += self._write(name, (self._directory / name).read_bytes())
        except (OSError, ArrowException) as error:
            raise self._error("the copy of the campaign cannot be written", error) from None
        return copied

    def _list(self) -> dict[str, int]:
        """The size of each file of the copy, by its name in the bundle."""
        from pyarrow import fs

        selector = fs.FileSelector(self._base, recursive=True, allow_not_found=True)
        files = [info for info in self._fs.get_file_info(selector) if info.type == fs.FileType.File]
        return {info.path[len(self._base) :].lstrip("/"): info.size for info in files}

    def _write(self, name: str, content: bytes) -> int:
        """Writes one file and counts it. An object store shows a file when it is whole; a directory
        needs the rename."""
        path = f"{self._base}/{name}"
        if self._local:
            self._fs.create_dir(path.rpartition("/")[0], recursive=True)
        target = f"{path}.partial" if self._local else path
        with self._fs.open_output_stream(target) as stream:
            stream.write(content)
        if self._local:
            self._fs.move(target, path)
        self._copied_bytes[name] = len(content)
        return 1

    def _error(self, what: str, error: Any) -> UserError:
        return UserError(
            what,
            where=self.address,
            actual=str(error).splitlines()[0],
            fix=f"the campaign itself is in {self._directory} and loses nothing by it",
        )
