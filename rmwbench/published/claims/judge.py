"""Whether a claim holds here: its tests against campaigns. Pure.

A claim speaks of one layer, of versions of its time, and of a machine. Where a campaign has others
the answer is a proxy: it says what holds here, and never refutes the original. Campaigns of one
machine are pooled by their blocks (values.py); each machine has its own answer, undecided ones too,
and none is selected for what it says: the one with the most of its cells and blocks stands first.
By which rules a cell is decided: rules.py.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rmwbench.analysis.metrics.glossary import GLOSSARY
from rmwbench.analysis.metrics.topics import unit
from rmwbench.published.about import is_suite
from rmwbench.published.campaign import NOTHING, Arm, Campaign, Workload
from rmwbench.published.claims.claims_file import Claim, Claims, Conditions, Test
from rmwbench.published.claims.rules import (
    LEAST_BLOCKS,
    Answer,
    Code,
    Family,
    Share,
    decided,
    leaning,
    of_versions,
    together,
    whole,
)
from rmwbench.published.claims.takes import Takes, takes
from rmwbench.published.claims.values import (
    Found,
    Sides,
    found_of,
    left_values,
    per_trial,
    right_values,
)
from rmwbench.published.claims.words import (
    POINTS,
    RATIO,
    UNITLESS,
    amount,
    interval,
    title_of,
    unit_of,
)
from rmwbench.words import numbers as fmt

Side = tuple[str, Arm]
"""The workload that an arm stands in, and the arm."""

__all__ = [
    "Cell",
    "Today",
    "answers",
    "arms_of",
    "compared",
    "today",
]


@dataclass(frozen=True)
class Cell:
    """One matching cell's answer. `value` is the ratio left ÷ right (or what the test makes of both
    sides), left − right where the test is by difference, or the left value where it has a level
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
    """What the value alone would say, where there are too few blocks to decide."""
    value_says: Answer | None = None
    """On which side of the bar the value lies, whatever its interval."""
    blocks: int = 0
    """That both sides have."""
    part: int = 0
    """Which of the claim's tests it is of."""
    metric: str = ""
    unit: str = RATIO
    left_in: str = ""
    """The workload of the left side; `workload` names both where they differ."""
    right_in: str | None = None
    versions: tuple[str, ...] = ()
    """Those of the left arm and of the right one."""
    left_topic: str | None = None
    """The topic whose metric it is, where the test asks for one's."""
    right_topic: str | None = None
    left_trials: tuple[tuple[int, float], ...] = ()
    """(number of the block over all campaigns, value)"""
    right_trials: tuple[tuple[int, float], ...] = ()
    takes: Takes | None = None
    """What would decide it if nothing were lost, where it is undecided and nothing was."""

    @property
    def sides(self) -> list["CellSide"]:
        """The left one, and the right one where there is one."""
        left = CellSide(self.left, self.left_in, self.left_topic, self.left_trials)
        if self.right is None:
            return [left]
        place = self.right_in or self.left_in
        return [left, CellSide(self.right, place, self.right_topic, self.right_trials)]


@dataclass(frozen=True)
class CellSide:
    """An arm in a workload, or in one of its topics; `trials`: (number of the block over all
    campaigns, value)."""

    arm: str
    workload: str
    topic: str | None
    trials: tuple[tuple[int, float], ...]

    @property
    def place(self) -> str:
        return unit(self.workload, self.topic)


@dataclass(frozen=True)
class Length:
    """How long a trial was measured here, the shortest of the answer's, and how long a run of the
    original was; None where it is not known."""

    measured_s: float | None
    of_s: float | None


@dataclass(frozen=True)
class Counted:
    """How many of the conditions that a statement speaks of its answer rests on."""

    measured: int
    of: int


