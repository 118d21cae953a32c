"""`rmwbench twin BAG`: makes a suite of the traffic in a bag, and compares its traffic with the
bag's."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from rmwbench.cli.console import print_view, say, stderr_console
from rmwbench.cli.options import complete_candidate, parse_duration_s, with_options
from rmwbench.input_file import name_of

if TYPE_CHECKING:
    from rmwbench.robot.twin.suite_text import SuiteStyle
    from rmwbench.robot.twin.traffic import BagTraffic
    from rmwbench.robot.twin.twin_likeness import TwinLikeness
    from rmwbench.robot.twin.twin_model import Twin

ENDING = (
    "Exit code 0: the suite is written, and its traffic is like the bag's if that was checked; 1: "
    "it is not, and the topics that differ are named; 2: it could not be made or played."
)
ANONYMOUS = "a robot"
PROGRESS_STEP = 0.002
"""The share of a bag between two drawings of the progress."""


def register(app: typer.Typer) -> None:
    app.command(
        name="twin",
        help="Make a suite of a bag: your robot's traffic, to run with every middleware.",
        epilog=ENDING,
    )(with_options(twin))


@dataclass(frozen=True, kw_only=True)
class TwinOptions:
    bag: Annotated[
        Path,
        typer.Argument(
            metavar="BAG",
            help="A directory of rosbag2, one of its files (.mcap, .db3, compressed or not), or a "
            "metadata.yaml alone.",
        ),
    ]
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The file of the suite; stdout if absent."
        ),
    ] = None
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|domain:N",
            help="Who publishes and subscribes: what `ros2 topic echo --once /rosgraph` printed, or "
            "a domain that the sourced ROS 2 joins to read it.",
        ),
    ] = None
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Replace the names of topics, nodes and own types.")
    ] = False
    check: Annotated[
        bool,
        typer.Option("--check", help="Play the twin with one middleware, and compare it with BAG."),
    ] = False
    candidate: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="NAME",
            help="The candidate that plays it.",
            autocompletion=complete_candidate,
        ),
    ] = "cyclonedds untouched"
    duration: Annotated[
        str, typer.Option("--for", metavar="TIME", help="How long --check plays it.")
    ] = "20s"
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="BAG", help="Compare with another bag, such as one recorded of the twin."
        ),
    ] = None


def twin(options: TwinOptions) -> None:
    from rmwbench.robot.twin.graph import read_graph
    from rmwbench.robot.twin.twin_likeness import likeness
    from rmwbench.robot.twin.twin_model import anonymous, make_twin

    duration_s = parse_duration_s(options.duration, "--for")
    graph = read_graph(options.graph) if options.graph else ()
    source = _read(options.bag)
    if options.against is not None:
        other_traffic = _read(options.against)
        _end_with(likeness(source, other_traffic), name_of(options.bag), name_of(options.against))
    if options.anonymous:
        source, graph = anonymous(source, graph)
    robot_twin = make_twin(source, graph)
    _write(options, robot_twin)
    if options.check:
        played_likeness = _play(options, robot_twin, duration_s)
        by = options.candidate
        _end_with(played_likeness, name_of(options.bag), f"played by {by}", by)


def _read(path: Path) -> "BagTraffic":
    """Read a bag's traffic, with a line of progress on a terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    from rmwbench.robot.twin.traffic import read_traffic

    columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress("reading", *columns, console=stderr_console(), transient=True) as meter:
        task = meter.add_task("", total=1.0)
        last_share = 0.0

        def progress(share: float) -> None:
            nonlocal last_share
            if share >= last_share + PROGRESS_STEP:
                last_share = share
                meter.update(task, completed=share)

        return read_traffic(path, progress)


def _style(options: TwinOptions) -> "SuiteStyle":
    from rmwbench.robot.twin.suite_text import SuiteStyle

    file = options.out.name if options.out else "my-robot.yaml"
    name = re.sub(r"[^A-Za-z0-9_-]", "-", Path(file).stem).lstrip("-_") or "my-robot"
    source = ANONYMOUS if options.anonymous else name_of(options.bag)
    return SuiteStyle(name=name[:100], file=file, source=source)


def _write(options: TwinOptions, robot_twin: "Twin") -> None:
    """Write the suite file, or print it. The suite is loaded before that, since one that does not
    load is a mistake of rmwbench."""
    from rmwbench.campaign.plan.default_arms import native_arms
    from rmwbench.command_name import command_line
    from rmwbench.robot.twin.suite_text import suite_text
    from rmwbench.suite.file.candidate_list import Choice
    from rmwbench.suite.file.load import parse
    from rmwbench.whole_file import write_whole
    from rmwbench.words.numbers import counted

    text = suite_text(robot_twin, _style(options))
    parse(text, where=str(options.out or "the twin"), choice=Choice(native_arms()))
    if options.out is None:
        if not options.check:
            print(text, end="")
        return
    write_whole(options.out, text)
    heavy = [topic.traffic.name for topic in robot_twin.topics if topic.heavy]
    say(f"{options.out}: {counted(len(robot_twin.topics), 'topic')}")
    if heavy:
        say(f"98 % of the bytes: {', '.join(heavy)}")
    say(f"next: {command_line('plan', options.out)}")


def _play(options: TwinOptions, robot_twin: "Twin", duration_s: float) -> "TwinLikeness":
    """Run the twin for `duration_s` and return how like its traffic is to the bag's."""
    from rmwbench.bundle.newest import new_directory
    from rmwbench.robot.twin.play import ONE_BLOCK, play
    from rmwbench.robot.twin.twin_likeness import likeness

    style = replace(
        _style(options),
        arms=(json.dumps(options.candidate),),
        blocks=ONE_BLOCK,
        steady_s=duration_s,
        limits=False,
    )
    directory = new_directory(f"{style.name}-twin")
    return likeness(robot_twin.read_traffic, play(robot_twin, style, directory, stderr_console()))


def _end_with(
    measured_likeness: "TwinLikeness", source: str, other_name: str, middleware: str | None = None
) -> NoReturn:
    from rmwbench.robot.twin.likeness_view import view

    print_view(view(measured_likeness, source, other_name, middleware))
    raise typer.Exit(0 if measured_likeness.alike else 1 if measured_likeness.judged else 2)
