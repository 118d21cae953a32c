"""Numbers for people: digits, units, and the cases that are not numbers."""

import math

import pytest

from rmwbench.report.render import html, markdown
from rmwbench.results.model import Estimate, Ratio
from rmwbench.words import numbers as fmt
from rmwbench.words.level_names import level_name

NARROW = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "ns", "0 ns"),
        (812, "ns", "812 ns"),
        (12_345, "ns", "12.3 µs"),
        (999_600, "ns", "1.00 ms"),
        (1_084_000, "ns", "1.08 ms"),
        (2.5e9, "ns", "2.50 s"),
        (59.96, "s", "60.0 s"),
        (60.0, "s", "1.00 min"),
        (6_220_800, "bytes", "6.22 MB"),
        (320, "bytes", "320 B"),
        (15e6, "bytes", "15.0 MB"),
        (320_000, "bytes/s", "320 kB/s"),
        (0.031, "fraction", "3.1 %"),
        (0.0, "fraction", "0 %"),
        (0.000012, "fraction", "0.0012 %"),
        (4e-10, "fraction", "0.00000004 %"),
        (0.9996, "fraction", "99.96 %"),
        (0.99999, "fraction", "99.999 %"),
        (1.0, "fraction", "100 %"),
        (1 - 1e-14, "fraction", "100 %"),
        (12.5, "fraction", f"1{NARROW}250 %"),
        (1000.0, "hz", "1.00 kHz"),
        (1100, "messages", f"1{NARROW}100"),
        (4.55636, "count", "4.56"),
        (0.02834, "cores", "0.0283 cores"),
        (math.inf, "ns", "∞"),
        (None, "ns", "no data"),
    ],
)
def test_quantity(value, unit, text):
    assert fmt.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.00001, "0.00001"), (4.8, "4.8"), (48.0, "48"), (1389, f"1{NARROW}389")],
)
def test_a_concise_number_has_no_exponent_and_no_zeros_at_its_end(value, text):
    assert fmt.concise(value) == text


@pytest.mark.parametrize(
    ("fraction", "digits", "text"),
    [
        (0.0, 2, "0 %"),
        (5e-7, 2, "0.00005 %"),
        (0.00321, 2, "0.32 %"),
        (0.07, 6, "7 %"),
        (0.0996, 2, "10 %"),
        (0.174, 2, "17 %"),
        (0.994, 2, "99 %"),
        (0.996, 2, "99.6 %"),
        (0.9996, 3, "99.96 %"),
        (0.999999, 2, "99.9999 %"),
        (1.0, 2, "100 %"),
        (2.5, 2, "250 %"),
    ],
)
def test_what_is_neither_nothing_nor_all_is_never_said_to_be(fraction, digits, text):
    assert fmt.percent(fraction, digits) == text


def test_the_interval_of_nearly_all_is_told_apart_from_all():
    made = {"unit": "fraction", "value": 0.9999, "low": 0.9995, "high": 0.99999}
    shown = fmt.metric(Estimate(**made, count=10_000, trials=5))
    assert shown.full == "99.99 % [99.95–99.999]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.001234, "0.00123"),
        (9.996, "10.0"),
        (99.96, "100"),
        (999.6, f"1{NARROW}000"),
        (-1.5, "−1.50"),
        (0, "0"),
    ],
)
def test_significant_digits_survive_rounding_into_the_next_decade(value, text):
    assert fmt.significant(value) == text


def test_a_metric_carries_interval_and_basis():
    shown = fmt.metric(
        Estimate.of(
            {
                "unit": "ns",
                "value": 12_300,
                "low": 11_600,
                "high": 13_000,
                "count": 6600,
                "trials": 6,
                "interval": "95 %",
            }
        )
    )
    assert shown.full == "12.3 µs [11.6–13.0]"
    assert shown.basis == f"n = 6{NARROW}600, 6 trials, 95 %"
    assert shown.state == "measured"