@dataclass(frozen=True)
class Today:
    """What the campaigns of one machine say of a claim at one layer."""

    campaigns: tuple[str, ...]
    layer: str
    answer: Answer
    verdict: str
    arms: tuple[str, ...]
    """Arms with their versions."""
    cells: tuple[Cell, ...]
    proxy: tuple[str, ...] = field(default=())
    """Why it does not answer the original, in words."""
    proxy_codes: tuple[str, ...] = field(default=())
    """The same: layer, version, touch, machine, length, conditions."""
    length: Length = Length(None, None)
    conditions: Counted = Counted(0, 0)
    machine: str | None = None
    date: str | None = None
    """The day of the newest campaign."""
    blocks: int = 0
    """The fewest common blocks that one of its cells stands on."""
    missing: int = 0
    """How many of the cells that the claim speaks of have no data."""
    shipped: bool = False

    @property
    def campaign(self) -> str:
        """The newest."""
        return self.campaigns[-1]

    @property
    def name(self) -> str:
        """The verdict on the original where there is one, else the answer."""
        return self.verdict if self.verdict in ("supported", "refuted") else self.answer

    @property
    def takes(self) -> Takes | None:
        """What would decide it, where that is more than any run of `claims run` has."""
        beyond = [c.takes for c in self.cells if c.takes is not None and c.takes.beyond]
        if self.answer != "undecided" or not beyond:
            return None
        return max(beyond, key=lambda one: (one.blocks, one.steady_s or 0.0))

    @property
    def leans(self) -> Answer | None:
        """Where an undecided answer with too few blocks leans, if all cells that lean do so to one
        side."""
        found = {cell.leans for cell in self.cells if cell.leans}
        return found.pop() if self.answer == "undecided" and len(found) == 1 else None

    def text(self) -> str:
        words = self.answer + (f" (leans to *{self.leans}*)" if self.leans else "")
        words += f" with {', '.join(self.arms)} at the {self.layer} layer on "
        words += f"{self.machine} ({self.date})" if self.machine else "this machine"
        words += f" (proxy: {'; '.join(self.proxy)})" if self.proxy else ""
        return words + (f": {found}" if (found := self.seen()) else "")

    def seen(self) -> str:
        """`0.52 [0.5–0.55]×`, or for several cells `3 cells, 0.52× to 1.4×`; empty where no cell
        has a value."""
        told = [cell for cell in self.cells if cell.low is not None and cell.high is not None]
        if (
            len(told) == 1
            and len(self.cells) == 1
            and told[0].low is not None
            and told[0].high is not None
        ):
            return interval(told[0].value, told[0].low, told[0].high, told[0].unit)
        if not any(cell.value is not None for cell in told):
            return ""
        counts = Counter(cell.answer for cell in self.cells)
        answers = (
            ", ".join(f"{answer} {count}" for answer, count in counts.items())
            if len(counts) > 1
            else ""
        )
        text = "; ".join([f"{len(self.cells)} cells", *_ranges(told)])
        return f"{text} ({answers})" if answers else text


def _ranges(cells: Sequence[Cell]) -> Iterator[str]:
    """`0.52× to 1.4×` of the cells of each unit."""
    for name in dict.fromkeys(cell.unit for cell in cells):
        values = sorted(
            cell.value for cell in cells if cell.value is not None and cell.unit == name
        )
        if values:
            same = values[0] == values[-1]
            yield (
                amount(values[0], name)
                if same
                else f"{amount(values[0], name)} to {amount(values[-1], name)}"
            )


def today(
    claims: Claims, claim: Claim, campaign: Campaign, *, earlier: int | None = None
) -> list[Today]:
    """The answers of one campaign, one per layer that has both sides, the claim's own layer first.
    `earlier`: as in `rules.Share`, of a campaign that is under way."""
    return answers(claims, claim, [campaign], earlier=earlier)


def answers(
    claims: Claims, claim: Claim, campaigns: Sequence[Campaign], *, earlier: int | None = None
) -> list[Today]:
    """What these campaigns say, one answer per machine, layer and touch: the claim's own layer
    first, then the payload treated as there, then the answer that lacks the fewest of the cells
    that the claim speaks of, then the one with the most blocks, then the newest, whatever it says.
    Empty where they have none of the claim's cells."""
    found = []
    of_suites = [one for one in campaigns if any(of_suite(test, one) for test in claim.tests)]
    for of_machine in _by_machine(of_suites):
        for alike in _by_touch(of_machine):
            for layer in sorted(_layers(alike)):
                cells, used = _cells(claims, claim, alike, layer, earlier)
                if cells:
                    found.append(_today(claims, claim, alike, layer, cells, used))
    own = claims.layer_of(claim)
    found.sort(key=lambda one: one.date or "", reverse=True)
    return sorted(
        found,
        key=lambda one: (
            one.answer == "no data",
            one.layer != own,
            "touch" in one.proxy_codes,
            one.missing,
            -one.blocks,
        ),
    )


