"""The journal: one JSON line per finished step, appended and flushed, so that a power loss costs at
most the last line.

The journal alone says which files belong to the bundle: a table that no line names is a leftover of
a trial that never finished. Each type of line that is read has a class (docs/formats/bundle.md). A
line of another type is an `UnknownLine`, so that an older tool reads a newer journal.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationError

from rmwbench.bundle.campaign_json import Many, Number, Real, Stored, first_problem, json_bytes
from rmwbench.codes import FailedBy
from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_input

MOST_IN_A_RANGE = 10_000_000


class Line(Stored):
    type: str
    ALWAYS: ClassVar[tuple[str, ...]] = ("type",)


class TrialReason(Stored):
    """Why a trial ended as it did (rmwbench/codes.py)."""

    code: str
    text: str = ""
    machine: bool = False


class UnknownLine(Line):
    pass


Status = Literal["done", "failed", "void", "settling"]
SETTLING: Status = "settling"
"""The status of a trial with a longer window than the suite's. It is in no block."""


class TrialEnded(Line):
    """The end of a trial.

    `cause` is `machine` if the machine alone made it void, `no match` if it failed before its
    window. `failed_by` is at fault for a failure. `reasons` have the codes, and the texts that
    `reason` joins. `repeats` is the number of the void trial that this one replaces. If the machine
    spoilt the trial, `again` says whether its block runs again, and `voids` are the block's trials
    that are void with it.
    """

    ALWAYS = ("type", "reason", "tables", "finished_utc")
    type: Literal["trial"] = "trial"
    trial: Number
    cell: Number
    block: Number
    status: Status
    reason: str | None = None
    tables: Many[str] = ()
    finished_utc: str | None = None
    cause: str | None = None
    failed_by: Annotated[FailedBy, Field(strict=False)] | None = None
    reasons: Many[TrialReason] = ()
    repeats: Number | None = None
    again: bool | None = None
    voids: Many[Number] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the trial's reasons, each once and in order; older bundles have none."""
        return tuple(dict.fromkeys(reason.code for reason in self.reasons))


class TablesWritten(Line):
    """The tables of the whole campaign that were written."""

    type: Literal["tables"] = "tables"
    tables: Many[str]


def _check_range(bounds: tuple[int, int]) -> tuple[int, int]:
    low, high = bounds
    if high < low or high - low > MOST_IN_A_RANGE:
        raise ValueError("not a valid range of trials")
    return bounds


Range = Annotated[tuple[Number, Number], Field(strict=False), AfterValidator(_check_range)]
"""Trial numbers, both ends included."""


class TablesMerged(Line):
    """A merged file per table, with the trials whose rows it holds. `only`: the file is no copy,
    and these trials have no other files."""

    type: Literal["merged"] = "merged"
    merge: Number
    tables: dict[str, Many[Range]]
    only: bool = False

    def holds(self, table: str, trial: int) -> bool:
        return any(low <= trial <= high for low, high in self.tables.get(table, ()))


class CampaignResumed(Line):
    """A campaign that goes on. `voids`: the trials of the blocks in which it had been stopped."""

    type: Literal["resumed"] = "resumed"
    voids: Many[Number] = ()
    trials_left: Number | None = None
    kernel: str | None = None


class CellUnsupported(Line):
    type: Literal["unsupported"] = "unsupported"
    cell: Number
    trial: Number | None = None
    reason: str


class CellsDropped(Line):
    """Cells that do not run any more after so many blocks, since their comparison is decided or the
    time is over."""

    type: Literal["dropped"] = "dropped"
    blocks: Number
    cells: Many[Number]
    why: str | None = None


class OpenComparisonLine(Stored):
    ALWAYS = ("minutes",)
    comparison: str
    arm: str
    reason: str | None = None
    minutes: Real | None = None


class LookTaken(Line):
    """A look at a campaign under way. `looks`: all planned looks, as numbers of blocks. `ended`:
    whether the time was over. `stop`: why the campaign ended at this look."""

    ALWAYS = ("type", "open", "minutes_to_decide", "verdicts", "stop")
    type: Literal["look"] = "look"
    blocks: Number
    looks: Many[Number]
    alpha: Real
    ended: bool
    decided: Number
    of: Number
    open: Many[OpenComparisonLine] = ()
    minutes_to_decide: Real | None = None
    verdicts: dict[str, dict[str, str]] = Field(default_factory=dict)
    stop: str | None = None
    took_ns: int | None = None


