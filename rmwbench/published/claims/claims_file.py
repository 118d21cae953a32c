"""Claims: the checkable statements of a published evaluation, as data that anyone can extend
(docs/formats/claims.md).

A file per source, `suites/published/SOURCE/claims.yaml`; `rmwbench published claims WORD…` asks for
sources, files and single claims by their ids. What a claim's words mean is checked here; whether it
holds is decided in `published/claims/judging/`. A test holds its verdicts to the source's own data."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rmwbench.errors import UserError, did_you_mean
from rmwbench.published.about import is_suite
from rmwbench.suite.fault import Fault, Strict, unknown
from rmwbench.suite.file.candidate_list import Layer
from rmwbench.suite.file.places import (
    CLAIMS_FILE,
    SUFFIXES,
    read,
    shipped_suites,
    shown,
    source_directory,
    source_file,
    sources_with,
    suite_file,
)
from rmwbench.suite.file.tree import validated
from rmwbench.suite.predicate import LevelChoices, Predicate, Relation, Text

Kind = Literal[
    "comparison", "scaling", "threshold", "ratio", "absence", "count", "declaration", "opinion"
]
Settled = Literal[
    "supported",
    "contradicted",
    "contradicted within the source",
    "partly supported",
    "data not published",
    "no data",
    "undecided",
]
CONTRADICTED = ("contradicted", "contradicted within the source", "partly supported")
"""Verdicts that find fault with a sentence, which therefore must be there."""
TOLD = ("supported", *CONTRADICTED)
SIGNIFICANT = 0.05
"""A difference whose p is not below it is one that the source's data does not tell."""
PLACE = r"(paragraph|bullet|row|plot|code)( \d+(, sentence \d+)?)?"
"""Where in the source below the claim's heading: its paragraphs, list items, rows of tables,
pictures and blocks of code, each counted by itself from 1. Without a number where the text is not
kept, so that nobody can count."""


class Judged(Strict):
    """What the source's own data says, and why: which figure, which error. `p`: with which
    probability a difference as large as theirs comes by chance, where a test was made."""

    verdict: Settled
    why: Text
    p: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _tells(self) -> "Judged":
        if self.p is not None and self.p >= SIGNIFICANT and self.verdict in TOLD:
            raise Fault(
                f"a difference of p = {self.p:g} is one that the data does not tell",
                expected="`verdict: undecided`",
                actual=self.verdict,
                at=("verdict",),
            )
        return self


class OriginalCheck(Strict):
    """One comparison of two points of an importer's figures, or of a point with a number: `of`
    relation `factor` × `than`. `within`: the ratio lies between 1 ÷ factor and factor; `differs`:
    it does not.

    A difference of two groups that a test does not tell is undecided. `counts`: the points are so
    many of their `count` runs (Fisher's exact test). `answers`: they are means of ordinal answers,
    whose shares this figure has, a series `X SERIES` for each (Mann and Whitney's test); printed
    means are compared as printed, so this is asked of corrected ones alone."""

    figure: Text
    of: Annotated[tuple[str, str], Field(strict=False)]
    """Series and x of the point."""
    relation: Relation
    than: Annotated[tuple[str, str], Field(strict=False)] | float
    factor: Annotated[float, Field(gt=0)] = 1.0
    counts: bool = False
    answers: str | None = None

    @model_validator(mode="after")
    def _of_two_groups(self) -> "OriginalCheck":
        key = "counts" if self.counts else "answers" if self.answers is not None else None
        if key is not None and isinstance(self.than, float):
            raise Fault(
                "a test of two groups needs both",
                expected="`than: [SERIES, X]`",
                actual=f"{self.than:g}",
                at=(key,),
            )
        return self


class Data(Strict):
    """Points of imported data that decide a claim: all checks hold (supported), none does
    (contradicted), or some."""

    kind: Text
    """One of `rmwbench published import --list`."""
    checks: Annotated[tuple[OriginalCheck, ...], Field(strict=False, min_length=1)]


class ClaimTest(Predicate):
    """Which cells of which suite decide a claim today, and how."""

    suite: Text


