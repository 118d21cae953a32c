"""The script that draws charts: made once for a version, kept in the cache, and given where none
can be kept."""

import pytest

from rmwbench.report.page import vega


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def made(monkeypatch):
    """The calls of what makes it, which takes two seconds."""
    calls = []
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda: calls.append(1) or "drawn();")
    return calls


def test_it_is_made_once_and_kept(cache, made):
    assert [vega.__wrapped__(), vega.__wrapped__()] == ["drawn();"] * 2
    assert len(made) == 1
    (kept,) = cache.rglob("*.js")
    assert kept.read_text() == "drawn();"


def test_where_none_can_be_kept_it_is_made(cache, made):
    cache.write_text("a file, not a directory")
    assert [vega.__wrapped__(), vega.__wrapped__()] == ["drawn();"] * 2
    assert len(made) == 2
