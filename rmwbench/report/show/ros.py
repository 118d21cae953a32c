"""The tables of features of ROS 2: how lifecycle nodes came up, which ROS variables are obeyed, and
what a recorder kept."""

from collections.abc import Iterator, Sequence

from rmwbench.beside.bring_up import answer as bring_up
from rmwbench.beside.recorder import answer as recordings
from rmwbench.beside.ros_variables import answer as ros_variables
from rmwbench.report.view import Block, Items, Section, Table, TableCell, TableColumn, Text, Tone
from rmwbench.results.shown import SuiteAnswer

TONES: dict[str, Tone] = {
    ros_variables.OBEYED: "good",
    ros_variables.NOT_OBEYED: "bad",
    ros_variables.NO_DATA: "odd",
    recordings.KEPT_ALL: "good",
    recordings.LOSES: "bad",
}


def sections(doc: SuiteAnswer) -> Iterator[Section]:
    """Those that the campaign has anything of."""
    yield from brought_up(doc)
    yield from variables(doc)
    yield from recorded(doc)


def brought_up(doc: SuiteAnswer) -> Iterator[Section]:
    if doc.bring_up is None:
        return
    blocks: list[Block] = [
        Section(
            part.title,
            [
                Text(f"{part.about}.", "muted"),
                _texts(part.heads, part.rows),
                _texts(part.up_heads, part.up_rows),
            ],
        )
        for part in bring_up.shown(doc)
    ]
    blocks.append(Text(doc.bring_up.text, "muted"))
    yield Section("Bring-up", blocks, anchor="bring-up", look="panel")


def _texts(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table([TableColumn(head) for head in heads], rows, look="matrix")


def variables(doc: SuiteAnswer) -> Iterator[Section]:
    """For each case and each arm: obeyed or not, and what was heard."""
    told, found = doc.ros_variables, ros_variables.shown(doc)
    if told is None or found is None:
        return
    columns = [
        TableColumn("case", detail="beside"),
        TableColumn("by the documentation"),
        *(TableColumn(head, detail="below", key="arm") for head in found.heads),
    ]
    blocks: list[Block] = [Text(told.summary)]
    for part in found.parts:
        rows = [
            [
                TableCell(row.case, detail=row.text, why=row.asked),
                TableCell(row.expected, link=row.source),
                *(_obeyed(cell) for cell in row.cells),
            ]
            for row in part.rows
        ]
        table = Table(columns, rows, look="matrix outcomes cases")
        blocks.append(Section(part.title, [table]))
    blocks.append(
        Text(f"{told.text} Beside each answer: messages heard of those published.", "muted")
    )
    if notes := ros_variables.notes(told):
        blocks.append(Items(notes, "odd", "!"))
    title = "ROS variables, obeyed or not"
    yield Section(title, blocks, anchor="ros-variables", look="panel")


def _obeyed(cell: ros_variables.CaseCell | None) -> TableCell:
    if cell is None:
        return TableCell("")
    tone = TONES.get(cell.answer, "muted")
    return TableCell(f"{cell.mark} {cell.answer}", tone, cell.words, cell.reason)


def recorded(doc: SuiteAnswer) -> Iterator[Section]:
    """For each case of a recorder and each arm: what it kept, and where the rest was lost."""
    found = recordings.shown(doc)
    if found is None:
        return
    columns = [TableColumn(head, right=n > 1) for n, head in enumerate(found.heads)]
    blocks: list[Block] = []
    for part in found.parts:
        rows: list[list[TableCell | str]] = [
            [
                row.cells[0],
                TableCell(row.cells[1], TONES.get(row.answer, "muted"), why=row.reason),
                *row.cells[2:],
            ]
            for row in part.rows
        ]
        blocks.append(Section(part.title, [Table(columns, rows, look="results recordings")]))
    blocks.append(Text(found.text, "muted"))
    if notes := recordings.notes(doc):
        blocks.append(Items(notes, "odd", "!"))
    title = "What the recorder kept, and where it lost the rest"
    yield Section(title, blocks, anchor="recordings", look="panel")
