"""The error for bad input of a user: what failed, where, expected against actual, and what to do.

The command line prints it and exits with code 2.
"""

import difflib
from collections.abc import Collection, Iterable

from rmwbench.command_name import as_typed


class UserError(Exception):
    """Bad input or a missing precondition, in words for the user.

    `where` names the object: a file with its line (`suites/quick.yaml:12`), a directory, a
    middleware.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        actual: str | None = None,
        fix: str | None = None,
    ):
        self.what, self.where = what, where
        self.expected, self.actual, self.fix = expected, actual, fix
        super().__init__(self.render())

    def render(self) -> str:
        """Return the message as plain text with a line per part, without absent parts."""
        what = " ".join(self.what.split())
        lines = [f"{self.where}: {what}" if self.where else what]
        parts = (("expected", self.expected), ("actual", self.actual), ("do", self.fix))
        lines += [f"  {label}: {' '.join(str(value).split())}" for label, value in parts if value]
        return as_typed("\n".join(lines))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, None if none is similar enough."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return the nearest known name as a question, None if none is similar enough."""
    suggestion = nearest(name, known)
    return f"did you mean `{suggestion}`?" if suggestion else None


def not_one_of(
    what: str, name: str, known: Collection[str], *, where: str | None = None
) -> UserError:
    """Return an error about a name that is not among `known`, with the nearest one as advice."""
    return UserError(
        what,
        where=where,
        expected="one of " + ", ".join(known),
        actual=name,
        fix=did_you_mean(name, known),
    )
