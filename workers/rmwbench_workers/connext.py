"""RTI Connext DDS from Python, through its package on PyPI: only with a licence file of your own.

Without one the library refuses to make a participant, so there is nothing to measure; the worker is then listed with
that reason and nothing else.
"""

import os
import sys
from pathlib import Path

LICENCE_VARIABLE = "RTI_LICENSE_FILE"


def problem() -> str | None:
    """Why Connext cannot run here, or None."""
    licence = os.environ.get(LICENCE_VARIABLE)
    if licence is None:
        return f"RTI Connext needs a licence: set {LICENCE_VARIABLE} to the file that RTI gave you"
    if not Path(licence).is_file():
        return f"{LICENCE_VARIABLE} names {licence}, which is no file"
    try:
        import rti.connextdds  # noqa: F401
    except ImportError as error:
        return f"the package is missing ({error}): pip install rti.connext"
    return None


def main() -> int:
    why = problem()
    if why is None:
        from rmwbench_workers.connext_dds import serve

        return serve()
    print(why, file=sys.stderr)
    return 2
