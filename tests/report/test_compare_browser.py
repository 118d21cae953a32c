"""The comparison's page in a real browser: quiet, offline, without sideways scrolling, its marks
where they belong."""

import dataclasses

import pytest

from rmwbench.report.comparison_view import view
from rmwbench.report.render.html import write_html
from rmwbench.results.compare.compare_document import compare
from rmwbench.results.selection import select
from tests.report.test_browser import CHROMIUM, browser, pytestmark  # noqa: F401 (a fixture and a mark)
from tests.support import synthetic_bundle


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    place = tmp_path_factory.mktemp("compare-page")
    arms = synthetic_bundle.ARMS[:4]
    slow = tuple(
        dataclasses.replace(a, base_ns=3 * a.base_ns, bytes_per_ns=a.bytes_per_ns / 3)
        for a in arms[:1]
    )
    for name, found, seed in (("a", arms, 1), ("b", (*slow, *arms[1:3]), 2)):
        synthetic_bundle.write(
            place / name, arms=found, workloads=("pointcloud",), blocks=6, seed=seed
        )
    write_html(view(compare(select(f"{place}/a"), select(f"{place}/b"))), place / "page.html")
    return (place / "page.html").as_uri()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_and_asks_for_nothing(browser, url, width, scheme):  # noqa: F811
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(url)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == [] and asked == [url]
    rows = page.locator("td.forest")
    assert rows.count() == 3 * 4
    worse = page.locator("td.forest[data-tone=bad]").first
    point, band = worse.locator(".point").bounding_box(), worse.locator(".band").bounding_box()
    plot = worse.locator(".plot").bounding_box()
    assert band["x"] + band["width"] < point["x"] + point["width"] / 2 <= plot["x"] + plot["width"]
    text, surface = page.evaluate(
        "[document.querySelector('h1'), document.querySelector('.panel')]"
        ".map((e, n) => getComputedStyle(e)[n ? 'backgroundColor' : 'color'])"
    )
    assert text != surface
    assert "B has no arm zenoh tuned" in page.locator("#not-comparable").inner_text()
    context.close()
