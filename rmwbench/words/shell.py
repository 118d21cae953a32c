"""Commands of this program that are there to be copied into a shell."""

import shlex


def command_line(*words: object) -> str:
    """`rmwbench show 'my run'`: each of these is one word to the shell, whatever is in it."""
    return shlex.join(["rmwbench", *map(str, words)])
