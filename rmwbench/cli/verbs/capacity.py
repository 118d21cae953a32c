"""`rmwbench capacity SUITE --workload W --limit …`: searches the highest rate (or size,
subscribers, topics) at which a limit holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.console import print_json, print_view, stderr_console
from rmwbench.cli.options import (
    SUITE,
    ArmOptions,
    json_option,
    parse_duration_s,
    parse_fraction,
    with_options,
)
from rmwbench.errors import UserError

if TYPE_CHECKING:
    from rmwbench.campaign.capacity.search_request import SearchRequest


def register(app: typer.Typer) -> None:
    app.command(
        name="capacity",
        help="Find the highest rate (or size, subscribers, topics) at which a limit holds.",
        epilog="Exit code 0: every arm has a capacity, 1: an arm does not hold the limit at any "
        "level, 2: could not tell, 130: stopped.",
    )(with_options(capacity))


@dataclass(frozen=True, kw_only=True)
class CapacityOptions(ArmOptions):
    suite: Annotated[str, SUITE]
    workload: Annotated[
        str, typer.Option(metavar="NAME", help="The workload whose level is raised.")
    ]
    limit: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help='What must hold, for example "p99 response < 5 ms, loss < 0.1 %".',
            show_default=False,
        ),
    ] = None
    limits: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The same from a limits file (docs/limits.md).", show_default=False
        ),
    ] = None
    along: Annotated[
        str, typer.Option(metavar="AXIS", help="rate, size, subscribers or topics.")
    ] = "rate"
    least: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="LEVEL",
            help="Lowest level, such as 10, 1kHz or 64kB.",
            show_default=False,
        ),
    ] = None
    most: Annotated[
        str | None, typer.Option("--to", metavar="LEVEL", help="Highest level.", show_default=False)
    ] = None
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="End after this time, such as 5m; without it, when every arm is decided.",
        ),
    ] = None
    resolution: Annotated[
        str,
        typer.Option(
            metavar="PERCENT", help="The distance of two levels; no interval is narrower."
        ),
    ] = "5%"
    seed: Annotated[int, typer.Option(min=0, help="Draws the order of arms and the schedules.")] = 0
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where the campaign goes; ./campaigns/capacity-SUITE-DATE-TIME if absent.",
        ),
    ] = None
    as_json: Annotated[
        bool, json_option("Print the capacity document (docs/formats/capacity.md).")
    ] = False

    def request(self) -> "SearchRequest":
        from rmwbench.campaign.capacity.search_request import SearchRequest

        return SearchRequest(
            suite_file=self.suite,
            workload=self.workload,
            arms=tuple(self.arm or ()),
            limit=_limit(self.limit, self.limits),
            along=self.along,
            least=self.least,
            most=self.most,
            budget_s=None if self.budget is None else parse_duration_s(self.budget),
            resolution=_resolution(self.resolution),
            seed=self.seed,
            network=self.network,
        )


def capacity(options: CapacityOptions) -> None:
    from rmwbench.bundle import Bundle
    from rmwbench.bundle.newest import new_directory
    from rmwbench.campaign.capacity.rounds import new_search
    from rmwbench.campaign.capacity.search_request import forecast
    from rmwbench.results.capacity.capacity_document import summarise
    from rmwbench.results.model import document

    directory = options.out or new_directory(f"capacity-{Path(options.suite).stem}")
    console = stderr_console()
    search = new_search(options.request(), directory, options.choice_for(options.suite))
    with search.writer, search.lab:
        console.print(forecast(search.source.space), markup=False)
        for warning in search.source.space.warnings:
            console.print(f"! {warning}", style="yellow", markup=False)
        stopped_by = search.run(console).stopped_by
    console.print(search.source.summary())
    capacity_answer = summarise(Bundle(directory))
    if options.as_json:
        print_json(document(capacity_answer))
    else:
        from rmwbench.report.capacity.capacity_view import view
        from rmwbench.report.render.html import write_html

        path = directory / "report.html"
        write_html(view(capacity_answer, draw=True), path)
        print_view(view(capacity_answer))
        typer.echo(f"report: {path}")
    if stopped_by:
        console.print(
            f"stopped by {stopped_by}; {directory} is a valid campaign of what was finished",
            markup=False,
        )
        raise typer.Exit(130)
    raise typer.Exit(code_of([arm.capacity.state for arm in capacity_answer.arms]))


def code_of(states: Sequence[str]) -> int:
    """Return 1 if an arm does not hold the limit at any level, else 2 if an arm has no data, else
    0."""
    return 1 if "below" in states else 2 if "no data" in states else 0


def _limit(text: str | None, file: Path | None) -> str:
    """Return the limit in words, as the campaign stores it. Raises UserError unless exactly one of
    the two options is given."""
    from rmwbench.analysis.capacity.limit import EXAMPLE, of_limits
    from rmwbench.suite.file.limits_file import read_limits

    if (text is None) == (file is None):
        raise UserError(
            "a search needs one limit",
            where="--limit, --limits",
            expected=f'--limit "{EXAMPLE}", or --limits FILE',
            actual="neither" if text is None else "both",
        )
    if file is None:
        return str(text)
    return of_limits(read_limits(file).document(), str(file)).text


def _resolution(text: str) -> float:
    """Return the resolution as a fraction. A bare number of 1 or more is refused, since it probably
    means per cent."""
    value = parse_fraction(text) or 0.0
    is_bare = "%" not in text and value >= 1
    if is_bare or not 0.01 <= value <= 1:
        raise UserError(
            f"`{text}` is not a valid resolution",
            where="--resolution",
            expected="1% to 100%",
            actual=text,
            fix=f"did you mean `{text.strip()}%`?" if is_bare and value <= 100 else None,
        )
    return value
