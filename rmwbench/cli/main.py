"""`rmwbench`: collects the verbs, and turns what can go wrong into one clear message and an exit code.

Exit codes: 0 yes, 1 no, 2 could not tell (bad input included), 130 interrupted. Verbs are imported by name, and
import what they need only when they run: the help must not wait half a second for Arrow and charts.
"""

import os
import select
import sys
from importlib import import_module
from keyword import iskeyword
from typing import Annotated

import typer

VERBS = (
    *("doctor", "calibrate", "middlewares", "plan", "run", "show", "explain", "report"),
    *("compare", "capacity", "query", "import", "community", "claims", "questionnaire", "figures", "clean"),
)
"""In the order of the help, which is the one in which a newcomer wants them."""

GATES = ("doctor", "calibrate", "compare", "capacity")
"""Verbs whose exit code is an answer."""

HELP = """
Which robot middleware, configured how, will carry your robot's traffic, on your machine, over your network?

rmwbench runs the real middlewares through the same workloads in interleaved trials, records every message, and \
answers with an interval: better, worse, equivalent, or undecided. Start with `rmwbench doctor`, then \
`rmwbench run quick`.

Exit codes: 0 yes, 1 no, 2 could not tell.
"""


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"rmwbench {version('rmwbench')}")
        raise typer.Exit


def _app() -> typer.Typer:
    app = typer.Typer(
        name="rmwbench", help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
    )

    @app.callback()
    def _rmwbench(
        version: Annotated[
            bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
        ] = False,
    ) -> None: ...

    for verb in VERBS:
        # A module may not have a keyword's name: `import` is in import_.py.
        import_module(f"{__package__}.{verb}{'_' * iskeyword(verb)}").register(app)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Runs a verb and exits the process."""
    from rmwbench.errors import UserError

    try:
        _guarded(arguments)
    except UserError as error:
        typer.echo(f"error: {error.render()}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _guarded(arguments: list[str] | None) -> None:
    """Runs the verb. A reader that closed the pipe early (`| head`) has what it wanted, so that is a success; a verb
    whose exit code is an answer, and that had no time to give it, could not tell."""
    code: object = 0
    stdout = _stdout()
    try:
        try:
            typer.main.get_command(_app()).main(arguments, prog_name="rmwbench")
        except SystemExit as end:
            # rich and click make 1 of a broken pipe, which would read as "no".
            broken = isinstance(end.__context__, BrokenPipeError) and _reader_gone(stdout)
            code = _unanswered(arguments) if broken else end.code
        if stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _reader_gone(stdout):
            raise
        code = code or _unanswered(arguments)
    if stdout is not None and _reader_gone(stdout):
        # What is still buffered would fail again when the interpreter flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _unanswered(arguments: list[str] | None) -> int:
    verb = next(iter(sys.argv[1:] if arguments is None else arguments), "")
    return 2 if verb in GATES else 0


def _stdout() -> int | None:
    """A second descriptor of stdout: rich turns the first into /dev/null when its pipe breaks."""
    try:
        return os.dup(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return None


def _reader_gone(stdout: int | None) -> bool:
    """Whether stdout is a pipe without reader. A broken pipe of anything else, such as a worker's socket, is a bug
    and stays one."""
    if stdout is None:
        return False
    poll = select.poll()
    poll.register(stdout, select.POLLOUT)
    return any(event & select.POLLERR for _, event in poll.poll(0))