def compared(
    claims: Claims, claim: Claim, campaign: Campaign
) -> Iterator[tuple[str, str | None, str, tuple[str, ...]]]:
    """(workload, topic, arm, metrics) of every cell that the claim compares in this campaign, at
    any layer."""
    for test in claim.tests:
        if of_suite(test, campaign):
            for layer in _layers([campaign]):
                for sides in _sides(test, claims.sides, campaign, layer):
                    for side, topic in zip(sides, 2 * test.topics, strict=True):
                        if side is not None:
                            yield side[0], topic, side[1].arm, test.metrics


def arms_of(workload: Workload, topic: str | None) -> list[Arm]:
    """A workload's arms; with `topic` their metrics are those of that topic, and none where it does
    not have it."""
    if topic is None:
        return list(workload.arms)
    return [_in_topic(arm, topic) for arm in workload.arms]


def _in_topic(arm: Arm, topic: str) -> Arm:
    found = arm.topics.get(topic, NOTHING)
    return replace(arm, topic=topic, metrics=found.metrics, per_trial=found.per_trial)


def of_suite(test: Test, campaign: Campaign) -> bool:
    """Whether the campaign ran the test's suite."""
    return is_suite(test.suite, str(campaign.suite))


def _by_machine(campaigns: Sequence[Campaign]) -> list[list[Campaign]]:
    """The campaigns of each machine, the oldest first. What does not say its machine stands
    alone."""
    found: dict[object, list[Campaign]] = {}
    for number, one in enumerate(campaigns):
        found.setdefault((one.host, one.shipped) if one.host else number, []).append(one)
    return [sorted(of_one, key=lambda one: str(one.created_utc)) for of_one in found.values()]


def _by_touch(campaigns: Sequence[Campaign]) -> Iterator[list[Campaign]]:
    """The campaigns with those arms whose payload was treated alike, for each way: a payload that
    nobody reads is another experiment."""
    ways = dict.fromkeys(arm.touch for one in campaigns for w in one.workloads for arm in w.arms)
    for touch in ways if len(ways) > 1 else ():
        yield [_only(one, touch) for one in campaigns]
    if len(ways) < 2:
        yield list(campaigns)


def _only(campaign: Campaign, touch: str | None) -> Campaign:
    kept = (
        replace(item, arms=tuple(arm for arm in item.arms if arm.touch == touch))
        for item in campaign.workloads
    )
    return replace(campaign, workloads=tuple(item for item in kept if item.arms))


def _layers(campaigns: Sequence[Campaign]) -> set[str]:
    return {arm.layer for one in campaigns for w in one.workloads for arm in w.arms}


def _cells(
    claims: Claims, claim: Claim, campaigns: Sequence[Campaign], layer: str, earlier: int | None
) -> tuple[list[Cell], dict[str, tuple[Arm, Campaign]]]:
    """The cells of all tests, each pooled over the campaigns, and the arms that they are of."""
    pooled: dict[tuple[int, Any], list[Sides]] = {}
    places: dict[tuple[int, Any], tuple[Side, Side | None]] = {}
    used: dict[str, tuple[Arm, Campaign]] = {}
    for part, test in enumerate(claim.tests):
        for number, campaign in enumerate(campaigns):
            if not of_suite(test, campaign):
                continue
            for left, right, left_base, right_base in _sides(test, claims.sides, campaign, layer):
                key = part, _key(left, right)
                bases = [side and side[1] for side in (left_base, right_base)]
                pooled.setdefault(key, []).append(
                    Sides(number, left[1], right and right[1], *bases)
                )
                places.setdefault(key, (left, right))
                for _, arm in filter(None, (left, right)):
                    used[f"{arm.arm} {arm.version}"] = arm, campaign
    families = _families(claim, pooled)
    long = {item.workload: item.steady_s for one in campaigns for item in one.workloads}
    cells = [
        _cell(
            claims.conditions,
            claim.tests[part],
            part,
            places[part, key],
            sides,
            campaigns,
            Judging(earlier, families[part], long.get(places[part, key][0][0])),
        )
        for (part, key), sides in pooled.items()
    ]
    return cells, used


@dataclass(frozen=True)
class Judging:
    """`earlier` as in `rules.Share`; `family`: what the cell stands among; `steady_s`: of one of
    its trials, where that is known."""

    earlier: int | None
    family: Family
    steady_s: float | None


