"""Claims in the report of a campaign, on the ledger's page, and in the short forms; and their
pictures."""

import math
import re
from dataclasses import replace

import pytest

from rmwbench.published.campaign import of_shown
from rmwbench.published.campaign_section import evaluated
from rmwbench.published.claims.claim_items import WIDTH, item, of_campaign, picture
from rmwbench.published.claims.claims_file import ClaimTest
from rmwbench.published.claims.claims_ledger import document, ledger
from rmwbench.published.claims.judging.campaign_answers import CellAnswer
from rmwbench.published.claims.summary import shipped_of
from rmwbench.results.model import Estimate
from rmwbench.results.show_model import TrialValue
from tests.published.claims.asking import html as ledger_page
from tests.published.claims.shipped import FILES
from tests.published.claims.test_predicates import arm, campaign, claims_with, renamed
from tests.report.example_document import example
from tests.report.test_browser import ARGUMENTS, CHROMIUM, needs_browser
from tests.support.views import page as page_of

SUITE, METRIC = "rclcpp-intraprocess-2019", "service_latency_p50"
ARMS = ("rclcpp unique", "rclcpp inter as of 2019 unique")


def side(arm, name, scale):
    """Return the arm as one of the claim's two sides, so many times as slow."""
    values = [scale * (20_000 + 100 * n) for n in range(6)]
    metric = Estimate(
        unit="ns",
        value=values[2],
        low=values[0],
        high=values[5],
        count=600,
        trials=6,
        interval="95 % t interval",
    )
    trials = tuple(TrialValue(trial=n + 1, block=n, value=v) for n, v in enumerate(values))
    return replace(
        arm,
        arm=name,
        layer="rclcpp",
        factors={},
        not_supported=None,
        metrics={**arm.metrics, METRIC: metric},
        per_trial={**arm.per_trial, METRIC: trials},
    )


@pytest.fixture(scope="module")
def shown():
    """Return the example's first workload as if it were that of an evaluation: two arms, of which
    one is a thousand times as fast."""
    whole = example()
    workload = whole.workloads[0]
    arms = [arm for arm in workload.arms if arm.role != "floor"][:2]
    charts = replace(
        workload.charts,
        **{kind: () for kind in ("ecdf", "spectrum", "series", "delivered", "up")},
    )
    two = tuple(side(*one) for one in zip(arms, ARMS, (1.0, 1000.0), strict=True))
    return replace(
        whole,
        campaign=replace(whole.campaign, suite=SUITE),
        workloads=(
            replace(workload, workload="one", name="one", levels={}, arms=two, charts=charts),
        ),
        conclusions=tuple(replace(one, workload=None) for one in whole.conclusions),
    )


def test_a_campaign_that_no_claim_is_about_has_no_such_section():
    other = example()
    assert of_campaign(of_shown(other)) == []
    beside = evaluated(other)
    assert 'id="claims"' not in page_of(other, beside)
    assert beside.lines == [] and beside.table == []


def test_the_section_has_the_three_verdicts_and_one_click_to_the_evidence(shown):
    page = page_of(shown, evaluated(shown))
    section = page[page.index('<section id="claims">') : page.index('id="machine"')]
    assert 'id="c-pa-one-lat-unique"' in section and "as published" in section
    assert "as corrected" in section
    links = set(re.findall(r'<a class="num" href="#([^"]+)"', section))
    assert links >= {f"m-0-0-{METRIC}", f"m-0-1-{METRIC}"}
    assert all(f'id="{link}"' in page for link in links), "every link has its evidence"
    assert re.search(r'<nav.*<a href="#claims">', page)


def test_a_band_is_shaded_around_equality():
    asked = {"relation": "within", "right": "b", "factor": 1.25, "times": 1.0, "level": None}
    test = ClaimTest.model_construct(**asked, metric="undelivered")
    cell = CellAnswer("w", "holds", "a", "b", value=1.0, low=0.9, high=1.1)
    drawn = picture(test, [cell])
    (low, width), ((left, _), (right, _)) = drawn["shade"], drawn["bars"]
    assert low == pytest.approx(left) and low + width == pytest.approx(right)
    assert left < WIDTH / 2 < right


