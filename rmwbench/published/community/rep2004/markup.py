"""Markdown and reStructuredText as far as declarations use them: headings, the lines below each,
links, tables.

Both are read line by line, so that every finding has the line at which a reader can check it.
"""

import re
from dataclasses import dataclass, field


@dataclass
class TextSection:
    """A heading and the text below it up to the next; `lines` are (line number, text), without
    fenced code."""

    level: int
    title: str
    line: int
    lines: list[tuple[int, str]] = field(default_factory=list)


_ATX = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*")
_ADORNMENT = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def parts(text: str) -> list[TextSection]:
    """Return the parts of a document; the first one is the text before any heading (level 0, no
    title)."""
    lines = text.split("\n")
    out = [TextSection(0, "", 1)]
    adornments: list[str] = []
    fence = ""
    skip_until = -1
    for place, line in enumerate(lines):
        number = place + 1
        if place <= skip_until:
            continue
        if mark := _FENCE.match(line):
            fence = "" if mark[1] == fence else fence or mark[1]
            continue
        if fence:
            continue
        if atx := _ATX.fullmatch(line):
            out.append(TextSection(len(atx[1]), plain(atx[2]), number))
            continue
        under = _underlined_heading(lines, place)
        if under is not None:
            title, adornment, taken = under
            if adornment not in adornments:
                adornments.append(adornment)
            # Markdown's underlines have fixed levels; in reStructuredText the order of first use
            # decides.
            level = 1 + adornments.index(adornment)
            out.append(TextSection(level, plain(title), number))
            skip_until = place + taken - 1
            continue
        out[-1].lines.append((number, line))
    return out


def _underlined_heading(lines: list[str], place: int) -> tuple[str, str, int] | None:
    """Return (title, adornment, lines taken) if a heading with an underline (and overline) begins
    here."""
    line = lines[place]
    if _ADORNMENT.fullmatch(line) and place + 2 < len(lines):
        title, below = lines[place + 1], lines[place + 2]
        is_table = title.lstrip().startswith(("|", "+"))
        if title.strip() and below.strip() == line.strip() and not is_table:
            return title.strip(), line[0] * 2, 3
    if (
        place + 1 < len(lines)
        and line.strip()
        and not line.startswith((" ", "-", "*", "+", "|", ".."))
    ):
        below = lines[place + 1]
        blank_before = place == 0 or not lines[place - 1].strip()
        if (
            blank_before
            and _ADORNMENT.fullmatch(below)
            and len(below.strip()) >= min(3, len(line.strip()))
        ):
            return line.strip(), below[0], 2
    return None


_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
# An address has an end: without one, brackets that never close would be tried again and again.
_MD_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\(\s*<?([^\s)>]{1,1000})>?(?:\s+[\"'][^)]*)?\)"
)
_MD_REFERENCE = re.compile(r"\[([^\]\[]+)\]\[([^\]]*)\]")
_MD_DEFINITION = re.compile(r" {0,3}\[([^\]]+)\]:\s*<?(\S+?)>?(?:\s+[\"'(].*)?")
_RST_LINK = re.compile(r"`([^`<]*)<([^>`\s]+)>`__?")
_RST_NAMED = re.compile(r"`([^`<>]+)`_(?!_)|(?<![\w`])([A-Za-z][\w.-]*)_(?![\w_])")
_RST_TARGET = re.compile(r"\s*\.\. _`?([^:`]+)`?:\s+(\S+)")
_BARE = re.compile(r"(?<![(<\w\"'/=])<?(https?://[^\s<>)\]`\"']+)")
_HTML = re.compile(r"""<a\s[^>]*href=["']([^"']+)["']""", re.IGNORECASE)


def targets(text: str) -> dict[str, str]:
    """Return the named link targets of a whole document, by their name in lower case."""
    by_name = {}
    for line in text.split("\n"):
        for pattern in (_MD_DEFINITION, _RST_TARGET):
            if match := pattern.fullmatch(line):
                by_name[match[1].strip().lower()] = match[2]
    return by_name


def links(text: str, named: dict[str, str]) -> list[str]:
    """Return the targets of a text's links, in order and once each. An image is not a link, but
    what a badge links to is."""
    placed: list[tuple[int, str]] = []
    placed += [(m.start(), m[2]) for m in _MD_LINK.finditer(text)]
    placed += [(m.start(), m[2]) for m in _RST_LINK.finditer(text)]
    placed += [(m.start(), m[1]) for m in _HTML.finditer(text)]
    for match in _MD_REFERENCE.finditer(text):
        target = named.get((match[2] or match[1]).strip().lower())
        placed += [(match.start(), target)] if target else []
    for match in _RST_NAMED.finditer(text):
        target = named.get((match[1] or match[2]).strip().lower())
        placed += [(match.start(), target)] if target else []
    rest = _MD_LINK.sub(" ", _IMAGE.sub(" ", text))
    rest = _RST_LINK.sub(" ", rest)
    placed += [(text.find(m[1]), m[1].rstrip(".,;:")) for m in _BARE.finditer(rest)]
    return list(dict.fromkeys(target for _, target in sorted(placed) if not target.startswith("#")))


def plain(text: str) -> str:
    """Return a text without its markup: links by their words, no emphasis, no code marks, one
    line."""
    text = _IMAGE.sub("", text)
    text = _MD_LINK.sub(r"\1", text)
    text = _MD_REFERENCE.sub(r"\1", text)
    text = re.sub(r"`([^`<]*?)\s*<[^>`]+>`__?", r"\1", text)
    text = re.sub(r"`+([^`]*)`+_{0,2}", r"\1", text)
    text = re.sub(r"(?<!\w)[*_]{1,3}([^*_\n]+)[*_]{1,3}(?!\w)", r"\1", text)
    return " ".join(text.split())


def cells(line: str) -> list[str] | None:
    """Return the cells of a line of a pipe or grid table, None for another line or a rule between
    rows."""
    stripped = line.strip()
    if not stripped.startswith("|") or stripped.count("|") < 2:
        return None
    texts = [cell.strip() for cell in stripped.strip("|").split("|")]
    return None if all(re.fullmatch(r":?-{2,}:?|=*", cell) for cell in texts) else texts


def list_rows(lines: list[tuple[int, str]]) -> list[tuple[int, list[str]]]:
    """Return the rows of reStructuredText list tables: (line, cells)."""
    rows: list[tuple[int, list[str]]] = []
    for number, line in lines:
        if match := re.fullmatch(r"\s+\* -\s?(.*)", line):
            rows.append((number, [match[1].strip()]))
        elif rows and (match := re.fullmatch(r"\s+-(?:\s(.*))?", line)):
            rows[-1][1].append((match[1] or "").strip())
    return rows
