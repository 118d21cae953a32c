"""A text file that is there whole, or as it was before: whoever is killed while writing leaves no half of it."""

from pathlib import Path


def write_whole(path: Path | str, text: str) -> None:
    """Writes `text` to PATH.partial and renames it. Not for what must survive a power cut: nothing is flushed."""
    partial = Path(f"{path}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
