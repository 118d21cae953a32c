"""Values of claims as people read them: a measured value has three digits, the value of a claim the
digits that it has."""

from math import inf

import pytest

from rmwbench.published.claims.amounts import bar_text
from rmwbench.words.numbers import quantity, with_interval


@pytest.mark.parametrize(
    ("value", "unit", "measured", "bar"),
    [
        (630_000, "ns", "630 µs", "630 µs"),
        (999_600, "ns", "1.00 ms", "1 ms"),
        (2e9, "bytes/s", "2.00 GB/s", "2 GB/s"),
        (0.001, "fraction", "0.1 %", "0.1 %"),
        (0.05, "points", "5.00 points", "5 points"),
        (-0.03, "points", "−3.00 points", "-3 points"),
        (0.5, "count", "0.500", "0.5"),
        (2.0, "×", "2.00×", "2×"),
        (0.0, "×", "0×", "0×"),
    ],
)
def test_a_measured_value_and_a_bar(value, unit, measured, bar):
    assert (quantity(value, unit), bar_text(value, unit)) == (measured, bar)


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "text"),
    [
        (999_600, 900_000, 1_100_000, "ns", "1.00 ms [0.900–1.10]"),
        (2.52, 1.24, inf, "×", "2.52× [1.24–∞]"),
        (0.0, 0.0, 630_000, "ns", "0 µs [0–630]"),
        (0.0, -0.026, 0.026, "points", "0 points [−2.60 to 2.60]"),
        (None, 3.0, inf, "×", "–× [3.00–∞]"),
    ],
)
def test_an_interval_has_the_unit_of_its_value(value, low, high, unit, text):
    assert with_interval(value, low, high, unit) == text
