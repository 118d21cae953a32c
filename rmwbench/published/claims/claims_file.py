"""Claims: the checkable statements of a published evaluation, as data that anyone can extend
(docs/formats/claims.md).

There is a file for each source, `suites/published/SOURCE/claims.yaml`; `rmwbench published claims
WORD…` selects sources, files and single claims by their ids. This module checks the keys of a
claim; `published/claims/judging/` decides whether it holds. A test compares the verdicts with the
source's own data.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rmwbench.errors import UserError, did_you_mean
from rmwbench.published.sources import is_suite, require_distinct_ids
from rmwbench.suite.fault import Fault, Strict, unknown
from rmwbench.suite.file.candidate_list import Layer
from rmwbench.suite.file.suite_files import (
    CLAIMS_FILE,
    SUFFIXES,
    path_text,
    read,
    shipped_suites,
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
VerdictOfData = Literal[
    "supported",
    "contradicted",
    "contradicted within the source",
    "partly supported",
    "data not published",
    "no data",
    "undecided",
]
CONTRADICTED = ("contradicted", "contradicted within the source", "partly supported")
"""Verdicts that find fault with a sentence, which therefore must be in the source."""
CONCLUSIVE = ("supported", *CONTRADICTED)
SIGNIFICANT = 0.05
"""A difference whose p is not below it is one that the source's data does not show."""
PLACE = r"(paragraph|bullet|row|plot|code)( \d+(, sentence \d+)?)?"
"""The place in the source below the claim's heading: paragraphs, list items, rows of tables,
pictures and blocks of code are counted separately from 1. It has no number if we do not keep the
text, so that nobody can count."""


class SourceVerdict(Strict):
    """What the source's own data says, and why: which figure, which error. `p`: the probability of
    a difference as large as theirs by chance, if a test was made."""

    verdict: VerdictOfData
    why: Text
    p: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _require_significance(self) -> "SourceVerdict":
        if self.p is not None and self.p >= SIGNIFICANT and self.verdict in CONCLUSIVE:
            raise Fault(
                f"the data does not show a difference of p = {self.p:g}",
                expected="`verdict: undecided`",
                actual=self.verdict,
                at=("verdict",),
            )
        return self


class OriginalCheck(Strict):
    """A comparison of two points of an importer's figures, or of a point with a number: `of`
    relation `factor` × `than`. `within`: the ratio lies between 1 ÷ factor and factor; `differs`:
    it does not.

    A difference of two groups that a test does not show is undecided. `counts`: the points are
    counts out of their `count` runs (Fisher's exact test). `answers`: the points are means of
    ordinal answers, whose shares this figure has, a series `X SERIES` for each (Mann and Whitney's
    test); printed means are compared as printed, so this applies to corrected means alone.
    """

    figure: Text
    of: Annotated[tuple[str, str], Field(strict=False)]
    """Series and x of the point."""
    relation: Relation
    than: Annotated[tuple[str, str], Field(strict=False)] | float
    factor: Annotated[float, Field(gt=0)] = 1.0
    counts: bool = False
    answers: str | None = None

    @model_validator(mode="after")
    def _require_two_groups(self) -> "OriginalCheck":
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
    """The cells of a suite that decide a claim today, and the comparison."""

    suite: Text


class Claim(Strict):
    """A statement in our own words: of the source, in whose text it has a `place`, or our inference
    (`inferred`), which is tested and never judged as the source's statement."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    heading: Text
    says: Text
    kind: Kind
    layer: Layer | None = None
    """The layer, if it is not the file's."""
    figure: str | None = None
    """The numbers that the source printed."""
    place: Annotated[str, Field(pattern=rf"^{PLACE}(; {PLACE})*$")] | None = None
    """The place of its sentences below its heading."""
    inferred: Text | None = None
    """From what it was inferred, if the source does not say it."""
    speaks_of: Annotated[int, Field(ge=1)] | None = None
    """The number of the original's conditions that it speaks of, if its tests have fewer cells."""
    published: SourceVerdict | None = None
    corrected: SourceVerdict | None = None
    data: Data | None = None
    test: ClaimTest | None = None
    also: Annotated[tuple[ClaimTest, ...], Field(strict=False)] = ()
    """Further tests of a statement that says several things: all must hold, and one that does not
    is enough against it."""
    not_testable: str | None = None

    @model_validator(mode="after")
    def _require_complete(self) -> "Claim":
        judging = ("published", "corrected", "data", "test")
        if self.kind == "opinion":
            extra = [name for name in judging if getattr(self, name) is not None]
            if extra:
                raise Fault(
                    "an opinion is listed, not judged",
                    expected="no " + ", ".join(judging),
                    actual=", ".join(extra),
                    at=(extra[0],),
                )
            return self
        if self.inferred is not None:
            self._check_inference()
        elif self.published is None:
            raise Fault(
                f"claim `{self.id}` has no verdict as published",
                expected="`published: {verdict, why}`, or `inferred: FROM WHAT`",
            )
        self._check_place()
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

    def _check_inference(self) -> None:
        source_keys = ("published", "corrected", "data", "figure", "place")
        extra = next((name for name in source_keys if getattr(self, name) is not None), None)
        if extra:
            raise Fault(
                "what the source does not say is not judged as its statement",
                expected="no " + ", ".join(source_keys),
                actual=extra,
                at=(extra,),
            )

    def _check_place(self) -> None:
        """Raise Fault if the data contradicts a sentence that has no place in the source."""
        for key, judgement in self.judgements:
            if judgement.verdict in CONTRADICTED and self.place is None:
                raise Fault(
                    f"claim `{self.id}` is {judgement.verdict}, and has no place in the source",
                    expected="`place: paragraph 2, sentence 1`, or `inferred: FROM WHAT`",
                    at=(key,),
                )

    @property
    def judgements(self) -> list[tuple[str, SourceVerdict]]:
        """What the source's own data says, as published and as corrected."""
        versions = (("published", self.published), ("corrected", self.corrected))
        return [(key, judgement) for key, judgement in versions if judgement is not None]

    @property
    def tests(self) -> tuple[ClaimTest, ...]:
        """All tests; empty if the claim is not testable."""
        return () if self.test is None else (self.test, *self.also)


