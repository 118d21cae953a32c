"""`rmwbench decide --limits FILE [DIR…]`: decides from campaigns which candidate meets one user's
limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from rmwbench.cli.console import Out, page, print_answer
from rmwbench.cli.options import json_option, with_options
from rmwbench.errors import UserError

EXIT_CODES: Mapping[str, int] = {"meets": 0, "misses": 1, "open": 2}


def register(app: typer.Typer) -> None:
    app.command(
        name="decide",
        help="Decide for one robot: which candidate meets all of its limits, with what "
        "probability, and why.",
        epilog="Exit code 0: a candidate meets all limits (on every machine, if the campaigns are "
        "of several), 1: every candidate misses one, 2: cannot tell.",
    )(with_options(decide))


@dataclass(frozen=True, kw_only=True)
class DecideOptions:
    directories: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR]...",
            help="Campaigns of suites; those of one machine are pooled. The newest below "
            "./campaigns if absent.",
        ),
    ] = None
    limits: Annotated[
        Path | None,
        typer.Option(
            "--limits",
            metavar="FILE",
            help="What the robot needs (docs/limits.md).",
            show_default=False,
        ),
    ] = None
    out: Out = None
    as_json: Annotated[bool, json_option("Print the decide document (docs/formats/decide.md).")] = (
        False
    )


def decide(options: DecideOptions) -> None:
    from rmwbench.bundle import Bundle
    from rmwbench.bundle.newest import newest_campaign
    from rmwbench.report.decision_view import view
    from rmwbench.results.decide.decide_document import summarise
    from rmwbench.suite.file.limits_file import read_limits

    if options.limits is None:
        raise UserError(
            "no limits are named",
            where="--limits",
            expected="a limits file (docs/limits.md)",
            fix="copy one of limits/ and set your numbers",
        )
    path = page(options.out)
    limits = read_limits(options.limits)
    bundles = [Bundle(directory) for directory in options.directories or [newest_campaign()]]
    decision = summarise(bundles, limits)
    print_answer(decision, view, as_json=options.as_json, page=path)
    raise typer.Exit(EXIT_CODES[decision.outcome])
