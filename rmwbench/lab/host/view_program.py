"""Runs a program as a trial sees the machine's files, and in nothing else that a trial has: what it
says there of itself, it says in a trial.

Run as `python -I -S -E view_program.py [VISIBLE…] -- PROGRAM [ARGUMENT…]`; VISIBLE are those of init.py, whose
code this runs. Where these mounts cannot be made, trials have none either or there is none, which
is told where hosts are made: the program runs as it is.
"""

import contextlib
import os
import sys

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import init

SHM_BYTES = TMP_BYTES = 1 << 26
"""The size of the two file systems: what says something of itself writes next to nothing."""


def main() -> None:
    separator = sys.argv.index("--")
    visible, words = sys.argv[1:separator], sys.argv[separator + 1 :]
    program = os.open(words[0], os.O_RDONLY | os.O_CLOEXEC)
    os.chdir("/")
    with contextlib.suppress(init.StepFailed):
        init.unshare(init.CLONE_NEWNS)
        init.make_mounts(SHM_BYTES, TMP_BYTES, visible)
    init.execute(program, words, dict(os.environ))


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"in a trial, which has a /tmp of its own: {error.strerror}")
