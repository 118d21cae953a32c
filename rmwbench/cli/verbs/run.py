"""`rmwbench run SUITE`: runs a campaign and shows its answer."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.options import SuiteOptions, with_options
from rmwbench.cli.runs import ENDING, NoReport, carry_out
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.campaign.run import Runner, TrialSource
    from rmwbench.cluster.placed_fleet import Placing


def register(app: typer.Typer) -> None:
    app.command(name="run", help="Run a suite, and show the answer.", epilog=ENDING)(
        with_options(run)
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions(SuiteOptions):
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Where the campaign goes; ./campaigns/SUITE-DATE-TIME if absent. With --cluster "
            "also s3://… and the like: a copy there after each block.",
        ),
    ] = None
    series: Annotated[
        str | None,
        typer.Option(
            metavar="RATE", help="Sample CPU, memory and network within the window, such as 10Hz."
        ),
    ] = None
    threads: Annotated[
        bool, typer.Option("--threads", help="Record CPU and wait of every thread, too.")
    ] = False
    schedule: Annotated[
        bool,
        typer.Option(
            "--schedule",
            help="Trace when each thread gets a processor. Tracing disturbs: latencies of traced "
            "trials are not comparable.",
        ),
    ] = False
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run the trials on the machines of this Ray cluster: auto, HOST:PORT or "
            "ray://HOST:PORT.",
        ),
    ] = None
    place: Annotated[
        str | None,
        typer.Option(
            metavar="HOST=MACHINE,…",
            help="With --cluster: the machine of each host of a workload, over the real network "
            "between them; MACHINE@ADDRESS if the others reach it at another address than Ray.",
        ),
    ] = None
    gang: Annotated[
        bool,
        typer.Option(
            "--gang",
            help="With --cluster: the same on any equal machines, as many trials at once as fit.",
        ),
    ] = False
    no_report: NoReport = False


def run(options: RunOptions) -> None:
    from rmwbench.bundle.newest import new_directory
    from rmwbench.campaign.start import new_campaign

    suite, out, cluster = options.required_suite("run"), options.out, options.cluster
    is_remote = out is not None and "://" in out
    directory = new_directory(Path(suite).stem) if out is None or is_remote else Path(out)
    if is_remote and cluster is None:
        raise UserError(
            "only a campaign on a cluster writes to another filesystem",
            where="--out",
            expected="a directory, or --cluster ADDRESS with it",
            actual=out,
            fix="run it into a directory, then copy that",
        )
    if cluster is None and (options.place is not None or options.gang):
        option = "--gang" if options.place is None else "--place"
        raise UserError(
            f"{option} is about the machines of a cluster",
            expected=f"{option} together with --cluster ADDRESS",
            fix="see docs/cluster.md; without both, hosts are namespaces of this machine",
        )
    request = options.request(suite, sampling=_sampling(options))
    campaign: Runner[TrialSource]
    if cluster is None:
        campaign = new_campaign(request, directory, choice=options.choice_for(suite))
    else:
        from rmwbench.cluster import cluster_start

        copy_to, placing = out if is_remote else None, _placing(options)
        campaign = cluster_start.new_campaign(
            cluster, copy_to, placing, request, directory, choice=options.choice
        )
    carry_out(campaign, directory, options.no_report, cluster)


def _placing(options: RunOptions) -> "Placing | None":
    """Return which machines hosts are, None if a trial is on one machine."""
    from rmwbench.cluster import placed_fleet

    if options.place is not None and options.gang:
        raise UserError(
            "--place and --gang contradict each other",
            fix="--place names the machines, --gang takes any like machines",
        )
    if options.place is not None:
        return placed_fleet.parse_place(options.place)
    return placed_fleet.Placing() if options.gang else None


def _sampling(options: RunOptions) -> dict[str, float | bool]:
    """Return what the options add to the suite's own `sampling`. Raises UserError for an invalid
    rate."""
    sampling: dict[str, float | bool] = {
        name: True for name in ("threads", "schedule") if getattr(options, name)
    }
    series = options.series
    if series is not None:
        number = series.strip().lower().removesuffix("hz").strip()
        try:
            rate = float(number)
        except ValueError:
            rate = -1.0
        if not 0 < rate <= 100:
            raise UserError(
                "this is not a rate for a series",
                where="--series",
                expected="10Hz; at most 100Hz",
                actual=series,
            )
        sampling["series_hz"] = rate
    return sampling
