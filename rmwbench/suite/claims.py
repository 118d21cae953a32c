"""Claims: the checkable statements of a published evaluation, as data that anyone can extend (docs/formats/claims.md).

A file per source, `suites/SOURCE/claims.yaml`. What a claim's words mean is checked here; whether it holds is decided
in `analysis/claims.py`, and what it says of the source's own data in `analysis/claims_data.py`.
"""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from rmwbench.suite.fault import Fault, Strict, unknown
from rmwbench.suite.load import CLAIMS_FILE, read, shown, source_file, sources_with, suites_directory, validated

Kind = Literal["comparison", "scaling", "threshold", "ratio", "absence", "count", "declaration", "opinion"]
Relation = Literal["less", "greater", "within"]
Layer = Literal["floor", "native", "rclcpp", "rclpy"]
Settled = Literal[
    "supported", "contradicted", "contradicted within the source", "partly supported", "data not published", "no data"
]
Scalar = str | int | float | bool
Text = Annotated[str, Field(min_length=1)]
Levels = dict[str, Scalar]


class Judged(Strict):
    """What the source's own data says, and why: which figure, which error."""

    verdict: Settled
    why: Text


class Check(Strict):
    """One comparison of two points of an importer's figures, or of a point with a number: `of` relation `factor` ×
    `than`. `within`: the ratio lies between 1 ÷ factor and factor."""

    figure: Text
    of: Annotated[tuple[str, str], Field(strict=False)]
    """Series and x of the point."""
    relation: Relation
    than: Annotated[tuple[str, str], Field(strict=False)] | float
    factor: Annotated[float, Field(gt=0)] = 1.0


class Data(Strict):
    """Points of imported data that decide a claim: all checks hold (supported), none does (contradicted), or some."""

    kind: Text
    """Of `rmwbench import --list`."""
    checks: Annotated[tuple[Check, ...], Field(strict=False, min_length=1)]


class Test(Strict):
    """Which cells of which suite decide the claim today, and how: `metric` of `left` relation `factor` × that of
    `right` (or `level`, in the metric's unit), in every cell that matches. `by: difference`, of fractions: left − right
    relation `level`, for what may be 0 on both sides.

    `at` are levels of factors that both sides have; `left_at` and `right_at` those in which they differ, which makes a
    comparison of one arm with itself in two cells: scaling.
    """

    __test__ = False  # pytest collects classes by this name

    suite: Text
    metric: Text
    left: Text
    relation: Relation
    right: str | None = None
    level: float | None = None
    by: Literal["ratio", "difference"] = "ratio"
    factor: Annotated[float, Field(gt=0)] = 1.0
    times: Annotated[float, Field(gt=0)] = 1.0
    """Of `within`: the middle, as a ratio. `within: 6 times as much, give or take a factor of 1.5`."""
    workload: str | None = None
    right_workload: str | None = None
    at: Levels = Field(default_factory=dict)
    left_at: Levels = Field(default_factory=dict)
    right_at: Levels = Field(default_factory=dict)
    across_layers: bool = False
    """The sides are of two layers on purpose: what a layer adds."""

    @model_validator(mode="after")
    def _against_one_thing(self) -> "Test":
        if self.by == "difference":
            return self._of_two_fractions()
        if (self.right is None) == (self.level is None):
            raise Fault(
                "a test compares with another side or with a level",
                expected="`right: SIDE` or `level: NUMBER`",
                actual="both" if self.right else "neither",
                at=("right",) if self.right else (),
            )
        if self.level is not None and (self.relation == "within" or self.factor != 1):
            raise Fault(
                "a level is compared as it stands",
                expected="`relation: less` or `greater`, and no factor",
                actual=f"{self.relation}, factor {self.factor:g}",
                at=("level",),
            )
        if self.relation != "within" and self.times != 1:
            raise Fault(
                "`times` is the middle of a range",
                expected="`relation: within`, or `factor` alone",
                actual=f"{self.relation}, times {self.times:g}",
                at=("times",),
            )
        if self.relation == "within" and self.factor <= 1:
            raise Fault(
                "`within` needs a factor above 1",
                expected="for example `factor: 1.1`",
                actual=f"{self.factor:g}",
                at=("relation",),
            )
        return self

    def _of_two_fractions(self) -> "Test":
        if self.right is None or self.level is None:
            raise Fault(
                "a difference is of two sides, compared with a level",
                expected="`right: SIDE` and `level: NUMBER`, 0.05 for five points",
                actual=" and ".join(key for key in ("right", "level") if getattr(self, key) is None) + " left out",
                at=("by",),
            )
        if self.relation == "within" or self.factor != 1 or self.times != 1:
            raise Fault(
                "a difference is compared with its level as it stands",
                expected="`relation: less` or `greater`, no factor and no `times`",
                actual=f"{self.relation}, factor {self.factor:g}, times {self.times:g}",
                at=("by",),
            )
        return self


