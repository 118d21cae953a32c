"""Documents and texts without control characters: texts of others must not control the reader's
terminal.

This module imports next to nothing, so that a verb which prints one line starts fast.
"""

from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

_HARMLESS = "\n\t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"  # not `printable` to Python
_NOT_PRINTED = ("charts", "per_trial")
_NO_TEXT = (float, int, bool, type(None))  # most of a document


def printable(value: Any) -> Any:
    """Return a text, or a document or typed answer with all its texts, without control characters.
    `charts` and `per_trial` are not printed: a document loses them, an answer keeps them
    unchanged."""
    if type(value) in _NO_TEXT or isinstance(value, Enum):
        return value
    if isinstance(value, str):
        if value.isprintable():
            return value
        return "".join(
            c if c.isprintable() or c in _HARMLESS else "\N{REPLACEMENT CHARACTER}" for c in value
        )
    if isinstance(value, dict):
        return {key: printable(item) for key, item in value.items() if key not in _NOT_PRINTED}
    if isinstance(value, tuple):
        return tuple(map(printable, value))
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.name not in _NOT_PRINTED]
        return replace(value, **{name: printable(getattr(value, name)) for name in names})
    return [printable(item) for item in value] if isinstance(value, list) else value
