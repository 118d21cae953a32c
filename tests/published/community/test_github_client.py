"""The client against a server that behaves as GitHub does, also at its worst."""

import json

import pytest

from rmwbench.errors import UserError
from rmwbench.published.community.github.client import ApiClient, NoResponse
from tests.published.community.github_server import NAME, issue

ISSUES = f"/repos/{NAME}/issues"


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self):
        self.now, self.slept, self.said = 1_800_000_000.0, [], []

    def client(self, base, **options):
        return ApiClient(
            base, sleep=self._sleep, now_s=lambda: self.now, notify=self.said.append, **options
        )

    def _sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


def numbers(client):
    return [
        entry["number"]
        for page in client.pages(f"repos/{NAME}/issues", state="all")
        for entry in page
    ]


def limited(clock, seconds, status=403):
    headers = {
        "X-RateLimit-Limit": "60",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(int(clock.now + seconds)),
    }
    return status, headers, b'{"message": "API rate limit exceeded for 127.0.0.1."}'


def test_every_page_comes_once(api, base, clock):
    api.lists["issues"] = [issue(n, "2026-01-01T00:00:00Z") for n in range(250, 0, -1)]
    assert numbers(clock.client(base)) == list(range(250, 0, -1))
    assert len(api.asked) == 3


def test_a_reader_that_has_enough_asks_no_further(api, base, clock):
    api.lists["issues"] = [issue(n, "2026-01-01T00:00:00Z") for n in range(250, 0, -1)]
    assert len(next(clock.client(base).pages(f"repos/{NAME}/issues"))) == 100
    assert len(api.asked) == 1


def test_a_list_is_counted_in_one_request(api, base, clock):
    client = clock.client(base)
    assert client.count(f"repos/{NAME}/contributors", anon="true") == 42
    api.lists["contributors"] = api.lists["contributors"][:1]
    assert client.count(f"repos/{NAME}/contributors") == 1
    api.lists["contributors"] = []
    assert client.count(f"repos/{NAME}/contributors") == 0
    assert len(api.asked) == 3


def test_a_limit_is_waited_for_and_announced(api, base, clock):
    api.lists["issues"] = [issue(1, "2026-01-01T00:00:00Z")]
    api.scripted[ISSUES] = [limited(clock, 30)]
    assert numbers(clock.client(base)) == [1]
    assert 30 <= sum(clock.slept) <= 32
    assert "60 requests per hour is used up: waiting until 2027-01-15 08:00:3" in clock.said[0]


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (
            (403, {"Retry-After": "7"}, b'{"message": "You have exceeded a secondary rate limit"}'),
            7,
        ),
        ((429, {}, b"{}"), 60),
        ((403, {}, b'{"message": "You have exceeded a secondary rate limit."}'), 60),
    ],
)
def test_secondary_limits(api, base, clock, answer, seconds):
    api.scripted[ISSUES] = [answer]
    assert numbers(clock.client(base)) == []
    assert clock.slept == [seconds]


def test_a_refusal_is_not_a_limit(api, base, clock):
    headers = {"X-RateLimit-Remaining": "41", "X-RateLimit-Reset": str(int(clock.now + 9))}
    api.scripted[ISSUES] = [
        (403, headers, b'{"message": "Resource not accessible by personal access token"}')
    ]
    with pytest.raises(UserError, match="not accessible"):
        numbers(clock.client(base))
    assert clock.slept == []


def test_statistics_that_are_still_computed(api, base, clock):
    path = f"/repos/{NAME}/stats/code_frequency"
    api.scripted[path] = [(202, {}, b"{}"), (202, {}, b"{}")]
    client = clock.client(base)
    assert client.get(path.lstrip("/"))[0][0] == 1_600_000_000
    assert len(clock.slept) == 2
    clock.slept.clear()
    api.scripted[path] = [(202, {}, b"{}")] * 9
    with pytest.raises(NoResponse, match="still computing"):
        client.get(path.lstrip("/"))
    assert clock.slept == [2.0, 4.0, 8.0]


@pytest.mark.parametrize(
    "answer",
    [
        (200, {}, b'[{"number": 1, "crea'),  # cut by something that fixed the length up
        (200, {"Content-Length": "5000"}, b'[{"number": 1}'),  # the connection ended early
        (502, {}, b"<html>Bad Gateway</html>"),
        (200, {}, b""),
    ],
)
def test_a_cut_answer_is_asked_for_again(api, base, clock, answer):
    api.lists["issues"] = [issue(5, "2026-01-01T00:00:00Z")]
    api.scripted[ISSUES] = [answer]
    assert numbers(clock.client(base)) == [5]
    api.scripted[ISSUES] = [answer] * 9
    with pytest.raises(UserError, match="no whole answer in 4 tries"):
        numbers(clock.client(base))


@pytest.mark.parametrize(
    ("status", "message", "error", "words"),
    [
        (404, "Not Found", UserError, "no such repository"),
        (401, "Bad credentials", UserError, "does not accept the token"),
        (410, "Issues are disabled for this repo", NoResponse, "Issues are disabled for this repo"),
        (409, "Git Repository is empty.", NoResponse, "Git Repository is empty."),
    ],
)
def test_what_the_user_can_mend_and_what_a_repository_does_not_have(
    api, base, clock, status, message, error, words
):
    api.scripted[ISSUES] = [(status, {}, json.dumps({"message": message}).encode())]
    with pytest.raises(error, match=words):
        numbers(clock.client(base))


def test_the_token_goes_nowhere_else(api, base, clock):
    """Not by a redirect, not by a Link header, not into a message."""
    client = clock.client(base, token="secret-token")
    api.scripted[f"/repos/{NAME}"] = [(302, {"Location": "http://elsewhere.example/x"}, b"")]
    api.scripted[ISSUES] = [
        (200, {"Link": '<http://elsewhere.example/x?page=2>; rel="next"'}, b"[]")
    ]
    for ask in (lambda: client.get(f"repos/{NAME}"), lambda: numbers(client)):
        with pytest.raises(UserError, match="another host") as refused:
            ask()
        assert "secret-token" not in refused.value.render()
    assert [token for _, token in api.asked] == ["Bearer secret-token"] * 2


@pytest.mark.parametrize("body", [b'{"message": "hm"}', b"[1, 2]", b"null"])
def test_an_answer_of_another_shape(api, base, clock, body):
    api.scripted[ISSUES] = [(200, {}, body)]
    with pytest.raises(UserError, match="not a list"):
        numbers(clock.client(base))


def test_nobody_there(clock):
    with pytest.raises(UserError, match="no whole answer"):
        clock.client("http://127.0.0.1:9").get("repos/a/b")


@pytest.mark.parametrize(
    "address", ["ftp://x", "api.github.com", "https://user@host", "https://host?x=1"]
)
def test_bad_addresses(address):
    with pytest.raises(UserError, match="not the address of an API"):
        ApiClient(address)


def test_a_token_with_a_line_break():
    with pytest.raises(UserError, match="GITHUB_TOKEN") as refused:
        ApiClient(token="abc\ndef")
    assert "abc" not in refused.value.render()