def _families(claim: Claim, pooled: Mapping[tuple[int, Any], Sequence[Sides]]) -> dict[int, Family]:
    """Part of the statement -> what a cell of it stands among."""
    versions: dict[int, Counter[tuple[str, ...]]] = {}
    for (part, _), (first, *_) in pooled.items():
        versions.setdefault(part, Counter())[_versions(first.left, first.right)] += 1
    return {
        part: Family(max(found.values()), len(claim.tests), len(found))
        for part, found in versions.items()
    }


def _versions(left: Arm, right: Arm | None) -> tuple[str, ...]:
    return tuple(str(arm.version) for arm in (left, right) if arm is not None)


def _key(left: Side, right: Side | None) -> tuple[Any, ...]:
    """What must be the same for two campaigns to have measured the same cell."""
    return tuple(
        (
            side[0],
            side[1].arm,
            side[1].version,
            tuple(sorted((k, str(v)) for k, v in side[1].factors.items())),
        )
        for side in (left, right)
        if side is not None
    )


def _today(
    claims: Claims,
    claim: Claim,
    campaigns: Sequence[Campaign],
    layer: str,
    cells: Sequence[Cell],
    used: Mapping[str, tuple[Arm, Campaign]],
) -> Today:
    theirs = [one for one in campaigns if any(of_suite(test, one) for test in claim.tests)]
    length = _length(claims, claim, theirs, cells)
    counted = _counted(claim, cells)
    proxy = _proxy(claims, claim, layer, used) | _other(length, counted)
    answer = whole(
        [
            _of_test(test, [c for c in cells if c.part == part])
            for part, test in enumerate(claim.tests)
        ]
    )
    verdict = {"holds": "supported", "does not hold": "refuted"}.get(answer, answer)
    if proxy and answer in ("holds", "does not hold"):
        verdict = "proxy"
    last = theirs[-1]
    return Today(
        tuple(one.name for one in theirs),
        layer,
        answer,
        verdict,
        tuple(used),
        tuple(cells),
        tuple(proxy.values()),
        tuple(proxy),
        length,
        counted,
        last.host,
        max((one.date for one in theirs if one.date), default=None),
        min((cell.blocks for cell in cells if cell.answer != "no data"), default=0),
        sum(_missing(test, part, cells) for part, test in enumerate(claim.tests)),
        last.shipped,
    )


AS_LONG = 0.9
"""A trial of so much of the original's length is as long."""


def _length(
    claims: Claims, claim: Claim, campaigns: Sequence[Campaign], cells: Sequence[Cell]
) -> Length:
    suites = {test.suite for test in claim.tests}
    of_s = max((claims.lasts_s[name] for name in suites if name in claims.lasts_s), default=None)
    places = {name for c in cells if c.answer != "no data" for name in (c.left_in, c.right_in)}
    found = [
        item.steady_s
        for one in campaigns
        for item in one.workloads
        if item.workload in places and item.steady_s is not None
    ]
    return Length(min(found, default=None), of_s)


def _counted(claim: Claim, cells: Sequence[Cell]) -> Counted:
    """Counts the conditions that its tests ask for, or as many as the claim says that it speaks
    of."""
    told = [cell for cell in cells if cell.answer != "no data"]
    here = {name for cell in told for name in (cell.left_in, cell.right_in) if name}
    asked = max((test.cells.of for test in claim.tests if test.cells), default=len(here))
    return Counted(len(here), max(claim.speaks_of or asked, len(here)))


def _other(length: Length, counted: Counted) -> dict[str, str]:
    """Codes of what was measured less than the statement speaks of."""
    found = {}
    measured_s, of_s = length.measured_s, length.of_s
    if measured_s is not None and of_s is not None and measured_s < AS_LONG * of_s:
        found["length"] = f"a trial of {measured_s:g} s for one of {of_s:g} s"
    if counted.measured < counted.of:
        found["conditions"] = f"{counted.measured} of the {counted.of} conditions it speaks of"
    return found


def _missing(test: Test, part: int, cells: Sequence[Cell]) -> int:
    """How many of the cells that a test speaks of have no data, for one pair of versions."""
    versions = Counter(c.versions for c in cells if c.part == part and c.answer != "no data")
    return max(0, (test.cells.of if test.cells else 1) - max(versions.values(), default=0))


