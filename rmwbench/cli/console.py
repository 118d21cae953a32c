"""The output of all verbs, their help included. Consoles are made here alone, so that every verb
treats a pipe alike; the option `--out FILE`, which writes an answer as a page, is defined here for
the verbs that have it.

A terminal has a width, and tables and sentences are wrapped to it. A pipe or a file has none: its
text is searched by the line (`| grep`) or read by a program, so nothing is wrapped, folded or cut,
unless COLUMNS is exported, which asks for that width.
"""

import codecs
import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, cast

import typer
from typer.core import TyperGroup

from rmwbench.command_name import NAME, as_typed, calls, command
from rmwbench.whole_file import check_page, is_written_through
from rmwbench.words.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import Console
    from rich.segment import Segment
    from typer._click.core import Context

    from rmwbench.report.view import Block, View


Answer = TypeVar("Answer")
UNBOUNDED = 1_000_000
"""A width in columns that no printed line reaches."""


ASCII_SIGNS = {
    ord("–"): "-",
    ord("—"): "-",
    ord("−"): "-",
    ord("…"): "...",
    ord("·"): "|",
    ord("×"): "x",
    ord("÷"): "/",
    ord("±"): "+/-",
    ord("≥"): ">=",
    ord("≤"): "<=",
    ord("≈"): "~",
    ord("→"): "->",
    ord("µ"): "u",
    ord("μ"): "u",
    ord("∞"): "inf",
    ord("\N{NO-BREAK SPACE}"): " ",
    ord("\N{NARROW NO-BREAK SPACE}"): " ",
}
"""Replacements of our own signs for a terminal that knows ASCII only."""


def _ascii_replacement(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks by ASCII, as an error handler of `codecs`. It never
    fails, since an answer must not be lost for a sign in it; a lone surrogate, which is in no
    encoding, becomes its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end].translate(ASCII_SIGNS)
    return characters.encode("ascii", "backslashreplace").decode("ascii"), error.end


class StdoutRefused(OSError):
    """stdout accepts no more of the answer, mostly because its disk is full."""


