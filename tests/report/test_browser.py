"""The page in a real browser: quiet, offline, inside a phone's width, readable in the dark, usable
by keyboard."""

from pathlib import Path

import pytest

from rmwbench.bundle import Bundle
from rmwbench.report.show.suite_view import write_html
from rmwbench.results.show_document import summarise
from tests.report.example_document import example
from tests.support import topics_bundle

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]
ARGUMENTS += ["--disable-sync", "--no-first-run"]
DRAWN = "document.documentElement.dataset.charts === 'drawn'"


def needs_browser(what: str) -> pytest.MarkDecorator:
    """The mark of a test that looks at a page: without a browser it is skipped, loudly."""
    missing = f"{CHROMIUM} is missing (apt install chromium)"
    return pytest.mark.skipif(
        not CHROMIUM.exists(), reason=f"{what} NOT LOOKED AT IN A BROWSER: {missing}"
    )


pytestmark = [pytest.mark.long, needs_browser("THE REPORT WAS")]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_html(example(), path)
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()


class Visit:
    """A loaded page with what it said and asked for."""

    def __init__(self, browser, url, width=1280, scheme="light"):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)
        self.page.wait_for_function(DRAWN, timeout=60_000)


@pytest.fixture(scope="module")
def look(browser, url):
    """Pages that tests only look at, opened once each; `visit` is for those that click."""
    opened = {}

    def at(width=1280, scheme="light"):
        if (width, scheme) not in opened:
            opened[width, scheme] = Visit(browser, url, width, scheme)
        return opened[width, scheme]

    yield at
    for visit in opened.values():
        visit.context.close()


@pytest.fixture
def visit(browser, url):
    opened = []

    def go(**settings):
        opened.append(Visit(browser, url, **settings))
        return opened[-1]

    yield go
    for visit in opened:
        visit.context.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_quiet_and_offline(look, url, width):
    seen = look(width=width)
    assert seen.said == []
    assert seen.asked == [url]
    assert seen.page.title() == "Three robot workloads, eight arms · rmwbench"


@pytest.mark.parametrize("width", [1280, 768, 390, 320])
def test_the_page_never_scrolls_sideways(look, width):
    page = look(width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    opened = page.evaluate("document.documentElement.scrollWidth")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = false)")
    assert opened <= width


@pytest.mark.parametrize("width", [1280, 390])
def test_every_chart_is_drawn_inside_its_box(look, width):
    page = look(width=width).page
    boxes = page.evaluate(
        """[...document.querySelectorAll('.chart')].map(box => {
             const svg = box.querySelector('svg'); const b = box.getBoundingClientRect();
             const texts = svg ? [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect()) : [];
             const out = t => t.width && (t.right > b.right + 1 || t.left < b.left - 1);
             return {drawn: !!svg, cut: texts.filter(out).length};
           })"""
    )
    # lost messages in two workloads, never sent ones in one of them
    assert len(boxes) == 3 * 6 + 3
    assert all(box["drawn"] for box in boxes)
    assert sum(box["cut"] for box in boxes) == 0


def test_a_number_opens_what_it_rests_on(visit):
    page = visit().page
    page.locator("#w-1 .results tbody tr").nth(4).locator("a.num").nth(2).click()
    dialog = page.locator("dialog#evidence")
    assert dialog.is_visible()
    text = dialog.inner_text()
    for part in (
        "cyclonedds tuned",
        "never arrived",
        "<CycloneDDS>",
        "</script> must stay text",
        "AMD EPYC",
        "cell = 12",
    ):
        assert part in text
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.locator("#w-0 .results tbody tr").nth(1).locator("td a.num").first.click()
    assert dialog.locator(".pertrial tbody tr").count() == 6
    page.mouse.click(5, 5)
    assert not dialog.is_visible()
    page.locator("#w-0 .results tbody td[data-label='× floor'] a.num").first.click()
    dialog.locator("a[href='#machine']").click()
    assert not dialog.is_visible()
    assert page.evaluate("document.querySelector(':target > h2').textContent") == "The machine"


def test_a_failed_trial_shows_its_log_as_text(visit):
    page = visit().page
    failure = page.locator("details.failure").first
    failure.locator("summary").click()
    assert "</script><script>document.title='owned'" in failure.locator("pre").inner_text()
    assert page.title() != "owned"
    assert page.locator("img").count() == 0


def test_a_term_explains_itself(visit):
    page = visit().page
    page.locator("#w-0 .results thead .term").first.click()
    assert page.locator("#g-response_latency_p50").is_visible()


CONTRAST = """() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return c.startsWith('color(srgb') ? m.map((v, i) => i < 3 ? v * 255 : v) : m; };
  const lum = c => { const l = c.slice(0, 3).map(v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
                     return .2126 * l[0] + .7152 * l[1] + .0722 * l[2]; };
  const back = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
                      if (c.length < 4 || c[3] > .99) return c; } return [255, 255, 255]; };
  const bad = [];
  const judge = (e, ink, at) => { const [a, b] = [lum(ink), lum(at)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05); if (ratio < 4.4) bad.push(`${ratio.toFixed(2)} ${e.tagName}.${e.className.baseVal ?? e.className}: ${e.textContent.slice(0, 30)}`); };
  for (const e of document.querySelectorAll('main *, .top *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length) continue;
    if (e.tagName === 'text') { if (getComputedStyle(e).stroke === 'none') judge(e, parse(getComputedStyle(e).fill), back(e.closest('.chart'))); }
    else if (!e.closest('svg')) judge(e, parse(getComputedStyle(e).color), back(e));
  }
  return bad; }"""  # noqa: E501


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(look, scheme):
    page = look(scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate(CONTRAST) == []


def test_the_theme_button_overrules_the_system_and_charts_follow(visit):
    page = visit(scheme="light").page
    surface = "getComputedStyle(document.querySelector('.answer')).backgroundColor"
    ink = "getComputedStyle(document.querySelector('.answer .chart svg text')).fill"
    light = page.evaluate(f"[{surface}, {ink}]")
    page.locator("#theme").click()
    dark = page.evaluate(f"[{surface}, {ink}]")
    assert light[0] != dark[0] and light[1] != dark[1]
    page.reload()
    page.wait_for_function(DRAWN)
    assert page.evaluate(surface) == dark[0]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_robots_topics_fit_and_their_charts_are_drawn(browser, tmp_path_factory, width):
    directory = tmp_path_factory.mktemp("robot")
    path = directory / "report.html"
    write_html(summarise(Bundle(topics_bundle.write(directory / "c"))), path)
    seen = Visit(browser, path.as_uri(), width)
    page = seen.page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.wait_for_function(
        "[...document.querySelectorAll('.chart')].every(box => box.querySelector('svg'))"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("table.topics tbody tr").count() == 3
    topics = page.locator("section[id^=t-] > h3")
    assert topics.all_inner_texts() == ["Topic imu", "Topic front", "Topic commands"]
    page.locator("table.topics thead a", has_text="front").evaluate("link => link.click()")
    assert page.evaluate("document.querySelector(':target > h3').textContent") == "Topic front"
    assert seen.said == []
    seen.context.close()
