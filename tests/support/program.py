"""Any program as a process of its own, until it ends."""

import subprocess
from typing import Any


def run_program(*words: object, timeout: float | None = 300, **how: Any) -> Any:
    """What it wrote, as text, and its exit code; `how` is for `subprocess.run`."""
    command = [str(word) for word in words]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, **how)
