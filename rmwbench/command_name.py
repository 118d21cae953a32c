"""The command by which the user calls this program, so that the commands in hints work when pasted.

Mostly it is `rmwbench`. Where that is not on the PATH (a virtual environment that was not
activated), it is the path that was typed, or the variable COMMAND, which the Makefile sets.
"""

import os
import re
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path

COMMAND = "RMWBENCH_COMMAND"
"""The environment variable with the command, for programs that start this one for a user."""
NAME = "rmwbench"
NEEDED = (
    *("doctor", "middlewares", "suites", "twin", "plan", "run", "resume"),
    *("show", "explain", "report", "compare", "capacity", "decide", "check"),
)
"""The verbs that a robot engineer needs, in the order in which a newcomer needs them."""
MORE = ("calibrate", "candidates", "types", "query", "clean", "published")
VERBS = (*NEEDED, *MORE)
"""All verbs, in the order of the help."""

_CALL = re.compile(rf"(?<![\w/.-]){NAME}(?= (?:--|(?:{'|'.join(VERBS)})\b))")


def command() -> str:
    """The command by which the user calls this program."""
    return os.environ.get(COMMAND) or _typed_name(sys.argv[0], os.environ.get("PATH"))


@cache
def _typed_name(begun_as: str, _path: str | None) -> str:
    """The name alone where the shell finds this very program by it, else its path. `begun_as`: the
    first word of the process, a path in both cases. `_path` is a key of the cache alone:
    `shutil.which` reads the same variable."""
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
