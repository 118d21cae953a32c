"""The suite file: arms, workloads, factors, blocks and timeline."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator, model_validator

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.suite.arm import MODES, Arm
from rmwbench.suite.factors import WORKLOAD_FACTORS, check_factor_name
from rmwbench.suite.fault import (
    At,
    Fault,
    ListOf,
    Scalar,
    Strict,
    check_distinct,
    check_known,
    elsewhere,
    unknown,
)
from rmwbench.suite.limits import Limits
from rmwbench.suite.name_rules import SuiteName, WorkloadName
from rmwbench.suite.network.network import LINK_KEY_PLACES, Network
from rmwbench.suite.predicate import Reported
from rmwbench.suite.sample_sizes import DECIDABLE_BLOCKS
from rmwbench.suite.timeline import Sampling, Timeline
from rmwbench.suite.workload.qos import Qos
from rmwbench.suite.workload.topology import limited_names
from rmwbench.suite.workload.workload import Workload

MOST_ENTRIES = 1000
"""The most arms, and the most workloads, of a suite; the largest shipped one has some thirty."""


class Blocks(Strict):
    """The number of blocks. `planned` is a fixed number. `maximum` makes a sequential design: there
    are looks at set numbers of blocks from `minimum` on, and the campaign ends as soon as
    everything is decided. With fewer than `minimum` blocks there is no verdict.

    `within_s` limits the time of a sequential design: decided cells leave, the time goes to the
    open ones, and the campaign ends after that many seconds, though never below `minimum`. A budget
    replaces `planned`, `maximum` and `within_s`.

    `decide` names the workloads that a sequential design waits for, by default all.
    """

    planned: int | None = Field(default=None, ge=1, le=10_000)
    minimum: int = Field(default=5, ge=1, le=10_000)
    maximum: int | None = Field(default=None, ge=2, le=10_000)
    within_s: float | None = Field(default=None, gt=0, le=31_536_000)
    decide: ListOf[str] = ()

    @property
    def sequential(self) -> bool:
        return self.maximum is not None

    @property
    def most(self) -> int:
        """The most blocks that run without a budget."""
        return self.maximum or self.planned or self.minimum

    @model_validator(mode="after")
    def _one_design(self) -> "Blocks":
        designs = (
            "`planned: 6` runs six blocks whatever they show; `maximum: 20` stops as soon as "
            "everything is decided"
        )
        if (self.planned is None) == (self.maximum is None):
            both = self.planned is not None
            raise Fault(
                "the number of blocks is either fixed or sequential",
                expected="`planned` or `maximum`, not both",
                actual=f"planned {self.planned} and maximum {self.maximum}" if both else "neither",
                fix=designs,
                at=("planned",) if both else (),
            )
        name = "maximum" if self.sequential else "planned"
        if self.most < self.minimum:
            raise Fault(
                "fewer blocks are planned than the suite needs",
                expected=f"{name} of at least {self.minimum}",
                actual=self.most,
                fix=f"raise `{name}` or lower `minimum`",
                at=(name,),
            )
        if self.sequential and self.minimum < DECIDABLE_BLOCKS:
            raise Fault(
                "a sequential design would look at too few blocks to decide anything",
                expected=f"minimum of at least {DECIDABLE_BLOCKS}",
                actual=self.minimum,
                fix="raise `minimum`, or use `planned` instead of `maximum`",
                at=("minimum",),
            )
        for key, reason in (
            ("within_s", "a fixed number of blocks has no limit of time"),
            ("decide", "a fixed number of blocks waits for no workload"),
        ):
            if getattr(self, key) and not self.sequential:
                raise Fault(
                    f"`{key}` is for a sequential design: {reason}",
                    expected="`maximum` instead of `planned`",
                    actual=f"planned {self.planned}",
                    at=(key,),
                )
        return self


class Suite(Strict):
    """A suite, which a campaign runs. `suite` is its name; comparisons are between arms, within a
    workload and a combination of levels."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        **LINK_KEY_PLACES,
        **elsewhere("`modes: {KEY: …}` of an arm", MODES),
        **elsewhere("`KEY` of an arm", Arm.model_fields),
        **elsewhere("`qos: {KEY: …}` of each workload", Qos.model_fields),
        **elsewhere("`timeline: {KEY: …}`", Timeline.model_fields),
        **elsewhere("`blocks: {KEY: …}`", Blocks.model_fields),
        **elsewhere("`KEY` of each workload", Workload.model_fields),
        **elsewhere("`KEY` of each workload, or `factors: {KEY: […]}`", WORKLOAD_FACTORS),
        "network": "`networks: {thin: {links: {all: {both: {rate_mbps: 54, loss: 0.01}}}}}`, and "
        "`network: thin` in the workload that it is for",
        "limits": "`outcomes: {acceptable: {…}}`, or a file for `rmwbench show --limits`",
    }

    suite: SuiteName
    title: str
    description: str = ""
    blocks: Blocks = Blocks(planned=6, minimum=5)
    timeline: Timeline = Timeline()
    sampling: Sampling = Sampling()
    arms: ListOf[Arm]
    workloads: ListOf[Workload]
    networks: dict[WorkloadName, Network] = Field(default_factory=dict)
    factors: dict[str, ListOf[Scalar]] = Field(default_factory=dict)
    exclude: ListOf[dict[str, Scalar]] = ()
    outcomes: Limits | None = None
    reported: Reported | None = None

    @field_validator("arms", "workloads")
    @classmethod
    def _not_empty(cls, items: tuple[Any, ...]) -> tuple[Any, ...]:
        """Refuses an empty list. Pydantic's `min_length` would also call a list of wrong items
        empty."""
        if not items:
            raise Fault("the list is empty", expected="at least one entry")
        return items

    @field_validator("arms", "workloads", mode="before")
    @classmethod
    def _not_endless(cls, items: Any, info: ValidationInfo) -> Any:
        """Refuses a list that is too long before its items are validated, which takes minutes for
        20 000 items."""
        if isinstance(items, list) and len(items) > MOST_ENTRIES:
            raise Fault(
                f"too many {info.field_name}",
                expected=f"at most {MOST_ENTRIES}",
                actual=len(items),
                fix="split the suite",
            )
        return items

    @field_validator("factors")
    @classmethod
    def _factors_override_something(
        cls, factors: dict[str, tuple[Scalar, ...]]
    ) -> dict[str, tuple[Scalar, ...]]:
        for name, levels in factors.items():
            check_factor_name(name)
            if not levels:
                raise Fault(
                    f"factor `{name}` has no levels",
                    expected="at least one",
                    actual="an empty list",
                    at=(name,),
                )
            for index, level in enumerate(levels):
                # 10 and 10.0 give the same cell, 1 and true do not
                if any(
                    level == earlier and isinstance(level, bool) == isinstance(earlier, bool)
                    for earlier in levels[:index]
                ):
                    raise Fault(
                        f"factor `{name}` has the level `{level}` twice",
                        expected="each level once",
                        at=(name, index),
                    )
        return factors

    @model_validator(mode="after")
    def _names_agree(self, info: ValidationInfo) -> "Suite":
        arms = [arm.name for arm in self.arms]
        workloads = [workload.name for workload in self.workloads]
        check_distinct("arms", arms, at=("arms",))
        check_distinct("workloads", workloads, at=("workloads",))
        for index, arm in enumerate(self.arms):
            _check_against("arm", arm.against, arm.name, arms, ("arms", index))
        for index, name in enumerate(self.blocks.decide):
            check_known("workload", name, workloads, at=("blocks", "decide", index))
        for index, workload in enumerate(self.workloads):
            at = ("workloads", index)
            _check_against("workload", workload.against, workload.name, workloads, at)
            if isinstance(workload.network, str):
                check_known("network", workload.network, self.networks, at=(*at, "network"))
        for index, level in enumerate(self.factors.get("network", ())):
            check_known("network", level, self.networks, at=("factors", "network", index))
        # A short version may leave out the workloads of limited topics.
        is_short = bool(info.context and info.context.get("shortened"))
        if self.outcomes is not None and not is_short:
            self._check_limited_topics(self.outcomes)
        self._check_exclusions(arms, workloads)
        if self.reported is not None:
            self._check_reported(self.reported, arms, workloads)
        return self

    def _check_reported(self, reported: Reported, arms: list[str], workloads: list[str]) -> None:
        """Checks the names of metrics, arms, workloads and factors. Topics are checked where the
        report is judged."""
        for number, test in enumerate(reported.seen):
            at = ("reported", "seen", number)
            for name in test.metrics:
                check_known("metric", name, GLOSSARY, at=at)
            sides = [("arm", key, getattr(test, key), arms) for key in ("left", "right")]
            keys = ("workload", "right_workload")
            sides += [("workload", key, getattr(test, key), workloads) for key in keys]
            for kind, key, name, known in sides:
                if name is not None:
                    check_known(kind, name, known, at=(*at, key))
            for key in ("at", "left_at", "right_at", "base_at"):
                for factor in getattr(test, key):
                    check_known("factor", factor, self.factors, at=(*at, key, factor))

    def _check_limited_topics(self, limits: Limits) -> None:
        """Raises Fault for a limited topic that no workload has: the limit would be of nothing."""
        if not limits.topics:
            return
        known = dict.fromkeys(
            name
            for workload in self.workloads
            for name in limited_names(workload.all_nodes, workload.focus)
        )
        shown = [name for name in known if " " not in name]  # a reader is listed by itself
        for name in limits.topics:
            if name not in known:
                raise unknown("topic or reader", name, shown, at=("outcomes", "topics", name))

    def _check_exclusions(self, arms: list[str], workloads: list[str]) -> None:
        axes: dict[str, list[Scalar]] = {
            "arm": arms,
            "workload": workloads,
            **{name: list(levels) for name, levels in self.factors.items()},
        }
        for index, rule in enumerate(self.exclude):
            if not rule:
                raise Fault(
                    "an empty exclusion excludes everything",
                    expected="at least one of " + ", ".join(axes),
                    at=("exclude", index),
                )
            for axis, level in rule.items():
                at = ("exclude", index, axis)
                check_known("factor", axis, axes, at=at)
                if level not in axes[axis]:
                    levels = [str(axis_level) for axis_level in axes[axis]]
                    raise unknown(f"level of `{axis}`", level, levels, at=at)


def _check_against(kind: str, against: str | None, name: str, names: list[str], at: At) -> None:
    if against is not None:
        others = [other for other in names if other != name]
        check_known(f"other {kind}", against, others, at=(*at, "against"))
