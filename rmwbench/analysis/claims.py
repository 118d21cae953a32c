"""Whether a claim holds in a campaign: a predicate against a show document (docs/formats/show.md). Pure.

A claim speaks of one layer and of versions of its time. Where the campaign has another layer or another version, the
answer is a proxy: it says what holds here, and never refutes the original. Intervals decide: those of block ratios
where both sides have positive values in common blocks, otherwise the two metrics' own intervals, which is the more
careful; and of fractions that may be 0 on both sides, the interval of their difference. Values that the clocks of two
hosts cannot tell from 0 are `no data` in the document (`aggregate.widened`), and stay so.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rmwbench.analysis.claims_words import POINTS, RATIO, amount, interval, unit_of
from rmwbench.analysis.difference import difference
from rmwbench.analysis.intervals import range_coverage
from rmwbench.analysis.ratio import ratio, unpaired
from rmwbench.analysis.verdict import Ratio
from rmwbench.suite.claims import Claim, Claims, Test, is_suite

Answer = Literal["holds", "does not hold", "undecided", "no data"]
Arm = Mapping[str, Any]
Side = tuple[str, Arm]
"""The workload that an arm stands in, and the arm."""
ERROR = 0.025
"""Each bound of a ratio's interval errs with this probability: 95 % for both."""
LEAST_TRIALS = 2
"""An interval from one trial is as if its messages were independent: nothing is decided from it."""
MACHINE_BOUND = "machine: machine_bound"
"""How the flag of an arm begins whose trials left less than 10 % of the processor time idle."""
CLOCKS = "for the clocks of two hosts"
"""In an interval that was widened: the values of single trials were not, so no ratio may be taken of them."""


@dataclass(frozen=True)
class Cell:
    """One matching cell's answer. `value` is the ratio left ÷ right, left − right where the test is by difference, or
    the left value where it has a level alone."""

    workload: str
    answer: Answer
    left: str
    right: str | None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    left_in: str = ""
    """The workload of the left side; `workload` names both where they differ."""
    right_in: str | None = None


@dataclass(frozen=True)
class Today:
    """What one campaign says of a claim at one layer."""

    campaign: str
    layer: str
    answer: Answer
    verdict: str
    arms: tuple[str, ...]
    """Arms with their versions."""
    cells: tuple[Cell, ...]
    proxy: tuple[str, ...] = field(default=())
    """Why it is no answer to the original: another layer, other versions."""
    machine: str | None = None
    date: str | None = None
    blocks: int | None = None
    """The most trials that any of its values stands on."""
    shipped: bool = False
    unit: str = RATIO
    """Of the cells' values."""

    def text(self) -> str:
        words = f"{self.answer} with {', '.join(self.arms)} at the {self.layer} layer on "
        words += f"{self.machine} ({self.date})" if self.machine else "this machine"
        words += f" (proxy: {'; '.join(self.proxy)})" if self.proxy else ""
        return words + (f": {found}" if (found := self.seen()) else "")

    def seen(self) -> str:
        """`0.52 [0.5–0.55]×`, or for several cells `3 cells, 0.52× to 1.4×`; empty where no cell has a value."""
        told = [cell for cell in self.cells if cell.low is not None and cell.high is not None]
        if len(told) == 1 and len(self.cells) == 1 and told[0].low is not None and told[0].high is not None:
            return interval(told[0].value, told[0].low, told[0].high, self.unit)
        values = sorted(cell.value for cell in told if cell.value is not None)
        if not values:
            return ""
        counts = Counter(cell.answer for cell in self.cells)
        answers = ", ".join(f"{answer} {count}" for answer, count in counts.items()) if len(counts) > 1 else ""
        text = f"{len(self.cells)} cells, {amount(values[0], self.unit)} to {amount(values[-1], self.unit)}"
        return f"{text} ({answers})" if answers else text


