"""The statements of the sources' texts: sentences, bullets and table rows that compare, count or
exclude.

A statement is known by a digest of its words, so that no sentence of a source is kept here.
"""

import hashlib
import html
import re
from collections import Counter
from dataclasses import dataclass

from tests.published.claims.headings import PLAIN, headings

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
    """`heading`: the last heading before it, as claims files name it; `place`: its place below that
    heading, as claims name it."""

    heading: str
    place: str
    text: str

    @property
    def digest(self) -> str:
        words = " ".join(re.findall(r"[a-z0-9%]+", self.text.casefold()))
        return hashlib.sha256(words.encode()).hexdigest()[:10]


def statements(name: str, text: str) -> list[Statement]:
    """Return the statements in order, each digest once."""
    asserting = [
        one
        for one in sentences(name, text)
        if ASSERTS.search(one.text)
        and len(WORD.findall(one.text)) >= 4
        and not one.place.startswith("code")
    ]
    return list({one.digest: one for one in asserting}.values())


WORD = re.compile(r"[A-Za-z]{2,}")
PICTURE = re.compile(r"!\[[^]]*\]\([^)]*\)|<img\b[^>]*>")
BULLET, ROW, TABBED = re.compile(r"\s*(?:[-*•]|\d+\.)\s"), re.compile(r"\s*\|"), re.compile(r".*\t")


def sentences(name: str, text: str) -> list[Statement]:
    """Return all sentences in order, with pictures (which have no text) and blocks of code among
    them."""
    names = iter(headings(name, text))
    heading, made, block, kind = "", [], [], "paragraph"
    row = TABBED if name == PLAIN else ROW
    wanted = next(names, None)
    counts: Counter[tuple[str, str]] = Counter()

    def add(kind: str, parts: list[str]) -> None:
        counts[heading, kind] += 1
        place = f"{kind} {counts[heading, kind]}"
        for number, part in enumerate(parts, 1):
            at = place if len(parts) == 1 else f"{place}, sentence {number}"
            made.append(Statement(heading, at, part))

    def flush() -> None:
        if parts := _sentences(" ".join(block)):
            add(kind, parts)
        block.clear()

    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            flush()
            fenced = not fenced
            kind = "code" if fenced else "paragraph"
        elif wanted is not None and not fenced and _is_heading(name, line, wanted):
            flush()
            heading, wanted, kind = wanted, next(names, None), "paragraph"
        elif fenced:
            block.append(line)
        elif not line.strip() or BULLET.match(line) or row.match(line):
            flush()
            kind = "bullet" if BULLET.match(line) else "row" if row.match(line) else "paragraph"
            block.append(line)
        else:
            block.append(line)
        if not fenced:
            for _ in PICTURE.findall(line):
                add("plot", [""])
    flush()
    return made


def _is_heading(name: str, line: str, wanted: str) -> bool:
    bare = re.sub(r" \(\d+\)$", "", wanted)
    if name == PLAIN:
        return line.strip() == bare
    clean = re.sub(r"<a [^>]*>\s*</a>", "", html.unescape(line)).replace("*", "").lstrip("# ")
    return line.startswith("#") and " ".join(clean.split()).rstrip(" :") == bare


def _sentences(block: str) -> list[str]:
    """Return the sentences that have a word or a number, without pictures, links' addresses and
    marks."""
    bare = re.sub(r"!\[[^]]*\]\([^)]*\)|<[^>]+>|\]\([^)]*\)", " ", html.unescape(block))
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z*`\"“(])", re.sub(r"[*_`\[\]]|\\", "", bare))
    return [" ".join(part.split()) for part in parts if re.search(r"[A-Za-z0-9]{2,}", part)]
