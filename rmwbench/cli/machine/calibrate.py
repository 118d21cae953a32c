"""`rmwbench calibrate`: does the instrument recover the injected truths, and does it declare no
difference between equal arms?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from rmwbench.cli.console import print_answer, stderr_console
from rmwbench.cli.options import json_option, with_options
from rmwbench.errors import UserError


def register(app: typer.Typer) -> None:
    app.command(
        name="calibrate",
        help="Prove the instrument on this machine: known truths, and A/A comparisons.",
        epilog="Exit code 0: all truths recovered and no A/A difference, 1: something failed, 2: "
        "could not tell, 130: stopped.",
    )(with_options(calibrate))


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    quick: Annotated[
        bool, typer.Option("--quick", help="The small grid, within three minutes on two cores.")
    ] = False
    as_json: Annotated[
        bool, json_option("Print the calibration (docs/formats/calibration.md).")
    ] = False
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where its campaigns go; ./campaigns/calibrate-DATE-TIME if absent."
        ),
    ] = None
    seed: Annotated[
        int, typer.Option(min=0, help="Draws the injected values, the order and the schedules.")
    ] = 1


def calibrate(options: CalibrateOptions) -> None:
    from rmwbench.campaign.calibrate.calibration_session import (
        CalibrationSession,
        Interrupted,
        fresh_directory,
    )
    from rmwbench.report.machine_view import calibration_view
    from rmwbench.results.machine.calibration_document import exit_code
    from rmwbench.results.model import document as as_document
    from rmwbench.results.show_document import summarise

    console = stderr_console()
    session = CalibrationSession(
        fresh_directory(options.out),
        lambda bundle: as_document(summarise(bundle)),
        console,
        quick=options.quick,
        seed=options.seed,
    )
    try:
        answer = session.run()
    except OSError as error:
        raise UserError(
            "the calibration cannot be written",
            where=error.filename or str(session.directory),
            actual=error.strerror,
            fix="make room, or choose another place with --out DIR",
        ) from error
    except Interrupted as stopped:
        console.print(f"stopped by {stopped}: nothing is stored")
        raise typer.Exit(130) from None
    print_answer(answer, calibration_view, as_json=options.as_json)
    raise typer.Exit(exit_code(answer))
