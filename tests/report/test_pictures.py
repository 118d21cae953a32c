"""Charts as specifications: labels that do not collide, lost messages that stay, nothing drawn from
nothing."""

import json
import math
from dataclasses import replace
from itertools import pairwise

import pytest

from rmwbench.report.chart import charts, style
from rmwbench.report.chart.workload import card, figures
from rmwbench.results.shown import Arm, Charts
from tests.report.example_document import example
from tests.support.typed import typed


@pytest.fixture(scope="module")
def shown():
    return example()


def test_every_workload_has_its_figures(shown):
    for workload in shown.workloads:
        drawn = {figure.key: figure.spec for figure in figures(workload)}
        assert list(drawn) == ["comparison", "spectrum", "ecdf", "series", "loss", "cpu", "memory"]
        for key, spec in drawn.items():
            assert spec is not None or key == "loss"


def test_every_specification_is_plain_json(shown):
    for workload in shown.workloads:
        for figure in figures(workload, phone=True):
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


def test_no_loss_is_a_sentence_and_loss_is_a_chart(shown):
    assert charts.loss(shown.workloads[0], "undelivered") is None
    rows = charts.loss(shown.workloads[1], "undelivered")["datasets"]["rows"]
    assert {row["arm"]: row["value"] for row in rows}["cyclonedds tuned"] == 0.122


def test_what_is_absent_is_not_drawn_at_zero(shown):
    rows = {row["arm"]: row for row in charts.comparison(shown.workloads[1])["datasets"]["rows"]}
    assert rows["cyclonedds untouched"]["value"] is None
    assert rows["cyclonedds untouched"]["label"] == "no data"


def test_nothing_at_all_draws_nothing(shown):
    workload = shown.workloads[0]
    arms = tuple(replace(arm, metrics={}) for arm in workload.arms)
    workload = replace(workload, charts=typed(Charts), arms=arms)
    for figure in figures(workload, phone=True):
        assert figure.spec is None


def test_lost_messages_are_in_the_series(shown):
    points = charts.series(shown.workloads[1])["datasets"]["points"]
    wanted = sum(series.latency_ns.count(None) for series in shown.workloads[1].charts.series)
    assert sum(point["y"] is None for point in points) == wanted > 0


def test_thinning_keeps_extremes_and_losses():
    points = [(k / 1000, None if k % 997 == 0 else 1000.0 + k % 13) for k in range(20_000)]
    points[7777] = (7.777, 5e6)
    thinned = charts._thinned(points)
    assert len(thinned) < len(points)
    assert (7.777, 5e6) in thinned
    assert sum(y is None for _, y in thinned) == sum(y is None for _, y in points)
    assert thinned == sorted(thinned, key=lambda p: p[0])


def test_labels_do_not_collide():
    domain, height = [1e3, 1e6], 300
    values = sorted([2e3, 2.01e3, 2.02e3, 5e4, 5.1e4, 9e5, 9.1e5, 9.2e5])
    scale = height / math.log(domain[1] / domain[0])
    places = [math.log(v / domain[0]) * scale for v in charts._spread(values, domain, height)]
    assert all(b - a >= charts._LABEL_GAP - 1e-6 for a, b in pairwise(places))


def test_a_lonely_label_stays_where_its_line_ends():
    assert charts._spread([2e3, 5e5], [1e3, 1e6], 300) == pytest.approx([2e3, 5e5])


@pytest.mark.parametrize("domain", [[9e3, 1.3e4], [5e3, 1.2e6], [10, 1e10]])
def test_ticks_are_few_and_inside(domain):
    ticks = charts._ticks(domain, 9, 0.0)
    assert 1 <= len(ticks) <= 9
    assert all(domain[0] <= tick <= domain[1] for tick in ticks)


def test_noise_is_not_drawn_as_a_mountain():
    low, high = charts._domain([100.0, 100.1])
    assert high / low >= 1.5
    assert charts._domain([None, 0.0]) is None


def test_an_exported_chart_carries_its_experiment(shown):
    workload = shown.workloads[0]
    spec = charts.with_card(charts.ecdf(workload), "title", card(shown, workload))
    told = " ".join(spec["title"]["subtitle"])
    for fact in ("suite quick", "6 blocks", "2026-11-21", "AMD EPYC"):
        assert fact in told


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


def test_untouched_is_dashed_and_hollow_and_profiles_of_one_middleware_differ(shown):
    looks = style.looks(shown.workloads[0].arms)
    assert looks["zenoh untouched"].hollow and looks["zenoh untouched"].dash
    assert not looks["zenoh tuned"].hollow and not looks["zenoh tuned"].dash
    assert looks["zenoh tuned"].colour == looks["zenoh untouched"].colour
    many = [
        typed(Arm, {"arm": f"m {p}", "middleware": "m", "profile": p})
        for p in ("a", "b", "untouched")
    ]
    assert len({(x.colour, x.dash, x.hollow) for x in style.looks(many).values()}) == 3
