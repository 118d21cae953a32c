"""The texts of the five sources, if they lie beside the checkout, and their headings as claims
files name them."""

import html
import re
from collections import Counter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[3].parent / "shared" / "sources"
PLAIN = "003_3d15c87008427981.txt"
"""The only source that is not Markdown: its headings are lines of their own."""


def source_text(name: str) -> str:
    """Return the text of the source. The test is skipped if the text is not kept: nothing stands in
    for it."""
    path = SOURCES / name
    if not path.exists():
        pytest.skip(f"the source's text is not here ({path}): nothing can be compared with it")
    return path.read_text(encoding="utf-8")


def headings(name: str, text: str) -> list[str]:
    """Return the headings in order, without marks; the second of the same name is `NAME (2)`."""
    names = _plain(text) if name == PLAIN else _markdown(text)
    seen: Counter[str] = Counter()
    out = []
    for heading in names:
        seen[heading] += 1
        out.append(heading if seen[heading] == 1 else f"{heading} ({seen[heading]})")
    return out


def _markdown(text: str) -> list[str]:
    names, fenced = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        match = re.match(r"#{1,6}\s+(.*)", line)
        if match and not fenced:
            names.append(_clean(match[1]))
    return names


def _clean(heading: str) -> str:
    bare = re.sub(r"<a [^>]*>\s*</a>", "", html.unescape(heading)).replace("*", "")
    return " ".join(bare.split()).rstrip(" :")


def _plain(text: str) -> list[str]:
    """Return the lines without the marks of a sentence, a list, a table or a label."""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and len(line) < 70 and not re.search(r"[.:\t]|^-", line)]


def named(short: str, heading: str) -> bool:
    """Whether a claims file's name means that heading: long headings are cut, with an ellipsis."""
    return heading == short or (short.endswith("…") and heading.startswith(short[:-1]))
