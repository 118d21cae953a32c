"""Rules for names: ROS's for nodes and topics, and ours for workloads, suites and arms."""

import re
from typing import Annotated

from pydantic import AfterValidator

from rmwbench.suite.fault import Fault

ALL = "all"
"""Stands for every host without its own entry; no host may have this name."""


def _matching(kind: str, pattern: str, expected: str) -> AfterValidator:
    compiled = re.compile(pattern)

    def check(name: str) -> str:
        if not compiled.fullmatch(name):
            raise Fault(
                f"`{name}` is not a valid name for a {kind}", expected=expected, actual=repr(name)
            )
        return name

    return AfterValidator(check)


NodeName = Annotated[
    str,
    _matching(
        "node, process or host",
        r"[A-Za-z_][A-Za-z0-9_]{0,99}",
        "letters, digits and underscores, no digit first",
    ),
]
WorkloadName = Annotated[
    str,
    _matching(
        "workload",
        r"[A-Za-z][A-Za-z0-9_]{0,99}",
        "letters, digits and underscores, a letter first: it is also the name of its topic",
    ),
]
SuiteName = Annotated[
    str,
    _matching(
        "suite",
        r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}",
        "letters, digits, `-` and `_`: campaigns are named after it",
    ),
]
TopicName = Annotated[
    str,
    _matching(
        "topic",
        r"[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*",
        "as in ROS: letters, digits, underscores and slashes, without leading slash",
    ),
]
ArmName = Annotated[
    str,
    _matching(
        "arm",
        r"[^\s\x00-\x1f](?:[^\x00-\x1f]{0,78}[^\s\x00-\x1f])?",
        "1 to 80 characters in one line",
    ),
]
