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
    """The facts that were granted and attested for one arm; None where one is not known.
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
    """`own` or `shared`: which thread sends for a publisher; None where none could be shared."""
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
    "layer": (
        "measured at the {mine} layer, most others at {most}",
        "measured at the {mine} layer, others at {rest}",
    ),
    "qos": (
        "QoS granted here: {mine}; most others: {most}",
        "QoS granted here: {mine}; others: {rest}",
    ),
    "path": (
        "its bytes went through {mine}, those of most others through {most}",
        "its bytes went through {mine}, those of others through {rest}",
    ),
    "publish_mode": (
        "publishes in mode {mine}, most others {most}",
        "publishes in mode {mine}, others {rest}",
    ),
    "written": (
        "its publisher writes {mine}, those of most others {most}",
        "its publisher writes {mine}, those of others {rest}",
    ),
    "schedule": (
        "publishers of one process send from {mine}, those of most others from {most}",
        "publishers of one process send from {mine}, those of others from {rest}",
    ),
    "take": (
        "messages taken {mine}, those of most others {most}",
        "messages taken {mine}, those of others {rest}",
    ),
    "when_full": (
        "when a queue is full: {mine}; most others: {most}",
        "when a queue is full: {mine}; others: {rest}",
    ),
    "touch": (
        "payload touched: {mine}, most others: {most}",
        "payload touched: {mine}, others: {rest}",
    ),
    "backend": (
        "its network was the {mine}'s, that of most others the {most}'s",
        "its network was the {mine}'s",
    ),
    "host": (
        "its trials ran on {mine}, those of most others on {most}",
        "its trials ran on {mine}, others on {rest}",
    ),
    "conditions": (
        "measured with {mine}, most others with {most}",
        "measured with {mine}, others with {rest}",
    ),
}


_TAKES = {
    "typed": "into the reader's own memory",
    "raw": "in the receive buffer, serialised",
    "lent": "in lent memory",
}


_WRITTEN = {
    "loan": "into memory that its middleware lends",
    "copy": "into memory of its own, which is copied",
}


_SCHEDULES = {"own": "a thread each", "shared": "one thread"}


_PATHS = {
    "udp": "UDP",
    "tcp": "TCP",
    "network": "a network interface",
    "lo": "the loopback interface",
    "shm": "shared memory",
    "unix": "a Unix socket",
    "process": "the process itself",
    "other": "an unknown path",
}


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
    words = (_PATHS, _TAKES, _WRITTEN, _SCHEDULES)
    return next((of_kind[value] for of_kind in words if value in of_kind), value)


def flags(arms: Sequence[ArmFacts]) -> dict[str, list[str]]:
    """Arm -> its flags: how it differs from the others of its family, and in age from all. Floors
    are not contenders and carry no flag."""
    contenders = [a for a in arms if not a.floor]
    out: dict[str, list[str]] = {a.arm: [] for a in arms}
    loaned = [a for a in contenders if a.written == "loan"]
    for family in (loaned, [a for a in contenders if a not in loaned]):
        for attribute, templates in _TEXTS.items():
            for arm, text in _different(family, attribute, *templates):
                out[arm].append(text)
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
        out[a.arm] += texts
    return out


def _different(
    arms: Sequence[ArmFacts], attribute: str, against_most: str, against_rest: str
) -> Iterator[tuple[str, str]]:
    """(arm, its flag), for arms that differ in one fact."""
    values = Counter(v for a in arms if (v := getattr(a, attribute)) is not None)
    if len(values) < 2:
        return
    most, count = values.most_common(1)[0]
    majority = count * 2 > values.total()
    for a in arms:
        mine = getattr(a, attribute)
        if mine is None or (majority and mine == most):
            continue
        rest = ", ".join(sorted(_word(v) for v in values if v != mine))
        text = against_most if majority else against_rest
        yield a.arm, text.format(mine=_word(mine), most=_word(most), rest=rest)


def outdated(arms: Sequence[ArmFacts]) -> set[str]:
    """The arms that carry a flag for their age or for their vendor's support, see `flags`."""
    contenders = [a for a in arms if not a.floor]
    old = {arm for arm, age in _ages(contenders).items() if age.months > MONTHS}
    return old | {a.arm for a in contenders if a.support_ended}


def _ages(contenders: Sequence[ArmFacts]) -> dict[str, "_Age"]:
    """The ages of the arms whose release date is known."""
    dated = {a.arm: d for a in contenders if (d := _date(a.release_date))}
    newest = max(dated.values(), default=date.min)
    by = min((arm for arm, d in dated.items() if d == newest), default="")
    return {arm: _Age(d, _months(d, newest), by, newest) for arm, d in dated.items()}


def _months(earlier: date, later: date) -> int:
    """How many months have begun since then: 19 for 18 months and a day."""
    months = (later.year - earlier.year) * 12 + later.month - earlier.month
    return months + (later.day > earlier.day)


def between(a: ArmFacts, b: ArmFacts) -> list[str]:
    """The flags of two arms that are compared with each other alone: `path: shared memory in A, …
    in B`."""
    out = []
    for attribute in _TEXTS:
        mine, other = getattr(a, attribute), getattr(b, attribute)
        if mine is not None and other is not None and mine != other:
            name = _NAMES.get(attribute, attribute.replace("_", " "))
            out.append(f"{name}: {_word(mine)} in A, {_word(other)} in B")
    of_a, of_b = _date(a.release_date), _date(b.release_date)
    if of_a and of_b:
        months = _months(*sorted((of_a, of_b)))
        if months > MONTHS:
            out.append(f"released {months} months apart: {of_a} in A, {of_b} in B")
    return out


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text[:10]) if text else None
    except ValueError:
        return None
