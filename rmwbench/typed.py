"""How the user types this program: a hint is worth something only if it works when pasted.

Mostly `rmwbench`. Where that is not on the PATH (a virtual environment that was not activated), the
name is the path that was typed, or what the variable says that the Makefile sets.
"""

import os
import re
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path

COMMAND = "RMWBENCH_COMMAND"
"""The variable that says how this program is typed, for those that start it for somebody."""
NAME = "rmwbench"
NEEDED = (
    *("doctor", "middlewares", "suites", "twin", "plan", "run", "resume"),
    *("show", "explain", "report", "compare", "capacity", "decide", "check"),
)
"""What a robot engineer needs, in the order in which a newcomer wants it."""
MORE = ("calibrate", "candidates", "types", "query", "clean", "published")
VERBS = (*NEEDED, *MORE)
"""All verbs, in the order of the help."""

_CALL = re.compile(rf"(?<![\w/.-]){NAME}(?= (?:--|(?:{'|'.join(VERBS)})\b))")


def command() -> str:
    """How the user types this program."""
    return os.environ.get(COMMAND) or _typed_name(sys.argv[0], os.environ.get("PATH"))


@cache
def _typed_name(begun_as: str, _path: str | None) -> str:
    """The name alone where the shell finds this very program by it. `begun_as`: the first word of
    the process, which is a path also then."""
    program = Path(begun_as)
    if program.name != NAME or not program.is_file():
        return NAME
    on_path = shutil.which(NAME)
    return NAME if on_path and os.path.samefile(on_path, program) else shlex.quote(begun_as)


def calls(text: str) -> list[tuple[int, int]]:
    """The places at which a text calls this program, as [begin, end) of its name alone."""
    return [match.span() for match in _CALL.finditer(text)]


def as_typed(text: str) -> str:
    """A text whose `rmwbench VERB …` works when pasted."""
    typed = command()
    return text if typed == NAME else _CALL.sub(lambda _: typed, text)