class NoteWritten(Line):
    type: Literal["note"] = "note"
    text: str | None = None


class ResourceCreated(Line):
    """A resource that a crash may leave behind."""

    type: Literal["created"] = "created"
    resource: dict[str, Any]


class ResourceRemoved(Line):
    type: Literal["removed"] = "removed"
    resource: dict[str, Any]


class SearchEnded(Line):
    """Why the search for an arm's capacity ended."""

    type: Literal["capacity"] = "capacity"
    arm: str
    ended: str


class CampaignFinished(Line):
    type: Literal["finished"] = "finished"


KINDS: dict[str, type[Line]] = {
    kind.model_fields["type"].default: kind
    for kind in (
        TrialEnded,
        TablesWritten,
        TablesMerged,
        CampaignResumed,
        CellUnsupported,
        CellsDropped,
        LookTaken,
        NoteWritten,
        ResourceCreated,
        ResourceRemoved,
        SearchEnded,
        CampaignFinished,
    )
}


def read_line(line: Any) -> Line:
    """Check a JSON document. Raises ValueError if it is no line of the journal."""
    if not isinstance(line, Mapping):
        raise ValueError("not an object")
    kind = line.get("type")
    if not isinstance(kind, str):
        raise ValueError("no type")
    try:
        return KINDS.get(kind, UnknownLine).model_validate(line)
    except ValidationError as error:
        raise first_problem(error) from None


NAME = "journal.jsonl"


@dataclass
class Journal:
    """All lines in order, and the state that they lead to. `trials`: the last line of each trial,
    by its number."""

    lines: list[Line] = field(default_factory=list)
    trials: dict[int, TrialEnded] = field(default_factory=dict)
    whole_campaign: set[str] = field(default_factory=set)
    merged: list[TablesMerged] = field(default_factory=list)
    finished: bool = False

    def add(self, line: Line) -> None:
        self.lines.append(line)
        match line:
            case TrialEnded():
                self.trials[line.trial] = line
                # A file that was merged before the trial ran again has its old rows.
                self.merged = [
                    merge
                    for merge in self.merged
                    if not any(merge.holds(table, line.trial) for table in merge.tables)
                ]
            case TablesMerged():
                self.merged.append(line)
            case TablesWritten():
                self.whole_campaign.update(line.tables)
            case CampaignFinished():
                self.finished = True
            case CampaignResumed():
                self.finished = False

    def left_behind(self) -> list[ResourceCreated]:
        """Return the resources that were created and not removed again."""
        removed = [line.resource for line in self.lines if isinstance(line, ResourceRemoved)]
        return [
            line
            for line in self.lines
            if isinstance(line, ResourceCreated) and line.resource not in removed
        ]


def load(directory: Path) -> Journal:
    """Read the journal. A last line that is cut short is ignored. Raises UserError for any other
    unreadable line."""
    path = directory / NAME
    try:
        raw = read_input(path)
    except FileNotFoundError:
        raise UserError(
            "the campaign has no journal",
            where=str(path),
            fix="is this a campaign directory of rmwbench?",
        ) from None
    except OSError as error:
        raise UserError(
            "the journal cannot be read", where=str(path), actual=error.strerror
        ) from None
    journal = Journal()
    complete, _, _ = raw.rpartition(b"\n")
    for number, text in enumerate(complete.split(b"\n") if complete else [], start=1):
        try:
            journal.add(read_line(parse_json(text)))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                "unreadable journal line",
                where=f"{path}:{number}",
                expected="one JSON object with a type",
                actual=f"{text[:80].decode(errors='replace')!r} ({error})",
                fix="only a cut last line is harmless; restore the file from a copy, or delete "
                "this line to lose that step",
            ) from None
    return journal


def line_bytes(line: Line) -> bytes:
    return json_bytes(line.document())


def append(directory: Path, line: Line) -> None:
    """Append one line and flush it to disk. A last line that a crash cut short is removed first."""
    with open(directory / NAME, "a+b") as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        file.write(line_bytes(line))
        file.flush()
        os.fsync(file.fileno())
