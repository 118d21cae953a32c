"""What becomes of each condition: an outcome for each arm, and for all of them together."""

from collections.abc import Iterator

from rmwbench.report.view import On, Section, Table, TableCell, TableColumn, Text, Tone
from rmwbench.results.shown import SuiteAnswer
from rmwbench.results.workload import outcomes

TONES: dict[str, Tone] = {
    "meets": "good",
    "misses": "open",
    "only": "open",
    "none": "bad",
    "open": "odd",
    "unknown": "odd",
}


def conditions(doc: SuiteAnswer) -> Iterator[Section]:
    """Nothing where no limits are asked for."""
    judged, found = doc.outcomes, outcomes.shown(doc)
    if judged is None or found is None:
        return
    columns = [
        *(TableColumn(head) for head in found.heads),
        *(TableColumn(arm, detail="below", key="arm") for arm in found.arms),
        TableColumn("all together", detail="below", key="whole"),
    ]
    rows: list[list[TableCell | str]] = [
        [
            *row.labels,
            *(TableCell("") if one is None else _cell(one) for one in row.cells),
            TableCell(f"{row.mark} {row.words}", TONES.get(row.outcome, ""), row.more),
        ]
        for row in found.rows
    ]
    everywhere = f" Everywhere: {found.everywhere}." if found.everywhere else ""
    yield Section(
        "What becomes of each condition",
        [
            Text(f"{judged.summary}{everywhere}", on=On.DOCUMENT),
            Text(everywhere.strip(), "muted", on=On.TERMINAL if everywhere else On(0)),
            Table(columns, rows, look="matrix outcomes"),
            Text(
                f"{judged.text} The number is of the metric that decided, or leaves it open.",
                "muted",
            ),
        ],
        anchor="outcomes",
        nav="outcomes",
        look="panel",
    )


def _cell(one: outcomes.ConditionCell) -> TableCell:
    link = f"#arm-{one.place[0]}-{one.place[1]}"
    text = f"{one.mark} {one.outcome}"
    return TableCell(text, TONES.get(one.outcome, "muted"), one.value, one.reason, link)