def _of_test(test: Test, cells: Sequence[Cell]) -> Answer:
    """A test speaks of so many cells of one pair of arms: those of another version are not more of
    them. A version with too few blocks in all of its cells says nothing beside one with enough."""
    versions: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        versions.setdefault(cell.versions, []).append(cell)
    told = [found for found in versions.values() if any(c.code != "few_blocks" for c in found)]
    answers = [[cell.answer for cell in found] for found in told or versions.values()]
    return (
        of_versions([together(found, test) for found in answers]) if answers else together([], test)
    )


def _proxy(
    claims: Claims, claim: Claim, layer: str, used: Mapping[str, tuple[Arm, Campaign]]
) -> dict[str, str]:
    """Code -> why the answer is none to the original: what the source says of its own conditions,
    and these campaigns do not have."""
    asked, found = claims.conditions, {}
    own = claims.layer_of(claim)
    if layer != own:
        found["layer"] = f"the claim speaks of the {own} layer"
    of_ros = [arm for arm, _ in used.values() if arm.layer in ("rclcpp", "rclpy")]
    if not of_ros or not all(_version_is(asked, arm) for arm in of_ros):
        found["version"] = (
            f"the claim speaks of {', '.join(claims.versions) or 'versions of its time'}"
        )
    touch = claims.touch_of(claim)
    if touch is not None and any(arm.touch not in (None, touch) for arm, _ in used.values()):
        found["touch"] = f"there the payload was touched: {touch}"
    if any(not of_class(asked, campaign) for _, campaign in used.values()):
        found["machine"] = f"the claim speaks of {_class(asked)}"
    return found


def _version_is(asked: Conditions, arm: Arm) -> bool:
    """The first word of a version at the rclcpp layer is that of rclcpp, of which each distribution
    has its own."""
    if asked.rclcpp is None:
        return False
    first, below = (_numbers(part) for part in asked.rclcpp)
    versions = [_numbers(part.split()[0]) for part in str(arm.version).split(" + ")]
    return all(first <= version < below for version in versions)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def of_class(asked: Conditions, campaign: Campaign) -> bool:
    """Whether the campaign's machine is of the original's class, as far as the source says."""
    if asked.processors is not None:
        cores = (campaign.fact("cores") or "").split()
        if not cores or not cores[0].isdigit() or int(cores[0]) < asked.processors:
            return False
    return asked.virtual is None or asked.virtual == (
        "hypervisor" in (campaign.fact("virtualization") or "")
    )


def _class(asked: Conditions) -> str:
    words = [f"{asked.processors} processors or more" if asked.processors else ""]
    words.append({True: "a virtual machine", False: "no virtual machine", None: ""}[asked.virtual])
    return " and ".join(filter(None, words))


def _sides(
    test: Test, sides: Mapping[str, Sequence[str]], campaign: Campaign, layer: str
) -> Iterator[tuple[Side, Side | None, Side | None, Side | None]]:
    """Left and right of every cell that the test speaks of, and the cells that either is divided
    by."""
    of_left, of_right = test.topics
    lefts = list(
        _arms(
            campaign, layer, sides[test.left], test.workload, {**test.at, **test.left_at}, of_left
        )
    )
    if test.right is None:
        yield from ((left, None, None, None) for left in lefts)
        return
    name = test.right_workload or test.workload
    other_layer = None if test.across_layers else layer
    rights = list(
        _arms(
            campaign, other_layer, sides[test.right], name, {**test.at, **test.right_at}, of_right
        )
    )
    free = {*test.left_at, *test.right_at}
    for label, left in lefts:
        for other, right in rights:
            same = _rest(left, free) == _rest(right, free)
            # Without factors that differ, left and right stand in the same cell; otherwise in two.
            if not (same and (free or test.right_workload or label == other)):
                continue
            bases = [
                _base(test, campaign, (label, left), of_left),
                _base(test, campaign, (other, right), of_right),
            ]
            if not test.base_at or all(bases):
                yield (label, left), (other, right), bases[0], bases[1]


def _base(test: Test, campaign: Campaign, side: Side, topic: str | None) -> Side | None:
    """The same arm at the levels that it is divided by."""
    if not test.base_at:
        return None
    label, arm = side
    at = {**arm.factors, **test.base_at}
    name = next(one.name for one in campaign.workloads if one.workload == label)
    return next(iter(_arms(campaign, arm.layer, [arm.arm], name, at, topic)), None)