class Heading(Strict):
    """A heading of the source without claims, and the reason."""

    heading: Text
    reason: Text


class Conditions(Strict):
    """The conditions of a source's measurements, as far as it says: a campaign needs the same to
    support or refute it. `rclcpp`: versions from the first on and below the second; `touch`: how
    the payload was treated; `processors` (at least) and `virtual`: the class of its machine."""

    rclcpp: Annotated[tuple[str, str], Field(strict=False)] | None = None
    touch: Literal["none", "header", "all"] | None = None
    processors: Annotated[int, Field(ge=1)] | None = None
    virtual: bool | None = None

    @model_validator(mode="after")
    def _require_versions(self) -> "Conditions":
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
    """A source and its claims. `sides`: the sides that claims compare, each with the arms of suites
    that stand for it, at any layer."""

    claims: Text
    title: Text
    published: Text
    text: Text
    """File name of the source's text, as kept beside the checkout."""
    layer: Layer
    versions: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """The versions that the claims speak of, in words."""
    conditions: Conditions = Field(default_factory=Conditions)
    """The same as data, with the other conditions under which an answer of today is more than a
    proxy."""
    lasts_s: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """Suite -> the length of a run of the original."""
    original: dict[str, LevelChoices] = Field(default_factory=dict)
    """Suite -> the workloads (under `workload`) and levels of those of its conditions that the
    original has; empty for all. The other conditions, and suites that are not named, are ours."""
    sides: dict[str, Annotated[tuple[str, ...], Field(strict=False, min_length=1)]] = Field(
        default_factory=dict
    )
    headings: Annotated[tuple[Heading, ...], Field(strict=False)] = ()
    items: Annotated[tuple[Claim, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _require_known_names(self) -> "Claims":
        require_distinct_ids("claims", enumerate(claim.id for claim in self.items))
        for n, claim in enumerate(self.items):
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
        """Return the treatment of the payload in the original of the claim's suite; None if the
        source does not say it, or the suite is ours, so that the source measured nothing like
        it."""
        tests_original = any(test.suite in self.original for test in claim.tests)
        return self.conditions.touch if tests_original else None

    def layer_of(self, claim: Claim) -> str:
        return claim.layer or self.layer

    @property
    def tested(self) -> set[str]:
        """The suites that its claims test, in any folder."""
        return {test.suite for claim in self.items for test in claim.tests}

    def untested(self) -> list[str]:
        """Return the names of the suites in its folder that none of its claims tests."""
        folder, tested = source_directory(self.claims), self.tested
        return [
            name
            for name in shipped_suites()
            if name not in tested and suite_file(name).parent == folder
        ]

    def has(self, suite: str | None) -> bool:
        """Whether a suite that calls itself so belongs to this source. A suite that no claim tests
        is known by its whole name, which contains the source: `wifi` is not
        `galactic-2020/wifi`."""
        untested = (name.replace("/", "-") for name in self.untested())
        return any(is_suite(name, str(suite)) for name in self.tested) or str(suite) in untested


def levels_of(level: Any) -> Sequence[Any]:
    """Return a level, or several levels, as a sequence (`predicate.LevelChoices`)."""
    return level if isinstance(level, list) else [level]


def load(source: str | Path) -> Claims:
    """Load the claims of a shipped source, or of a file by its path. Raise UserError, with file and
    line, for any mistake."""
    path = source_file(source, CLAIMS_FILE, "claims")
    return validated(read(path), where=path_text(path), model=Claims)


def sources() -> list[str]:
    """Return the names of the folders of the sources that have claims."""
    return sources_with(CLAIMS_FILE)


@dataclass(frozen=True)
class ClaimSelection:
    files: list[Claims]
    ids: dict[str, set[str]]
    """Source -> the ids that the user named; a source without an entry is selected with all its
    claims."""
    given: dict[str, str]
    """Source -> the word by which the user named it, which is the path of a file."""


def select_claims(words: Sequence[str]) -> ClaimSelection:
    """Select sources and claims; all shipped sources if there are no words. Raise UserError for a
    word that is neither a source, nor a file, nor an id of a shipped source or of one of the
    files."""
    names = sources()
    source_words = [
        word for word in words or names if word in names or Path(word).suffix in SUFFIXES
    ]
    source_of_id = (
        {id_: name for name in names for id_ in _ids(name)} if set(words) - set(names) else {}
    )
    files: dict[str, Claims] = {}
    given: dict[str, str] = {}
    for word in source_words:
        file = load(word)
        files.setdefault(file.claims, file)
        given.setdefault(file.claims, word)
        source_of_id |= {claim.id: file.claims for claim in file.items}
    ids: dict[str, set[str]] = {}
    for word in (word for word in words if word not in source_words):
        if word not in source_of_id:
            raise _unknown(word, [*names, *source_of_id])
        source = source_of_id[word]
        if source not in files:
            files[source] = load(source)
        ids.setdefault(source, set()).add(word)
    return ClaimSelection(list(files.values()), ids, given)


def _ids(source: str) -> list[str]:
    """Return the ids in the text of a source's file: parsing the file takes a quarter of a
    second."""
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
