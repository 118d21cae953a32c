"""`rmwbench published figures [SOURCE]`: redraws every figure of the published evaluations as
published, as corrected, and as measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmwbench.cli.console import Html, Out, page, print_json, print_view, say_written, write_page
from rmwbench.cli.options import json_option, with_options
from rmwbench.cli.published.forms import campaigns_in, require_one_form
from rmwbench.errors import UserError
from rmwbench.input_file import name_of

if TYPE_CHECKING:
    from rmwbench.published.figures.drawn_figures import DrawnFigures
    from rmwbench.published.figures.figures_file import Figures

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class ImportedRows:
    """The rows of one kind of published data, and the names of the paths that they come from."""

    rows: Rows = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def register(app: typer.Typer) -> None:
    app.command(
        name="figures",
        help="Redraw the figures of the published evaluations: as published, as corrected, as "
        "measured.",
    )(with_options(figures))


@dataclass(frozen=True, kw_only=True)
class FiguresOptions:
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE]", help="A shipped source or a figures file; all if absent."
        ),
    ] = None
    data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="The original's data, or a bundle that was imported; the shipped points if "
            "absent.",
        ),
    ] = None
    campaign: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="A campaign, or the directory of `claims run`; may be repeated."
        ),
    ] = None
    shipped: Annotated[
        bool,
        typer.Option(
            "--shipped/--no-shipped", help="Use the measurements of the shipped claims, too."
        ),
    ] = True
    figure: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only figures whose id or title has this.")
    ] = None
    out: Out = None
    html: Html = None
    pictures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write every chart as SVG and PNG into this directory."),
    ] = None
    extract: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the points of SOURCE's figures from --data as CSV."
        ),
    ] = None
    as_json: Annotated[
        bool, json_option("Print the figures document (docs/formats/figures.md).")
    ] = False


def figures(options: FiguresOptions) -> None:
    from rmwbench.published.figures.figure_points import draw, shipped_summaries
    from rmwbench.published.figures.figures_file import load, sources

    path = page(options.out, options.html)
    names = [options.source] if options.source else sources()
    files = [load(name) for name in names]
    imported = _imported(options.data or (), files)
    if options.extract is not None:
        require_one_form(
            {
                "--extract": options.extract,
                "--out": path,
                "--pictures": options.pictures,
                "--json": options.as_json,
            }
        )
        _extract(options.extract, files, imported, bool(options.data))
        typer.echo(options.extract)
        return
    campaigns = campaigns_in(
        options.campaign or (),
        "figures",
        imported="what `rmwbench published import` made goes to --data",
    )
    campaigns += shipped_summaries() if options.shipped else []
    parts = [
        (file, *_points(name, file, imported)) for name, file in zip(names, files, strict=True)
    ]
    drawn = draw(parts, campaigns)
    if options.figure:
        text = options.figure.lower()
        drawn = drawn.filter(
            lambda figure: (
                text in figure.original.id.lower() or text in figure.original.title.lower()
            )
        )
        if not any(source.figures for source in drawn.sources):
            raise UserError("no figure has that text", where="--figure", actual=options.figure)
    _deliver(drawn, path, options.pictures, options.as_json)


def _deliver(drawn: "DrawnFigures", out: Path | None, pictures: Path | None, as_json: bool) -> None:
    """Write the page and the pictures, then print the document, or the files that were written, or
    the figures."""
    from rmwbench.published.figures.figures_view import view, write_pictures

    if out is not None:
        write_page(view(drawn, draw=True), out)
    files = write_pictures(drawn, pictures) if pictures is not None else []
    if as_json:
        return print_json(drawn.document())
    if out is not None:
        say_written(out)
    if pictures is not None:
        typer.echo(f"{len(files)} files in {pictures}")
    if out is None and pictures is None:
        print_view(view(drawn))


def _imported(paths: Sequence[Path], files: "Sequence[Figures]") -> dict[str, ImportedRows]:
    """Return what was imported of each kind that these figures draw, from data or from bundles.
    Raises UserError for data that none of them draws."""
    from rmwbench.bundle import Bundle
    from rmwbench.published.importers.imported_bundle import collect

    kinds = sorted({kind for file in files for kind in file.kinds})
    if paths and not kinds:
        raise UserError(
            "the data of these figures is not published", where="--data", fix="leave --data out"
        )
    imported: dict[str, ImportedRows] = {}
    for path in paths:
        if (path / "campaign.json").is_file():
            bundle = Bundle(path)
            kind = str((bundle.campaign.imported or {}).get("kind", "a campaign"))
            if kind not in kinds:
                raise UserError(
                    "these figures draw no such data",
                    where=str(path),
                    expected=", ".join(kinds),
                    actual=kind,
                )
            part = {kind: bundle.rows("figures")}
        else:
            part = collect(path, kinds)
        for kind, rows in part.items():
            of_kind = imported.setdefault(kind, ImportedRows())
            of_kind.rows.extend(rows)
            of_kind.names.append(name_of(path))
    return imported


def _points(
    name: str, file: "Figures", imported: Mapping[str, ImportedRows]
) -> tuple[dict[str, Rows], str]:
    """Return the rows of a source and their origin in words: the data that was given, else the
    shipped file."""
    from rmwbench.published.figures.figures_file import published_file, published_points

    own = {kind: imported[kind] for kind in file.kinds if kind in imported}
    rows_of_kind = {kind: of_kind.rows for kind, of_kind in own.items()}
    if not file.kinds:
        return {}, "what its text prints, where it prints any; its data is not published"
    if len(own) == len(set(file.kinds)):
        names = dict.fromkeys(name for of_kind in own.values() for name in of_kind.names)
        return rows_of_kind, f"imported from {', '.join(names)}"
    shipped = published_points(name)
    origin = (
        f"the points extracted from the published data ({published_file(name).name}, five digits)"
        if shipped
        else "not here"
    )
    if own:
        origin += f"; {', '.join(own)} imported"
    return shipped | rows_of_kind, origin


def _extract(
    path: Path, files: "Sequence[Figures]", imported: Mapping[str, ImportedRows], has_data: bool
) -> None:
    from rmwbench.published.figures.figures_file import points_text
    from rmwbench.whole_file import write_whole

    if len(files) != 1 or not has_data:
        raise UserError(
            "points are extracted for one source from its data",
            fix="rmwbench published figures SOURCE --data PATH --extract FILE",
        )
    missing = [kind for kind in files[0].kinds if kind not in imported]
    if missing:
        raise UserError(
            "the data lacks a kind that the figures draw",
            expected=", ".join(missing),
            where="--data",
        )
    rows_of_kind = {kind: of_kind.rows for kind, of_kind in imported.items()}
    write_whole(path, points_text(rows_of_kind, files[0].imported()))
