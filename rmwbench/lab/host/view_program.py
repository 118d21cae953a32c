"""Runs a program with the mounts of a trial, and without its other namespaces, so that the program
describes itself as it would in a trial.

Run as `python -I -S -E view_program.py [VISIBLE…] -- PROGRAM [ARGUMENT…]`; VISIBLE are those of
init.py, whose code this uses. Where the mounts cannot be made, trials have no such mounts either or
cannot run, which is reported where hosts are made; the program then runs without them.
"""

import contextlib
import os
import sys

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import init

SHM_BYTES = TMP_BYTES = 1 << 26
"""The size of the two file systems: a program that describes itself writes next to nothing."""


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
