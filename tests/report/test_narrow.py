"""In a narrow terminal no number is cut: the columns go on to further tables."""

import io

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rmwbench.report import narrow

NUMBERS = ("1.17 ms [0.469–2.91]", "10.5 ms", "0.787×", "undecided", "1 234 567 B")


def table(name: str) -> Table:
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    made.add_column("arm", no_wrap=True)
    for place in range(len(NUMBERS)):
        made.add_column(f"n{place}", justify="right", no_wrap=True)
    made.add_row(Text(name, style="dim"), *NUMBERS)
    return made


def printed(name: str, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    for part in narrow.fitting(table(name), console):
        console.print(part)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 79, 80, 200])
@pytest.mark.parametrize("name", ["floor", "cyclonedds untouched†‡ with a long name"])
def test_every_number_is_whole_at_every_width(name, width):
    text = printed(name, width)
    assert "…" not in text and all(text.count(number) == 1 for number in NUMBERS)
    assert all(len(line.rstrip()) <= width for line in text.splitlines())


def test_what_fits_is_one_table():
    assert len(list(narrow.fitting(table("floor"), Console(width=200)))) == 1
    assert printed("floor", 60).count("floor") > 1  # each further table names its rows again
