"""What `rmwbench published claims WORD…` asks for: sources, claims files, and single claims by
their ids."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rmwbench.errors import UserError, did_you_mean
from rmwbench.published.claims.claims_file import Claims, load
from rmwbench.suite.file.places import CLAIMS_FILE, SUFFIXES, source_directory, sources_with


def sources() -> list[str]:
    """The sources that have claims, by the name of their folder."""
    return sources_with(CLAIMS_FILE)


@dataclass
class Asked:
    files: list[Claims] = field(default_factory=list)
    ids: dict[str, set[str]] = field(default_factory=dict)
    """Source -> the ids that were named; of a source without any, all claims are asked for."""
    given: dict[str, str] = field(default_factory=dict)
    """Source -> how it was named, which of a file is its path."""


def asked(words: Sequence[str]) -> Asked:
    """All shipped sources where no word is given. UserError for a word that is neither source, file
    nor id; ids are those of the shipped sources and of the files among the words."""
    found = Asked()
    known = sources()
    by_id = {one: name for name in known for one in _ids(name)} if set(words) - set(known) else {}
    for word in words or known:
        if word in known or Path(word).suffix in SUFFIXES:
            file = _added(found, load(word))
            found.given.setdefault(file.claims, word)
            by_id |= {claim.id: file.claims for claim in file.items}
    for word in words:
        if word in known or Path(word).suffix in SUFFIXES:
            continue
        if word not in by_id:
            raise _unknown(word, [*known, *by_id])
        if by_id[word] not in {file.claims for file in found.files}:
            _added(found, load(by_id[word]))
        found.ids.setdefault(by_id[word], set()).add(word)
    return found


def _added(found: Asked, file: Claims) -> Claims:
    if file.claims not in {one.claims for one in found.files}:
        found.files.append(file)
    return file


def _ids(source: str) -> list[str]:
    """Only the text is searched: reading a claims file takes a quarter of a second."""
    text = (source_directory(source) / CLAIMS_FILE).read_text(encoding="utf-8")
    return re.findall(r"^ *- *\{? *id: *[\"']?([a-z0-9][a-z0-9.-]*)", text, re.MULTILINE)


def _unknown(word: str, known: Iterable[str]) -> UserError:
    return UserError(
        f"no source and no claim is called `{word}`",
        expected=f"one of the sources {', '.join(sources())}, the id of a claim, or the path of a "
        "claims file",
        actual=word,
        fix=did_you_mean(word, known)
        or "`rmwbench published claims` lists all claims with their ids",
    )
