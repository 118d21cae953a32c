"""The look of an arm in all charts: the colour shows its middleware, line and marker its profile.

Each colour is a pair for the light and the dark page, with a contrast of at least 4.4:1 on the
light page and 4.5:1 on the dark page, so that text may have the colour, too. The pairs of the first
set differ in lightness as well as hue. Every mark is labelled, so a reader needs no colour. Where a
middleware has several profiles, tuned profiles are solid and filled, untouched profiles dashed and
hollow; a single profile is solid. The floor is grey because it is a bound, not a contender."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from rmwbench.words.printable import printable

Spec = dict[str, Any]
"""A chart in Vega-Lite."""
Pair = tuple[str, str]  # (on light, on dark), `#rrggbb`

FLOOR: Pair = ("#4a525c", "#8b949e")
# The middlewares of the first set have the same colours in all reports.
_KNOWN: dict[str, Pair] = {
    "floor": FLOOR,
    "iceoryx2": ("#00875f", "#3fdca8"),
    "zenoh": ("#1666cc", "#4d97ff"),
    "cyclonedds": ("#c84a00", "#f0803c"),
    "fastdds": ("#7a2a86", "#e6bcff"),
    "synthetic": ("#8a6a00", "#d8b030"),
}
_OTHERS: tuple[Pair, ...] = (
    ("#007a94", "#35b8d4"),
    ("#b5304a", "#ff7d92"),
    ("#5a7a10", "#a3c44a"),
    ("#6a4fc0", "#a793f5"),
    ("#8f5426", "#d59a6a"),
)
# Colours of other things than arms: text, secondary text, grid, page surface, lost messages.
NEUTRAL: dict[str, Pair] = {
    "text": ("#1d2228", "#e8eaed"),
    "muted": ("#5b6470", "#a3acb8"),
    "grid": ("#e4e6ea", "#2c323a"),
    "surface": ("#fefefe", "#171b20"),
    "lost": ("#c8102e", "#ff6b7a"),
}
# Parts of explaining bars: paths, and the sides at which messages were lost or held up. They are
# less saturated than the middlewares' colours, because they are not arms; each has its name in or
# beside it.
PARTS: dict[str, Pair] = {
    "shm": ("#2b6f77", "#7cc5cd"),
    "process": ("#3b6f45", "#93cf9c"),
    "unix": ("#7a5c1e", "#d9b972"),
    "udp": ("#47598f", "#9fb0ea"),
    "tcp": ("#70498f", "#c7a5e8"),
    "network": ("#566a86", "#a2b6d3"),
    "schedule": ("#9a4a1f", "#e6a578"),
    "publisher": ("#8c3b5e", "#e892b6"),
    "way": ("#2f6b80", "#82bfd6"),
    "reader": ("#6f611d", "#cfc074"),
    "machine": ("#505f7a", "#a9b8d4"),
}
_DASHES = ((), (2, 2), (8, 3, 2, 3), (1, 3))  # further profiles of one middleware
_UNTOUCHED_DASH = (5, 3)


@dataclass(frozen=True)
class LineStyle:
    """The `colour` on the light page and on the `dark` page, whether markers are `hollow`, and the
    `dash` pattern of lines (empty: solid)."""

    colour: str
    dark: str
    hollow: bool
    dash: tuple[int, ...]


class ChartArm(Protocol):
    """The arm of any typed answer."""

    @property
    def arm(self) -> str: ...
    @property
    def middleware(self) -> str: ...
    @property
    def profile(self) -> str | None: ...
    @property
    def role(self) -> str: ...


def looks(arms: Iterable[ChartArm]) -> dict[str, LineStyle]:
    """Return the look of each arm by name. The look depends on the order of the arms only where a
    middleware or profile is unknown."""
    arms = list(arms)
    several = {
        a.middleware
        for a in arms
        for b in arms
        if _untouched(a) != _untouched(b) and a.middleware == b.middleware
    }
    result: dict[str, LineStyle] = {}
    unknown: dict[str, Pair] = {}
    profiles: dict[str, int] = {}
    for arm in arms:
        if arm.arm in result:
            continue
        middleware = arm.middleware
        if arm.role == "floor":
            pair = FLOOR
        else:
            pair = _KNOWN.get(middleware) or unknown.setdefault(
                middleware, _OTHERS[len(unknown) % len(_OTHERS)]
            )
        if _untouched(arm) and middleware in several:
            result[arm.arm] = LineStyle(*pair, True, _UNTOUCHED_DASH)
        else:
            order = profiles[middleware] = profiles.get(middleware, -1) + 1
            result[arm.arm] = LineStyle(*pair, False, _DASHES[order % len(_DASHES)])
    return result


class _Middleware(NamedTuple):
    arm: str
    middleware: str
    profile: str | None = None
    role: str = "contender"


def looks_of_middlewares(names: Iterable[str]) -> dict[str, LineStyle]:
    """Return the look of each middleware, for pictures without arms."""
    return looks(_Middleware(name, name) for name in names)


def _untouched(arm: ChartArm) -> bool:
    return (arm.profile or "").startswith("untouched")


def part(kind: str) -> str:
    """Return the light colour of a part; grey where the part is not known."""
    return PARTS.get(kind, FLOOR)[0]


def to_dark() -> dict[str, str]:
    """Map every colour of a light chart to its colour in the dark chart, which differs in nothing
    else."""
    pairs = [*_KNOWN.values(), *_OTHERS, *NEUTRAL.values(), *PARTS.values()]
    return dict(pairs)


def svg_of(spec: Spec) -> str:
    """Return a Vega-Lite specification as SVG. Control codes are taken out of its texts: others
    wrote names and titles, and the library ends the process on a text that XML cannot hold."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(_printable(spec)))


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {key: _printable(item) for key, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, (list, tuple)) else value
