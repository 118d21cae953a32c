"""A git repository on this machine, read without trusting it: nothing it configures is run, and
nothing is fetched.

Git itself reads it, since it alone knows every form of a repository (packs, worktrees, alternates).
What a user's environment or the repository's own configuration could change is switched off:
replaced commits, signature programs, the transports of a partial clone, and a search for a
repository in the directories above.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rmwbench.errors import UserError

TIMEOUT_S = 600
_PLAIN = ("-c", "core.quotePath=true", "-c", "color.ui=false", "-c", "i18n.logOutputEncoding=UTF-8")


class GitFailed(Exception):
    """What git said."""


@dataclass(frozen=True)
class Repository:
    """A repository that has commits. `branch` is its default branch, `head` that branch's newest
    commit."""

    path: Path
    branch: str
    head: str

    def git(self, *arguments: str, given: str = "") -> str:
        """What git prints for these arguments, with `given` on its standard input. GitFailed where
        it fails."""
        return run_git(self.path, *arguments, given=given)


def opened(path: Path) -> Repository:
    """The repository in a directory: a clone, its `.git`, or a bare one. UserError where there is
    none, or one whose history is cut (a shallow clone)."""
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
            "the history is cut (a shallow clone), so what it lacks cannot be told from what never "
            "was",
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
    """As the origin of a clone names it, whatever is checked out; in a bare repository what HEAD
    names."""
    for name in ("refs/remotes/origin/HEAD", "HEAD"):
        try:
            branch = run_git(path, "symbolic-ref", "--quiet", name).strip()
            run_git(path, "rev-parse", "--verify", "--quiet", f"{branch}^{{commit}}")
        except GitFailed:
            continue
        return branch
    return "HEAD"


def run_git(path: Path, *arguments: str, given: str = "", from_within: bool = False) -> str:
    """What git prints for these arguments, with `given` on its standard input, of the repository in
    a directory; `from_within`: or of the one that the directory is in. GitFailed where it fails."""
    command = ["git", *_PLAIN, "-C", str(path.resolve()), *arguments]
    try:
        done = subprocess.run(
            command,
            input=given.encode(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            env=_environment(path, from_within),
        )
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git did not answer within {TIMEOUT_S} s") from None
    except OSError as error:
        raise GitFailed(f"git cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        lines = lines or [f"git ended with {done.returncode}"]
        reason = next((line for line in lines if line.startswith("fatal: ")), lines[0])
        raise GitFailed(reason.removeprefix("fatal: "))
    return done.stdout.decode(errors="replace")


def _environment(path: Path, from_within: bool) -> dict[str, str]:
    """Ours without what names another repository (GIT_DIR, as hooks have it); the user's own
    configuration stays."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG_") or name == "GIT_EXEC_PATH"
    }
    ceiling = {} if from_within else {"GIT_CEILING_DIRECTORIES": str(path.resolve().parent)}
    return (
        variables
        | ceiling
        | {
            "LC_ALL": "C",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",  # git 2.45; an older one obeys the next
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
        }
    )


FAR_APART_DAYS = 548
"""How far apart the dates of two things may be until they describe different times: 18 months (rule 8
of the design)."""
