"""`rmwbench claims [SOURCE]`: what the published evaluations claim, and what became of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from rmwbench.suite.claims import Claims


def register(app: typer.Typer) -> None:
    app.command(name="claims", help="What five published evaluations claim: as published, as corrected, as measured.")(
        claims
    )


def claims(
    source: Annotated[
        str | None, typer.Argument(metavar="[SOURCE]", help="A shipped source or a claims file; all if absent.")
    ] = None,
    campaign: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Judge with this campaign, or with those of `run --claims`; may be repeated."),
    ] = None,
    heading: Annotated[str | None, typer.Option(metavar="TEXT", help="Only claims of headings with this text.")] = None,
    shipped: Annotated[
        bool, typer.Option("--shipped/--no-shipped", help="Also what was measured for the shipped ledger.")
    ] = True,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the ledger as a page, with links to the campaigns' reports."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write what these campaigns measured to DIR/SOURCE/measured, to be shipped with the claims.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the ledger (docs/formats/claims.md).")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/claims.md.")] = False,
) -> None:
    from rmwbench.analysis.claims_document import ledger
    from rmwbench.analysis.claims_measured import expanded
    from rmwbench.errors import UserError
    from rmwbench.suite.claims import load, sources
    from rmwbench.suite.claims_measured import shipped as summaries

    if sum(map(bool, (markdown, as_json, html, save))) > 1:
        raise UserError("one form at a time", where="--json, --markdown, --html, --save", expected="one of them")
    files = [load(name) for name in ([source] if source else sources())]
    documents = [document for directory in campaign or () for document in _documents(directory)]
    if save is not None:
        _save(files, documents, save)
        return
    there = {file.claims: [x for one in summaries(file.claims) for x in expanded(one)] for file in files if shipped}
    document = ledger(files, documents, heading=heading, shipped=there)
    if heading and not any(part["claims"] or part["headings"] for part in document["sources"]):
        raise UserError("no heading has that text", where="--heading", actual=heading)
    if as_json:
        import json

        typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))
    elif markdown:
        from rmwbench.analysis.claims_markdown import page

        typer.echo(page(document), nl=False)
    elif html is not None:
        from rmwbench.report.claims.page import write_html

        write_html(document, {found["campaign"]["name"]: found for found in documents}, html)
        typer.echo(html)
    else:
        from rich.console import Console

        _print(document, Console(highlight=False))


def _documents(directory: Path) -> list[dict[str, Any]]:
    """The show document of a campaign, or those of a directory that `rmwbench run --claims` made."""
    from rmwbench.campaign.claims.session import campaigns, is_session

    if not is_session(directory):
        return [_shown(directory)]
    return [_shown(found) | {"asked": asked} for found, asked in campaigns(directory).items()]


def _save(files: "list[Claims]", documents: list[dict[str, Any]], directory: Path) -> None:
    from rmwbench.analysis.claims_measured import file_name, measured, text
    from rmwbench.errors import UserError
    from rmwbench.suite.claims_measured import FOLDER

    if not documents:
        raise UserError("what is to be saved?", where="--save", fix="name the campaigns with --campaign DIR")
    found = [summary for file in files if (summary := measured(file, documents))]
    if not found:
        raise UserError("these campaigns say nothing of these claims", where="--save")
    for summary in found:
        path = directory / summary["source"] / FOLDER / file_name(summary)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(summary), encoding="utf-8")
        typer.echo(path)


def _shown(directory: Path) -> dict[str, Any]:
    from rmwbench.report.measured import measured

    return measured(directory, "claims")


def _print(document: dict[str, Any], console: "Console") -> None:
    from rich.text import Text

    from rmwbench.analysis.claims_markdown import here
    from rmwbench.report.terminal import printable

    document = printable(document)
    for source in document["sources"]:
        console.print(Text(f"{source['title']} ({source['published']})", style="bold"))
        last = None
        for claim in source["claims"]:
            if claim["heading"] != last:
                last = claim["heading"]
                console.print(Text(f"\n  {last}", style="underline"))
            console.print(Text(f"  {claim['id']}  {claim['says']}"))
            for label, text in _lines(claim, here(claim) if claim["kind"] != "opinion" else None):
                console.print(Text(f"      {label:<10} {text}", style="" if label == "today" else "dim"))
        for entry in source["headings"]:
            console.print(Text(f"\n  {entry['heading']}: no claims, {entry['reason']}", style="dim"))
        console.print()
    s = document["summary"]
    counts = "; ".join(f"{name} {n}" for name, n in s["published"].items())
    console.print(f"{s['claims']} claims, {s['opinions']} of them opinions. As published: {counts}.")
    if s["today"] or document["campaigns"]:
        today = "; ".join(f"{name} {n}" for name, n in s["today"].items()) or "none of them in these campaigns"
        console.print(f"Today: {today}.")


def _lines(claim: dict[str, Any], experiment: str | None) -> list[tuple[str, str]]:
    if experiment is None:
        return [("opinion", "listed, not judged")]
    found = [("printed", claim["figure"])] if claim["figure"] else []
    for key in ("published", "corrected"):
        if claim[key]:
            found.append((key, f"{claim[key]['verdict']}: {claim[key]['why']}"))
    found.append(("test", experiment))
    for today in claim["today"]:
        decided = f"{today['verdict']}: " if today["verdict"] in ("supported", "refuted") else ""
        found.append(("today", decided + today["text"]))
        if len(today["cells"]) > 1 or any(cell["reason"] for cell in today["cells"]):
            found += [("", _cell(cell, today["unit"])) for cell in today["cells"]]
    return found


def _cell(cell: dict[str, Any], unit: str) -> str:
    import math

    from rmwbench.analysis.claims_words import interval

    if cell["reason"]:
        return f"{cell['workload']}: {cell['answer']}, {cell['reason']}"
    between = f"{cell['left']} ÷ {cell['right']}" if cell["right"] else cell["left"]
    numbers = [math.inf if cell[key] == "inf" else cell[key] for key in ("value", "low", "high")]
    return f"{cell['workload']}: {cell['answer']}, {between} {interval(*numbers, unit)}"
