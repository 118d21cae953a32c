"""What somebody reported in public and a suite is to show: the effect, where it was reported, and
the comparisons that tell whether it is seen here (docs/suites.md)."""

from typing import Annotated

from pydantic import Field

from rmwbench.suite.fault import Strict
from rmwbench.suite.predicate import Predicate, Text


class Reported(Strict):
    """`effect`, a sentence; `source`: the issue that reports it; `figures` as reported there;
    `versions` of which it was reported, and since or until which it is there, as far as that can
    be told; `helps`: what changes it. The effect is seen where all of `seen` hold, whose sides are
    arms of the suite. `unseen`: why it cannot be seen here, where it cannot."""

    effect: Text
    source: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+#\d+$")]
    figures: Text
    versions: str = ""
    helps: str = ""
    unseen: str = ""
    seen: Annotated[tuple[Predicate, ...], Field(strict=False, min_length=1)]

    @property
    def link(self) -> str:
        repository, _, number = self.source.partition("#")
        return f"https://github.com/{repository}/issues/{number}"
