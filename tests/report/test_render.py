"""Each renderer on its own, with a view that has one of every block."""

import pytest

from rmwbench.report.render.html import render_html
from rmwbench.report.render.markdown import render_markdown
from rmwbench.report.view import (
    Facts,
    Html,
    Items,
    On,
    Picture,
    Section,
    Table,
    TableCell,
    TableColumn,
    TableRow,
    Text,
    Verbatim,
    View,
)
from tests.support.views import printed

TABLE = Table(
    [
        TableColumn("arm"),
        TableColumn("p50", right=True, detail="beside"),
        TableColumn("paper", on=On.MARKDOWN),
    ],
    [
        TableRow(["floor", TableCell("1 ms", detail="[0.9–1.1]"), "a|b"], heading="by copy"),
        TableRow(["zenoh", TableCell("never", "bad"), TableCell("best", "good", badge=True)]),
    ],
)
VIEW = View(
    title="Who is <fast>?",
    about=[Text("It was stopped.", "warning", lead="Not finished.")],
    answer=[Text("Take zenoh.", "strong")],
    sections=[
        Section("Results", [TABLE, Items([f"line {n}" for n in range(9)], mark="?", most=2)]),
        Section("Evidence", [Facts([("path", "shm"), ("log", Verbatim("\x1b[2J"))])], folded=True),
        Section("Picture", [Picture("p", "Loss", "None was lost.", None)], on=On.DOCUMENT),
        Section("Markup", [Html("<i>ours</i>")]),
    ],
)


def test_a_terminal_ends_with_the_answer_and_unfolds_nothing():
    lines = [line.rstrip() for line in printed(VIEW, 80).splitlines()]
    assert lines[1:3] == ["Who is <fast>?", "! Not finished. It was stopped."]
    assert lines[-1] == "Take zenoh."
    assert "floor  1 ms [0.9–1.1]" in lines and "zenoh           never" in lines
    assert " ? line 1" in lines and " ? line 2" not in lines
    assert any("7 more" in line for line in lines)
    assert not any("paper" in line or "shm" in line or "ours" in line for line in lines)


def test_a_page_begins_with_the_answer_and_escapes_everything():
    page = render_html(VIEW)
    assert page.index("Take zenoh.") < page.index("Results") < page.index("Evidence")
    assert "Who is &lt;fast&gt;?" in page and "<i>ours</i>" in page
    assert '<span class="verdict" data-verdict="best">' not in page  # a column of Markdown alone
    assert '<td class="n' in page and 'data-tone="bad"' in page
    assert page.count("<li>") == 9 and "<details" in page
    assert "vegaEmbed" not in page.split("<script>")[0] and "unsafe-eval" not in page


def test_two_columns_of_one_title_keep_their_own_cells_on_a_page():
    table = Table(["case", "case"], [["floor futex", "zenoh shm"]])
    page = render_html(View(title="Cases", sections=[Section("Results", [table])]))
    assert "floor futex" in page and "zenoh shm" in page


def test_markdown_has_headings_tables_and_what_a_picture_says_without_one():
    text = render_markdown(VIEW)
    assert text.startswith("# Who is &lt;fast&gt;?\n\n> **Not finished.** It was stopped.\n")
    assert "| arm | p50 | paper |\n| --- | ---: | --- |\n| *by copy* |  |  |\n" in text
    assert r"| floor | 1 ms \[0.9–1.1\] | a\|b |" in text and "| **best** |" in text
    assert "**Loss.** None was lost." in text and "Evidence" not in text


@pytest.mark.parametrize("width", [40, 60, 79, 200])
@pytest.mark.parametrize("name", ["floor", "cyclonedds untouched with a long name"])
def test_every_number_is_whole_at_every_width(name, width):
    numbers = ("1.17 ms [0.469–2.91]", "10.5 ms", "0.787×", "undecided", "1 234 567 B")
    columns = [TableColumn("arm"), *(TableColumn(f"n{n}", right=True) for n in range(len(numbers)))]
    text = printed(
        View(title="t", sections=[Section("", [Table(columns, [[name, *numbers]])])]), width
    )
    assert "…" not in text and all(text.count(number) == 1 for number in numbers)
    assert all(len(line.rstrip()) <= max(width, 32) for line in text.splitlines())
