"""Opens a bundle for reading: only files that the journal names are read, and a broken one is one
clear error."""

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
"""The value of null in `columns` of signed 64-bit integers: no clock and no counter reaches it."""

UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError)
"""The errors of pyarrow for a broken file."""


class TrialLine(TrialEnded):
    """The last line of a finished trial in the journal, void if its block is void.
    `judged_before`: the number of blocks after which the campaign had been judged before the trial
    ran, 0 if it had not."""

    judged_before: int = 0


class Bundle:
    """A campaign directory. Raises UserError if it is none, is of another version, or names missing
    files."""

    def __init__(self, directory: Path | str):
        self.directory = Path(directory)
        refuse_bytes(self.directory)
        self.campaign = _read_campaign_json(self.directory)
        self.journal = journal.load(self.directory)
        self._files: dict[Path, pq.ParquetFile] = {}

    def trials(self, status: str | None = None) -> list[TrialLine]:
        """Return the finished trials by number, all or those of one status. Trials of a block in
        which the machine spoilt a trial, or the campaign was stopped, are void."""
        voided_by = {
            number: line
            for line in self.journal.lines
            if isinstance(line, TrialEnded | CampaignResumed)
            for number in line.voids
        }
        judged_before = _judged_before(self.journal.lines)
        lines = [
            _trial_line(line, voided_by.get(number), judged_before[number])
            for number, line in sorted(self.journal.trials.items())
        ]
        return [line for line in lines if status is None or line.status == status]

    @property
    def ended_at(self) -> tuple[int, ...]:
        """The numbers of blocks after which a look ended the campaign, which may have been resumed,
        since its time was over."""
        return tuple(
            line.blocks for line in self.journal.lines if isinstance(line, LookTaken) and line.ended
        )

    @property
    def host(self) -> str | None:
        """The kind of host of the trials, in words; None if rmwbench did not run them, or an older
        version did."""
        kind = self.campaign.plan.host.kind
        return {"own": "namespaces of their own", "shared": "the shared host"}.get(kind or "")

    @property
    def unsupported(self) -> dict[int, str]:
        """Cell -> why its middleware does not support it; such cells were not run."""
        planned = {line.cell: line.reason for line in self.campaign.plan.unsupported}
        return planned | {
            line.cell: line.reason
            for line in self.journal.lines
            if isinstance(line, CellUnsupported)
        }

    @property
    def dropped(self) -> dict[int, int]:
        """Cell -> the number of blocks after which it did not run any more, since it was not needed
        or the time was over."""
        lines = (line for line in self.journal.lines if isinstance(line, CellsDropped))
        return {cell: line.blocks for line in lines for cell in line.cells}

    @property
    def planned_comparisons(self) -> tuple[PlannedComparison, ...]:
        return self.campaign.plan.comparisons

    @property
    def last_look(self) -> LookTaken | None:
        """The last look at the campaign, None if there was none."""
        looks = (line for line in reversed(self.journal.lines) if isinstance(line, LookTaken))
        return next(looks, None)

    def reload(self) -> None:
        """Read the journal again: a campaign that is being written has more trials by now."""
        self.journal = journal.load(self.directory)
        self._files.clear()

    def evidence(
        self, lines: Iterable[TrialLine], small: evidence.SmallTables | None = None
    ) -> Iterator[evidence.TrialEvidence]:
        """Yield the evidence from which these trials are measured, one after the other."""
        return evidence.evidence(self, lines, small)

    def paths(self, name: str) -> list[Path]:
        """Return the fewest files of the journal that hold a table: merged ones, then the trials'
        own in order."""
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

    def table(
        self, name: str, trial: int | None = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return a table of one trial or of all, empty (with its schema) if the journal names no
        file of it."""
        schema = self._schema(name)
        names = schema.names if columns is None else columns
        if trial is not None and (path := merge.only_file(self, name, trial)):
            return self._rows_of(path, trial, names)
        parts = [self._read(path, names) for path in self._selected(name, trial)]
        return pa.concat_tables(parts) if parts else schema.empty_table().select(names)

    def rows(self, name: str, trial: int | None = None) -> list[dict[str, Any]]:
        """Return the rows of a small table as dictionaries."""
        table = self.table(name, trial)
        names = table.column_names
        return [
            dict(zip(names, row, strict=True))
            for row in zip(*map(_values, table.columns), strict=True)
        ]

    def count(self, name: str, trial: int) -> int:
        if path := merge.only_file(self, name, trial):
            return int(self._rows_of(path, trial, ["trial"]).num_rows)
        return sum(self._open(path).metadata.num_rows for path in self._selected(name, trial))

    def columns(
        self, name: str, trial: int, columns: Sequence[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Return columns of numbers of one trial as numpy arrays of shape (rows,). They are filled
        row group by row group, so that memory holds one copy.

        Null becomes `ABSENT` in integer columns (unsigned ones with nulls are widened to i64) and
        NaN in floating ones. A column that is constant by the file's statistics is a read-only view
        of one value, which takes no memory.
        """
        fields = [
            f
            for f in TABLES[name]
            if f.type != pa.string() and (columns is None or f.name in columns)
        ]
        names = [f.name for f in fields]
        if path := merge.only_file(self, name, trial):
            return _arrays(fields, self._rows_of(path, trial, names))
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
        arrays = {f.name: np.empty(rows, f.type.to_pandas_dtype()) for f in fields}
        position = 0
        try:
            for group in range(file.num_row_groups):
                part = file.read_row_group(group, columns=[f.name for f in fields])
                for f in fields:
                    arrays[f.name] = _fill(arrays[f.name], position, part.column(f.name))
                position += part.num_rows
        except UNREADABLE as error:
            raise _corrupt(paths[0], error) from None
        return arrays | repeated

    def lots(self, name: str) -> "list[Lots]":
        """Return the merged files of a table, for reading trial after trial."""
        return [Lots(self._open(path), path, trials) for path, trials in merge.covered(self, name)]

    def file(self, sha256: str) -> bytes:
        """Return the content of a stored file, which is checked against its name."""
        path = self.directory / "files" / sha256
        try:
            content = read_input(path)
        except OSError:
            raise _broken("a stored file is missing", path) from None
        actual = hashlib.sha256(content).hexdigest()
        if actual != sha256:
            raise _broken("a stored file was changed", path, expected=sha256, actual=actual)
        return content

    def open(self, name: str) -> None:
        """Check the footer of every file of a table. Raises UserError for the first that is missing
        or broken."""
        for path in self.paths(name):
            self._open(path)

    def column_names(self, name: str) -> set[str]:
        """Return the columns that any file of a table has. All files have the same, unless columns
        were added later."""
        paths = self.paths(name)
        return {
            c
            for path in (paths if name in ADDED else paths[:1])
            for c in self._open(path).schema_arrow.names
        }

    def check(self) -> None:
        """Check the footer of every file that the journal names. Raises UserError for the first
        that is broken."""
        for path in self._journal_files():
            self._open(path)

    def unnamed(self) -> list[Path]:
        """Return files of a step that a power cut interrupted: no line of the journal names them.
        They are recognised by name and place; files that anybody else put into the directory are
        not among them."""
        journal_files = set(self._journal_files())
        tables = (path for name in TABLES for path in _files_in(self.directory, "tables", name))
        stored = _files_in(self.directory, "files")
        files = [p for p in tables if _STEP_FILE.fullmatch(p.name) and p not in journal_files]
        files += [p for p in stored if _STORED_PARTIAL.fullmatch(p.name)]
        files += [p for p in _files_in(self.directory) if p.name == "campaign.json.partial"]
        return sorted(files)

    def _journal_files(self) -> Iterator[Path]:
        """Yield the files of all tables that the journal names, the trials' own ones also if they
        are merged."""
        for name in TABLES:
            yield from self.paths(name)
            for trial, line in sorted(self.journal.trials.items()):
                has_own = name in line.tables and name not in WHOLE_CAMPAIGN
                if has_own and not merge.only_file(self, name, trial):
                    yield merge.trial_path(self.directory, name, trial)

    def _schema(self, name: str) -> pa.Schema:
        """Return the schema of a table. Raises UserError if no table has this name."""
        if name not in TABLES:
            suggestion = nearest(name, TABLES)
            raise UserError(
                f"no table {name!r}",
                where=str(self.directory),
                fix=f"did you mean {suggestion}?" if suggestion else ", ".join(TABLES),
            )
        return TABLES[name]

    def _rows_of(self, path: Path, trial: int, names: Sequence[str]) -> pa.Table:
        """Return the rows of one trial in a file of many trials."""
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
                if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe would never end
                    raise OSError("it is not a regular file")
                file = pq.ParquetFile(path, page_checksum_verification=True)
            except FileNotFoundError:
                raise _broken("the journal names a table that is not there", path) from None
            except UNREADABLE as error:
                raise _corrupt(path, error) from None
            _check_schema(path, file.schema_arrow)
            if len(self._files) > 64:
                self._files.clear()
            self._files[path] = file
        return self._files[path]

    def _read(self, path: Path, names: Sequence[str]) -> pa.Table:
        fields = [TABLES[path.parent.name].field(name) for name in names]
        try:
            file = self._open(path)
            stored_names = file.schema_arrow.names  # each call makes a new list
            table = file.read(columns=[f.name for f in fields if f.name in stored_names])
            table = _with_added(table, fields)
            _refuse_infinite(table)
            _refuse_other_json(table)
            return table
        except UNREADABLE as error:
            raise _corrupt(path, error) from None


def _check_schema(path: Path, actual: pa.Schema) -> None:
    """Raises UserError if a file lacks columns of its table, or has one of another type."""
    expected, later_columns = TABLES[path.parent.name], ADDED.get(path.parent.name, ())
    missing = [
        f.name for f in expected if f.name not in actual.names and f.name not in later_columns
    ]
    if missing:
        names = ", ".join(actual.names)
        raise _broken("a table lacks columns", path, expected=", ".join(missing), actual=names)
    for f in expected:
        if f.name in actual.names and actual.field(f.name).type != f.type:
            raise _broken(
                f"column {f.name} of a table is of another type",
                path,
                expected=str(f.type),
                actual=str(actual.field(f.name).type),
            )


LARGEST_VALUE = 1e30
"""The largest number in a table: integers have 64 bits, and sums and squares of larger numbers may
not fit into a float."""


def _refuse_infinite(table: pa.Table) -> None:
    """Raises pa.ArrowInvalid for a value that is NaN or larger than any measured one: absent values
    are null."""
    for field in table.schema:
        if not pa.types.is_floating(field.type):
            continue
        if pc.all(pc.less_equal(pc.abs(table.column(field.name)), LARGEST_VALUE)).as_py() is False:
            raise pa.ArrowInvalid(
                f"column {field.name} has a value that is not a number up to {LARGEST_VALUE:g}"
            )


_JSON = dict.fromkeys(("definition", "factors", "asked", "granted"), ("{", "object"))
_JSON |= dict.fromkeys(("peers", "segments"), ("[", "list"))
"""Column of any table -> the first character of its texts, and the name of that kind of JSON."""


def _refuse_other_json(table: pa.Table) -> None:
    """Raises pa.ArrowInvalid for a text that is another kind of JSON than its column has; null and
    an empty text are allowed."""
    for name in _JSON.keys() & set(table.column_names):
        begin, kind = _JSON[name]
        column = table.column(name)
        if pc.all(pc.or_(pc.starts_with(column, begin), pc.equal(column, ""))).as_py() is False:
            raise pa.ArrowInvalid(f"column {name} has a value that is not a JSON {kind}")


def _judged_before(lines: Iterable[Line]) -> dict[int, int]:
    """Return trial -> the number of blocks after which its campaign had been judged before it ran:
    by looks, or at its end if it has none."""
    judged_before: dict[int, int] = {}
    has_looks, blocks, judged_blocks = False, 0, 0
    for line in lines:
        match line:
            case TrialEnded():
                judged_before[line.trial] = judged_blocks
                blocks = max(blocks, line.block + 1)
            case LookTaken():
                judged_blocks = max(judged_blocks, line.blocks)
                has_looks = judged_blocks > 0
            case CampaignFinished() if not has_looks:
                judged_blocks = blocks
    return judged_before


def _trial_line(
    line: TrialEnded, voided_by: TrialEnded | CampaignResumed | None, judged_before: int
) -> TrialLine:
    """Return the line of a trial, void if the line of another trial of its block or of a resume
    voids it."""
    fields = dict(line) | {"judged_before": judged_before}
    if voided_by is not None:
        why = (
            "is void, since the campaign was stopped within it"
            if isinstance(voided_by, CampaignResumed)
            else f"is void with trial {voided_by.trial} ({voided_by.reason})"
        )
        if line.status != "done":
            why += f"; by itself it had been {line.status}: {line.reason}"
        fields |= {
            "status": "void",
            "reason": f"its block {why}",
            "cause": "machine",
            "failed_by": None,
            "reasons": (TrialReason(code=Code.BLOCK.value),),
        }
    return TrialLine.model_construct(**fields)


class Lots:
    """A merged file, read by row group: if trials are read in order, each group is decoded once."""

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
        """Return the columns of one of `trials` as `Bundle.columns` does."""
        group = bisect_left(self._last, trial)
        if group == len(self._last):
            return {f.name: np.empty(0, f.type.to_pandas_dtype()) for f in self._fields}
        if group != self._group:
            self._read(group)
        rows = self._rows.get(trial, slice(0, 0))
        return {name: values[rows] for name, values in self._columns.items()}

    def _read(self, group: int) -> None:
        names = [f.name for f in self._fields if f.name in self._file.schema_arrow.names]
        try:
            part = self._file.read_row_group(group, columns=names)
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
    """Return the regular files of a directory of the campaign, none if it is reached by a symbolic
    link."""
    for name in below:
        directory = directory / name
        if directory.is_symlink():
            return []
    if not directory.is_dir():
        return []
    return [path for path in directory.iterdir() if path.is_file() and not path.is_symlink()]


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Return a column as Python values. Texts of small tables repeat, so each is decoded once."""
    values: list[Any] = []
    if not pa.types.is_string(column.type):
        values = column.to_pylist() if column.null_count else column.to_numpy().tolist()
        return values
    for chunk in column.chunks:
        encoded = chunk.dictionary_encode()
        texts = [*encoded.dictionary.to_pylist(), None]
        values += [texts[i] for i in encoded.indices.fill_null(len(texts) - 1).to_numpy()]
    return values


def _constant(file: pq.ParquetFile, field: pa.Field) -> Any:
    """Return the column's only value by its row groups' statistics as a numpy scalar, None if it
    has several values, nulls or no statistics."""
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
    """Return the table with these columns, null if the bundle is older than a column."""
    for field in fields:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select([field.name for field in fields])


def _arrays(fields: Sequence[pa.Field], table: pa.Table) -> dict[str, np.ndarray]:
    return {
        f.name: _fill(np.empty(table.num_rows, f.type.to_pandas_dtype()), 0, table.column(f.name))
        for f in fields
    }


def _fill(array: np.ndarray, row: int, column: pa.ChunkedArray) -> np.ndarray:
    """Copy a column into an array from this row on; return the array, widened if nulls require
    it."""
    for chunk in column.chunks:
        if chunk.null_count and pa.types.is_floating(chunk.type):
            chunk = chunk.fill_null(np.nan)
        elif chunk.null_count:
            if pa.types.is_unsigned_integer(chunk.type):
                chunk, array = chunk.cast(pa.int64()), array.astype(np.int64, copy=False)
            chunk = chunk.fill_null(ABSENT)
        array[row : row + len(chunk)] = chunk.to_numpy()
        row += len(chunk)
    return array


def refuse_bytes(directory: Path) -> None:
    """Raises UserError for a path with bytes that are not UTF-8: Parquet and SQL cannot read a file
    below it."""
    try:
        str(directory.absolute()).encode()
    except UnicodeEncodeError:
        raise UserError(
            "the path of this campaign has bytes that are not UTF-8",
            where=ascii(str(directory)),
            fix="rename the directory",
        ) from None


def _read_campaign_json(directory: Path) -> CampaignDocument:
    """Raises UserError unless the directory has a valid campaign.json of this version."""
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
        raise _broken("campaign.json cannot be read", path, actual=reason) from None
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
        raise _broken(
            "campaign.json is not as its format says",
            path,
            expected="docs/formats/bundle.md",
            actual=str(error),
        ) from None


def _broken(
    what: str, path: Path, *, expected: str | None = None, actual: str | None = None
) -> UserError:
    fix = "restore the campaign from a copy"
    return UserError(what, where=str(path), expected=expected, actual=actual, fix=fix)


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
