"""Charts as specifications: labels that do not collide, lost messages that stay, nothing drawn from
nothing."""

import json
from dataclasses import replace

import pytest

from rmwbench.analysis.metrics.glossary import GLOSSARY, Use, names_for
from rmwbench.analysis.verdicts.verdict import Family
from rmwbench.report.chart import charts, frame, style
from rmwbench.report.chart.workload_charts import figures
from rmwbench.report.show import evidence_view, level_view
from rmwbench.results.model import Estimate, NoData
from rmwbench.results.show_model import Ecdf, Levels, Series, Spectrum, TrialValue, WorkloadArm
from tests.report.example_document import example
from tests.support.typed import typed


@pytest.fixture(scope="module")
def shown():
    return example()


def test_every_specification_is_plain_json(shown):
    for workload in shown.workloads:
        for figure in figures(workload):
            for spec in (figure.spec, figure.narrow):
                if spec:
                    assert "NaN" not in json.dumps(spec, allow_nan=False)


def test_a_colour_of_a_chart_has_a_dark_counterpart(shown):
    import re

    known = {colour.lower() for colour in style.to_dark()}
    for workload in shown.workloads:
        for figure in figures(workload):
            used = set(re.findall(r'"(#[0-9a-fA-F]{6})"', json.dumps(figure.spec)))
            assert used <= known, figure.key


def test_what_is_absent_is_not_drawn_at_zero(shown):
    rows = {row["arm"]: row for row in charts.comparison(shown.workloads[1])["datasets"]["rows"]}
    assert rows["cyclonedds untouched"]["value"] is None
    assert rows["cyclonedds untouched"]["label"] == "no data"


def test_multiples_of_the_floor_are_those_of_its_family(shown):
    """Arms by copy stood at multiples of the floor by loan."""
    workload = shown.workloads[0]
    assert "multiples of the floor" in json.dumps(charts.comparison(workload))
    assert "dotted line is the floor, what" in caption(workload, "comparison")
    first, *others = workload.arms
    second = replace(first, arm="floor loan", family=Family.LOAN)
    both = replace(workload, arms=(first, *others, second))
    assert "multiples of the floor" not in json.dumps(charts.comparison(both))
    assert "floors by copy and by loan, what" in caption(both, "comparison")


def of_values(shown, *values):
    """A workload of as many arms, with these times to match."""
    arms = tuple(
        replace(arm, metrics={} if value is None else {"match_time": made(value)})
        for arm, value in zip(shown.workloads[0].arms, values, strict=False)
    )
    return replace(shown.workloads[0], arms=arms, primary_metric="match_time")


def made(value, low=0.0):
    return Estimate(unit="ns", value=value, low=low, high=1.2 * value, count=5, trials=5)


