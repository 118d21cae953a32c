"""Where verbs print: the only place that makes consoles, so that every verb treats a pipe alike.

A terminal has a width, and tables and sentences are wrapped to it. A pipe or a file has none: what goes there is
searched by the line (`| grep`) or read by a program, so nothing is wrapped, folded or cut, unless COLUMNS is exported,
which asks for that width.
"""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

UNBOUNDED = 1_000_000
"""Columns; more than any line that is ever printed."""


def stdout_console(*, soft_wrap: bool = False) -> "Console":
    """For answers, on stdout. `soft_wrap` leaves the wrapping of sentences to the terminal."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=soft_wrap)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = UNBOUNDED
    return console


def stderr_console() -> "Console":
    """For progress, on stderr: a line each, which the terminal wraps."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)
