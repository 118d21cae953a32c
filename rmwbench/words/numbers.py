"""Numbers for people: three significant digits with the unit, and never without interval and count.

One function per kind of the show document's values (METRIC, RATIO) returns a `NumberText`: the
number, its interval and its basis together, so that a renderer may put them in different places but
cannot get one without the others. Prefixes are decimal (1 MB = 10^6 bytes), as is usual for the
rates and payloads of robot traffic.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import floor, inf, isfinite, log10
from typing import Literal, Protocol

State = Literal["measured", "bound", "never", "absent"]

# unit of the show document -> (threshold, divisor, symbol), largest first
_SCALES: dict[str | None, tuple[tuple[float, float, str], ...]] = {
    "ns": ((1e9, 1e9, "s"), (1e6, 1e6, "ms"), (1e3, 1e3, "µs"), (0.0, 1.0, "ns")),
    "bytes": ((1e9, 1e9, "GB"), (1e6, 1e6, "MB"), (1e3, 1e3, "kB"), (0.0, 1.0, "B")),
    "bytes/s": ((1e9, 1e9, "GB/s"), (1e6, 1e6, "MB/s"), (1e3, 1e3, "kB/s"), (0.0, 1.0, "B/s")),
    "hz": ((1e6, 1e6, "MHz"), (1e3, 1e3, "kHz"), (0.0, 1.0, "Hz")),
    "fraction": ((0.0, 0.01, "%"),),
    "points": ((0.0, 0.01, "points"),),
    "cores": ((0.01, 1.0, "cores"), (1e-4, 1e-3, "mcores"), (0.0, 1e-6, "µcores")),
    "J": ((1.0, 1.0, "J"), (1e-3, 1e-3, "mJ"), (0.0, 1e-6, "µJ")),
    "s": ((60.0, 60.0, "min"), (1.0, 1.0, "s"), (1e-3, 1e-3, "ms"), (0.0, 1e-6, "µs")),
}
_SAME_UNIT: dict[str | None, str] = {
    "bytes_per_s": "bytes/s",
    "B": "bytes",
    "Hz": "hz",
    "ratio": "fraction",
    "share": "fraction",
}
_BARE = {"count", "messages", "1", "", None}
LARGEST_RATIO = 1000
"""No two middlewares ever differed by a larger ratio: a bound beyond it means that nothing is
known."""
AS_WRITTEN = 10
"""The digits of a number that a user wrote, such as a margin: none is rounded away."""

_COMMAND = re.compile(r"`(rmwbench[^`<>&|]*)`")


def without_marks(text: str) -> str:
    """Return a sentence with its commands as a user types them, without the marks of Markdown."""
    return _COMMAND.sub(r"\1", text)


def commands(text: str) -> list[tuple[str, bool]]:
    """Return the parts of a sentence, each with whether it is a command, for pages that set
    commands apart."""
    parts = _COMMAND.split(text)
    return [(part, bool(place % 2)) for place, part in enumerate(parts) if part]


class Interval(Protocol):
    """A value with its interval: None if absent, infinite if messages that did not arrive reach
    it."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def no_data(self) -> str | None: ...


class AnyEstimate(Interval, Protocol):
    """METRIC of docs/formats/show.md."""

    @property
    def unit(self) -> str: ...
    @property
    def at_least(self) -> float | None: ...
    @property
    def count(self) -> int | None: ...
    @property
    def trials(self) -> int | None: ...
    @property
    def interval(self) -> str | None: ...


class RatioFields(Interval, Protocol):
    """RATIO of docs/formats/show.md."""

    @property
    def blocks(self) -> int | None: ...


