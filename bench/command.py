"""Processes of the benchmarks in Python: a verb of `rmwbench`, start-up included, and the program
that makes a bundle."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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


@contextmanager
def bundle(keep: Path | None, module: str, *options: str) -> Iterator[Path]:
    """Yield the directory of a bundle that `module --generate DIRECTORY OPTIONS` makes in a process
    of its own, whose memory is not the measured one's: `keep`, which is made on first use, or one
    that is removed at the end."""
    temporary = None if keep else Path(tempfile.mkdtemp(prefix="rmwbench-bench-"))
    # absolute: the processes start in the root of the checkout
    directory = (keep or temporary / "bundle").resolve()
    try:
        if not (directory / "campaign.json").exists():
            command = [sys.executable, "-m", module, "--generate", str(directory), *options]
            subprocess.run(command, cwd=ROOT, check=True)
        yield directory
    finally:
        if temporary:
            shutil.rmtree(temporary)