class Claim(Strict):
    """A statement in our own words."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    heading: Text
    says: Text
    kind: Kind
    layer: Layer | None = None
    """Where it differs from the file's."""
    figure: str | None = None
    """What the source printed."""
    published: Judged | None = None
    corrected: Judged | None = None
    data: Data | None = None
    test: Test | None = None
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
        if self.published is None:
            raise Fault(f"claim `{self.id}` has no verdict as published", expected="`published: {verdict, why}`")
        if (self.test is None) == (self.not_testable is None):
            raise Fault(
                f"claim `{self.id}` says neither how it is tested nor why it is not"
                if self.test is None
                else f"claim `{self.id}` has a test and is not testable",
                expected="`test:` or `not_testable: REASON`",
                at=() if self.test is None else ("not_testable",),
            )
        if self.data is not None and self.corrected is None:
            raise Fault(
                f"claim `{self.id}` has data and no verdict as corrected", expected="`corrected:`", at=("data",)
            )
        return self


class Heading(Strict):
    """A heading of the source without claims, and why it has none."""

    heading: Text
    reason: Text


class Claims(Strict):
    """A source and its claims. `sides` names what claims compare: for each side the arms of suites that stand for it,
    at any layer."""

    claims: Text
    title: Text
    published: Text
    text: Text
    """File name of the source's text, as kept beside the checkout."""
    layer: Layer
    versions: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """Versions that the claims speak of. Any other makes today's answer a proxy."""
    sides: dict[str, Annotated[tuple[str, ...], Field(strict=False, min_length=1)]] = Field(default_factory=dict)
    headings: Annotated[tuple[Heading, ...], Field(strict=False)] = ()
    items: Annotated[tuple[Claim, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _names_known(self) -> "Claims":
        seen: dict[str, int] = {}
        for n, claim in enumerate(self.items):
            if claim.id in seen:
                raise Fault(f"two claims have the id `{claim.id}`", expected="an id each", at=("items", n, "id"))
            seen[claim.id] = n
            for key in ("left", "right") if claim.test else ():
                side = getattr(claim.test, key)
                if side is not None and side not in self.sides:
                    raise unknown("side", side, list(self.sides), at=("items", n, "test", key))
        return self

    def layer_of(self, claim: Claim) -> str:
        return claim.layer or self.layer


def sources() -> list[str]:
    """The sources that have claims, by the name of their folder."""
    return sources_with(CLAIMS_FILE)


def sources_about(suite: str) -> list[str]:
    """The sources with a claim whose test runs a suite that calls itself so. Only their texts are searched: reading a
    claims file takes a quarter of a second, and most campaigns are about no claim."""
    found = []
    for source in sources():
        text = (suites_directory() / source / CLAIMS_FILE).read_text(encoding="utf-8")
        if any(is_suite(name, suite) for name in set(re.findall(r"\bsuite: *([^\s,}]+)", text))):
            found.append(source)
    return found


def is_suite(name: str, suite: str) -> bool:
    """Whether a test's `suite: NAME` means the suite that calls itself `suite`: a file `folder/name` may call itself
    `folder-name` or `name`, and a file of one's own is known by its name without suffix."""
    name = name.strip("\"'").removesuffix(".yaml").removesuffix(".yml")
    return suite in (name, name.replace("/", "-"), name.rpartition("/")[2])


def load(source: str | Path) -> Claims:
    """The claims of a shipped source, or of a file by its path. UserError, with file and line, for anything wrong."""
    path = source_file(source, CLAIMS_FILE, "claims")
    return validated(read(path), where=shown(path), model=Claims)
