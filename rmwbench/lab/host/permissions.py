"""The requests that an agent permits to a caller with its token: programs that this machine named
before, with the arguments that rmwbench gives a worker, and with the environment of this machine.

All checks are made by the agent, since the requests are data of another machine.
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any

MOST_FILES, MOST_FILE_BYTES = 4096, 1 << 36
MOST_PROCESSES = 4096
MOST_WORD_CHARACTERS = 200
LARGEST_FD = 255
_FD = r"\d{1,3}"
_ARGUMENTS = {
    "--control-fd": _FD,
    "--records-fd": _FD,
    "--document-fd": _FD,
    "--daemon": r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}",
}
_ADDRESSES = ("RMWBENCH_ADDRESS", "RMWBENCH_PEERS", "RMWBENCH_DAEMON_ADDRESS")


class NotPermitted(Exception):
    """The caller sent a request that rmwbench does not send."""


def arguments(value: object) -> list[str]:
    """The arguments of a worker, daemon or tool. Raises NotPermitted for any others."""
    words = strings(value)
    if len(words) % 2:
        raise NotPermitted("a word without its value")
    for name, text in zip(words[::2], words[1::2], strict=True):
        if name not in _ARGUMENTS or not re.fullmatch(_ARGUMENTS[name], text):
            raise NotPermitted(f"the argument {name[:40]!r} {text[:40]!r}")
    return words


def environment(value: object, program: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process besides those that every process of a host has: the program's own,
    and of the orchestrator's only the addresses of the trial, since the others are about another
    machine. Raises NotPermitted for a value that is not an address."""
    if not isinstance(value, Mapping):
        raise NotPermitted("an invalid environment")
    variables = dict(program)
    for name in _ADDRESSES:
        if name in value:
            variables[name] = _addresses(value[name])
    return variables


def _addresses(text: object) -> str:
    try:
        return " ".join(str(ipaddress.ip_address(word)) for word in str(text).split())
    except ValueError:
        raise NotPermitted("an invalid address") from None


def strings(value: object) -> list[str]:
    """Returns a list of short texts. Raises NotPermitted for any other value."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > 64:
        raise NotPermitted("a value that is not a list of words")
    return [word(item) for item in value]


def word(value: object) -> str:
    """Returns a short text without control characters. Raises NotPermitted for any other value."""
    if not isinstance(value, str) or len(value) > MOST_WORD_CHARACTERS or not value.isprintable():
        raise NotPermitted("a value that is not a word")
    return value


def number(value: object, most: int) -> int:
    """Returns a whole number from 0 to `most`. Raises NotPermitted for any other value."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise NotPermitted(f"a value that is not a number from 0 to {most}")
    return value


def descriptors(value: object) -> dict[int, int]:
    """Returns target → number of a file. Raises NotPermitted for any other value."""
    if not isinstance(value, Mapping) or len(value) > LARGEST_FD:
        raise NotPermitted("a value that is not a table of files")
    return {
        number(_parsed_key(target), LARGEST_FD): number(file, 1 << 31)
        for target, file in value.items()
    }


def _parsed_key(key: Any) -> Any:
    """The number that a key of a JSON object stands for; any other key as it is."""
    return int(key) if isinstance(key, str) and re.fullmatch(_FD, key) else key
