"""`rmwbench`: collects the verbs, and turns every error into one message and an exit code.

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

from rmwbench.cli.console import HELP_OPTIONS, PlainGroup, StdoutRefused, make_streams_safe
from rmwbench.command_name import MORE, NEEDED, VERBS, as_typed
from rmwbench.errors import UserError

MODULES = {
    **{verb: f"machine.{verb}" for verb in ("doctor", "calibrate", "middlewares", "clean")},
    "published": "published",
}
"""The modules of verbs that are not in `verbs`."""

EARLIER_NAMES = {
    **{
        verb: f"published {verb}"
        for verb in ("claims", "figures", "import", "questionnaire", "community")
    },
    "evaluate": "published report",
}
"""Earlier name -> the verb as it is called since 2026-12. The earlier name still runs it."""

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
    "middlewares build",
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


def _print_version(is_given: bool) -> None:
    if is_given:
        from importlib.metadata import version

        typer.echo(f"rmwbench {version('rmwbench')}")
        raise typer.Exit


class _Verbs(PlainGroup):
    SECTIONS: ClassVar = {"Commands": NEEDED, "More": MORE}


def _app(first_word: str) -> typer.Typer:
    """Return an app with the verb `first_word` alone, or with all verbs if no verb has this
    name."""
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

    for verb in (first_word,) if first_word in VERBS else VERBS:
        import_module(f"{__package__}.{MODULES.get(verb, f'verbs.{verb}')}").register(app)
    return app


MACHINE_ERRORS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENAMETOOLONG, errno.ELOOP),
)
"""Errors that the machine may answer to any file operation. They are no mistakes of rmwbench, and
no crash report is written for them."""


COLLECTION_THRESHOLD = 100_000
"""The number of new objects between two garbage collections. With Python's 700, `show`, `report`
and `claims` spend 3 to 12 % of their time on the search for cycles among modules and tables."""


def main(arguments: list[str] | None = None) -> None:
    """Run a verb and exit the process."""
    gc.set_threshold(COLLECTION_THRESHOLD)
    make_streams_safe()
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not epoch.isdigit() or len(epoch) > 11:
        # NumPy reads this variable, and does not load if it is not a time.
        del os.environ["SOURCE_DATE_EPOCH"]
    columns = os.environ.get("COLUMNS", "")
    if not columns.isascii() or not columns.strip("0"):
        os.environ.pop("COLUMNS", None)  # at a width of 0, rich prints nothing
    try:
        _run_verb(_with_current_name(sys.argv[1:] if arguments is None else arguments))
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
        if isinstance(error, OSError) and error.errno in MACHINE_ERRORS:
            place = f"{error.filename}: " if error.filename else ""
            _fail(
                f"{place}{error.strerror}\n  do: make room or give access there, or use another "
                "place"
            )
        from rmwbench.cli.crash_report import crash_message

        _fail(crash_message(error))


def _fail(text: str) -> NoReturn:
    """Print one error on stderr, without control characters, and exit with code 2."""
    from rmwbench.words.printable import printable

    with suppress(OSError):  # stderr may be full, too; the exit code still tells the failure
        typer.echo(f"error: {printable(text)}", err=True)
    sys.exit(2)


def _with_current_name(arguments: list[str]) -> list[str]:
    """Return the command line with the current name of its verb; a line on stderr tells of an
    earlier name."""
    current = EARLIER_NAMES.get(_first_word(arguments))
    if current is None:
        return arguments
    with suppress(OSError):
        typer.echo(as_typed(f"`{arguments[0]}` is now `rmwbench {current}`"), err=True)
    return [*current.split(), *arguments[1:]]


def _run_verb(arguments: list[str]) -> None:
    """Run the verb and exit the process.

    A reader that closes the pipe early (`| head`) has all that it needs: that is a success, except
    for a verb whose exit code is an answer. It had no time to give the answer, so its code is 2.
    """
    code: str | int | None = 0
    stdout = _stdout_copy()
    try:
        try:
            command = typer.main.get_command(_app(_first_word(arguments)))
            command.main(arguments, prog_name="rmwbench")
        except SystemExit as end:
            # rich and click make 1 of a broken pipe, which would read as "no".
            broken = isinstance(end.__context__, BrokenPipeError) and _has_no_reader(stdout)
            code = _broken_pipe_code(arguments) if broken else end.code
        if stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _has_no_reader(stdout):
            raise
        code = code or _broken_pipe_code(arguments)
    except StdoutRefused as error:
        _discard_stdout()
        raise UserError(
            "the answer cannot be written to stdout",
            actual=error.strerror,
            fix="make room where it goes",
        ) from error
    if _has_no_reader(stdout):
        _discard_stdout()
    sys.exit(code)


def _discard_stdout() -> None:
    """Send the buffered rest to /dev/null, since writing it would fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _broken_pipe_code(arguments: list[str]) -> int:
    return 2 if any(" ".join(arguments[:words]) in ANSWERING_VERBS for words in (1, 2, 3)) else 0


def _first_word(arguments: list[str]) -> str:
    return arguments[0] if arguments else ""


def _stdout_copy() -> int | None:
    """Duplicate the descriptor of stdout: rich turns the first into /dev/null when its pipe
    breaks."""
    try:
        return os.dup(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return None


def _has_no_reader(stdout: int | None) -> bool:
    """Whether stdout is a pipe without a reader. A broken pipe elsewhere, such as a worker's
    socket, is a mistake of rmwbench and is reported as one."""
    if stdout is None:
        return False
    poll = select.poll()
    poll.register(stdout, select.POLLOUT)
    return any(event & select.POLLERR for _, event in poll.poll(0))