class _Stdout(io.FileIO):
    """stdout, with an error class of its own."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # the reader has all that it needs
            raise
        except OSError as error:
            raise StdoutRefused(error.errno, error.strerror) from error


def make_streams_safe() -> None:
    """Open /dev/null for standard streams that are closed, so that the next file does not get
    their number, and replace signs that the terminal lacks, so that none of them ends a verb."""
    codecs.register_error("rmwbench.ascii", _ascii_replacement)
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest free number, mostly `descriptor`
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115 (for good)
    is_own = sys.stdout is sys.__stdout__
    if is_own:
        sys.stdout.flush()
        raw = _Stdout(1, "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), encoding=sys.stdout.encoding, line_buffering=os.isatty(1)
        )
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="rmwbench.ascii")


def print_json(document: Any, default: "Callable[[Any], Any] | None" = None) -> None:
    """Print a document as one line of JSON on stdout, in ASCII unless stdout is UTF-8. Raises
    ValueError for a number that JSON does not have, which is a mistake of rmwbench."""
    import json

    utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(document, ensure_ascii=not utf8, allow_nan=False, default=default)
    # JSON escapes the control codes of ASCII only; a terminal also obeys U+007F to U+009F.
    print(re.sub(r"[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text))


def stdout_console() -> "Console":
    """Return the console for answers."""
    from rich.console import Console

    console = _printing(Console)(highlight=False, emoji=False)
    # Not `is_terminal`, which FORCE_COLOR makes true of a pipe.
    if not console.file.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        console.width = UNBOUNDED
    return console


def print_view(view: "View") -> None:
    from rmwbench.report.render import terminal

    terminal.print_view(view, stdout_console())


def print_answer(
    answer: Answer,
    view: "Callable[[Answer], View]",
    *,
    as_json: bool,
    page: Path | None = None,
    page_view: "Callable[[Answer], View] | None" = None,
) -> None:
    """Print the JSON document of a typed answer, or its view, on stdout. Before that, write it to
    the file `page`, with `page_view` if the page shows more than a terminal."""
    if page is not None:
        write_page((page_view or view)(answer), page)
    if as_json:
        from rmwbench.results.model import document

        print_json(document(answer))
        return
    print_view(view(answer))
    if page is not None:
        say_written(page)


def write_page(view: "View", path: Path) -> None:
    """Write a view as one HTML file, or as Markdown with its charts beside it if the path ends so."""
    if path.suffix.lower() == ".md":
        from rmwbench.report.render.markdown import write_markdown

        write_markdown(view, path)
    else:
        from rmwbench.report.render.html import write_html

        write_html(view, path)


def print_blocks(*blocks: "Block") -> None:
    """Print blocks without a title, such as a list, on stdout."""
    from rmwbench.report.render import terminal

    terminal.print_blocks(blocks, stdout_console())


def stderr_console() -> "Console":
    """Return the console for progress: it prints whole lines, which the terminal wraps."""
    from rich.console import Console

    return _printing(Console)(
        file=cast("IO[str]", _Progress(sys.stderr)),
        highlight=False,
        emoji=False,
        soft_wrap=True,
    )


def say(text: object) -> None:
    """Print a line on stdout without control characters, since it may hold names and texts of
    others, and with calls of this program as the user types them."""
    print(printable(as_typed(str(text))))


@cache
def _printing(kind: "type[Console]") -> "type[Console]":
    """Return a console class that prints every text without control characters (the codes of its
    own styles come later), and every call of this program as the user types it."""
    from rich.text import Text

    class Printing(kind):  # type: ignore[valid-type, misc]
        def render(self, renderable: Any, options: Any = None) -> "Iterable[Segment]":
            for segment in super().render(self._with_calls_as_typed(renderable, options), options):
                harmless = segment.control or segment.text.isprintable()
                yield segment if harmless else segment._replace(text=printable(segment.text))

        def _with_calls_as_typed(self, renderable: Any, options: Any) -> Any:
            """Replace the command's name in calls before the text is wrapped, since a call may be
            broken over two lines afterwards."""
            if command() == NAME or not isinstance(renderable, str | Text):
                return renderable
            options_in_force = options or self.options
            text: Text = (
                self.render_str(
                    renderable,
                    markup=options_in_force.markup,
                    highlight=bool(options_in_force.highlight),
                )
                if isinstance(renderable, str)
                else renderable
            )
            replaced, position = text.blank_copy(), 0
            for begin, end in calls(text.plain):
                replaced.append(text[position:begin]).append(command())
                position = end
            return replaced.append(text[position:]) if position else renderable

    return Printing


class _Progress:
    """stderr for progress: a line that cannot be written is lost, and the campaign goes on."""

    def __init__(self, stream: Any):
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            return int(self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write it as a page: one HTML file with charts, or Markdown if FILE ends in .md.",
    ),
]
Html = Annotated[Path | None, typer.Option("--html", hidden=True)]
"""The earlier name of `--out`, which is still accepted."""


def page(out: Path | None, earlier: Path | None = None) -> Path | None:
    """Return the page to write, None if neither option is given. Raises UserError if it cannot be
    written, before any work is done for it."""
    path = out or earlier
    if path is not None:
        check_page(path)
    return path


def say_written(path: Path) -> None:
    """Print the path of a file that was written, unless it is stdout itself or a pipe."""
    if not is_written_through(path):
        typer.echo(path)


HELP_OPTIONS = ["--help", "-h"]


class PlainGroup(TyperGroup):
    """A group whose help lists each verb with its whole first paragraph, as plain text: the library
    that draws frames around it takes longer to import than all verbs together."""

    SECTIONS: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Title -> its verbs in order; empty if all verbs stand below one title in the order of their
    registration."""

    def list_commands(self, ctx: "Context") -> list[str]:
        names = super().list_commands(ctx)
        order = [name for section in self.SECTIONS.values() for name in section]
        return sorted(names, key=order.index) if order else names

    def format_commands(self, ctx: "Context", formatter: Any) -> None:
        for title, names in (self.SECTIONS or {"Commands": self.list_commands(ctx)}).items():
            verbs = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [(name, (verb.help or "").partition("\n\n")[0]) for name, verb in verbs if verb]
                )


class NamesOrVerbs(PlainGroup):
    """A group that may be called with names instead of one of its verbs: they are the arguments of
    its verb `show`."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        is_known = bool(args) and args[0] in (*HELP_OPTIONS, *self.commands)
        completing = ctx.resilient_parsing and not args
        return super().parse_args(ctx, args if is_known or completing else ["show", *args])
