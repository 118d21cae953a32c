"""The answer of a capacity search in words: one sentence per arm, and what may be concluded from
all of them."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from rmwbench.words import numbers as fmt


def question(search: Mapping[str, Any]) -> str:
    """`Up to which rate does p99 response < 5 ms hold?`"""
    which = f"how many {search['title']}" if search["unit"] == "" else f"which {search['title']}"
    plural = len(search["limit"]["conditions"]) > 1
    return f"Up to {which} {'do' if plural else 'does'} {search['limit']['text']} hold?"


def beyond(arm: Mapping[str, Any]) -> str:
    """How the limit breaks above the capacity, or why nothing is known of that."""
    if arm["breaks"] and arm["capacity"]["state"] != "at least":
        return str(arm["breaks"]["cause"])
    if arm["bound"]:
        return str(arm["bound"])
    if arm["capacity"]["state"] == "at least":
        return (
            "nothing higher was asked for"
            if not arm["wide"]
            else "the search ended before anything failed"
        )
    return str(arm["ended"] or "–")


def level(value: float | str | None, unit: str, title: str = "") -> str:
    """`412 Hz`, `64 kB`, `7 subscribers`."""
    number = fmt.finite(value)
    if number is None:
        return "∞" if value == "inf" else "–"
    if unit == "":
        name = title.removesuffix("s") if number == 1 else title
        return f"{fmt.significant_count(round(number))} {name}".rstrip()
    return fmt.quantity(number, unit)


def interval(capacity: Mapping[str, Any]) -> str:
    """`[401–420]` in the unit of the value; empty where there is none."""
    if capacity["state"] != "bracketed":
        return ""
    number, unit = fmt.finite(capacity["value"]), capacity["unit"]
    ends = []
    for end in ("low", "high"):
        value = fmt.finite(capacity[end])
        ends.append("∞" if value is None else _in_unit_of(value, number, unit))
    return f"[{'–'.join(ends)}]"


def capacity(found: Mapping[str, Any], title: str) -> str:
    """`412 Hz [401–420]`, `≥ 200 kHz`, `< 10 Hz`, `no data`."""
    unit = found["unit"]
    if found["state"] == "bracketed":
        return f"{level(found['value'], unit, title)} {interval(found)}"
    if found["state"] == "at least":
        return f"≥ {level(found['low'], unit, title)}"
    return f"< {level(found['high'], unit, title)}" if found["state"] == "below" else "no data"


def answer(arm: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """The sentence: `holds p99 response < 5 ms up to 412 Hz [401–420]; above it the queue grows by
    …`."""
    found, limit = arm["capacity"], plan["limit"]["text"]
    title, unit = plan["title"], plan["unit"]
    if found["state"] == "no data":
        return f"no data: {arm['bound'] or arm['ended'] or 'no trial said anything'}"
    if found["state"] == "below":
        return f"does not hold {limit} even at {level(found['high'], unit, title)}: {_why(arm)}"
    if found["state"] == "at least":
        return f"holds {limit} at least up to {level(found['low'], unit, title)}: {beyond(arm)}"
    wide = _wide(arm)
    return f"holds {limit} up to {capacity(found, title)}; above: {_why(arm)}{wide}"


def conclusions(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What may be concluded, and what not, in the form of the show document."""
    search = document["search"]
    out: list[dict[str, Any]] = []

    def add(kind: str, text: str) -> None:
        out.append({"kind": kind, "workload": None, "text": text})

    for arm in document["arms"]:
        add("conclude", f"{arm['arm']} {arm['answer']}")
    known = [
        a
        for a in document["arms"]
        if a["role"] != "floor" and a["capacity"]["state"] in ("bracketed", "at least")
    ]
    for arm, other in _apart(known):
        add(
            "conclude",
            f"{arm['arm']} holds the limit at a higher {search['title']} than {other['arm']}: "
            "their intervals do not overlap",
        )
    close = [pair for pair in _neighbours(known) if not _clear(*pair)]
    if close:
        text = "; ".join(f"{a['arm']} and {b['arm']}" for a, b in close)
        add("caution", f"not told apart, because their intervals overlap: {text}")
    bound = [a for a in document["arms"] if a["machine_bound"]]
    if bound:
        names = ", ".join(
            f"{a['arm']} ({fmt.quantity(a['machine_bound']['idle'], 'fraction')} idle)"
            for a in bound
        )
        add(
            "caution",
            "machine-bound: where the limit broke, this machine had less than 10 % of its "
            f"processor time left: {names}. It is their capacity here, and says nothing about a "
            "larger machine",
        )
    for arm in document["arms"]:
        if arm["ended"] == "budget" and arm["wide"]:
            add(
                "caution",
                f"{arm['arm']}: the budget ended the search; a longer one narrows the interval",
            )
        elif arm["ended"] == "trials" and arm["wide"]:
            add(
                "caution",
                f"{arm['arm']}: near its capacity the same level holds in some trials and fails in "
                "others; the interval is as wide as that",
            )
    add(
        "caution",
        "each interval holds its arm's capacity with 95 % by itself, on this machine, at this "
        "time; drift of the machine hits all arms alike, because they take turns, and all of them "
        "together",
    )
    return out


def _why(arm: Mapping[str, Any]) -> str:
    breaks = arm["breaks"]
    if breaks is None:
        return "nothing was seen to break"
    text = breaks["cause"]
    return f"{text}, machine-bound" if arm["machine_bound"] else text


def _wide(arm: Mapping[str, Any]) -> str:
    if not arm["wide"]:
        return ""
    if arm["ended"] == "budget":
        return " (the budget ended the search)"
    return " (trials scatter)" if arm["ended"] == "trials" else " (not finished)"


def _apart(arms: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Neighbours in order of capacity whose intervals do not overlap, the higher first."""
    return [pair for pair in _neighbours(arms) if _clear(*pair)]


def _neighbours(
    arms: Sequence[Mapping[str, Any]],
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    ordered = sorted(arms, key=lambda a: -(fmt.finite(a["capacity"]["value"]) or 0))
    return list(pairwise(ordered))


def _clear(higher: Mapping[str, Any], lower: Mapping[str, Any]) -> bool:
    low, high = fmt.finite(higher["capacity"]["low"]), fmt.finite(lower["capacity"]["high"])
    return low is not None and high is not None and low >= high


def _in_unit_of(value: float, number: float | None, unit: str) -> str:
    """An end of the interval in the unit that the value is printed in, without it."""
    if unit == "":
        return fmt.significant_count(round(value))
    symbol = fmt.quantity(number, unit).rsplit(" ", 1)[-1]
    factor = {"k": 1e3, "M": 1e6, "G": 1e9}.get(symbol[0], 1.0) if len(symbol) > 1 else 1.0
    return fmt.significant(value / factor)
