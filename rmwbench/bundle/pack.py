"""Writes a whole bundle at once, for an import of 900 trials.

A campaign writes one file per table and trial, so that nothing is lost when the power goes; an
import that is cut short is made again. So each table is one file with a row group per lot of
trials, nothing is visible under the final name until all of it is on disk, and an error leaves
nothing behind.
"""

import fcntl
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rmwbench.bundle import journal, merge
from rmwbench.bundle.journal import (
    CampaignFinished,
    Line,
    TablesMerged,
    TablesWritten,
    TrialEnded,
)
from rmwbench.bundle.schema import TABLES, WHOLE_CAMPAIGN, table_from_rows
from rmwbench.bundle.write import campaign_bytes, encoding, remove_empty
from rmwbench.errors import UserError
from rmwbench.whole_file import flush


class PackedWriter:
    """A bundle under construction in `DIRECTORY.partial`. Use it as a context manager: `finish`
    renames it; any other end of the block removes it, with the new directories above it.

    Trials are numbered in the order of the calls of `trial`; rows come in the same order, whole
    trials at a time. A partial directory is locked while its writer lives, so that the leftovers of
    a killed writer are recognised and removed.
    """

    def __init__(self, directory: Path | str):
        # Absolute: `.` and `..` have no name of their own.
        self.directory = Path(os.path.abspath(directory))
        _refuse_occupied(self.directory)
        self._lock: int | None = None
        self._partial = self.directory.with_name(self.directory.name + ".partial")
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._pending: dict[str, list[pa.Table]] = {}
        self._merged_trials: dict[str, list[int]] = {}
        self._lines: list[TrialEnded] = []
        self._finished = False
        self._new_directories = [p for p in self._partial.parents if not p.exists()]

    def __enter__(self) -> "PackedWriter":
        try:
            self._remove_left_over()
            self._partial.mkdir(parents=True)
            self._lock = os.open(self._partial, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (self._partial / "tables").mkdir()
            (self._partial / "files").mkdir()
        except FileExistsError:
            raise UserError(
                "an import into this directory is under way",
                where=str(self._partial),
                fix="wait for it, or choose another directory with --out",
            ) from None
        except OSError as error:
            raise UserError(
                f"cannot make the directory: {error.strerror}", where=str(self._partial)
            ) from None
        except BaseException:  # a signal, which may come between any two of these lines
            self._unlock()
            with suppress(OSError):  # another import may be at work there
                self._remove_left_over()
                remove_empty(self._new_directories)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if not self._finished:
            for writer in self._writers.values():
                # The disk may be full; its file is removed next.
                with suppress(OSError, pa.ArrowException):
                    writer.close()
            shutil.rmtree(self._partial, ignore_errors=True)
            remove_empty(self._new_directories)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _remove_left_over(self) -> None:
        """Remove the leftovers of a killed import. Raises FileExistsError if its writer still
        lives."""
        try:
            lock_fd = os.open(self._partial, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if any(self._partial.iterdir()) and not (self._partial / "tables").is_dir():
                raise UserError(
                    "this directory is in the way, and no import left it",
                    where=str(self._partial),
                    fix="move it away, or choose another directory with --out",
                )
            shutil.rmtree(self._partial)
        except BlockingIOError:
            raise FileExistsError(self._partial) from None
        finally:
            os.close(lock_fd)

    @property
    def trials(self) -> int:
        """The number of trials so far, which is the number of the next trial."""
        return len(self._lines)

    def trial(
        self, *, cell: int, block: int, tables: Sequence[str], failed: str | None = None
    ) -> int:
        """Add the next trial, with the tables that have rows of it, and return its number.
        `failed`: why it has no result."""
        number = self.trials
        self._lines.append(
            TrialEnded(
                trial=number,
                cell=cell,
                block=block,
                status="failed" if failed else "done",
                reason=failed,
                tables=tuple(tables),
            )
        )
        return number

    def rows(self, name: str, table: pa.Table, trials: Iterable[int]) -> None:
        """Add all rows of these trials, in ascending order, to one table."""
        pending = self._pending.setdefault(name, [])
        pending.append(table)
        self._merged_trials.setdefault(name, []).extend(trials)
        if sum(part.num_rows for part in pending) >= merge.MERGED_ROWS:
            self._write(name)

    def finish(
        self, campaign: Mapping[str, Any], campaign_tables: Mapping[str, list[dict[str, Any]]]
    ) -> None:
        """Write the tables of the whole campaign, flush everything and give the directory its
        name."""
        for name, rows in campaign_tables.items():
            assert name in WHOLE_CAMPAIGN, name
            path = merge.trial_path(self._partial, name, 0)
            self._writer(name, path).write_table(table_from_rows(name, rows))
        for name in list(self._pending):
            self._write(name)
        for writer in self._writers.values():
            writer.close()
        lines: list[Line] = [TablesWritten(tables=tuple(campaign_tables)), *self._lines]
        if self._merged_trials:
            ranges_of_table = {
                name: tuple(merge.ranges(trials)) for name, trials in self._merged_trials.items()
            }
            lines.append(TablesMerged(merge=0, only=True, tables=ranges_of_table))
        lines.append(CampaignFinished())
        (self._partial / journal.NAME).write_bytes(b"".join(map(journal.line_bytes, lines)))
        (self._partial / "campaign.json").write_bytes(campaign_bytes(campaign))
        flush(self._partial.rglob("*"))
        _refuse_occupied(self.directory)
        if self.directory.exists():
            self.directory.rmdir()
        os.rename(self._partial, self.directory)
        flush([self.directory.parent])
        self._finished = True

    def _write(self, name: str) -> None:
        parts = self._pending.pop(name)
        table = pa.concat_tables(parts)
        if table.num_rows:
            path = merge.merged_path(self._partial, name, 0)
            self._writer(name, path).write_table(table, row_group_size=table.num_rows)

    def _writer(self, name: str, path: Path) -> pq.ParquetWriter:
        if name not in self._writers:
            path.parent.mkdir()
            self._writers[name] = pq.ParquetWriter(path, TABLES[name], **encoding(TABLES[name]))
        return self._writers[name]


def _refuse_occupied(directory: Path) -> None:
    """Raises UserError unless the directory is new or empty, and not the working directory."""
    if directory == Path.cwd():
        raise UserError(
            "a bundle cannot take the place of the directory you are in",
            where=str(directory),
            expected="a new or empty directory",
            fix="choose another one with --out",
        )
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UserError(
            "this place is taken",
            where=str(directory),
            expected="a new or empty directory",
            fix="choose another one with --out",
        )
