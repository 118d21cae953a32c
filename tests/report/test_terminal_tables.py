"""Tables in a narrow terminal: every word of every cell stays whole."""

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from rmwbench.report.render.terminal import print_view
from rmwbench.report.view import Section, Table, TableRow, View

NUMBERS = Table(
    (
        ("repository", False),
        *(
            (f"{name} in the window", True)
            for name in ("opened", "reviewed", "unmerged", "answered")
        ),
    ),
    [
        [
            "eclipse-cyclonedds/cyclonedds",
            "99",
            "1.84 [0.907–3.11]",
            "43 %",
            "no data: fewer than half",
        ]
    ],
)
MONTHS = Table(
    (("repository", False), ("month", False), *((f"{n}-pulls-opened", True) for n in "abcd")),
    [
        [name, month, "1", "2", "3", "4"]
        for name in ("eclipse-cyclonedds/cyclonedds",)
        for month in ("may", "june")
    ],
)
EVIDENCE = Table(
    (("candidate", False), ("criterion", False), ("evidence", False)),
    [
        [
            "Cyclone DDS",
            "a licence",
            "https://example.org/eclipse-cyclonedds/cyclonedds/blob/master/NOTICE.md",
        ],
        [
            "",
            "a protocol",
            "https://example.org/eclipse-cyclonedds/cyclonedds/blob/master/README.md",
        ],
    ],
)


def printed(table, width):
    out = io.StringIO()
    print_view(View(title="V", sections=[Section("S", [table])]), Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 10_000])
@pytest.mark.parametrize(
    "table", [NUMBERS, MONTHS, EVIDENCE], ids=["numbers", "months", "evidence"]
)
def test_no_word_is_broken_and_none_is_lost(table, width):
    text = printed(table, width)
    words = [word for row in table.rows for cell in row for word in cell.split()]
    words += [word for name, _ in table.columns[1:] for word in name.split()]
    whole = {part.rstrip(";:") for part in text.split()}
    assert [word for word in words if word.rstrip(":") not in whole] == []
    tail = max(map(len, words)) + 2  # a paragraph may have one word that is longer than a line
    assert max(len(line) for line in text.splitlines()) <= max(width, tail)


def test_parts_repeat_what_tells_rows_apart():
    text = printed(MONTHS, 80)
    assert text.count("eclipse-cyclonedds/cyclonedds") == 2 * text.count("month") > 2
    assert text.count("june") == text.count("month"), (
        "the repository alone does not tell its rows apart"
    )


def test_where_a_word_leaves_no_room_a_row_is_a_paragraph():
    text = printed(EVIDENCE, 80)
    assert "Cyclone DDS; criterion: a licence; evidence:" in text
    assert "\n  criterion: a protocol;" in text


@pytest.mark.parametrize("wide", [False, True], ids=["paragraphs", "lines"])
def test_however_a_table_is_printed_it_has_its_headings_and_says_what_is_left_out(wide):
    rows = [TableRow(row, heading=f"family {n}") for n, row in enumerate(EVIDENCE.rows)]
    table = replace(EVIDENCE, rows=[*rows, *EVIDENCE.rows], wide=wide, most=2)
    text = printed(table, 80)
    assert text.index("family 0") < text.index("a licence") < text.index("family 1")
    assert text.index("family 1") < text.index("a protocol") < text.index("2 more")


def test_a_heading_is_not_cut_to_the_width_of_the_first_column():
    """Two families of arms with short names."""
    rows = [
        TableRow(["shm", "1"], heading="by loan"),
        TableRow(["udp", "12"], heading="by copy of each message"),
    ]
    lines = printed(Table(("arm", ("µs", True)), rows), 80).splitlines()[-5:]
    assert lines == ["arm  µs", "by loan", "shm   1", "by copy of each message", "udp  12"]


def test_columns_stand_below_each_other_where_a_character_is_two_cells_wide():
    table = Table(("name", ("count", True)), [["雲雲雲雲", "1"], ["cloud", "12"]], wide=True)
    head, *lines = printed(table, 80).splitlines()[-3:]
    assert head == "name      count"
    assert {cell_len(line) for line in lines} == {cell_len(head)}


@pytest.mark.parametrize("wide", [False, True], ids=["paragraphs", "lines"])
def test_a_heading_of_a_column_cannot_drive_the_terminal(wide):
    titled = Table([EVIDENCE.columns[0], "\x9b31m", EVIDENCE.columns[2]], EVIDENCE.rows, wide=wide)
    assert "\x9b" not in printed(titled, 80)
