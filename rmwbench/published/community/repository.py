"""A git repository on this machine, read without trust: nothing that it configures is run, and
nothing is fetched.

Git itself reads it, because only git knows every form of a repository (packs, worktrees,
alternates). Everything that a user's environment or the repository's own configuration could change
is switched off: replaced commits, signature programs, the transports of a partial clone, and a
search for a repository in the directories above.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rmwbench.errors import UserError

TIMEOUT_S = 600
_PLAIN = ("-c", "core.quotePath=true", "-c", "color.ui=false", "-c", "i18n.logOutputEncoding=UTF-8")


class GitFailed(Exception):
    """A git command failed; the text is what it said."""


@dataclass(frozen=True)
class Repository:
    """A repository that has commits. `branch` is its default branch, `head` that branch's newest
    commit."""

    path: Path
    branch: str
    head: str

    def git(self, *arguments: str, stdin: str = "") -> str:
        """Return what git prints for these arguments, with `stdin` on its standard input. Raise
        GitFailed if it fails."""
        return run_git(self.path, *arguments, stdin=stdin)


def open_repository(path: Path) -> Repository:
    """Return the repository in a directory: a clone, its `.git`, or a bare one. Raise UserError if
    there is none, or if its history is cut (a shallow clone)."""
    if not path.is_dir():
        raise UserError(
            "no such directory", where=str(path), expected="a git clone, or a bare git directory"
        )
    try:
        shallow = run_git(path, "rev-parse", "--is-shallow-repository").strip()
    except GitFailed as error:
        raise UserError(
            "no git repository can be read here",
            where=str(path),
            expected="a git clone, or a bare git directory",
            actual=str(error),
        ) from None
    if shallow == "true":
        raise UserError(
            "the history is cut (a shallow clone): missing commits look like commits that never were",
            where=str(path),
            expected="the whole history",
            fix=f"git -C {path} fetch --unshallow",
        )
    branch = _default_branch(path)
    try:
        head = run_git(path, "rev-parse", "--verify", "--quiet", f"{branch}^{{commit}}").strip()
    except GitFailed:
        raise UserError(
            "the default branch has no commit", where=str(path), expected="a commit", actual=branch
        ) from None
    return Repository(path, branch.removeprefix("refs/heads/").removeprefix("refs/remotes/"), head)


def _default_branch(path: Path) -> str:
    """Return the branch that the origin of a clone names, whatever is checked out; in a bare
    repository the one that HEAD names."""
    for name in ("refs/remotes/origin/HEAD", "HEAD"):
        try:
            branch = run_git(path, "symbolic-ref", "--quiet", name).strip()
            run_git(path, "rev-parse", "--verify", "--quiet", f"{branch}^{{commit}}")
        except GitFailed:
            continue
        return branch
    return "HEAD"


def run_git(path: Path, *arguments: str, stdin: str = "", from_within: bool = False) -> str:
    """Return what git prints for these arguments, with `stdin` on its standard input, for the
    repository in a directory; with `from_within`, also for the one that contains the directory.
    Raise GitFailed if it fails."""
    command = ["git", *_PLAIN, "-C", str(path.resolve()), *arguments]
    try:
        process = subprocess.run(
            command,
            input=stdin.encode(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            env=_environment(path, from_within),
        )
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git did not answer within {TIMEOUT_S} s") from None
    except OSError as error:
        raise GitFailed(f"git cannot be run: {error.strerror}") from None
    if process.returncode != 0:
        lines = process.stderr.decode(errors="replace").strip().splitlines()
        lines = lines or [f"git ended with {process.returncode}"]
        reason = next((line for line in lines if line.startswith("fatal: ")), lines[0])
        raise GitFailed(reason.removeprefix("fatal: "))
    return process.stdout.decode(errors="replace")


def _environment(path: Path, from_within: bool) -> dict[str, str]:
    """Return our environment without what names another repository (GIT_DIR, as in hooks); the
    user's own configuration stays."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG_") or name == "GIT_EXEC_PATH"
    }
    ceiling = {} if from_within else {"GIT_CEILING_DIRECTORIES": str(path.resolve().parent)}
    return {
        **variables,
        **ceiling,
        "LC_ALL": "C",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",  # git 2.45; an older one obeys the next
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }


FAR_APART_DAYS = 548
"""From how many days apart the dates of two things describe different times: 18 months (rule 8 of
the design)."""
