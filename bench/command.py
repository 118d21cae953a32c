"""What a verb of `rmwbench` takes when it is typed, start-up and all, in a fresh process."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = "from rmwbench.cli.main import main; main()"


def timed(arguments: Sequence[str], bytecode: Path, program: str = PROGRAM) -> dict[str, float]:
    """Runs it once: seconds of processor time of the whole process, its peak memory. Bytecode is
    kept in `bytecode`, whatever this process was told of it. Raises SystemExit where it fails."""
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
        told = " ".join(arguments) or "a bare interpreter"
        raise SystemExit(f"{told} ended with status {process.returncode}")
    return {"seconds": used.ru_utime + used.ru_stime, "peak_bytes": used.ru_maxrss * 1024}
