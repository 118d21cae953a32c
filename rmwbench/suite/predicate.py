"""What a suite is to show, as a comparison that a campaign decides: the form of a claim's test and of
a public report. It is judged in `published/claims/judging/`.

What somebody reported in public and a suite is to show: the effect, where it was reported, and
the comparisons that tell whether it is seen here (docs/suites.md).
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from rmwbench.suite.fault import Fault, Strict

Relation = Literal["less", "greater", "within", "differs"]
RANGES = ("within", "differs")
"""Relations to a range around the bar, which `factor` is half as wide as."""
Scalar = str | int | float | bool
Text = Annotated[str, Field(min_length=1)]
LevelChoices = dict[str, Scalar | list[Scalar]]
"""Factor -> its level, or those among its levels that are meant."""


class Cells(Strict):
    """How many of the `of` cells that a statement speaks of are as the test says, at least and at
    most; all of them where neither is given. A cell that was not measured counts as undecided."""

    of: Annotated[int, Field(ge=1)]
    at_least: Annotated[int, Field(ge=0)] | None = None
    at_most: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _possible(self) -> "Cells":
        if not self.least <= self.most <= self.of:
            raise Fault(
                "so many cells cannot be",
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
    """What is to be seen in which cells of a suite: `metric` of `left` relation
    `factor` × that of `right` (or `level`, in the metric's unit), in every cell that matches, or in
    as many as `cells` says.

    `at` are levels of factors that both sides have; `left_at` and `right_at` those in which they
    differ, which makes a comparison of one arm with itself in two cells: scaling.

    Of each side the value in a block may be made of several: `times_metric`: the product of both
    metrics (CPU per message × messages per second). `right_metric`: the right side's, where it is
    another (two metrics of one arm). `topic`: the metrics are those of this topic of the workload
    alone; `right_topic`: the right side's, where it is another. What may stand there:
    published/claims/topic_names.py.
    `base_at`: each side is divided by its own value at these levels; left against right is then a
    ratio of ratios.

    `by: difference`, of fractions: left − right relation `level`, for what may be 0 on both sides.
    `by: exponent`: log(left ÷ right) ÷ log of the ratio of `sizes` (those of left and right)
    relation `level`: 1 is linear growth, 2 is quadratic. `of_machine`: the level is an absolute
    number of the original's hardware, which another class of machine can neither confirm nor
    refute. `existence`: it is asked whether anything happens at all (`greater`) or nothing does
    (`less`): one block above 0 decides that, and `level` is how near to nothing the interval must
    lie. `of_touch`: the statement is about a payload that is treated as the source's was (its
    `conditions`): one that is treated otherwise says nothing of it.
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
    cells: Cells | None = None
    of_machine: bool = False
    existence: bool = False
    of_touch: bool = False
    factor: Annotated[float, Field(gt=0)] = 1.0
    times: Annotated[float, Field(gt=0)] = 1.0
    """The middle of `within`, as a ratio: `within: 6 times as much, give or take a factor of
    1.5`."""
    workload: str | None = None
    right_workload: str | None = None
    topic: str | None = None
    right_topic: str | None = None
    at: LevelChoices = Field(default_factory=dict)
    left_at: LevelChoices = Field(default_factory=dict)
    right_at: LevelChoices = Field(default_factory=dict)
    across_layers: bool = False
    """The sides are of two layers on purpose: what a layer adds."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that it takes."""
        metrics = (self.metric, self.times_metric, self.right_metric)
        return tuple(dict.fromkeys(name for name in metrics if name))

    @property
    def topics(self) -> tuple[str | None, str | None]:
        """The left side's and the right side's; None for the whole workload."""
        return self.topic, self.right_topic or self.topic

    @property
    def inputs(self) -> tuple[tuple[str, str | None], ...]:
        """All that it takes, as (metric, topic)."""
        left_topic, right_topic = self.topics
        pairs = [(self.metric, left_topic), (self.times_metric, left_topic)]
        if self.right is not None:
            pairs += [
                (self.right_metric or self.metric, right_topic),
                (self.times_metric, right_topic),
            ]
        return tuple(dict.fromkeys((name, topic) for name, topic in pairs if name))

    @model_validator(mode="after")
    def _complete(self) -> "Predicate":
        check = {
            "ratio": self._of_a_ratio,
            "difference": self._of_a_difference,
            "exponent": self._of_an_exponent,
        }
        check[self.by]()
        of_two = next(
            (key for key in ("base_at", "right_metric", "right_topic") if getattr(self, key)), None
        )
        if self.right is None and of_two:
            raise Fault(
                "one side alone is compared with a level",
                expected="`right: SIDE`",
                actual=of_two,
                at=(of_two,),
            )
        if self.existence:
            self._of_existence()
        if self.of_machine and self.level is None:
            raise Fault(
                "only a level is a number of a machine",
                expected="`level: NUMBER`",
                at=("of_machine",),
            )
        return self

    def _of_existence(self) -> None:
        if self.right is not None or self.level is None or self.relation in RANGES:
            raise Fault(
                "`existence` asks whether anything happens, or nothing does",
                expected="`level: NUMBER`, `relation: less` or `greater`, and no other side",
                actual=f"{self.relation}, right {self.right}, level {self.level}",
                at=("existence",),
            )

    def _of_a_ratio(self) -> None:
        if (self.right is None) == (self.level is None):
            raise Fault(
                "a test compares with another side or with a level",
                expected="`right: SIDE` or `level: NUMBER`",
                actual="both" if self.right else "neither",
                at=("right",) if self.right else (),
            )
        self._factor(self.level is not None)
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

    def _factor(self, of_level: bool) -> None:
        if self.relation in RANGES and self.factor <= 1:
            raise Fault(
                f"`{self.relation}` needs a factor above 1",
                expected="for example `factor: 1.1`",
                actual=f"{self.factor:g}",
                at=("relation",),
            )
        if of_level and self.relation not in RANGES and self.factor != 1:
            raise Fault(
                "a level is compared as it stands",
                expected="no factor, or `relation: within`",
                actual=f"{self.relation}, factor {self.factor:g}",
                at=("level",),
            )

    def _of_a_difference(self) -> None:
        if self.right is None or self.level is None:
            raise Fault(
                "a difference is of two sides, compared with a level",
                expected="`right: SIDE` and `level: NUMBER`, 0.05 for five points",
                actual=" and ".join(key for key in ("right", "level") if getattr(self, key) is None)
                + " left out",
                at=("by",),
            )
        made_of = self.times_metric or self.right_metric or self.base_at or self.sizes
        if self.relation in RANGES or self.factor != 1 or self.times != 1 or made_of:
            raise Fault(
                "a difference is compared with its level as it stands",
                expected="`relation: less` or `greater` and one metric; no factor, `times`, "
                "`base_at` or `sizes`",
                actual=f"{self.relation}, factor {self.factor:g}, times {self.times:g}",
                at=("by",),
            )

    def _of_an_exponent(self) -> None:
        sizes = self.sizes or (0.0, 0.0)
        if self.right is None or self.level is None or min(sizes) <= 0 or sizes[0] == sizes[1]:
            raise Fault(
                "an exponent is of two sides at two sizes, compared with a level",
                expected="`right: SIDE`, `sizes: [16, 4]` and `level: 2`",
                actual=f"right {self.right}, sizes {self.sizes}, level {self.level}",
                at=("by",),
            )
        self._factor(True)


class Reported(Strict):
    """`effect`, a sentence; `source`: the issue that reports it; `figures` as reported there;
    `versions` of which it was reported, and since or until which it is there, as far as that can
    be told; `helps`: what changes it. The effect is seen where all of `seen` hold, whose sides are
    arms of the suite. `unseen`: why it cannot be seen here, where it cannot."""

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
