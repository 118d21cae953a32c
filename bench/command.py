"""The processor time and memory of a verb of `rmwbench` in a fresh process, start-up included."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = "from rmwbench.cli.main import main; main()"


def timed(arguments: Sequence[str], bytecode: Path, program: str = PROGRAM) -> dict[str, float]:
    """Run it once; return the seconds of processor time of the whole process and its peak memory.
    Bytecode goes to `bytecode`, whatever the environment says. Raises SystemExit if it fails."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        command = " ".join(arguments) or "a bare interpreter"
        raise SystemExit(f"{command} ended with status {process.returncode}")
    return {"seconds": used.ru_utime + used.ru_stime, "peak_bytes": used.ru_maxrss * 1024}
