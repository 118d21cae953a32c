"""What a page and a terminal show of a document: sections of sentences, one table and pictures,
made once for both."""

from dataclasses import dataclass, field

from rmwbench.report.chart.charts import Spec


@dataclass(frozen=True)
class Table:
    """`columns` are (heading, whether it is right-aligned); a cell is a text, never empty for
    absent."""

    columns: tuple[tuple[str, bool], ...]
    rows: list[list[str]]


@dataclass(frozen=True)
class Picture:
    """A chart with the sentence that says how to read it."""

    key: str
    title: str
    reading: str
    spec: Spec


@dataclass(frozen=True)
class Section:
    title: str
    text: list[str] = field(default_factory=list)
    table: Table | None = None
    pictures: list[Picture] = field(default_factory=list)
    list: bool = False
    """Whether the sentences are a list."""


@dataclass(frozen=True)
class View:
    """`card` is the line that travels with every picture: what was read, from when to when."""

    title: str
    lead: list[str]
    sections: list[Section]
    card: str
