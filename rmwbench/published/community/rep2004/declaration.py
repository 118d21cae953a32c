"""One declaration: the level that it claims, and for each requirement a status, the words that it
rests on, its links and its date.

A status is the document's own: from its summary table if it has one, otherwise from its text.
Nothing is inferred from silence: what cannot be told is `not stated`, and only an explicit denial
is `not met`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import PurePath

from rmwbench.errors import UserError
from rmwbench.published.community.rep2004.items import ITEMS, LEVELS, SECTIONS, by_words, numbers
from rmwbench.published.community.rep2004.markup import (
    TextSection,
    cells,
    links,
    list_rows,
    parts,
    plain,
    targets,
)

MET, NOT_MET, QUALIFIED = "met", "not met", "qualified"
STATED, NOT_APPLICABLE, NOT_STATED = "stated", "not applicable", "not stated"
STATUSES = {
    MET: "the document's own table marks it as fulfilled",
    STATED: "the document has a text on it that denies nothing; whether it is enough is for the "
    "reader",
    QUALIFIED: "fulfilled in part, waived, or with exceptions, in the document's own words or "
    "marks",
    NOT_MET: "the document says itself that it is not fulfilled",
    NOT_APPLICABLE: "the document says that it does not apply",
    NOT_STATED: "the document does not say",
}


@dataclass
class RequirementFinding:
    """What a document says about one requirement. `scope` is `section` if a text speaks of a whole
    section at once."""

    number: str
    status: str = NOT_STATED
    basis: str = ""
    scope: str = "item"
    quote: str = ""
    line: int | None = None
    lines: list[int] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    as_of: str | None = None
    note: str = ""
    contradicts: bool = False
    """Whether its table and its text contradict each other; the note then quotes both."""


@dataclass
class Declaration:
    package: str
    where: str
    level: int | None
    level_line: int | None
    findings: dict[str, RequirementFinding]


@dataclass(frozen=True, kw_only=True)
class OpenPoint:
    """A requirement of the claimed level that the document does not show to be fulfilled."""

    number: str
    name: str
    status: str
    asked: str


Dates = Callable[[list[int]], str | None]
"""Lines of a document → the newest date of any of them, None if it is not known."""


def read(text: str, where: str, package: str | None = None) -> Declaration:
    """Return the declaration in a Markdown or reStructuredText document. Raise UserError if it
    contains no requirement of REP-2004 at all."""
    sections, named = parts(text), targets(text)
    findings = {number: RequirementFinding(number) for number in ITEMS}
    headings = _by_text(sections, findings, named)
    marks = _by_table(sections, findings)
    level, line = _level(sections)
    if not headings and not marks:
        raise UserError(
            "not a quality declaration",
            where=where,
            expected="headings such as `Version Scheme [1.i]`, or a table of requirements",
            actual=f"{len(sections) - 1} headings, none of a requirement of REP-2004",
        )
    return Declaration(
        package or _package(sections) or PurePath(where).stem, where, level, line, findings
    )


# --- texts
# --------------------------------------------------------------------------------------------------


def _by_text(
    sections: list[TextSection], findings: dict[str, RequirementFinding], named: dict[str, str]
) -> int:
    headings = 0
    whole: dict[str, TextSection] = {}
    for part in _with_subsections(sections):
        if part.level == 0:
            continue
        items = numbers(part.title)
        bracket = re.search(r"\[([1-7])\]", part.title)
        section = None if bracket is None else bracket[1]
        if (
            not items
            and section is None
            and not re.search("summary|status", part.title, re.IGNORECASE)
        ):
            items = by_words(part.title)
            named_section = next(
                (n for n, name in SECTIONS.items() if _is_section(part.title, name)), None
            )
            if named_section and len(items) != 1:
                items, section = [], named_section
        headings += bool(items or section)
        if section and not items:
            of_section = _items_of(section)
            if len(of_section) == 1:
                items = of_section
            else:
                whole[section] = part
        for number in items:
            _read_text(findings[number], part, named, "item")
    for section, part in whole.items():
        items = _items_of(section)
        # A text above headings of its own introduces them; without such headings it is all that the
        # document says on the section.
        if all(findings[n].status == NOT_STATED and findings[n].line is None for n in items):
            for item in items:
                _read_text(findings[item], part, named, "section")
    return headings


def _items_of(section: str) -> list[str]:
    return [number for number, item in ITEMS.items() if item.section == section]


def _with_subsections(sections: list[TextSection]) -> list[TextSection]:
    """Return the parts; the text of a requirement includes what stands below headings inside it
    (one per dependency, for example)."""
    out: list[TextSection] = []
    for part in sections:
        inside = out and numbers(out[-1].title) and part.level > out[-1].level
        if inside and not numbers(part.title) and not re.search(r"\[[1-7]\]", part.title):
            out[-1] = TextSection(
                out[-1].level, out[-1].title, out[-1].line, [*out[-1].lines, *part.lines]
            )
        else:
            out.append(part)
    return out


def _is_section(title: str, name: str) -> bool:
    words = {"platforms": "platform support"}.get(name, name)
    return title.lower().strip().startswith(words)


def _read_text(
    finding: RequirementFinding, part: TextSection, named: dict[str, str], scope: str
) -> None:
    lines = [(n, t) for n, t in part.lines if cells(t) is None]
    text = "\n".join(t for _, t in lines)
    if finding.line is not None and finding.status != NOT_STATED and not text.strip():
        return
    status, quote = classify(text, finding.number)
    finding.line, finding.scope = part.line, scope
    finding.lines = [n for n, t in lines if t.strip()]
    if status == NOT_STATED:
        return
    finding.status, finding.quote, finding.basis = status, quote, "text"
    finding.links = links(text, named)
    finding.as_of = _as_of(text)


_DENIED = re.compile(
    r"\b(?:does|do|did)(?: not|n't)(?: (?:currently|yet|presently|explicitly))? "
    r"(?:have|provide|track|conduct|run|require|include|use|enforce|perform|declare|state|maintain|support|follow|define)\b"
    r"|\b(?:is|are) not (?:yet|currently|at a stable)\b|\bnot yet "
    r"(?:at|been|established|implemented|available|done)\b"
    r"|\b(?:there (?:is|are)(?: currently)?|has|have) no "
    r"(?!(?:[\w/-]+ ){0,3}(?:errors?|defects?|failures?|warnings?)\b)"
    r"|\bno (?:performance|automated|automatic|static|coverage|regression) "
    r"(?:tests?|testing|policy|analysis)\b",
    re.IGNORECASE,
)
_NOT_APPLICABLE = re.compile(
    r"\bnot applicable\b|^n/?a\b|\bdoes not apply\b"
    r"|\bdoes not (?:contain|have)(?: any)? (?:c (?:or|and) c\+\+ code|c\+\+ code|(?:a )?public "
    r"api)\b"
    r"|\bhas no public api\b|\bno public api\b",
    re.IGNORECASE,
)
_QUALIFICATION = re.compile(
    r"\b(?:but|however|nevertheless|although|though|anyway|instead|regardless|except|still|exceptions?|while)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z*\"`(]|[a-z_]+_)")
_LATER = re.compile(
    r"^[>\s*-]*(?:todo|tbd|to be (?:done|defined|determined))\b.*$", re.IGNORECASE | re.MULTILINE
)


def classify(text: str, number: str) -> tuple[str, str]:
    """Return (status, the sentence that it rests on) of a text about a requirement."""
    paragraphs = [plain(p) for p in re.split(r"\n\s*\n", _LATER.sub("", text))]
    sentences = [s for p in paragraphs for s in _SENTENCE.split(p) if re.search(r"\w", s)]
    if not sentences:
        return NOT_STATED, ""
    not_applicable = next((s for s in sentences[:2] if _NOT_APPLICABLE.search(s)), None)
    if not_applicable is not None:
        return NOT_APPLICABLE, _short(not_applicable)
    # A package without dependencies fulfils the requirements on dependencies.
    denials = [] if number.startswith("5.") else [s for s in sentences if _DENIED.search(s)]
    if not denials:
        return STATED, _short(sentences[0])
    if denials[0] is sentences[0] and not any(_QUALIFICATION.search(s) for s in sentences[:3]):
        return NOT_MET, _short(denials[0])
    return QUALIFIED, _short(denials[0])


def _short(sentence: str) -> str:
    return sentence if len(sentence) <= 200 else sentence[:197].rstrip() + "…"


_DATE = re.compile(
    r"\bas of (\d{4}-\d{2}-\d{2}|\d{2}-\d{2}-\d{4}|[A-Z][a-z]+ \d{1,2},? \d{4}|[A-Z][a-z]+ \d{4})"
)


def _as_of(text: str) -> str | None:
    """Return a date that the text itself names as its own, as it is written if it is not ISO."""
    match = _DATE.search(text)
    if match is None:
        return None
    fields = match[1].split("-")
    if len(fields) == 3 and len(fields[2]) == 4:
        fields = fields[::-1]
    try:
        return date(*map(int, fields)).isoformat() if len(fields) == 3 else match[1]
    except ValueError:
        return match[1]


# --- tables
# --------------------------------------------------------------------------------------------------

_YES, _NO = (
    ("✓", "✔", "☑", "✅", "√", "yes", "fulfilled", "met"),
    ("✗", "✘", "☓", "✕", "❌", "×", "no", "not met"),
)
_NONE = ("", "-", "--", "---", "–", "—")


def _by_table(sections: list[TextSection], findings: dict[str, RequirementFinding]) -> int:
    """Apply the marks of summary tables and return how many requirements they cover. Marks count
    more than texts; if the two contradict each other, the note says so."""
    legend: dict[str, str] = {}
    rows: list[tuple[int, list[str]]] = []
    for part in sections:
        for line, text in part.lines:
            if match := re.fullmatch(r"\s*(?:\\?(\W))\s+?[=:]\s+(.+)", text):
                legend[match[1]] = plain(match[2])
            if (row := cells(text)) is not None:
                rows.append((line, row))
        rows += list_rows(part.lines)
    seen: set[str] = set()
    for line, row in rows:
        if len(row) < 2 or not re.fullmatch(r"[\W_]*[1-7]\.[ivx]+(\.[a-c])?[\W_]*", row[0]):
            continue
        items = numbers(row[0])
        # Core packages number two rows 4.iii.a; the second is 4.iii.b.
        if len(items) == 1 and items[0] in seen:
            following = _next_letter(items[0])
            items = [following] if following and following not in seen else items
        seen.update(items)
        for number in items:
            _read_mark(findings[number], line, plain(row[-1]), legend)
    _clear_partial_contradictions(findings)
    return len(seen)


def _clear_partial_contradictions(findings: dict[str, RequirementFinding]) -> None:
    """Clear a contradiction between a text on `4.iv` as a whole and one of its two rows, unless the
    text contradicts both."""
    for number, finding in findings.items():
        stem, _, letter = number.rpartition(".")
        if finding.contradicts and letter in "abc":
            others = [
                f
                for n, f in findings.items()
                if n.startswith(f"{stem}.") and f.quote == finding.quote
            ]
            if not all(f.contradicts for f in others):
                finding.contradicts = False
                finding.note = ""


def _next_letter(number: str) -> str | None:
    head, _, letter = number.rpartition(".")
    following = f"{head}.{chr(ord(letter[-1]) + 1)}" if letter in ("a", "b") else None
    return following if following in ITEMS else None


def _read_mark(finding: RequirementFinding, line: int, mark: str, legend: dict[str, str]) -> None:
    lower, note = mark.lower().strip(), ""
    if lower in _NONE:
        return
    if lower in _YES:
        status = MET
    elif lower in _NO:
        status = NOT_MET
    elif mark in legend:
        status, note = QUALIFIED, legend[mark]
    elif len(mark) <= 3 and not re.search(r"\w", mark):
        status, note = QUALIFIED, f"marked {mark}, which the document does not explain"
    else:
        status, note = classify(mark, finding.number)
        note = "" if status == STATED else note
    of_text = finding.status
    finding.note = note
    if (status == MET and of_text == NOT_MET) or (status == NOT_MET and of_text == STATED):
        finding.contradicts = True
        finding.note = f"its table says {status}, its text: {finding.quote}"
    finding.status, finding.basis, finding.scope = status, "table", "item"
    finding.lines = [*finding.lines, line]
    finding.line = finding.line or line


# --- the document
# --------------------------------------------------------------------------------------------------

_CLAIM = re.compile(
    r"\b(?:claims?|meets?|qualif(?:y|ies)|declares?|is (?:considered "
    r")?(?:at|in))\b[^.]{0,120}?\bQuality Level (\d)\b",
    re.IGNORECASE,
)


def _level(sections: list[TextSection]) -> tuple[int | None, int | None]:
    """Return (the level that the document claims for its package, its line)."""
    for part in sections:
        if numbers(part.title):
            break  # further down, levels are those of dependencies
        text, lines = "", []
        for line, row in part.lines:
            lines.append((len(text), line))
            text += plain(row) + " "
        if (match := _CLAIM.search(text)) and int(match[1]) in LEVELS:
            return int(match[1]), max(line for start, line in lines if start <= match.start(1))
    return None, None


_NAMES = (
    r"^(.+?) Quality Declaration$",
    r"\bfor the ([\w.-]+) package\b",
    r"\b[Tt]he package ([\w.-]+) claims",
    r"(?:^|[.] )((?:[\w+-]+ ){1,4}?)claims to be",
)


def _package(sections: list[TextSection]) -> str | None:
    for pattern in _NAMES:
        for part in sections[:2]:
            for candidate in (part.title, plain(" ".join(t for _, t in part.lines))):
                if match := re.search(pattern, candidate):
                    name = match[1].strip()
                    if name.lower() not in ("package", "external dependency", "this package", "it"):
                        return name
    return None


def item_dates(
    declaration: Declaration, document_date: str | None, dates: Dates
) -> dict[str, str | None]:
    """Return the date of each item, by number: when its lines last changed, or else the date that
    its text names, or else the document's; None for what is not stated."""
    return {
        number: None
        if finding.status == NOT_STATED
        else dates(finding.lines) or finding.as_of or document_date
        for number, finding in declaration.findings.items()
    }


def open_points(declaration: Declaration) -> list[OpenPoint]:
    """Return the open points of the claimed level; [] without a level."""
    demands = LEVELS.get(declaration.level or 0, {})
    unsettled = (NOT_MET, NOT_STATED, QUALIFIED)
    return [
        OpenPoint(number=number, name=item.name, status=status, asked=demands[number])
        for number, item in ITEMS.items()
        if demands.get(number) == "required"
        and (status := declaration.findings[number].status) in unsettled
    ]
