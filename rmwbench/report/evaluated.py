"""What published evaluations say of a campaign, for its report.

The report shows these sections and does not know the evaluations; the package `published` makes
them (published/campaign_section.py)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rmwbench.report.view import Block, Html, Items, On, Section, Table, Text, Tone


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """What published evaluations say of one campaign. `markup`: the claims of the HTML page.
    `lines`: (answer, text) per claim, for the terminal; empty where no claim is about the suite.
    `table`: (claim, as published, as corrected, here) per claim, for Markdown. `reported`: the
    effect that the suite repeats, as reported and as measured; empty where it repeats none.
    `write_figures`: writes the page of redrawn figures beside a report and returns its name, or
    None where there is none."""

    markup: Callable[[], str]
    lines: Sequence[tuple[str, str]]
    table: Sequence[tuple[str, str, str, str]]
    write_figures: Callable[[Path], str | None]
    reported: str = ""

    def sections(self, draw: bool) -> Iterator[Section]:
        """Yield the sections of the claims. A terminal shows decided claims and counts the
        others."""
        if self.reported:
            yield Section("Reported", [Text(self.reported, "strong")], anchor="reported")
        if not self.lines:
            return
        blocks: list[Block] = []
        decided = ("holds", "does not hold")
        for answer, mark in zip(decided, "✓✗", strict=True):
            texts = [text for given, text in self.lines if given == answer]
            tone: Tone = "good" if answer == "holds" else "bad"
            if texts:
                blocks.append(Items(texts, tone, mark, on=On.TERMINAL))
        rest = sum(answer not in decided for answer, _ in self.lines)
        if rest:
            text = f"{rest} undecided or without data; the report has them"
            blocks.append(Text(text, "muted", on=On.TERMINAL))
        heads = ("claim", "as published", "as corrected", "here")
        blocks.append(Table([(head, False) for head in heads], self.table, on=On.MARKDOWN))
        if draw:
            blocks.append(Html(self.markup()))
        yield Section("Claims", blocks, anchor="claims", nav="claims")


NOT_EVALUATED = Evaluated(markup=str, lines=(), table=(), write_figures=lambda report: None)
"""For a report without published evaluations."""
