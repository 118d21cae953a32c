"""`rmwbench show [DIR]`: shows the answer of a campaign in the terminal, or prints it as the show
document for scripts and gates."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.console import print_answer
from rmwbench.cli.options import json_option, with_options
from rmwbench.cli.runs import exit_code
from rmwbench.command_name import command_line
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.report.view import View
    from rmwbench.results.show_model import SuiteAnswer


def register(app: typer.Typer) -> None:
    app.command(
        name="show",
        help="Show a campaign's answer: a table per workload, and what to conclude.",
        epilog="Exit code 0, unless the suite or --limits says what is acceptable "
        "(docs/limits.md): then 1 if a condition is not acceptable, 2 if that is not known.",
    )(with_options(show))


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    campaign: Annotated[
        str | None,
        typer.Argument(
            metavar="[DIR[:SELECTION]]",
            help="A campaign's directory; the newest below ./campaigns if absent. With a selection "
            "in the form of `compare`, its cells are judged among themselves: DIR:layer=rclcpp.",
        ),
    ] = None
    as_json: Annotated[bool, json_option("Print the show document (docs/formats/show.md).")] = False
    limits: Annotated[
        Path | None,
        typer.Option(
            "--limits",
            metavar="FILE",
            help="Judge by this limits file (docs/limits.md) instead of the suite's `outcomes`.",
        ),
    ] = None


def show(options: ShowOptions) -> None:
    from rmwbench.results.selection import (
        is_capacity,
        is_imported,
        open_selection,
        refuse_selection,
    )
    from rmwbench.results.show_document import summarise

    limits = None
    if options.limits is not None:
        from rmwbench.suite.file.limits_file import read_limits

        limits = read_limits(options.limits)
    bundle, selection = open_selection(options.campaign)
    command = command_line("show", bundle.directory)
    if is_capacity(bundle):
        refuse_selection(selection, command)
    if options.limits is not None and (is_imported(bundle) or is_capacity(bundle)):
        raise UserError(
            "limits are for the verdicts of a campaign alone, and none is judged here",
            where="--limits",
            expected="a campaign of `rmwbench run`",
            actual=str(bundle.directory),
            fix=command,
        )
    if is_imported(bundle):
        from rmwbench.published import imported

        print_answer(imported.summarise(bundle), imported.view, as_json=options.as_json)
        return
    if is_capacity(bundle):
        from rmwbench.report.capacity import capacity_view
        from rmwbench.results.capacity import capacity_document

        capacity_answer = capacity_document.summarise(bundle)
        print_answer(capacity_answer, capacity_view.view, as_json=options.as_json)
        return
    answer = summarise(bundle, limits, selection)
    print_answer(answer, _view, as_json=options.as_json)
    raise typer.Exit(exit_code(answer))


def _view(answer: "SuiteAnswer") -> "View":
    from rmwbench.published.campaign_section import evaluated
    from rmwbench.report.show.suite_view import view

    return view(answer, evaluated(answer))
