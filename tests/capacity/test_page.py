"""The capacity page in a real browser: quiet, offline, every chart drawn, inside a phone's width,
in the dark."""

import pytest

from rmwbench.bundle import Bundle
from rmwbench.report.capacity.capacity_view import view
from rmwbench.report.render.html import write_html
from rmwbench.results.capacity.capacity_document import summarise
from tests.capacity.simulated import QUIET, Law, campaign
from tests.report.test_browser import Visit
from tests.report.test_browser import browser as browser
from tests.report.test_browser import pytestmark as pytestmark

LAWS = {
    "serves 1 kHz": Law(service_s=0.001, noise=0.05),
    "calls 400 Hz": Law(call_s=0.0025),
    "loses": Law(loss=0.05),
    "fast <script>alert(1)</script>": Law(),
}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    directory = tmp_path_factory.mktemp("page") / "one"
    made, _ = campaign(directory, LAWS, most=4_000.0, resolution=0.1)
    with made.writer:
        made.run(QUIET)
    write_html(view(summarise(Bundle(directory)), draw=True), directory / "report.html")
    return (directory / "report.html").as_uri()


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (1280, "dark"), (360, "light")])
def test_it_draws_everything_and_stays_quiet_and_inside(browser, url, width, scheme):
    visit = Visit(browser, url, width, scheme)
    assert visit.said == [] and visit.asked == [url]
    assert visit.page.locator(".chart svg").count() == visit.page.locator(".chart").count() == 3
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.context.close()


def test_the_answers_are_text_and_the_levels_open(browser, url):
    visit = Visit(browser, url)
    row = visit.page.locator(".capacities tbody tr", has_text="serves 1 kHz")
    assert "Hz" in row.locator(".capacity").inner_text() and "queue grew" in row.inner_text()
    table = visit.page.locator("#levels table.plain").first
    assert table.is_visible() and "unstable" in table.inner_text()
    visit.page.locator("#levels details summary").first.click()
    assert visit.page.locator("#levels details table").first.is_visible()
    assert "<script>" in visit.page.locator("tbody").first.inner_text()  # a name is text
    visit.context.close()
