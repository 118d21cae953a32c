"""The requirements of REP-2004 and what each quality level asks for.

Numbers are the REP's; the short names are ours. `LEVELS` follows its comparison chart (text of
2025): `required`, `recommended`, `optional`; what is not listed is not asked for.
"""

import re
from dataclasses import dataclass

SECTIONS = {
    "1": "version policy",
    "2": "change control",
    "3": "documentation",
    "4": "testing",
    "5": "dependencies",
    "6": "platforms",
    "7": "security",
}


@dataclass(frozen=True)
class Requirement:
    """A requirement; a heading without a number means it if it has one of `words`."""

    number: str
    name: str
    words: tuple[str, ...] = ()

    @property
    def section(self) -> str:
        return self.number[0]


_ALL = (
    Requirement("1.i", "version scheme", ("version scheme", "versioning")),
    Requirement("1.ii", "stable version", ("version stability",)),
    Requirement("1.iii", "public API declared", ("public api declaration",)),
    Requirement("1.iv", "API stability policy", ("api stability policy", "api stability within")),
    Requirement("1.v", "ABI stability policy", ("abi stability policy", "abi stability within")),
    Requirement(
        "1.vi",
        "stable within a ROS distribution",
        (
            "abi stability within a released ros distribution",
            "api stability within a released ros distribution",
        ),
    ),
    Requirement("2.i", "changes by change request", ("change requests",)),
    Requirement(
        "2.ii", "contributor origin", ("contributor origin", "developer certificate of origin")
    ),
    Requirement("2.iii", "peer review", ("peer review policy",)),
    Requirement("2.iv", "CI policy", ("continuous integration",)),
    Requirement("2.v", "documentation policy", ("documentation policy",)),
    Requirement("3.i", "features documented", ("feature documentation",)),
    Requirement("3.ii", "public API documented", ("public api documentation",)),
    Requirement("3.iii", "licence declared", ("license", "licence", "licensing")),
    Requirement("3.iv", "copyright statements", ("copyright",)),
    Requirement("3.v.a", "declaration linked from the README"),
    Requirement("3.v.b", "listed centrally"),
    Requirement("3.v.c", "level stated where it is listed", ("lists and peer review",)),
    Requirement("4.i", "features tested", ("feature testing",)),
    Requirement("4.ii", "public API tested", ("public api testing",)),
    Requirement("4.iii.a", "coverage tracked", ("coverage",)),
    Requirement("4.iii.b", "coverage policy", ("coverage",)),
    Requirement("4.iv.a", "performance tests", ("performance",)),
    Requirement("4.iv.b", "performance policy", ("performance",)),
    Requirement("4.v.a", "code style enforced", ("linters",)),
    Requirement("4.v.b", "static analysis", ("static analysis",)),
    Requirement(
        "5.i",
        "ROS dependencies of its level",
        ("direct runtime ros dependencies", "direct and optional"),
    ),
    Requirement(
        "5.ii", "optional ROS dependencies", ("optional direct runtime", "direct and optional")
    ),
    Requirement("5.iii", "other dependencies justified", ("non-ros depend",)),
    Requirement("6.i", "tier 1 platforms", ("platform support",)),
    Requirement("7.i", "vulnerability disclosure", ("vulnerability disclosure", "security")),
)
ITEMS = {item.number: item for item in _ALL}


def _levels() -> dict[int, dict[str, str]]:
    everything = {number: "required" for number in ITEMS} | {
        "3.v.b": "recommended",
        "5.ii": "optional",
    }
    second = {
        n: v
        for n, v in everything.items()
        if n not in ("2.iii", "2.v", "3.ii", "4.ii", "4.iii.b", "4.iv.a", "4.iv.b")
    }
    third = dict.fromkeys(
        ("1.i", "1.ii", "1.iv", "1.v", "2.i", "2.iv", "3.iii", "3.iv", "3.v.a", "3.v.c", "6.i"),
        "required",
    )
    third |= dict.fromkeys(("1.iii", "1.vi", "4.i", "7.i"), "recommended") | dict.fromkeys(
        ("3.v.b", "5.ii"), "optional"
    )
    fourth = dict.fromkeys(("3.iii", "3.iv"), "required")
    fourth |= dict.fromkeys(("1.i", "2.i", "4.i", "6.i"), "recommended")
    return {1: everything, 2: second, 3: third, 4: fourth, 5: {"3.iii": "recommended"}}


LEVELS = _levels()
"""How much each level asks for each number."""

_NUMBER = re.compile(r"\b([1-7])\.(vi|iv|v|i{1,3})(?:\.([a-c]))?(?![a-z0-9])", re.IGNORECASE)


def numbers(text: str) -> list[str]:
    """Return the items that a text names by number, in its order: `4.iii` stands for 4.iii.a and
    4.iii.b; [] if there are none."""
    items: list[str] = []
    for section, roman, letter in _NUMBER.findall(text):
        number = f"{section}.{roman.lower()}"
        wanted = f"{number}.{letter.lower()}" if letter else number
        items += [n for n in ITEMS if n == wanted or n.startswith(f"{wanted}.")]
    return list(dict.fromkeys(items))


def by_words(heading: str) -> list[str]:
    """Return the items that a heading without a number means; [] if it has none of their words."""
    heading = heading.lower().replace("non ros", "non-ros")
    items = [n for n, item in ITEMS.items() if any(word in heading for word in item.words)]
    if "optional" not in heading and "5.i" in items and "5.ii" in items:
        items.remove("5.ii")
    if "optional direct runtime ros" in heading and "5.i" in items:
        items.remove("5.i")
    if "within" in heading and "1.vi" in items:
        other = "1.iv" if "abi" in heading and "api" not in heading else "1.v"
        items = [n for n in items if n != other]
    if "non-ros" in heading:
        items = ["5.iii"]
    return items
