"""`rmwbench check SUITE`: does my robot still work with the software that is installed today, and
what has changed since the last check?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from rmwbench.cli.console import Out, page, print_answer, stderr_console
from rmwbench.cli.options import SuiteOptions, json_option, with_options
from rmwbench.command_name import command_line

if TYPE_CHECKING:
    from rmwbench.bundle import Bundle


def register(app: typer.Typer) -> None:
    app.command(
        name="check",
        help="Check a robot's suite on this machine: which candidate meets its limits, and what "
        "changed since the last check.",
        epilog="Exit code 0: the candidates of --use (by default the suite's first) meet all "
        "limits, 1: one of them misses a limit, 2: could not tell. Without limits it is the exit "
        "code of `compare` with the last check, and 2 at the first check. 130: stopped.",
    )(with_options(check))


@dataclass(frozen=True, kw_only=True)
class CheckOptions(SuiteOptions):
    use: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARM",
            help="The candidate that the robot uses: the exit code is about it; may be repeated.",
        ),
    ] = None
    last: Annotated[
        bool, typer.Option("--last", help="Run nothing: print the answer of the last check again.")
    ] = False
    as_json: Annotated[bool, json_option("Print the check document (docs/formats/check.md).")] = (
        False
    )
    out: Out = None


def check(options: CheckOptions) -> None:
    from rmwbench.robot.check import check_places
    from rmwbench.robot.check.check_document import robot_check
    from rmwbench.robot.check.check_view import view

    path = page(options.out)
    bundle = _last_campaign(options) if options.last else _run(options)
    answer = robot_check(bundle, check_places.before(bundle), options.use or ())
    print_answer(answer, view, as_json=options.as_json, page=path)
    raise typer.Exit(answer.exit_code)


def _last_campaign(options: CheckOptions) -> "Bundle":
    from rmwbench.robot.check import check_places
    from rmwbench.suite.file.load import plain
    from rmwbench.suite.file.suite_files import find, path_text, read

    path = find(options.required_suite("check"))
    name = str(plain(read(path), where=path_text(path)).get("suite", ""))
    return check_places.newest(check_places.checks_of(name, options.network))


def _run(options: CheckOptions) -> "Bundle":
    """Run the suite as `rmwbench run` does; exit if a signal stops it."""
    from rmwbench.bundle import Bundle
    from rmwbench.campaign.plan.request import Planner
    from rmwbench.campaign.start import new_campaign
    from rmwbench.cli.runs import resume_command, run_to_end
    from rmwbench.robot.check import check_places
    from rmwbench.robot.check.check_document import candidates_in_use
    from rmwbench.robot.check.check_view import NO_LIMITS
    from rmwbench.suite.file.suite_files import find, read

    name = options.required_suite("check")
    path, choice = find(name), options.choice_for(name)
    request = options.request(str(path.absolute()), until_limits=True)
    planner = Planner(read(path), request.suite_file, choice)
    suite, cells = planner.select(planner.without_absent(request)[0])
    arms = dict.fromkeys(cell.arm.name for cell in cells if not cell.arm.is_floor)
    candidates_in_use(list(arms), options.use or ())
    if suite.outcomes is None:
        stderr_console().print(NO_LIMITS, style="yellow", markup=False)
    directory = check_places.new_place(check_places.checks_of(suite.suite, options.network))
    campaign = new_campaign(request, directory, choice=choice)
    run_to_end(campaign, directory, resume_command(directory), last_command(options))
    return Bundle(directory)


def last_command(options: CheckOptions) -> str:
    """Return the command that prints the answer of a check again: those over a network have a
    folder of their own, and the answer is about the candidates of `--use`."""
    words = ["--network", options.network] if options.network else []
    words += [word for arm in options.use or () for word in ("--use", arm)]
    return command_line("check", options.required_suite("check"), *words, "--last")