def axes_of(spec):
    """The scales and the axes in a specification."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key in ("scale", "axis") and value:
                yield value
            yield from axes_of(value)
    elif isinstance(spec, list):
        for one in spec:
            yield from axes_of(one)


def edge_of(spec):
    """Where 0 stands on a logarithmic axis of the picture."""
    (edge,) = {
        axis["values"][0]
        for axis in axes_of(spec)
        if str(axis.get("labelExpr")).startswith(f"datum.value <= {axis.get('values', [0])[0]!r} ?")
    }
    assert {one["domain"][0] for one in axes_of(spec) if one.get("type") == "log"} >= {edge}
    return edge


def test_zero_stands_at_the_edge_of_a_logarithmic_axis_with_a_mark_of_its_own(shown):
    workload = of_values(shown, 0.0, 2e3, None, 4e3)
    spec = charts.comparison(workload)
    zero, absent, *others = sorted(
        spec["datasets"]["rows"], key=lambda row: (row["label"] != "0 ns", row["value"] or 0)
    )
    edge = edge_of(spec)
    assert (zero["value"], zero["shape"], zero["label"]) == (edge, "square", "0 ns")
    assert (absent["value"], absent["label"]) == (None, "no data")
    assert [(row["value"], row["shape"]) for row in others] == [(2e3, "circle"), (4e3, "circle")]
    assert 0 < edge < 2e3 and "Square" in caption(workload, "comparison")
    positive = of_values(shown, 1e3, 2e3)
    assert not [row for row in charts.comparison(positive)["datasets"]["rows"] if not row["low"]]
    assert "Square" not in caption(positive, "comparison")


def test_zero_everywhere_is_a_picture_and_no_value_is_none(shown):
    rows = charts.comparison(of_values(shown, 0.0, 0.0))["datasets"]["rows"]
    assert {row["shape"] for row in rows} == {"square"}
    assert charts.comparison(of_values(shown, None, None)) is None


def test_a_trial_below_zero_has_a_bar_without_a_length():
    """Between the clocks of two hosts a latency may be below 0; its bar filled the whole line."""
    entry = Estimate(unit="ns", value=1e3)
    values = [TrialValue(trial=n, block=n, value=ns) for n, ns in enumerate((-5e3, 1e4, 5e3))]
    assert [bar.percent for bar in evidence_view._bars(entry, tuple(values))] == [0, 100, 50]
    below = evidence_view._bars(entry, (TrialValue(trial=0, block=0, value=-5e3),))
    assert [(bar.percent, bar.text) for bar in below] == [(0, "−5.00 µs")]


@pytest.mark.parametrize("least", [0.0, -5e3])
def test_no_curve_leaves_out_a_latency_of_zero(shown, least):
    """As a clock of milliseconds makes them; between two clocks one may be below."""
    workload = shown.workloads[0]
    here = workload.charts.ecdf[0].arm
    drawn = replace(
        workload.charts,
        ecdf=(Ecdf(arm=here, latency_ns=(least, 1e6, 2e6), fraction=(0.5, 0.7, 1.0)),),
        spectrum=(Spectrum(arm=here, latency_ns=(least, 1e6, 2e6), quantile=(0.5, 0.7, 0.9)),),
        series=(Series(arm=here, trial=1, time_s=(0.0, 1.0), latency_ns=(least, 1e6)),),
    )
    for draw, key in ((charts.ecdf, "latency"), (charts.spectrum, "latency"), (charts.series, "y")):
        spec = draw(replace(workload, charts=drawn))
        points = spec["datasets"]["points"]
        assert min(row[key] for row in points) == edge_of(spec), draw
        assert f"'{'0' if least == 0 else '≤ 0'}'" in json.dumps(spec, ensure_ascii=False)


def test_along_a_factor_zero_never_and_no_data_are_three_things():
    """The line ends where a level has no value."""
    one = typed(
        Levels,
        {
            "arm": "a",
            "factor": "rate_hz",
            "levels": [1, 2, 3, 4, 5],
            "primary_metric": "match_time",
            "values": {
                "match_time": [
                    {"unit": "ns", "value": 0.0},
                    {"unit": "ns", "value": 2e6},
                    {"unit": "ns", "value": float("inf")},
                    {"unit": "ns", "no_data": "nobody looked"},
                    {"unit": "ns", "at_least": 3e6},
                ]
            },
        },
    )
    spec = charts.along([one], {}, "time to match")
    rows = spec["datasets"]["rows"]
    assert [row["state"] for row in rows] == ["measured", "measured", "never", "absent", "bound"]
    assert [row["value"] for row in rows] == [edge_of(spec), 2e6, None, None, 3e6]
    assert [row["shape"] for row in rows if row["value"]] == ["square", "circle", "triangle-up"]
    own = [
        layer["data"]["values"][0]["shown"] for layer in spec["layer"] if "values" in layer["data"]
    ]
    assert own == ["never arrived", "no data"]


def test_the_title_of_a_picture_along_a_factor_keeps_its_capitals(shown):
    """`Cpu per message`."""
    costs = [{"unit": "ns", "value": value} for value in (1e3, 2e3)]
    one = typed(
        Levels,
        {
            "arm": "zenoh tuned",
            "factor": "rate_hz",
            "workload": "imu",
            "levels": [1, 2],
            "comparisons": ["imu", "camera"],
            "primary_metric": "cpu_per_message",
            "values": {"cpu_per_message": costs},
        },
    )
    picture = level_view._picture(shown, [one])
    assert picture.title == "CPU per message: imu along rate_hz"


@pytest.mark.parametrize(
    "domain", [[9e3, 1.35e4], [3.06e3, 4.59e3], [2.01, 3.02], [5e3, 1.2e6], [10, 1e10]]
)
def test_ticks_are_few_and_inside(domain):
    """Two arms of 3.6 and 3.9 µs had an axis without any number."""
    ticks = frame.ticks_of(*domain, 9, 0.0)
    assert 2 <= len(ticks) <= 9
    assert all(domain[0] <= tick <= domain[1] for tick in ticks)


def test_the_axis_of_every_primary_metric_has_its_unit():
    """The axis of a throughput read `1.2e+8`."""
    assert {GLOSSARY[name].unit for name in names_for(Use.PRIMARY)} <= set(frame.LABELS)


def _contrast(one: str, other: str) -> float:
    """Contrast ratio of two `#rrggbb` colours (WCAG 2.2, relative luminance)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_arm_colour_can_be_read_on_both_pages():
    surfaces = style.NEUTRAL["surface"]
    for light, dark in style.to_dark().items():
        if light in (style.NEUTRAL["grid"][0], surfaces[0]):
            continue
        assert _contrast(light, surfaces[0]) >= 4.4, light
        assert _contrast(dark, surfaces[1]) >= 4.5, dark


