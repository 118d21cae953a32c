"""What the terminal shows, as text without colours."""

import io
from collections.abc import Callable
from typing import Any

from rich.console import Console


def printed(shows: Callable[[Any, Console], None], found: Any, width: int = 160) -> str:
    """`shows` writes `found` on a console, as `print_show` does with a document."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    shows(found, console)
    return console.file.getvalue()
