"""`rmwbench run SUITE`: runs a campaign and shows its answer."""

import functools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.options import SuiteOptions, taking
from rmwbench.cli.runs import ENDING, NoReport, carry_out
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmwbench.campaign.run import Runner, TrialSource


def register(app: typer.Typer) -> None:
    app.command(name="run", help="Run a suite, and show the answer.", epilog=ENDING)(
        taking(RunOptions, run)
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
        bool, typer.Option("--threads", help="CPU and wait of every thread as well.")
    ] = False
    schedule: Annotated[
        bool,
        typer.Option(
            "--schedule",
            help="Trace when each thread got a processor. It disturbs: latencies of traced trials "
            "are not comparable.",
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
            help="With --cluster: each host of a workload is this machine, over the network that "
            "is really between them; MACHINE@ADDRESS where the others reach it at another address "
            "than Ray.",
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
    from rmwbench.bundle.newest import CAMPAIGNS
    from rmwbench.campaign.start import new_campaign

    suite, out, cluster = options.suite_named("run"), options.out, options.cluster
    remote = out is not None and "://" in out
    default = CAMPAIGNS / f"{Path(suite).stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    directory = default if out is None or remote else Path(out)
    if remote and cluster is None:
        raise UserError(
            "only a campaign on a cluster writes to another filesystem",
            where="--out",
            expected="a directory, or --cluster ADDRESS besides",
            actual=out,
            fix="run it into a directory, then copy that",
        )
    if cluster is None and (options.place is not None or options.gang):
        raise UserError(
            f"{'--place' if options.place is not None else '--gang'} is about the machines of a "
            "cluster",
            expected="--cluster ADDRESS besides",
            fix="see docs/cluster.md; without both, hosts are namespaces of this machine",
        )
    request = options.request(suite, sampling=_sampling(options))
    begin = (
        new_campaign
        if cluster is None
        else _new_on(cluster, out if remote else None, options.place, options.gang)
    )
    compared = options.compared(suite) if cluster is None else options.choice
    campaign = begin(request, directory, choice=compared)
    carry_out(campaign, directory, options.no_report, cluster)


def _new_on(
    address: str, copy_to: str | None, placement: str | None, gang: bool
) -> "Callable[..., Runner[TrialSource]]":
    from rmwbench.cluster import placing
    from rmwbench.cluster.cluster_start import new_campaign

    if placement is not None and gang:
        raise UserError(
            "--place and --gang contradict each other",
            fix="--place names the machines, --gang takes any like ones",
        )
    placed = (
        placing.parse(placement) if placement is not None else placing.Placing() if gang else None
    )
    return functools.partial(new_campaign, address, copy_to, placed)


def _sampling(options: RunOptions) -> dict[str, float | bool]:
    """What was asked for beyond the suite's own `sampling`. Raises UserError."""
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
