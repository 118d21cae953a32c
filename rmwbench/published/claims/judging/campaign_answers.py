"""What campaigns say about a claim: the answer of each machine and layer, with its cells and the
versions that it is about. Pure.

A reader chooses a version, so versions whose answers differ have an answer each. If a statement
compares two middlewares, its version is the pair.

A campaign with another layer, other versions, another machine, shorter trials or fewer conditions
than the original gives a proxy.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from rmwbench.analysis.metrics.judged_topics import judged_name
from rmwbench.published.campaign import CampaignArm, MeasuredCampaign
from rmwbench.published.claims.amounts import RATIO
from rmwbench.published.claims.claims_file import Claim, Claims, Conditions
from rmwbench.published.claims.judging.decision_rules import Answer, Code, NeededRun
from rmwbench.suite.arm import bare
from rmwbench.words import numbers as fmt


@dataclass(frozen=True)
class CellAnswer:
    """The answer of one matching cell. `value` is the ratio left ÷ right (or what the test makes of
    both sides), left − right if the test is by difference, or the left value if it has a level
    alone."""

    workload: str
    answer: Answer
    left: str
    right: str | None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    code: Code | None = None
    leans: Answer | None = None
    """The answer that the value alone would give, if there are too few blocks to decide."""
    value_says: Answer | None = None
    """The side of the bar on which the value lies, whatever its interval."""
    blocks: int = 0
    """How many blocks both sides have."""
    part: int = 0
    """The place of its test among the claim's tests."""
    metric: str = ""
    unit: str = RATIO
    left_in: str = ""
    """The workload of the left side; `workload` names both if they differ."""
    right_in: str | None = None
    versions: tuple[str, ...] = ()
    """The versions of the left arm and of the right one."""
    left_topic: str | None = None
    """The topic of the metric, if the test asks for one topic."""
    right_topic: str | None = None
    left_trials: tuple[tuple[int, float], ...] = ()
    """(number of the block over all campaigns, value)"""
    right_trials: tuple[tuple[int, float], ...] = ()
    takes: NeededRun | None = None
    """The run that would decide it if nothing were lost, if it is undecided and nothing was."""

    def interval(self) -> str:
        """Return `0.520× [0.500–0.550]`; empty if the cell has no interval."""
        if self.low is None or self.high is None:
            return ""
        return fmt.with_interval(self.value, self.low, self.high, self.unit)

    @property
    def sides(self) -> list["CellSide"]:
        """The left side, and the right one if there is one."""
        left = CellSide(self.left, self.left_in, self.left_topic, self.left_trials)
        if self.right is None:
            return [left]
        place = self.right_in or self.left_in
        return [left, CellSide(self.right, place, self.right_topic, self.right_trials)]


@dataclass(frozen=True)
class CellSide:
    """An arm in a workload, or in one of its topics. `trials`: (number of the block over all
    campaigns, value)."""

    arm: str
    workload: str
    topic: str | None
    trials: tuple[tuple[int, float], ...]

    @property
    def place(self) -> str:
        return judged_name(self.workload, self.topic)


@dataclass(frozen=True)
class TrialLength:
    """The length of the shortest trial of the answer, and the length of a run of the original; None
    if it is not known."""

    measured_s: float | None
    of_s: float | None


@dataclass(frozen=True)
class ConditionCounts:
    """On how many of the conditions that a statement speaks of its answer rests."""

    measured: int
    of: int


