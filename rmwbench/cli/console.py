"""Where verbs print: the only place that makes consoles, so that every verb treats a pipe alike,
and the option `--out FILE` that writes an answer as a page, the same in every verb that has it.

A terminal has a width, and tables and sentences are wrapped to it. A pipe or a file has none: what
goes there is searched by the line (`| grep`) or read by a program, so nothing is wrapped, folded or
cut, unless COLUMNS is exported, which asks for that width.
"""

import codecs
import io
import os
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from rmwbench.command_name import NAME, as_typed, calls, command
from rmwbench.whole_file import check_page, is_written_through
from rmwbench.words.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import Console
    from rich.segment import Segment

    from rmwbench.report.view import Block, View


Answer = TypeVar("Answer")
UNBOUNDED = 1_000_000
"""Columns; more than any line that is ever printed."""


PLAIN = {
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
"""What our own signs are where a terminal knows ASCII only."""


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """A handler for `codecs`: what an encoding lacks, in ASCII. Never fails, since an answer must
    not be lost for a sign in it; a lone surrogate, which is in no encoding, becomes its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end].translate(PLAIN)
    return characters.encode("ascii", "backslashreplace").decode("ascii"), error.end


class StdoutRefused(OSError):
    """stdout took no more of the answer, mostly because the disk that it goes to is full."""


class _Stdout(io.FileIO):
    """stdout, whose errors can be told from those of other files."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # the reader has what it wanted
            raise
        except OSError as error:
            raise StdoutRefused(error.errno, error.strerror) from error


def make_streams_safe() -> None:
    """Opens /dev/null for standard streams that are closed, so that the next file does not get
    their number, and makes sure that a sign which the terminal lacks does not end a verb."""
    codecs.register_error("rmwbench.plainer", _plainer)
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest free number, mostly the one wanted
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115 (for good)
    untouched = sys.stdout is sys.__stdout__
    if untouched:
        sys.stdout.flush()
        raw = _Stdout(1, "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), encoding=sys.stdout.encoding, line_buffering=os.isatty(1)
        )
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="rmwbench.plainer")


def print_json(document: Any, default: "Callable[[Any], Any] | None" = None) -> None:
    """A document as one line of JSON on stdout; in ASCII where stdout is not UTF-8. Values that
    JSON has no number for are a mistake of ours."""
    import json

    utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(document, ensure_ascii=not utf8, allow_nan=False, default=default)
    # JSON escapes the control codes of ASCII only; a terminal obeys those behind it, too.
    print(re.sub(r"[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text))


def stdout_console() -> "Console":
    """The console for answers, on stdout."""
    from rich.console import Console

    console = _printing(Console)(highlight=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = UNBOUNDED
    return console


def print_view(view: "View") -> None:
    """An answer, on stdout."""
    from rmwbench.report.render import terminal

    terminal.print_view(view, stdout_console())


def print_answer(
    answer: Answer, view: "Callable[[Answer], View]", *, as_json: bool, page: Path | None = None
) -> None:
    """The document of a typed answer, or what it shows, on stdout; and its `page`, if one is asked
    for."""
    if page is not None:
        from rmwbench.report.render.html import write_html

        write_html(view(answer), page)
    if as_json:
        from rmwbench.results.model import document

        print_json(document(answer))
        return
    print_view(view(answer))
    if page is not None:
        say_written(page)


def print_blocks(*blocks: "Block") -> None:
    """What has no title of its own, such as a list, on stdout."""
    from rmwbench.report.render import terminal

    terminal.print_blocks(blocks, stdout_console())


def stderr_console() -> "Console":
    """The console for progress, on stderr: a line each, which the terminal wraps."""
    from rich.console import Console

    return _printing(Console)(
        file=cast("IO[str]", _Progress(sys.stderr)), highlight=False, soft_wrap=True
    )


def say(text: object) -> None:
    """A line on stdout without control codes, since names and texts of others are in it, and with
    calls of this program as they are typed here."""
    print(printable(as_typed(str(text))))


@cache
def _printing(kind: "type[Console]") -> "type[Console]":
    """A console that prints every text without control codes (those of its own styles come later),
    and every call of this program as it is typed here."""

    from rich.text import Text

    class Printing(kind):  # type: ignore[valid-type, misc]
        def render(self, renderable: Any, options: Any = None) -> "Iterable[Segment]":
            for segment in super().render(self._with_calls_as_typed(renderable, options), options):
                harmless = segment.control or segment.text.isprintable()
                yield segment if harmless else segment._replace(text=printable(segment.text))

        def _with_calls_as_typed(self, renderable: Any, options: Any) -> Any:
            """Replaces the command's name in calls before the text is wrapped, since a line break
            may stand in a call afterwards."""
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
    """stderr for progress: where it cannot be written, it is lost, and the campaign that it tells
    of goes on."""

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
        "--out", "-o", metavar="FILE", help="Write it as a page: one HTML file, with charts."
    ),
]
Html = Annotated[Path | None, typer.Option("--html", hidden=True)]
"""An earlier name of `--out`, still taken."""


def page(out: Path | None, earlier: Path | None = None) -> Path | None:
    """The page that was asked for. Raises UserError where it cannot be written, before any work was
    done for it."""
    path = out or earlier
    if path is not None:
        check_page(path)
    return path


def say_written(path: Path) -> None:
    """Names the file that was written, unless that would end up behind it in a pipe."""
    if not is_written_through(path):
        typer.echo(path)
