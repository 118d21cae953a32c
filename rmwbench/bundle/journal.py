"""The journal: one JSON line per finished step, appended and flushed, so that a power loss costs at
most the last line.

It alone says which files belong to the bundle: a table that no line names is a leftover of a trial
that never finished.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from rmwbench.bundle.journal_lines import (
    CampaignFinished,
    CampaignResumed,
    Line,
    ResourceCreated,
    ResourceRemoved,
    TablesMerged,
    TablesWritten,
    TrialEnded,
    read_line,
)
from rmwbench.errors import UserError
from rmwbench.input_file import parse_json, read_input

NAME = "journal.jsonl"


@dataclass
class Journal:
    """What the lines say. `trials` maps trial number to its last line; `lines` holds every line in
    order."""

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
                # What was merged before a trial ran again has its old rows.
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
        """What was created and not removed again."""
        removed = [line.resource for line in self.lines if isinstance(line, ResourceRemoved)]
        return [
            line
            for line in self.lines
            if isinstance(line, ResourceCreated) and line.resource not in removed
        ]


def load(directory: Path) -> Journal:
    """Reads the journal. A last line cut short is ignored; any other unreadable line is a
    UserError."""
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


def append(directory: Path, line: Line) -> None:
    """Appends one line and flushes it to disk. A cut last line of an earlier crash is removed
    first."""
    text = json.dumps(line.document(), ensure_ascii=False, separators=(", ", ": ")) + "\n"
    with open(directory / NAME, "a+b") as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                file.seek(0)
                keep = file.read().rpartition(b"\n")
                file.truncate(len(keep[0]) + len(keep[1]))
                file.seek(0, os.SEEK_END)
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
