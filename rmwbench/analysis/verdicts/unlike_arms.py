"""Differences that must not be compared silently (rule 8): arms carry a flag where they differ in
layer, granted QoS, path, publish mode, touch, the memory into which they write and take, what a
full queue does, what else ran on the machine, or age; so do versions of one middleware beside each
other.

A flag names the difference from most contenders of the workload; where no value has a majority
every arm names its own."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

MONTHS = 18


@dataclass(frozen=True)
class ArmFacts:
    """The facts that were granted and attested for one arm; None where a fact is not known.
    `release_date` is ISO 8601; `library` is the middleware without its version."""

    arm: str
    layer: str | None = None
    qos: str | None = None
    path: str | None = None
    publish_mode: str | None = None
    touch: str | None = None
    release_date: str | None = None
    floor: bool = False
    conditions: str | None = None
    backend: str | None = None
    host: str | None = None
    take: str | None = None
    when_full: str | None = None
    library: str | None = None
    version: str | None = None
    written: str | None = None
    """`loan` or `copy`: how its publishers were asked to write, and so its family."""
    schedule: str | None = None
    """`own` or `shared`: the thread that sends for a publisher; None if none can be shared."""
    support_ended: str | None = None
    """The month, as `2023-07`, in which its vendor's support of this version ended."""


@dataclass(frozen=True)
class _Age:
    """`by`: the arm whose version is the newest."""

    released: date
    months: int
    by: str
    newest: date


_TEXTS = {
    "layer": "measured at the {value} layer, {others} at {rest}",
    "qos": "QoS granted here: {value}; {others}: {rest}",
    "path": "its bytes went through {value}, those of {others} through {rest}",
    "publish_mode": "publishes in mode {value}, {others} {rest}",
    "written": "its publisher writes {value}, those of {others} {rest}",
    "schedule": "publishers of one process send from {value}, those of {others} from {rest}",
    "take": "messages taken {value}, those of {others} {rest}",
    "when_full": "when a queue is full: {value}; {others}: {rest}",
    "touch": "payload touched: {value}, {others}: {rest}",
    "backend": "its network was the {value}'s, that of {others} the {rest}'s",
    "host": "its trials ran on {value}, those of {others} on {rest}",
    "conditions": "measured with {value}, {others} with {rest}",
}
"""Field of `ArmFacts` -> the flag of an arm that differs in it from others, or from most others."""
_WORDS = {
    "typed": "into the reader's own memory",
    "raw": "in the receive buffer, serialised",
    "lent": "in lent memory",
    "loan": "into memory that its middleware lends",
    "copy": "into memory of its own, which is copied",
    "own": "a thread each",
    "shared": "one thread",
    "udp": "UDP",
    "tcp": "TCP",
    "network": "a network interface",
    "lo": "the loopback interface",
    "shm": "shared memory",
    "unix": "a Unix socket",
    "process": "the process itself",
    "other": "an unknown path",
}
"""Values of takes, writing, schedules and paths, in words."""
_NAMES = {
    "qos": "QoS granted",
    "backend": "network's backend",
    "written": "publishers write",
    "schedule": "publishers of one process send from",
    "take": "messages taken",
    "when_full": "when a queue is full",
}


def _word(value: str) -> str:
    if value in ("lent / typed", "lent / raw"):
        return " and ".join(map(_word, value.split(" / ")))
    return _WORDS.get(value, value)


def flags(arms: Sequence[ArmFacts]) -> dict[str, list[str]]:
    """Arm -> its flags: how it differs from the others of its family, and in age from all. Floors
    are not contenders and carry no flag."""
    contenders = [a for a in arms if not a.floor]
    flags_of_arms: dict[str, list[str]] = {a.arm: [] for a in arms}
    by_loan = [a for a in contenders if a.written == "loan"]
    for family in (by_loan, [a for a in contenders if a not in by_loan]):
        for attribute in _TEXTS:
            for arm, text in _differences(family, attribute):
                flags_of_arms[arm].append(text)
    ages = _ages(contenders)
    for a in contenders:
        beside = {
            b.version for b in contenders if b.library == a.library and b.library and b.version
        }
        texts = []
        if a.version in beside and (others := sorted(beside - {a.version})):
            texts.append(f"others of it here {', '.join(others)}")
        if (age := ages.get(a.arm)) and age.months > MONTHS:
            texts.append(
                f"released {age.released}, {age.months} months before the newest here ({age.by}, "
                f"{age.newest})"
            )
        if a.support_ended:
            texts.append(f"without its vendor's support since {a.support_ended}")
        if texts and a.version:
            texts[0] = f"version {a.version}, {texts[0]}"
        flags_of_arms[a.arm] += texts
    return flags_of_arms


def _differences(arms: Sequence[ArmFacts], attribute: str) -> Iterator[tuple[str, str]]:
    """(arm, its flag), for arms that differ in one fact."""
    values = Counter(v for a in arms if (v := getattr(a, attribute)) is not None)
    if len(values) < 2:
        return
    most, count = values.most_common(1)[0]
    majority = count * 2 > values.total()
    others = "most others" if majority else "others"
    for a in arms:
        value = getattr(a, attribute)
        if value is None or (majority and value == most):
            continue
        rest = [most] if majority else [v for v in values if v != value]
        words = ", ".join(sorted(map(_word, rest)))
        yield a.arm, _TEXTS[attribute].format(value=_word(value), others=others, rest=words)


def outdated(arms: Sequence[ArmFacts]) -> set[str]:
    """The arms that carry a flag for their age or for their vendor's support, see `flags`."""
    contenders = [a for a in arms if not a.floor]
    old = {arm for arm, age in _ages(contenders).items() if age.months > MONTHS}
    return old | {a.arm for a in contenders if a.support_ended}


def _ages(contenders: Sequence[ArmFacts]) -> dict[str, _Age]:
    """The ages of the arms whose release date is known."""
    dated = {a.arm: d for a in contenders if (d := _date(a.release_date))}
    newest = max(dated.values(), default=date.min)
    by = min((arm for arm, d in dated.items() if d == newest), default="")
    return {arm: _Age(d, _months(d, newest), by, newest) for arm, d in dated.items()}


def _months(earlier: date, later: date) -> int:
    """How many months have begun between the two dates: 19 for 18 months and a day."""
    months = (later.year - earlier.year) * 12 + later.month - earlier.month
    return months + (later.day > earlier.day)


def between(a: ArmFacts, b: ArmFacts) -> list[str]:
    """The flags of two arms that are compared with each other alone: `path: shared memory in A, …
    in B`."""
    differences = []
    for attribute in _TEXTS:
        value_a, value_b = getattr(a, attribute), getattr(b, attribute)
        if value_a is not None and value_b is not None and value_a != value_b:
            name = _NAMES.get(attribute, attribute.replace("_", " "))
            differences.append(f"{name}: {_word(value_a)} in A, {_word(value_b)} in B")
    date_a, date_b = _date(a.release_date), _date(b.release_date)
    if date_a and date_b:
        months = _months(*sorted((date_a, date_b)))
        if months > MONTHS:
            differences.append(f"released {months} months apart: {date_a} in A, {date_b} in B")
    return differences


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text[:10]) if text else None
    except ValueError:
        return None
