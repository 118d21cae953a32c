"""`rmwbench`: collects the verbs, and turns what can go wrong into one clear message and an exit
code.

Exit codes: 0 yes, 1 no, 2 could not tell (bad input included), 130 interrupted. Verbs are imported
by name, and import what they need only when they run: the help must not wait half a second for
Arrow and charts.
"""

import errno
import gc
import os
import select
import sys
from contextlib import suppress
from importlib import import_module
from typing import Annotated, ClassVar, NoReturn

import typer

from rmwbench.cli.help import HELP_OPTIONS, PlainGroup
from rmwbench.command_name import MORE, NEEDED, VERBS, as_typed
from rmwbench.errors import UserError

MODULES = {
    **{verb: f"machine.{verb}" for verb in ("doctor", "calibrate", "middlewares", "clean")},
    "twin": "robot.twin",
    "published": "published.group",
    "check": "robot.check",
}
"""The modules of verbs that are not in `verbs`."""

EARLIER = {
    **{
        verb: f"published {verb}"
        for verb in ("claims", "figures", "import", "questionnaire", "community")
    },
    "evaluate": "published report",
}
"""Verbs that had a name of their own before 2026-12. The earlier name still runs them."""

ANSWERING_VERBS = (
    "doctor",
    "calibrate",
    "run",
    "resume",
    "show",
    "compare",
    "capacity",
    "decide",
    "check",
    "twin",
    "published report",
    "published claims run",
)
"""Verbs whose exit code is an answer."""

HELP = """
Which robot middleware, configured how, will carry your robot's traffic, on your machine, over your network?

rmwbench runs the real middlewares through the same workloads in interleaved trials, records every message, and \
answers with an interval: better, worse, equivalent, or undecided. Start with `rmwbench doctor`, then \
`rmwbench run quick`.

Exit codes: 0 yes, 1 no, 2 could not tell.
"""


def _print_version(version_asked: bool) -> None:
    if version_asked:
        from importlib.metadata import version

        typer.echo(f"rmwbench {version('rmwbench')}")
        raise typer.Exit


class _Verbs(PlainGroup):
    SECTIONS: ClassVar = {"Commands": NEEDED, "More": MORE}


def _app(verb_asked: str) -> typer.Typer:
    """An app of the verb `verb_asked` alone, or of all verbs where that is not one of them."""
    app = typer.Typer(
        name="rmwbench",
        cls=_Verbs,
        help=HELP,
        no_args_is_help=True,
        context_settings={"help_option_names": HELP_OPTIONS},
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback()
    def _rmwbench(
        version: Annotated[
            bool,
            typer.Option(
                "--version",
                callback=_print_version,
                is_eager=True,
                help="Print the version and exit.",
            ),
        ] = False,
    ) -> None: ...

    for verb in (verb_asked,) if verb_asked in VERBS else VERBS:
        import_module(f"{__package__}.{MODULES.get(verb, f'verbs.{verb}')}").register(app)
    return app


REFUSED = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENAMETOOLONG, errno.ELOOP),
)
"""What a machine may answer to any file operation, whatever we do: no mistake of ours, so no report
of one."""


RARELY = 100_000
"""New objects between two collections. With Python's 700, 3 to 12 % of the time of `show`, `report`
and `claims` goes to looking for circles among modules and tables."""


def main(arguments: list[str] | None = None) -> None:
    """Runs a verb and exits the process."""
    from rmwbench.cli.console import make_streams_safe

    gc.set_threshold(RARELY)
    make_streams_safe()
    if (
        not os.environ.get("SOURCE_DATE_EPOCH", "0").isdigit()
        or len(os.environ.get("SOURCE_DATE_EPOCH", "0")) > 11
    ):
        # NumPy reads it, and does not load where it is not a time
        del os.environ["SOURCE_DATE_EPOCH"]
    try:
        _guarded(_renamed(sys.argv[1:] if arguments is None else arguments))
    except UserError as error:
        _fail(error.render())
    except KeyboardInterrupt:
        sys.exit(130)
    except MemoryError:
        _fail(
            "not enough memory\n  do: ask for less at once (--workload NAME, --arm NAME), or free "
            "memory"
        )
    except Exception as error:
        if isinstance(error, OSError) and error.errno in REFUSED:
            place = f"{error.filename}: " if error.filename else ""
            _fail(
                f"{place}{error.strerror}\n  do: make room or give access there, or use another "
                "place"
            )
        from rmwbench.cli.crash_report import crash_message

        _fail(crash_message(error))


def _fail(text: str) -> NoReturn:
    """One error on stderr, exit code 2. What others wrote in it does not reach the terminal as a
    control code."""
    from rmwbench.words.printable import printable

    with suppress(OSError):  # stderr may be full, too; the exit code still says it
        typer.echo(f"error: {printable(text)}", err=True)
    sys.exit(2)


def _renamed(arguments: list[str]) -> list[str]:
    """The command line with the verb's name of today; an earlier name is answered on stderr."""
    today = EARLIER.get(_verb(arguments))
    if today is None:
        return arguments
    with suppress(OSError):
        typer.echo(as_typed(f"`{arguments[0]}` is now `rmwbench {today}`"), err=True)
    return [*today.split(), *arguments[1:]]


def _guarded(arguments: list[str]) -> None:
    """Runs the verb. A reader that closed the pipe early (`| head`) has what it wanted, so that is
    a success; a verb whose exit code is an answer, and that had no time to give it, could not
    tell."""
    from rmwbench.cli.console import StdoutRefused

    code: str | int | None = 0
    stdout = _stdout()
    try:
        try:
            typer.main.get_command(_app(_verb(arguments))).main(arguments, prog_name="rmwbench")
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
    except StdoutRefused as error:
        _forget_stdout()
        raise UserError(
            "the answer cannot be written to stdout",
            actual=error.strerror,
            fix="make room where it goes",
        ) from error
    if stdout is not None and _reader_gone(stdout):
        _forget_stdout()
    sys.exit(code)


def _forget_stdout() -> None:
    """What is still buffered would fail again when the interpreter flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unanswered(arguments: list[str]) -> int:
    return 2 if any(" ".join(arguments[:words]) in ANSWERING_VERBS for words in (1, 2, 3)) else 0


def _verb(arguments: list[str]) -> str:
    """The first word of the command line, which need not be a verb."""
    return arguments[0] if arguments else ""


def _stdout() -> int | None:
    """A second descriptor of stdout: rich turns the first into /dev/null when its pipe breaks."""
    try:
        return os.dup(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return None


def _reader_gone(stdout: int | None) -> bool:
    """Whether stdout is a pipe without reader. A broken pipe of anything else, such as a worker's
    socket, is a bug and stays one."""
    if stdout is None:
        return False
    poll = select.poll()
    poll.register(stdout, select.POLLOUT)
    return any(event & select.POLLERR for _, event in poll.poll(0))