@dataclass(frozen=True)
class MeasuredAnswer:
    """What the campaigns of one machine say about a claim at one layer: with every version of
    its middlewares that was measured, or with one version if their answers differ."""

    campaigns: tuple[str, ...]
    layer: str
    answer: Answer
    verdict: str
    arms: tuple[str, ...]
    """Arms with their versions."""
    cells: tuple[CellAnswer, ...]
    proxy: tuple[str, ...] = field(default=())
    """Why it is no answer to the original, in words."""
    proxy_codes: tuple[str, ...] = field(default=())
    """The same as codes: layer, version, touch, machine, length, conditions."""
    length: TrialLength = TrialLength(None, None)
    conditions: ConditionCounts = ConditionCounts(0, 0)
    machine: str | None = None
    date: str | None = None
    """The day of the newest campaign."""
    blocks: int = 0
    """The smallest number of common blocks of its cells."""
    missing: int = 0
    """How many of the cells that the claim speaks of have no data."""
    shipped: bool = False
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Middleware, without the series of its version -> the versions that the answer is about."""
    differing_versions: tuple[str, ...] = ()
    """`fastdds 3.6.2.0`, if another version has another answer."""
    superseded: bool = False
    """Another version stands for the claim: a newer one, or one that was measured in enough
    blocks."""

    @property
    def with_versions(self) -> str:
        """` with fastdds 3.6.2.0`; empty if no version has another answer."""
        return f" with {', '.join(self.differing_versions)}" if self.differing_versions else ""

    @property
    def speaks(self) -> bool:
        """Whether some cell has data in enough blocks."""
        return any(x.answer != "no data" and x.code != "few_blocks" for x in self.cells)

    @property
    def touched(self) -> bool:
        """Whether the payload was treated otherwise than the original's."""
        return "touch" in self.proxy_codes

    @property
    def campaign(self) -> str:
        """The newest campaign."""
        return self.campaigns[-1]

    @property
    def name(self) -> str:
        """The verdict on the original if there is one, otherwise the answer."""
        return self.verdict if self.verdict in ("supported", "refuted") else self.answer

    @property
    def takes(self) -> NeededRun | None:
        """The run that would decide it, if that is longer than any run of `claims run`."""
        beyond = [c.takes for c in self.cells if c.takes is not None and c.takes.beyond]
        if self.answer != "undecided" or not beyond:
            return None
        return max(beyond, key=lambda takes: (takes.blocks, takes.steady_s or 0.0))

    @property
    def leans(self) -> Answer | None:
        """Where an undecided answer with too few blocks leans, if all cells that lean do so to one
        side."""
        leanings = {cell.leans for cell in self.cells if cell.leans}
        return leanings.pop() if self.answer == "undecided" and len(leanings) == 1 else None

    def text(self) -> str:
        text = self.answer + (f" (leans to *{self.leans}*)" if self.leans else "")
        text += f" with {', '.join(self.arms)} at the {self.layer} layer on "
        text += f"{self.machine} ({self.date})" if self.machine else "this machine"
        text += f" (proxy: {'; '.join(self.proxy)})" if self.proxy else ""
        return text + (f": {values}" if (values := self.seen()) else "")

    def seen(self) -> str:
        """Return `0.520× [0.500–0.550]`, or for several cells `3 cells; 0.520× to 1.40×`; empty if
        no cell has a value."""
        if len(self.cells) == 1:
            return self.cells[0].interval()
        ranges = list(_ranges(self.cells))
        if not ranges:
            return ""
        text = "; ".join([f"{len(self.cells)} cells", *ranges])
        counts = Counter(cell.answer for cell in self.cells)
        if len(counts) == 1:
            return text
        return f"{text} ({', '.join(f'{answer} {count}' for answer, count in counts.items())})"


def _ranges(cells: Sequence[CellAnswer]) -> Iterator[str]:
    """Yield `0.520× to 1.40×` for the cells of each unit."""
    for unit in dict.fromkeys(cell.unit for cell in cells):
        values = sorted(
            cell.value for cell in cells if cell.value is not None and cell.unit == unit
        )
        if values:
            ends = (fmt.quantity(value, unit) for value in (values[0], values[-1]))
            yield " to ".join(dict.fromkeys(ends))


Versions = Mapping[str, tuple[str, ...]]
"""Middleware, without the series of its version -> its versions, which are two in a cell that
compares them."""
CellKey = tuple[int, Any]
"""The place of the test among the claim's tests, and the arms and levels of its sides."""


def versions_of(arms: Iterable[CampaignArm]) -> Versions:
    versions: dict[str, set[str]] = {}
    for arm in arms:
        middleware = " + ".join(map(bare, arm.middleware.split(" + ")))
        if arm.version is not None:
            versions.setdefault(middleware, set()).add(arm.version)
    return {middleware: tuple(sorted(texts)) for middleware, texts in versions.items()}