class Claim(Strict):
    """A statement in our own words: of the source, in whose text it has a `place`, or an inference
    of ours (`inferred`), which is tested and never judged as the source's."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    heading: Text
    says: Text
    kind: Kind
    layer: Layer | None = None
    """Where it differs from the file's."""
    figure: str | None = None
    """What the source printed."""
    place: Annotated[str, Field(pattern=rf"^{PLACE}(; {PLACE})*$")] | None = None
    """Its sentences below its heading."""
    inferred: Text | None = None
    """From what it was inferred, where the source does not say it."""
    speaks_of: Annotated[int, Field(ge=1)] | None = None
    """The number of the original's conditions that it speaks of, where its tests have fewer
    cells."""
    published: Judged | None = None
    corrected: Judged | None = None
    data: Data | None = None
    test: ClaimTest | None = None
    also: Annotated[tuple[ClaimTest, ...], Field(strict=False)] = ()
    """Further tests of a statement that says several things: all must hold, and one against it is
    enough."""
    not_testable: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> "Claim":
        judged = ("published", "corrected", "data", "test")
        if self.kind == "opinion":
            extra = [name for name in judged if getattr(self, name) is not None]
            if extra:
                raise Fault(
                    "an opinion is listed, not judged",
                    expected="no " + ", ".join(judged),
                    actual=", ".join(extra),
                    at=(extra[0],),
                )
            return self
        if self.inferred is not None:
            self._is_ours()
        elif self.published is None:
            raise Fault(
                f"claim `{self.id}` has no verdict as published",
                expected="`published: {verdict, why}`, or `inferred: FROM WHAT`",
            )
        self._has_its_place()
        if (self.test is None) == (self.not_testable is None):
            raise Fault(
                f"claim `{self.id}` says neither how it is tested nor why it is not"
                if self.test is None
                else f"claim `{self.id}` has a test and is not testable",
                expected="`test:` or `not_testable: REASON`",
                at=() if self.test is None else ("not_testable",),
            )
        if self.also and self.test is None:
            raise Fault(
                f"claim `{self.id}` has further tests and no test", expected="`test:`", at=("also",)
            )
        if len({test.suite for test in self.tests}) > 1:
            raise Fault(
                f"the tests of claim `{self.id}` are of several suites",
                expected="one suite",
                actual=", ".join(dict.fromkeys(test.suite for test in self.tests)),
                at=("also",),
            )
        if self.data is not None and self.corrected is None:
            raise Fault(
                f"claim `{self.id}` has data and no verdict as corrected",
                expected="`corrected:`",
                at=("data",),
            )
        return self

    def _is_ours(self) -> None:
        of_source = ("published", "corrected", "data", "figure", "place")
        extra = next((name for name in of_source if getattr(self, name) is not None), None)
        if extra:
            raise Fault(
                "what the source does not say is not judged as its statement",
                expected="no " + ", ".join(of_source),
                actual=extra,
                at=(extra,),
            )

    def _has_its_place(self) -> None:
        """Raises Fault where a sentence is found false and has no place in the source."""
        for key, judged in self.judgements:
            if judged.verdict in CONTRADICTED and self.place is None:
                raise Fault(
                    f"claim `{self.id}` is {judged.verdict}, and has no place in the source",
                    expected="`place: paragraph 2, sentence 1`, or `inferred: FROM WHAT`",
                    at=(key,),
                )

    @property
    def judgements(self) -> list[tuple[str, Judged]]:
        """What the source's own data says, as published and as corrected."""
        both = (("published", self.published), ("corrected", self.corrected))
        return [(key, judged) for key, judged in both if judged is not None]

    @property
    def tests(self) -> tuple[ClaimTest, ...]:
        """All of them; none where it is not testable."""
        return () if self.test is None else (self.test, *self.also)


class Heading(Strict):
    """A heading of the source without claims, and why it has none."""

    heading: Text
    reason: Text


class Conditions(Strict):
    """What a source measured with, as far as it says: what a campaign must have to support or
    refute it. `rclcpp`: from this version on, and below that; `touch`: what became of the payload;
    `processors` (at least) and `virtual`: the class of its machine."""

    rclcpp: Annotated[tuple[str, str], Field(strict=False)] | None = None
    touch: Literal["none", "header", "all"] | None = None
    processors: Annotated[int, Field(ge=1)] | None = None
    virtual: bool | None = None

    @model_validator(mode="after")
    def _versions(self) -> "Conditions":
        if self.rclcpp is not None and not all(
            re.fullmatch(r"\d+(\.\d+)*", part) for part in self.rclcpp
        ):
            raise Fault(
                "a version is numbers and points",
                expected='`rclcpp: ["5.0", "6.0"]`',
                actual=", ".join(self.rclcpp),
                at=("rclcpp",),
            )
        return self


