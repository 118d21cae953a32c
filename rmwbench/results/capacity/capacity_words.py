"""The answer of a capacity search in words: one sentence per arm, and the conclusions from all of
them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rmwbench.analysis.capacity.arm_capacity import Capacity, Unit
from rmwbench.results.capacity.capacity_model import CapacityArm, RaisedFactor
from rmwbench.results.model import Conclusion
from rmwbench.words import numbers as fmt


def question(search: RaisedFactor) -> str:
    """Return `Up to which rate does p99 response < 5 ms hold?`"""
    which = f"how many {search.title}" if search.unit == "" else f"which {search.title}"
    plural = len(search.limit.conditions) > 1
    return f"Up to {which} {'do' if plural else 'does'} {search.limit.text} hold?"


def beyond(arm: CapacityArm) -> str:
    """Return how the limit breaks above the capacity, or why that is not known."""
    if arm.breaks is not None and arm.capacity.state != "at least":
        return arm.breaks.cause
    if arm.bound:
        return arm.bound
    if arm.capacity.state == "at least":
        if not arm.wide:
            return "nothing higher was asked for"
        if arm.breaks is None:
            return "the search ended before anything failed"
        return "too few trials failed to say where it breaks"
    return _why_no_data(arm)


_ENDED = {
    "budget": "the budget ended before a trial could be judged",
    "stopped": "the search was stopped before a trial could be judged",
}
"""Code of the end of a search -> the reason why there is no data."""


def _why_no_data(arm: CapacityArm) -> str:
    if arm.breaks is not None:
        return f"every trial failed: {arm.breaks.cause}"
    return arm.bound or _ENDED.get(arm.ended or "", arm.ended) or "no trial could be judged"


def level(value: float | None, unit: Unit, title: str = "") -> str:
    """Return `412 Hz`, `64 kB`, `7 subscribers`."""
    number = fmt.finite(value)
    if number is None:
        return "–" if value is None else "∞"
    if unit == "":
        name = title.removesuffix("s") if number == 1 else title
        return f"{fmt.significant_count(round(number))} {name}".rstrip()
    return fmt.quantity(number, unit)


def interval(capacity: Capacity) -> str:
    """Return `[401–420]` in the unit of the value; empty if there is no interval."""
    if capacity.state != "bracketed":
        return ""
    number = fmt.finite(capacity.value)
    ends = []
    for end in (capacity.low, capacity.high):
        value = fmt.finite(end)
        ends.append("∞" if value is None else _in_unit_of(value, number, capacity.unit))
    return f"[{'–'.join(ends)}]"


def capacity(held: Capacity, title: str) -> str:
    """Return `412 Hz [401–420]`, `≥ 200 kHz`, `< 10 Hz`, `no data`."""
    return f"{without_interval(held, title)} {interval(held)}".rstrip()


def without_interval(held: Capacity, title: str) -> str:
    unit = held.unit
    if held.state == "bracketed":
        return level(held.value, unit, title)
    if held.state == "at least":
        return f"≥ {level(held.low, unit, title)}"
    return f"< {level(held.high, unit, title)}" if held.state == "below" else "no data"


def answer(arm: CapacityArm, search: RaisedFactor) -> str:
    """Return the sentence of an arm: `holds p99 response < 5 ms up to 412 Hz [401–420]; above it
    the queue grows by …`."""
    held, limit = arm.capacity, search.limit.text
    title, unit = search.title, search.unit
    if held.state == "no data":
        return f"no data: {_why_no_data(arm)}"
    if held.state == "below":
        return f"does not hold {limit} even at {level(held.high, unit, title)}: {_why(arm)}"
    if held.state == "at least":
        return f"holds {limit} at least up to {level(held.low, unit, title)}: {beyond(arm)}"
    return f"holds {limit} up to {capacity(held, title)}; above: {_why(arm)}{_wide(arm)}"


def conclusions(search: RaisedFactor, arms: Sequence[CapacityArm]) -> tuple[Conclusion, ...]:
    return (
        *(Conclusion(kind="conclude", workload=None, text=text) for text in _may(search, arms)),
        *(Conclusion(kind="caution", workload=None, text=text) for text in _may_not(search, arms)),
    )


def _may(search: RaisedFactor, arms: Sequence[CapacityArm]) -> Iterator[str]:
    for arm in arms:
        yield f"{arm.arm} {arm.answer}"
    more = f"with more {search.title}" if search.unit == "" else f"at a higher {search.title}"
    for arm, other in _neighbours(arms):
        if _clear(search, arm, other):
            yield (
                f"{arm.arm} holds the limit {more} than {other.arm}: their intervals do not overlap"
            )


def _may_not(search: RaisedFactor, arms: Sequence[CapacityArm]) -> Iterator[str]:
    close = [pair for pair in _neighbours(arms) if not _clear(search, *pair)]
    if close:
        text = "; ".join(f"{a.arm} and {b.arm}" for a, b in close)
        open_ = " or have no upper end" if any(b.capacity.high is None for _, b in close) else ""
        yield f"not told apart, because their intervals overlap{open_}: {text}"
    bound = [
        f"{arm.arm} ({fmt.quantity(arm.machine_bound.idle, 'fraction')} idle)"
        for arm in arms
        if arm.machine_bound is not None
    ]
    if bound:
        yield (
            "machine-bound: where the limit broke, this machine had less than 10 % of its "
            f"processor time left: {', '.join(bound)}. It is their capacity here, and says nothing "
            "about a larger machine"
        )
    for arm in arms:
        if arm.ended == "budget" and arm.wide:
            yield f"{arm.arm}: the budget ended the search; a longer one narrows the interval"
        elif arm.ended == "trials" and arm.wide:
            yield (
                f"{arm.arm}: near its capacity the same level holds in some trials and fails in "
                "others; the interval is as wide as that"
            )
    yield (
        "each interval holds its arm's capacity with 95 % by itself, on this machine, at this "
        "time; drift of the machine hits all arms alike, because they take turns, and all of them "
        "together"
    )


def _why(arm: CapacityArm) -> str:
    if arm.breaks is None:
        return "nothing was seen to break"
    return f"{arm.breaks.cause}, machine-bound" if arm.machine_bound else arm.breaks.cause


def _wide(arm: CapacityArm) -> str:
    if not arm.wide:
        return ""
    if arm.ended == "budget":
        return " (the budget ended the search)"
    return " (trials scatter)" if arm.ended == "trials" else " (not finished)"


def _neighbours(arms: Sequence[CapacityArm]) -> list[tuple[CapacityArm, CapacityArm]]:
    """Return the contenders with a capacity, from the highest on, each with the next lower one."""
    with_capacity = [
        arm
        for arm in arms
        if arm.role != "floor" and arm.capacity.state in ("bracketed", "at least")
    ]
    ordered = sorted(with_capacity, key=lambda arm: -(fmt.finite(arm.capacity.value) or 0))
    return list(pairwise(ordered))


def _clear(search: RaisedFactor, higher: CapacityArm, lower: CapacityArm) -> bool:
    """Whether the intervals of two arms do not overlap. An interval of whole numbers includes both
    its ends; any other excludes its lower end, which may be the upper end of the other arm's
    interval."""
    low, high = fmt.finite(higher.capacity.low), fmt.finite(lower.capacity.high)
    if low is None or high is None:
        return False
    return low > high if search.whole else low >= high


def _in_unit_of(value: float, number: float | None, unit: Unit) -> str:
    """Return an end of the interval as a number, in the unit in which the value is printed."""
    if unit == "":
        return fmt.significant_count(round(value))
    symbol = fmt.quantity(number, unit).rsplit(" ", 1)[-1]
    factor = {"k": 1e3, "M": 1e6, "G": 1e9}.get(symbol[0], 1.0) if len(symbol) > 1 else 1.0
    return fmt.significant(value / factor)
