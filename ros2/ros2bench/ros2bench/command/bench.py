"""`ros2 bench …` is `rmwbench …`: every argument, `--help` and the exit code are its own.

It runs in the Python of ros2cli where that has the package, and else as the program `rmwbench` on
the PATH: rmwbench needs Python 3.11 or newer, and an environment of its own has one.
"""

import argparse
import os
import shutil
import sys
from importlib.util import find_spec

from ros2cli.command import CommandExtension

NEEDED = (
    "ros2 bench: rmwbench is neither a package of this Python nor a program on the PATH; install "
    "its wheel (`pip install rmwbench-*.whl`, Python 3.11 or newer)"
)


class BenchCommand(CommandExtension):
    """Compare middlewares and their configurations on this machine (rmwbench)."""

    def add_arguments(self, parser, cli_name):
        # No argument begins with NUL: whatever is typed, an option too, belongs to rmwbench.
        parser.prefix_chars = "\0"
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help="as `rmwbench --help` says")

    def main(self, *, parser, args):
        program = command()
        if program is None:
            print(NEEDED, file=sys.stderr)
            return 2
        # What rmwbench calls itself in its hints.
        os.environ.setdefault("RMWBENCH_COMMAND", "ros2 bench")
        os.execv(program[0], [*program, *args.arguments])


def command():
    """What runs rmwbench here; None where nothing does."""
    # A checkout that this Python happens to see is no installation: what it imports is missing.
    if sys.version_info >= (3, 11) and find_spec("rmwbench") and find_spec("typer"):
        return [sys.executable, "-m", "rmwbench"]
    program = shutil.which("rmwbench")
    return [program] if program else None
