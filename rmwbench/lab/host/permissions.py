"""What an agent does for whoever knows its word, and nothing else: programs that this machine named
beforehand, with the arguments that rmwbench gives a worker and the environment of this machine.

Everything here is checked on the agent's side: what the orchestrator sends is data of another
machine.
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
    """The orchestrator asked for what no rmwbench asks for."""


def arguments(given: object) -> list[str]:
    """The words of a worker, daemon or tool. Raises NotPermitted for any other."""
    words = strings(given)
    if len(words) % 2:
        raise NotPermitted("a word without its value")
    for name, value in zip(words[::2], words[1::2], strict=True):
        if name not in _ARGUMENTS or not re.fullmatch(_ARGUMENTS[name], value):
            raise NotPermitted(f"the argument {name[:40]!r} {value[:40]!r}")
    return words


def environment(given: object, program: Mapping[str, str]) -> dict[str, str]:
    """What a process gets besides the variables that every process of a host has: the program's,
    and of the orchestrator's the addresses of the trial alone. Others of its variables are left
    out: they are of another machine. Raises NotPermitted for anything that is not an address.
    """
    if not isinstance(given, Mapping):
        raise NotPermitted("an invalid environment")
    variables = dict(program)
    for name in _ADDRESSES:
        if name in given:
            variables[name] = _addresses(given[name])
    return variables


def _addresses(text: object) -> str:
    try:
        return " ".join(str(ipaddress.ip_address(word)) for word in str(text).split())
    except ValueError:
        raise NotPermitted("an invalid address") from None


def strings(given: object) -> list[str]:
    """A list of texts. Raises NotPermitted for anything else."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) > 64:
        raise NotPermitted("no list of words")
    return [word(item) for item in given]


def word(given: object) -> str:
    """A short text without control characters. Raises NotPermitted for anything else."""
    if not isinstance(given, str) or len(given) > MOST_WORD_CHARACTERS or not given.isprintable():
        raise NotPermitted("no word")
    return given


def number(given: object, most: int) -> int:
    """From 0 to `most`. Raises NotPermitted for anything else."""
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= most:
        raise NotPermitted(f"no number from 0 to {most}")
    return given


def descriptors(given: object) -> dict[int, int]:
    """Target → number of a file. Raises NotPermitted for anything else."""
    if not isinstance(given, Mapping) or len(given) > LARGEST_FD:
        raise NotPermitted("no files")
    return {
        number(_whole(target), LARGEST_FD): number(file, 1 << 31) for target, file in given.items()
    }


def _whole(text: Any) -> Any:
    return int(text) if isinstance(text, str) and re.fullmatch(_FD, text) else text