@pytest.mark.long
@needs_browser("CLAIMS WERE")
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser_claims_are_filtered_and_trials_of_what_ships_are_one_click_away(
    width, tmp_path
):
    from playwright.sync_api import sync_playwright

    name = "fastdds-2021"
    made = ledger([FILES[name]], shipped=shipped_of([FILES[name]]))
    judged = next(claim for claim in made.sources[0].claims if claim.state == "holds")
    path = tmp_path / "claims.html"
    path.write_text(ledger_page(made))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": width, "height": 900})
        said = []
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        page.select_option(".filter select[name=state]", "holds")
        seen = page.locator("article.claim:visible")
        assert seen.count() == made.summary.states["holds"]
        assert {one.get_attribute("data-state") for one in seen.all()} == {"holds"}
        assert (
            page.locator(".filter output").inner_text()
            == f"{seen.count()} of {made.summary.claims}"
        )
        page.locator(f"#c-{judged.claim.id} .trials > summary").first.click()
        evidence = page.locator("#evidence-body")
        text = evidence.inner_text()
        today = judged.measured[0]
        assert today.machine in text and today.date in text and judged.claim.says in text
        blocks = {block for cell in today.cells for block, _ in cell.left_trials}
        cells = [cell for cell in today.cells if cell.left_trials]
        assert evidence.locator("tbody tr").count() >= len(blocks)
        assert evidence.locator("table").count() == len(cells)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        page.keyboard.press("Escape")
        # A heading of which nothing is shown shows everything again.
        hidden = page.locator("section[id^=h-][hidden]").first.get_attribute("id")
        page.locator(f"#headings a[href='#{hidden}']").click()
        page.wait_for_function(
            "() => document.querySelector('.filter output').textContent.startsWith('all')"
        )
        assert page.locator(f"#{hidden}").is_visible() and said == []
        browser.close()


@pytest.mark.parametrize(
    ("test", "metric_text", "heads", "row"),
    [
        ({}, "service latency, median", ["rclcpp/a", "rclcpp/b"], ["10 ns", "10 ns"]),
        (
            {"base_at": {"n": 1}},
            "service latency, median ÷ its own [n=1]",
            ["rclcpp/a", "rclcpp/b"],
            ["10.0×", "10.0×"],
        ),
        (
            {"times_metric": "rss"},
            "service latency, median × memory (RSS)",
            ["rclcpp/a", "rclcpp/b"],
            ["100", "100"],
        ),
        (
            {"right_metric": "rss"},
            "service latency, median and memory (RSS)",
            ["rclcpp/a: service latency, median", "rclcpp/b: memory (RSS)"],
            ["10 ns", "10 B"],
        ),
    ],
)
def test_values_of_trials_have_the_unit_of_what_the_test_makes_of_them(
    test, metric_text, heads, row
):
    grown = [
        (
            f"w [n={n}]",
            *(
                renamed(arm(f"rclcpp/{name}", [float(n)] * 6, factors={"n": n}), METRIC, "rss")
                for name in "ab"
            ),
        )
        for n in (1, 10)
    ]
    claims = claims_with(right="b", metric=METRIC, at={"n": 10}, **test)
    made = ledger([claims], [campaign(*grown)]).sources[0]
    (trials,) = item(made, made.claims[0], lambda *where: None)["measured"][0]["trials"]
    assert (trials["metric"], trials["heads"]) == (metric_text, heads)
    assert trials["rows"][0] == (1, row)


def test_the_evidence_of_a_side_is_its_own_metric():
    both = renamed(arm("rclcpp/a", [10.0] * 6), METRIC, "rss")
    claims = claims_with(right="a", metric=METRIC, right_metric="rss")
    made = ledger([claims], [campaign(("w", both))]).sources[0]
    links = []
    item(made, made.claims[0], lambda *where: links.append(where))
    assert [metric for *_, metric in links] == [METRIC, "rss"]


def test_the_bar_of_a_ratio_of_products_is_a_ratio():
    test = claims_with(right="b", times_metric="rss", factor=2.0).items[0].test
    cell = CellAnswer("w", "holds", "a", "b", value=1.0, low=0.9, high=1.1)
    assert [text for _, text in picture(test, [cell])["bars"]] == ["2×"]


def test_an_interval_without_ends_is_infinite_to_both_sides_in_the_document():
    claims = claims_with(level=12.0)
    made = document(ledger([claims], [campaign(("w", arm("rclcpp/a", [10.0])))]))
    (cell,) = made["sources"][0]["claims"][0]["today"][0]["cells"]
    assert (cell["low"], cell["high"]) == ("-inf", "inf")


@pytest.mark.parametrize(
    ("test", "ends", "open_to"),
    [
        ({"right": "b", "by": "exponent"}, (-math.inf, -1.0, -0.5), (True, False)),
        ({"right": "b", "by": "exponent"}, (-math.inf, math.inf, math.inf), (True, True)),
        ({}, (-math.inf, 2.0, math.inf), (True, True)),  # one block has no interval
    ],
)
def test_what_is_below_0_or_infinite_stands_on_its_side_of_0(test, ends, open_to):
    test = ClaimTest.model_construct(metric="m", relation="less", level=0.0, **test)
    low, value, high = ends
    drawn = picture(test, [CellAnswer("w", "holds", "a", "b", value=value, low=low, high=high)])
    ((zero, _),), (row,) = drawn["bars"], drawn["rows"]
    assert row["low"] <= row["value"] <= row["high"] and (row["high"] < zero) == (high < 0)
    assert (row["open_left"], row["open_right"]) == open_to
