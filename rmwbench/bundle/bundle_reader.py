"""Opens a bundle for reading: only what the journal names exists, and what is broken says so once,
clearly."""

import hashlib
import re
import stat
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rmwbench.bundle import evidence, journal, merge
from rmwbench.bundle.campaign_json import CampaignDocument, PlannedComparison, read_campaign
from rmwbench.bundle.journal import (
    CampaignFinished,
    CampaignResumed,
    CellsDropped,
    CellUnsupported,
    Line,
    LookTaken,
    TrialEnded,
    TrialReason,
)
from rmwbench.bundle.schema import ADDED, SCHEMA, TABLES, VERSION, WHOLE_CAMPAIGN
from rmwbench.codes import Code
from rmwbench.errors import UserError, nearest
from rmwbench.input_file import parse_json, read_input

ABSENT = np.iinfo(np.int64).min
"""What `columns` gives for null in a signed 64-bit column: no clock and no counter reaches it."""

UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError)
"""What pyarrow raises for a file that is not what it says."""


class TrialLine(TrialEnded):
    """A finished trial as it counts: its last line in the journal, void where its block is.
    `judged_before`: after how many blocks the campaign had been judged before it ran, 0 where it
    had not."""

    judged_before: int = 0


class Bundle:
    """A campaign directory. Raises UserError when it is not one, is from another version, or names
    missing files."""

    def __init__(self, directory: Path | str):
        self.directory = Path(directory)
        refuse_bytes(self.directory)
        self.campaign = _campaign(self.directory)
        self.journal = journal.load(self.directory)
        self._files: dict[Path, pq.ParquetFile] = {}

    def trials(self, status: str | None = None) -> list[TrialLine]:
        """The finished trials by number, all or those of one status. A trial that was spoilt by the
        machine takes its block along, and so does the end of a campaign that was resumed: those
        that their lines name are void as well."""
        spoilt = {
            number: line
            for line in self.journal.lines
            if isinstance(line, TrialEnded | CampaignResumed)
            for number in line.voids
        }
        judged = _judged_before(self.journal.lines)
        lines = [
            _trial_line(line, spoilt.get(n), judged[n])
            for n, line in sorted(self.journal.trials.items())
        ]
        return [t for t in lines if status is None or t.status == status]

    @property
    def ended_at(self) -> tuple[int, ...]:
        """The numbers of blocks after which looks found that time was over, each the end of a
        campaign that may have been resumed."""
        return tuple(
            line.blocks for line in self.journal.lines if isinstance(line, LookTaken) and line.ended
        )

    @property
    def host(self) -> str | None:
        """The kind of host that its trials ran on, in words; None where they were not run by
        rmwbench, or before this was kept."""
        kind = self.campaign.plan.host.kind
        return {"own": "namespaces of their own", "shared": "the shared host"}.get(kind or "")

    @property
    def unsupported(self) -> dict[int, str]:
        """Cells that were not run because their middleware cannot do what they ask for, with the
        reason."""
        planned = {line.cell: line.reason for line in self.campaign.plan.unsupported}
        return planned | {
            line.cell: line.reason
            for line in self.journal.lines
            if isinstance(line, CellUnsupported)
        }

    @property
    def dropped(self) -> dict[int, int]:
        """Cell -> the number of blocks after which it was not run any more, because nobody needed
        it or for time."""
        lines = (line for line in self.journal.lines if isinstance(line, CellsDropped))
        return {cell: line.blocks for line in lines for cell in line.cells}

    @property
    def planned_comparisons(self) -> tuple[PlannedComparison, ...]:
        return self.campaign.plan.comparisons

    @property
    def last_look(self) -> LookTaken | None:
        """The last look that was taken at the campaign."""
        looks = (line for line in reversed(self.journal.lines) if isinstance(line, LookTaken))
        return next(looks, None)

    def reload(self) -> None:
        """Reads the journal again: a campaign that is being written has more trials by now."""
        self.journal = journal.load(self.directory)
        self._files.clear()

    def evidence(
        self, lines: Iterable[TrialLine], small: evidence.SmallTables | None = None
    ) -> Iterator[evidence.TrialEvidence]:
        """The evidence from which analysis measures these trials, one after the other."""
        return evidence.evidence(self, lines, small)

    def paths(self, name: str) -> list[Path]:
        """The fewest of the files that the journal names that hold a table: merged ones, then
        trials' own in order."""
        self._schema(name)
        if name in WHOLE_CAMPAIGN:
            whole = name in self.journal.whole_campaign
            return [merge.trial_path(self.directory, name, 0)] if whole else []
        merged = merge.covered(self, name)
        merged_trials = {trial for _, trials in merged for trial in trials}
        return [path for path, _ in merged] + [
            merge.trial_path(self.directory, name, n)
            for n, line in sorted(self.journal.trials.items())
            if name in line.tables and n not in merged_trials
        ]

    def tables(self) -> list[str]:
        """The names of the tables that have at least one file."""
        return [name for name in TABLES if self.paths(name)]

    def table(
        self, name: str, trial: int | None = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """A table as pyarrow, of one trial or of all; empty (with its schema) where the journal
        names no file."""
        schema = self._schema(name)
        names = schema.names if columns is None else columns
        if packed := self._packed(name, trial):
            return self._rows_of(packed, trial, names)
        parts = [self._read(path, names) for path in self._selected(name, trial)]
        return pa.concat_tables(parts) if parts else schema.empty_table().select(names)

    def rows(self, name: str, trial: int | None = None) -> list[dict[str, Any]]:
        """The rows of a table as dictionaries, for small tables."""
        table = self.table(name, trial)
        names = table.column_names
        return [
            dict(zip(names, row, strict=True))
            for row in zip(*map(_values, table.columns), strict=True)
        ]

    def count(self, name: str, trial: int) -> int:
        """Rows of a trial's table, 0 where it has none."""
        if packed := self._packed(name, trial):
            return int(self._rows_of(packed, trial, ["trial"]).num_rows)
        return sum(self._open(path).metadata.num_rows for path in self._selected(name, trial))

    def columns(
        self, name: str, trial: int, columns: Sequence[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Columns of one trial as numpy, shape (rows,), numbers only, filled row group by row group
        to keep memory at one copy.

        Null becomes `ABSENT` in integer columns (unsigned ones with nulls are widened to i64) and
        NaN in floating ones. A column that is constant by the file's statistics is one value
        repeated by stride 0, read-only: it costs nothing.
        """
        fields = [
            f
            for f in TABLES[name]
            if f.type != pa.string() and (columns is None or f.name in columns)
        ]
        names = [f.name for f in fields]
        if packed := self._packed(name, trial):
            return _arrays(fields, self._rows_of(packed, trial, names))
        paths = self._selected(name, trial)
        if not paths:
            return _arrays(fields, TABLES[name].empty_table())
        file = self._open(paths[0])
        if not set(names) <= set(file.schema_arrow.names):  # a bundle from before these were added
            return _arrays(fields, self._read(paths[0], names))
        rows = file.metadata.num_rows
        repeated = {
            f.name: np.broadcast_to(value, rows)
            for f in fields
            if (value := _constant(file, f)) is not None
        }
        fields = [f for f in fields if f.name not in repeated]
        if not fields:
            return repeated
        out = {f.name: np.empty(rows, f.type.to_pandas_dtype()) for f in fields}
        position = 0
        try:
            for group in range(file.num_row_groups):
                part = file.read_row_group(group, columns=[f.name for f in fields])
                for f in fields:
                    out[f.name] = _fill(out[f.name], position, part.column(f.name))
                position += part.num_rows
        except UNREADABLE as error:
            raise _corrupt(paths[0], error) from None
        return out | repeated

    def lots(self, name: str) -> "list[Lots]":
        """The merged files of a table, for reading trial after trial."""
        return [Lots(self._open(path), path, trials) for path, trials in merge.covered(self, name)]

    def file(self, sha256: str) -> bytes:
        """A stored file's content, checked against its name."""
        path = self.directory / "files" / sha256
        try:
            content = read_input(path)
        except OSError:
            raise UserError(
                "a stored file is missing", where=str(path), fix="restore the campaign from a copy"
            ) from None
        actual = hashlib.sha256(content).hexdigest()
        if actual != sha256:
            raise UserError(
                "a stored file was changed", where=str(path), expected=sha256, actual=actual
            )
        return content

    def open(self, name: str) -> None:
        """Checks that every file of a table is there and whole, by its footer. UserError for the
        first that is not."""
        for path in self.paths(name):
            self._open(path)

    def column_names(self, name: str) -> set[str]:
        """Columns that any file of a table has; one file speaks for all where none were added
        later."""
        paths = self.paths(name)
        return {
            c
            for path in (paths if name in ADDED else paths[:1])
            for c in self._open(path).schema_arrow.names
        }

    def check(self) -> None:
        """Opens every file that the journal names and reads its footer: UserError for the first
        that is broken."""
        for path in self._named():
            self._open(path)

    def unnamed(self) -> list[Path]:
        """Files that a step writes and that no line of the journal names: what a power cut left of
        it. By name and place they are ours; what anybody else put into the directory is not among
        them."""
        named = set(self._named())
        tables = [path for name in TABLES for path in _files_in(self.directory, "tables", name)]
        return sorted(
            [
                *(p for p in tables if _STEP_FILE.fullmatch(p.name) and p not in named),
                *(
                    p
                    for p in _files_in(self.directory, "files")
                    if _STORED_PARTIAL.fullmatch(p.name)
                ),
                *(p for p in _files_in(self.directory) if p.name == "campaign.json.partial"),
            ]
        )

    def _named(self) -> Iterator[Path]:
        """The files of all tables that the journal names: those of `paths`, and the trials' own
        that are merged."""
        for name in TABLES:
            yield from self.paths(name)
            for n, line in sorted(self.journal.trials.items()):
                own = name in line.tables and name not in WHOLE_CAMPAIGN
                if own and not self._packed(name, n):
                    yield merge.trial_path(self.directory, name, n)

    def _schema(self, name: str) -> pa.Schema:
        """The schema of a table; UserError where no table has that name."""
        if name not in TABLES:
            suggestion = nearest(name, TABLES)
            raise UserError(
                f"no table {name!r}",
                where=str(self.directory),
                fix=f"did you mean {suggestion}?" if suggestion else ", ".join(TABLES),
            )
        return TABLES[name]

    def _packed(self, name: str, trial: int | None) -> Path | None:
        return None if trial is None else merge.packed(self, name, trial)

    def _rows_of(self, path: Path, trial: int | None, names: Sequence[str]) -> pa.Table:
        """The rows of one trial in a file of many trials."""
        table = self._read(path, list(dict.fromkeys([*names, "trial"])))
        return table.filter(pc.equal(table.column("trial"), trial)).select(names)

    def _selected(self, name: str, trial: int | None) -> list[Path]:
        if trial is None or name in WHOLE_CAMPAIGN or name not in TABLES:
            return self.paths(name)
        line = self.journal.trials.get(trial)
        if line is None or name not in line.tables:
            return []
        return [merge.trial_path(self.directory, name, trial)]

    def _open(self, path: Path) -> pq.ParquetFile:
        if path not in self._files:
            try:
                _refuse_irregular(path)
                file = pq.ParquetFile(path, page_checksum_verification=True)
            except FileNotFoundError:
                raise UserError(
                    "the journal names a table that is not there",
                    where=str(path),
                    fix="restore the campaign from a copy",
                ) from None
            except UNREADABLE as error:
                raise _corrupt(path, error) from None
            expected, actual = TABLES[path.parent.name], file.schema_arrow
            later = ADDED.get(path.parent.name, ())
            missing = [
                f.name for f in expected if f.name not in actual.names and f.name not in later
            ]
            if missing:
                raise UserError(
                    "a table lacks columns",
                    where=str(path),
                    expected=", ".join(missing),
                    actual=", ".join(actual.names),
                )
            for f in expected:
                actual_type = actual.field(f.name).type if f.name in actual.names else f.type
                if actual_type != f.type:
                    raise UserError(
                        f"column {f.name} of a table is of another type",
                        where=str(path),
                        expected=str(f.type),
                        actual=str(actual_type),
                        fix="restore the campaign from a copy",
                    )
            if len(self._files) > 64:
                self._files.clear()
            self._files[path] = file
        return self._files[path]

    def _read(self, path: Path, names: Sequence[str]) -> pa.Table:
        fields = [TABLES[path.parent.name].field(name) for name in names]
        try:
            file = self._open(path)
            stored = file.schema_arrow.names  # made anew at each call
            table = file.read(columns=[f.name for f in fields if f.name in stored])
            table = _with_added(table, fields)
            _refuse_infinite(table)
            _refuse_other_json(table)
            return table
        except UNREADABLE as error:
            raise _corrupt(path, error) from None


MOST = 1e30
"""The largest number in a table: integers have 64 bits, and sums and squares of larger ones leave
the numbers that there are."""


def _refuse_infinite(table: pa.Table) -> None:
    """Raises pa.ArrowInvalid for a column with a value that is not a number, or larger than any
    that is measured: what is absent is null."""
    for field in table.schema:
        if not pa.types.is_floating(field.type):
            continue
        if pc.all(pc.less_equal(pc.abs(table.column(field.name)), MOST)).as_py() is False:
            raise pa.ArrowInvalid(
                f"column {field.name} has a value that is not a number up to {MOST:g}"
            )


_JSON = dict.fromkeys(("definition", "factors", "asked", "granted"), ("{", "object"))
_JSON |= dict.fromkeys(("peers", "segments"), ("[", "list"))
"""Column of any table -> how its texts begin, and the word for it."""


def _refuse_other_json(table: pa.Table) -> None:
    """Raises pa.ArrowInvalid where a text says another kind of JSON than its column has; absent and
    empty say none."""
    for name in _JSON.keys() & set(table.column_names):
        begin, kind = _JSON[name]
        column = table.column(name)
        if pc.all(pc.or_(pc.starts_with(column, begin), pc.equal(column, ""))).as_py() is False:
            raise pa.ArrowInvalid(f"column {name} has a value that is not a JSON {kind}")


def _judged_before(lines: Iterable[Line]) -> dict[int, int]:
    """Trial -> after how many blocks its campaign had been judged before it ran: by looks, or at
    its end where it has none."""
    judged_blocks: dict[int, int] = {}
    looked = blocks = judged = 0
    for line in lines:
        match line:
            case TrialEnded():
                judged_blocks[line.trial] = judged
                blocks = max(blocks, line.block + 1)
            case LookTaken():
                looked = judged = max(judged, line.blocks)
            case CampaignFinished() if not looked:
                judged = blocks
    return judged_blocks


def _trial_line(
    line: TrialEnded, by: TrialEnded | CampaignResumed | None, judged_before: int
) -> TrialLine:
    """The trial as it counts: void where `by`, the journal's line of another trial of its block or
    of a resume, voided it."""
    fields = dict(line) | {"judged_before": judged_before}
    if by is not None:
        had = f"; by itself it had been {line.status}: {line.reason}"
        why = (
            "is void, since the campaign was stopped within it"
            if isinstance(by, CampaignResumed)
            else f"is void with trial {by.trial} ({by.reason})"
        )
        fields |= {
            "status": "void",
            "reason": f"its block {why}{had if line.status != 'done' else ''}",
            "cause": "machine",
            "failed_by": None,
            "reasons": (TrialReason(code=Code.BLOCK.value),),
        }
    return TrialLine.model_construct(**fields)


class Lots:
    """A merged file, read by row group: trials asked for in order cost one decoding of each."""

    def __init__(self, file: pq.ParquetFile, path: Path, trials: set[int]):
        self.trials = trials
        self._file, self._path = file, path
        self._fields = [f for f in TABLES[path.parent.name] if f.type != pa.string()]
        column = file.schema_arrow.get_field_index("trial")
        groups = (
            file.metadata.row_group(g).column(column).statistics for g in range(file.num_row_groups)
        )
        self._last = [s.max for s in groups]
        self._group = -1
        self._columns: dict[str, np.ndarray] = {}
        self._rows: dict[int, slice] = {}

    def columns(self, trial: int) -> dict[str, np.ndarray]:
        """The columns of one of `trials`, as `Bundle.columns` gives them."""
        group = bisect_left(self._last, trial)
        if group == len(self._last):
            return {f.name: np.empty(0, f.type.to_pandas_dtype()) for f in self._fields}
        if group != self._group:
            self._read(group)
        rows = self._rows.get(trial, slice(0, 0))
        return {name: values[rows] for name, values in self._columns.items()}

    def _read(self, group: int) -> None:
        stored = [f.name for f in self._fields if f.name in self._file.schema_arrow.names]
        try:
            part = self._file.read_row_group(group, columns=stored)
        except UNREADABLE as error:
            raise _corrupt(self._path, error) from None
        self._columns = _arrays(self._fields, _with_added(part, self._fields))
        numbers, begins = np.unique(self._columns["trial"], return_index=True)
        ends = [*begins[1:].tolist(), part.num_rows]
        self._rows = {
            n: slice(b, e) for n, b, e in zip(numbers.tolist(), begins.tolist(), ends, strict=True)
        }
        self._group = group


_STEP_FILE = re.compile(r"(merged-)?\d{6,}\.parquet(\.partial)?", re.ASCII)
_STORED_PARTIAL = re.compile(r"[0-9a-f]{64}\.partial")


def _files_in(directory: Path, *below: str) -> list[Path]:
    """The regular files of a directory of the campaign, none where a symbolic link leads
    elsewhere."""
    for name in below:
        directory = directory / name
        if directory.is_symlink():
            return []
    if not directory.is_dir():
        return []
    return [path for path in directory.iterdir() if path.is_file() and not path.is_symlink()]


def _values(column: pa.ChunkedArray) -> list[Any]:
    """A column as Python values. Texts of small tables repeat: each is made once."""
    out: list[Any] = []
    if not pa.types.is_string(column.type):
        out = column.to_pylist() if column.null_count else column.to_numpy().tolist()
        return out
    for chunk in column.chunks:
        encoded = chunk.dictionary_encode()
        texts = [*encoded.dictionary.to_pylist(), None]
        out += [texts[i] for i in encoded.indices.fill_null(len(texts) - 1).to_numpy()]
    return out


def _constant(file: pq.ParquetFile, field: pa.Field) -> Any:
    """The column's only value by its row groups' statistics, as a numpy scalar, or None where it
    has several, nulls or no statistics.
    """
    if file.metadata.num_rows < 1000 or not pa.types.is_integer(field.type):
        return None
    index = file.schema_arrow.get_field_index(field.name)
    extremes = set()
    for group in range(file.num_row_groups):
        statistics = file.metadata.row_group(group).column(index).statistics
        if statistics is None or not statistics.has_min_max or statistics.null_count != 0:
            return None
        extremes |= {statistics.min, statistics.max}
        if len(extremes) > 1:
            return None
    return np.dtype(field.type.to_pandas_dtype()).type(extremes.pop())


def _with_added(table: pa.Table, fields: Sequence[pa.Field]) -> pa.Table:
    """The table with these columns, null where the bundle is older than a column."""
    for field in fields:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select([field.name for field in fields])


def _arrays(fields: Sequence[pa.Field], table: pa.Table) -> dict[str, np.ndarray]:
    return {
        f.name: _fill(np.empty(table.num_rows, f.type.to_pandas_dtype()), 0, table.column(f.name))
        for f in fields
    }


def _fill(out: np.ndarray, at: int, column: pa.ChunkedArray) -> np.ndarray:
    """Puts a column into `out` from row `at` on; gives `out`, widened where nulls ask for it."""
    for chunk in column.chunks:
        if chunk.null_count:
            chunk, out = _filled(chunk, out)
        out[at : at + len(chunk)] = chunk.to_numpy()
        at += len(chunk)
    return out


def _filled(chunk: pa.Array, out: np.ndarray) -> tuple[pa.Array, np.ndarray]:
    if pa.types.is_floating(chunk.type):
        return chunk.fill_null(np.nan), out
    if pa.types.is_unsigned_integer(chunk.type):
        chunk, out = chunk.cast(pa.int64()), out.astype(np.int64, copy=False)
    return chunk.fill_null(ABSENT), out


def refuse_bytes(directory: Path) -> None:
    """Raises UserError for a path with bytes that are not UTF-8: Parquet and SQL cannot reach a
    file below it."""
    try:
        str(directory.absolute()).encode()
    except UnicodeEncodeError:
        raise UserError(
            "the path of this campaign has bytes that are not UTF-8",
            where=ascii(str(directory)),
            fix="rename the directory",
        ) from None


def _campaign(directory: Path) -> CampaignDocument:
    path = directory / "campaign.json"
    try:
        document = parse_json(read_input(path))
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(
            "no campaign here" if directory.is_dir() else "no such directory",
            where=str(directory),
            expected="a directory with campaign.json",
            fix="give the directory that `rmwbench run` printed",
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(
            "campaign.json cannot be read",
            where=str(path),
            actual=reason,
            fix="restore the campaign from a copy",
        ) from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        actual = document.get("schema") if isinstance(document, dict) else type(document).__name__
        raise UserError(
            "not a campaign of rmwbench",
            where=str(path),
            expected=f"schema {SCHEMA}",
            actual=repr(actual),
        )
    if document.get("version") != VERSION:
        raise UserError(
            "this bundle is of another version",
            where=str(path),
            expected=f"version {VERSION}",
            actual=f"version {document.get('version')!r}",
            fix="use the rmwbench release that wrote it, or a newer one",
        )
    try:
        return read_campaign(document)
    except ValueError as error:
        raise UserError(
            "campaign.json does not have what its format says",
            where=str(path),
            expected="docs/formats/bundle.md",
            actual=str(error),
            fix="restore the campaign from a copy",
        ) from None


def _refuse_irregular(path: Path) -> None:
    """A pipe would be waited for without end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise OSError("it is not a regular file")


def _corrupt(path: Path, error: Exception) -> UserError:
    return UserError(
        "a table is truncated or corrupt",
        where=str(path),
        actual=str(error).splitlines()[0][:200],
        fix="delete this file: it is a copy of the trials' own, which are read then (of an import: "
        "import again)"
        if merge.is_merged(path)
        else "restore the campaign from a copy, or run it again",
    )