def _arms(
    campaign: Campaign,
    layer: str | None,
    names: Sequence[str],
    workload: str | None,
    at: Mapping[str, Any],
    topic: str | None,
) -> Iterator[Side]:
    for item in campaign.workloads:
        if workload is not None and item.name != workload:
            continue
        here = [
            arm
            for arm in item.arms
            if arm.arm in names and layer in (None, arm.layer) and _stands(arm.factors, at)
        ]
        if here:
            first = min(here, key=lambda arm: list(names).index(arm.arm))
            yield item.workload, first if topic is None else _in_topic(first, topic)


def _stands(factors: Mapping[str, Any], at: Mapping[str, Any]) -> bool:
    return all(name in factors and _is_meant(factors[name], level) for name, level in at.items())


def _is_meant(level: Any, asked: Any) -> bool:
    """`asked` is a level, or several of which any is meant."""
    if isinstance(asked, list):
        return any(_same(level, one) for one in asked)
    return _same(level, asked)


def _same(a: Any, b: Any) -> bool:
    if a == b:
        return True
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (a, b))
    return numbers and math.isclose(a, b)


def _rest(arm: Arm, free: set[str]) -> dict[str, Any]:
    return {name: level for name, level in arm.factors.items() if name not in free}


def _cell(
    conditions: Conditions,
    test: Test,
    part: int,
    place: tuple[Side, Side | None],
    sides: Sequence[Sides],
    campaigns: Sequence[Campaign],
    how: Judging,
) -> Cell:
    (left_in, left), (right_in, right) = place[0], place[1] or (None, None)
    of_left, of_right = test.topics
    label, other = unit(left_in, of_left), unit(right_in or left_in, of_right)
    label = label if right_in is None or label == other else f"{label} against {other}"
    cell = Cell(
        label,
        "no data",
        left.arm,
        right.arm if right else None,
        part=part,
        metric=test.metric,
        unit=_unit(test),
        left_in=left_in,
        right_in=right_in,
        versions=_versions(left, right),
        left_topic=of_left,
        right_topic=of_right if right else None,
    )
    for one in sides:
        refused = _refused(conditions, test, one, campaigns[one.campaign])
        if refused is not None and (len(sides) == 1 or refused[0] == "other_machine"):
            return replace(cell, code=refused[0], reason=refused[1])
    good = [
        one for one in sides if _refused(conditions, test, one, campaigns[one.campaign]) is None
    ]
    if not good:
        code, why = next(
            filter(
                None, (_refused(conditions, test, one, campaigns[one.campaign]) for one in sides)
            )
        )
        return replace(cell, code=code, reason=why)
    return _judged(test, cell, good, how)


def _refused(
    conditions: Conditions, test: Test, sides: Sides, campaign: Campaign
) -> tuple[Code, str] | None:
    """Why a campaign says nothing of a cell."""
    if test.of_machine and not of_class(conditions, campaign):
        return (
            "other_machine",
            f"an absolute number of {_class(conditions)}, which this machine is not",
        )
    for arm in sides.arms:
        if test.of_touch and conditions.touch not in (None, arm.touch):
            return (
                "other_touch",
                f"it is about a payload with `touch: {conditions.touch}`, and this one had "
                f"`touch: {arm.touch}`",
            )
        if arm.not_supported:
            return "not_supported", f"{arm.arm}: {arm.not_supported}"
        if why := _bound(test, arm):
            return "machine_bound", why
    for arm, name in _taken(test, sides):
        if why := _absent(arm, name, campaign):
            return "absent", f"{arm.arm}: {why}"
    if test.by == "difference" and unit_of(test.metric) != "fraction":
        return (
            "no_fraction",
            f"{test.metric} is not a fraction, and only fractions have a difference",
        )
    return None


def _taken(test: Test, sides: Sides) -> Iterator[tuple[Arm, str]]:
    """Each arm with each metric that the test takes of it. One arm may be both sides."""
    right = test.right_metric or test.metric
    both = (
        (sides.left, test.metric),
        (sides.left_base, test.metric),
        (sides.right, right),
        (sides.right_base, right),
    )
    for arm, metric in both:
        if arm is not None:
            yield arm, metric
            if test.times_metric:
                yield arm, test.times_metric


