"""Many small files into few: a campaign of 5 000 trials has 45 000 files, and opening one costs as
much as reading 10 000 of its rows.

Merged files are copies. The trials' own files stay what they are, so that nothing can be lost here,
a bundle without merged files reads the same but slower, and one whose merged files were deleted
does too. Files that are large enough to be read well by themselves are not merged.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rmwbench.bundle.schema import TABLES, WHOLE_CAMPAIGN

if TYPE_CHECKING:
    from rmwbench.bundle.bundle_reader import Bundle

FEWEST_TRIALS = 64
"""Below that, opening them all costs less than a second."""
MOST_BYTES, MOST_ROWS = 262_144, 262_144
"""A trial's file beyond either is not merged."""
ROWS_PER_GROUP = 262_144
"""A row group holds whole trials, about this many rows: what reading one trial out of it costs in
memory."""

Ranges = list[tuple[int, int]]
"""Trial numbers as ranges, both ends included."""


def trial_path(directory: Path, table: str, trial: int) -> Path:
    """A trial's own file of a table; number 0 is that of a table of the whole campaign."""
    return directory / "tables" / table / f"{trial:06d}.parquet"


def merged_path(directory: Path, table: str, merge: int) -> Path:
    return directory / "tables" / table / f"merged-{merge:06d}.parquet"


def is_merged(path: Path) -> bool:
    return path.name.startswith("merged-")


def covered(bundle: "Bundle", table: str) -> list[tuple[Path, set[int]]]:
    """The merged files of a table that exist, each with the trials whose rows it holds."""
    files = []
    for line in bundle.journal.merged:
        path = merged_path(bundle.directory, table, line.merge)
        if table in line.tables and (line.only or path.exists()):
            files.append(
                (path, {n for low, high in line.tables[table] for n in range(low, high + 1)})
            )
    return files


def packed(bundle: "Bundle", table: str, trial: int) -> Path | None:
    """The file that holds this trial's rows and of which no copy exists (`only`): an imported
    bundle has no others."""
    for line in bundle.journal.merged:
        if line.only and line.holds(table, trial):
            return merged_path(bundle.directory, table, line.merge)
    return None


def candidates(bundle: "Bundle") -> dict[str, list[int]]:
    """Table -> the trials, ascending, whose files are small and not merged yet; only tables with
    enough of them."""
    out = {}
    lines = bundle.trials()
    for table in TABLES:
        if table in WHOLE_CAMPAIGN:
            continue
        merged_before = {trial for _, trials in covered(bundle, table) for trial in trials}
        trials = [
            line.trial
            for line in lines
            if table in line.tables
            and line.trial not in merged_before
            and trial_path(bundle.directory, table, line.trial).stat().st_size <= MOST_BYTES
            and bundle.count(table, line.trial) <= MOST_ROWS
        ]
        if len(trials) >= FEWEST_TRIALS:
            out[table] = trials
    return out


def groups(parts: Iterable[tuple[int, pa.Table]]) -> Iterator[tuple[list[int], pa.Table]]:
    """(trials, their rows together) in lots of about ROWS_PER_GROUP, from (trial, its rows)."""
    trials: list[int] = []
    tables: list[pa.Table] = []
    rows = 0
    for trial, table in parts:
        if trials and rows + table.num_rows > ROWS_PER_GROUP:
            yield trials, pa.concat_tables(tables)
            trials, tables, rows = [], [], 0
        trials.append(trial)
        tables.append(table)
        rows += table.num_rows
    if trials:
        yield trials, pa.concat_tables(tables)


def write(
    path: Path, schema: pa.Schema, lots: Iterable[tuple[list[int], pa.Table]], **options: Any
) -> Ranges:
    """Writes a row group per lot; returns which trials the file holds."""
    written_trials: list[int] = []
    with pq.ParquetWriter(path, schema, **options) as writer:
        for trials, table in lots:
            if table.num_rows:
                writer.write_table(table, row_group_size=table.num_rows)
            written_trials += trials
    return ranges(written_trials)


def ranges(numbers: Iterable[int]) -> Ranges:
    """Ascending numbers as ranges."""
    out: Ranges = []
    for n in numbers:
        if out and out[-1][1] == n - 1:
            out[-1] = (out[-1][0], n)
        else:
            out.append((n, n))
    return out
