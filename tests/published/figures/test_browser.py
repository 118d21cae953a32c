"""The page of redrawn figures in a real browser: quiet, offline, inside a phone's width, with every
kind of chart."""

from pathlib import Path

import pytest

from rmwbench.published.figures import versions
from rmwbench.published.figures.figures_file import load, published_file
from rmwbench.published.figures.figures_view import view
from rmwbench.published.figures.measured_points import shipped_summaries
from rmwbench.published.figures.points import read
from rmwbench.report.render.html import write_html
from tests.report.test_browser import ARGUMENTS, CHROMIUM, Visit, needs_browser

SHOWN = (
    "1.2.1",
    "1.2.3",
    "BuildFarmPlots.11",
    "2.2 (54",
    "B resources (54 Mb/s, Array1k)",
    "3.3 (Cyclone DDS, 80",
    "4.2",
)

pytestmark = [pytest.mark.long, needs_browser("THE FIGURES WERE")]


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    sources = [
        (load("galactic-2020"), read(published_file("galactic-2020")), "shipped"),
        (load("pipeline-2021"), {}, "nothing"),
    ]
    doc = versions.document(sources, shipped_summaries())
    source = doc["sources"][0]
    source["figures"] = [f for f in source["figures"] if f["id"].startswith(SHOWN)]
    assert {p["chart"] for f in source["figures"] for p in f["parts"]} == {
        "lines",
        "steps",
        "bars",
        "stacked",
        "heat",
    }
    path = tmp_path_factory.mktemp("figures") / "page.html"
    write_html(view(doc, draw=True), path)
    return path


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_is_quiet_offline_and_fits(browser, page, width, scheme):
    visit = Visit(browser, page.as_uri(), width=width, scheme=scheme)
    try:
        assert visit.said == []
        assert [url for url in visit.asked if not url.startswith(("file:", "data:", "blob:"))] == []
        sizes = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert sizes[0] <= sizes[1]
        shown = visit.page.evaluate(
            "[...document.querySelectorAll('.chart svg')].map(s => s.textContent).join(' ')"
        )
        assert "measured on " in shown, "what is shipped has a panel"
        assert (
            visit.page.locator(".redrawn", has_text="Figure 4").locator(".chart svg").count() == 1
        )
        charts = visit.page.evaluate(
            "[...document.querySelectorAll('.chart')].map(c => [c.querySelectorAll('svg "
            "path').length, c.querySelector('svg') ? "
            "c.querySelector('svg').getBoundingClientRect().width : 0, c.clientWidth])"
        )
        assert len(charts) >= 12
        for marks, drawn, room in charts:
            assert marks > 5, "a chart without marks"
            assert 0.6 * room <= drawn <= room + 1, (
                "a chart that does not use its box, or leaves it"
            )
    finally:
        visit.context.close()
