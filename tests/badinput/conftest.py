"""A directory as a user has it: a suite, a worker, and the command line as a process of its own in
it.

Every refusal is held to the same promise: one error on stderr that says what, where and what to do,
status 2, no traceback, nothing on stdout, no file written or changed, no process left.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rmwbench.lab.host import marker
from tests.lab import fake_worker, tools
from tests.support.command import COMMAND, rmwbench

SUITE = """\
suite: mini
title: a test
blocks: {planned: 2, minimum: 2}
timeline: {warmup_s: 0.05, steady_s: 0.1, drain_s: 0.1}
arms:
  - {name: one, middleware: fake}
workloads:
  - {name: small, message: Bytes(100), rate_hz: 400}
"""


@dataclass
class User:
    """`path` is the current directory of every command; `suite` can be edited with `edit`."""

    path: Path
    workers: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def suite(self) -> Path:
        return self.path / "mini.yaml"

    def edit(self, old: str, new: str) -> None:
        assert old in SUITE
        self.suite.write_text(SUITE.replace(old, new, 1))

    def types(self, *arguments: object, before: str = "") -> subprocess.CompletedProcess[str]:
        """Runs `rmwbench ARGUMENTS`. With `before`, in a mount namespace of its own after these
        shell commands."""
        if not before:
            done = rmwbench(*arguments, cwd=self.path, env=self._environ(), timeout=300)
            assert not [stray for stray in marker.strays() if stray.marker.pid == done.pid]
            return done
        command = [
            *private_mounts(),
            "sh",
            "-ec",
            f'{before}\nexec "$@"',
            "sh",
            *COMMAND,
            *map(str, arguments),
        ]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.path,
            env=self._environ(),
        )
        out, err = process.communicate(timeout=300)
        assert not [stray for stray in marker.strays() if stray.marker.pid == process.pid]
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def is_refused(self, *arguments: object, before: str = "", writes: bool = False) -> str:
        """The error that the command ends with, after the promise was checked."""
        files_before = self.tree()
        done = self.types(*arguments, before=before)
        assert "Traceback" not in done.stderr + done.stdout, done.stderr
        assert done.returncode == 2, (done.returncode, done.stderr, done.stdout)
        assert done.stderr.startswith("error: ") and done.stderr.count("error: ") == 1, done.stderr
        first, *rest = done.stderr.rstrip("\n").split("\n")
        assert all(line.startswith(("  expected: ", "  actual: ", "  do: ")) for line in rest), (
            done.stderr
        )
        assert "None" not in first
        if not writes:
            assert done.stdout == "" and self.tree() == files_before
        return done.stderr

    def tree(self) -> dict[str, tuple[int, int]]:
        """Every file with size and time of change."""
        files = [path for path in self.path.rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}

    def _environ(self) -> dict[str, str]:
        here = {
            "RMWBENCH_WORKERS": str(self.workers),
            "RMWBENCH_TARGET_DIR": str(self.path / "no-target"),
        }
        return {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **here, **self.environment}


def private_mounts() -> list[str]:
    """The command that gives what follows mounts of its own; skips the test where that is not
    allowed."""
    command = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*command, "true"], capture_output=True).returncode
    ):
        pytest.skip("no mount namespaces here")
    return command


@pytest.fixture
def user(tmp_path):
    (tmp_path / "home").mkdir()
    return settled(tmp_path / "home", tmp_path / "workers")


def settled(home: Path, workers: Path) -> User:
    """Return a user whose suite and worker are in place."""
    workers.mkdir()
    fake_worker.install(workers)
    tools.place(workers)
    (home / "mini.yaml").write_text(SUITE)
    return User(home, workers)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A finished campaign to copy and to damage."""
    path = tmp_path_factory.mktemp("finished")
    user = settled(path, path / "workers")
    done = user.types("run", "mini.yaml", "--out", "campaign", "--no-report")
    assert done.returncode == 0, done.stderr
    for _ in range(5):  # what a starved machine cost it; that is not what is tested with it
        if "every trial of this campaign is finished" in done.stderr:
            return user
        done = user.types("resume", "campaign", "--no-report")
    raise AssertionError(done.stderr)


@pytest.fixture
def campaign(user, finished):
    """A copy of it in the user's directory."""
    shutil.copytree(finished.path / "campaign", user.path / "campaign")
    return user.path / "campaign"
