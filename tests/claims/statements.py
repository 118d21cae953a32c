"""The statements of the sources' texts: sentences, bullets and table rows that compare, count or
exclude.

A statement is known by a digest of its words, so that no sentence of a source is kept here.
"""

import hashlib
import html
import re
from dataclasses import dataclass

from tests.claims.headings import PLAIN, headings

ASSERTS = re.compile(
    r"""\b(?:
        more|less|fewer|most|least|better|best|worse|worst|higher|highest|lower|lowest|larger|smaller|faster|fastest|
        slower|slightly|twice|double|half|quarter|times|percent|similar(?:ly)?|equal(?:ly)?|same|comparable|than|
        increas\w*|decreas\w*|grow\w*|degrad\w*|scal\w*|outperform\w*|improv\w*|reduc\w*|exceed\w*|superior|
        all|none|nobody|only|never|always|every|each|without|needs?|requires?|cannot|supports?|supported|
        missing|dominat\w*|independent|depend\w*|constant|linear\w*|quadratic\w*|significan\w*|advantage|loss|excellent
    )\b|\d\s*%|\b\d+(?:\.\d+)?\s?(?:ms|MB|KB|MB/s|Hz|Mbps)\b""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class Statement:
    """`heading`: the last one before it, as claims files name it."""

    heading: str
    text: str

    @property
    def digest(self) -> str:
        words = " ".join(re.findall(r"[a-z0-9%]+", self.text.casefold()))
        return hashlib.sha256(words.encode()).hexdigest()[:10]


def statements(name: str, text: str) -> list[Statement]:
    """In order, each digest once."""
    names = iter(headings(name, text))
    heading, found, block = "", [], []
    wanted = next(names, None)
    fenced = False

    def flush() -> None:
        found.extend(Statement(heading, one) for one in _sentences(" ".join(block)))
        block.clear()

    for line in text.splitlines():
        fenced ^= line.startswith("```")
        if wanted is not None and not fenced and _is_heading(name, line, wanted):
            flush()
            heading, wanted = wanted, next(names, None)
        elif fenced or not line.strip() or re.match(r"\s*(?:[-*•]|\d+\.)\s|\s*\|", line):
            flush()
            block.extend([] if fenced else [line])
        else:
            block.append(line)
    flush()
    return list({one.digest: one for one in found if ASSERTS.search(one.text)}.values())


def _is_heading(name: str, line: str, wanted: str) -> bool:
    bare = re.sub(r" \(\d+\)$", "", wanted)
    if name == PLAIN:
        return line.strip() == bare
    clean = re.sub(r"<a [^>]*>\s*</a>", "", html.unescape(line)).replace("*", "").lstrip("# ")
    return line.startswith("#") and " ".join(clean.split()).rstrip(" :") == bare


def _sentences(block: str) -> list[str]:
    """Without pictures, links' addresses and marks; of four words at least."""
    bare = re.sub(r"!\[[^]]*\]\([^)]*\)|<[^>]+>|\]\([^)]*\)", " ", html.unescape(block))
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z*`\"“(])", re.sub(r"[*_`\[\]]|\\", "", bare))
    return [" ".join(part.split()) for part in parts if len(re.findall(r"[A-Za-z]{2,}", part)) >= 4]
