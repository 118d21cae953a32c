"""Writes a file completely or leaves it unchanged: an output that a user names, and files that must
survive a power cut.

A regular file is written beside its place and renamed, so that a killed process or a full disk
leaves no half of it. Another kind of file (a pipe, /dev/stdout, /dev/null) is opened and written,
since a rename would replace it. A symbolic link stays: the file that it names is written.
"""

import errno
import os
import secrets
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rmwbench.errors import UserError

OTHER_FORMATS = {
    ".pdf": "PDF",
    ".png": "PNG",
    ".svg": "SVG",
    ".jpg": "JPEG",
    ".docx": "Word",
    ".tex": "LaTeX",
    ".json": "JSON",
    ".csv": "CSV",
    ".parquet": "Parquet",
}
"""Endings of formats that no page has."""


def write_whole(path: Path | str, content: str | bytes) -> None:
    """Write `content` to PATH as UTF-8, completely or not at all, without flushing it (see
    `durable_files`). Raises UserError if it cannot be written; then no part of it is left."""
    path = Path(path)
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    check_writable(path)
    try:
        if is_written_through(path):
            with open(path, "wb", buffering=0) as file:
                _write_all(file.fileno(), data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def durable_file(path: Path) -> Iterator[Path]:
    """Yield a name to write one file to, which is durable as in `durable_files`."""
    with durable_files() as durable:
        yield durable(path)


@contextmanager
def durable_files() -> Iterator[Callable[[Path], Path]]:
    """Write files that must survive a power cut. Yield a function that gives a name to write to for
    each path; at the end the files are on disk under their paths.

    Raises UserError if one cannot be written: then no part of a file is left, and each path has its
    old file or its new one. An OSError about another file is raised unchanged. All files are
    flushed at the same time: a disk that takes 3 ms for one flush takes hardly more for ten at
    once.
    """
    partials: dict[Path, Path] = {}

    def partial_of(path: Path) -> Path:
        if path.is_symlink():
            path = Path(os.path.realpath(path))
        return partials.setdefault(path, path.with_name(path.name + ".partial"))

    try:
        yield partial_of
        flush(partials.values())
        for path, partial in partials.items():
            os.rename(partial, path)
        flush(dict.fromkeys(path.parent for path in partials))
    except BaseException as error:
        for partial in partials.values():
            partial.unlink(missing_ok=True)
        failed_path = _failed_path(partials, error)
        if failed_path is None:
            raise
        raise UserError(
            "this file cannot be written",
            where=str(failed_path),
            actual=getattr(error, "strerror", None) or str(error),
            fix="make room there" if is_full(error) else "give access there",
        ) from error


def _failed_path(partials: dict[Path, Path], error: BaseException) -> Path | None:
    """Return the path that an OSError is about, or the newest if it names none, since files are
    written in turn; None for another error or file. `partials`: path → the name to write to."""
    if not isinstance(error, OSError):
        return None
    for path, partial in reversed(partials.items()):
        names = (str(partial), str(path), str(path.parent))
        if error.filename is None or str(error.filename) in names:
            return path
    return None


def flush(paths: Iterable[Path]) -> None:
    """Flush these files and directories: on return they are on disk."""
    paths = list(paths)
    if len(paths) <= 1:
        for path in paths:
            _flush(path)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(16, len(paths))) as pool:
        list(pool.map(_flush, paths))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(descriptor)


def make_directory(path: Path) -> None:
    """Make a directory for output, with those above it. Raises UserError if that is not
    possible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error, "directory") from error


def check_writable(path: Path | str) -> None:
    """Raises UserError if an output cannot be written, as far as that is known before any work is
    done for it."""
    path = Path(path)
    try:
        status = path.stat()
    except FileNotFoundError:
        _check_directory(path)
        return
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise UserError(
            "the output is a file, and this is a directory",
            where=str(path),
            fix=f"name a file in {path}/",
        )
    if stat.S_ISSOCK(status.st_mode):
        raise UserError(
            "the output is a file, and this is a socket", where=str(path), fix="name another file"
        )
    if not os.access(path, os.W_OK):
        raise UserError(
            "this file may not be written",
            where=str(path),
            fix="name another file, or change its mode",
        )
    if not is_written_through(path):
        _check_directory(Path(os.path.realpath(path)))


def check_page(path: Path | str, page_format: str = "HTML") -> None:
    """Raises UserError if a page in this format cannot be written to the path, or if its ending is
    that of another format."""
    other_format = OTHER_FORMATS.get(Path(path).suffix.lower())
    if other_format:
        raise UserError(
            f"no {other_format} is made here",
            where=str(path),
            expected=f"a file of {page_format}",
            fix=f"name it {Path(path).with_suffix('.md' if page_format == 'Markdown' else '.html')}",
        )
    check_writable(path)


def is_written_through(path: Path) -> bool:
    """Whether a rename would destroy the file at this path, since it is no regular file, or is a
    descriptor such as /dev/stdout."""
    try:
        return not stat.S_ISREG(path.stat().st_mode) or _is_descriptor(path)
    except OSError:
        return False


def _check_directory(path: Path) -> None:
    """Raises UserError unless a file can be created in the directory of `path`; `path` links to no
    existing file."""
    directory = Path(os.path.realpath(path)).parent
    if not directory.is_dir():
        raise UserError(
            "the directory of this output does not exist",
            where=str(path),
            fix=f"mkdir -p {shlex.quote(str(directory))}",
        )
    if not os.access(directory, os.W_OK | os.X_OK):
        raise UserError(
            "nothing may be written in this directory",
            where=str(directory),
            fix="name a file in another directory",
        )


def _is_descriptor(path: Path) -> bool:
    """Whether symbolic links lead to an open file of a process, as /dev/stdout does."""
    for _ in range(40):  # as many as the kernel follows
        directory = os.path.realpath(path.parent)
        if directory.startswith("/proc/"):
            return True
        if not path.is_symlink():
            return False
        path = Path(directory, os.readlink(path))
    return False


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f".rmwbench-{os.getpid()}-{secrets.token_hex(4)}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            _write_all(descriptor, data)
            with suppress(FileNotFoundError):
                _copy_owner_and_mode(descriptor, path.stat())
        finally:
            os.close(descriptor)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _copy_owner_and_mode(descriptor: int, old: os.stat_result) -> None:
    """Give a new file the owner and the mode of the file that it replaces, as far as this user
    may."""
    with suppress(PermissionError):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    with suppress(PermissionError):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _unwritable(path: Path, error: Exception, kind: str = "file") -> UserError:
    return UserError(
        "the output cannot be written",
        where=str(path),
        actual=getattr(error, "strerror", None) or str(error),
        fix=("make room there, or " if is_full(error) else "") + f"name another {kind}",
    )


def is_full(error: BaseException) -> bool:
    """Whether there was no room to write."""
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