@pytest.mark.parametrize(
    ("entry", "state", "text"),
    [
        (None, "absent", "no data"),
        ({"unit": "ns", "no_data": "n is 31"}, "absent", "no data"),
        ({"unit": "ns", "value": None}, "absent", "no data"),
        ({"unit": "ns", "value": "inf", "low": 4.1e7, "high": "inf"}, "never", "never arrived"),
        ({"unit": "ns", "value": "inf", "count": 60, "trials": 3}, "never", "never arrived"),
        ({"unit": "ns", "value": "inf", "count": 3, "trials": 3}, "never", "never"),
        ({"unit": "ns", "at_least": 1.31e6}, "bound", "≥ 1.31 ms"),
        ({"unit": "ns", "at_least": "inf"}, "never", "never arrived"),
        ({"unit": "ns", "value": 60e6, "low": 10e6, "high": "inf"}, "measured", "60.0 ms"),
    ],
)
def test_what_is_not_a_number_says_so(entry, state, text):
    shown = fmt.metric(None if entry is None else Estimate.of(entry))
    assert (shown.state, shown.text) == (state, text)


def test_the_reason_of_missing_data_is_kept():
    assert fmt.metric(Estimate.of({"unit": "ns", "no_data": "n is 31"})).basis == "n is 31"
    assert fmt.ratio(Ratio(no_data="this is the floor")).basis == "this is the floor"
    assert fmt.ratio(None).state == "absent"


def test_an_open_interval_reaches_infinity():
    assert (
        fmt.metric(Estimate.of({"unit": "ns", "value": 60e6, "low": 10e6, "high": "inf"})).interval
        == "[10.0–∞]"
    )


def test_ratio():
    assert fmt.ratio(Ratio(4.1, 3.2, 5.3, 6)).full == "4.10× [3.20–5.30]"
    nothing_known = Ratio(7.63, 5e-8, 1.15e9, 5)
    assert fmt.ratio(nothing_known).full == "7.63× [<0.001–>1\N{NARROW NO-BREAK SPACE}000]"
    assert fmt.ratio(Ratio(math.inf, math.inf, math.inf, 6)).state == "never"


def test_a_command_stands_as_one_types_it_and_other_marks_stay():
    text = "run `rmwbench calibrate --quick` again; `zenoh` and `rmwbench <x>` are none"
    assert (
        fmt.without_marks(text)
        == "run rmwbench calibrate --quick again; `zenoh` and `rmwbench <x>` are none"
    )
    assert fmt.commands(text)[:2] == [("run ", False), ("rmwbench calibrate --quick", True)]
    assert "".join(part for part, _ in fmt.commands(text)) == fmt.without_marks(text)
    escaped = markdown.escape(text)
    assert "`rmwbench calibrate --quick`" in escaped and r"\`zenoh\`" in escaped
    assert "&lt;x&gt;" in escaped
    assert str(html._commands("a <b> `rmwbench x`")) == "a &lt;b&gt; <code>rmwbench x</code>"


def test_a_difference_of_fractions_is_in_percentage_points():
    assert fmt.points(-0.05) == "5 percentage points" and fmt.points(0.01) == "1 percentage point"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.2, "1 min"),
        (12.4, "12 min"),
        (300, "5 h"),
        (5000, "3 days"),
        (math.inf, "no realistic time"),
    ],
)
def test_minutes(value, text):
    assert fmt.minutes(value) == text


def test_what_did_not_happen_is_not_explained_by_lost_messages():
    """Nobody recovered: `time to recover` read `lost messages reach this quantile`."""
    never = fmt.metric(Estimate(unit="ns", value=math.inf, count=3, trials=3))
    assert never.basis.startswith("in half of the trials or more it did not happen")


def test_a_level_is_set_and_has_all_its_digits():
    sizes = [level_name("message", f"Bytes({size})") for size in (1472, 1473, 1000, 65507)]
    assert sizes == ["1.472 kB", "1.473 kB", "1 kB", "65.507 kB"]
    assert level_name("rate_hz", 1004) == "1.004 kHz" and level_name("rate_hz", 10) == "10 Hz"
    assert level_name("modes.shm_pool_bytes", 268435456) == "shm_pool_bytes 268435456"
    assert level_name("network.loss", 0.1) == "10 % loss"
    assert level_name("network.loss", 0.0) == "0 % loss"
