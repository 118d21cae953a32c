"""Programs that stand in for others on a test's own PATH."""

from pathlib import Path


def program(place: Path, name: str, text: str = "") -> None:
    """A shell script, in the place of whatever has its name there."""
    path = place / name
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
