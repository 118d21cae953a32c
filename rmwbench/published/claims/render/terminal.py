"""The ledger in a terminal: all of it in brief, a part of it with reasons, a claim that was named
with every cell.

A line says what was found and how it was tested; where there are answers of several
campaigns or layers, the first stands for the claim and the others follow it.
"""

import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from rich.console import Console
from rich.text import Text

from rmwbench.published.claims.claims_file import Claim, Judged
from rmwbench.published.claims.judge import Cell, Today
from rmwbench.published.claims.ledger import JudgedClaim, Ledger, SourceLedger
from rmwbench.published.claims.markdown import answered, here
from rmwbench.published.claims.state import counts
from rmwbench.published.claims.words import interval
from rmwbench.words import numbers as fmt
from rmwbench.words.printable import printable

Depth = Literal["brief", "reasons", "cells"]
INDENT, LABEL = 6, 11


def print_ledger(ledger: Ledger, console: Console, depth: Depth) -> None:
    lines = [line for source in ledger.sources for line in _of_source(source, console, depth)]
    lines += _summary(ledger, max(40, console.width), depth)
    # at once: a call for each of a thousand lines takes longer than all that is in them
    console.print(Text("\n").join(lines), soft_wrap=True)


def _of_source(source: SourceLedger, console: Console, depth: Depth) -> Iterator[Text]:
    width = max(40, console.width)
    title = Text(printable(f"{source.title} ({source.published})"), style="bold")
    yield from title.wrap(console, console.width)
    last = None
    for judged in source.claims:
        if judged.claim.heading != last:
            last = judged.claim.heading
            if depth != "brief":
                yield Text()
            heading = Text(printable(f"  {last}"), style="underline")
            yield from heading.wrap(console, console.width)
        yield from _of_claim(source, judged, width, depth)
    if depth == "brief" and source.headings:
        yield from _wrapped(width, 2, f"headings without claims: {len(source.headings)}", "dim")
    for entry in source.headings if depth != "brief" else ():
        yield Text()
        yield from _wrapped(width, 2, f"{entry.heading}: no claims, {entry.reason}", "dim")
    yield Text()


def _of_claim(
    source: SourceLedger, judged: JudgedClaim, width: int, depth: Depth
) -> Iterator[Text]:
    claim = judged.claim
    figure = f" ({claim.figure})" if claim.figure and depth != "brief" else ""
    yield from _wrapped(width, 2, f"{claim.id}  {claim.says}{figure}", "")
    if depth == "brief":
        yield from _wrapped(width, INDENT, _in_brief(judged), "dim")
        return
    for label, text in _lines(source, judged, depth):
        yield from _wrapped(width, INDENT, text, "" if label == "here" else "dim", label)


def _in_brief(judged: JudgedClaim) -> str:
    if judged.state == "opinion":
        return "opinion"
    told = ["ours"] if judged.claim.inferred else []
    told += [f"{key} {one.verdict}" for key, one in _by_the_data(judged.claim)]
    found = (
        judged.state if judged.state == "not testable here" else f"here {_plain(answered(judged))}"
    )
    return "; ".join([*told, found]).replace(
        "published data not published", "its data is not published"
    )


def _by_the_data(claim: Claim) -> list[tuple[str, Judged]]:
    """What the source's own data says, as published and as corrected."""
    both = (("published", claim.published), ("corrected", claim.corrected))
    return [(key, judged) for key, judged in both if judged is not None]


def _lines(source: SourceLedger, judged: JudgedClaim, depth: Depth) -> Iterator[tuple[str, str]]:
    claim = judged.claim
    if judged.state == "opinion":
        yield "opinion", "listed, not judged"
        return
    if claim.place:
        yield "place", claim.place
    if claim.inferred:
        yield "ours", f"not said by the source, but inferred {claim.inferred}"
    for key, one in _by_the_data(claim):
        p = "" if one.p is None else f" (p = {one.p:g})"
        yield key, f"{one.verdict}: {one.why}{p}"
    do = f" (nothing measured yet: {source.run})" if judged.state == "open" else ""
    if not judged.today:
        yield "here", _plain(answered(judged)) + do if claim.test else _plain(here(judged))
    for n, today in enumerate(judged.today):
        alone = replace(judged, today=(today,))
        yield "here" if n == 0 else "also", _plain(answered(alone))
        if depth == "cells":
            yield from _in_full(today)
    if claim.test:
        yield "experiment", _plain(here(judged, verdict=False))


def _in_full(today: Today) -> Iterator[tuple[str, str]]:
    """Arms, versions and machine, then every cell."""
    where = f"{today.machine or 'this machine'}, {today.date}, {', '.join(today.campaigns)}"
    yield "", f"{', '.join(today.arms)}; {where}"
    if today.proxy:
        yield "", "proxy: " + "; ".join(today.proxy)
    for cell in today.cells:
        yield "", _cell(cell)


def _cell(cell: Cell) -> str:
    if cell.low is None or cell.high is None:
        return f"{cell.workload}: {cell.answer}, {cell.reason}"
    between = f"{cell.left} ÷ {cell.right}" if cell.right else cell.left
    reason = f" ({cell.reason})" if cell.reason else ""
    found = interval(cell.value, cell.low, cell.high, cell.unit)
    return f"{cell.workload}: {cell.answer}, {between} {found}{reason}"


def _summary(ledger: Ledger, width: int, depth: Depth) -> Iterator[Text]:
    summary = ledger.summary
    yield from _wrapped(
        width, 0, f"{fmt.counted(summary.claims, 'statement')}: {counts(summary)}.", "bold"
    )
    for key, found in (("published", summary.published), ("corrected", summary.corrected)):
        told = ", ".join(f"{name} {n}" for name, n in found.items())
        if told:
            yield from _wrapped(width, 0, f"As {key}: {told}.", "")
    if summary.states["open"]:
        runs = dict.fromkeys(
            source.run
            for source in ledger.sources
            for judged in source.claims
            if judged.state == "open"
        )
        run = (
            next(iter(runs))
            if len(runs) == 1
            else "rmwbench published claims run SOURCE --budget 30m"
        )
        yield from _wrapped(
            width, 0, f"What is open has an experiment, which nothing has run yet: {run}", ""
        )
    if depth == "brief":
        yield from _wrapped(
            width,
            0,
            "With reasons: rmwbench published claims SOURCE, --heading TEXT or --verdict NAME",
            "",
        )
    if depth != "cells":
        yield from _wrapped(width, 0, "With every cell: rmwbench published claims CLAIM", "")


def _plain(markdown: str) -> str:
    return markdown.replace("**", "").replace("`", "")


def _wrapped(
    width: int, indent: int, text: str, style: str, label: str | None = None
) -> Iterator[Text]:
    """A paragraph with a hanging indent, behind its label if any; one line where the console has no
    end."""
    first = " " * indent + ("" if label is None else f"{label:<{LABEL}}")
    rest = " " * (indent + (LABEL if label is not None else 4 if indent < INDENT else 2))
    lines = textwrap.wrap(
        printable(text),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines or [first]:
        yield Text(line, style=style)
