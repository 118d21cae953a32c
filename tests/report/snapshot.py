"""Text compared with a file beside the tests; RMWBENCH_UPDATE_SNAPSHOTS=1 writes the files anew, to
read as a diff."""

import os
from pathlib import Path

DIRECTORY = Path(__file__).parent / "snapshots"


def check(name: str, text: str) -> None:
    path = DIRECTORY / name
    if os.environ.get("RMWBENCH_UPDATE_SNAPSHOTS"):
        DIRECTORY.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no snapshot {path}: run with RMWBENCH_UPDATE_SNAPSHOTS=1 and read it"
    assert text == path.read_text(encoding="utf-8")
