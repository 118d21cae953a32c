"""RTI Connext DDS from Python, through its package on PyPI: listed, with the reason why it does not
run.

The library makes no participant without a licence file, and none was ever here, so there is no
worker on it: one that was never run would be a guess. What is missing is told, the first thing
first.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

LICENCE_VARIABLE = "RTI_LICENSE_FILE"
PACKAGE = "rti"
NO_WORKER = (
    "rmwbench has no worker on its Python package (rti.connext), since none could be "
    "tried without a licence"
)


def problem() -> str:
    """Why Connext does not run here: one sentence."""
    return f"not supported: {_missing()}"


def _missing() -> str:
    licence = os.environ.get(LICENCE_VARIABLE)
    if not licence:
        return f"RTI Connext needs a licence ({LICENCE_VARIABLE} is not set), and {NO_WORKER}"
    if not Path(licence).is_file():
        return f"{LICENCE_VARIABLE} names {licence}, which is not a file, and {NO_WORKER}"
    if importlib.util.find_spec(PACKAGE) is None:
        return (
            "RTI Connext has a licence, but its package is not installed (pip install "
            f"rti.connext), and {NO_WORKER}"
        )
    return f"RTI Connext and a licence are here, but {NO_WORKER}"


def main() -> int:
    if sys.argv[1:] == ["--describe"]:
        print(json.dumps({"middlewares": [], "reason": problem()}))
        return 0
    print(problem(), file=sys.stderr)
    return 2
