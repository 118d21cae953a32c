"""Writes a bundle that is valid at every instant: a file is complete on disk before the journal
names it.

A directory has one writer: a second campaign in it is refused, and a lock keeps two processes from
resuming the same campaign at once.
"""

import fcntl
import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rmwbench.bundle import journal, merge
from rmwbench.bundle.bundle_reader import Bundle, refuse_bytes
from rmwbench.bundle.campaign_json import json_bytes
from rmwbench.bundle.journal import Line, NoteWritten, TablesMerged, TablesWritten, TrialEnded
from rmwbench.bundle.schema import (
    ROWS_PER_GROUP,
    SCHEMA,
    TABLES,
    VERSION,
    WHOLE_CAMPAIGN,
    table_from_columns,
)
from rmwbench.command_name import command_line
from rmwbench.errors import UserError
from rmwbench.whole_file import durable_file, durable_files, flush

LOCK = ".lock"


def _refuse_used(directory: Path) -> None:
    """Raises UserError unless the directory is new or empty."""
    refuse_bytes(directory)
    if not directory.exists():
        return
    if not directory.is_dir():
        raise UserError(
            "not a directory", where=str(directory), fix="choose another place for the campaign"
        )
    names = sorted(p.name for p in directory.iterdir() if p.name != LOCK)
    if "campaign.json" in names:
        raise UserError(
            "this directory holds a campaign already",
            where=str(directory),
            expected="a new or empty directory",
            fix=f"finish it with `{command_line('resume', directory)}`, or choose another directory",
        )
    if names:
        raise UserError(
            "the directory is not empty",
            where=str(directory),
            expected="a new or empty directory",
            actual=", ".join(names[:3]) + (" …" if len(names) > 3 else ""),
            fix="choose another directory",
        )


class BundleWriter:
    """A campaign directory under construction. Use `create` or `reopen`; `close` releases it."""

    def __init__(self, directory: Path, lock: Any):
        self.directory = directory
        self._lock = lock

    @classmethod
    def create(cls, directory: Path | str, campaign: Mapping[str, Any]) -> "BundleWriter":
        """Make the directory with its campaign.json (schema and version are added) and an empty
        journal. Raises UserError if the directory is not empty: it may be another campaign."""
        directory = Path(directory)
        new_directories = [path for path in (directory, *directory.parents) if not path.exists()]
        writer = cls(directory, _lock_unused(directory, new_directories))
        try:
            (directory / "tables").mkdir()
            (directory / "files").mkdir()
            with durable_file(directory / "campaign.json") as partial:
                partial.write_bytes(campaign_bytes(campaign))
            (directory / journal.NAME).touch()
            flush([directory])
        except (OSError, UserError) as error:
            _remove_beginnings(directory, new_directories)
            writer.close()
            raise _cannot_make(directory, error) from None
        return writer

    @classmethod
    def reopen(cls, directory: Path | str) -> "BundleWriter":
        """Open an unfinished campaign to continue it, and remove leftovers that no journal line
        names. Read it again afterwards: another writer may have ended just now."""
        writer = cls.locked(directory)
        try:
            writer.remove_leftovers()
        except BaseException:
            writer.close()
            raise
        return writer

    @classmethod
    def locked(cls, directory: Path | str) -> "BundleWriter":
        """Open and lock an unfinished campaign without removing leftovers: the caller may still
        decide not to continue."""
        path = Bundle(directory).directory  # raises UserError before a lock file is made there
        return cls(path, _take_lock(path))

    def remove_leftovers(self) -> None:
        for path in Bundle(self.directory).unnamed():
            path.unlink()

    def write_tables(
        self, trial: int | None, tables: Mapping[str, pa.Table | Mapping[str, Any]]
    ) -> None:
        """Write one file per table, durable on return; they count when a journal line names them.

        `trial` is None for the tables of the whole campaign (`cells`, `machine`). A value is a
        pyarrow table of the schema, or a mapping of columns for `table_from_columns`.
        """
        with durable_files() as durable:
            for name, table in tables.items():
                if name not in TABLES:
                    raise ValueError(f"no table {name}")
                if (trial is None) != (name in WHOLE_CAMPAIGN):
                    raise ValueError(
                        f"table {name} is {'' if name in WHOLE_CAMPAIGN else 'not '}of the whole "
                        "campaign"
                    )
                if not isinstance(table, pa.Table):
                    table = table_from_columns(name, table)
                if table.schema != TABLES[name]:
                    table = table.select(TABLES[name].names).cast(TABLES[name])
                path = merge.trial_path(self.directory, name, trial or 0)
                path.parent.mkdir(exist_ok=True)
                pq.write_table(
                    table, durable(path), row_group_size=ROWS_PER_GROUP, **encoding(table.schema)
                )

    def merge(self) -> list[str]:
        """Copy the small files of many trials into one file per table for readers, and return the
        names of the tables. It takes about 1 ms per file, at the end of a campaign or when it is
        interrupted."""
        bundle = Bundle(self.directory)
        number = 1 + max((line.merge for line in bundle.journal.merged), default=-1)
        ranges_of_table = {}
        for name, trials in merge.candidates(bundle).items():
            path = merge.merged_path(self.directory, name, number)
            with durable_file(path) as partial:
                lots = merge.groups((n, bundle.table(name, n)) for n in trials)
                ranges = merge.write(partial, TABLES[name], lots, **encoding(TABLES[name]))
                ranges_of_table[name] = tuple(ranges)
        if ranges_of_table:
            self.append(TablesMerged(merge=number, tables=ranges_of_table))
        return list(ranges_of_table)

    def finish_trial(
        self, ended: TrialEnded, tables: Mapping[str, pa.Table | Mapping[str, Any]]
    ) -> None:
        """Write a trial's tables and then its journal line."""
        if ended.status != "done" and not ended.reason:
            raise ValueError(f"a {ended.status} trial needs its reason")
        self.write_tables(ended.trial, tables)
        self.append(ended.model_copy(update={"tables": tuple(tables)}))

    def write_whole_campaign(self, tables: Mapping[str, pa.Table | Mapping[str, Any]]) -> None:
        """Write `cells` or `machine` and the journal line that names them."""
        self.write_tables(None, tables)
        self.append(TablesWritten(tables=tuple(tables)))

    def append(self, line: Line) -> None:
        """Append a journal line, durable on return."""
        journal.append(self.directory, line)

    def note(self, text: str) -> None:
        self.append(NoteWritten(text=text))

    def add_file(self, content: bytes) -> str:
        """Store a configuration or log by its content, and return its SHA-256 in hexadecimal."""
        digest = hashlib.sha256(content).hexdigest()
        path = self.directory / "files" / digest
        if not path.exists():
            with durable_file(path) as partial:
                partial.write_bytes(content)
        return digest

    def close(self) -> None:
        self._lock.close()

    def __enter__(self) -> "BundleWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Times and sequence numbers grow by small steps: as deltas they take a third of the space and read
