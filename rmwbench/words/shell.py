"""Commands of this program for the user to copy into a shell."""

import shlex


def command_line(*words: object) -> str:
    """Return a text such as `rmwbench show 'my run'`, in which each argument is one word of the
    shell."""
    return shlex.join(["rmwbench", *map(str, words)])