def _bound(test: Test, arm: Arm) -> str | None:
    """Where the processors were busy throughout, nothing says what a middleware or a network does
    (rule 10 of the method); what it holds in memory is the same."""
    if test.metric in GLOSSARY and GLOSSARY[test.metric].whatever_load:
        return None
    if not arm.machine_bound:
        return None
    return f"{arm.arm}: machine-bound in {fmt.counted(arm.machine_bound, 'trial')}"


def _absent(arm: Arm, metric: str, campaign: Campaign) -> str | None:
    found = arm.metrics.get(metric)
    if found is None:
        of = f" of topic {arm.topic}" if arm.topic else ""
        has = "the shipped summary keeps" if campaign.shipped else "the campaign has"
        return f"{has} no {title_of(metric)}{of}"
    return None if arm.lost_all and per_trial(arm, metric) else found.no_data


def _judged(test: Test, cell: Cell, sides: Sequence[Sides], how: Judging) -> Cell:
    """The interval is the cell's own; its answer must stand with its part of the error among the
    others, too."""
    found = found_of(test, sides, Share(how.earlier))
    of_sides = [sides[-1].left, *([sides[-1].right] if sides[-1].right else [])]
    metrics = [arm.metrics.get(test.metric) for arm in of_sides]
    if found.value in (None, 0.0):
        cell = replace(cell, takes=takes(test, metrics, how.steady_s))
    cell = replace(
        cell,
        blocks=found.blocks,
        left_trials=_numbered(left_values(test, sides)),
        right_trials=_numbered(right_values(test, sides)),
    )
    if found.lost:
        why = "one side lost messages in some block: what they would have taken is not known"
        return replace(cell, answer="undecided", code="lost", reason=why)
    if found.value is None and (found.low, found.high) == (0.0, math.inf):
        why = "no ratio: both are 0 or infinite in most blocks, or no trial has a value by itself"
        return replace(cell, answer="undecided", code="no_ratio", reason=why)
    cell = replace(
        cell,
        value=found.value,
        low=found.low,
        high=found.high,
        value_says=leaning(test, found.value),
    )
    if found.blocks < LEAST_BLOCKS:
        why = f"{found.blocks} common block{'s' * (found.blocks != 1)}, {LEAST_BLOCKS} are needed"
        return replace(
            cell,
            answer="undecided",
            code="few_blocks",
            reason=why,
            leans=cell.value_says,
        )
    answer, code = _answer(test, found)
    among = how.family.among(answer, test)
    if among > 1 and answer in ("holds", "does not hold"):
        strict = found_of(test, sides, Share(how.earlier, among))
        if _answer(test, strict)[0] != answer:
            answer, code = "undecided", "one_of_many"
    more = None if answer in ("holds", "does not hold") else cell.takes
    reason = _why(code, found.blocks, among)
    return replace(cell, answer=answer, code=code, reason=reason, takes=more)


def _answer(test: Test, found: Found) -> tuple[Answer, Code | None]:
    if test.existence and found.seen:
        return ("holds" if test.relation == "greater" else "does not hold"), None
    if test.existence and test.relation == "greater":  # what was not seen may yet come
        return "undecided", None
    if found.infinite and not found.enough:
        return "undecided", "few_for_infinite"
    return decided(test, found.value, found.low, found.high)


def _why(code: Code | None, blocks: int, among: int) -> str | None:
    """Why a cell that has an interval says no more than it does."""
    match code:
        case "within_margin":
            return "the difference is below the margin"
        case "few_for_infinite":
            return (
                f"infinite or 0 in some of {blocks} blocks, whose range covers the median too "
                "seldom"
            )
        case "one_of_many":
            return f"beyond its bar, but among so many cells (error ÷ {among}) that may be chance"
    return None


def _numbered(values: Mapping[tuple[int, int], float]) -> tuple[tuple[int, float], ...]:
    """With the blocks of all campaigns counted on."""
    return tuple((number, values[block]) for number, block in enumerate(sorted(values)))


def _unit(test: Test) -> str:
    if test.by == "difference":
        return POINTS
    if test.by == "exponent" or (test.right is None and test.times_metric):
        return UNITLESS
    return RATIO if test.level is None else unit_of(test.metric)