# as fast.
_DELTA_COLUMNS = {
    "seq",
    "intended_ns",
    "begun_ns",
    "call_ns",
    "return_ns",
    "notified_ns",
    "taken_ns",
    "callback_ns",
    "consumed_ns",
    "time_ns",
}


def campaign_bytes(campaign: Mapping[str, Any]) -> bytes:
    """Return the content of campaign.json; schema and version are added."""
    return json_bytes({"schema": SCHEMA, "version": VERSION, **campaign}, indent=1)


def encoding(schema: pa.Schema) -> dict[str, Any]:
    """Return pyarrow's options for writing a table."""
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [n for n in schema.names if n not in _DELTA_COLUMNS and n != "cause_seq"],
        "column_encoding": {n: "DELTA_BINARY_PACKED" for n in schema.names if n in _DELTA_COLUMNS}
        or None,
        "write_page_checksum": True,  # a flipped bit on a disk must not become a latency
    }


def _take_lock(directory: Path) -> Any:
    try:
        file = open(directory / LOCK, "a")  # noqa: SIM115 (held until close)
    except OSError as error:
        raise UserError(
            "this campaign cannot be written",
            where=str(directory / LOCK),
            actual=error.strerror,
            fix="make room or give access there; reading it (`rmwbench show`) needs neither",
        ) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise UserError(
            "another rmwbench is writing this campaign",
            where=str(directory),
            fix="wait for it, or stop it first",
        ) from None
    except OSError as error:
        file.close()
        raise UserError(
            "this file system cannot lock files",
            where=str(directory),
            actual=error.strerror,
            fix="have the campaign on a local disk; reading it (`rmwbench show`) needs no lock",
        ) from None
    return file


def _lock_unused(directory: Path, new_directories: Iterable[Path]) -> Any:
    """Make the directory, with the new ones above it, and take its lock. Raises UserError if that
    fails or the directory is not empty; the files of another creator stay."""
    _refuse_used(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / LOCK).touch()
        lock = _take_lock(directory)
    except (OSError, UserError) as error:
        remove_empty(new_directories)
        raise _cannot_make(directory, error) from None
    try:
        _refuse_used(directory)  # another creator may have had the lock until now
    except UserError:
        lock.close()
        raise
    return lock


def _cannot_make(directory: Path, error: OSError | UserError) -> UserError:
    if isinstance(error, UserError):
        return error
    return UserError(
        f"cannot make the campaign directory: {error.strerror}",
        where=str(directory),
        fix="make room there, or choose another place with --out DIR",
    )


def _remove_beginnings(directory: Path, new_directories: Iterable[Path]) -> None:
    """Remove the files of a campaign that could not be made, and the new directories. The caller
    holds the lock."""
    with suppress(OSError):
        for name in ("tables", "files"):
            (directory / name).rmdir()
    for name in ("campaign.json", journal.NAME, LOCK):
        (directory / name).unlink(missing_ok=True)
    remove_empty(new_directories)


def remove_empty(directories: Iterable[Path]) -> None:
    """Remove directories, the innermost first, until one is not empty."""
    with suppress(OSError):  # somebody else put a file there
        for path in directories:
            path.rmdir()
