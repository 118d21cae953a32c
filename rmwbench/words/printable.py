"""Documents and texts without control characters: what others wrote must not drive the reader's terminal.

A module of its own, which imports nothing: whoever prints a line need not wait for the tables of a campaign.
"""

from typing import Any

_HARMLESS = "\n\t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"  # not `printable` to Python


def printable(value: Any) -> Any:
    """A text, or a document with all its texts, without control characters; of a document's keys, `charts` and
    `per_trial` are dropped: they are not for a terminal."""
    if isinstance(value, str):
        return "".join(c if c.isprintable() or c in _HARMLESS else "\N{REPLACEMENT CHARACTER}" for c in value)
    if isinstance(value, dict):
        return {key: printable(item) for key, item in value.items() if key not in ("charts", "per_trial")}
    return [printable(item) for item in value] if isinstance(value, list) else value
