"""The copy of a bundle on a shared filesystem: `s3://…`, `gs://…`, `hdfs://…`, `file://…`, by
pyarrow's filesystems.

The bundle itself is on the driver's disk, where a file can be flushed and renamed. After each block
the copy gets the new tables and files, which never change, and then the journal that names them, so
that the copy is a valid campaign at every instant, too.
"""

from pathlib import Path

from rmwbench.bundle import journal
from rmwbench.cluster.connect import error_line
from rmwbench.errors import UserError

CHANGING = ("campaign.json", journal.NAME)
"""The files that change: they are written again at each update, after all others, in this order."""
SKIPPED = (".lock",)


class Copy:
    """The copy of a bundle; call `update` after each block. Raises UserError if the filesystem
    cannot be reached or written."""

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
        """Copy the new files, and return their number."""
        from pyarrow import ArrowException

        names = []
        try:
            for path in sorted(self._directory.rglob("*")):
                name = path.relative_to(self._directory).as_posix()
                if not path.is_file() or name in CHANGING + SKIPPED or path.suffix == ".partial":
                    continue
                is_new = self._copied_bytes.get(name) != path.stat().st_size
                if is_new or name.endswith("/000000.parquet"):
                    names.append(name)
            for name in (*names, *CHANGING):
                self._write(name, (self._directory / name).read_bytes())
        except (OSError, ArrowException) as error:
            raise self._error("the copy of the campaign cannot be written", error) from None
        return len(names) + len(CHANGING)

    def _list(self) -> dict[str, int]:
        """Return the size of each file of the copy, by its name in the bundle."""
        from pyarrow import fs

        selector = fs.FileSelector(self._base, recursive=True, allow_not_found=True)
        files = [info for info in self._fs.get_file_info(selector) if info.type == fs.FileType.File]
        return {info.path[len(self._base) :].lstrip("/"): info.size for info in files}

    def _write(self, name: str, content: bytes) -> None:
        """Write one file. An object store shows only complete files; a local file gets its name
        when it is complete."""
        path = f"{self._base}/{name}"
        if self._local:
            self._fs.create_dir(path.rpartition("/")[0], recursive=True)
        target = f"{path}.partial" if self._local else path
        with self._fs.open_output_stream(target) as stream:
            stream.write(content)
        if self._local:
            self._fs.move(target, path)
        self._copied_bytes[name] = len(content)

    def _error(self, what: str, error: Exception) -> UserError:
        return UserError(
            what,
            where=self.address,
            actual=error_line(error),
            fix=f"the campaign itself is in {self._directory} and loses nothing by it",
        )
