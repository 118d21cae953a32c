"""The ledger in a terminal: all of it in brief, a part of it with reasons, a claim that was named
with every cell.

A line says what was found and how it was tested; where the document has answers of several
campaigns or layers, the first stands for the claim and the others follow it.
"""

import math
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from rmwbench.published.claims.markdown import answered, here
from rmwbench.published.claims.state import counts
from rmwbench.published.claims.words import interval
from rmwbench.words import numbers as fmt
from rmwbench.words.printable import printable

Depth = Literal["brief", "reasons", "cells"]
INDENT, LABEL = 6, 11


def print_ledger(document: Mapping[str, Any], console: Console, depth: Depth) -> None:
    document = printable(document)
    lines = [line for source in document["sources"] for line in _of_source(source, console, depth)]
    lines += _summary(document, max(40, console.width), depth)
    # at once: a call for each of a thousand lines takes longer than all that is in them
    console.print(Text("\n").join(lines), soft_wrap=True)


def _of_source(source: Mapping[str, Any], console: Console, depth: Depth) -> Iterator[Text]:
    width = max(40, console.width)
    title = Text(f"{source['title']} ({source['published']})", style="bold")
    yield from title.wrap(console, console.width)
    last = None
    for claim in source["claims"]:
        if claim["heading"] != last:
            last = claim["heading"]
            if depth != "brief":
                yield Text()
            yield from Text(f"  {last}", style="underline").wrap(console, console.width)
        yield from _of_claim(source, claim, width, depth)
    if depth == "brief" and source["headings"]:
        yield from _wrapped(width, 2, f"headings without claims: {len(source['headings'])}", "dim")
    for entry in source["headings"] if depth != "brief" else ():
        yield Text()
        yield from _wrapped(width, 2, f"{entry['heading']}: no claims, {entry['reason']}", "dim")
    yield Text()


def _of_claim(
    source: Mapping[str, Any], claim: Mapping[str, Any], width: int, depth: Depth
) -> Iterator[Text]:
    figure = f" ({claim['figure']})" if claim["figure"] and depth != "brief" else ""
    yield from _wrapped(width, 2, f"{claim['id']}  {claim['says']}{figure}", "")
    if depth == "brief":
        yield from _wrapped(width, INDENT, _in_brief(claim), "dim")
        return
    for label, text in _lines(source, claim, depth):
        yield from _wrapped(width, INDENT, text, "" if label == "here" else "dim", label)


def _in_brief(claim: Mapping[str, Any]) -> str:
    if claim["state"] == "opinion":
        return "opinion"
    judged = ["ours"] if claim["inferred"] else []
    judged += [f"{key} {claim[key]['verdict']}" for key in ("published", "corrected") if claim[key]]
    found = (
        claim["state"]
        if claim["state"] == "not testable here"
        else f"here {_plain(answered(claim))}"
    )
    return "; ".join([*judged, found]).replace(
        "published data not published", "its data is not published"
    )


def _lines(
    source: Mapping[str, Any], claim: Mapping[str, Any], depth: Depth
) -> Iterator[tuple[str, str]]:
    if claim["state"] == "opinion":
        yield "opinion", "listed, not judged"
        return
    if claim["place"]:
        yield "place", claim["place"]
    if claim["inferred"]:
        yield "ours", f"not said by the source, but inferred {claim['inferred']}"
    for key in ("published", "corrected"):
        if claim[key]:
            p = "" if claim[key]["p"] is None else f" (p = {claim[key]['p']:g})"
            yield key, f"{claim[key]['verdict']}: {claim[key]['why']}{p}"
    do = f" (nothing measured yet: {source['run']})" if claim["state"] == "open" else ""
    if not claim["today"]:
        yield "here", _plain(answered(claim)) + do if claim["test"] else _plain(here(claim))
    for n, today in enumerate(claim["today"]):
        yield "here" if n == 0 else "also", _plain(answered({**claim, "today": [today]}))
        if depth == "cells":
            yield from _in_full(today)
    if claim["test"]:
        yield "experiment", _plain(here(claim, verdict=False))


def _in_full(today: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Arms, versions and machine, then every cell."""
    where = (
        f"{today['machine'] or 'this machine'}, {today['date']}, {', '.join(today['campaigns'])}"
    )
    yield "", f"{', '.join(today['arms'])}; {where}"
    if today["proxy"]:
        yield "", "proxy: " + "; ".join(today["proxy"])
    for cell in today["cells"]:
        yield "", _cell(cell)


def _cell(cell: Mapping[str, Any]) -> str:
    if cell["low"] is None:
        return f"{cell['workload']}: {cell['answer']}, {cell['reason']}"
    between = f"{cell['left']} ÷ {cell['right']}" if cell["right"] else cell["left"]
    numbers = [math.inf if cell[key] == "inf" else cell[key] for key in ("value", "low", "high")]
    reason = f" ({cell['reason']})" if cell["reason"] else ""
    return (
        f"{cell['workload']}: {cell['answer']}, {between} "
        f"{interval(*numbers, cell['unit'])}{reason}"
    )


def _summary(document: Mapping[str, Any], width: int, depth: Depth) -> Iterator[Text]:
    summary = document["summary"]
    yield from _wrapped(
        width, 0, f"{fmt.counted(summary['claims'], 'statement')}: {counts(summary)}.", "bold"
    )
    for key in ("published", "corrected"):
        told = ", ".join(f"{name} {n}" for name, n in summary[key].items())
        if told:
            yield from _wrapped(width, 0, f"As {key}: {told}.", "")
    if summary["states"]["open"]:
        runs = dict.fromkeys(
            source["run"]
            for source in document["sources"]
            for c in source["claims"]
            if c["state"] == "open"
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
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines or [first]:
        yield Text(line, style=style)
