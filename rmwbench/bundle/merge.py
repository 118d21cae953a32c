"""Merges many small files into few: a campaign of 5 000 trials has 45 000 files, and opening one
costs as much as reading 10 000 of its rows.

Merged files are copies. The trials' own files stay unchanged, so that nothing can be lost here; a
bundle without merged files, or whose merged files were deleted, reads the same but slower. Large
files are not merged, since they are read fast enough by themselves.
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
"""Opening the files of fewer trials costs less than a second."""
MOST_BYTES, MOST_ROWS = 262_144, 262_144
"""A trial's file beyond either limit is not merged."""
MERGED_ROWS = 262_144
"""A row group of a merged file holds whole trials with about this many rows together, which all
have to be in memory to read one of the trials."""

Ranges = list[tuple[int, int]]
"""Trial numbers as ranges, both ends included."""


def trial_path(directory: Path, table: str, trial: int) -> Path:
    """Return the path of a trial's own file of a table; number 0 is for a table of the whole
    campaign."""
    return directory / "tables" / table / f"{trial:06d}.parquet"


def merged_path(directory: Path, table: str, merge: int) -> Path:
    return directory / "tables" / table / f"merged-{merge:06d}.parquet"


def is_merged(path: Path) -> bool:
    return path.name.startswith("merged-")


def covered(bundle: "Bundle", table: str) -> list[tuple[Path, set[int]]]:
    """Return the merged files of a table that exist, each with the trials whose rows it holds."""
    files = []
    for line in bundle.journal.merged:
        path = merged_path(bundle.directory, table, line.merge)
        if table in line.tables and (line.only or path.exists()):
            files.append(
                (path, {n for low, high in line.tables[table] for n in range(low, high + 1)})
            )
    return files


def only_file(bundle: "Bundle", table: str, trial: int) -> Path | None:
    """Return the merged file that alone holds this trial's rows, as in an imported bundle, else
    None."""
    for line in bundle.journal.merged:
        if line.only and line.holds(table, trial):
            return merged_path(bundle.directory, table, line.merge)
    return None


def candidates(bundle: "Bundle") -> dict[str, list[int]]:
    """Return table -> the trials, ascending, whose files are small and not merged yet, for tables
    with enough of them."""
    trials_of_table = {}
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
            trials_of_table[table] = trials
    return trials_of_table


def groups(parts: Iterable[tuple[int, pa.Table]]) -> Iterator[tuple[list[int], pa.Table]]:
    """Yield (trials, their rows together) in lots of about MERGED_ROWS, from (trial, its rows)."""
    trials: list[int] = []
    tables: list[pa.Table] = []
    rows = 0
    for trial, table in parts:
        if trials and rows + table.num_rows > MERGED_ROWS:
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
    """Write a row group per lot, and return the trials that the file holds."""
    written_trials: list[int] = []
    with pq.ParquetWriter(path, schema, **options) as writer:
        for trials, table in lots:
            if table.num_rows:
                writer.write_table(table, row_group_size=table.num_rows)
            written_trials += trials
    return ranges(written_trials)


def ranges(numbers: Iterable[int]) -> Ranges:
    number_ranges: Ranges = []
    for number in numbers:
        if number_ranges and number_ranges[-1][1] == number - 1:
            number_ranges[-1] = (number_ranges[-1][0], number)
        else:
            number_ranges.append((number, number))
    return number_ranges
