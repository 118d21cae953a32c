"""The view of an answer, made once for a terminal, a page and Markdown (rmwbench/report/render/):
sections of sentences, lists, tables and pictures.

A view gives the kind of a text (a warning, a decision, an open question), never its look. A
renderer leaves out the blocks that it cannot show: a terminal has no pictures, and only a page
unfolds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import Flag
from typing import Literal, Self

from rmwbench.report.chart.style import LineStyle, Spec
from rmwbench.results.model import GlossaryEntry

Tone = Literal["", "good", "bad", "open", "odd", "muted", "strong", "limits", "warning", "alarm"]
"""`odd`: there is no data; `warning` and `alarm`: tones of whole sentences."""


class On(Flag):
    """Where a block is shown."""

    TERMINAL = 1
    PAGE = 2
    MARKDOWN = 4
    DOCUMENT = PAGE | MARKDOWN
    EVERYWHERE = TERMINAL | PAGE | MARKDOWN


@dataclass(frozen=True, kw_only=True)
class Bar:
    """The value of a trial as text, and its length against the arm's largest in per cent; None
    where there is no length."""

    trial: int
    block: int
    text: str
    percent: int | None


@dataclass(frozen=True, kw_only=True)
class RatioInterval:
    """A ratio and its ends on a log axis from 1 ÷ `edge` to `edge`, all in per cent from the left;
    `beyond`: the ends that are outside the axis. `band`: (left, width) of the margin."""

    at: float
    low: float
    high: float
    beyond: tuple[bool, bool]
    band: tuple[float, float]


@dataclass(frozen=True)
class TableCell:
    """A cell of a table. `detail`: a smaller text that belongs to it, such as its interval. A page
    shows `why` when a reader points at the cell; `link`: the target of the cell. `badge`: whether
    it is a verdict, set off from the text. `note`: letters of the notes below the table. `heat`: 0
    to 4, the distance from the best."""

    text: str
    tone: Tone = ""
    detail: str = ""
    why: str = ""
    link: str = ""
    badge: bool = False
    swatch: LineStyle | None = None
    note: str = ""
    heat: int | None = None
    bars: tuple[Bar, ...] = ()
    interval: RatioInterval | None = None


@dataclass(frozen=True)
class TableColumn:
    """`right`: whether the column has numbers, which are never broken in two. `metric`: the metric
    whose glossary entry explains the heading. `detail`: where a terminal shows the details of
    cells, which it leaves out otherwise. `on`: the renderers that show the column. `key`: its name
    in a page's style and script. `ticks`: (place in per cent, text) on the axis that its intervals
    share. `link`: the target of its heading on a page."""

    title: str
    right: bool = False
    metric: str = ""
    detail: Literal["", "beside", "below"] = ""
    on: On = On.EVERYWHERE
    key: str = ""
    ticks: Sequence[tuple[float, str]] = ()
    link: str = ""


Head = TableColumn | tuple[str, bool] | str
"""A column as given to a table: a title alone has no numbers below it; or (title, whether it has
numbers)."""


@dataclass(frozen=True)
class TableRow:
    """`heading`: a line above this row and those that follow. `anchor`: the target of links."""

    cells: "Sequence[TableCell | Verbatim | str]"
    heading: str = ""
    tone: Tone = ""
    anchor: str = ""
    metric: str = ""


@dataclass(frozen=True, kw_only=True)
class Block:
    on: On = On.EVERYWHERE

    def only(self, on: On) -> Self:
        """The block without the parts that are not shown in `on`."""
        return replace(self, on=self.on & on)


@dataclass(frozen=True)
class Text(Block):
    """A sentence or several; `lead` is set off before them."""

    text: str
    tone: Tone = ""
    lead: str = ""


@dataclass(frozen=True)
class Items(Block):
    """A list; `folded`: the text in its place on a page until a reader opens it; `most`: how many
    items a terminal shows."""

    items: Sequence[Text | str]
    tone: Tone = ""
    mark: str = "–"
    folded: str = ""
    most: int | None = None


@dataclass(frozen=True)
class Facts(Block):
    """Names, each with a text; a text without a name continues the text before."""

    facts: Sequence[tuple[str, "TableCell | Verbatim | str"]]
    look: Literal["", "grid", "facts", "terms", "groups", "notes"] = ""


@dataclass(frozen=True)
class Table(Block):
    """A table in which an absent value is never an empty cell. `look`: how a page draws it; `wide`:
    a table of thousands of lines, of which a terminal breaks none; `most`: how many rows a terminal
    shows."""

    columns: Sequence[Head]
    rows: "Sequence[TableRow | Sequence[TableCell | Verbatim | str]]"
    title: str = ""
    look: str = ""
    wide: bool = False
    most: int | None = None


@dataclass(frozen=True)
class LegendKey:
    """An entry of a picture's legend: the kind of its colour, its certainty, its name, and its
    meaning in words."""

    kind: str
    certainty: str
    name: str
    words: str


@dataclass(frozen=True)
class Picture(Block):
    """A chart with the sentence that says how to read it. Where `spec` is None the sentence stands
    alone, because it says the same better than a chart. `narrow`: the variant for a phone, None
    where the chart adapts by itself. `tables`: its data in numbers. `of`: the part of the answer
    that the picture shows, where several parts have such a picture; `card`: the card of that
    part."""

    key: str
    title: str
    reading: str
    spec: Spec | None
    _: KW_ONLY
    narrow: Spec | None = None
    wide: bool = False
    keys: Sequence[LegendKey] = ()
    tables: Sequence[Table] = ()
    card: Sequence[str] = ()
    of: str = ""


@dataclass(frozen=True)
class Verbatim(Block):
    """A text of others: a configuration, a log."""

    text: str


@dataclass(frozen=True)
class Html(Block):
    """Safe markup, for a page alone."""

    html: str
    on: On = field(default=On.PAGE, kw_only=True)


@dataclass(frozen=True)
class Section(Block):
    """`anchor`: its name for links; `nav`: its name at the head of a page, empty where it is not
    listed there; `look`: how a page sets it off; `folded`: closed until a reader opens it, on a
    page only; `head`: a text after the title."""

    title: str
    blocks: Sequence[Block] = ()
    anchor: str = ""
    nav: str = ""
    look: str = ""
    folded: bool = False
    head: Sequence[TableCell] = ()
    swatch: LineStyle | None = None
    link: str = ""


@dataclass(frozen=True, kw_only=True)
class View:
    """`about`: the input or the campaign, and its machine. `answer`: the blocks that a page and
    Markdown show first, and a terminal last, next to the prompt. `card`: the lines that every
    picture carries."""

    title: str
    about: Sequence[Block] = ()
    answer: Sequence[Block] = ()
    sections: Sequence[Section] = ()
    card: Sequence[str] = ()
    glossary: Mapping[str, GlossaryEntry] = field(default_factory=dict)
    tool_version: str = ""


def cell(value: TableCell | Verbatim | str) -> TableCell:
    if isinstance(value, TableCell):
        return value
    return TableCell(value if isinstance(value, str) else value.text)


def row(value: TableRow | Sequence[TableCell | Verbatim | str]) -> TableRow:
    return value if isinstance(value, TableRow) else TableRow(value)


def column(value: Head) -> TableColumn:
    if isinstance(value, str):
        return TableColumn(value)
    return value if isinstance(value, TableColumn) else TableColumn(*value)


def with_data(pictures: Iterable[Picture]) -> list[Picture]:
    """The pictures with a chart, and the picture of the loss, whose sentence says that nothing was
    lost."""
    return [picture for picture in pictures if picture.spec is not None or picture.key == "loss"]


def panel(
    title: str,
    text: Sequence[str] = (),
    table: Table | None = None,
    pictures: Sequence[Picture] = (),
    *,
    listed: bool = False,
) -> Section:
    """The section of most answers: sentences (`listed`: as a list), pictures, one table."""
    sentences: list[Block] = (
        [Items(text)] if listed and text else [Text(sentence) for sentence in text]
    )
    wide_pictures = [replace(picture, wide=True) for picture in pictures]
    blocks = [*sentences, *wide_pictures, *([] if table is None else [table])]
    anchor = "-".join(title.lower().split())
    return Section(title, blocks, anchor=anchor, nav=title.lower(), look="panel")
