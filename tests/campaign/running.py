"""`rmwbench run` on a suite that a test states."""

from pathlib import Path

from tests.support.command import exit_code


def run_suite(directory: Path, text: str) -> int:
    """In the test's own process, into `directory`/out; the exit code."""
    (directory / "suite.yaml").write_text(text)
    return exit_code("run", directory / "suite.yaml", "--out", directory / "out", "--no-report")
