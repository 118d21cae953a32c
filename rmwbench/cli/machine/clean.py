"""`rmwbench clean [DIR]`: removes what a campaign left behind after a power cut or a `kill -9`.

The processes and files of a trial die with its host's init, which dies with its orchestrator, so
there is normally nothing to do.
"""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command(
        name="clean",
        help="Remove what dead campaigns of this user left behind; nothing else is touched.",
    )(clean)


def clean(
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="Also settle the journal of this campaign and remove the tables that a killed "
            "step of it left; any other file in DIR stays.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
) -> None:
    from rmwbench.campaign.dead_campaign import settle
    from rmwbench.lab.host.hosts import remove_directories, remove_strays

    verb = "would remove" if dry_run else "removed"
    strays = remove_strays(dry_run)
    for stray in strays:
        print(
            f"{verb} process {stray.pid}, host of {stray.marker.name} of the dead orchestrator "
            f"{stray.marker.pid}"
        )
    directories = remove_directories(dry_run)
    for host_directory in directories:
        print(f"{verb} {host_directory}, of hosts of a dead orchestrator")
    settled = settle(directory, dry_run) if directory else []
    for text in settled:
        print(f"{verb} {text}")
    if not strays and not directories and not settled:
        print("nothing was left behind")