def test_no_two_colours_of_the_light_page_are_one():
    """The dark page is made from them, so that one would lose its counterpart."""
    pairs = [*style._KNOWN.values(), *style._OTHERS, *style.NEUTRAL.values(), *style.PARTS.values()]
    assert len(style.to_dark()) == len(pairs)


def test_untouched_is_dashed_and_hollow_and_profiles_of_one_middleware_differ(shown):
    looks = style.looks(shown.workloads[0].arms)
    assert looks["zenoh untouched"].hollow and looks["zenoh untouched"].dash
    assert not looks["zenoh tuned"].hollow and not looks["zenoh tuned"].dash
    assert looks["zenoh tuned"].colour == looks["zenoh untouched"].colour
    many = [
        typed(WorkloadArm, {"arm": f"m {p}", "middleware": "m", "profile": p})
        for p in ("a", "b", "untouched")
    ]
    assert len({(x.colour, x.dash, x.hollow) for x in style.looks(many).values()}) == 3


def test_what_is_counted_per_second_has_no_axis_of_time(shown):
    idle = {"wake_ups": Estimate(unit="hz", value=250.0, low=200.0, high=300.0)}
    arms = tuple(replace(arm, metrics=idle) for arm in shown.workloads[0].arms)
    workload = replace(shown.workloads[0], arms=arms)
    text = json.dumps(charts.comparison(workload, "per second", metric="wake_ups"))
    assert "' Hz'" in text and "' ns'" not in text
    odd = {"wake_ups": replace(idle["wake_ups"], unit="J")}
    workload = replace(workload, arms=tuple(replace(arm, metrics=odd) for arm in arms))
    assert "' ns'" not in json.dumps(charts.comparison(workload, "x", metric="wake_ups"))


def parts(workload, key):
    """Arm → the parts of its bar, and what is printed beside it."""
    (spec,) = [figure.spec for figure in figures(workload) if figure.key == key]
    bars = {row["arm"]: ({}, row["value"]) for row in spec["datasets"]["rows"]}
    for part in spec["datasets"]["parts"]:
        bars[part["arm"]][0][part["part"]] = part["value"]
    return bars


