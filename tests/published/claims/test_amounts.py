"""Values of claims in a unit that people read."""

import pytest

from rmwbench.published.claims.amounts import amount, interval


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (630_000, "ns", "630 µs"),
        (999_400, "ns", "999 µs"),
        (999_600, "ns", "1 ms"),
        (-999_600, "ns", "-1 ms"),
        (999.6, "bytes", "1 kB"),
        (999.6, "hz", "1000 Hz"),
        (1234.4, "hz", "1234 Hz"),
        (2e7, "hz", "2e+07 Hz"),
        (0.001, "fraction", "0.1 %"),
        (2.0, "×", "2×"),
    ],
)
def test_the_unit_is_chosen_by_what_is_printed(value, unit, text):
    assert amount(value, unit) == text


def test_an_interval_has_the_unit_of_its_value():
    assert interval(999_600, 900_000, 1_100_000, "ns") == "1 [0.9–1.1] ms"
