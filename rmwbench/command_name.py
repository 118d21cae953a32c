"""The command by which the user calls this program, so that the commands in hints work when pasted.

Mostly it is `rmwbench`. If that is not on the PATH (a virtual environment that was not activated),
it is the path that was typed, or the variable COMMAND, which the Makefile sets.
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
    """Return the command by which the user calls this program."""
    return os.environ.get(COMMAND) or _typed_name(sys.argv[0], os.environ.get("PATH"))


@cache
def _typed_name(program_path: str, _path: str | None) -> str:
    """Return the name alone if the shell finds this very program by it, else the quoted path.
    `_path` is a key of the cache alone: `shutil.which` reads the same variable."""
    program = Path(program_path)
    if program.name != NAME or not program.is_file():
        return NAME
    on_path = shutil.which(NAME)
    return NAME if on_path and os.path.samefile(on_path, program) else shlex.quote(program_path)


def calls(text: str) -> list[tuple[int, int]]:
    """Return where a text calls this program, as [begin, end) of the program's name."""
    return [match.span() for match in _CALL.finditer(text)]


def as_typed(text: str) -> str:
    """Return a text whose `rmwbench VERB …` works when pasted."""
    user_command = command()
    return text if user_command == NAME else _CALL.sub(lambda _: user_command, text)


def command_line(*words: object) -> str:
    """Return a command of this program to copy into a shell, such as `rmwbench show 'my run'`, in
    which each argument is one word of the shell."""
    return shlex.join([NAME, *map(str, words)])
