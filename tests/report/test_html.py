"""The page as a file: self-contained, small enough, closed against texts that try to be markup."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html import unescape

import pytest

from rmwbench.report.render.html import vega
from rmwbench.report.show.suite_view import write_html
from rmwbench.results.show_model import SuiteAnswer
from tests.report.example_document import HOSTILE, example, example_document
from tests.support.typed import typed
from tests.support.views import page as page_of


@pytest.fixture(scope="module")
def page():
    return page_of(example())


def _scripts(page: str) -> list[str]:
    return re.findall(r"<script>(.*?)</script>", page, re.S)


def test_same_document_same_page(page):
    assert page_of(example()) == page


def test_nothing_is_loaded_from_elsewhere(page):
    outside = page
    for script in _scripts(page):
        outside = outside.replace(script, "")
    outside = re.sub(r'<script type="application/json".*?</script>', "", outside, flags=re.S)
    assert not re.search(r"<(?:link|img|iframe|object|embed|audio|video|source|base)\b", outside)
    assert not re.search(r"url\(|@import", outside)
    assert not re.search(r'\b(?:src|href)="(?!#)', outside)


def test_the_policy_allows_the_two_scripts_and_no_request(page):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1].replace(
        "&#39;", "'"
    )
    assert "default-src 'none'" in policy and "connect-src" not in policy
    hashes = re.findall(r"'sha256-([^']+)'", policy)
    made = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in _scripts(page)
    ]
    assert hashes == made and len(made) == 2
    assert "script-src" in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_hostile_text_is_escaped(page):
    assert HOSTILE not in page
    assert "&lt;/script&gt;&lt;script&gt;document.title" in page
    assert page.count("<script") == page.count("</script>") == 4


def test_a_hostile_name_does_not_end_the_data():
    document = example_document()
    document["workloads"][0]["arms"][1]["arm"] = "</script><script>alert(1)</script>\u2028'\"&"
    for chart in document["workloads"][0]["charts"].values():
        for item in chart:
            if item["arm"] == "iceoryx2 event":
                item["arm"] = document["workloads"][0]["arms"][1]["arm"]
    page = page_of(typed(SuiteAnswer, document))
    assert page.count("<script") == page.count("</script>") == 4
    data = re.search(r'<script type="application/json" id="specs">(.*?)</script>', page, re.S)[1]
    assert document["workloads"][0]["arms"][1]["arm"] in json.dumps(
        json.loads(data), ensure_ascii=False
    ).replace('\\"', '"')


def test_every_number_of_the_tables_has_its_evidence(page):
    ids = set(re.findall(r'\bid="([^"]+)"', page))
    links = re.findall(r'class="num" href="#([^"]+)"', page)
    assert len(links) > 150
    assert set(links) <= ids
    listed = re.findall(r'\bid="([^"]+)"', page.split('<script type="application/json"')[0])
    assert len(listed) == len(set(listed))


def test_an_empty_campaign_still_makes_a_page(tmp_path):
    shown = example()
    unfinished = replace(shown.campaign, finished=False)
    empty = replace(shown, campaign=unfinished, workloads=(), conclusions=())
    write_html(empty, tmp_path / "report.html")
    assert "Not finished" in (tmp_path / "report.html").read_text()
    assert not list(tmp_path.glob("*.partial"))


def test_the_command_that_runs_an_arm_again_adds_it_as_the_user_did():
    shown = example()
    added = replace(shown.campaign, added=("zenoh tuned",))
    page = unescape(page_of(replace(shown, campaign=added)))
    assert "--arm 'zenoh tuned' --with 'zenoh tuned'" in page
    assert set(re.findall(r"--with '([^']+)'", page)) == {"zenoh tuned"}


def test_an_interval_of_an_effect_is_not_called_one_of_95_percent():
    document = example_document()
    ratio = {"value": 0.8, "low": 0.7, "high": 0.9, "blocks": 6, "answer": "better"}
    effect = {"arm": "zenoh tuned", "against": "zenoh untouched", "ratios": {"pss": ratio}}
    document["workloads"][0]["effects"] = [effect]
    page = page_of(typed(SuiteAnswer, document))
    assert "level at which it was judged" in page and "interval of its own" not in page


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def bundled(monkeypatch):
    """The calls of what makes it, which takes two seconds."""
    calls = []
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda: calls.append(1) or "drawn();")
    return calls


def test_the_script_that_draws_charts_is_made_once_and_kept(cache, bundled):
    assert [vega.__wrapped__(), vega.__wrapped__()] == ["drawn();"] * 2
    assert len(bundled) == 1
    (kept,) = cache.rglob("*.js")
    assert kept.read_text() == "drawn();"


def test_where_no_script_can_be_kept_it_is_made(cache, bundled):
    cache.write_text("a file, not a directory")
    assert [vega.__wrapped__(), vega.__wrapped__()] == ["drawn();"] * 2
    assert len(bundled) == 2