def today(claims: Claims, claim: Claim, document: Mapping[str, Any], error: float = ERROR) -> list[Today]:
    """The answers of a campaign, one per layer that has both sides, the claim's own layer first. Empty where it has
    none of the claim's cells. `error`: of each bound of a ratio's interval."""
    if claim.test is None or not of_suite(claim.test, document) or not _asked(claim, document):
        return []
    own = claims.layer_of(claim)
    layers = sorted({arm["layer"] for w in document["workloads"] for arm in w["arms"]}, key=lambda x: (x != own, x))
    found = []
    for layer in layers:
        cells, used = [], {}
        for left, right in _sides(claim.test, claims.sides, document, layer):
            cells.append(_cell(claim, claim.test, left, right, error))
            used.update({f"{one[1]['arm']} {one[1]['version']}": one[1] for one in (left, right) if one is not None})
        if cells:
            found.append(_today(claims, claim, document, layer, cells, used))
    return found


def compared(claims: Claims, claim: Claim, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(workload, arm) of every cell that the claim compares in this document, at any layer."""
    if claim.test is None or not of_suite(claim.test, document) or not _asked(claim, document):
        return
    for layer in {arm["layer"] for w in document["workloads"] for arm in w["arms"]}:
        for left, right in _sides(claim.test, claims.sides, document, layer):
            yield left[0], left[1]["arm"]
            if right is not None:
                yield right[0], right[1]["arm"]


def _asked(claim: Claim, document: Mapping[str, Any]) -> bool:
    """What ran for some claims (`asked`, of `rmwbench run --claims`) has only some cells of others, and says nothing of
    them."""
    asked = document.get("asked")
    return asked is None or claim.id in asked


def of_suite(test: Test, document: Mapping[str, Any]) -> bool:
    """Whether the campaign ran the test's suite."""
    return is_suite(test.suite, str(document["campaign"]["suite"]))


def _today(
    claims: Claims, claim: Claim, document: Mapping[str, Any], layer: str, cells: list[Cell], used: Mapping[str, Arm]
) -> Today:
    own = claims.layer_of(claim)
    proxy = [] if layer == own else [f"the claim speaks of the {own} layer"]
    others = [name for name, arm in used.items() if arm["version"] not in claims.versions]
    if others:
        spoken = ", ".join(claims.versions) or "versions of its time"
        proxy.append(f"the claim speaks of {spoken}")
    answer = _together([cell.answer for cell in cells])
    verdict = {"holds": "supported", "does not hold": "refuted"}.get(answer, answer)
    if proxy and answer in ("holds", "does not hold"):
        verdict = "proxy"
    campaign = document["campaign"]
    counts = [arm["metrics"].get(claim.test.metric, {}).get("trials") for arm in used.values()] if claim.test else []
    return Today(
        campaign["name"],
        layer,
        answer,
        verdict,
        tuple(used),
        tuple(cells),
        tuple(proxy),
        (document.get("machine") or {}).get("summary"),
        str(campaign["created_utc"])[:10] if campaign.get("created_utc") else None,
        max(filter(None, counts), default=None),
        bool(document.get("shipped")),
        _unit(claim.test),
    )


def _unit(test: Test | None) -> str:
    if test is not None and test.by == "difference":
        return POINTS
    return RATIO if test is None or test.level is None else unit_of(test.metric)


def _together(answers: Sequence[Answer]) -> Answer:
    """One cell against a claim is enough; to hold, all must. Cells without data decide nothing unless all have none."""
    if "does not hold" in answers:
        return "does not hold"
    if all(answer == "no data" for answer in answers):
        return "no data"
    return "holds" if all(answer == "holds" for answer in answers) else "undecided"


def _sides(
    test: Test, sides: Mapping[str, Sequence[str]], document: Mapping[str, Any], layer: str
) -> Iterator[tuple[Side, Side | None]]:
    """Left and right of every cell that the test speaks of."""
    lefts = list(_arms(document, layer, sides[test.left], test.workload, {**test.at, **test.left_at}))
    if test.right is None:
        yield from ((left, None) for left in lefts)
        return
    name = test.right_workload or test.workload
    other_layer = None if test.across_layers else layer
    rights = list(_arms(document, other_layer, sides[test.right], name, {**test.at, **test.right_at}))
    free = {*test.left_at, *test.right_at}
    for label, left in lefts:
        for other, right in rights:
            same = _rest(left, free) == _rest(right, free)
            # Without factors that differ, left and right stand in the same cell; otherwise in two.
            if same and (free or test.right_workload or label == other):
                yield (label, left), (other, right)


def _arms(
    document: Mapping[str, Any], layer: str | None, names: Sequence[str], workload: str | None, at: Mapping[str, Any]
) -> Iterator[tuple[str, Arm]]:
    for item in document["workloads"]:
        if workload is not None and item["workload"].partition(" [")[0] != workload:
            continue
        arms = [a for a in item["arms"] if a["arm"] in names and layer in (None, a["layer"])]
        here = [a for a in arms if _stands(a["factors"], at)]
        if here:
            yield item["workload"], min(here, key=lambda arm: list(names).index(arm["arm"]))


def _stands(factors: Mapping[str, Any], at: Mapping[str, Any]) -> bool:
    return all(name in factors and _same(factors[name], level) for name, level in at.items())


def _same(a: Any, b: Any) -> bool:
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (a, b))
    return math.isclose(a, b) if numbers else a == b


