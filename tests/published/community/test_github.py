"""Engagement from the API, from files and from the tables of 2020: one repository of which
everything is known."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from rmwbench.errors import UserError
from rmwbench.published.community.github import client as client_module
from rmwbench.published.community.github import engagement_view
from rmwbench.published.community.github.client import ApiClient, collect
from rmwbench.published.community.github.engagement import MedianDays, MonthCounts, measure
from rmwbench.published.community.github.engagement_view import view
from rmwbench.published.community.github.project import (
    Project,
    ProjectItem,
    RepositoryFact,
    digest,
)
from rmwbench.published.community.github.saved import load, save
from rmwbench.published.importers.formats.github_csv import ISSUES, PULLS
from rmwbench.report.render.html import render_html
from rmwbench.results import model
from tests.published.community.github_server import (
    NAME,
    comment,
    commit,
    issue,
    person,
    release,
)
from tests.published.importers.samples import csv
from tests.support.command import exit_code

NOW = datetime.now(UTC).replace(microsecond=0)
SINCE = NOW - timedelta(days=100)
BOT = person("mergify[bot]", "Bot")


def document(projects, **options):
    """Return the document that `--json` prints."""
    return model.document(measure(projects, **options))


def days_ago(days):
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def wheels(api, monkeypatch):
    """Six pull requests (one of a bot, one merged, closed unmerged, open …), five issues, one that
    is too old."""
    monkeypatch.setattr(client_module, "PAUSE_S", 0.001)
    api.lists["issues"] = [
        issue(30, days_ago(1), pull=True),
        issue(29, days_ago(2)),
        issue(28, days_ago(10), days_ago(9), merged=days_ago(9), association="MEMBER", by="mia"),
        issue(27, days_ago(20), days_ago(16), merged=days_ago(16)),
        issue(26, days_ago(30), days_ago(10), pull=True),
        issue(25, days_ago(40), days_ago(39.5), merged=days_ago(39.5), by=BOT),
        issue(24, days_ago(50), days_ago(48), merged=days_ago(48), association="OWNER", by="mia"),
        issue(23, days_ago(60), days_ago(53)),
        issue(22, days_ago(61), days_ago(60)),
        issue(21, days_ago(70)),
        issue(20, days_ago(80), by=None),
        issue(19, days_ago(300), days_ago(1)),
    ]
    api.lists["issues/comments"] = [
        comment(27, days_ago(19.9), BOT),  # a bot does not answer
        comment(27, days_ago(19.8), "ann"),  # nor does who asked
        comment(27, days_ago(18), "mia"),
        comment(23, days_ago(58), "bob"),
        comment(23, days_ago(59), "mia"),
        comment(22, days_ago(5), "mia"),  # after the closing
        comment(20, days_ago(79), "mia"),
        comment(19, days_ago(70), "mia"),  # of an item that is not in
    ]
    api.lists["pulls/comments"] = [comment(24, days_ago(49.5), "bob", review=True)]
    api.lists["commits"] = [
        commit("a", days_ago(3), "mia"),
        commit("b", days_ago(3), "bob"),
        commit("c", days_ago(39), "mia"),
    ]
    api.lists["releases"] = [
        release("2", days_ago(7), days_ago(6)),
        release("1", days_ago(400), days_ago(400)),
        release("x", days_ago(1), None),
    ]
    return api


def collect_all(base, **options):
    raw = collect(ApiClient(base), NAME, SINCE, **options)
    return raw, document([digest(raw, base)])["repositories"][0]


def test_the_counts(wheels, base):
    _, repository = collect_all(base)
    counts = {
        k: repository["pulls"][k] for k in ("opened", "open", "closed", "merged", "closed_unmerged")
    }
    assert counts == {"opened": 6, "open": 1, "closed": 5, "merged": 4, "closed_unmerged": 1}
    assert {k: repository["issues"][k] for k in ("opened", "open", "closed")} == {
        "opened": 5,
        "open": 3,
        "closed": 2,
    }
    groups = {who: group["opened"] for who, group in repository["pulls"]["by"].items()}
    assert groups == {"inside": 2, "outside": 3, "bots": 1}


def test_the_times(wheels, base):
    """Closed after 0.5, 1, 2, 4 and 20 days of 6, one open at 1: at risk 6, 5 (the open one leaves
    after the close of one day or before it, by seconds), 3, 2, 1."""
    _, repository = collect_all(base)
    times = repository["pulls"]["time_to_close"]
    assert [round(p[0], 1) for p in times["curve"]] == [0.5, 1.0, 2.0, 4.0, 20.0]
    assert times["curve"][0][1] == pytest.approx(5 / 6)
    assert times["curve"][1][1] == pytest.approx(4 / 6)
    assert [p[1] for p in times["curve"][2:]] == pytest.approx([4 / 9, 2 / 9, 0.0], abs=1e-5)
    assert times["median"]["value"] == pytest.approx(2.0)
    assert times["median"]["low"] <= 2.0 <= float(times["median"]["high"])
    ends = repository["pulls"]["ends"]["curve"]
    assert ends[-1][1] + ends[-1][2] == pytest.approx(1.0)
    assert ends[-1][2] == pytest.approx(2 / 9, abs=1e-5)  # the one closed unmerged came last


def test_open_issues_are_censored_not_closed(wheels, base):
    _, repository = collect_all(base)
    times = repository["issues"]["time_to_close"]
    assert times["count"] == 5 and times["ended"] == 2
    median = {key: value for key, value in times["median"].items() if key != "at_least"}
    assert median == {"no_data": "fewer than half have ended"}


def test_reviews_answer_when_asked_for(wheels, base):
    wheels.lists["pulls/30/reviews"] = []
    for number in (28, 27, 26, 25, 24):
        wheels.lists[f"pulls/{number}/reviews"] = []
    review = comment(28, days_ago(9.5), "bob", review=True)
    wheels.lists["pulls/28/reviews"] = [
        review | {"submitted_at": days_ago(9.5), "state": "APPROVED"}
    ]
    _, repository = collect_all(base, reviews=True)
    assert repository["pulls"]["first_response"]["answered"] == 3


def test_facts_and_months(wheels, base):
    _, repository = collect_all(base)
    value = {name: fact.get("value") for name, fact in repository["facts"].items()}
    assert value["stars"] == 1234 and value["forks"] == 56 and value["licence"] == "Apache-2.0"
    assert value["contributors"] == 42 and value["commits"] == 3
    assert value["authors"] == value["committers"] == 2
    assert value["releases"] == 1 and value["releases_ever"] == 2
    assert value["code_size"] == 4_000_000
    months = repository["months"]
    assert sum(m["pulls_opened"] for m in months) == 6
    assert sum(m["issues_closed"] for m in months) == 2
    assert sum(m["commits"] for m in months) == 3 and sum(m["pulls_merged"] for m in months) == 4
    assert sum(m["days"] for m in months) == pytest.approx(repository["days"], abs=0.05)
    assert months[0]["month"] == f"{SINCE:%Y-%m}"
    assert [m["month"] for m in months] == sorted({m["month"] for m in months})


def test_bots_and_pages_are_not_people(wheels, base):
    bot = commit("d", days_ago(4), "mergify[bot]")
    wheels.lists["commits"] += [
        bot,
        commit("e", days_ago(5), "zoe") | {"committer": person("web-flow")},
    ]
    raw, repository = collect_all(base)
    assert repository["facts"]["commits"] == {"value": 5, "unit": "count", "bots": 1}
    assert repository["facts"]["authors"]["value"] == 3
    assert repository["facts"]["committers"]["value"] == 2
    people = document([digest(raw, base)], people_only=True)["repositories"][0]
    assert people["facts"]["commits"]["value"] == 4
    assert sum(m["commits"] for m in people["months"]) == 4
    for entry in raw["commits"]:
        del entry["committer"]  # as answers were saved that do not have it
    assert "no_data" in document([digest(raw, base)])["repositories"][0]["facts"]["committers"]


def test_it_stops_at_the_cutoff(wheels, base):
    wheels.page_limit = 4
    wheels.lists["issues"] += [issue(n, days_ago(400)) for n in range(18, 0, -1)]
    _, repository = collect_all(base)
    assert repository["pulls"]["opened"] + repository["issues"]["opened"] == 11
    assert sum(path.split("?")[0].endswith("/issues") for path in wheels.paths()) == 3


def test_a_server_that_does_not_say_what_was_merged(wheels, base):
    for entry in wheels.lists["issues"]:
        merged = entry.get("pull_request", {}).pop("merged_at", None)
        if "pull_request" in entry:
            wheels.lists["pulls"].append(entry | {"merged_at": merged, "merge_commit_sha": "f00"})
    _, repository = collect_all(base)
    assert (repository["pulls"]["merged"], repository["pulls"]["closed_unmerged"]) == (4, 1)


def test_parts_that_fail_are_no_data_and_the_rest_goes_on(wheels, base):
    wheels.scripted[f"/repos/{NAME}/stats/code_frequency"] = [(202, {}, b"{}")] * 9
    wheels.scripted[f"/repos/{NAME}/commits"] = [
        (409, {}, b'{"message": "Git Repository is empty."}')
    ]
    wheels.scripted[f"/repos/{NAME}/contributors"] = [
        (
            403,
            {},
            b'{"message": "The history or contributor list is too large to list contributors via the API."}',
        )
    ]
    del wheels.lists["releases"]
    _, repository = collect_all(base)
    missing = {
        name: fact["no_data"] for name, fact in repository["facts"].items() if "no_data" in fact
    }
    commits = {"commits", "authors", "committers"}
    assert set(missing) == commits | {"lines_changed", "contributors", "releases", "releases_ever"}
    assert all(month["commits"] is None for month in repository["months"])
    assert repository["pulls"]["opened"] == 6


def test_what_is_saved_says_the_same_and_nobodys_words(wheels, base, tmp_path):
    raw, repository = collect_all(base)
    place = save(raw, tmp_path)
    assert place.name == "acme+wheels"
    assert not any(w in p.read_text() for p in place.iterdir() for w in ("private", "@example.org"))
    again = document(load(tmp_path))["repositories"][0]
    assert again | {"source": repository["source"]} == repository
    later = document(load(tmp_path, NOW - timedelta(days=25)))["repositories"][0]
    assert later["pulls"]["opened"] == 3
    with pytest.raises(UserError, match="does not reach that far back"):
        load(tmp_path, NOW - timedelta(days=200))
    with pytest.raises(UserError, match="not among the saved"):
        load(tmp_path, names=("other/one",))
    with pytest.raises(UserError, match="ends before the window begins"):
        load(tmp_path, NOW + timedelta(days=2))


def test_lists_that_something_else_fetched(wheels, tmp_path):
    """`gh api --paginate` prints page after page: several lists in one file, which do not say what
    they are or when they were fetched."""
    place = tmp_path / "acme+wheels"
    place.mkdir()
    pages = [wheels.lists["issues"][:5], wheels.lists["issues"][5:11]]
    (place / "issues.json").write_text("".join(json.dumps(page) for page in pages))
    repository = document(load(tmp_path))["repositories"][0]
    assert repository["name"] == NAME and repository["pulls"]["opened"] == 6
    assert repository["issues"]["opened"] == 5
    assert repository["pulls"]["first_response"] == {"no_data": "not in these files"}
    assert repository["facts"]["stars"] == {"no_data": "not in these files"}


def test_pull_requests_that_were_closed_at_an_unknown_time_end_in_no_curve(tmp_path):
    """Only the issues' table says when a pull request was closed without merge; without that table,
    `ends` said for any time that none was."""
    url = "https://api.github.com/repos/a/b"
    day = "2020-10-01 10:00:00"
    merged = [f"{n},closed,{day},,3600.0,2,{n},t,{url}/pulls/{n}," for n in range(20)]
    unmerged = f"20,closed,{day},,,2,20,t,{url}/pulls/20,"
    (tmp_path / "b_pr.csv").write_text(csv(PULLS, *([row] for row in (*merged, unmerged))))
    pulls = document(load(tmp_path))["repositories"][0]["pulls"]
    assert pulls["closed_unmerged"] == pulls["closing_time_unknown"] == 1
    assert "ends" not in pulls and pulls["time_to_close"]["count"] == 20
    issue = f"0,2020-10-01 11:00:00,{day},[],1,20,closed,t,{url}/issues/20,,0,3600.0"
    (tmp_path / "b_issue.csv").write_text(csv(ISSUES, [issue]))
    within = document(load(tmp_path))["repositories"][0]["pulls"]["ends"]["within"]
    assert within[0]["closed_unmerged"] == pytest.approx(1 / 21)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("issues.json", '[{"number": 1}', "not whole JSON"),
        ("issues.json", "[1]", "a list of objects"),
        ("issues.json", '[{"number": 1}]', "created_at"),
        (
            "issues.json",
            '[{"number": 1, "created_at": "yesterday", "state": "open"}]',
            "Invalid isoformat",
        ),
        (
            "issues.json",
            '[{"number": 1, "created_at": "2026-01-01T00:00:00Z", "state": "half"}]',
            "half",
        ),
        ("issues.json", "", "an empty file"),
        ("isues.json", "[]", "issues"),
        ("repository.json", "{}", "no saved repository here"),
        ("issues.json", '{"no_data": "x"}', "no saved repository here"),
    ],
)
def test_damaged_files(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=words) as raised:
        load(tmp_path)
    assert str(tmp_path) in raised.value.render()


def run(*arguments):
    return exit_code("published", "community", "github", *arguments)


def test_the_verb_asks_saves_and_shows(wheels, base, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "secret-token")
    assert run(NAME, "--since", "100d", "--api", base, "--save", str(tmp_path), "--json") == 0
    shown = capsys.readouterr()
    doc = json.loads(shown.out)
    assert doc["schema"] == "rmwbench/community-github"
    assert doc["repositories"][0]["pulls"]["opened"] == 6
    assert all(token == "Bearer secret-token" for _, token in wheels.asked)
    assert "secret-token" not in shown.out + shown.err
    assert not any("secret-token" in p.read_text() for p in tmp_path.rglob("*.json"))
    page = tmp_path / "page.html"
    assert run("--from", str(tmp_path), "--people", "--report", str(page)) == 0
    text = capsys.readouterr().out
    assert "acme/wheels" in text and "Without the pull requests, issues and commits of bots" in text
    html = page.read_text()
    assert "Pull requests still open" in html and "http-equiv" in html and "step-after" in html


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no repository named"),
        (("justaname",), "not a repository"),
        (("a/..",), "not a repository"),
        (("a/b", "--since", "tomorrow"), "not a time in the past"),
        (("a/b", "--since", "2999-01-01"), "not a time in the past"),
        (("--from", "/nowhere/at/all"), "no such directory"),
        (("--from", "/tmp", "--save", "/tmp/x"), "nothing to save"),
        (("acme/gone",), "no such repository"),
    ],
)
def test_the_verb_refuses_clearly(base, arguments, words, capsys):
    extra = () if "--from" in arguments else ("--api", base)
    assert run(*arguments, *extra) == 2
    assert words in capsys.readouterr().err


def test_a_name_that_tries_to_be_markup(wheels, tmp_path):
    place = tmp_path / "x"
    place.mkdir()
    (place / "issues.json").write_text(json.dumps(wheels.lists["issues"]))
    (place / "collected.json").write_text(json.dumps({"name": "<script>alert(1)</script>/x"}))
    html = render_html(view(measure(load(tmp_path)), draw=True))
    assert "<script>alert(1)" not in html


@pytest.mark.parametrize(
    ("month", "days", "text"),
    [
        ("2026-03", 31.0, "2026-03"),
        ("2026-03", 30.0, "2026-03 (30 d)"),
        ("2026-02", 28.0, "2026-02"),
        ("2026-02", 12.34, "2026-02 (12.3 d)"),
    ],
)
def test_a_month_that_is_cut_by_one_day_is_cut(month, days, text):
    assert engagement_view._month(MonthCounts(month=month, days=days)) == text


def test_a_small_repository_has_code():
    fact = RepositoryFact(value=20_000, unit="bytes", languages=["C++"])
    assert engagement_view._fact(fact) == "20.0 kB (C++)"


def test_a_median_of_years_has_no_exponent():
    median = MedianDays(value=1234.0, low=900.0, high="inf", unit="days")
    assert engagement_view.median_text(median) == "1\u202f234 [900–…]"


def test_the_share_within_more_days_than_the_data_have_is_not_known():
    """Five of six merged after two days, and one was open: 83 % within 90 days, of data of ten."""
    begin = NOW - timedelta(days=10)
    merged = {"closed": begin + timedelta(days=2), "merged": True}
    items = [
        ProjectItem(number=n, pull=True, opened=begin, **(merged if n else {})) for n in range(6)
    ]
    pulls = measure([Project("a/b", "here", begin, NOW, items)]).repositories[0].pulls
    for within in (pulls.time_to_close.within, pulls.ends.within):
        assert [share.days for share in within] == [1, 7]
