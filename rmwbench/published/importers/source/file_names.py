"""Names of files as a message and a bundle can hold them: one line, and text.

A name on disk is bytes: it may hold a line break, or be in no encoding that we know.
"""

from pathlib import Path


def shown(path: Path | str) -> str:
    """A path for a message: what does not print is escaped, so that a message keeps its lines."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode()
        for c in str(path)
    )


def is_text(name: str) -> bool:
    """Whether a name is UTF-8 without line breaks and other control characters."""
    return name.isprintable()