def _rest(arm: Arm, free: set[str]) -> dict[str, Any]:
    return {name: level for name, level in arm["factors"].items() if name not in free}


def _cell(claim: Claim, test: Test, left_side: Side, right_side: Side | None, error: float) -> Cell:
    left_in, left = left_side
    right_in, right = right_side or (None, None)
    label = left_in if right_in in (None, left_in) else f"{left_in} against {right_in}"
    names = (left["arm"], right["arm"] if right else None)
    bound = next((why for arm in (left, right) if arm and (why := _bound(claim, arm))), None)
    found = Cell(label, "no data", *names, reason=bound) if bound else _judged(test, label, names, left, right, error)
    return replace(found, left_in=left_in, right_in=right_in)


def _bound(claim: Claim, arm: Arm) -> str | None:
    """Where the processors were busy throughout, nothing says how a middleware scales or what a network does (rule 10
    of the method)."""
    if claim.kind != "scaling" and not any(name.startswith("network") for name in arm["factors"]):
        return None
    told = next((flag for flag in arm.get("flags", ()) if flag.startswith(MACHINE_BOUND)), None)
    return f"{arm['arm']}: {told}" if told else None


def _judged(test: Test, label: str, names: tuple[str, str | None], left: Arm, right: Arm | None, error: float) -> Cell:
    for arm in (left, right) if right else (left,):
        absent = _absent(arm, test.metric)
        if absent:
            return Cell(label, "no data", *names, reason=f"{arm['arm']}: {absent}")
    few = next((why for arm in (left, right) if arm and (why := _too_few(arm, test.metric))), None)
    if right is None:
        value, low, high = _interval(left["metrics"][test.metric])
    elif test.by == "difference":
        if unit_of(test.metric) != "fraction":
            return Cell(label, "no data", *names, reason=f"{test.metric} is no fraction, which a difference is of")
        value, low, high = _difference(left, right, test.metric, error)
    else:
        value, low, high = _ratio(left, right, test.metric, error)
        if value is None:
            return Cell(label, "undecided", *names, reason=f"{test.metric}: no ratio, both may be 0 or infinite")
    return Cell(label, "undecided" if few else decided(test, low, high), *names, value, low, high, few)


