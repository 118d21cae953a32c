"""Predicates: comparisons that a campaign decides, as the tests of claims and of public reports
(docs/suites.md). They are judged in `published/claims/judging/`.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from rmwbench.suite.fault import Fault, Strict

Relation = Literal["less", "greater", "within", "differs"]
RANGES = ("within", "differs")
"""Relations to the range from the bar ÷ `factor` to the bar × `factor`."""
Scalar = str | int | float | bool
Text = Annotated[str, Field(min_length=1)]
LevelChoices = dict[str, Scalar | list[Scalar]]
"""Factor -> its level, or several of its levels."""


class CellCount(Strict):
    """The number of cells, among the `of` cells of a statement, for which the test holds: at least
    and at most; all where neither is given. A cell that was not measured counts as undecided."""

    of: Annotated[int, Field(ge=1)]
    at_least: Annotated[int, Field(ge=0)] | None = None
    at_most: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _possible(self) -> "CellCount":
        if not self.least <= self.most <= self.of:
            raise Fault(
                "this number of cells is impossible",
                expected="at_least ≤ at_most ≤ of",
                actual=f"{self.least} ≤ {self.most} ≤ {self.of}",
                at=("of",),
            )
        return self

    @property
    def least(self) -> int:
        return self.of if self.at_least is None and self.at_most is None else self.at_least or 0

    @property
    def most(self) -> int:
        return self.of if self.at_most is None else self.at_most


class Predicate(Strict):
    """A test in cells of a suite: `metric` of `left` relation `factor` × `metric` of `right` (or
    `level`, in the metric's unit), in every cell that matches, or in the number that `cells` gives.

    `at` are levels of factors of both sides; `left_at` and `right_at` are levels in which the sides
    differ, so that an arm is compared with itself in two cells: scaling.

    `times_metric`: the value of a side in a block is the product of both metrics (CPU per message ×
    messages per second). `right_metric`: another metric of the right side (two metrics of one arm).
    `topic`: the metrics of this topic of the workload alone; `right_topic`: another topic of the
    right side (names: published/claims/topic_names.py). `base_at`: each side is divided by its own
    value at these levels, so the comparison is of two ratios.

    `by: difference`, for fractions, which may be 0 on both sides: left − right relation `level`.
    `by: exponent`: log(left ÷ right) ÷ log of the ratio of the `sizes` of left and right, relation
    `level`: 1 is linear growth, 2 is quadratic. `of_machine`: the level is an absolute number of
    the original's hardware, which another class of machine can neither confirm nor refute.
    `existence`: the question is whether anything happens (`greater`) or nothing does (`less`): one
    block above 0 decides it, and the interval must be as near to 0 as `level`. `of_touch`: the
    statement holds for a payload that is written and read as in the source (its `conditions`) only.
    `times`: the middle of `within`, as a ratio (`within`, 6 times as much, give or take a factor of
    1.5). `across_layers`: the sides are of two layers on purpose, to show the cost of a layer.
    """

    metric: Text
    left: Text
    relation: Relation
    right: str | None = None
    level: float | None = None
    by: Literal["ratio", "difference", "exponent"] = "ratio"
    times_metric: str | None = None
    right_metric: str | None = None
    base_at: LevelChoices = Field(default_factory=dict)
    sizes: Annotated[tuple[float, float], Field(strict=False)] | None = None
    cells: CellCount | None = None
    of_machine: bool = False
    existence: bool = False
    of_touch: bool = False
    factor: Annotated[float, Field(gt=0)] = 1.0
    times: Annotated[float, Field(gt=0)] = 1.0
    workload: str | None = None
    right_workload: str | None = None
    topic: str | None = None
    right_topic: str | None = None
    at: LevelChoices = Field(default_factory=dict)
    left_at: LevelChoices = Field(default_factory=dict)
    right_at: LevelChoices = Field(default_factory=dict)
    across_layers: bool = False

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of both sides, each once."""
        metrics = (self.metric, self.times_metric, self.right_metric)
        return tuple(dict.fromkeys(name for name in metrics if name))

    @property
    def metric_of_right(self) -> str:
        return self.right_metric or self.metric

    @property
    def topics(self) -> tuple[str | None, str | None]:
        """The topics of the left and the right side; None for the whole workload."""
        return self.topic, self.right_topic or self.topic

    @property
    def inputs(self) -> tuple[tuple[str, str | None], ...]:
        """The (metric, topic) pairs of both sides, each once."""
        left_topic, right_topic = self.topics
        pairs = [(self.metric, left_topic), (self.times_metric, left_topic)]
        if self.right is not None:
            pairs += [(self.metric_of_right, right_topic), (self.times_metric, right_topic)]
        return tuple(dict.fromkeys((name, topic) for name, topic in pairs if name))

    @model_validator(mode="after")
    def _complete(self) -> "Predicate":
        match self.by:
            case "ratio":
                self._check_ratio()
            case "difference":
                self._check_difference()
            case "exponent":
                self._check_exponent()
        for key in ("base_at", "right_metric", "right_topic"):
            if self.right is None and getattr(self, key):
                raise Fault(
                    f"`{key}` is for two sides, and one side is compared with a level",
                    expected="`right: SIDE`",
                    at=(key,),
                )
        if self.existence:
            self._check_existence()
        if self.of_machine and self.level is None:
            raise Fault(
                "`of_machine` is for a level",
                expected="`level: NUMBER`",
                at=("of_machine",),
            )
        return self

    def _given(self, *keys: str) -> str:
        """The values that the file has of these keys."""
        values = self.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        return ", ".join(f"{key}: {values[key]}" for key in keys if key in values) or "none of them"

    def _check_existence(self) -> None:
        if self.right is not None or self.level is None or self.relation in RANGES:
            raise Fault(
                "`existence` asks whether anything happens, or nothing does",
                expected="`level: NUMBER`, `relation: less` or `greater`, and no other side",
                actual=self._given("relation", "right", "level"),
                at=("existence",),
            )

    def _check_ratio(self) -> None:
        if (self.right is None) == (self.level is None):
            raise Fault(
                "a test compares with another side or with a level",
                expected="`right: SIDE` or `level: NUMBER`",
                actual="both" if self.right else "neither",
                at=("right",) if self.right else (),
            )
        self._check_factor(of_level=self.level is not None)
        if self.relation not in RANGES and self.times != 1:
            raise Fault(
                "`times` is the middle of a range",
                expected="`relation: within`, or `factor` alone",
                actual=f"{self.relation}, times {self.times:g}",
                at=("times",),
            )
        if self.sizes is not None:
            raise Fault(
                "sizes belong to an exponent",
                expected="`by: exponent`",
                actual=self.by,
                at=("sizes",),
            )

    def _check_factor(self, *, of_level: bool) -> None:
        if self.relation in RANGES and self.factor <= 1:
            raise Fault(
                f"`{self.relation}` needs a factor above 1",
                expected="for example `factor: 1.1`",
                actual=f"{self.factor:g}",
                at=("relation",),
            )
        if of_level and self.relation not in RANGES and self.factor != 1:
            raise Fault(
                "a level has no factor",
                expected="no factor, or `relation: within`",
                actual=f"{self.relation}, factor {self.factor:g}",
                at=("level",),
            )

    def _check_difference(self) -> None:
        if self.right is None or self.level is None:
            raise Fault(
                "a difference is of two sides, compared with a level",
                expected="`right: SIDE` and `level: NUMBER`, 0.05 for five points",
                actual=self._given("right", "level"),
                at=("by",),
            )
        derived = ("times_metric", "right_metric", "base_at", "sizes")
        is_derived = any(getattr(self, key) for key in derived)
        if self.relation in RANGES or self.factor != 1 or self.times != 1 or is_derived:
            raise Fault(
                "a difference is of one metric and has no factor",
                expected="`relation: less` or `greater` and one metric; no `factor`, `times`, "
                "`base_at` or `sizes`",
                actual=self._given("relation", "factor", "times", *derived),
                at=("by",),
            )

    def _check_exponent(self) -> None:
        sizes = self.sizes or (0.0, 0.0)
        if self.right is None or self.level is None or min(sizes) <= 0 or sizes[0] == sizes[1]:
            raise Fault(
                "an exponent is of two sides at two sizes, compared with a level",
                expected="`right: SIDE`, `sizes: [16, 4]` and `level: 2`",
                actual=self._given("right", "sizes", "level"),
                at=("by",),
            )
        self._check_factor(of_level=True)


class Reported(Strict):
    """An effect that somebody reported in public. `effect` is a sentence; `source` is the issue
    that reports it, and `figures` are as reported there; `versions` are those of the report, and
    the first or last one with the effect, if known; `helps` says what changes it. The effect is
    seen where all predicates of `seen` hold, whose sides are arms of the suite. `unseen` is the
    reason why it cannot be seen here, empty where it can."""

    effect: Text
    source: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+#\d+$")]
    figures: Text
    versions: str = ""
    helps: str = ""
    unseen: str = ""
    seen: Annotated[tuple[Predicate, ...], Field(strict=False, min_length=1)]

    @property
    def link(self) -> str:
        repository, _, number = self.source.partition("#")
        return f"https://github.com/{repository}/issues/{number}"
