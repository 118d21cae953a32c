"""Documents and texts without control characters: what others wrote must not drive the reader's
terminal.

A module of its own, which imports next to nothing: whoever prints a line need not wait for the
tables of a campaign.
"""

from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

_HARMLESS = "\n\t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"  # not `printable` to Python
_UNSEEN = ("charts", "per_trial")
_NO_TEXT = (float, int, bool, type(None))  # most of a document


def printable(value: Any) -> Any:
    """A text, or a document or a typed answer with all its texts, without control characters.
    `charts` and `per_trial` are not for a terminal: dropped of a document, left as they are in an
    answer."""
    if type(value) in _NO_TEXT or isinstance(value, Enum):
        return value
    if isinstance(value, str):
        if value.isprintable():
            return value
        return "".join(
            c if c.isprintable() or c in _HARMLESS else "\N{REPLACEMENT CHARACTER}" for c in value
        )
    if isinstance(value, dict):
        return {key: printable(item) for key, item in value.items() if key not in _UNSEEN}
    if isinstance(value, tuple):
        return tuple(map(printable, value))
    if isinstance(value, int | float):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value,
            **{
                field.name: printable(getattr(value, field.name))
                for field in fields(value)
                if field.name not in _UNSEEN
            },
        )
    return [printable(item) for item in value] if isinstance(value, list) else value