class Claims(Strict):
    """A source and its claims. `sides` names what claims compare: for each side the arms of suites
    that stand for it, at any layer."""

    claims: Text
    title: Text
    published: Text
    text: Text
    """File name of the source's text, as kept beside the checkout."""
    layer: Layer
    versions: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """Versions that the claims speak of, in words."""
    conditions: Conditions = Field(default_factory=Conditions)
    """The same as data, with the rest that makes an answer of today more than a proxy."""
    lasts_s: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """Suite -> how long a run of the original took, of which its figures are."""
    original: dict[str, LevelChoices] = Field(default_factory=dict)
    """Suite -> the workloads (under `workload`) and the levels of those of its conditions that the
    original has; all where empty. The other conditions, and suites that are not named, are
    ours."""
    sides: dict[str, Annotated[tuple[str, ...], Field(strict=False, min_length=1)]] = Field(
        default_factory=dict
    )
    headings: Annotated[tuple[Heading, ...], Field(strict=False)] = ()
    items: Annotated[tuple[Claim, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _names_known(self) -> "Claims":
        seen: dict[str, int] = {}
        for n, claim in enumerate(self.items):
            if claim.id in seen:
                raise Fault(
                    f"two claims have the id `{claim.id}`",
                    expected="an id each",
                    at=("items", n, "id"),
                )
            seen[claim.id] = n
            for place, test in enumerate(claim.tests):
                at = ("items", n, "test") if place == 0 else ("items", n, "also", place - 1)
                for key in ("left", "right"):
                    side = getattr(test, key)
                    if side is not None and side not in self.sides:
                        raise unknown("side", side, list(self.sides), at=(*at, key))
                if test.topic or test.right_topic:
                    # reads suites, which most files need not
                    from rmwbench.published.claims.topic_names import check

                    check(test, at)
        return self

    def touch_of(self, claim: Claim) -> str | None:
        """What became of the payload in the original of the claim's suite; None where that is not
        told, or the suite is ours: what it measures was not measured so by the source."""
        of_original = any(test.suite in self.original for test in claim.tests)
        return self.conditions.touch if of_original else None

    def layer_of(self, claim: Claim) -> str:
        return claim.layer or self.layer

    @property
    def tested(self) -> set[str]:
        """The suites that its claims test, wherever they lie."""
        return {test.suite for claim in self.items for test in claim.tests}

    def untested(self) -> list[str]:
        """The suites of its folder that none of its claims tests, by name."""
        folder, tested = source_directory(self.claims), self.tested
        return [
            name
            for name in shipped_suites()
            if name not in tested and suite_file(name).parent == folder
        ]

    def has(self, suite: str | None) -> bool:
        """Whether a suite that calls itself so is one of this source. One that no claim tests is
        known by its whole name, which has the source in it: `wifi` is another suite than
        `galactic-2020/wifi`."""
        whole = (name.replace("/", "-") for name in self.untested())
        return any(is_suite(name, str(suite)) for name in self.tested) or str(suite) in whole


def levels_of(level: Any) -> Sequence[Any]:
    """What is meant by a level, or by several of them (`predicate.LevelChoices`)."""
    return level if isinstance(level, list) else [level]


def load(source: str | Path) -> Claims:
    """The claims of a shipped source, or of a file by its path. UserError, with file and line, for
    anything wrong."""
    path = source_file(source, CLAIMS_FILE, "claims")
    return validated(read(path), where=shown(path), model=Claims)


def sources() -> list[str]:
    """The sources that have claims, by the name of their folder."""
    return sources_with(CLAIMS_FILE)


@dataclass
class ClaimSelection:
    files: list[Claims] = field(default_factory=list)
    ids: dict[str, set[str]] = field(default_factory=dict)
    """Source -> the ids that were named; of a source without any, all claims are asked for."""
    given: dict[str, str] = field(default_factory=dict)
    """Source -> how it was named, which of a file is its path."""


def select_claims(words: Sequence[str]) -> ClaimSelection:
    """All shipped sources where no word is given. UserError for a word that is neither source, file
    nor id; ids are those of the shipped sources and of the files among the words."""
    selection = ClaimSelection()
    known = sources()
    by_id = {id_: name for name in known for id_ in _ids(name)} if set(words) - set(known) else {}
    for word in words or known:
        if word in known or Path(word).suffix in SUFFIXES:
            file = _added(selection, load(word))
            selection.given.setdefault(file.claims, word)
            by_id |= {claim.id: file.claims for claim in file.items}
    for word in words:
        if word in known or Path(word).suffix in SUFFIXES:
            continue
        if word not in by_id:
            raise _unknown(word, [*known, *by_id])
        if by_id[word] not in {file.claims for file in selection.files}:
            _added(selection, load(by_id[word]))
        selection.ids.setdefault(by_id[word], set()).add(word)
    return selection


def _added(selection: ClaimSelection, file: Claims) -> Claims:
    if file.claims not in {added.claims for added in selection.files}:
        selection.files.append(file)
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