class Exponent(Protocol):
    """An exponent with its interval, always finite."""

    @property
    def exponent(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


@dataclass(frozen=True)
class NumberText:
    """A value in words: `text` with its unit, `interval` as `[11.9–12.8]` or empty, and `basis`,
    such as the number of trials."""

    text: str
    interval: str
    basis: str
    state: State

    @property
    def full(self) -> str:
        return f"{self.text} {self.interval}".rstrip()


def metric(value: AnyEstimate | None) -> NumberText:
    """Return the text of a metric; None, for an arm without the metric, reads `no data`, too."""
    if value is None:
        return NumberText("no data", "", "not measured for this arm", "absent")
    if value.no_data is not None:
        return NumberText("no data", "", value.no_data, "absent")
    unit = value.unit
    if value.at_least is not None and value.at_least != inf:
        return NumberText(f"≥ {quantity(value.at_least, unit)}", "", _basis(value), "bound")
    number = value.at_least if value.value is None else value.value
    if number is None:
        return NumberText("no data", "", "there is no value", "absent")
    if number == inf:
        why = (
            "in half of the trials or more it did not happen before the end"
            if _is_of_trials(value)
            else "messages that did not arrive reach this quantile"
        )
        return NumberText(never(value), "", f"{why}; {_basis(value)}", "never")
    return NumberText(quantity(number, unit), _interval(number, value), _basis(value), "measured")


def never(value: AnyEstimate) -> str:
    """Return the words for an infinite value: its messages never arrived, or its event never
    happened."""
    return "never" if _is_of_trials(value) else "never arrived"


def ratio(value: RatioFields | None) -> NumberText:
    """Return a text such as `4.10× [3.20–5.30]`."""
    if value is None:
        return NumberText("no data", "", "no comparison", "absent")
    number = value.value
    if value.no_data is not None or number is None:
        return NumberText("no data", "", value.no_data or "there is no value", "absent")
    if number == inf:
        return NumberText(
            "never arrived", "", "an infinite quantile is compared by sign only", "never"
        )
    interval = (
        ""
        if value.low is None or value.high is None
        else f"[{_ratio_bound(value.low)}–{_ratio_bound(value.high)}]"
    )
    basis = counted(value.blocks, "block") if value.blocks else ""
    return NumberText(f"{significant(number)}×", interval, basis, "measured")


def exponent(value: Exponent) -> str:
    """Return a text such as `1.9 [1.8–2.0]`."""
    return f"{value.exponent:.2g} [{value.low:.2g}–{value.high:.2g}]"


def quantity(value: float | None, unit: str | None) -> str:
    """Return a text such as `12.3 µs`, `6.22 MB`, `3.1 %`, `1 100` or `2.00×`; an infinite value
    reads `∞`."""
    if value is None:
        return "no data"
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    divisor, symbol = scale(value, unit)
    if symbol in ("B", "ns") and value == int(value):
        return f"{significant_count(int(value))} {symbol}"
    return _with_symbol(_digits(value / divisor, unit), symbol)


def with_interval(value: float | None, low: float, high: float, unit: str | None) -> str:
    """Return a text such as `173 µs [134–222]`, with all three in the unit of the first that is
    neither 0 nor infinite, or `0 points [−2.6 to 2.6]` if `low` is negative."""
    divisor, symbol = scale(next((x for x in (value, high, low) if x and isfinite(x)), 0.0), unit)
    number = "–" if value is None else _bound(value, divisor, unit)
    text = _with_symbol(number, symbol)
    if low == -inf and high == inf:
        return f"{text}, without an interval"
    ends = (_bound(end, divisor, unit) for end in (low, high))
    return f"{text} [{(' to ' if low < 0 else '–').join(ends)}]"


def significant(value: float) -> str:
    """Return three significant digits without exponent: 0.0123, 1.23, 12.3, 123, 1 230."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")  # 9.996 is in the next decade then
    return _grouped(value, min(max(0, 2 - floor(log10(abs(rounded)))), 9))


def concise(value: float, digits: int = 3) -> str:
    """Return a number with `digits` significant digits, without exponent and without zeros at the end
    of its decimals: 0.012, 4.8, 48, 1 390."""
    if value == 0:
        return "0"
    decimals = digits - 1 - floor(log10(abs(float(f"{value:.{digits - 1}e}"))))
    return _without_zeros(_grouped(value, max(0, decimals)))


def distinct(text: Callable[[float, int], str], first: float, second: float) -> tuple[str, str]:
    """Return the texts of two numbers with the fewest digits, at least three, that tell them apart.
    `text` gets a number and the digits."""
    for digits in range(3, 16):
        texts = text(first, digits), text(second, digits)
        if texts[0] != texts[1]:
            break
    return texts


def scaled(number: float, factor: float) -> float:
    """Return the decimal product: 0.7 × 0.01 is 0.007, and not the float below it."""
    return float(Decimal(repr(number)) * Decimal(repr(factor)))


def percent(fraction: float, digits: int = 2) -> str:
    """Return a text such as `17 %`, `0.32 %` or `99.96 %` with `digits` significant digits, or
    with more if these would round the value to 0 % or 100 %; never with an exponent."""
    return f"{_without_zeros(_percent(fraction * 100, digits))} %"


def points(difference: float) -> str:
    """Return a text such as `5 percentage points`, for a difference of two fractions."""
    number = percent(abs(difference)).removesuffix(" %")
    return f"{number} percentage point{'' if number == '1' else 's'}"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Return a text such as `1 trial`, `6 trials` or `1 100 messages`."""
    return f"{significant_count(number)} {singular if number == 1 else plural or singular + 's'}"


def significant_count(number: int) -> str:
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def duration(seconds: float | None) -> str:
    """Return a text such as `45 s`, `5 min 1 s` or `2 h 5 min`."""
    if seconds is None:
        return "unknown"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def minutes(value: float | None) -> str:
    """Return a rough length of time, such as `12 min`, `3 h` or `2 days`."""
    if value is None or not isfinite(value):
        return "no realistic time"
    if value < 90:
        return f"{max(1, round(value))} min"
    if value < 48 * 60:
        return f"{significant_count(round(value / 60))} h"
    return f"{significant_count(round(value / 1440))} days"


def finite(value: float | None) -> float | None:
    """Return a number that a chart can place on an axis, None if it is absent or infinite."""
    return float(value) if value is not None and isfinite(value) else None


def _is_of_trials(value: AnyEstimate) -> bool:
    """Whether each trial has one value, such as the time to recover, and not a latency of each of
    its messages."""
    return value.count is not None and value.count == value.trials


def scale(value: float, unit: str | None) -> tuple[float, str]:
    """Return the divisor of a value and the unit of the quotient, in which it is printed."""
    name = _SAME_UNIT.get(unit, unit)
    if name in _BARE:
        return 1.0, ""
    scales = _SCALES.get(name)
    if scales is None:
        return 1.0, str(unit)
    # 999.6 µs would print as 1 000 µs: choose the scale after rounding to three digits
    rounded = float(f"{abs(value):.3g}")
    for threshold, divisor, symbol in scales:
        # 59.96 s is 60.0 s, and not 0.999 min
        if (abs(value) if symbol == "min" else rounded) >= threshold:
            return divisor, symbol
    return scales[-1][1], scales[-1][2]


def _with_symbol(number: str, symbol: str) -> str:
    return number + (symbol if symbol == "×" else f" {symbol}".rstrip())


def _digits(value: float, unit: str | None) -> str:
    if _SAME_UNIT.get(unit, unit) == "fraction":
        return _without_zeros(_percent(value, 2)) if abs(value) < 10 else _percent(value, 3)
    if unit in _BARE and value == int(value):
        return significant_count(int(value))
    return significant(value)


def _percent(value: float, digits: int) -> str:
    """Return a value in percent without the sign."""
    value = float(f"{value:.12g}")  # 0.07 is 7.000000000000001 %
    if value == 0 or not isfinite(value):
        return quantity(value, None)
    decimals = digits - 1 - floor(log10(abs(float(f"{value:.{digits - 1}e}"))))
    if round(value, decimals) == 100 != value:
        decimals = -floor(log10(abs(100 - value)))
    return _grouped(value, max(0, decimals))


def _grouped(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "−")


def _without_zeros(text: str) -> str:
    """Return a number without the zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _interval(number: float, value: AnyEstimate) -> str:
    if value.low is None or value.high is None:
        return ""
    divisor, _ = scale(number, value.unit)
    low, high = (_bound(side, divisor, value.unit) for side in (value.low, value.high))
    return f"[{low}–{high}]"


def _bound(value: float, divisor: float, unit: str | None = None) -> str:
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    return _digits(value / divisor, unit if unit == "fraction" else "ns")


def _ratio_bound(value: float) -> str:
    if value > LARGEST_RATIO:
        return f">{significant_count(LARGEST_RATIO)}"
    return f"<{1 / LARGEST_RATIO:g}" if value < 1 / LARGEST_RATIO else significant(value)


def _basis(value: AnyEstimate) -> str:
    parts = []
    if value.count is not None:
        parts.append(f"n = {significant_count(value.count)}")
    if value.trials is not None:
        parts.append(counted(value.trials, "trial"))
    if value.interval:
        parts.append(value.interval)
    return ", ".join(parts)