def costing(shown, **metrics):
    """A workload of which every arm costs that."""
    units = {"pss": "bytes", "cpu_per": "ns", "cpu_cores": "cores"}
    made = {
        name: Estimate(unit=next(units[u] for u in units if name.startswith(u)), value=value)
        for name, value in metrics.items()
    }
    arms = tuple(replace(arm, metrics=made) for arm in shown.workloads[0].arms)
    return replace(shown.workloads[0], arms=arms)


def test_the_parts_of_a_bar_add_up_to_the_number_beside_it_daemons_among_them(shown):
    cost = {"pss": 140e6, "pss_publisher": 22e6, "pss_subscription": 18e6, "pss_daemon": 100e6}
    # a publisher with ten readers: its own metric is of each message published
    cost |= {"cpu_per_message": 20e3, "cpu_per_message_publisher": 50e3}
    cost |= {"cpu_per_message_subscription": 10e3, "cpu_cores": 2.0, "cpu_cores_daemon": 0.5}
    workload = costing(shown, **cost)
    for key, apart in (
        ("memory", {"publisher": 22e6, "subscription": 18e6, "daemons and helpers": 100e6}),
        ("cpu", {"publisher": 5e3, "subscription": 10e3, "daemons and helpers": 5e3}),
    ):
        for drawn, whole in parts(workload, key).values():
            assert drawn == apart and sum(drawn.values()) == pytest.approx(whole)


def caption(workload, key):
    (reading,) = [figure.reading for figure in figures(workload) if figure.key == key]
    return reading


def test_a_series_says_where_not_every_message_is_drawn(shown):
    workload = shown.workloads[0]
    assert "slowest" not in caption(workload, "series")
    few = workload.charts.series[0]
    thinned = replace(few, time_s=tuple(range(2000)), latency_ns=(1e4,) * 2000)
    drawn = replace(workload.charts, series=(thinned, *workload.charts.series[1:]))
    assert "100 slowest" in caption(replace(workload, charts=drawn), "series")


def test_a_curve_from_which_messages_never_arrive_goes_up_and_one_with_few_messages_ends(shown):
    workload = shown.workloads[0]
    assert "never" not in charts.spectrum(workload)["datasets"]
    lossy, *others = workload.charts.spectrum
    lossy = replace(
        lossy,
        quantile=(*lossy.quantile[:6], 0.95, 0.99),
        latency_ns=(*lossy.latency_ns[:6],) + (None,) * 2,
    )
    workload = replace(workload, charts=replace(workload.charts, spectrum=(lossy, *others)))
    for narrow in (False, True):
        (mark,) = charts.spectrum(workload, narrow=narrow)["datasets"]["never"]
        assert mark["arm"] == lossy.arm and mark["shown"] == "never arrived from 95 % on"
        assert mark["rarity"] == pytest.approx(20) and mark["latency"] == lossy.latency_ns[5]


def test_what_was_under_way_is_not_said_to_have_arrived(shown):
    workload = shown.workloads[0]
    assert "arrived." in caption(workload, "loss")
    late = Estimate(unit="fraction", value=0.05, low=0.02, high=0.1, count=600, trials=6)
    first, *others = workload.arms
    slow = replace(first, metrics={**first.metrics, "late_share": late})
    workload = replace(workload, arms=(slow, *others))
    assert "every one" not in caption(workload, "loss")
    assert [f.key for f in figures(workload) if f.spec and f.key in ("loss", "late")] == ["late"]


def test_what_a_phone_has_is_a_specification_too(shown):
    """A page and Markdown read it: what is none would end the report."""
    none = {
        name: NoData("ns", no_data="none")
        for name in ("response_latency_p50", "undelivered", "cpu_per_message")
    }
    arms = tuple(replace(arm, metrics=arm.metrics | none) for arm in shown.workloads[0].arms)
    drawn = [*figures(replace(shown.workloads[0], arms=arms, primary_metric="pss"))]
    assert any(one.narrow for one in drawn)
    assert all(one.narrow is None or "datasets" in one.narrow for one in drawn)
