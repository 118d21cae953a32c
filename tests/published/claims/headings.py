"""The headings of the five sources' texts, as they are named in claims files."""

import html
import re
from collections import Counter

PLAIN = "003_3d15c87008427981.txt"
"""The one source that is not Markdown: its headings are lines of their own."""
PREPRINT = "002_6b0fdd8d3ed3370f.txt"


def headings(name: str, text: str) -> list[str]:
    """In order, without marks; the second of the same name is `NAME (2)`."""
    found = _plain(text) if name == PLAIN else _markdown(text)
    seen: Counter[str] = Counter()
    out = []
    for heading in found:
        seen[heading] += 1
        out.append(heading if seen[heading] == 1 else f"{heading} ({seen[heading]})")
    return out


def _markdown(text: str) -> list[str]:
    found, fenced = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        match = re.match(r"#{1,6}\s+(.*)", line)
        if match and not fenced:
            found.append(_clean(match[1]))
    return found


def _clean(heading: str) -> str:
    bare = re.sub(r"<a [^>]*>\s*</a>", "", html.unescape(heading)).replace("*", "")
    return " ".join(bare.split()).rstrip(" :")


def _plain(text: str) -> list[str]:
    """Lines without the marks of a sentence, a list, a table or a label."""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and len(line) < 70 and not re.search(r"[.:\t]|^-", line)]


def named(short: str, heading: str) -> bool:
    """Whether a claims file's name means that heading: long ones are cut, with an ellipsis."""
    return heading == short or (short.endswith("…") and heading.startswith(short[:-1]))
