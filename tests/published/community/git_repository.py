"""Small git repositories with commits, dates and people that a test states; they use nothing of the
user's configuration."""

import os

from tests.support.program import run_program

ANN = ("Ann Reed", "ann@example.org")
BOB = ("Bob Stone", "bob@example.org")
BOT = ("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com")
WEB = ("GitHub", "noreply@github.com")


class Git:
    """A repository at `path`; `main` is checked out in a new one."""

    def __init__(self, path):
        self.path = path
        path.mkdir()
        self("init", "-q", "-b", "main")

    def __call__(self, *arguments, at="2024-01-01", by=ANN, through=None, given=None):
        """Run git as `by` (author) and `through` (committer, the same if absent) on the day,
        or at the time, `at`."""
        committer = through or by
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = run_program(
            "git",
            *arguments,
            cwd=self.path,
            input=given,
            check=True,
            env=kept
            | {
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_AUTHOR_NAME": by[0],
                "GIT_AUTHOR_EMAIL": by[1],
                # a patch may be old: when it was committed counts
                "GIT_AUTHOR_DATE": "2020-02-02T00:00:00Z",
                "GIT_COMMITTER_NAME": committer[0],
                "GIT_COMMITTER_EMAIL": committer[1],
                "GIT_COMMITTER_DATE": at if "T" in at else f"{at}T12:00:00Z",
            },
        )
        return done.stdout.strip()

    def commit(self, at, file="code.c", text=None, *, by=ANN, through=None):
        """Add `text` to the end of `file`, commit it, and return the commit."""
        path = self.path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as code:
            code.write(text or f"line of {at}\n")
        self("add", "-A")
        self("commit", "-q", "-m", "private words", at=at, by=by, through=through)
        return self("rev-parse", "HEAD")


def lines(count, word):
    return "".join(f"{word} {n}\n" for n in range(count))
