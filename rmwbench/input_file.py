"""Reads files of others: only regular files, only to a limit of size, and only JSON that does not
break its reader; and JSON5 and YAML of configurations, as values without their line numbers.

A pipe would make a verb wait for ever, and /dev/zero would fill the memory. Errors are the OSError
and ValueError of the standard library; the caller, who knows the purpose of the file, words them.
"""

import errno
import json
import math
import os
import re
import stat
from pathlib import Path
from typing import Any

MOST_BYTES = 256 * 1024 * 1024
"""Ten times the largest plan or journal that we have seen."""

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def read_input(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file. Raises OSError if it is none, cannot be read, or has
    more than `most_bytes`."""
    # Without O_NONBLOCK opening a pipe waits for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with open(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "no file")
            raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {most_bytes} bytes", str(path))
    return content


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Return the content as text, with `\\n` at the end of lines and without the byte order mark of
    some editors. Raises UnicodeDecodeError (a ValueError) if it is no text."""
    return re.sub(r"\r\n?", "\n", read_input(path, most_bytes).decode("utf-8-sig"))


def name_of(path: Path | str) -> str:
    """Return the name of a file or a directory, also if its path is `.`, which has none."""
    return Path(os.path.abspath(path)).name


def parse_json(raw: bytes | str) -> Any:
    """Return a JSON document. Raises ValueError for anything else, too deep documents included.
    Half a surrogate pair, which no file and no other library accepts, becomes the replacement
    character. Numbers are finite: JSON has no others, though Python reads them."""
    try:
        document = json.loads(raw, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    pattern: Any = rb"\\u[dD][89a-fA-F]" if isinstance(raw, bytes) else r"\\u[dD][89a-fA-F]"
    return _without_halves(document) if re.search(pattern, raw) else document


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a finite number")
    return value


def _without_halves(value: Any) -> Any:
    """Return the document with replacement characters for halves of surrogate pairs."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_halves(key): _without_halves(item) for key, item in value.items()}
    return [_without_halves(item) for item in value] if isinstance(value, list) else value


_STRING = r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\''


def yaml_value(text: str) -> Any:
    """Raises an error of ruamel.yaml if the text is not YAML."""
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True).load(text)


def json5_value(text: str) -> Any:
    """Read JSON5, which without its comments is YAML's flow style, as far as configurations use it.
    Raises as `yaml_value` does."""
    bare = without_json5_comments(text)
    spaced = re.sub(rf"({_STRING})|:(?=\S)", lambda m: m[1] or ": ", bare, flags=re.DOTALL)
    return yaml_value(spaced.replace("\t", " "))


def without_json5_comments(text: str) -> str:
    return re.sub(rf"({_STRING})|//[^\n]*|/\*.*?\*/", lambda m: m[1] or " ", text, flags=re.DOTALL)