def by_version(
    cells: Mapping[CellKey, Versions], cells_by_campaign: Collection[Collection[CellKey]]
) -> list[list[CellKey]]:
    """Return the cells that were measured with each version, or with each pair of versions that a
    campaign measured together. A cell without the middlewares whose versions differ is in all
    groups. `cells_by_campaign`: the cells of each campaign."""
    levels: dict[str, set[tuple[str, ...]]] = {}
    for versions in cells.values():
        for middleware, texts in versions.items():
            levels.setdefault(middleware, set()).add(texts)
    with_several = {middleware for middleware, texts in levels.items() if len(texts) > 1}
    varied = {
        key: {(name, texts) for name, texts in versions.items() if name in with_several}
        for key, versions in cells.items()
    }
    choices: list[set[tuple[str, tuple[str, ...]]]] = []
    for keys in cells_by_campaign:
        pairs = set().union(*(varied[key] for key in keys))
        names = sorted({name for name, _ in pairs})
        choices += map(set, product(*([x for x in pairs if x[0] == name] for name in names)))
    largest = [choice for choice in choices if not any(choice < other for other in choices)]
    unique = {frozenset(choice): choice for choice in largest}.values()
    groups = ([key for key in cells if varied[key] <= choice] for choice in unique)
    return [keys for keys in groups if keys]  # two versions that no cell compares have none


def with_differing_versions(measured_answers: Sequence[MeasuredAnswer]) -> list[MeasuredAnswer]:
    """Return the answers of a claim. If another version of its layer has another answer, an answer
    has the versions of all middlewares that distinguish such answers, and whether another version
    stands for the claim."""
    return [
        _with_differing_versions(
            measured, [x for x in measured_answers if x.layer == measured.layer]
        )
        for measured in measured_answers
    ]


def _with_differing_versions(
    measured: MeasuredAnswer, measured_answers: Sequence[MeasuredAnswer]
) -> MeasuredAnswer:
    speaking = [other for other in measured_answers if other.speaks]
    if not any(_contradicting(measured, other) for other in speaking):
        return measured
    names = {
        name for x in measured_answers for other in speaking for name in _contradicting(x, other)
    }
    return replace(
        measured,
        differing_versions=tuple(
            f"{middleware.partition('/')[0]} {' and '.join(texts)}"
            for middleware, texts in measured.versions.items()
            if middleware in names
        ),
        superseded=any(
            _contradicting(measured, other)
            and (other.shipped, other.touched) == (measured.shipped, measured.touched)
            and (not measured.speaks or _is_newer(other.versions, measured.versions))
            for other in speaking
        ),
    )


def other_answers(measured_answers: Sequence[MeasuredAnswer]) -> list[MeasuredAnswer]:
    """Return the other versions' answers that differ from the first answer of a claim."""
    first, *others = measured_answers
    return [
        x
        for x in others
        if x.layer == first.layer and x.answer != first.answer and x.differing_versions
    ]


def other_versions(a: Versions, b: Versions) -> set[str]:
    """Return the middlewares of which neither has a version of the other."""
    return {name for name in a.keys() & b.keys() if not _share_version(a[name], b[name])}


def _contradicting(measured: MeasuredAnswer, other: MeasuredAnswer) -> set[str]:
    """Return the middlewares whose versions distinguish two different answers."""
    if measured.answer in (other.answer, "no data"):
        return set()
    return other_versions(measured.versions, other.versions)