def _too_few(arm: Arm, metric: str) -> str | None:
    """One trial is too few for anything: its interval is as if its messages were independent. Where a trial's value is
    infinite the interval is the range of the trials' values, which covers their median too seldom
    (`intervals.range_coverage`): five trials are too few for 95 %."""
    values = [p["value"] for p in arm["per_trial"].get(metric, [])]
    if 0 < len(values) < LEAST_TRIALS:
        return f"{arm['arm']}: one trial, it decides nothing"
    infinite = sum(value is None or not math.isfinite(float(value)) for value in values)
    covered = range_coverage(len(values))
    if not infinite or covered >= 1 - 2 * ERROR:
        return None
    return (
        f"{arm['arm']}: infinite in {infinite} of {len(values)} trials, whose range covers {covered * 100:.3g} % only"
    )


def decided(test: Test, low: float, high: float) -> Answer:
    """What an interval of the test's ratio, difference or value says."""
    if test.level is None:
        return _decided(test.relation, low, high, test.times, test.factor)
    # Strictly below or above: a claim of no loss is `less` than one message in so many.
    return _decided(test.relation, low, high, test.level, 1.0)


def _decided(relation: str, low: float, high: float, bar: float, factor: float) -> Answer:
    """Where the whole interval lies: `low`, `high` against `bar` × `factor`."""
    if relation == "within":
        if bar / factor <= low and high <= bar * factor:
            return "holds"
        return "does not hold" if high < bar / factor or low > bar * factor else "undecided"
    at = bar * factor
    below, above = high < at, low > at
    if below or above:
        return "holds" if below == (relation == "less") else "does not hold"
    return "does not hold" if low == high == at else "undecided"


def _absent(arm: Arm, metric: str) -> str | None:
    if arm.get("not_supported"):
        return str(arm["not_supported"])
    found = arm["metrics"].get(metric)
    if found is None:
        return f"the campaign has no {metric}"
    return found.get("no_data")


def _interval(metric: Mapping[str, Any]) -> tuple[float | None, float, float]:
    """Value, low, high; a one-sided bound reaches to infinity and has no value."""
    if "at_least" in metric:
        return None, float(metric["at_least"]), math.inf
    value = float(metric["value"])
    low, high = (float(x) if (x := metric.get(key)) is not None else value for key in ("low", "high"))
    return value, low, high


def _difference(left: Arm, right: Arm, metric: str, error: float) -> tuple[float, float, float]:
    """Block by block in one cell; of two cells, by their own intervals."""
    (x, *x_ends), (y, *y_ends) = (_interval(arm["metrics"][metric]) for arm in (left, right))
    assert x is not None and y is not None, "a fraction has a value"
    a, b = ({p["block"]: float(p["value"]) for p in arm["per_trial"].get(metric, [])} for arm in (left, right))
    if left["factors"] != right["factors"]:
        a, b = {}, {}
    return difference(a, b, (x, *x_ends), (y, *y_ends), level=error)


def _ratio(left: Arm, right: Arm, metric: str, error: float) -> tuple[float | None, float, float]:
    i, j = left["metrics"][metric], right["metrics"][metric]
    if not any(CLOCKS in str(m.get("interval")) for m in (i, j)):
        a, b = ({p["block"]: float(p["value"]) for p in arm["per_trial"].get(metric, [])} for arm in (left, right))
        if a and b and all(math.isfinite(x) and x > 0 for x in (*a.values(), *b.values())):
            same_cell = left["factors"] == right["factors"]
            found = ratio(a, b, level=error) if same_cell else unpaired(a.values(), b.values(), 0.0, level=error)
            if isinstance(found, Ratio):
                return found.value, found.low, found.high
    (x, x_low, x_high), (y, y_low, y_high) = _interval(i), _interval(j)
    low = x_low / y_high if y_high > 0 and math.isfinite(y_high) else 0.0
    high = x_high / y_low if y_low > 0 and math.isfinite(x_high) else math.inf
    if x_high == 0 and y_low == 0:
        return None, 0.0, math.inf
    value = x / y if x is not None and y and math.isfinite(x) and math.isfinite(y) else None
    if value is None:
        if low == 0 and high == math.inf:
            return None, low, high
        value = math.inf if x is None or math.isinf(x) or not y else 0.0
    return value, low, high
