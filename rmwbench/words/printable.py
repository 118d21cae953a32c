"""Texts without control characters: texts of others must not control the reader's terminal.

This module imports nothing, so that a verb which prints one line starts fast.
"""

_HARMLESS = "\n\t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"  # not `printable` to Python


def printable(text: str) -> str:
    """Return the text with replacement characters for control characters."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in _HARMLESS else "\N{REPLACEMENT CHARACTER}" for c in text
    )