def _share_version(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether the two have a version in common. A shorter text, without the library below an RMW,
    is the same version."""
    return any(f"{x} ".startswith(f"{y} ") or f"{y} ".startswith(f"{x} ") for x in a for y in b)


def _is_newer(a: Versions, b: Versions) -> bool:
    """Whether `a` has the newer version; of pairs, more of the newer versions."""
    names = other_versions(a, b)
    return 2 * sum(_numbers(a[name]) > _numbers(b[name]) for name in names) > len(names)


def _numbers(texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of the versions, the newest first."""
    numbers = (tuple(map(int, re.findall(r"\d+", text))) for text in texts)
    return tuple(sorted(numbers, reverse=True))


LEAST_LENGTH_RATIO = 0.9
"""A trial that has this part of the original's length counts as equally long."""


def trial_length(
    claims: Claims, claim: Claim, campaigns: Sequence[MeasuredCampaign], cells: Sequence[CellAnswer]
) -> TrialLength:
    suites = {test.suite for test in claim.tests}
    original_s = max(
        (claims.lasts_s[name] for name in suites if name in claims.lasts_s), default=None
    )
    places = {name for c in cells if c.answer != "no data" for name in (c.left_in, c.right_in)}
    lengths_s = [
        workload.steady_s
        for campaign in campaigns
        for workload in campaign.workloads
        if workload.workload in places
    ]
    shortest_s = min((length_s for length_s in lengths_s if length_s is not None), default=None)
    if None in lengths_s and original_s is not None and not _is_shorter(shortest_s, original_s):
        shortest_s = None
    return TrialLength(shortest_s, original_s)


def _is_shorter(measured_s: float | None, original_s: float | None) -> bool:
    return (
        measured_s is not None
        and original_s is not None
        and measured_s < LEAST_LENGTH_RATIO * original_s
    )


def condition_counts(claim: Claim, cells: Sequence[CellAnswer]) -> ConditionCounts:
    """Count the measured conditions, and the conditions that the claim speaks of: as many as it
    says, or as its tests have."""
    with_data = [cell for cell in cells if cell.answer != "no data"]
    workloads = {name for cell in with_data for name in (cell.left_in, cell.right_in) if name}
    measured = len(workloads)
    tested = max((test.cells.of for test in claim.tests if test.cells), default=measured)
    return ConditionCounts(measured, max(claim.speaks_of or tested, measured))


def shortfalls(length: TrialLength, counts: ConditionCounts) -> dict[str, str]:
    """Return code -> text of what was measured less than the statement speaks of."""
    texts = {}
    measured_s, original_s = length.measured_s, length.of_s
    if _is_shorter(measured_s, original_s):
        texts["length"] = f"a trial of {measured_s:g} s for one of {original_s:g} s"
    elif measured_s is None and original_s is not None and counts.measured:
        texts["length"] = f"a trial whose length was not kept for one of {original_s:g} s"
    if counts.measured < counts.of:
        texts["conditions"] = f"{counts.measured} of the {counts.of} conditions it speaks of"
    return texts


def differences(
    claims: Claims,
    claim: Claim,
    layer: str,
    used: Mapping[str, tuple[CampaignArm, MeasuredCampaign]],
) -> dict[str, str]:
    """Return code -> why the answer is no answer to the original: conditions that the source states
    and these campaigns do not have."""
    conditions, texts = claims.conditions, {}
    own = claims.layer_of(claim)
    if layer != own:
        texts["layer"] = f"the claim speaks of the {own} layer"
    ros_arms = [arm for arm, _ in used.values() if arm.layer in ("rclcpp", "rclpy")]
    if not ros_arms or not all(_is_of_version(conditions, arm) for arm in ros_arms):
        versions = ", ".join(claims.versions) or "versions of its time"
        texts["version"] = f"the claim speaks of {versions}"
    touch = claims.touch_of(claim)
    if touch is not None and any(arm.touch not in (None, touch) for arm, _ in used.values()):
        texts["touch"] = f"there the payload was touched: {touch}"
    if any(not is_of_class(conditions, campaign) for _, campaign in used.values()):
        texts["machine"] = f"the claim speaks of {class_text(conditions)}"
    return texts


def _is_of_version(conditions: Conditions, arm: CampaignArm) -> bool:
    """Whether the arm's version is within the conditions. The first word of a version at the rclcpp
    layer is that of rclcpp, which differs between distributions."""
    if conditions.rclcpp is None:
        return False
    first, below = (_version_numbers(part) for part in conditions.rclcpp)
    versions = [_version_numbers(part.partition(" ")[0]) for part in str(arm.version).split(" + ")]
    return all(first <= version < below for version in versions)


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def is_of_class(conditions: Conditions, campaign: MeasuredCampaign) -> bool:
    """Whether the campaign's machine is of the original's class, as far as the source says. A
    campaign that does not say its machine is of no class."""
    if conditions.processors is not None:
        cores = (campaign.fact("cores") or "").split()
        if not cores or not cores[0].isdigit() or int(cores[0]) < conditions.processors:
            return False
    virtualization = campaign.fact("virtualization")
    return conditions.virtual is None or (
        virtualization is not None and conditions.virtual == ("hypervisor" in virtualization)
    )


def class_text(conditions: Conditions) -> str:
    kinds = {True: "a virtual machine", False: "no virtual machine", None: ""}
    processors = f"{conditions.processors} processors or more" if conditions.processors else ""
    return " and ".join(filter(None, (processors, kinds[conditions.virtual])))
